"""Two inputs whose elements are read as they arrive: results that depend on which of them is read first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from flo.core.operator import Operator, Step, Values, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.values.sequence import Sequence, SequenceValue
from flo.verify import laws
from tests.seeded.base import INTEGERS, Seeded, last, open_stream, seq

RACES = (laws.EAGER_EXECUTION, laws.CONFLUENCE)


class TwoSequences(Operator):
    """(S<int>, X), (S<int>, X) ↪ (S<int>, X)."""

    arity = (2, 1)
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        for index, given in enumerate(inputs):
            expect_collection(self, given, Sequence, index=index)
        return (StreamType(INTEGERS, all(given.bounded for given in inputs)),)


def both(inputs: Values) -> tuple[SequenceValue, SequenceValue]:
    left, right = inputs
    assert isinstance(left, SequenceValue)
    assert isinstance(right, SequenceValue)
    return left, right


@final
@dataclass(frozen=True)
class MergeByArrival(TwoSequences):
    """Two sequences as one, in the order in which their elements are read."""

    name = "merge_by_arrival"

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = both(inputs)
        for element, rest in left.units():
            yield Step("merge-left", (rest, right), self, (seq(element),))
        for element, rest in right.units():
            yield Step("merge-right", (left, rest), self, (seq(element),))
        if left.ending() and right.ending():
            yield Step("merge-terminator", (left.passed(), right.passed()), self, (last(),))


@final
@dataclass(frozen=True)
class ZipLatest(TwoSequences):
    """Each element of the left with the newest one that has arrived on the right."""

    newest: int = 0

    name = "zip_latest"

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = both(inputs)
        for element, rest in left.units():
            yield Step("zip-latest", (rest, right), self, (seq(10 * element + self.newest),))
        for element, rest in right.units():
            yield Step("zip-latest-right", (left, rest), ZipLatest(element), (None,))
        if left.ending() and right.ending():
            yield Step("zip-latest-terminator", (left.passed(), right.passed()), self, (last(),))


@final
@dataclass(frozen=True)
class EndsWithTheFirst(TwoSequences):
    """The right side until the left one ends; and it goes on emitting then."""

    name = "ends_with_the_first"

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = both(inputs)
        for _, rest in left.units():
            yield Step("ends-with-the-first-left", (rest, right), self, (None,))
        for element, rest in right.units():
            yield Step("ends-with-the-first-right", (left, rest), self, (seq(element),))
        if left.ending():
            yield Step("ends-with-the-first-terminator", (left.passed(), right), self, (last(),))
        if right.ending():
            yield Step("ends-with-the-first-drain", (left, right.passed()), self, (None,))


TWO = open_stream(INTEGERS, INTEGERS)


MERGING = (
    Seeded(
        "a merge by arrival",
        MergeByArrival(),
        RACES,
        "Two topics are read into one stream, and the code behind it relies on the order. It is another one in every "
        "run.",
        "1 on the left and 2 on the right: [2, 1] or [1, 2]",
        2,
        TWO,
    ),
    Seeded(
        "a zip with the latest",
        ZipLatest(),
        RACES,
        "Orders are enriched with the current exchange rate: the one that happens to be in memory. Replayed orders "
        "are all valued at the last rate.",
        "1 on both sides: [11] or [10]",
        2,
        TWO,
    ),
    Seeded(
        "output behind the end",
        EndsWithTheFirst(),
        RACES,
        "A union ends its output when the first of its inputs ends, and goes on writing. What comes later is thrown "
        "away by whoever has seen the end, and how much that is depends on the scheduling.",
        "the left ends, 1 on the right: [⊗] or [⊗, 1]",
        3,
        (StreamType(INTEGERS, bounded=True), StreamType(INTEGERS, bounded=True)),
    ),
)
