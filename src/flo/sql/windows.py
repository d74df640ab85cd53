"""Window functions of Spark SQL as those of Flo. Rows that are equal in the order are ordered by the whole row."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pyarrow as pa

from flo.api.aggregates import AggregateSpec
from flo.api.ordering import asc, desc
from flo.api.window_functions import WindowSpec
from flo.sql import plan
from flo.sql.aggregates import counted, sum_type
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.nodes import Node, column

RANKS = {
    "RowNumber": "row_number",
    "Rank": "rank",
    "DenseRank": "dense_rank",
    "PercentRank": "percent_rank",
    "CumeDist": "cume_dist",
}


def add_windows(compiler: Any, stream: Any, relation: plan.Window) -> Any:
    """Return the rows with the results of window functions."""
    windows = _Windows(relation.order)
    results = {each.column.column: windows.result(each.given) for each in relation.given}
    parts = {f"==part{place}": each for place, each in enumerate(relation.partition)}
    keys = {f"==order{place}": each.by for place, each in enumerate(relation.order)}
    rows = compiler.extended(stream, {**windows.arguments, **parts, **keys})
    order = [
        (desc if each.descending else asc)(name, nulls_last=each.nulls_last)
        for name, each in zip(keys, relation.order, strict=True)
    ]
    found = rows.over(partition_by=list(parts) or None, order_by=order or None).with_columns(**windows.specs)
    own = {each.column: each for each in relation.below.columns}
    return compiler.project(found, {**own, **results})


class _Windows:
    """The window functions of one node, and their arguments as columns."""

    def __init__(self, order: tuple[plan.Order, ...]) -> None:
        self.order = order
        self.arguments: dict[str, Node] = {}
        self.specs: dict[str, Any] = {}
        self._columns: dict[Node, str] = {}

    def result(self, given: Node) -> Node:
        """Return an expression with its window functions replaced by columns."""
        if given.name == "WindowExpression":
            return self._window(given.children[0], given.option("frame"))
        children = tuple(self.result(child) for child in given.children)
        return given if children == given.children else replace(given, children=children)

    def _window(self, function: Node, frame: tuple[str, Any, Any]) -> Node:
        where = None
        if function.name == "AggregateExpression":
            function, *condition = function.children
            where = self._argument(condition[0]) if condition else None
        if function.name in RANKS:
            kind = pa.float64() if function.name in ("PercentRank", "CumeDist") else pa.int64()
            return _as(function.type, self._add(WindowSpec(RANKS[function.name]), kind, nullable=False))
        match function.name:
            case "NTile":
                buckets = _constant(function.children[0])
                return _as(function.type, self._add(WindowSpec("ntile", None, (buckets,)), pa.int64(), nullable=False))
            case "Lag" | "Lead" if not function.option("ignore_nulls"):
                return self._neighbour(function)
            case "Count":
                return self._framed("count", counted(function), where, frame, pa.int64(), nullable=False)
            case "Sum":
                of = function.children[0]
                total = self._framed("sum", [of], where, frame, sum_type(of.type))
                return Node("SumResult", function.type, True, (total,), function.options)
            case "Average":
                of = function.children[0]
                total = self._framed("sum", [of], where, frame, sum_type(of.type))
                count = self._framed("count", [of], where, frame, pa.int64(), nullable=False)
                return Node("AverageResult", function.type, True, (total, count), function.options)
            case "Min" | "Max":
                return self._framed(function.name.lower(), function.children[:1], where, frame, function.type)
            case "NthValue" if not function.option("ignore_nulls"):
                of, nth = function.children
                spec = WindowSpec("nth_value", self._argument(of), (_constant(nth),), **self._frame(frame))
                return self._add(spec, function.type)
            case "First" | "Last":
                of, name = function.children[0], function.name.lower()
                if function.option("ignore_nulls"):
                    return self._framed(name, [of], where, frame, function.type)
                spec = WindowSpec(f"{name}_value", self._argument(of), (), **self._frame(frame))
                return self._add(spec, function.type)
        instead = ("JOIN (SELECT key, … FROM … GROUP BY key)", "an aggregate of each partition")
        if function.option("ignore_nulls"):
            instead = (
                "last(x) IGNORE NULLS OVER (… ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)",
                "the last value that is not null, before the row",
            )
        raise UnsupportedQueryError(
            function.name, "Flo does not maintain this function in a window", function.described, instead
        )

    def _frame(self, frame: tuple[str, Any, Any]) -> dict[str, tuple[Any, Any]]:
        """Return a frame by its mode. The offsets of a range of dates are days."""
        mode, *bounds = frame
        if mode == "range" and self.order and pa.types.is_date(self.order[0].by.type):
            bounds = [datetime.timedelta(days=each) if isinstance(each, int) and each else each for each in bounds]
        return {mode: (bounds[0], bounds[1])}

    def _neighbour(self, function: Node) -> Node:
        of, distance, default = function.children
        steps = _constant(distance)
        kind = function.name.lower()
        if steps < 0:
            kind, steps = "lead" if kind == "lag" else "lag", -steps
        spec = WindowSpec(kind, self._argument(of), (steps, _constant(default)))
        return self._add(spec, function.type)

    def _framed(
        self,
        kind: str,
        arguments: Any,
        where: str | None,
        frame: tuple[str, Any, Any],
        result: pa.DataType,
        *,
        nullable: bool = True,
    ) -> Node:
        names = tuple(map(self._argument, arguments))
        return self._add(AggregateSpec(kind, names, where, **self._frame(frame)), result, nullable=nullable)

    def _argument(self, given: Node) -> str:
        if given not in self._columns:
            name = self._columns[given] = f"==argument{len(self._columns)}"
            self.arguments[name] = given
        return self._columns[given]

    def _add(self, spec: Any, result: pa.DataType, *, nullable: bool = True) -> Node:
        """Return the column of a window function; equal ones share one."""
        name = next((name for name, known in self.specs.items() if known == spec), None)
        if name is None:
            name = f"==window{len(self.specs)}"
            self.specs[name] = spec
        return column(name, result, nullable)


def _as(kind: pa.DataType, given: Node) -> Node:
    if given.type == kind:
        return given
    return Node("Cast", kind, given.nullable, (given,), (("mode", "ANSI"),))


def _constant(given: Node) -> Any:
    if given.name == "UnaryMinus":
        return -_constant(given.children[0])
    if given.name != "Literal":
        raise UnsupportedQueryError("WindowExpression", "it needs a constant", given.described)
    return given.option("value")
