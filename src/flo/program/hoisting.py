"""Moves what the body of a `fixpoint` computes from outside alone to the outside.

    fixpoint(reach, edges)                          edges ──> filter ──> fixpoint(reach, kept)
      kept = edges.filter(…)                                               reach = kept ∪ reach ⋈ kept
      reach = kept ∪ reach ⋈ kept

It is the same in every round, so it is computed once, by operators that know nothing of rounds. What is left of the
body depends on its relations, and reads its other inputs as they are.
"""

from __future__ import annotations

from dataclasses import replace

from flo.core.stream_type import StreamType
from flo.program.dag import Dag, Stream, Vertex, body_of
from flo.program.identity import assign_ids
from flo.program.pruning import prune_columns
from flo.program.tree import to_graph
from flo.values.operators.fixpoint import Fixpoint


def hoist_invariants(dag: Dag) -> Dag:
    """Return the program with everything outside of fixpoints that is the same in every round."""
    if not any(isinstance(vertex.operator, Fixpoint) for vertex in dag.vertices):
        return dag
    after = Dag(inputs=list(dag.inputs), count=dag.count)
    new: dict[Stream, Stream] = {stream: stream for stream in dag.inputs}
    for vertex in dag.vertices:
        inputs = [new[stream] for stream in vertex.inputs]
        operator = vertex.operator
        if isinstance(operator, Fixpoint):
            operator, inputs = _hoist(after, vertex, operator, inputs)
        outputs = after.apply(operator, inputs, vertex.origin, vertex.id)
        for before, stream in zip(vertex.outputs, outputs, strict=True):
            new[before], stream.name = stream, before.name
    after.outputs = [new[stream] for stream in dag.outputs]
    return after


def _hoist(dag: Dag, vertex: Vertex, operator: Fixpoint, given: list[Stream]) -> tuple[Fixpoint, list[Stream]]:
    """Add the invariant part of a body to the program; return the fixpoint of the rest, and what it reads."""
    types = tuple(stream.type for stream in given)
    body = body_of(operator, types)
    assert body is not None
    count = len(operator.relations)
    body = prune_columns(assign_ids(body, [f"input {place}" for place in range(len(body.inputs))]))
    outside: dict[Stream, Stream] = dict(zip(body.inputs[count:], given, strict=True))
    rest: list[Vertex] = []
    for each in body.vertices:
        if all(stream in outside for stream in each.inputs):
            inputs = [outside[stream] for stream in each.inputs]
            typed = each.operator.typed(tuple(stream.type for stream in inputs))
            outputs = dag.apply(typed, inputs, each.origin, f"{vertex.id}/outside/{each.id}")
            outside |= zip(each.outputs, outputs, strict=True)
        else:
            rest.append(each)
    wanted = [stream for each in rest for stream in each.inputs] + body.outputs
    read = list(dict.fromkeys(stream for stream in wanted if stream in outside))
    inner = Dag()
    streams = [*body.inputs[:count], *read]
    inner.inputs = [inner.add_stream(StreamType(stream.type.collection, bounded=True)) for stream in streams]
    new = dict(zip(streams, inner.inputs, strict=True))
    for each in rest:
        new |= zip(
            each.outputs, inner.apply(each.operator, [new[s] for s in each.inputs], each.origin, each.id), strict=True
        )
    inner.outputs = [new[stream] for stream in body.outputs]
    fixpoint = replace(operator, graph=to_graph(inner), contents=(), results=())
    return fixpoint.typed(tuple(outside[stream].type for stream in read)), [outside[stream] for stream in read]
