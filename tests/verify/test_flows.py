"""Checks of whole programs: the laws of graphs, and what the operators ask of the functions in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import strategies as st

import flo
import flo.verify
from flo.values.sequence import SequenceValue
from flo.values.weighted import BagValue
from flo.verify import laws
from tests.seeded.operators import Hanging
from tests.verify.pasting import pasted
from tests.verify.test_explore import branching, race
from tests.verify.test_replay import order_matters


def add(total: int, x: int) -> int:
    return total + x


def keep_first(acc: int, x: int) -> int:
    return acc or x


@dataclass(frozen=True)
class Tiring(flo.Operator):
    """Passes elements on; where five are waiting, it drops them."""

    name = "tiring"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return inputs

    def steps(self, inputs: tuple[flo.Value, ...]) -> Iterator[flo.Step]:
        (value,) = inputs
        assert isinstance(value, SequenceValue)
        if len(value.elements) >= 5:
            yield flo.Step("tired", (value.drained(),), self, (None,))
        else:
            for element, rest in value.units():
                yield flo.Step("tiring", (rest,), self, (SequenceValue.of([element]),))
            if value.ending():
                yield flo.Step("tiring-terminator", (value.passed(),), self, (SequenceValue.terminator(),))


@pytest.mark.slow
def test_a_legal_program_passes() -> None:
    report = flo.verify.check(branching(), tries=10)
    assert report.ok, str(report)
    assert report.laws == laws.GRAPH_LAWS
    assert {"nest-run-graph", "map-bag", "zip"} <= report.fired
    assert report.strength.exhaustive > 10
    assert report.strength.random == 10


def test_a_race_in_a_program_is_shown_with_the_names_of_its_inputs() -> None:
    report = flo.verify.check(race())
    assert report.counterexample is not None
    assert report.counterexample.law == laws.GRAPH_EAGER_EXECUTION
    assert "largest ←" in str(report)
    assert report.counterexample.reproduce.startswith('flow.replay("largest←1 current-value largest←')
    again = eval(report.counterexample.reproduce, {"flow": race()})
    assert str(again.outputs["seen"]) == report.counterexample.outcomes[1]


def test_a_program_that_waits_for_ever_is_caught() -> None:
    flow = flo.Flow()
    (out,) = flow.input("numbers", flo.Sequence[int]).apply(Hanging())
    flow.output("out", out)
    report = flo.verify.check(flow)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.GRAPH_PROGRESS


def test_claims_are_tried_to_be_broken() -> None:
    flow = flo.Flow()
    bag = flow.input("bag", flo.Bag[int], bounded=True)
    flow.output("sum", bag.fold(0, add))
    flow.output("first", bag.fold(0, keep_first, commutative="any of them will do"))
    report = flo.verify.check(flow)
    assert not report.ok
    assert [part.ok for part in report.parts] == [True, False]
    assert report.parts[1].counterexample is not None
    assert report.parts[1].counterexample.law == laws.COMMUTATIVE


def test_functions_in_bodies_are_tried_as_well() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Nested[flo.Bag[int]])
    flow.output("out", numbers.nest(lambda bag: bag.fold(0, add)))
    report = flo.verify.check(flow, most=2, tries=5)
    assert report.ok, str(report)
    assert len(report.parts) == 1


def test_a_program_that_is_not_well_typed_is_refused() -> None:
    flow = flo.Flow()
    flow.input("numbers", flo.Sequence[int])
    with pytest.raises(flo.UnusedInputError):
        flo.verify.check(flow)


def test_a_counterexample_on_larger_data_is_found_and_made_small() -> None:
    """An operator that goes wrong at the fifth element: no small input shows it."""
    flow = flo.Flow()
    (out,) = flow.input("numbers", flo.Sequence[int]).apply(Tiring())
    flow.output("out", out)
    report = flo.verify.check(flow)
    assert report.strength.exhaustive > 10
    assert report.strength.sized > 0
    assert report.strength.longest == 5
    assert report.counterexample is not None
    assert report.counterexample.law == laws.GRAPH_EAGER_EXECUTION
    assert "numbers=[4, 2, 3, 1, 0]" in report.counterexample.reproduce
    assert max(map(len, report.counterexample.columns)) <= 6


def test_a_race_that_only_larger_data_shows_is_found_by_every_seed() -> None:
    for seed in range(10):
        report = flo.verify.check(order_matters(), seed=seed)
        assert report.counterexample is not None, seed
        assert report.counterexample.law == laws.DETERMINISM
        run = pasted(report.counterexample.reproduce, flow=order_matters())
        assert f"{run.outputs['o']} ⊗" == report.counterexample.outcomes[1]


def test_what_was_found_once_stays_found() -> None:
    """A function that raises the first time, and not when it is tried again."""
    seen: set[int] = set()

    def moody(x: int) -> int:
        if x > 1 and x not in seen:
            seen.add(x)
            raise RuntimeError("not today")
        return x

    flow = flo.Flow()
    flow.output("out", flow.input("numbers", flo.Sequence[int]).map(moody))
    with pytest.raises(flo.FunctionError, match="not today"):
        flo.verify.check(flow, examples={int: st.integers(0, 100)}, most=0)


def test_long_states_are_cut_to_what_differs() -> None:
    @dataclass(frozen=True)
    class Memory(flo.Operator):
        """Remembers which of its elements came last, and a long text."""

        text: str = "x" * 300
        last: int = 0
        name = "memory"

        def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
            return inputs

        def steps(self, inputs: tuple[flo.Value, ...]) -> Iterator[flo.Step]:
            (value,) = inputs
            assert isinstance(value, BagValue)
            for (element, _), rest in value.units():
                yield flo.Step("memory", (rest,), Memory(self.text, element), (None,))

    flow = flo.Flow()
    bag = flow.input("bag", flo.Bag[int])
    flow.output("other", bag.map(abs))
    flow.output("out", bag.apply(Memory("x" * 300))[0])
    found = flow.explore(bag=[1, 2]).counterexample
    assert found is not None
    assert max(map(len, found.outcomes)) < 120
    assert "1" in found.outcomes[0]
    assert found.outcomes[0] != found.outcomes[1]
    assert "map" not in found.outcomes[0]
