"""Faults behind a size, a weight, a clock or a changed element, however the code hides them."""

from __future__ import annotations

import enum
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import flo
import flo.verify
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import ZSetValue
from flo.verify import laws
from flo.verify.data.constants import impure_uses, integers, sizes

pytestmark = pytest.mark.every(check=3)

OPEN = flo.StreamType(flo.Sequence(int), bounded=False)
LIMITS = {"full": 13}


class Limit(enum.Enum):
    FULL = 29


@dataclass(frozen=True)
class Settings:
    full: int = 35


@dataclass(frozen=True)
class Sorting(flo.Operator):
    """Passes elements on as they come, and in sorted order once the buffer is full."""

    name = "sorting"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return inputs

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        (value,) = inputs
        if value.elements and self.is_full(len(value.elements)):
            ordered = SequenceValue.of(sorted(value.elements))
            yield flo.Step("sorting", (value.drained(),), self, (ordered,))
            return
        for element, rest in value.units():
            yield flo.Step("sorting", (rest,), self, (SequenceValue.of([element]),))
        if value.ending():
            yield flo.Step("sorting-end", (value.passed(),), self, (SequenceValue.terminator(),))

    def is_full(self, count: int) -> bool:
        return False


class AtAHundred(Sorting):
    name = "at_a_hundred"

    def is_full(self, count: int) -> bool:
        return count >= 100


class InADict(Sorting):
    name = "in_a_dict"

    def is_full(self, count: int) -> bool:
        return count == LIMITS["full"]


class InAnEnum(Sorting):
    name = "in_an_enum"

    def is_full(self, count: int) -> bool:
        return count == Limit.FULL.value


class InAClass(Sorting):
    name = "in_a_class"
    sizes: ClassVar = (31, 33)

    def is_full(self, count: int) -> bool:
        return self.sizes[0] <= count <= self.sizes[1]


@dataclass(frozen=True)
class InSettings(Sorting):
    name = "in_settings"
    settings: Settings = Settings()

    def is_full(self, count: int) -> bool:
        return count == self.settings.full


class Computed(Sorting):
    """No constant says 27."""

    name = "computed"

    def is_full(self, count: int) -> bool:
        return count >= len("abcdefghijklmnopqrstuvwxyz") + 1


class TooLarge(Sorting):
    name = "too_large"

    def is_full(self, count: int) -> bool:
        return count >= 5_000


class SortsElements(Sorting):
    """Changes the lists that it is given."""

    name = "sorts_elements"

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        for element in inputs[0].elements:
            element.sort()
        yield from super().steps(inputs)


@dataclass(frozen=True)
class Capped(flo.Operator):
    """Weights of at most 100."""

    name = "capped"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return inputs

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        (value,) = inputs
        for (element, weight), rest in value.units():
            yield flo.Step("capped", (rest,), self, (ZSetValue.of([(element, min(weight, 100))]),))
        if value.ending():
            yield flo.Step("capped-end", (value.passed(),), self, (ZSetValue.of([]).fix(),))


class AtMostTwenty(Sequence[int]):
    """Not closed under ++."""

    name = "AtMostTwenty"

    def mismatch(self, value: Any) -> str | None:
        return "it is too long" if len(value.elements) > 20 else super().mismatch(value)


@pytest.mark.every(test=2)
@pytest.mark.parametrize(
    "operator",
    [AtAHundred(), InADict(), InAnEnum(), InAClass(), InSettings(), Computed()],
    ids=lambda each: each.name,
)
def test_a_size_is_found_wherever_it_is_written(operator: flo.Operator) -> None:
    report = flo.verify.check(operator, OPEN, tries=0)
    assert report.counterexample is not None, str(report)
    assert report.counterexample.law in (laws.EAGER_EXECUTION, laws.CONFLUENCE)


def test_without_the_fault_it_passes() -> None:
    report = flo.verify.check(Sorting(), OPEN, tries=10)
    assert report.verdict == "passes"
    assert report.strength.longest >= 128


def test_a_size_that_is_never_reached_is_a_gap() -> None:
    report = flo.verify.check(TooLarge(), OPEN, tries=0)
    assert report.ok
    assert report.verdict == "passes, with gaps: no input of 5,000 elements was tried"


def test_a_large_weight_is_found() -> None:
    report = flo.verify.check(Capped(), flo.StreamType(flo.ZSet(int), bounded=False), tries=0)
    assert report.counterexample is not None
    assert report.strength.heaviest >= 100


def test_a_changed_element_is_found() -> None:
    types = flo.StreamType(flo.Sequence(list[int]), bounded=False)
    report = flo.verify.check(SortsElements(), types, tries=0, examples={list[int]: [[2, 1], [1]]})
    assert report.counterexample is not None
    assert report.counterexample.law == laws.A_FUNCTION
    assert "changes an element of its input" in report.counterexample.about
    assert report.counterexample.instead.startswith("emit a new value")


def test_a_collection_is_tried_with_the_sizes_in_its_code() -> None:
    report = flo.verify.check(AtMostTwenty(int), tries=0)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.CLOSURE


def test_a_fold_is_tried_after_as_many_elements_as_its_code_mentions() -> None:
    def keep_nine(kept: frozenset[int], element: int) -> frozenset[int]:
        return kept | {element} if len(kept) < 9 else kept

    report = flo.verify.check(keep_nine, frozenset[int], int, start=frozenset(), tries=0)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.COMMUTATIVE


def by_the_clock(x: int) -> int:
    return x + int(time.time()) // 10**6


def by_the_process(x: int) -> int:
    return x + 0 * os.getpid()


def at_random(x: int) -> int:
    return x if random.random() < 2 else -1


def seeded(x: int) -> int:
    return random.Random(x).randrange(10)


def test_calls_that_no_check_can_vary_are_gaps() -> None:
    assert impure_uses(by_the_clock) == ["calls time.time, which gives another result later"]
    assert impure_uses(at_random) == ["calls random.random, which gives another result later"]
    assert impure_uses(seeded) == []
    report = flo.verify.check(by_the_clock, int, tries=0)
    assert report.ok
    assert report.verdict == "passes, with gaps: it calls time.time, which gives another result later"
    flow = flo.Flow("processes")
    flow.output("out", flow.input("in", flo.Sequence[int]).map(by_the_process))
    gaps = flo.verify.check(flow, tries=0).gaps
    assert gaps == ("`map` calls os.getpid, which gives another result in each process",)


def test_integers_are_read_from_code_and_containers() -> None:
    assert integers(InADict.is_full) == [13]
    assert integers(InAnEnum.is_full) == [29]
    assert integers((1, (2, 3), Settings())) == [1, 2, 3, 35]
    assert sizes([6], ladder=()) == [5, 6, 7, 12]
