"""Mistakes with z-sets and bags: what is taken back is not, one side of a join is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from flo.core.operator import Delta, Operator, Step, Values, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.values.weighted import ZSet, ZSetValue
from flo.verify import laws
from tests.seeded.base import PassOn, Seeded, open_stream, zset

ZSETS: ZSet[int] = ZSet(int)
RACES = (laws.EAGER_EXECUTION, laws.CONFLUENCE)


class OnZSets(PassOn):
    """(ZSet<int>, X) ↪ (ZSet<int>, X)."""

    takes = ZSet
    gives = ZSETS


@final
@dataclass(frozen=True)
class DistinctForGood(OnZSets):
    """Emits an element when it is first there, and never takes it back."""

    seen: frozenset[int] = frozenset()

    name = "distinct_for_good"

    def on_element(self, unit: tuple[int, int]) -> tuple[Operator, Delta]:
        element, weight = unit
        if weight < 0 or element in self.seen:
            return self, None
        return DistinctForGood(self.seen | {element}), zset((element, 1))


@final
@dataclass(frozen=True)
class MaxForGood(OnZSets):
    """Emits every new maximum, and does not take the old one back."""

    largest: tuple[int, ...] = ()

    name = "max_for_good"

    def on_element(self, unit: tuple[int, int]) -> tuple[Operator, Delta]:
        element, _ = unit
        if self.largest and element <= self.largest[0]:
            return self, None
        return MaxForGood((element,)), zset((element, 1))


class TwoZSets(Operator):
    """(ZSet<int>, X), (ZSet<int>, X) ↪ (ZSet<int>, X)."""

    arity = (2, 1)
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        for index, given in enumerate(inputs):
            expect_collection(self, given, ZSet, index=index)
        return (StreamType(ZSETS, all(given.bounded for given in inputs)),)


def both(inputs: Values) -> tuple[ZSetValue, ZSetValue]:
    left, right = inputs
    assert isinstance(left, ZSetValue)
    assert isinstance(right, ZSetValue)
    return left, right


def times(one: PersistentMap[Any, int], other: PersistentMap[Any, int]) -> ZSetValue:
    """(M₁ ⋈ M₂)[k] = M₁[k] · M₂[k]."""
    return zset(*((key, one[key] * other[key]) for key in one if key in other))


@final
@dataclass(frozen=True)
class ForgetfulJoin(TwoZSets):
    """Keeps what came on the left and looks up what comes on the right: a right row that comes first is lost."""

    left: PersistentMap[int, int] = PersistentMap()  # noqa: RUF009

    name = "forgetful_join"

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = both(inputs)
        if left.weights:
            kept = ForgetfulJoin(self.left.added(left.weights))
            yield Step("forgetful-join-left", (left.drained(), right), kept, (None,))
        if right.weights:
            yield Step("forgetful-join-right", (left, right.drained()), self, (times(self.left, right.weights),))
        if left.ending() and right.ending():
            ended = (left.passed(), right.passed())
            yield Step("forgetful-join-terminated", ended, self, (ZSetValue.terminator(),))


ONE, TWO = open_stream(ZSETS), open_stream(ZSETS, ZSETS)
ENDED = (StreamType(ZSETS, bounded=True),)

ZSET_MISTAKES = (
    Seeded(
        "distinct that ignores retractions",
        DistinctForGood(),
        RACES,
        "A deduplication is written for inserts and later fed from change data capture. Deleted customers stay in "
        "the report, except those whose deletion came in the same batch.",
        "{1: 1} and {1: -1} arrive: {} if they meet in the buffer, {1: 1} if not",
        3,
        ONE,
    ),
    Seeded(
        "a maximum that is not taken back",
        MaxForGood(),
        RACES,
        "The view of the highest bid appends each new one, as the sink takes inserts only. Readers see all former "
        "maxima as well, and how many depends on the order of arrival.",
        "{1: 1} and {1: -1} arrive: {} if they meet in the buffer, {1: 1} if not",
        3,
        ONE,
    ),
    Seeded(
        "a join that forgets one side",
        ForgetfulJoin(),
        RACES,
        "Orders are joined with customers by a lookup in what has been loaded. An order that overtakes its customer "
        "finds nobody, and is dropped without a word.",
        "{1: 1} on both sides: {1: 1} if the left is read first, {} if not",
        2,
        TWO,
    ),
)
