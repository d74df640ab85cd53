"""Window functions of Spark SQL as those of Flo. Rows that are equal in the order are ordered by the whole row."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flo.api.aggregates import AggregateSpec
from flo.api.ordering import asc, desc
from flo.api.window_functions import WindowSpec
from flo.sql import plan
from flo.sql.aggregates import Aggregates, Computed, counted, packed, sum_type, unpacked
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.java import EXPRESSIONS, java_package, scala_object
from flo.sql.nodes import MONTHS, ZERO, Expr, Months, cast, is_null, literal
from flo.sql.row_streams import RowStream, joined
from flo.values.operators.over import FrameBound

if TYPE_CHECKING:
    from flo.sql.compiler import Compiler

RANKS = {
    "RowNumber": "row_number",
    "Rank": "rank",
    "DenseRank": "dense_rank",
    "PercentRank": "percent_rank",
    "CumeDist": "cume_dist",
}


def add_windows(compiler: Compiler, stream: RowStream, relation: plan.WindowFunctions) -> RowStream:
    """Return the rows with the results of window functions."""
    windows = _Windows(relation)
    results = {each.column.column: windows.result(each.given) for each in relation.given}
    parts = {f"==part{place}": each for place, each in enumerate(relation.partition)}
    keys, order = order_keys((*relation.order, *windows.bounds))
    rows = compiler.extended(stream, {**windows.arguments, **parts, **keys})
    if windows.specs:
        rows = rows.over(partition_by=list(parts) or None, order_by=order).with_columns(**windows.specs)
    if windows.whole.specs:
        rows = _with_partitions(compiler, rows, stream, parts, windows.whole)
    return compiler.project(rows, {**relation.below.by_name, **results})


def _with_partitions(
    compiler: Compiler, rows: RowStream, stream: RowStream, parts: dict[str, Expr], whole: Aggregates
) -> RowStream:
    """Return the rows with aggregates of their whole partitions."""
    keys = {f"{name}_key": each for name, each in parts.items()}
    given = compiler.project(stream, {**keys, **whole.arguments})
    if keys:
        return joined(rows, given.group_by(*keys).agg(**whole.specs), parts, keys, "inner", nulls_equal=True)
    part, key = {"==part": ZERO}, {"==part_key": ZERO}
    return joined(compiler.extended(rows, part), compiler.extended(given.agg(**whole.specs), key), part, key, "inner")


def order_keys(order: tuple[plan.OrderKey, ...]) -> tuple[dict[str, Expr], list[Any] | None]:
    """Return the keys of an order as columns, and the order by these; None if there are no keys."""
    keys = {f"==order{place}": each.by for place, each in enumerate(order)}
    named = zip(keys, order, strict=True)
    return keys, [(desc if each.descending else asc)(name, nulls_last=each.nulls_last) for name, each in named] or None


class _Windows(Computed[AggregateSpec | WindowSpec]):
    """The window functions of one node."""

    replaces, word = "WindowExpression", "window"

    def __init__(self, relation: plan.WindowFunctions) -> None:
        super().__init__()
        self.order = relation.order
        expressions = [node for each in relation.given for node in each.given.walk() if node.name == self.replaces]
        self.zone = expressions[0].option("zone")
        offsets = [each for node in expressions for each in node.option("frame")[1:]]
        self.varies = len(self.order) == 1 and _varies(self.order[0].by.type, offsets, self.zone)
        self.bounds: list[plan.OrderKey] = []
        """Bounds of ranges that are not at a fixed distance from a row: more columns of the order, which change none
        of it, as they follow from the first."""
        self.whole = Aggregates(merges=False)
        """Aggregates of whole partitions that have no frames."""

    def _computed(self, given: Expr) -> Expr:
        function, frame, where = given.children[0], given.option("frame"), None
        if function.name == "AggregateExpression":
            function, *condition = function.children
            where = self._argument(condition[0]) if condition else None
        if function.name in RANKS:
            kind = pa.float64() if function.name in ("PercentRank", "CumeDist") else pa.int64()
            return cast(self._column(WindowSpec(RANKS[function.name]), kind, nullable=False), function.type)
        match function.name:
            case "NTile":
                buckets = _constant(function.children[0])
                number = self._column(WindowSpec("ntile", None, (buckets,)), pa.int64(), nullable=False)
                return cast(number, function.type)
            case "Lag" | "Lead":
                return self._neighbour(function)
            case "Count":
                return self._framed("count", counted(function), where, frame, pa.int64(), nullable=False)
            case "Sum":
                of = function.children[0]
                total = self._framed("sum", [of], where, frame, sum_type(of.type))
                return Expr("SumResult", function.type, True, (total,), function.options)
            case "Average":
                of = function.children[0]
                total = self._framed("sum", [of], where, frame, sum_type(of.type))
                count = self._framed("count", [of], where, frame, pa.int64(), nullable=False)
                return Expr("AverageResult", function.type, True, (total, count), function.options)
            case "Min" | "Max":
                return self._framed(function.name.lower(), function.children[:1], where, frame, function.type)
            case "NthValue":
                of, nth = function.children
                options = (_constant(nth), *((True,) if function.option("ignore_nulls") else ()))
                spec = WindowSpec("nth_value", self._argument(of), options, **self._frame(frame))
                return self._column(spec, function.type)
            case "First" | "Last":
                of, name = function.children[0], function.name.lower()
                if function.option("ignore_nulls"):
                    return self._framed(name, [of], where, frame, function.type)
                spec = WindowSpec(f"{name}_value", self._argument(of), (), **self._frame(frame))
                return self._column(spec, function.type)
        if given.children[0].name == "AggregateExpression":
            whole = frame[1:] == (None, None)
            return (self.whole if whole else _InFrame(self, self._frame(frame))).result(given.children[0])
        raise UnsupportedQueryError(function.name, "Flo does not maintain this window function", function.described)

    def _frame(self, frame: tuple[str, Any, Any]) -> dict[str, tuple[Any, Any]]:
        """Return a frame by its mode. The offsets of a range of dates are days."""
        mode, *bounds = frame
        if mode == "range" and self.varies:
            bounds = [self._bound(each) if each else each for each in bounds]
        elif mode == "range" and self.order and pa.types.is_date(self.order[0].by.type):
            bounds = [datetime.timedelta(days=each) if isinstance(each, int) and each else each for each in bounds]
        return {mode: (bounds[0], bounds[1])}

    def _bound(self, offset: Any) -> FrameBound:
        (order,) = self.order
        if pa.types.is_date(order.by.type) and isinstance(offset, datetime.timedelta):
            offset = offset.days
        if order.descending:
            offset = Months(-offset.months) if isinstance(offset, Months) else -offset
        bound = replace(order, by=_sum(order.by, offset, self.zone))
        if bound not in self.bounds:
            self.bounds.append(bound)
        return FrameBound(1 + self.bounds.index(bound))

    def _neighbour(self, function: Expr) -> Expr:
        """lag and lead. Where there is no such row, the result is the default value of this row."""
        of, distance, default = function.children
        steps, backwards = _constant(distance), function.name == "Lag"
        if steps < 0:
            steps, backwards = -steps, not backwards
        kind = "lag" if backwards else "lead"
        if function.option("ignore_nulls") and not steps:
            return of
        if function.option("ignore_nulls"):
            value = self._neighbour_without_nulls(function, steps, backwards)
            return value if _is_constant_null(default) else _or_default(value, value, default)
        if default.name == "Literal":
            spec = WindowSpec(kind, self._argument(of), (steps, _constant(default)))
            return self._column(spec, function.type)
        row = packed(of)
        there = self._column(WindowSpec(kind, self._argument(row), (steps, None)), row.type)
        return _or_default(there, unpacked(there, function.type), default)

    def _neighbour_without_nulls(self, function: Expr, steps: int, backwards: bool) -> Expr:
        of = function.children[0]
        frame = ("rows", None, -1) if backwards else ("rows", 1, None)
        if steps == 1:
            return self._framed("last" if backwards else "first", [of], None, frame, function.type)
        options = (-steps if backwards else steps, True)
        spec = WindowSpec("nth_value", self._argument(of), options, **self._frame(frame))
        return self._column(spec, function.type)

    def _framed(
        self,
        kind: str,
        arguments: Iterable[Expr],
        where: str | None,
        frame: tuple[str, Any, Any],
        result: pa.DataType,
        *,
        nullable: bool = True,
    ) -> Expr:
        names = tuple(map(self._argument, arguments))
        return self._column(AggregateSpec(kind, names, where, **self._frame(frame)), result, nullable=nullable)


class _InFrame(Aggregates):
    """Aggregates that are window functions, of one frame."""

    def __init__(self, windows: _Windows, frame: dict[str, Any]) -> None:
        super().__init__(merges=False)
        self.windows, self.frame = windows, frame

    def _argument(self, given: Expr) -> str:
        return self.windows._argument(given)

    def _column(self, spec: AggregateSpec, result: pa.DataType, *, nullable: bool = True) -> Expr:
        return self.windows._column(replace(spec, **self.frame), result, nullable=nullable)


def _sum(by: Expr, offset: Any, zone: str) -> Expr:
    """Return the key of an order plus the offset of a bound, as Spark computes it."""
    of_dates = pa.types.is_date(by.type)
    if not isinstance(offset, (Months, datetime.timedelta)):
        if of_dates:
            return Expr("DateAdd", by.type, by.nullable, (by, literal(offset, pa.int32())))
        return Expr("Add", by.type, by.nullable, (by, literal(offset, by.type)), (("mode", "ANSI"),))
    expressions, times = java_package(EXPRESSIONS), java_package("java.time")
    if isinstance(offset, Months):
        kind, span, word = MONTHS, times.Period.ofMonths(offset.months), "YMInterval"
    else:
        micros = offset // datetime.timedelta(microseconds=1)
        micro = java_package("java.time.temporal").ChronoUnit.MICROS
        kind, span, word = pa.duration("us"), times.Duration.of(micros, micro), "Interval"
    constant = scala_object(expressions, "Literal").apply(span)
    name, zones = (f"DateAdd{word}", ()) if of_dates else (f"TimestampAdd{word}", (java_package("scala").Some(zone),))
    step = replace(literal(offset, kind), catalyst=constant)
    catalyst = getattr(expressions, name)(constant, constant, *zones)  # its operands are replaced by those of the node
    return Expr(name, by.type, by.nullable, (by, step), (("zone", zone),), catalyst)


def _varies(kind: pa.DataType, offsets: list[Any], zone: str) -> bool:
    """Return whether a bound is at different distances from different rows: months and the zone's days differ in
    length, and floats of 32 bits are rounded."""
    day = datetime.timedelta(days=1)
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None and not _FIXED.fullmatch(zone)
    return any(
        (pa.types.is_float32(kind) and isinstance(each, float))
        or isinstance(each, Months)
        or (zoned and isinstance(each, datetime.timedelta) and abs(each) >= day)
        for each in offsets
    )


_FIXED = re.compile(r"UTC|GMT|Z|[+-](0\d|1[0-8]):[0-5]\d")
"""Time zones all of whose days have 24 hours."""


def _or_default(there: Expr, value: Expr, default: Expr) -> Expr:
    """Return a value, or a default one where there is no row that has it."""
    missing = is_null(there)
    return Expr("If", value.type, True, (missing, default, value))


def _is_constant_null(given: Expr) -> bool:
    return given.name == "Literal" and given.option("value") is None


def _constant(given: Expr) -> Any:
    if given.name == "UnaryMinus":
        return -_constant(given.children[0])
    if given.name != "Literal":
        raise UnsupportedQueryError("WindowExpression", "it needs a constant", given.described)
    return given.option("value")
