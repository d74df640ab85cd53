"""Random ways through many states: a legal program is never accused, and a race is found."""

from __future__ import annotations

from typing import Any

import pytest

import flo
from flo.values.weighted import Bag
from tests.quick import is_thorough
from tests.seeded.arrival import ARRIVAL
from tests.seeded.base import Seeded
from tests.seeded.merging import MERGING
from tests.verify.drawn_programs import drawn

MOST_STATES = 150
"""Fewer than any of these programs has."""


@pytest.mark.every(test=2)
@pytest.mark.parametrize("seed", range(6))
def test_two_inputs_that_are_zipped_have_one_outcome(seed: int) -> None:
    flow = flo.Flow("zip")
    x, y = flow.input("x", flo.Sequence[int]), flow.input("y", flo.Sequence[int])
    flow.output("out", x.zip(y))
    found = flow.explore(x=list(range(12)), y=list(range(12)), most_states=500, seed=seed)
    assert found.ok, str(found)
    assert not found.complete


def test_two_programs_side_by_side_have_one_outcome() -> None:
    flow = flo.Flow("apart")
    for name in ("x", "y"):
        flow.output(f"{name}_out", flow.input(name, flo.Sequence[int]).map(lambda number: number + 1))
    found = flow.explore(x=list(range(60)), y=list(range(60)), most_states=2_000)
    assert found.ok, str(found)
    assert not found.complete


def explored(seeds: range) -> frozenset[str]:
    """The rules that were taken; every program has one outcome."""
    rules: set[str] = set()
    for seed in seeds:
        flow, data = drawn(seed)
        found = flow.explore(data, most_states=MOST_STATES, seed=seed)
        assert found.ok, f"seed {seed}: {found}"
        assert not found.complete, f"seed {seed} has few states"
        rules |= found.rules
    return frozenset(rules)


def test_legal_programs_are_not_accused() -> None:
    rules = explored(range(30 if is_thorough() else 10))
    assert len(rules) > (80 if is_thorough() else 40)


@pytest.mark.slow
@pytest.mark.parametrize("first", [pytest.param(each, marks=pytest.mark.thorough) for each in range(30, 440, 50)])
def test_more_legal_programs_are_not_accused(first: int) -> None:
    explored(range(first, first + 50))


def racing(seeded: Seeded) -> tuple[flo.Flow, dict[str, Any]]:
    """The operator in a flow, beside an input that has nothing to do with it."""
    flow, data = flo.Flow("race"), dict[str, Any]()
    streams = []
    for place, kind in enumerate(seeded.types):
        name = f"input{place}"
        streams.append(flow.input(name, kind.collection, bounded=kind.bounded))
        data[name] = [1, 2, 1, 3, 2, 4, 1, 5]
    outputs = streams[0].apply(seeded.subject, *streams[1:])
    for place, stream in enumerate(outputs):
        flow.output(f"output{place}", stream)
    flow.output("beside", flow.input("beside", Bag[int]).map(lambda number: number + 1))
    return flow, data | {"beside": [1, 2, 3, 4, 5, 6]}


@pytest.mark.every(test=3)
@pytest.mark.parametrize("seeded", [*ARRIVAL, *MERGING], ids=lambda seeded: seeded.name)
def test_what_depends_on_timing_is_still_found(seeded: Seeded) -> None:
    flow, data = racing(seeded)
    found = flow.explore(data, most_states=300, seed=1)
    assert not found.complete
    assert not found.ok, "one outcome"
    assert found.counterexample is not None
