"""A program on tables against the same program on values: every way to cut the data, and many schedules, one result."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import flo.tables.operators  # noqa: F401  # registers the columnar forms
from flo.core.graph import Graph, Node, inputs, nodes, setinput
from flo.core.operator import Operator, concat_all
from flo.core.semantics import finish, small_steps
from flo.core.stream_type import StreamTypes
from flo.core.typing import initial
from flo.tables.operator import OnTables, to_value_type
from flo.tables.translate import translate_graph, values_of
from tests.quick import is_thorough


def on_tables(graph: Graph | Operator, types: StreamTypes) -> tuple[Graph, StreamTypes]:
    """The columnar graph with its buffers empty, and the types of its outputs."""
    graph = Node(None, graph) if isinstance(graph, Operator) else graph
    return initial(translate_graph(graph, types), types)


def forms(running: Graph | Iterable[Node]) -> list[Operator]:
    """The operators that run on tables."""
    every = nodes(running) if isinstance(running, Graph) else running
    return [node.operator for node in every if isinstance(node.operator, OnTables)]


def agree(
    subject: Graph | Operator, types: StreamTypes, chunks: list[tuple[Any, ...]], seeds: int = 1
) -> tuple[Any, ...]:
    """Runs `chunks` (each a tuple of plain data, or None, for every input) on values and on tables; gives the outputs.

    All at once, chunk by chunk, and with chunks that come between random steps, which other chunks make others.
    Bounded inputs end.
    """
    start, output_types, tables, table_types = _prepared(subject, types)
    deltas = [
        tuple(None if data is None else t.collection.value(data) for t, data in zip(types, chunk, strict=True))
        for chunk in chunks
    ]
    deltas.append(tuple(t.collection.bottom().fix() if t.bounded else None for t in types))
    bottoms = tuple(t.collection.bottom() for t in output_types)

    def fed(graph: Graph, delta: Any) -> Graph:
        return setinput(graph, concat_all(inputs(graph), delta))

    whole = start
    for delta in deltas:
        whole = fed(whole, delta)
    expected = finish(whole, bottoms)[1]

    nothing = tuple(t.collection.bottom() for t in table_types)
    whole = tables
    for delta in deltas:
        whole = fed(whole, delta)
    _same(finish(whole, nothing)[1], expected, "all at once")
    graph, outputs = tables, nothing
    for delta in deltas:
        graph, outputs = finish(fed(graph, delta), outputs)
    _same(outputs, expected, "chunk by chunk")
    for seed in range(3 * seeds if is_thorough() else seeds):
        rng, graph, outputs, waiting = random.Random(1000 * seed + len(repr(chunks))), tables, nothing, list(deltas)
        while True:
            steps = list(small_steps(graph))
            if waiting and (not steps or rng.random() < 0.5):
                graph = fed(graph, waiting.pop(0))
            elif steps:
                step = rng.choice(steps)
                graph, outputs = step.graph, concat_all(outputs, step.outputs)
            else:
                break
        _same(outputs, expected, f"schedule {seed}")
    return expected


_PREPARED: dict[tuple[int, StreamTypes], tuple[Any, tuple[Graph, StreamTypes, Graph, StreamTypes]]] = {}
"""Of subjects that were seen before, with these: an `id` is taken only as long as they are there."""
MOST_PREPARED = 500


def _prepared(subject: Graph | Operator, types: StreamTypes) -> tuple[Graph, StreamTypes, Graph, StreamTypes]:
    """The graph on values and on tables, each with the types of its outputs: translated once for all examples."""
    if (id(subject), types) not in _PREPARED:
        graph = Node(None, subject) if isinstance(subject, Operator) else subject
        start, output_types = initial(graph, types)
        tables, table_types = on_tables(graph, types)
        assert tuple(map(to_value_type, table_types)) == output_types
        if len(_PREPARED) >= MOST_PREPARED:
            _PREPARED.clear()
        _PREPARED[id(subject), types] = subject, (start, output_types, tables, table_types)
    return _PREPARED[id(subject), types][1]


def _same(found: tuple[Any, ...], expected: tuple[Any, ...], how: str) -> None:
    assert tuple(map(values_of, found)) == expected, how
