"""Faults that only some types of elements, some ends or some orders of arrival bring to light."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import pytest

import flo
import flo.verify
from flo.core.collection import End
from flo.core.operator import run
from flo.values.sequence import Sequence, SequenceValue
from flo.verify import laws
from flo.verify.equality import deep_type
from flo.verify.exploration.space import find_measure_fault
from tests.quick import times
from tests.seeded.collections import Counted, CountedBag

OPEN = flo.StreamType(flo.Sequence(int), bounded=False)
ENDING = flo.StreamType(flo.Sequence(int), bounded=True)


def one(element: Any) -> SequenceValue:
    return SequenceValue.of([element])


@dataclass(frozen=True)
class Passing(flo.Operator):
    """Passes its only input on."""

    name = "passing"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return inputs

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        (value,) = inputs
        for element, rest in value.units():
            yield flo.Step("passing", (rest,), self.after(), (one(self.emitted(element)),))
        if value.ending():
            yield flo.Step("passing-end", (value.passed(),), self, (SequenceValue.terminator(),))

    def emitted(self, element: Any) -> Any:
        return element

    def after(self) -> flo.Operator:
        return self


@dataclass(frozen=True)
class ToFloat(Passing):
    """Says that it gives ints."""

    name = "to_float"

    def emitted(self, element: Any) -> Any:
        return float(element)


@dataclass(frozen=True)
class DropsTwo(Passing):
    """`advance` drops two that come together after another."""

    name = "drops_two"
    seen: bool = False

    def after(self) -> flo.Operator:
        return replace(self, seen=True)

    def advance(self, inputs: Any) -> Iterator[flo.Step]:
        (value,) = inputs
        if self.seen and len(value.elements) == 2:
            value = value.drained()
            yield flo.Step("passing", (value,), self, (None,))
        yield from run(self, (value,))


@dataclass(frozen=True)
class Marks(flo.Operator):
    """A 0 for every element of two inputs."""

    name = "marking"
    arity = (2, 1)
    seen: bool = False

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return (flo.StreamType(flo.Sequence(int), bounded=all(kind.bounded for kind in inputs)),)

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        left, right = inputs
        for _, rest in left.units():
            yield flo.Step("marking-left", (rest, right), self, (one(0),))
        for _, rest in right.units() if self.takes_right(left, right) else ():
            yield flo.Step("marking-right", (left, rest), replace(self, seen=True), (one(0),))
        if left.ending() and right.ending():
            yield flo.Step("marking-end", (left.passed(), right.passed()), self, (SequenceValue.terminator(),))

    def takes_right(self, left: SequenceValue, right: SequenceValue) -> bool:
        return True


@dataclass(frozen=True)
class HangsOnAnEnd(Marks):
    """Takes nothing from the right when the left has ended and the right has not."""

    name = "hangs_on_an_end"

    def takes_right(self, left: SequenceValue, right: SequenceValue) -> bool:
        return right.fixed() or not left.fixed()


@dataclass(frozen=True)
class DropsTheLeft(Marks):
    """`advance` drops what comes from the left after something has come from the right."""

    name = "drops_the_left"

    def advance(self, inputs: Any) -> Iterator[flo.Step]:
        left, right = inputs
        if self.seen and left.elements:
            left = left.drained()
            yield flo.Step("marking-left", (left, right), self, (None,))
        yield from run(self, (left, right))


@dataclass(frozen=True)
class BetweenTheEnds(Marks):
    """Two rules for the time between the two ends, of which nothing is left after it."""

    name = "between_the_ends"
    picked: int = 0

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        left, right = inputs
        for step in super().steps(inputs):
            yield replace(step, operator=replace(self, picked=0)) if step.rule == "marking-end" else step
        if left.ending() and right.end is End.OPEN and not self.picked:
            yield flo.Step("picks-one", inputs, replace(self, picked=1), (None,))
            yield flo.Step("picks-two", inputs, replace(self, picked=2), (None,))

    def measure(self, inputs: Any) -> tuple[Any, ...]:
        return (sum(value.size() for value in inputs), self.picked == 0)


@dataclass(frozen=True)
class Sinking(Passing):
    """A step that is always enabled, and a measure that always falls."""

    name = "sinking"
    depth: int = 0
    longer: bool = False

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        yield flo.Step("deeper", inputs, replace(self, depth=self.depth + 1), (None,))

    def measure(self, inputs: Any) -> tuple[Any, ...]:
        return (0,) * self.depth + (1,) if self.longer else (-self.depth,)


class AtMostTwo(Sequence[int]):
    """Not closed under ++."""

    name = "AtMostTwo"

    def mismatch(self, value: Any) -> str | None:
        return "it is too long" if len(value.elements) > 2 else super().mismatch(value)


class Locked(Counted):
    """Absorbs everything once there is an element, also the end, and says that it is open."""

    __slots__ = ()
    kind = "locked"

    def concat(self, delta: Self) -> Self:
        return self if self.weights else super().concat(delta)


class LockedBag(CountedBag):
    name = "LockedBag"
    value_class = Locked


@pytest.mark.thorough
def test_an_open_value_that_absorbs_everything_is_found() -> None:
    report = flo.verify.check(LockedBag(int), tries=0)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.ABSORPTION
    assert report.counterexample.outcomes == ("it is not fixed",)
    for legal in (flo.Bag[int], flo.Set[bool], flo.ZSet[int], flo.LVar[flo.Max[int]]):
        assert flo.verify.check(flo.Collection.of(legal), tries=0).ok


def test_equal_things_of_other_types_are_not_the_same() -> None:
    things = [1, 1.0, True, (1,), (1.0,), [1], {1: 2}, {1: 2.0}, {1.0: 2}, {1}, {True}, 0.0, -0.0, one(1), one(1.0)]
    for number, thing in enumerate(things):
        same = [place for place, other in enumerate(things) if thing == other and deep_type(thing) == deep_type(other)]
        assert same == [number]
    assert deep_type({1: "a", 2: "b"}) == deep_type({2: "b", 1: "a"})


def test_a_float_among_ints_is_found_on_a_small_input() -> None:
    report = flo.verify.check(ToFloat(), OPEN, tries=0)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.PRESERVATION
    assert "1.0 is not of type int" in report.counterexample.about


def test_streams_of_equal_elements_are_kept_apart() -> None:
    flow = flo.Flow()
    flow.output("ints", flow.input("o", flo.Sequence[int]).map(str))
    flow.output("floats", flow.input("p", flo.Sequence[float]).map(str))
    (outcome,) = flow.explore(o=[1], p=[1.0]).outcomes
    assert outcome == (one("1"), one("1.0"))


def test_true_is_not_one() -> None:
    flow = flo.Flow()
    marked = flow.input("o", flo.Sequence[int]).map(lambda x: x > 0).map(lambda b: 1 if b is True else 0)
    flow.output("out", marked)
    found = flow.explore(o=[1, 1])
    assert found.ok, str(found)
    assert found.outcomes == ((SequenceValue.of([1, 1]),),)


@pytest.mark.parametrize(
    ("operator", "types", "law"),
    [
        (HangsOnAnEnd(), (OPEN, OPEN), laws.EAGER_EXECUTION),
        (BetweenTheEnds(), (ENDING, ENDING), laws.CONFLUENCE),
        (DropsTheLeft(), (OPEN, OPEN), laws.ADVANCE),
        (DropsTwo(), (OPEN,), laws.ADVANCE),
        (Sinking(), (OPEN,), laws.MEASURE),
        (Sinking(longer=True), (OPEN,), laws.MEASURE),
        (Passing(), (flo.StreamType(AtMostTwo(int), bounded=False),), laws.PRESERVATION),
    ],
    ids=str,
)
def test_a_fault_is_found_on_a_small_input(
    operator: flo.Operator, types: tuple[flo.StreamType, ...], law: laws.Law
) -> None:
    report = flo.verify.check(operator, *types, tries=0)
    assert report.counterexample is not None, str(report)
    assert report.counterexample.law == law


@pytest.mark.thorough
@pytest.mark.slow
def test_without_the_fault_they_pass() -> None:
    assert flo.verify.check(Passing(), flo.Sequence[int], tries=times(10)).ok
    assert flo.verify.check(Marks(), flo.Sequence[int], flo.Sequence[int], most=2, tries=times(5)).ok


def test_orders_of_arrival_are_chosen_at_random_too() -> None:
    """On small inputs nothing comes in two groups of two."""

    @dataclass(frozen=True)
    class DropsLater(DropsTwo):
        name = "drops_later"
        count: int = 0

        def after(self) -> flo.Operator:
            return replace(self, count=self.count + 1, seen=self.count >= 1)

    report = flo.verify.check(DropsLater(), OPEN)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.ADVANCE
    assert report.strength.random


@pytest.mark.parametrize(
    ("before", "after", "falls"),
    [
        ((1,), (0,), True),
        ((1, 0), (0, 9), True),
        ((1, ()), (0, (5, 5)), True),
        ((0, (1,)), (0, ()), True),
        ((0, (1,)), (0, (0, 1)), False),
        ((1,), (1,), False),
        ((0,), (-1,), False),
        ((1,), (0.5,), False),
        ((1,), ((),), False),
        (1, 0, False),
    ],
)
def test_what_falls_cannot_fall_for_ever(before: Any, after: Any, falls: bool) -> None:
    assert (find_measure_fault(before, after) is None) is falls
