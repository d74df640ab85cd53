"""Operators on bags, and those that do not depend on the order of their input: fold, count, sum, sort, distinct."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import repeat
from operator import itemgetter

from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.facts import Demand, Timing
from flo.core.operator import Bound, Deltas, Operator, Step, Values, expect_bounded, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, PairFunction, Unit
from flo.values.element_value import ElementValue
from flo.values.exact import Digits, Exact, expect_width, sum_type, width_of
from flo.values.operators.joins import Union, WeightedJoin, element_of
from flo.values.operators.sequences import UNBOUNDED_FOLD
from flo.values.operators.sets import expect_hashable, remember
from flo.values.operators.shapes import ElementKind, Unary, annotate_error, copy_if_mutable, expect_declared
from flo.values.operators.zset_ranking import comparable, tie_text
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, Set, SetValue, Weights

UNBOUNDED_TOTAL = (
    ("{input}.fold_lattice(…)", "one growing value, read through a threshold"),
    ("{input}.to_zset()", "has aggregates that are updated as elements arrive"),
)
UNBOUNDED_SEQUENCE = (
    ("{input}.batch(n).nest(…)", "one result per n elements"),
    ("{input}.tumbling(…).nest(…)", "one result per window of time"),
)


def expect_whole(operator: Operator, given: StreamType) -> None:
    """Raise unless the input is a bounded sequence, bag or set."""
    expect_collection(operator, given, Sequence, Bag, Set)
    ordered = isinstance(given.collection, Sequence)
    expect_bounded(operator, given, instead=UNBOUNDED_SEQUENCE if ordered else UNBOUNDED_TOTAL)


def with_weights(units: list[Unit], source: ElementKind) -> list[tuple[Element, int]]:
    """Return the elements with their counts."""
    return [(element, 1) for element in units] if source is SequenceValue else units


@dataclass(frozen=True)
class BagUnion(Union):
    """union_bags(): (Bag<T>, X), (Bag<T>, X) ↪ (Bag<T>, X), adds weights."""

    name = "union_bags"
    keeps = Bound.NOTHING
    timing = Timing.PASSES
    kind = Bag


@dataclass(frozen=True)
class BagJoin(WeightedJoin):
    """join_bags(on, other_on, into): (Bag<T>, X), (Bag<U>, X) ↪ (Bag<R>, X), multiplies weights."""

    name = "join_bags"
    keeps = Bound.ROWS
    kind = Bag


class Total(Unary):
    """Base class: one result for the whole input. A set is only read at its end: before, elements may arrive again."""

    keeps = Bound.VALUE

    def steps(self, inputs: Values) -> Iterator[Step]:
        return iter(()) if is_open_set(inputs) else super().steps(inputs)

    def advance(self, inputs: Values) -> Iterator[Step]:
        return iter(()) if is_open_set(inputs) else super().advance(inputs)


def is_open_set(inputs: Values) -> bool:
    return isinstance(inputs[0], SetValue) and inputs[0].end is End.OPEN


@dataclass(frozen=True)
class FoldUnordered(Total):
    """fold_unordered(acc, f): (Bag<T> | Set<T>, B) ↪ (S<U>, B), for an f that does not depend on the order."""

    acc: Element
    f: PairFunction
    commutative: str | None = field(default=None, compare=False)
    """The user's reason why the order does not matter."""

    name = "fold_unordered"

    def demands(self, inputs: StreamTypes) -> Iterator[Demand]:
        yield Demand(self.f, "commutative", (element_of(inputs[0]),), (self.acc,), claim=self.commutative)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(
            self,
            inputs[0],
            Bag,
            Set,
            instead=(
                ("{input}.agg(name=flo.linear(of, finish))", "for a z-set: retractions are subtracted"),
                ("{input}.to_bag().fold(…)", "for a z-set that has ended"),
            ),
        )
        expect_bounded(self, inputs[0], instead=UNBOUNDED_FOLD[3:])
        return (StreamType(Sequence(returned_type(self.f)), bounded=True),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        acc = copy_if_mutable(self.acc)
        for element, count in units:
            acc = reduce(self.f, repeat(element, count), acc)
        return replace(self, acc=acc), (None,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        expect_declared(self.f, [self.acc])
        return self, (SequenceValue.of([self.acc], End.ARRIVED),)


@dataclass(frozen=True)
class Count(Total):
    """count(n): (S<T> | Bag<T> | Set<T>, B) ↪ (S<int>, B), the number of elements."""

    total: int = 0

    name = "count"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_whole(self, inputs[0])
        return (StreamType(Sequence(int), bounded=True),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        more = len(units) if source is SequenceValue else sum(count for _, count in units)
        return Count(self.total + more), (None,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (SequenceValue.of([self.total], End.ARRIVED),)


@dataclass(frozen=True)
class Sum(Total):
    """sum(n): (S<T> | Bag<T> | Set<T>, B) ↪ (S<T>, B), exact and rounded once, so independent of the order."""

    total: Exact = Exact()  # noqa: RUF009
    width: Digits | None = field(default=None, compare=False, repr=False)
    """The digits of a sum of decimals, set by `typed`."""

    name = "sum"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_whole(self, inputs[0])
        return (StreamType(Sequence(sum_type(element_of(inputs[0]))), bounded=True),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, total=self.total.added(with_weights(units, source))), (None,)

    def typed(self, inputs: StreamTypes) -> Sum:
        return replace(self, width=width_of(sum_type(element_of(inputs[0]))))

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        total = self.total.value()
        if self.width is not None:
            expect_width(total, self.width, "all elements")
        return self, (SequenceValue.of([total], End.ARRIVED),)


@dataclass(frozen=True)
class Sort(Operator):
    """sort(key): (S<T> | Bag<T> | Set<T>, B) ↪ (S<T>, B), by ascending key; without one, by the elements.

    NaN is the greatest key. The sort is stable on sequences. Elements of a bag or set with equal keys are ordered by
    their text, so that the result does not depend on the order of arrival.
    """

    key: ElementFunction | None = None

    name = "sort"
    keeps = Bound.ROWS

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_whole(self, inputs[0])
        return (StreamType(Sequence(element_of(inputs[0])), bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, ElementValue)
        if value.end is End.ARRIVED:
            ordered = self._sorted(value)
            yield Step(f"sort{value.suffix}", (value.passed(),), self, (SequenceValue.of(ordered, End.ARRIVED),))

    def _sorted(self, value: ElementValue) -> list[Element]:
        if isinstance(value, SequenceValue):
            return sorted(value.all_units(), key=self._key)
        units = sorted(
            ((self._key(element), element, count) for element, count in value.all_units()), key=itemgetter(0)
        )
        ordered: list[Element] = []
        at = 0
        while at < len(units):
            tied = [units[at]]
            while at + len(tied) < len(units) and not units[at][0] < units[at + len(tied)][0]:
                tied.append(units[at + len(tied)])
            at += len(tied)
            if len(tied) > 1:
                tied.sort(key=lambda unit: tie_text(unit[1], self.name))
            for _, element, count in tied:
                ordered.extend(repeat(element, count))
        return ordered

    def _key(self, element: object) -> Element:
        try:
            return comparable(element if self.key is None else self.key(element))
        except Exception as error:
            fault = annotate_error(error, repr(element), element)
            raise fault from fault.__cause__


@dataclass(frozen=True)
class SequenceDistinct(Unary):
    """distinct_sequence(): (S<T>, X) ↪ (S<T>, X), the first occurrence of every element. `seen` holds them."""

    seen: Weights = PersistentMap()  # noqa: RUF009

    name = "distinct_sequence"
    keeps = Bound.ROWS
    rule = "distinct"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, instead=(("{input}.to_set()", "removes duplicates"),))
        return inputs

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        seen, new = remember(self.seen, expect_hashable(units, "sequence without duplicates"))
        return SequenceDistinct(seen), (SequenceValue.of(new),)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return SequenceDistinct(), (SequenceValue.terminator(),)
