"""The outline of a flow, by which a checkpoint recognizes the program that wrote it: see `core/program_outline.py`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flo.api.explain import describe_operator
from flo.core.dag import Dag, Stream, Vertex
from flo.core.function_identity import Identity, identify
from flo.core.graph import text
from flo.core.operator import Operator
from flo.core.program_outline import AppliedFunction, AppliedOperator, Outline, without_modules
from flo.core.term import Lowering
from flo.values.retractions import Cause, body_of, can_cancel, find_causes

if TYPE_CHECKING:
    from flo.api.flow import Flow

LONG = 200
"""How many characters of the shape of an operator are recorded. Of longer ones it is a digest."""


def outline_flow(flow: Flow, retracting: Mapping[str, str] | None = None) -> Outline:
    """Return the outline of a flow. `retracting` says why inputs can retract rows: by default every z-set can."""
    streams = flow._scope.inputs
    if retracting is None:
        pushed = "a push to the z-set `{}` may retract rows"
        retracting = {s.name: pushed.format(s.name) for s in streams if can_cancel(s.type.collection)}
    causes = [Cause(s.name, why=retracting[s.name]) if s.name in retracting else None for s in streams]
    dag = Dag.of(flow.graph(), tuple(stream.type for stream in streams))
    outputs = dict(zip((*flow._outputs, *flow._late()), dag.outputs, strict=True))
    read = {stream: given.name for stream, given in zip(dag.inputs, streams, strict=True)}
    records = list(_operators(dag, causes, read, _outputs_of(dag, outputs), 0))
    for name, stream in outputs.items():
        records.append(AppliedOperator("output", f"output {name}", "", "output", (read[stream],), (name,)))
    return tuple(records)


def _outputs_of(dag: Dag, outputs: Mapping[str, Stream]) -> dict[int, tuple[str, ...]]:
    """Return for every operator, by its identity in memory, the outputs of the program that depend on it."""
    leads: dict[Stream, dict[str, None]] = {}
    for name, stream in outputs.items():
        leads.setdefault(stream, {})[name] = None
    found = {}
    for vertex in reversed(dag.vertices):
        own = dict.fromkeys(name for stream in vertex.outputs for name in leads.get(stream, ()))
        found[id(vertex)] = tuple(name for name in outputs if name in own)
        for stream in vertex.inputs:
            leads.setdefault(stream, {}).update(own)
    return found


def _operators(
    dag: Dag,
    inputs: Sequence[Cause | None],
    read: dict[Stream, str],
    outputs: Mapping[int, tuple[str, ...]] | tuple[str, ...],
    number: int,
) -> Iterator[AppliedOperator]:
    """Yield the operators of a program or a body; after one with a body, those of its body."""
    causes = find_causes(dag, inputs)
    for vertex in dag.vertices:
        leads = outputs if isinstance(outputs, tuple) else outputs[id(vertex)]
        before = [causes[stream] for stream in vertex.inputs]
        body = body_of(vertex, before)
        yield _applied(vertex, before, tuple(read[each] for each in vertex.inputs), leads, body is not None)
        read.update((stream, f"#{number}") for stream in vertex.outputs)
        number += 1
        if body is not None:
            inner, given = body
            of_body = {stream: f"{place}" for place, stream in enumerate(inner.inputs)}
            for each in _operators(inner, given, of_body, leads, number):
                yield each
                number += 1


def _applied(
    vertex: Vertex, before: list[Cause | None], reads: tuple[str, ...], outputs: tuple[str, ...], has_body: bool
) -> AppliedOperator:
    operator, origin = vertex.operator, vertex.origin
    verb = (origin.verb if origin is not None else "") or operator.name
    words = describe_operator(operator)
    cause = next((each for each in before if each is not None), None)
    functions: tuple[AppliedFunction, ...] = ()
    shape = operator.name
    if not has_body:
        shape = without_modules(text(Lowering()(operator), states=False))
        functions = tuple(_functions(operator, _reason(cause)))
    if len(shape) > LONG:
        shape = f"{operator.name} {hashlib.sha256(shape.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return AppliedOperator(
        verb,
        words.replace(operator.name, verb, 1),
        str(origin or ""),
        shape,
        reads,
        outputs,
        functions,
    )


def _reason(cause: Cause | None) -> str:
    """Return why rows can be retracted."""
    if cause is None:
        return ""
    if cause.origin is None:
        return cause.why
    return f"`{cause.name}` before it {cause.why}   ({cause.origin})"


def _functions(operator: Operator, retracted: str) -> Iterator[AppliedFunction]:
    """Yield the functions of an operator, and why their results may be computed again."""
    kept = tuple(getattr(operator, name) for name in operator.recomputes)
    recomputed = {id(item) for item in _supplied(kept)}
    for item in _supplied(operator):
        why = retracted or ("the operator retracts a result when it changes" if id(item) in recomputed else "")
        for identity in _identities(item):
            yield AppliedFunction(identity, why)


def _supplied(item: Any) -> list[Any]:
    """Return the functions and types in an operator, or in a part of one."""
    lowering = Lowering()
    lowering(item)
    return list(lowering.names.values())


def _identities(item: Any) -> Iterator[Identity]:
    """Yield the identity of a function, and of those that it is made of."""
    from flo.columns.projection import Projection  # not at first: a program on values does not wait for Arrow

    if isinstance(item, type) or not callable(item):
        return
    yield identify(item)
    if isinstance(item, Projection):
        yield from map(identify, item.functions.values())
