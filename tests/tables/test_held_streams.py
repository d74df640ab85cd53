"""A part of a state that `holds` an input has all rows of it: a changed program is filled from there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import flo
from flo.program.dag import Dag
from flo.tables.dataflow import Dataflow
from flo.tables.operator import OnTables, operators_on_tables
from flo.tables.values import WEIGHT, Columns, layout_of, to_rows
from tests.quick import times
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES, draw_program

HOLDING = {
    "distinct_tables",
    "filtering_tables",
    "from_zset_tables",
    "join_tables",
    "outer_tables",
    "over_tables",
    "top_k_tables",
}


def test_these_operators_hold_their_inputs() -> None:
    kinds = operators_on_tables()
    assert {name for name, kind in kinds.items() if any(p.holds is not None for p in kind.parts())} == HOLDING


def content(tables: list[pa.Table], names: list[str]) -> dict[Any, int]:
    """The weights of rows, by their text."""
    total: Counter[str] = Counter()
    for table in tables:
        for row in table.select([*names, WEIGHT]).to_pylist():
            total[repr([row[name] for name in names])] += row[WEIGHT]
    return {row: weight for row, weight in total.items() if weight}


@pytest.mark.parametrize("seed", range(times(60)))
def test_it_is_what_has_come(seed: int) -> None:
    program = draw_program(seed)[0].on(flo.here)._dag
    read = list(dict.fromkeys(stream for vertex in program.vertices for stream in vertex.inputs))
    streams = [stream for stream in read if isinstance(stream.type.collection, Columns)]
    loop = Dataflow(Dag(program.inputs, program.vertices, streams, program.count))
    came: dict[Any, list[pa.Table]] = {stream: [] for stream in streams}
    for delta in random_deltas(SOURCES, seed, 4, 4):
        rows: list[Any] = [stream.type.collection for stream in program.inputs]
        given = zip(rows, program.inputs, strict=True)
        loop.push(tuple(to_rows(of.base, of.base.value(delta[stream.name])) for of, stream in given))
        loop.run()
        for place, stream in enumerate(streams):
            sent: Any = loop.pull(place)
            came[stream].append(sent.table)
    for vertex, node in zip(program.vertices, loop.nodes, strict=True):
        for place, stream in enumerate(vertex.inputs) if isinstance(node.operator, OnTables) else ():
            parts = [part.name for part in node.operator.parts() if part.holds == place]
            if parts:
                names = list(layout_of(stream.type.collection.base).names)  # type: ignore[attr-defined]
                held = [getattr(node.operator, part).table() for part in parts]
                assert content([each for each in held if each is not None], names) == content(came[stream], names)
