"""The typed dataflow as a table: every operator, its inputs, its outputs and types, and its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flo.api.scope import AnyBase, AnyStream, Scope, Vertex
from flo.core.operator import Bound
from flo.program.bounds import find_bounds
from flo.program.dag import live_vertices
from flo.program.outline import describe_operator
from flo.values.operators.fixpoint import Fixpoint

WIDEST = 56
"""How many characters of an operator are shown beside its state."""
ADDED = "one that is added counts from the micro-batch of its first row"


def explain_flow(name: str, scope: Scope, outputs: Mapping[str, AnyStream]) -> str:
    numbers: dict[AnyBase, str] = {}
    rows = list(_rows(scope, live_vertices(scope.vertices, list(outputs.values())), numbers, ""))
    rows += [("output", output, numbers[stream], stream.type.described(), "") for output, stream in outputs.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [f"flow {name}"]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append(("  " + "   ".join([*cells, row[4]])).rstrip())
    return "\n".join([*lines, *explain_partitions(scope, outputs), *explain_state(scope, outputs)])


def states(scope: Scope, outputs: Iterable[AnyStream]) -> Iterator[tuple[Vertex, Bound]]:
    """Yield every operator that keeps something, those of bodies included, and what bounds its state."""
    for vertex, bound in find_bounds(live_vertices(scope.vertices, list(outputs))):
        if bound is not Bound.NOTHING:
            yield vertex, bound
        if vertex.body is not None and not isinstance(vertex.operator, Fixpoint):  # which keeps what its body does
            yield from states(vertex.body, [stream for each in vertex.body.vertices for stream in each.outputs])


def explain_state(scope: Scope, outputs: Mapping[str, AnyStream]) -> list[str]:
    """Return a line for every operator that keeps something: what bounds its state, or that it grows."""
    rows = [
        (_shorten(describe_operator(vertex.operator)), bound.value, str(vertex.origin or ""))
        for vertex, bound in states(scope, outputs.values())
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    lines = (f"  {what.ljust(widths[0])}   {bound.ljust(widths[1])}   {where}".rstrip() for what, bound, where in rows)
    return ["state", *lines] if rows else []


def explain_partitions(scope: Scope, outputs: Mapping[str, AnyStream]) -> list[str]:
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
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"  {name.ljust(width)}   {of.count} declared, in any order; {ADDED}" for name, of in rows]
    return ["partitions", *lines] if rows else []


def _shorten(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _rows(
    scope: Scope, vertices: list[Vertex], numbers: dict[AnyBase, str], indent: str
) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (what, result, reads, type, where) for every input and operator of the scope."""
    for stream in scope.inputs:
        numbers[stream] = stream.name
        described = stream.type.described()
        if stream is scope.now:
            described += f", read outside because {'; '.join(dict.fromkeys(scope.reasons))}"
        yield (f"{indent}input", stream.name, "", described, str(stream.origin or ""))
    taken = set(numbers.values())
    for vertex in vertices:
        for stream in vertex.outputs:
            numbers[stream] = _fresh(stream.name, taken)
            taken.add(numbers[stream])
        yield _row(vertex, numbers, indent)
        if vertex.body is not None:
            yield from _rows(vertex.body, vertex.body.vertices, numbers, indent + "  ")


def _row(vertex: Vertex, numbers: dict[AnyBase, str], indent: str) -> tuple[str, str, str, str, str]:
    results = ", ".join(numbers[stream] for stream in vertex.outputs)
    reads = ", ".join(numbers.get(stream, stream.name) for stream in vertex.inputs)
    types = "; ".join(stream.type.described() for stream in vertex.outputs)
    return (f"{indent}{describe_operator(vertex.operator)}", results, reads, types, str(vertex.origin or ""))


def _fresh(name: str, taken: set[str]) -> str:
    number, fresh = 1, name
    while fresh in taken:
        number += 1
        fresh = f"{name}{number}"
    return fresh
