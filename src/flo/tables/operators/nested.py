"""Nested streams that are not known to be complete, on tables: every inner stream is a table of its own.

`nest` is the same operator as on values, and its body a graph on tables. Operators that only move inner streams move
tables as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

from flo.core.defer import ReadDefer
from flo.core.graph import Graph, nodes
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.operator import Operator, Step, Values
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Source
from flo.tables.operator import Grouping, OnTables, Placement, in_tables, plain, register_in
from flo.tables.operators.defers import settled
from flo.tables.translate import CHOICES, tables_of, translated
from flo.tables.values import Columns, of_elements
from flo.values.operators.nested_streams import Flatten, NestedLast, NestOnce, RepeatNested, RepeatNestedBy

Choice = tuple[StreamTypes, Operator | Graph]


def nest_one_by_one(like: Nest, stream: StreamType) -> Choice | None:
    """`nest` with its body on tables, if any of it can be."""
    of = plain(stream).collection
    assert isinstance(of, Nested)
    body = settled(like.graph, of.inner)
    if body is None:
        return None
    wanted = in_tables(stream)
    graph, _ = translated(body, wanted.collection.inner)  # type: ignore[attr-defined]
    return ((wanted,), replace(like, graph=graph)) if _uses_tables(graph) else None


def _uses_tables(graph: Graph) -> bool:
    return any(
        isinstance(each.operator, OnTables) or (isinstance(each.operator, Nest) and _uses_tables(each.operator.graph))
        for each in nodes(graph)
    )


@register_in(CHOICES, ReadDefer, Source)
def emitted(like: ReadDefer | Source, inputs: StreamTypes) -> Choice | None:
    """What is emitted once is made a table once."""
    wanted = in_tables(StreamType(like.collection, bounded=True)).collection
    return (), replace(like, collection=wanted, value=tables_of(like.collection, like.value))


@register_in(CHOICES, RepeatNested, NestedLast)
def moved(like: Operator, inputs: StreamTypes) -> Choice | None:
    return tuple(map(in_tables, inputs)), like


@register_in(CHOICES, NestOnce)
def nest_once(like: NestOnce, inputs: StreamTypes) -> Choice | None:
    """Of the second input only the number of its inner streams matters."""
    stream, driver = inputs
    return (in_tables(stream), driver if isinstance(driver.collection, Nested) else in_tables(driver)), like


@register_in(CHOICES, RepeatNestedBy)
def repeat_nested_by(like: RepeatNestedBy, inputs: StreamTypes) -> Choice | None:
    stream, times = inputs
    return (in_tables(stream), plain(times)), like


@final
@dataclass(frozen=True)
class FlattenInner(OnTables[Flatten]):
    """flatten() of inner streams that are tables, as they come."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False
    name = "flatten_inner"

    def steps(self, inputs: Values) -> Iterator[Step]:
        for step in Flatten(Columns(of_elements(self.outputs[0])).bottom()).steps(inputs):
            yield replace(step, operator=self)

    def advance(self, inputs: Values) -> Iterator[Step]:
        return self.steps(inputs)


def flatten_inner(like: Flatten, stream: StreamType) -> Choice | None:
    wanted = in_tables(stream)
    inner: Any = wanted.collection
    return ((wanted,), FlattenInner(like)) if isinstance(inner.inner[0].collection, Columns) else None
