"""Exploration: every schedule and every cut of the inputs, counted; one outcome, or two traces that differ."""

from __future__ import annotations

from math import comb

import flo
from flo.values.lvar import LVar
from flo.verify.explore import Channel, explore
from tests.verify.illegal import CurrentValue, Hasty


def increment(x: int) -> int:
    return x + 1


def test_schedules_are_counted() -> None:
    """n elements through one operator: an arrival before each step, so the Catalan numbers."""
    flow = flo.Flow()
    flow.output("out", flow.input("numbers", flo.Sequence[int]).map(increment))
    for count in range(6):
        found = flow.explore(numbers=list(range(count)))
        assert found.ok
        assert found.complete
        assert found.schedules == comb(2 * count, count) // (count + 1)
        assert found.states == (count + 1) * (count + 2) // 2


def test_two_inputs_interleave() -> None:
    flow = flo.Flow()
    left, right = flow.input("left", flo.Sequence[int]), flow.input("right", flo.Sequence[int])
    flow.output("out", left.zip(right))
    found = flow.explore(left=[1, 2], right=[3, 4])
    assert found.ok
    assert found.complete
    assert "zip" in found.rules


def test_elements_without_order_arrive_in_any_order() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("bag", flo.Bag[int]).map(increment))
    assert flow.explore(bag=[1, 2]).schedules > flow.explore(bag=[1, 1]).schedules


def test_ends_come_last() -> None:
    flow = flo.Flow()
    flow.output("total", flow.input("bag", flo.Bag[int], bounded=True).sum())
    found = flow.explore(bag=[1, 2, 3])
    assert found.ok
    (outcome,) = found.outcomes
    assert outcome[0] == flo.Sequence(int).value([6]).fix()


def test_a_race_is_found_with_two_traces() -> None:
    flow = flo.Flow()
    numbers = flow.input("largest", flo.LVar(flo.Max(int)))
    (seen,) = numbers.apply(CurrentValue())
    flow.output("seen", seen)
    types = (flo.StreamType(LVar(flo.Max(int)), bounded=False),)
    growing = tuple(LVar(flo.Max(int)).value(n) for n in (1, 2))
    found = explore(flow.graph(), types, (Channel(0, growing),))
    assert not found.ok
    one, other = found.traces
    assert max(len(one), len(other)) <= 4
    assert {str(move).split(" ")[0] for move in one} <= {"input", "operator"}


def test_a_space_that_is_too_large_is_sampled_and_says_so() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("out", numbers.map(increment).map(increment))
    found = flow.explore(numbers=list(range(8)), most_states=50, seed=3)
    assert found.ok
    assert not found.complete
    assert "seed 3" in str(found)


def test_three_operators_and_six_elements_are_explored_completely() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("out", numbers.map(increment).filter(lambda x: x % 2).scan(0, lambda a, x: a + x))
    found = flow.explore(numbers=[1, 2, 3, 4, 5, 6])
    assert found.ok
    assert found.complete


def test_an_advance_that_does_not_agree_with_the_steps_is_found() -> None:
    flow = flo.Flow()
    (out,) = flow.input("numbers", flo.Sequence[int]).apply(Hasty())
    flow.output("out", out)
    found = flow.explore(numbers=[1, 2])
    assert not found.ok
    assert "advance" in [str(move) for move in found.traces[1]]
    report = flo.verify.check(Hasty())
    assert not report.ok
    assert "advance" in str(report)
