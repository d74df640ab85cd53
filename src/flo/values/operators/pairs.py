"""Operators on two ordered sequences: zip, concatenation, and the merge of two sorted sequences."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from flo.core.errors import ElementError, OrderError
from flo.core.operator import Bound, Delta, Operator, Step, Values, expect_bounded
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, Unit
from flo.values.operators.joins import expect_related
from flo.values.operators.sequences import expect_sequence
from flo.values.operators.shapes import ByPortions, ElementKind, Sides, evaluate_ahead, union_type
from flo.values.sequence import Sequence, SequenceValue

UNBOUNDED_MERGE = (
    ("{input}.to_bag().union(other.to_bag())", "both together, unordered"),
    ("{input}.tumbling(…)", "on both sides; then zip the windows and merge in a nest"),
)


def as_sequences(inputs: Values) -> tuple[SequenceValue, SequenceValue]:
    left, right = inputs
    assert isinstance(left, SequenceValue)
    assert isinstance(right, SequenceValue)
    return left, right


def drop_oldest(value: SequenceValue, count: int) -> SequenceValue:
    """Return the value without its oldest `count` elements."""
    return SequenceValue(value.elements.dropped(count), value.end)


@dataclass(frozen=True)
class Zip(ByPortions):
    """zip(): (S<A>, X), (S<B>, X) ↪ (S<(A, B)>, X), until either side ends.

    From then on `done` is true: elements that still arrive on the other side have no partner and are discarded.
    """

    done: bool = False

    name = "zip"
    keeps = Bound.WAITING
    arity = (2, 1)
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = (expect_sequence(self, given, index).element for index, given in enumerate(inputs))
        bounded = all(given.bounded for given in inputs)
        return (StreamType(Sequence(tuple[left, right]), bounded),)  # type: ignore[valid-type]

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        left, right = as_sequences(inputs)
        if self.done:
            if left.size():
                yield Step("zip-drain", (left.take()[0], right), self, (None,))
            if right.size():
                yield Step("zip-drain", (left, right.take()[0]), self, (None,))
            return
        count = min(len(left.elements), len(right.elements), sys.maxsize if every else 1)
        if count:
            pairs = [(left.elements[at], right.elements[at]) for at in range(count)]
            yield Step("zip", (drop_oldest(left, count), drop_oldest(right, count)), self, (SequenceValue.of(pairs),))
        elif left.ending() or right.ending():
            after = tuple(side.passed() if side.ending() else side for side in (left, right))
            yield Step("zip-terminator", after, Zip(done=True), (SequenceValue.terminator(),))


@dataclass(frozen=True)
class UnionSequences(Sides):
    """union_sequences(): (S<T>, B), (S<T>, X) ↪ (S<T>, X), all of the left, then all of the right."""

    name = "union_sequences"
    keeps = Bound.WAITING
    rule = "union"
    awaited = 0

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = (expect_sequence(self, given, index) for index, given in enumerate(inputs))
        expect_related(self, inputs)
        if not inputs[0].bounded:
            raise OrderError(
                f"`{self.name}` appends the other sequence after the end of {{input}}, which may never come",
                facts=(("{input}", inputs[0].described()), (self.name, f"takes {left}, bounded, and then any {right}")),
                instead=(
                    ("{input}.to_bag().union(other.to_bag())", "both together, unordered"),
                    ("other.union({input})", "the bounded one first"),
                ),
                index=0,
            )
        return (StreamType(Sequence(union_type(left.element, right.element)), inputs[1].bounded),)

    def consume(self, side: int, units: list[Unit], source: ElementKind) -> tuple[Operator, Delta]:
        return self, source.of(units)


LastKey: TypeAlias = tuple[Element, ...]
"""The key of the last element consumed; empty at first."""


@dataclass(frozen=True)
class MergeSorted(ByPortions):
    """merge_sorted(key): (S<T>, B), (S<T>, B) ↪ (S<T>, B), merges two sorted sequences.

    The smaller of the two oldest elements comes next, the left one if their keys are equal. An empty side may still
    receive a smaller element, so both must be bounded. Without a key, the elements themselves are compared.
    """

    key: ElementFunction | None = None
    last: tuple[LastKey, LastKey] = ((), ())

    name = "merge_sorted"
    keeps = Bound.WAITING
    arity = (2, 1)
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = (expect_sequence(self, given, index).element for index, given in enumerate(inputs))
        expect_related(self, inputs)
        for index, given in enumerate(inputs):
            expect_bounded(self, given, index=index, instead=UNBOUNDED_MERGE)
        return (StreamType(Sequence(union_type(left, right)), bounded=True),)

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        left, right = as_sequences(inputs)
        if left.ending() and right.ending():
            ended = (left.passed(), right.passed())
            yield Step("merge-sorted-terminator", ended, self, (SequenceValue.terminator(),))
            return
        merged, taken, last = self._merge(left, right, sys.maxsize if every else 1)
        if merged:
            after = (drop_oldest(left, taken[0]), drop_oldest(right, taken[1]))
            rule = "merge-sorted-left" if taken[0] else "merge-sorted-right"
            yield Step(rule, after, replace(self, last=last), (SequenceValue.of(merged),))

    def _merge(
        self, left: SequenceValue, right: SequenceValue, most: int
    ) -> tuple[list[Element], tuple[int, int], tuple[LastKey, LastKey]]:
        """Merge up to `most` elements; return them, the count taken from each side, and the last key of each side."""
        merged: list[Element] = []
        (last, other_last), i, j = self.last, 0, 0
        head: LastKey = ()
        other_head: LastKey = ()
        while len(merged) < most:
            if not head and i < len(left.elements):
                head = self._key(0, left.elements[i], last)
            if not other_head and j < len(right.elements):
                other_head = self._key(1, right.elements[j], other_last)
            if not ((head or left.fixed()) and (other_head or right.fixed()) and (head or other_head)):
                break
            if head and not (other_head and other_head[0] < head[0]):
                merged.append(left.elements[i])
                last, head, i = head, (), i + 1
            else:
                merged.append(right.elements[j])
                other_last, other_head, j = other_head, (), j + 1
        return merged, (i, j), (last, other_last)

    def _key(self, index: int, element: object, last: LastKey) -> LastKey:
        key = element if self.key is None else self.key(element)
        if last and key < last[0]:
            raise ElementError(
                f"`{self.name}` needs sorted sequences; {{input}} is not sorted",
                facts=(("element", repr(element)[:80]), ("its key", repr(key)[:80]), ("after", repr(last[0])[:80])),
                index=index,
            )
        return (key,)

    def advance(self, inputs: Values) -> Iterator[Step]:
        for value in inputs:
            evaluate_ahead(self.key, value.elements_list())  # type: ignore[attr-defined]
        return super().advance(inputs)
