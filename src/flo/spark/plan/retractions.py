"""Which streams of a program can take rows back, as its structure tells.

Of all collections only z-sets hold weights below zero. One holds none if its rows come from inputs that are only ever
added to, through operators that then add only: see `Operator.retracts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flo.core.collection import Collection
from flo.core.dag import Dag, Stream, Vertex
from flo.core.errors import Origin
from flo.core.graph import Graph
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.stream_type import StreamTypes
from flo.core.structural import Source
from flo.values.keyed import Keyed
from flo.values.operators.keyed_streams import inner_types
from flo.values.operators.per_key import PerKey
from flo.values.weighted import ZSet, ZSetValue


@dataclass(frozen=True)
class Cause:
    """Why a stream takes rows back: an operator, or an input."""

    name: str
    origin: Origin | None = None
    why: str = "takes rows back"


def can_cancel(of: Collection) -> bool:
    """Whether it can hold a weight below zero."""
    if isinstance(of, Nested):
        return any(can_cancel(stream.collection) for stream in of.inner)
    return isinstance(of.inner if isinstance(of, Keyed) else of, ZSet)


def retractions(graph: Graph, types: StreamTypes, inputs: Sequence[Cause | None]) -> list[Cause | None]:
    """For every output the first that takes rows back on the way there; None if nothing does."""
    dag = Dag.of(graph, types)
    found: dict[Stream, Cause | None] = {}

    def note(streams: Sequence[Stream], causes: Sequence[Cause | None]) -> None:
        for stream, cause in zip(streams, causes, strict=True):
            found[stream] = cause if can_cancel(stream.type.collection) else None

    note(dag.inputs, inputs)
    for vertex in dag.vertices:
        note(vertex.outputs, _causes(vertex, [found[stream] for stream in vertex.inputs]))
    return [found[stream] for stream in dag.outputs]


def _causes(vertex: Vertex, before: list[Cause | None]) -> list[Cause | None]:
    """For every output of an operator."""
    operator, types = vertex.operator, tuple(stream.type for stream in vertex.inputs)
    if isinstance(operator, PerKey) and operator.graph is not None:
        return retractions(operator.graph, inner_types(operator, types), before)
    if isinstance(operator, Nest):
        inner = types[0].collection
        assert isinstance(inner, Nested)
        return [_first(retractions(operator.graph, inner.inner, before * len(inner.inner)))]
    if isinstance(operator, Source) and isinstance(operator.value, ZSetValue):
        below = any(weight < 0 for _, weight in operator.value.all_units())
    else:
        below = operator.retracts
    origin = vertex.origin
    own = Cause(origin.verb if origin is not None and origin.verb else operator.name, origin)
    return [own if below else _first(before)] * len(vertex.outputs)


def _first(causes: Sequence[Cause | None]) -> Cause | None:
    return next((cause for cause in causes if cause is not None), None)
