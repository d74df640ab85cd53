"""Aggregates of Spark SQL as aggregates of Flo, and what makes Spark's results of them.

Sums are exact. A result that Spark's type cannot hold is an error in ANSI mode. An average is made of a sum and a
count, as Spark does it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa

from flo.api.aggregates import AggregateSpec
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.nodes import Node, cast, column, literal

MOMENTS = {
    "StddevSamp": "stddev_samp",
    "StddevPop": "stddev_pop",
    "VarianceSamp": "var_samp",
    "VariancePop": "var_pop",
    "CovSample": "covar_samp",
    "CovPopulation": "covar_pop",
    "Corr": "corr",
}


REWRITES = {
    "HyperLogLogPlusPlus": ("count(DISTINCT x)", "the exact number"),
    "ApproximatePercentile": ("percentile(x, 0.5)", "the exact percentile"),
    "PercentileDisc": ("percentile(x, 0.5)", "between two values, it is on the line that joins them"),
    "Mode": ("mode(x)", "of several values, the least"),
}
"""What to write instead of an aggregate that is not maintained."""


def rejected_aggregate(function: Node, distinct: bool = False) -> UnsupportedQueryError:
    """Return the error for an aggregate that is not maintained."""
    if distinct:
        instead = (f"{function.described} FROM (SELECT DISTINCT x FROM …)", "make the rows distinct first")
        return UnsupportedQueryError(
            function.name, "Flo does not maintain it with DISTINCT", function.described, instead
        )
    if function.name in ("HyperLogLogPlusPlus", "ApproximatePercentile"):
        reason = "a sketch cannot be updated when rows are deleted"
    else:
        reason = "Flo does not maintain this aggregate"
    own = ("group_by(…).agg(name=flo.linear(…))", "an aggregate of your own, after `flow.sql`")
    return UnsupportedQueryError(function.name, reason, function.described, REWRITES.get(function.name, own))


class Computed(ABC):
    """The aggregates or the window functions of one node: `specs` by name, and their arguments as columns."""

    replaces: ClassVar[str]
    """The class of the expressions that become columns."""
    word: ClassVar[str]
    """How the names of their columns begin."""

    def __init__(self) -> None:
        self.arguments: dict[str, Node] = {}
        self.specs: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        self._columns: dict[Node, str] = {}

    def result(self, given: Node) -> Node:
        """Return an expression with its aggregates or window functions replaced by columns."""
        if given.name == self.replaces:
            return self._computed(given)
        children = tuple(self.result(child) for child in given.children)
        return given if children == given.children else replace(given, children=children)

    @abstractmethod
    def _computed(self, given: Node) -> Node:
        """Return what an expression becomes."""

    def _argument(self, given: Node) -> str:
        """Return the column of an argument; equal arguments share one."""
        if given not in self._columns:
            name = self._columns[given] = f"==argument{len(self._columns)}"
            self.arguments[name] = given
        return self._columns[given]

    def _column(self, spec: Any, result: pa.DataType, *, nullable: bool = True) -> Node:
        """Return the column of an aggregate or a window function; equal ones share one."""
        if spec not in self._names:
            name = self._names[spec] = f"=={self.word}{len(self._names)}"
            self.specs[name] = spec
        return column(self._names[spec], result, nullable)


class Aggregates(Computed):
    """The aggregates of one node."""

    replaces, word = "AggregateExpression", "aggregate"

    def _computed(self, given: Node) -> Node:
        function, *condition = given.children
        where = self._argument(condition[0]) if condition else None
        distinct = given.option("distinct")
        match function.name:
            case "Count":
                return self._count(function, where, distinct)
            case "Sum":
                (of,) = function.children
                kind = "sum_distinct" if distinct else "sum"
                total = self._add(kind, (self._argument(of),), where, sum_type(of.type), nullable=True)
                return Node("SumResult", function.type, True, (total,), function.options)
            case "Average":
                return self._average(function, where, distinct)
            case "Min" | "Max":
                (of,) = function.children
                return self._add(function.name.lower(), (self._argument(of),), where, function.type, nullable=True)
            case "First" if function.option("ignore_nulls"):
                # Spark itself makes this of several DISTINCT: there is one row
                (of,) = function.children[:1]
                return self._add("min", (self._argument(of),), where, function.type, nullable=True)
            case "MaxBy" | "MinBy":
                return self._by(function, where)
            case "CollectList" | "CollectSet":
                options = (distinct or function.name == "CollectSet",)
                (of,) = function.children
                return self._add("collect", (self._argument(of),), where, function.type, options, nullable=False)
            case "Mode" if not function.option("reverse"):
                return self._add("mode", (self._argument(function.children[0]),), where, function.type, nullable=True)
            case "Percentile" if not distinct:
                return self._percentile(function, where)
            case "PivotFirst":
                return self._pivot(function)
            case _ if function.name in MOMENTS and not distinct:
                names = tuple(map(self._argument, function.children))
                return self._add(MOMENTS[function.name], names, where, pa.float64(), nullable=True)
        if function.name.startswith("PythonUDAF"):
            raise UnsupportedQueryError(
                "PythonUDF",
                "an aggregate in Python needs all rows of a group each time one of them changes",
                function.described,
                ("flow.on(spark)", "a program with an aggregate of Flo's, which takes rows back"),
            )
        raise rejected_aggregate(function, distinct)

    def _by(self, function: Node, where: str | None) -> Node:
        """max_by, min_by: rows without a key are skipped, but not those without a value."""
        value, by = function.children
        kind = "arg_max" if function.name == "MaxBy" else "arg_min"
        if not value.nullable:
            return self._add(kind, (self._argument(value), self._argument(by)), where, function.type, nullable=True)
        packed = pa.struct([pa.field("value", value.type, True)])
        pack = Node("CreateNamedStruct", packed, False, (literal("value", pa.string()), value))
        found = self._add(kind, (self._argument(pack), self._argument(by)), where, packed, nullable=True)
        return Node("GetStructField", function.type, True, (found,), (("ordinal", 0),))

    def _percentile(self, function: Node, where: str | None) -> Node:
        of, at, frequency = function.children
        if at.name != "Literal" or not isinstance(at.option("value"), float) or frequency.option("value") != 1:
            raise UnsupportedQueryError(
                function.name,
                "it needs one constant percentage, and no frequencies",
                function.described,
                ("percentile(x, 0.5), percentile(x, 0.9)", "one column for each percentage"),
            )
        number = cast(of, pa.float64())
        options = (at.option("value"), function.option("reverse"), function.option("weighs_ends"))
        return self._add("percentile", (self._argument(number),), where, function.type, options, nullable=True)

    def _pivot(self, function: Node) -> Node:
        """PIVOT: an array with the value of each key. Spark has made one row for each key before."""
        key, value = function.children
        found = []
        for each in function.option("values"):
            is_this = Node("EqualNullSafe", pa.bool_(), False, (key, literal(each, key.type)))
            name = self._argument(is_this)
            found.append(self._add("max", (self._argument(value),), name, value.type, nullable=True))
        return Node("CreateArray", function.type, False, tuple(found))

    def _count(self, function: Node, where: str | None, distinct: bool) -> Node:
        asked = list(function.children) if distinct else counted(function)
        kind = "count_distinct" if distinct else "count"
        return self._add(kind, tuple(map(self._argument, asked)), where, pa.int64(), nullable=False)

    def _average(self, function: Node, where: str | None, distinct: bool) -> Node:
        (of,) = function.children
        name = self._argument(of)
        total = self._add("sum_distinct" if distinct else "sum", (name,), where, sum_type(of.type), nullable=True)
        count = self._add("count_distinct" if distinct else "count", (name,), where, pa.int64(), nullable=False)
        return Node("AverageResult", function.type, True, (total, count), function.options)

    def _add(
        self,
        kind: str,
        arguments: tuple[str, ...],
        where: str | None,
        result: pa.DataType,
        options: tuple[Any, ...] = (),
        *,
        nullable: bool,
    ) -> Node:
        return self._column(AggregateSpec(kind, arguments, where, options), result, nullable=nullable)


def counted(function: Node) -> list[Node]:
    """Return the argument of `count`: one that is null where any of several columns is null."""
    asked = [each for each in function.children if each.nullable]
    if len(asked) <= 1:
        return asked
    there = Node("IsNotNull", pa.bool_(), False, (asked[0],))
    for each in asked[1:]:
        there = Node("And", pa.bool_(), False, (there, Node("IsNotNull", pa.bool_(), False, (each,))))
    return [Node("If", pa.int32(), True, (there, literal(1, pa.int32()), literal(None, pa.int32())))]


def sum_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of exact sums. Raises if Flo has none."""
    if pa.types.is_duration(kind) or pa.types.is_interval(kind):
        raise UnsupportedQueryError(
            "Sum",
            "Flo adds up numbers, and not intervals",
            f"an interval: {kind}",
            ("sum(timestampdiff(SECOND, started, ended))", "the number of seconds"),
        )
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.decimal128(38, kind.scale if pa.types.is_decimal(kind) else 0)
