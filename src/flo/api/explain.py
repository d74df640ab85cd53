"""The typed dataflow as text: every verb as it is written, with the type of its result and its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flo.api.scope import AnyBase, AnyStream, Scope, Vertex
from flo.api.verb_calls import VerbCall, name_streams, verb_calls
from flo.core.operator import Bound
from flo.core.text_rows import format_heading, format_rows, wrap_text
from flo.program.bounds import find_bounds
from flo.program.dag import live_vertices
from flo.values.operators.fixpoint import Fixpoint

ADDED = "an added one counts from the micro-batch of its first row"


def explain_flow(name: str, scope: Scope, outputs: Mapping[str, AnyStream]) -> str:
    """Return a program as text that fits 100 columns."""
    names: dict[AnyBase, str] = {}
    lines = [f"flow {name}"]
    lines += _explain_scope(scope, live_vertices(scope.vertices, list(outputs.values())), names, "  ")
    lines += format_rows([(f"output {output}", f"= {names[stream]}") for output, stream in outputs.items()])
    return "\n".join([*lines, *explain_partitions(scope, outputs), *explain_state(scope, outputs)])


def _explain_scope(scope: Scope, vertices: list[Vertex], names: dict[AnyBase, str], indent: str) -> Iterator[str]:
    calls = verb_calls(vertices)
    name_streams(scope, calls, names)
    for stream in scope.inputs:
        yield from format_heading(f"input {stream.name}", str(stream.origin or ""), indent)
        yield from wrap_text(stream.type.in_full(), f"{indent}  ")
        if stream is scope.now:
            yield from wrap_text(f"read outside because {'; '.join(dict.fromkeys(scope.reasons))}", f"{indent}  ")
    for call in calls:
        yield from _explain_call(call, names, indent)


def _explain_call(call: VerbCall, names: dict[AnyBase, str], indent: str) -> Iterator[str]:
    results = ", ".join(names[stream] for stream in call.outputs)
    receiver = f"{names[call.inputs[0]]}." if call.inputs and call.inputs[0] in names else ""
    yield from format_heading(
        f"{results} = {receiver}{call.text}" if results else f"{receiver}{call.text}", str(call.origin or ""), indent
    )
    for operator in call.operators:
        yield from wrap_text(operator, f"{indent}    ")
    several = len(call.outputs) > 1
    for stream in call.outputs:
        yield from wrap_text(
            f"{names[stream]}: {stream.known_type.in_full()}" if several else stream.known_type.in_full(), f"{indent}  "
        )
    if call.body is not None:
        yield from _explain_scope(call.body, call.body.vertices, names, f"{indent}    ")


def states(scope: Scope, outputs: Iterable[AnyStream]) -> Iterator[tuple[Vertex, Bound]]:
    """Yield every operator that keeps something, those of bodies included, and what bounds its state."""
    for vertex, bound in find_bounds(live_vertices(scope.vertices, list(outputs))):
        if bound is not Bound.NOTHING:
            yield vertex, bound
        if vertex.body is not None and not isinstance(vertex.operator, Fixpoint):  # which keeps what its body does
            yield from states(vertex.body, [stream for each in vertex.body.vertices for stream in each.outputs])


def explain_state(scope: Scope, outputs: Mapping[str, AnyStream], indent: str = "") -> list[str]:
    """Return a line for every verb that keeps something: what bounds its state, or that it grows."""
    rows: dict[tuple[str, str, str], None] = {}
    for vertex, bound in states(scope, outputs.values()):
        rows[VerbCall([vertex]).text, bound.value, str(vertex.origin or "")] = None
    return [f"{indent}state", *format_rows(list(rows), f"{indent}  ")] if rows else []


def explain_partitions(scope: Scope, outputs: Mapping[str, AnyStream], indent: str = "") -> list[str]:
    """Return a line for every partitioned input whose partitions have clocks: what holds for them, and what for a
    partition that is added."""
    live = live_vertices(scope.vertices, list(outputs.values()))
    waiting = [vertex.inputs[0] for vertex in live if getattr(vertex.operator, "partitions", None)]
    timed: set[AnyBase] = set()
    while waiting:
        stream = waiting.pop()
        timed.add(stream)
        waiting += [] if stream.source is None else stream.source.inputs[:1]
    rows: list[tuple[str, Any]] = [(each.name, each.collection) for each in scope.inputs if each in timed]
    declared = [(name, f"{of.count} declared, in any order; {ADDED}") for name, of in rows]
    return [f"{indent}partitions", *format_rows(declared, f"{indent}  ")] if rows else []
