"""Finds the outputs of a program that can retract rows, from its structure.

Only z-sets have negative weights. A z-set has none if its rows come from inputs without retractions, through operators
that do not introduce any: see `Operator.retracts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flo.core.collection import Collection
from flo.core.errors import Origin
from flo.core.nested import Nested
from flo.core.structural import Source
from flo.program.dag import Dag, Stream, StreamLike, Vertex, body_of
from flo.values.keyed import Keyed
from flo.values.operators.fixpoint import Fixpoint
from flo.values.operators.per_key import PerKey
from flo.values.weighted import ZSet, ZSetValue


@dataclass(frozen=True)
class Cause:
    """The operator or input because of which a stream retracts rows."""

    name: str
    origin: Origin | None = None
    why: str = "retracts rows"


def can_cancel(of: Collection) -> bool:
    """Whether it can hold a negative weight."""
    if isinstance(of, Nested):
        return any(can_cancel(stream.collection) for stream in of.inner)
    return isinstance(of.inner if isinstance(of, Keyed) else of, ZSet)


def causes_of_pushes(inputs: Mapping[str, StreamLike]) -> dict[str, Cause]:
    """Returns why inputs that data is pushed to can retract rows: every z-set can."""
    why = "a push to the z-set `{}` may retract rows"
    return {
        name: Cause(name, why=why.format(name)) for name, each in inputs.items() if can_cancel(each.type.collection)
    }


def find_retractions(dag: Dag, inputs: Sequence[Cause | None]) -> list[Cause | None]:
    """Returns for every output the first operator or input on the way to it that retracts rows; None if none does."""
    causes = find_causes(dag, inputs)
    return [causes[stream] for stream in dag.outputs]


def find_causes(dag: Dag, inputs: Sequence[Cause | None]) -> dict[Stream, Cause | None]:
    """Returns for every stream the first operator or input on the way to it that retracts rows; None if none does."""
    causes: dict[Stream, Cause | None] = {}

    def note(streams: Sequence[Stream], given: Sequence[Cause | None]) -> None:
        for stream, cause in zip(streams, given, strict=True):
            causes[stream] = cause if can_cancel(stream.type.collection) else None

    note(dag.inputs, inputs)
    for vertex in dag.vertices:
        note(vertex.outputs, _causes(vertex, [causes[stream] for stream in vertex.inputs]))
    return causes


def find_append_only(dag: Dag, causes: Mapping[str, Cause]) -> frozenset[str]:
    """Returns the ids of the operators whose inputs never retract rows. `causes` says of inputs why they can."""
    known = find_causes(dag, [causes.get(stream.name) for stream in dag.inputs])
    return frozenset(each.id for each in dag.vertices if not any(known[stream] for stream in each.inputs))


def causes_in_body(vertex: Vertex, body: Dag, before: Sequence[Cause | None]) -> list[Cause | None]:
    """Returns why rows are retracted at the inputs of a body. All inner streams of a nested stream have the cause of
    the stream. Rounds take rows back even if nothing was retracted: a row that is there earlier than before."""
    if isinstance(vertex.operator, Fixpoint):
        own = Cause("fixpoint", vertex.origin, "computes rows again that a round has sooner, or later")
        return [*([own] * len(vertex.operator.relations)), *before]
    return list(before) if isinstance(vertex.operator, PerKey) else list(before) * len(body.inputs)


def _causes(vertex: Vertex, before: list[Cause | None]) -> list[Cause | None]:
    """Returns the causes of the outputs of an operator, given those of its inputs."""
    operator = vertex.operator
    body = body_of(operator, tuple(stream.type for stream in vertex.inputs))
    if isinstance(operator, Fixpoint) and body is not None:
        nothing = [None] * len(operator.relations)  # all rounds together lose no row, unless the body retracts
        return [_first(find_retractions(body, [*nothing, *before]))] * len(vertex.outputs)
    if body is not None:
        of_outputs = find_retractions(body, causes_in_body(vertex, body, before))
        return of_outputs if isinstance(operator, PerKey) else [_first(of_outputs)]
    if isinstance(operator, Source) and isinstance(operator.value, ZSetValue):
        below = any(weight < 0 for _, weight in operator.value.all_units())
    else:
        below = operator.retracts
    origin = vertex.origin
    own = Cause(origin.verb if origin is not None and origin.verb else operator.name, origin)
    return [own if below else _first(before)] * len(vertex.outputs)


def _first(causes: Sequence[Cause | None]) -> Cause | None:
    return next((cause for cause in causes if cause is not None), None)
