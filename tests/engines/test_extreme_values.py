"""Every verb on extreme values gives the same on every engine, however data is split."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import pytest

from flo.api.stream import Stream
from tests.engines.engine import Engine, comparable
from tests.engines.extremes import KINDS, Kind, program, verbs_for
from tests.spark.programs import Case, together

pytestmark = pytest.mark.every(check=5)

FEW = ("group_by of functions", "key_by", "enumerate")
"""Verbs that send rows of every kind to other shards, as keys and as values, and back in order."""

SOME = ("decimal", "zoned time")
"""Two that differ most: `test_every_kind` has all."""


@cache
def expected(name: str) -> dict[str, Any]:
    """The outputs of all verbs of a kind, of all data at once."""
    (kind,) = (kind for kind in KINDS if kind.name == name)
    streams = program(kind, list(verbs_for(kind)))
    return {name: comparable(value) for name, value in streams.flow.run(**streams.data, negative="allow").items()}


@pytest.mark.sampled(values=(), tables=SOME, tasks=("int",), spark=())
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_verb(engine: Engine, kind: Kind) -> None:
    streams = program(kind, list(verbs_for(kind)))
    for parts in engine.cuts:
        found = engine.run(streams.flow, streams.data, parts=parts)
        for name, value in expected(kind.name).items():
            assert found[name] == value, f"{name}, in {parts} parts"


@pytest.mark.sampled(values=(), tasks=(), spark=())
def test_every_kind(engine: Engine) -> None:
    """All kinds side by side, in one query."""
    cases = {
        kind.name: Case(lambda kind=kind: program(kind, list(FEW)).flow, program(kind, list(FEW)).data)
        for kind in KINDS
    }
    case = together(cases)
    found = engine.run(case.build(), case.data, parts=max(engine.cuts))
    for kind in KINDS:
        for name, value in expected(kind.name).items():
            if name.rpartition("_")[0] in FEW:
                assert found[f"{kind.name} {name}"] == value, f"{kind.name} {name}"


def test_a_difference_is_seen(tmp_path: Any) -> None:
    (kind,) = (kind for kind in KINDS if kind.name == "int")
    streams = program(kind, ["map", "sum and avg"])
    fewer = {name: dict(list(items.items())[1:]) if name == "zset" else items for name, items in streams.data.items()}
    found = Engine("tables", tmp_path).run(streams.flow, fewer)
    assert {name for name, value in found.items() if value != expected("int")[name]} == {"map_3", "sum and avg_1"}


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
