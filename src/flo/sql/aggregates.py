"""Aggregates of Spark SQL as aggregates of Flo, and what makes Spark's results of them.

Sums are exact. A result that Spark's type cannot hold is an error in ANSI mode. An average is made of a sum and a
count, as Spark does it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from flo.api import aggregates as flo
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.nodes import Node, column, literal

MOMENTS = {
    "StddevSamp": "stddev_samp",
    "StddevPop": "stddev_pop",
    "VarianceSamp": "var_samp",
    "VariancePop": "var_pop",
    "CovSample": "covar_samp",
    "CovPopulation": "covar_pop",
    "Corr": "corr",
}


class Aggregates:
    """The aggregates of one node: `specs` by name, and their arguments as columns."""

    def __init__(self, groups: int) -> None:
        self.groups = groups
        self.arguments: dict[str, Node] = {}
        self.specs: dict[str, Any] = {}
        self._made: dict[Any, str] = {}
        self._columns: dict[Node, str] = {}

    def result(self, given: Node) -> Node:
        """Return an expression with its aggregates replaced by columns."""
        if given.name == "AggregateExpression":
            return self._aggregate(given)
        children = tuple(self.result(child) for child in given.children)
        return given if children == given.children else replace(given, children=children)

    def _aggregate(self, given: Node) -> Node:
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
                value, by = map(self._argument, function.children)
                kind = "arg_max" if function.name == "MaxBy" else "arg_min"
                return self._add(kind, (value, by), where, function.type, nullable=True)
            case _ if function.name in MOMENTS and not distinct:
                names = tuple(map(self._argument, function.children))
                return self._add(MOMENTS[function.name], names, where, pa.float64(), nullable=True)
        if function.name.startswith("PythonUDAF"):
            raise UnsupportedQueryError(
                "PythonUDF",
                "an aggregate in Python needs all rows of a group each time one of them changes",
                function.text,
                ("flow.on(spark)", "a program with an aggregate of Flo's, which takes rows back"),
            )
        raise UnsupportedQueryError(function.name, "Flo does not maintain this aggregate", given.text)

    def _count(self, function: Node, where: str | None, distinct: bool) -> Node:
        asked = [each for each in function.children if each.nullable or distinct]
        kind = "count_distinct" if distinct else "count"
        if len(asked) > 1 and not distinct:
            there = Node("IsNotNull", pa.bool_(), False, (asked[0],))
            for each in asked[1:]:
                there = Node("And", pa.bool_(), False, (there, Node("IsNotNull", pa.bool_(), False, (each,))))
            asked = [Node("If", pa.int32(), True, (there, literal(1, pa.int32()), literal(None, pa.int32())))]
        return self._add(kind, tuple(map(self._argument, asked)), where, pa.int64(), nullable=False)

    def _average(self, function: Node, where: str | None, distinct: bool) -> Node:
        (of,) = function.children
        name = self._argument(of)
        total = self._add("sum_distinct" if distinct else "sum", (name,), where, sum_type(of.type), nullable=True)
        count = self._add("count_distinct" if distinct else "count", (name,), where, pa.int64(), nullable=False)
        return Node("AverageResult", function.type, True, (total, count), function.options)

    def _argument(self, given: Node) -> str:
        """Return the column of an argument; equal arguments share one."""
        if given not in self._columns:
            name = self._columns[given] = f"==argument{len(self._columns)}"
            self.arguments[name] = given
        return self._columns[given]

    def _add(
        self, kind: str, arguments: tuple[str, ...], where: str | None, result: pa.DataType, *, nullable: bool
    ) -> Node:
        """Return the column of an aggregate; equal aggregates share one."""
        asked = (kind, arguments, where)
        if asked not in self._made:
            name = self._made[asked] = f"==aggregate{len(self._made)}"
            self.specs[name] = flo.AggregateSpec(kind, arguments, where)
        return column(self._made[asked], result, nullable)


def sum_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.decimal128(38, kind.scale if pa.types.is_decimal(kind) else 0)
