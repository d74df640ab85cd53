"""Streams of rows, as the compiler of queries has them: their columns, unions and joins."""

from __future__ import annotations

from functools import reduce
from typing import Any, TypeAlias

from flo.api.columns import kind_of
from flo.api.joins import RIGHT, join_rows
from flo.api.stream import Stream
from flo.columns.layout import Layout
from flo.core.stream_type import Unbounded
from flo.sql.nodes import Expr, column
from flo.values.weighted import ZSet

RowStream: TypeAlias = Stream[ZSet[Any], Unbounded]


def layout_of(stream: RowStream) -> Layout:
    layout = Layout.of(kind_of(stream))
    assert layout is not None
    return layout


def own_columns(stream: RowStream) -> dict[str, Expr]:
    layout = layout_of(stream)
    return {
        name: column(name, cell.arrow, cell.nullable) for name, cell in zip(layout.names, layout.cells, strict=True)
    }


def united(parts: list[RowStream]) -> RowStream:
    return reduce(lambda one, other: one.union(other), parts)


def joined(
    left: RowStream,
    right: RowStream,
    on: dict[str, Expr],
    other_on: dict[str, Expr],
    how: str,
    *,
    where: Expr | None = None,
    nulls_equal: bool = False,
) -> RowStream:
    """Return the rows of a join on these columns, and on a condition."""
    rows: RowStream = join_rows(left, right, list(on), list(other_on), how, where, RIGHT, nulls_equal)
    return rows
