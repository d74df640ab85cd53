"""Verbs with the same key share a shuffle.

A verb such as `group_by` reads a projection of its stream: the key and its arguments. Verbs with one key but other
arguments would each shuffle their own:

    sales ─> (shop, price) ─shuffle─> sum        sales ─> (shop, price, at) ─shuffle─┬> (shop, price) ─> sum
          └> (shop, at)    ─shuffle─> max                                            └> (shop, at)    ─> max

             as written                              as it runs

So one projection has the columns of all of them, its rows are shuffled once by the key, and the projection of each verb
runs behind the shuffle. A stream that is shuffled by the key as it is needs no such projection.

Invariant: every verb reads the rows that it would read otherwise. Only keys that are columns of the stream are
recognized, and only streams whose rows have no order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from flo.columns.cell import fields_of
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.columns.row_types import row_type
from flo.columns.traced import TracedExpression
from flo.program.dag import Dag, Stream, Vertex
from flo.shards.plan.stages import must_be_in_one_place
from flo.tables.operator import OnTables, Placement
from flo.tables.operators.elementwise import MapTables
from flo.tables.values import Columns, layout_of
from flo.values.operators.elementwise import Map

Key: TypeAlias = tuple[str, ...]
"""The columns of a stream by which it is shuffled."""


@dataclass(frozen=True)
class _Projected:
    """A projection whose readers have one key."""

    vertex: Vertex
    f: Expression

    @property
    def only_selects(self) -> bool:
        """Whether it computes nothing, so that it cannot raise. What may raise runs before the shuffle, where rows can
        be diverted."""
        return all(isinstance(given, str) for given in self.f.given.values())


def share_shuffles(dag: Dag) -> tuple[Dag, dict[Stream, Key]]:
    """The DAG with shared projections, and for each projection that runs behind a shuffle, by its output, the key by
    which its input is shuffled."""
    readers: dict[Stream, list[tuple[Vertex, int]]] = defaultdict(list)
    for vertex in dag.vertices:
        for place, stream in enumerate(vertex.inputs):
            readers[stream].append((vertex, place))
    shared = Dag(list(dag.inputs), [], list(dag.outputs), dag.count)
    behind: dict[Stream, Key] = {}
    instead: dict[Vertex, Vertex] = {}
    before: dict[Vertex, Vertex] = {}
    for stream, own in readers.items():
        for key, some in _by_key(stream, own, readers, dag).items():
            if _is_shuffled_by(key, own):
                behind.update((each.vertex.outputs[0], key) for each in some if each.only_selects)
                some = [each for each in some if not each.only_selects]
            if len(some) > 1:
                vertices = [each.vertex for each in some]
                union, parts = _merge(shared, stream, some)
                before[vertices[0]] = union
                instead.update(zip(vertices, parts, strict=True))
                renamed = union.operator.passed(key) if isinstance(union.operator, OnTables) else None
                assert renamed is not None
                behind.update((vertex.outputs[0], renamed) for vertex in vertices)
    for vertex in dag.vertices:
        if vertex in before:
            shared.vertices.append(before[vertex])
        shared.vertices.append(instead.get(vertex, vertex))
    return shared, behind


def _by_key(
    stream: Stream,
    own: list[tuple[Vertex, int]],
    readers: Mapping[Stream, list[tuple[Vertex, int]]],
    dag: Dag,
) -> dict[Key, list[_Projected]]:
    """The projections of a stream that are read by one key only, by that key."""
    by_key: dict[Key, list[_Projected]] = defaultdict(list)
    if not isinstance(stream.type.collection, Columns) or must_be_in_one_place(stream):
        return by_key
    for vertex, _ in own:
        match vertex.operator:
            case MapTables(Map(Expression(given=Mapping()) as f)) if not isinstance(f, TracedExpression):
                output = vertex.outputs[0]
                keys = {_key_of(*reader) for reader in readers.get(output, ())}
                key = _before(vertex.operator, stream, *keys) if len(keys) == 1 else None
                if key and output not in dag.outputs:
                    by_key[key].append(_Projected(vertex, f))
    return by_key


def _key_of(vertex: Vertex, place: int) -> Key | None:
    """The columns by which an operator has its rows shuffled; None if it has them otherwise."""
    operator = vertex.operator
    if not isinstance(operator, OnTables) or operator.placement is not Placement.BY_KEY:
        return None
    return operator.key_columns(place)


def _before(operator: MapTables, stream: Stream, key: Key | None) -> Key | None:
    """The columns of a stream that a projection passes on as a key."""
    of, result = layout_of(stream.type.collection.base), layout_of(operator.outputs[0])  # type: ignore[attr-defined]
    passed = {operator.passed((name,)): name for name in of.names}
    names = tuple(passed.get((name,)) for name in key or ())
    if None in names:
        return None
    same = [of.schema.field(name).type for name in names] == [result.schema.field(name).type for name in key or ()]
    return names if same else None  # type: ignore[return-value]


def _is_shuffled_by(key: Key, own: list[tuple[Vertex, int]]) -> bool:
    """Whether an operator reads the stream as it is, by this key."""
    return any(_key_of(*reader) == key for reader in own)


def _merge(dag: Dag, stream: Stream, some: list[_Projected]) -> tuple[Vertex, list[Vertex]]:
    """Makes a projection with the columns of all of these, and each of these as a projection of that."""
    columns: dict[str, tuple[Any, Any]] = {}
    names: list[dict[str, str]] = []
    for each in some:
        kinds = fields_of(each.f.kind) or {}
        names.append({name: _name_column(columns, name, given, kinds[name]) for name, given in each.f.given.items()})
    first = some[0]
    row = row_type({name: kind for name, (_, kind) in columns.items()})
    every = Expression({name: given for name, (given, _) in columns.items()}, first.f.inputs, row, first.f.arguments)
    operator = _operator(first.vertex, every, stream)
    union = dag.add_stream(operator.type((stream.type,))[0])
    layout = Layout.of(row)
    assert layout is not None
    parts = []
    for each, own in zip(some, names, strict=True):
        part = _operator(each.vertex, Expression(own, (layout,), each.f.kind), union)
        parts.append(replace(each.vertex, operator=part, inputs=(union,)))
    return Vertex(operator, (stream,), (union,), first.vertex.origin, f"{first.vertex.id}/shared"), parts


def _operator(vertex: Vertex, f: Expression, stream: Stream) -> MapTables:
    """The operator of a projection, with another function and another input."""
    assert isinstance(vertex.operator, MapTables)
    return replace(vertex.operator, like=Map(f)).typed((stream.type,))


def _name_column(columns: dict[str, tuple[Any, Any]], name: str, given: Any, kind: Any) -> str:
    """Adds a column to the projection that has all of them, unless it is there. Returns its name there."""
    for known, (other, of) in columns.items():
        if of == kind and (other is given or (isinstance(given, str) and isinstance(other, str) and given == other)):
            return known
    free = wanted = given if isinstance(given, str) else name
    number = 1
    while free in columns:
        number += 1
        free = f"{wanted}_{number}"
    columns[free] = (given, kind)
    return free
