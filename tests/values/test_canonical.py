"""Elements that are equal have one form: NaN, zeros, and times in the hour that is repeated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

import flo
from flo.values.canonical import canonical_element, instant_element

BERLIN = ZoneInfo("Europe/Berlin")
SUMMER = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=0)
WINTER = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1)
Moment = Annotated[datetime, BERLIN]


class Reading(NamedTuple):
    at: Any
    value: float


@dataclass(frozen=True)
class Point:
    x: float
    at: Any = None


def test_nan_has_one_object_wherever_it_is() -> None:
    fresh = [float("nan") for _ in range(4)]
    found = [canonical_element(fresh[0]), *(canonical_element((1, fresh[1]))[1:])]
    found += [canonical_element(Point(fresh[2])).x, *canonical_element(frozenset({fresh[3]}))]
    assert all(each is math.nan for each in found)


@pytest.mark.parametrize("element", [1, "a", (1, "a"), Point(1.0), Reading(SUMMER.replace(day=24), 1.0), None])
def test_what_has_one_form_is_left_alone(element: Any) -> None:
    assert canonical_element(element) is element
    assert instant_element(element) is element


def test_the_two_times_of_the_repeated_hour_are_different_instants() -> None:
    assert SUMMER == WINTER  # what Python says
    summer, winter = instant_element(SUMMER), instant_element(WINTER)
    assert summer != winter
    assert summer < winter
    assert [each.astimezone(UTC).hour for each in (summer, winter)] == [0, 1]
    assert canonical_element(Reading(WINTER, -0.0)) == Reading(winter, 0.0)
    assert canonical_element(Point(1.0, WINTER)) == Point(1.0, winter)


def test_a_sequence_keeps_its_floats() -> None:
    assert repr(instant_element((-0.0, WINTER))[0]) == "-0.0"


def test_keys_that_are_computed_are_compared_as_columns_are() -> None:
    def nan_or_zero(x: int) -> float:
        return float("nan") if x % 2 else -0.0 if x % 4 else 0.0

    flow = flo.Flow("keys")
    numbers = flow.input("numbers", flo.ZSet[int])
    flow.output("groups", numbers.group_by(key=nan_or_zero).agg(n=flo.count()))
    flow.output("pairs", numbers.join(numbers, nan_or_zero, nan_or_zero).agg(n=flo.count()))
    flow.output(
        "keyed",
        numbers.key_by(nan_or_zero).per_key(lambda s: s.distinct()).entries().group_by("0").agg(n=flo.count()),
    )
    result = flow.run(numbers={1: 1, 2: 1, 3: 1, 4: 1})
    assert result["groups"] == {(math.nan, 2): 1, (0.0, 2): 1} == result["keyed"]
    assert result["pairs"] == {(8,): 1}


def test_instants_survive_a_checkpoint() -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("moments")
        flow.output("seen", flow.input("moments", flo.Sequence[Moment]).distinct())
        return flow

    loop = build().loop()
    loop.push(moments=[WINTER])
    loop.run()
    resumed = build().loop()
    resumed.restore(loop.checkpoint())
    resumed.push(moments=[WINTER, SUMMER])
    resumed.run()
    assert [each.astimezone(UTC).hour for each in resumed.pull("seen")] == [1, 0]
