"""The printed rules of z-sets, figures 20 and 21, where they fall short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import final

from flo.core.operator import Delta, Operator, Step, Values
from flo.core.persistent import PersistentMap
from flo.values.weighted import ZSetValue
from flo.verify import laws
from tests.seeded.base import Seeded, zset
from tests.seeded.zsets import ENDED, ONE, RACES, TWO, OnZSets, TwoZSets, both, times


@final
@dataclass(frozen=True)
class PrintedJoin(TwoZSets):
    """join-zset and join-zset-terminated, figure 21."""

    left: PersistentMap[int, int] = PersistentMap()  # noqa: RUF009
    right: PersistentMap[int, int] = PersistentMap()  # noqa: RUF009

    name = "join_zset_printed"

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = both(inputs)
        m1, m2, d1, d2 = self.left, self.right, left.weights, right.weights
        output = times(m1, d2).concat(times(d1, m2)).concat(times(d1, d2))
        grown = PrintedJoin(m1.added(d1), m2.added(d2))
        yield Step("join-zset", (left.drained(), right.drained()), grown, (output,))
        if left.ending() and right.ending():
            ended = (left.passed(), right.passed())
            yield Step("join-zset-terminated", ended, PrintedJoin(), (ZSetValue.terminator(),))


def squared(key: int, weight: int) -> int:
    return weight * weight


def kept(key: int, weight: int) -> int:
    return weight


@final
@dataclass(frozen=True)
class PrintedMap(OnZSets):
    """map-zset and map-zset-terminated, figure 20: f(k, v) ⇓ v'."""

    f: Callable[[int, int], int]

    name = "map_zset_printed"

    def on_element(self, unit: tuple[int, int]) -> tuple[Operator, Delta]:
        key, weight = unit
        return self, zset((key, self.f(key, weight)))


@final
@dataclass(frozen=True)
class PrintedMapFlag(OnZSets):
    """map-zset, figure 20, with the flag of its output read as that of its input: ({k: v'}, _)."""

    name = "map_zset_flag_printed"

    def steps(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        for step in super().steps(inputs):
            (emitted,) = step.outputs
            assert emitted is not None
            yield replace(step, outputs=(emitted.fix() if value.fixed() else emitted,))

    def on_element(self, unit: tuple[int, int]) -> tuple[Operator, Delta]:
        return self, zset(unit)


@final
@dataclass(frozen=True)
class PrintedMapZero(OnZSets):
    """map-zset, figure 20, where M[k] = 0 for k ∉ M: so {…} is {0: 0, …}, and the rule consumes that weight, too."""

    name = "map_zset_zero_printed"

    def steps(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        yield from super().steps(inputs)
        assert isinstance(value, ZSetValue)
        if 0 not in value.weights:
            yield Step("map-zset", inputs, self, (zset((0, kept(0, 0))),))

    def on_element(self, unit: tuple[int, int]) -> tuple[Operator, Delta]:
        return self, zset((unit[0], kept(*unit)))


PRINTED_ZSETS = (
    Seeded(
        "join-zset",
        PrintedJoin(),
        (laws.STUCK_STATE, laws.MEASURE),
        "The rule is copied from the paper, which gives it no premise. The operator is always ready, and the event "
        "loop never sleeps.",
        "no element: the step leads to where it came from",
        1,
        TWO,
        deviation=1,
    ),
    Seeded(
        "map-zset",
        PrintedMap(squared),
        RACES,
        "The paper lets f be any function of an element and its weight. A weight may come in parts, and then f of "
        "the parts does not add up to f of the whole.",
        "{1: 1} and {1: 1} arrive: {1: 4} at once, {1: 2} in parts",
        3,
        ONE,
        deviation=4,
    ),
    Seeded(
        "map-zset with the flag of its input",
        PrintedMapFlag(),
        RACES,
        "The rule prints a flag `_` in what it emits. Read as the flag of the input, the first element of an input "
        "that has ended ends the output, and all other elements are lost.",
        "({1: 1, 2: 1}, true) arrives: ({1: 1}, true) or ({2: 1}, true)",
        3,
        ENDED,
        deviation=27,
    ),
    Seeded(
        "map-zset on a weight of zero",
        PrintedMapZero(),
        (laws.STUCK_STATE, laws.MEASURE),
        "Absent keys have the weight zero, so every z-set matches {k: 0, …}. The rule consumes such a weight, and "
        "nothing is less afterwards.",
        "no element: the step leads to where it came from",
        1,
        ONE,
        deviation=28,
    ),
)
