"""The budget of a check: what a unit of work costs, and what too little of it leaves undecided."""

from __future__ import annotations

import cProfile
from dataclasses import dataclass
from typing import Any

import pytest

import flo
from flo.authoring import SequenceValue
from flo.core.collection import End
from flo.verify import check


def carrying(batch: Any, loop: Any) -> Any:
    """The body of a `nest` with two defers."""
    total = loop.read_defer("total", initial=[0]).union(batch).fold(0, lambda one, other: one + other)
    loop.write_defer("total", total)
    loop.write_defer("rounds", loop.read_defer("rounds", initial=[0]).map(lambda count: count + 1))
    return total


def batches() -> flo.Flow:
    flow = flo.Flow("batches")
    flow.output("totals", flow.input("numbers", flo.Sequence[int]).batch(2).nest(carrying))
    return flow


def by_key() -> flo.Flow:
    flow = flo.Flow("by key")
    rows = flow.input("rows", flo.Sequence[tuple[str, int]]).key_by(lambda row: row[0])
    flow.output("totals", rows.per_key(lambda of_key: of_key.map(lambda row: row[1]).scan(0, lambda a, b: a + b)))
    return flow


@pytest.mark.every(test=2)
@pytest.mark.parametrize("build", [batches, by_key])
@pytest.mark.thorough
def test_three_times_the_work_costs_about_three_times_the_calls(build: Any) -> None:
    """Counted in calls of Python functions, as times are not the same on every machine."""
    flow = build()
    check(flow, work=100)  # imports, and what is remembered
    few, many = (calls_of(lambda work=work: check(flow, work=work)) for work in (1_500, 4_500))
    assert many < 4.5 * few


def calls_of(action: Any) -> int:
    profile = cProfile.Profile()
    profile.runcall(action)
    return sum(entry.callcount for entry in profile.getstats())


def test_a_step_types_only_the_operators_that_it_changes() -> None:
    judged = []

    @dataclass(frozen=True)
    class Counted(flo.Operator):
        """Passes everything on."""

        name = "counted"

        def type(self, inputs: Any) -> Any:
            judged.append(self)
            return inputs

        def steps(self, inputs: Any) -> Any:
            (value,) = inputs
            if value.elements:
                yield flo.Step("counted", (value.drained(),), self, (value.ended(End.OPEN),))
            elif value.ending():
                yield flo.Step("counted-terminator", (value.passed(),), self, (SequenceValue.terminator(),))

    flow = flo.Flow("counted")
    flow.output("out", flow.input("xs", flo.Sequence[int]).batch(2).nest(lambda batch: batch.apply(Counted())[0]))
    judged.clear()
    check(flow, work=2_000)
    assert len(judged) < 500  # about one for each input that was tried, not one for each step


def test_inputs_of_one_element_decide_nothing() -> None:
    report = check(batches(), work=500)
    assert report.strength.up_to == 1
    assert not report.ok
    assert report.verdict.startswith("is undecided: the budget ended after inputs of one element")
    assert check(batches(), most=1, tries=0, work=20_000).ok  # as asked for
