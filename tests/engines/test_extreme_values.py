"""Every verb on extreme values gives the same on values, on tables and in Spark's tasks, however data is split."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.api.stream import Stream
from tests.engines.extremes import ANY, KINDS, NUMBERS, ORDERED, Kind, Streams, comparable, program, verbs_for
from tests.spark.harness import cut
from tests.spark.simulated import simulated

VERBS = {**ANY, **ORDERED, **NUMBERS}


def expected(streams: Streams) -> dict[str, Any]:
    return {name: comparable(None, value) for name, value in streams.flow.run(**streams.data).items()}


def on_tables(streams: Streams, parts: int, seed: int) -> dict[str, Any]:
    on_here = streams.flow.on(flo.here)
    loop, rng = on_here.loop(negative="allow"), random.Random(seed)
    pieces = {name: cut(items, parts, rng) for name, items in streams.data.items()}
    for number in range(parts):
        loop.push(**{name: cuts[number] for name, cuts in pieces.items()})
    loop.end(*(stream.name for stream in streams.flow._scope.inputs if stream.bounded))
    loop.run()
    types = dict(zip(streams.flow._outputs, on_here._output_types, strict=False))
    return {name: comparable(types[name], value) for name, value in loop.result().items()}


@pytest.mark.parametrize("verb", VERBS)
def test_tables_agree_with_values(verb: str) -> None:
    for kind in KINDS:
        if verb in verbs_for(kind):
            streams = program(kind, [verb])
            wanted = expected(streams)
            assert on_tables(streams, 1, 0) == wanted, f"{verb} of {kind.name}, at once"
            assert on_tables(streams, 3, 1) == wanted, f"{verb} of {kind.name}, in parts"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_tasks_agree_with_values(kind: Kind, tmp_path: Path) -> None:
    streams = program(kind, list(verbs_for(kind)))
    wanted = expected(streams)
    query = simulated(streams.flow, streams.data, tmp_path, parts=3, shards=2, seed=1)
    found = query.values()
    assert {name: comparable(None, found[name]) for name in wanted} == wanted


def test_every_verb_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set()
    verbs = {name for name, _ in inspect.getmembers(Stream, inspect.isfunction) if not name.startswith("_")}
    for name in verbs:
        monkeypatch.setattr(Stream, name, _noting(called, name, getattr(Stream, name)), raising=False)
    for kind in KINDS:
        program(kind, list(verbs_for(kind)))
    assert verbs - called == set()


def _noting(called: set[str], name: str, verb: Any) -> Any:
    def noted(*arguments: Any, **options: Any) -> Any:
        called.add(name)
        return verb(*arguments, **options)

    return noted
