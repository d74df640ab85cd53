"""Where something goes wrong on values, the same goes wrong on tables."""

from __future__ import annotations

from typing import Any

from flo.core.collection import FormedValue
from flo.core.errors import Origin
from flo.core.graph import Graph, Node, inputs, setinput
from flo.core.operator import Operator, concat_all
from flo.core.semantics import attempt
from flo.core.stream_type import StreamTypes
from flo.core.typing import initial
from tests.tables.harness import on_tables


def fails_alike(operator: Operator, types: StreamTypes, chunks: list[tuple[Any, ...]]) -> str:
    """Runs the chunks, and then the end, on both; gives what the error says, or nothing where none is raised.

    What came of the other rows is compared only where nothing is raised: a push that raises is rolled back.
    """
    node = Node(None, operator, Origin("pipeline.py", 1, verb="verb"))
    said, expected = _run(*initial(node, types), types, chunks)
    found = _run(*on_tables(node, types), types, chunks)
    assert found[0] == said
    assert said or found[1] == expected
    return said


def _run(graph: Graph, outputs: StreamTypes, types: StreamTypes, chunks: list[tuple[Any, ...]]) -> tuple[str, Any]:
    deltas = [tuple(t.collection.value(data) for t, data in zip(types, chunk, strict=True)) for chunk in chunks]
    deltas.append(tuple(t.collection.bottom().fix() for t in types))
    found, fault = tuple(t.collection.bottom() for t in outputs), None
    for delta in deltas:
        graph, before = setinput(graph, concat_all(inputs(graph), delta)), None
        while graph is not before:
            before = graph
            graph, more, fault = attempt(graph)
            for each in more:
                found = concat_all(found, each)
    return str(fault or ""), tuple(value.value() if isinstance(value, FormedValue) else value for value in found)
