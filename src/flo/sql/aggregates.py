"""Aggregates of Spark SQL as aggregates of Flo, and what makes Spark's results of them.

Sums are exact. A result that Spark's type cannot hold is an error in ANSI mode. An average is made of a sum and a
count, as Spark does it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from flo.api.aggregates import AggregateSpec
from flo.api.ordering import asc, desc
from flo.api.window_functions import WindowSpec
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.nodes import Expr, cast, column, combine, is_null, is_there, literal

Spec = TypeVar("Spec", bound=AggregateSpec | WindowSpec)
MOMENTS = {
    "StddevSamp": "stddev_samp",
    "StddevPop": "stddev_pop",
    "VarianceSamp": "var_samp",
    "VariancePop": "var_pop",
    "CovSample": "covar_samp",
    "CovPopulation": "covar_pop",
    "Corr": "corr",
}


BITWISE = {"BitAndAgg": "bit_and", "BitOrAgg": "bit_or", "BitXorAgg": "bit_xor"}
SKETCH = "a sketch cannot be updated when rows are deleted"
EXACT_COUNT = ("count(DISTINCT x)", "the exact number")
COUNTS = ("SELECT x, count(*) AS n … GROUP BY x", "the exact numbers")
PERCENTILE = ("percentile(x, 0.5)", "the exact percentile")
OWN = ("group_by(…).agg(name=flo.linear(…))", "an aggregate of your own, after `flow.sql`")
SKETCHES = {
    "HyperLogLogPlusPlus": EXACT_COUNT,
    "Hll": EXACT_COUNT,
    "Theta": EXACT_COUNT,
    "Bitmap": EXACT_COUNT,
    "CountMinSketch": COUNTS,
    "ApproxTopK": COUNTS,
    "ApproximatePercentile": PERCENTILE,
    "Kll": PERCENTILE,
    "HistogramNumeric": ("SELECT width_bucket(x, 0, 100, 10) AS b, count(*) AS n … GROUP BY b", "fixed bins"),
}
"""What to write instead of an approximate aggregate, by how the name of its class begins."""
REWRITES = {
    "Skewness": ("avg(power((x - m) / s, 3))", "joined with avg(x) AS m and stddev_pop(x) AS s"),
    "Kurtosis": ("avg(power((x - m) / s, 4)) - 3", "joined with avg(x) AS m and stddev_pop(x) AS s"),
    "Product": ("exp(sum(ln(x)))", "of positive numbers"),
}
"""What to write instead of another aggregate that is not maintained."""


def rejected_aggregate(function: Expr, distinct: bool = False) -> UnsupportedQueryError:
    """Return the error for an aggregate that is not maintained."""
    if distinct:
        instead = (f"{function.described} FROM (SELECT DISTINCT x FROM …)", "make the rows distinct first")
        return UnsupportedQueryError(
            function.name, "Flo does not maintain it with DISTINCT", function.described, instead
        )
    sketch = next((each for name, each in SKETCHES.items() if function.name.startswith(name)), None)
    if sketch is not None:
        return UnsupportedQueryError(function.name, SKETCH, function.described, sketch)
    reason = "Flo does not maintain this aggregate"
    return UnsupportedQueryError(function.name, reason, function.described, REWRITES.get(function.name, OWN))


class Computed(ABC, Generic[Spec]):
    """The aggregates or the window functions of one node: `specs` by name, and their arguments as columns."""

    replaces: ClassVar[str]
    """The class of the expressions that become columns."""
    word: ClassVar[str]
    """How the names of their columns begin."""

    def __init__(self) -> None:
        self.arguments: dict[str, Expr] = {}
        self.specs: dict[str, Spec] = {}
        self._names: dict[Spec, str] = {}
        self._columns: dict[Expr, str] = {}

    def result(self, given: Expr) -> Expr:
        """Return an expression with its aggregates or window functions replaced by columns."""
        if given.name == self.replaces:
            return self._computed(given)
        children = tuple(self.result(child) for child in given.children)
        return given if children == given.children else replace(given, children=children)

    @abstractmethod
    def _computed(self, given: Expr) -> Expr:
        """Return what an expression becomes."""

    def _argument(self, given: Expr) -> str:
        """Return the column of an argument; equal arguments share one."""
        if given not in self._columns:
            name = self._columns[given] = f"==argument{len(self._columns)}"
            self.arguments[name] = given
        return self._columns[given]

    def _column(self, spec: Spec, result: pa.DataType, *, nullable: bool = True) -> Expr:
        """Return the column of an aggregate or a window function; equal ones share one."""
        if spec not in self._names:
            name = self._names[spec] = f"=={self.word}{len(self._names)}"
            self.specs[name] = spec
        return column(self._names[spec], result, nullable)


class Aggregates(Computed[AggregateSpec]):
    """The aggregates of one node."""

    replaces, word = "AggregateExpression", "aggregate"

    def __init__(self, *, merges: bool = True) -> None:
        super().__init__()
        self.merges = merges
        """Whether Spark merges partial results. In a window it does not."""

    def _computed(self, given: Expr) -> Expr:
        function, *condition = given.children
        where = self._argument(condition[0]) if condition else None
        distinct = given.option("distinct")
        match function.name:
            case "Count":
                return self._count(function, where, distinct)
            case "Sum":
                (of,) = function.children
                total = self._sum(self._argument(of), where, of.type, distinct)
                return Expr("SumResult", function.type, True, (total,), function.options)
            case "Average":
                return self._average(function, where, distinct)
            case "Min" | "Max":
                return self._of_first(function.name.lower(), function, where)
            case "First":  # of `any_value`, or made by Spark itself of several DISTINCT, where there is one row
                return self._of_first("min", function, where)
            case "MaxBy" | "MinBy":
                return self._by(function, where)
            case "CollectList" | "CollectSet":
                distinct = distinct or function.name == "CollectSet"
                return self._of_first("collect", function, where, distinct, nullable=False)
            case "Mode":
                return self._of_first("mode", function, where, function.option("greatest"))
            case "Percentile" | "PercentileDisc" if not distinct:
                return self._percentile(function, where)
            case "ListAgg":
                return self._listed(function, where, distinct)
            case _ if function.name in BITWISE and not (distinct and function.name == "BitXorAgg"):
                return self._of_first(BITWISE[function.name], function, where, function.children[0].type.bit_width)
            case _ if function.name.startswith("Regr") and not distinct:
                return self._regression(function, where)
            case "PivotFirst":
                return self._pivot(function)
            case _ if function.name in MOMENTS and not distinct:
                return self._moment(function, where)
        if function.name.startswith("PythonUDAF"):
            raise UnsupportedQueryError(
                "PythonUDF",
                "an aggregate in Python needs all rows of a group each time one of them changes",
                function.described,
                ("flow.on(spark)", "a program with an aggregate of Flo's, which takes rows back"),
            )
        raise rejected_aggregate(function, distinct)

    def _of_first(self, kind: str, function: Expr, where: str | None, *options: object, nullable: bool = True) -> Expr:
        """Return an aggregate of the first operand, whose results have the type of the function."""
        name = self._argument(function.children[0])
        return self._add(kind, (name,), where, function.type, options, nullable=nullable)

    def _by(self, function: Expr, where: str | None) -> Expr:
        """max_by, min_by: rows without a key are skipped, but not those without a value."""
        value, by = function.children
        kind = "arg_max" if function.name == "MaxBy" else "arg_min"
        if not value.nullable:
            return self._add(kind, (self._argument(value), self._argument(by)), where, function.type, nullable=True)
        row = packed(value)
        best = self._add(kind, (self._argument(row), self._argument(by)), where, row.type, nullable=True)
        return unpacked(best, function.type)

    def _percentile(self, function: Expr, where: str | None) -> Expr:
        of, at, *frequency = function.children
        asked = at.option("value") if at.name == "Literal" else None
        if asked is None or any(each.option("value") != 1 for each in frequency) or function.option("legacy"):
            raise UnsupportedQueryError(
                function.name,
                "it needs constant percentages, and no frequencies",
                function.described,
                ("percentile(x, 0.5)", "the same percentage for all groups"),
            )
        if not (pa.types.is_integer(of.type) or pa.types.is_floating(of.type) or pa.types.is_decimal(of.type)):
            raise UnsupportedQueryError(
                function.name,
                "Flo has percentiles of numbers, and not of intervals",
                function.described,
                ("percentile(timestampdiff(SECOND, started, ended), 0.5)", "the number of seconds"),
            )
        name = self._argument(cast(of, pa.float64()))
        discrete = function.name == "PercentileDisc"
        values = [
            self._add(
                "percentile",
                (name,),
                where,
                pa.float64(),
                (each, function.option("reverse"), function.option("weighs_ends"), discrete),
                nullable=True,
            )
            for each in (asked if isinstance(asked, tuple) else (asked,))
        ]
        if not isinstance(asked, tuple):
            return values[0]
        array = Expr("Items", function.type, False, tuple(values))
        nothing = is_null(values[0])
        return Expr("If", function.type, True, (nothing, literal(None, function.type), array))

    def _listed(self, function: Expr, where: str | None, distinct: bool) -> Expr:
        """listagg: texts in an order, or else in their own."""
        of, separator, *order = function.children
        if not pa.types.is_string(of.type) or separator.name != "Literal":
            raise UnsupportedQueryError(
                function.name,
                "it needs texts, and a constant between them",
                function.described,
                ("listagg(hex(x), ',')", "bytes as texts"),
            )
        keys = tuple(
            (desc if each.option("descending") else asc)(
                self._argument(each.children[0]), nulls_last=each.option("nulls_last")
            )
            for each in order
        )
        options = (separator.option("value") or "", distinct)
        spec = AggregateSpec("string_agg", (self._argument(of),), where, options, order_by=keys or None)
        return self._column(spec, function.type, nullable=True)

    def _moment(self, function: Expr, where: str | None) -> Expr:
        """Variances, covariances and correlations. Of one pair, those of a sample are null, though it be infinite."""
        moment = self._double(MOMENTS[function.name], where, *function.children)
        if len(function.children) == 1:
            moment = self._overflowing(moment, where, *function.children)
        if function.name not in ("StddevSamp", "VarianceSamp", "CovSample", "Corr"):
            return moment
        if function.name == "Corr":  # fails if one does not vary
            x, y = function.children
            variances = [self._double("var_pop", where, each) for each in (_of_pairs(x, y), _of_pairs(y, x))]
            both = _computed("Multiply", *variances)
            divided = Expr("Divide", pa.float64(), True, (moment, both), function.options)
            moment = _if_zero(both, divided, moment)
        count = self._add("count", tuple(map(self._argument, counted(function))), where, pa.int64(), nullable=False)
        several = Expr("GreaterThan", pa.bool_(), False, (count, literal(1, pa.int64())))
        return Expr("If", pa.float64(), True, (several, moment, NO_NUMBER))

    def _overflowing(self, variance: Expr, where: str | None, of: Expr) -> Expr:
        """Return a variance or its root; where Spark's own sums of squares are out of range, what Spark makes of them.

        It squares the mean when it merges partial results: an infinity, times no rows. The difference of two numbers
        may be infinite, too."""
        mean, root = self._double("avg", where, of), self._double("stddev_pop", where, of)
        count = cast(self._add("count", (self._argument(of),), where, pa.int64(), nullable=False), pa.float64())
        scaled = _computed("Multiply", root, literal(1e-308, pa.float64()))
        most = _computed("Multiply", _computed("Multiply", scaled, scaled), count)
        apart = Expr("GreaterThan", pa.bool_(), True, (most, literal(1.6, pa.float64())))  # beyond half of the range
        squares = _computed("Multiply", _computed("Multiply", root, root), count)
        beyond = Expr("If", pa.float64(), True, (apart, NAN, INFINITE))
        in_range = Expr("If", pa.float64(), True, (_is_infinite(squares), beyond, variance))
        if not self.merges:
            return in_range
        return Expr("If", pa.float64(), True, (_is_infinite(_computed("Multiply", mean, mean)), NAN, in_range))

    def _regression(self, function: Expr, where: str | None) -> Expr:
        """regr_slope and the like, from variances and covariances of the rows in which both values are present."""

        def moment(kind: str, *of: Expr) -> Expr:
            return self._double(kind, where, *of)

        def count(of: Expr) -> Expr:
            number = self._add("count", (self._argument(of),), where, pa.int64(), nullable=False)
            return cast(number, pa.float64())

        if function.name == "RegrReplacement":  # regr_sxx and regr_syy
            (of,) = function.children
            return _computed("Multiply", moment("var_pop", of), count(of))
        y, x = _of_pairs(*function.children), _of_pairs(*reversed(function.children))
        covariance, variance = moment("covar_pop", *function.children), moment("var_pop", x)
        slope = _if_zero(variance, NO_NUMBER, _computed("Divide", covariance, variance))
        match function.name:
            case "RegrSXY":
                return _computed("Multiply", covariance, count(x))
            case "RegrSlope":
                return slope
            case "RegrIntercept":
                return _computed("Subtract", moment("avg", y), _computed("Multiply", slope, moment("avg", x)))
            case "RegrR2":
                correlation, one = moment("corr", *function.children), literal(1.0, pa.float64())
                share = _if_zero(moment("var_pop", y), one, _computed("Multiply", correlation, correlation))
                return _if_zero(variance, NO_NUMBER, share)
        raise rejected_aggregate(function)

    def _double(self, kind: str, where: str | None, *of: Expr) -> Expr:
        return self._add(kind, tuple(map(self._argument, of)), where, pa.float64(), nullable=True)

    def _pivot(self, function: Expr) -> Expr:
        """PIVOT: an array with the value of each key. Spark has made one row for each key before."""
        key, value = function.children
        values = []
        for each in function.option("values"):
            name = self._argument(_is_key(key, each))
            values.append(self._add("max", (self._argument(value),), name, value.type, nullable=True))
        return Expr("Items", function.type, False, tuple(values))

    def _count(self, function: Expr, where: str | None, distinct: bool) -> Expr:
        asked = list(function.children) if distinct else counted(function)
        kind = "count_distinct" if distinct else "count"
        return self._add(kind, tuple(map(self._argument, asked)), where, pa.int64(), nullable=False)

    def _average(self, function: Expr, where: str | None, distinct: bool) -> Expr:
        (of,) = function.children
        name = self._argument(of)
        total = self._sum(name, where, of.type, distinct)
        count = self._add("count_distinct" if distinct else "count", (name,), where, pa.int64(), nullable=False)
        return Expr("AverageResult", function.type, True, (total, count), function.options)

    def _sum(self, name: str, where: str | None, kind: pa.DataType, distinct: bool) -> Expr:
        return self._add("sum", (name,), where, sum_type(kind), (True,) if distinct else (), nullable=True)

    def _add(
        self,
        kind: str,
        arguments: tuple[str, ...],
        where: str | None,
        result: pa.DataType,
        options: tuple[Any, ...] = (),
        *,
        nullable: bool,
    ) -> Expr:
        return self._column(AggregateSpec(kind, arguments, where, options), result, nullable=nullable)


def _is_key(key: Expr, value: Any) -> Expr:
    """Return whether a key is this value; one of several columns is a struct."""
    if not pa.types.is_struct(key.type):
        return Expr("EqualNullSafe", pa.bool_(), False, (key, literal(value, key.type)))
    fields = [
        _is_key(Expr("GetStructField", field.type, True, (key,), (("ordinal", place),)), each)
        for place, (field, each) in enumerate(zip(key.type, value, strict=True))
    ]
    return combine("And", fields)


NO_NUMBER = literal(None, pa.float64())
NAN, INFINITE = literal(math.nan, pa.float64()), literal(math.inf, pa.float64())


def _is_infinite(number: Expr) -> Expr:
    return Expr("EqualTo", pa.bool_(), True, (number, INFINITE))


def _of_pairs(one: Expr, other: Expr) -> Expr:
    """Return a number, or null where the other is."""
    there = is_there(other)
    return Expr("If", pa.float64(), True, (there, one, NO_NUMBER)) if other.nullable else one


def _computed(name: str, one: Expr, other: Expr) -> Expr:
    return Expr(name, pa.float64(), True, (one, other), (("mode", "LEGACY"),))


def _if_zero(number: Expr, then: Expr, otherwise: Expr) -> Expr:
    is_zero = Expr("EqualTo", pa.bool_(), True, (number, literal(0.0, pa.float64())))
    return Expr("If", pa.float64(), True, (is_zero, then, otherwise))


def packed(value: Expr) -> Expr:
    """Return a value in a struct, which is not null though the value is."""
    kind = pa.struct([pa.field("value", value.type, True)])
    return Expr("CreateNamedStruct", kind, False, (literal("value", pa.string()), value))


def unpacked(row: Expr, kind: pa.DataType) -> Expr:
    """Return the value in a struct; null if there is none."""
    return Expr("GetStructField", kind, True, (row,), (("ordinal", 0),))


def counted(function: Expr) -> list[Expr]:
    """Return the argument of `count`: one that is null where any of several columns is null."""
    asked = [each for each in function.children if each.nullable]
    if len(asked) <= 1:
        return asked
    there = combine("And", map(is_there, asked))
    return [Expr("If", pa.int32(), True, (there, literal(1, pa.int32()), literal(None, pa.int32())))]


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
