"""join_interval: pairs of rows whose times are close, of two streams that have clocks.

A pair needs low ≤ other_time(y) - time(x) ≤ high. Once the clock of the right side is at t, no right row before t
follows, so a left row that is more than `high` before t has met all of its partners, and is forgotten; right rows
likewise. So the results are the join of all rows on time, whatever came first, and the state is what the clocks still
allow. A clock is read by a step that is `settled`, so that it cannot overtake rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.errors import TypeMismatch
from flo.core.operator import Bound, Deltas, Operator, Step, Values, expect_collection, replaced
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, TimeValue, Unit
from flo.values.canonical import canonical_element
from flo.values.event_time import expect_durations, offset_of, origin_of, span_of
from flo.values.operators.joins import (
    Into,
    KeyFunction,
    combine_ahead,
    combine_pairs,
    element_of,
    expect_equal_keys,
    key_type,
    pair,
)
from flo.values.operators.lvars import as_lvar, expect_lvar
from flo.values.operators.retain import to_number
from flo.values.operators.shapes import SIDES, ByPortions, consume_each, evaluate_ahead, expect_declared
from flo.values.ordered import SortedKeys
from flo.values.weighted import Bag, BagValue, Weights

NO_ROWS: Weights = PersistentMap()


@dataclass(frozen=True)
class IntervalJoin(ByPortions):
    """join_interval(low, high, time, other_time, on, other_on, into, …):
    (Bag<T>, X), (Bag<U>, Y), (LVar<Max>, X), (LVar<Max>, Y) ↪ (Bag<R>, Z), where Z is B if X and Y are.

    The clocks must be of the rows: once one is at t, no row of its side before t follows. `left` and `right` have the
    rows by key, with their weights; `left_times` and `right_times` have the keys and rows by time.
    """

    low: Any
    high: Any
    time: ElementFunction
    other_time: ElementFunction
    on: KeyFunction = None
    other_on: KeyFunction = None
    into: Into = None
    left: PersistentMap[Element, Weights] = PersistentMap()  # noqa: RUF009
    right: PersistentMap[Element, Weights] = PersistentMap()  # noqa: RUF009
    left_times: PersistentMap[Element, Weights] = PersistentMap()  # noqa: RUF009
    right_times: PersistentMap[Element, Weights] = PersistentMap()  # noqa: RUF009
    left_order: SortedKeys[TimeValue] = SortedKeys()  # noqa: RUF009
    right_order: SortedKeys[TimeValue] = SortedKeys()  # noqa: RUF009
    marks: tuple[TimeValue, TimeValue] = (None, None)
    """How far the clock of each side has come, as a number."""
    over: tuple[bool, bool] = (False, False)
    """Which sides have ended."""
    origin: TimeValue = None
    """0 or the epoch, set by the first row of either side."""

    name = "join_interval"
    keeps = Bound.CLOCK
    arity = (4, 1)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        for place in range(2):
            expect_collection(self, inputs[place], Bag, instead=(("{input}.to_bag()", "drops the order"),))
            expect_lvar(self, inputs[place + 2], index=place + 2)
        if span_of(self.low) > span_of(self.high):
            raise TypeMismatch(f"`between` of `join_interval` must not be empty; got {self.low!r} to {self.high!r}")
        left, right = map(element_of, inputs[:2])
        expect_equal_keys(self, inputs[:2], key_type(self.on, left), key_type(self.other_on, right))
        element = tuple[left, right] if self.into is None else returned_type(self.into)  # type: ignore[valid-type]
        return (StreamType(Bag(element), all(given.bounded for given in inputs)),)

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        portions: list[tuple[int, list[Element], Any]] = []
        for side in range(2):
            rows: Any = inputs[side]
            if every and rows.all_units():
                portions.append((side, rows.all_units(), rows.drained()))
            elif not every:
                portions += [(side, [unit], rest) for unit, rest in rows.units()]
        for (side, _, rest), (after, outputs) in consume_each(
            portions, lambda it: self._met(it[0], it[1]), lambda it: repr(it[1][0][0])
        ):
            yield Step(f"join-interval{SIDES[side]}", replaced(inputs, side, rest), after, outputs)
        if portions:
            return
        for side in range(2):
            rows, clock = inputs[side], as_lvar(inputs, side + 2)
            if not clock.is_bottom():
                after = self.at(side, to_number(clock.value))
                yield Step(
                    f"join-interval-clock{SIDES[side]}",
                    replaced(inputs, side + 2, clock.drained()),
                    after,
                    (None,),
                    settled=True,
                )
            elif rows.end is End.ARRIVED and clock.end is End.ARRIVED:
                rests = replaced(replaced(inputs, side, rows.passed()), side + 2, clock.passed())
                yield self._side_ended(side, rests)

    def _side_ended(self, side: int, rests: Values) -> Step:
        if self.over[1 - side]:
            fresh = IntervalJoin(self.low, self.high, self.time, self.other_time, self.on, self.other_on, self.into)
            return Step("join-interval-terminated", rests, fresh, (BagValue.terminator(),))
        other = SIDES[1 - side][1:]
        none: dict[str, Any] = {
            other: PersistentMap(),
            f"{other}_times": PersistentMap(),
            f"{other}_order": SortedKeys(),
        }
        after = replace(self, over=replaced(self.over, side, True), **none)
        return Step(f"join-interval{SIDES[side]}-ended", rests, after, (None,))

    def _met(self, side: int, units: list[Unit]) -> tuple[Operator, Deltas]:
        """Return the operator after these rows of a side, and the pairs of each with the rows of the other."""
        on, time = (self.on, self.time) if side == 0 else (self.other_on, self.other_time)
        others, other_time = (self.right, self.other_time) if side == 0 else (self.left, self.time)
        elements = [row for row, _ in units]
        for function in (on, time):
            evaluate_ahead(function, elements)
        pairs: list[Element] = []
        added: list[tuple[Element, Element, Element, int]] = []
        origin = self.origin
        for row, weight in units:
            moment = self._moment(time, row)
            origin = origin_of(moment) if origin is None else origin
            key, number = row if on is None else canonical_element(on(row)), span_of(offset_of(moment, origin))
            added.append((number, key, row, weight))
            for other, more in others.get(key, NO_ROWS).to_dict().items():
                theirs = to_number(other_time(other))
                if self._are_close(*((number, theirs) if side == 0 else (theirs, number))):
                    pairs.append(((row, other) if side == 0 else (other, row), weight * more))
        combine_ahead(self.into, pairs)
        results = combine_pairs(self.into or pair, pairs)
        after = self if self.over[1 - side] else self._with(side, added)
        return replace(after, origin=origin), (BagValue.of(results) if results else None,)

    def _moment(self, time: ElementFunction, row: object) -> TimeValue:
        moment = time(row)
        expect_declared(time, [moment])
        expect_durations(moment, between=self.low or self.high)
        return moment

    def _are_close(self, time: object, other: object) -> bool:
        return bool(time + span_of(self.low) <= other <= time + span_of(self.high))

    def _with(self, side: int, added: list[tuple[Element, Element, Element, int]]) -> IntervalJoin:
        """Return the operator that keeps these rows of a side, given their times and keys."""
        name, mark = SIDES[side][1:], self.marks[1 - side]
        rows, times, order = (getattr(self, field) for field in (name, f"{name}_times", f"{name}_order"))
        by_key: dict[Element, dict[Element, int]] = {}
        by_time: dict[TimeValue, dict[Element, int]] = {}
        for number, key, row, weight in added:
            if mark is None or not self.has_met_all(side, number, mark):
                for index, at, each in ((by_key, key, row), (by_time, number, (key, row))):
                    some = index.setdefault(at, {})
                    some[each] = some.get(each, 0) + weight
        for number in by_time:
            order = order if number in times else order.added(number)
        after: dict[str, Any] = {f"{name}_order": order}
        for field, before, more in ((name, rows, by_key), (f"{name}_times", times, by_time)):
            after[field] = before.updated({at: before.get(at, NO_ROWS).added(some) for at, some in more.items()})
        return replace(self, **after)

    def at(self, side: int, mark: object) -> IntervalJoin:
        """Return the operator when the clock of a side has come to a mark, without rows that have met all of it."""
        if self.marks[side] is not None and mark <= self.marks[side]:
            return self
        name = SIDES[1 - side][1:]
        rows, times, order = (getattr(self, field) for field in (name, f"{name}_times", f"{name}_order"))
        gone: dict[Element, Element] = {}
        kept: dict[Element, Weights] = {}
        while (number := order.first()) is not None and self.has_met_all(1 - side, number, mark):
            for key, row in times[number]:
                kept[key] = kept.get(key, rows.get(key, NO_ROWS)).without(row)
            order, gone[number] = order.removed(number), NO_ROWS
        after: dict[str, Any] = {f"{name}_order": order, name: rows.updated(kept, drop=NO_ROWS)}
        after[f"{name}_times"] = times.updated(gone, drop=NO_ROWS)
        return replace(self, marks=replaced(self.marks, side, mark), **after)

    def has_met_all(self, side: int, number: object, mark: object) -> bool:
        """Return whether a row of a side at a time meets no row of the other side from a mark on."""
        return bool(number + span_of(self.high) < mark if side == 0 else mark + span_of(self.low) > number)
