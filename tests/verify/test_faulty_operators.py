"""Operators that are plain wrong: each is refused with its name, the rule, and what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import flo
import flo.verify
from flo.values.sequence import SequenceValue
from flo.values.weighted import BagValue
from flo.verify import laws
from tests.verify.pasting import pasted


class Passing(flo.Operator):
    """Would pass its elements on."""

    def type(self, inputs: tuple[flo.StreamType, ...]) -> Any:
        return inputs

    def steps(self, inputs: tuple[flo.Value, ...]) -> Any:
        (value,) = inputs
        assert isinstance(value, SequenceValue)
        for element, rest in value.units():
            yield self.step(element, rest)
        if value.ending():
            yield flo.Step("passing-terminator", (value.passed(),), self, (SequenceValue.terminator(),))

    def step(self, element: Any, rest: SequenceValue) -> Any:
        return flo.Step("passing", (rest,), self, (SequenceValue.of([element]),))


@dataclass(frozen=True)
class NoValue(Passing):
    name = "no_value"

    def step(self, element: Any, rest: SequenceValue) -> Any:
        return flo.Step("passing", (rest,), self, ([element],))


@dataclass(frozen=True)
class NoStep(Passing):
    name = "no_step"

    def step(self, element: Any, rest: SequenceValue) -> Any:
        return None


@dataclass(frozen=True)
class NoIterator(Passing):
    name = "no_iterator"

    def steps(self, inputs: tuple[flo.Value, ...]) -> Any:
        return list(super().steps(inputs))


@dataclass(frozen=True)
class NoTuple(Passing):
    name = "no_tuple"

    def step(self, element: Any, rest: SequenceValue) -> Any:
        return flo.Step("passing", (rest,), self, SequenceValue.of([element]))


@dataclass(frozen=True)
class TooMany(Passing):
    name = "too_many"

    def step(self, element: Any, rest: SequenceValue) -> Any:
        return flo.Step("passing", (rest,), self, (None, None))


@dataclass(frozen=True)
class NoType(Passing):
    name = "no_type"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> Any:
        return None


@dataclass(frozen=True)
class OtherCollection(Passing):
    name = "other_collection"

    def step(self, element: Any, rest: SequenceValue) -> Any:
        return flo.Step("passing", (rest,), self, (BagValue.of([(element, 1)]),))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (NoValue(), "the rule `passing` of `no_value` must give collection values as its outputs; got [1]"),
        (NoStep(), "`steps` of `no_step` must yield steps; got None"),
        (NoIterator(), "`steps` of `no_iterator` must return an iterator of steps; got []"),
        (NoTuple(), "the rule `passing` of `no_tuple` must give its outputs as a tuple; got SequenceValue"),
        (TooMany(), "the rule `passing` of `too_many` must give 1 outputs; got 2"),
    ],
    ids=lambda item: getattr(item, "name", ""),
)
def test_what_is_no_step_is_refused(operator: flo.Operator, expected: str) -> None:
    with pytest.raises(flo.LawError) as caught:
        flo.verify.check(operator, flo.Sequence[int])
    assert expected in str(caught.value)
    assert "examples=" not in str(caught.value)
    flow = flo.Flow()
    flow.output("out", flow.input("x", flo.Sequence[int]).apply(operator)[0])
    with pytest.raises(flo.LawError, match=operator.name):
        flow.explore(x=[1])
    with pytest.raises(
        flo.FloError, match="a list|not an iterator" if operator.name == "no_iterator" else operator.name
    ):
        flow.run(x=[1])


def test_what_is_no_type_is_refused() -> None:
    with pytest.raises(flo.TypeMismatch, match="`type` of `no_type` must return a tuple"):
        flo.verify.check(NoType(), flo.Sequence[int])


def test_an_output_of_another_collection_breaks_preservation() -> None:
    report = flo.verify.check(OtherCollection(), flo.Sequence[int])
    assert report.counterexample is not None
    assert report.counterexample.law == laws.PRESERVATION
    assert "cannot be added" in report.counterexample.about


@dataclass
class Counting(Passing):
    """Counts what it has seen, in itself."""

    n: int = 0
    seen: list[int] = field(default_factory=list)
    name = "counting"

    def step(self, element: Any, rest: SequenceValue) -> Any:
        self.n += 1
        self.seen.append(element)
        return flo.Step("counting", (rest,), self, (SequenceValue.of([element]),))


def test_an_operator_that_changes_itself_is_told_so_and_left_alone() -> None:
    operator = Counting()
    report = flo.verify.check(operator, flo.Sequence[int])
    assert report.counterexample is not None
    assert report.counterexample.law == laws.A_FUNCTION
    assert "`counting` has changed its own state without a step" in report.counterexample.about
    assert (operator.n, operator.seen) == (0, [])
    assert "Counting(" in report.counterexample.reproduce
    assert "n=1" not in report.counterexample.reproduce
    pasted(report.counterexample.reproduce, Counting=Counting)
    assert isinstance(operator.steps((SequenceValue.of([]),)), Iterator)
