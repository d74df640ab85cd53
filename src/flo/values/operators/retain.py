"""retain: the rows of a z-set whose time a clock has not passed, and beside them those that it has.

Let c be the time of the clock, less `keep`. The outputs are {x : time(x) ≥ c} and {x : time(x) < c}, with the weights
of the input. Both only depend on all rows that have come and on how far the clock has come, not on which of them came
first: a row that comes behind the clock goes to the second output at once, as it would have gone there later. So the
operator is eager for every clock and every z-set, whether the clock follows the same rows or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, TypeAlias

from flo.core.collection import End
from flo.core.errors import ElementError, TypeMismatch
from flo.core.facts import first_key
from flo.core.operator import Bound, Delta, Deltas, Operator, Step, Values
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, TimeValue, Unit
from flo.values.event_time import is_positive_duration, offset_of, origin_of, span_of
from flo.values.operators.lvars import as_lvar, expect_clock
from flo.values.operators.shapes import ByPortions, all_ending, consume_each, evaluate_ahead, expect_declared
from flo.values.operators.zsets import expect_zset, make_delta
from flo.values.ordered import SortedKeys
from flo.values.weighted import Weights, ZSetValue

NO_ROWS: Weights = PersistentMap()
Waiting: TypeAlias = PersistentMap[Element, Weights]
"""Rows with their weights, by a number."""


def to_number(moment: object) -> TimeValue:
    """Return a time as a number, or as microseconds from the epoch."""
    return span_of(offset_of(moment, origin_of(moment)))


def keep_rows(
    waiting: Waiting, order: SortedKeys[TimeValue], added: dict[Element, dict[Element, int]]
) -> tuple[Waiting, SortedKeys[TimeValue]]:
    """Return the rows that wait by number, and the order of the numbers, with more rows."""
    changes = {}
    for number, weights in added.items():
        changes[number] = after = waiting.get(number, NO_ROWS).added(weights)
        if not after:
            order = order.removed(number)
        elif number not in waiting:
            order = order.added(number)
    return waiting.updated(changes, drop=NO_ROWS), order


def release_rows(
    waiting: Waiting, order: SortedKeys[TimeValue], is_due: Callable[[TimeValue], bool]
) -> tuple[list[tuple[Element, int]], Waiting, SortedKeys[TimeValue]]:
    """Return the rows whose numbers are due, which are the first ones, with their weights; and what is left."""
    units, gone = list[Any](), {}
    while (number := order.first()) is not None and is_due(number):
        units += waiting[number].to_dict().items()
        order, gone[number] = order.removed(number), NO_ROWS
    return units, waiting.updated(gone, drop=NO_ROWS), order


@dataclass(frozen=True)
class Retain(ByPortions):
    """retain(time, keep, mark, …): (ZSet<T>, X), (LVar<Max>, Y) ↪ (ZSet<T>, Z), (ZSet<T>, Z); Z is B if both are.

    `mark` is how far the clock has come, less `keep`. `waiting` has the rows that it has not passed, by their times.
    When the clock has ended, nothing more will pass, and they are forgotten.
    """

    time: ElementFunction
    keep: Any = None
    mark: TimeValue = None
    waiting: Waiting = PersistentMap()  # noqa: RUF009
    order: SortedKeys[TimeValue] = SortedKeys()  # noqa: RUF009

    name = "retain"
    keeps = Bound.CLOCK
    retained_outputs = (0,)
    arity = (2, 2)
    output_key = first_key

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        expect_clock(self, inputs[1], index=1)
        if self.keep and not is_positive_duration(self.keep):
            raise TypeMismatch(f"`keep` of `retain` must be a duration ≥ 0; got {self.keep!r}")
        rows = StreamType(inputs[0].collection, all(given.bounded for given in inputs))
        return rows, rows

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        rows, clock = inputs[0], as_lvar(inputs, 1)
        assert isinstance(rows, ZSetValue)
        portions = [([unit], rest) for unit, rest in rows.units()]
        if every and rows.weights:
            portions = [(rows.all_units(), rows.drained())]
        ended = clock.end is End.PASSED
        for (_, rest), (operator, outputs) in consume_each(
            portions, lambda it: self._admitted(it[0], ended), lambda it: repr(it[0][0])
        ):
            yield Step("retain-rows", (rest, clock), operator, outputs)
        if not clock.is_bottom():
            operator, outputs = self.moved(self.mark_of(clock.value))
            yield Step("retain-clock", (rows, clock.drained()), operator, outputs)
        elif all_ending(inputs):
            end = ZSetValue.terminator()
            yield Step("retain-terminated", (rows.passed(), clock.passed()), self._without_rows(), (end, end))
        elif clock.ending():
            yield Step("retain-clock-ended", (rows, clock.passed()), self._without_rows(), (None, None))

    def _without_rows(self) -> Retain:
        return replace(self, waiting=PersistentMap(), order=SortedKeys())

    def mark_of(self, moment: object) -> TimeValue:
        """Return the number of the time before which rows are gone, when the clock is at this moment."""
        self.expect_kind(moment)
        mark = to_number(moment)
        if not self.keep:
            return mark
        if isinstance(self.keep, timedelta) != isinstance(moment, date):
            raise ElementError(f"`keep` of `retain` is {self.keep!r}, but the clock is {moment!r}")
        return mark - span_of(self.keep)

    def expect_kind(self, moment: object) -> None:
        """Raise if the clock cannot be compared with the times of the rows, as far as their type is known."""
        layout = getattr(self.time, "layout", None)
        if layout is None:
            return
        arrow, zoned = layout.cells[0].arrow, getattr(moment, "tzinfo", None) is not None
        dated, zone = str(arrow).startswith(("date", "timestamp")), getattr(arrow, "tz", None) is not None
        if (dated, zone) != (isinstance(moment, date), zoned):
            rows = f"times {'with' if zone else 'without'} a zone" if dated else "numbers as times"
            raise ElementError(f"the clock of `retain` is {moment!r}; its rows have {rows}")

    def _admitted(self, units: list[Unit], ended: bool) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs after these rows."""
        evaluate_ahead(self.time, [row for row, _ in units])
        here: list[Element] = []
        gone: list[Element] = []
        added: dict[Element, dict[Element, int]] = {}
        for row, weight in units:
            moment = self.time(row)
            expect_declared(self.time, [moment])
            number = None if moment is None else to_number(moment)
            if number is None or (self.mark is not None and number < self.mark):
                gone.append((row, weight))
                continue
            here.append((row, weight))
            some = added.setdefault(number, {})
            some[row] = some.get(row, 0) + weight
        if ended:
            return self, (*make_delta(here), *make_delta(gone))
        waiting, order = keep_rows(self.waiting, self.order, added)
        return replace(self, waiting=waiting, order=order), (*make_delta(here), *make_delta(gone))

    def moved(self, mark: object) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs when rows before this time are gone."""
        if self.mark is not None and mark <= self.mark:
            return self, (None, None)
        units, waiting, order = release_rows(self.waiting, self.order, lambda number: number < mark)
        after = replace(self, mark=mark, waiting=waiting, order=order)
        retracted: Delta = make_delta((row, -weight) for row, weight in units)[0]
        return after, (retracted, *make_delta(units))
