"""current: the latest result of a running function for each key, as a z-set with one row for each key.

With `keep` = 30 and a clock, a key expires when nothing has happened for 30:

    row       state of its key        emitted
    ann, 10   ann: 1                  + (ann, 1)
    ann, 25   ann: 2                  - (ann, 1)  + (ann, 2)
    ann, 70   70 is more than 30 past 25: (ann, 2) expires, and ann begins again
              ann: 1                  - (ann, 2)  + (ann, 1)

Rows of a key are taken in their order. A key expires before a row that is more than `keep` past its largest time, or
when the clock is. Both come to the same: once the clock is at t, no row before t follows, so a row that comes after the
clock has passed the key is more than `keep` past it as well. So the outputs follow from the rows of each key and from
how far the clock has come, and not from when it was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from flo.core.elements import returned_type
from flo.core.errors import TypeMismatch
from flo.core.facts import PrimaryKey
from flo.core.operator import Bound, Delta, Deltas, Operator, Step, Values
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, PairFunction, TimeValue, Unit
from flo.values.event_time import expect_durations, is_positive_duration, span_of
from flo.values.operators.keyed_streams import expect_inner, expect_keyed, key_note, key_portions
from flo.values.operators.lvars import as_lvar, expect_clock
from flo.values.operators.retain import Waiting, keep_rows, release_rows, to_number
from flo.values.operators.sets import expect_hashable
from flo.values.operators.shapes import (
    ByPortions,
    all_ending,
    consume_each,
    copy_if_mutable,
    evaluate_ahead,
    expect_declared,
)
from flo.values.operators.zsets import make_delta
from flo.values.ordered import SortedKeys
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, BagValue, ZSet, ZSetValue

State: TypeAlias = tuple[Element, TimeValue]
"""What is kept of a key: its result, and the largest time of its rows as a number, which is None without a clock."""


class Followed(NamedTuple):
    """What the rows of a key have come to."""

    results: list[Element]
    """The result after each row."""
    last: TimeValue
    """The largest time since the key began, as a number; None without a clock."""
    expired: list[Element]
    """The results before rows that came too late for them."""


@dataclass(frozen=True)
class LatestResults(ByPortions):
    """current_results(initial, f, time, keep): (Keyed<K, S<T>>, X) ↪ (ZSet<(K, U)>, X).

    With a time and `keep`: (Keyed<K, S<T>>, X), (LVar<Max>, Y) ↪ (ZSet<(K, U)>, Z), (Bag<(K, U)>, Z): the results of
    keys that have not expired, and those of keys that have. `waiting` has the keys by their largest times.
    """

    initial: Element
    f: PairFunction
    time: ElementFunction | None = None
    keep: Any = None
    states: PersistentMap[Element, State] = PersistentMap()  # noqa: RUF009
    waiting: Waiting = PersistentMap()  # noqa: RUF009
    order: SortedKeys[TimeValue] = SortedKeys()  # noqa: RUF009

    name = "current_results"
    rule = "current"
    clock_rules = ("current-row", "current-clock")
    keeps = Bound.GROUPS
    signature = "(Keyed[K, Sequence[T]], X) -> (ZSet[tuple[K, U]], X)"

    @property
    def by_clock(self) -> bool:
        return self.time is not None

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return (2, 2) if self.by_clock else (1, 1)

    @property
    def retained_outputs(self) -> tuple[int, ...]:  # type: ignore[override]
        return (0,) if self.by_clock else ()

    def bound_on(self, inputs: StreamTypes) -> Bound:
        return Bound.CLOCK if self.by_clock else Bound.GROUPS

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return columns[:1] if len(columns) == 2 else None

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_inner(self, inputs[0], Sequence)
        key: Any = expect_keyed(self, inputs[0]).key
        result: Any = returned_type(self.f)
        pair = tuple[key, result]
        bounded = all(given.bounded for given in inputs)
        if not self.by_clock:
            return (StreamType(ZSet(pair), bounded),)
        expect_clock(self, inputs[1], index=1)
        if not is_positive_duration(self.keep):
            raise TypeMismatch(f"`keep` of `current` must be a duration above 0; got {self.keep!r}")
        return StreamType(ZSet(pair), bounded), StreamType(Bag(pair), bounded)

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        rows: Any = inputs[0]
        portions = list(key_portions(rows, every=every))
        for (_, rest), (after, outputs) in consume_each(
            portions, lambda it: self._taken(it[0]), lambda it: key_note(it[0])
        ):
            yield Step("current-row" if self.by_clock else "current", (rest, *inputs[1:]), after, outputs)
        if portions:
            return
        if self.by_clock and not as_lvar(inputs, 1).is_bottom():
            clock = as_lvar(inputs, 1)
            after, outputs = self._at(to_number(clock.value))
            yield Step("current-clock", (rows, clock.drained()), after, outputs, settled=True)
        elif all_ending(inputs):
            ends = (ZSetValue.terminator(), BagValue.terminator())[: self.arity[1]]
            over = LatestResults(self.initial, self.f, self.time, self.keep)
            passed: Any = inputs
            yield Step("current-terminated", tuple(value.passed() for value in passed), over, ends)

    def _taken(self, entries: dict[Element, Any]) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs after these rows of some keys."""
        given = {key: units for key, value in entries.items() if (units := value.all_units())}
        every = self.follow_all([self.states.get(key) for key in given], list(given.values()))
        states: dict[Element, State] = {}
        changed: list[Unit] = []
        expired: list[Unit] = []
        moved: dict[TimeValue, dict[Element, int]] = {}
        for key, followed in zip(given, every, strict=True):
            before = self.states.get(key)
            states[key] = (followed.results[-1], followed.last)
            expired += [((key, result), 1) for result in followed.expired]
            changed += [] if before is None else [((key, before[0]), -1)]
            changed.append(((key, states[key][0]), 1))
            for state, weight in ((before, -1), (states[key], 1)):
                if self.by_clock and state is not None:
                    some = moved.setdefault(state[1], {})
                    some[key] = some.get(key, 0) + weight
        expect_hashable([pair for pair, _ in (*changed, *expired)], "ZSet")
        waiting, order = keep_rows(self.waiting, self.order, moved)
        after = replace(self, states=self.states.updated(states), waiting=waiting, order=order)
        return after, self._deltas(changed, expired)

    def follow_all(
        self, states: list[State | None], units: list[list[Unit]], moments: list[list[TimeValue]] | None = None
    ) -> list[Followed]:
        """Return what more rows of some keys come to, given the state of each key, or None, and the times of its rows
        as numbers, if they are known."""
        if moments is None:
            moments = self._moments(units)
        every = [self._follow(*each) for each in zip(states, units, moments, strict=True)]
        expect_declared(self.f, [result for followed in every for result in followed.results])
        return every

    def _follow(self, state: State | None, units: list[Unit], moments: list[TimeValue]) -> Followed:
        f = self.f
        result, last = (self.initial, None) if state is None else state
        expired: list[Element] = []
        results: list[Element] = []
        for unit, moment in zip(units, moments, strict=True):
            if last is not None and self.is_over(last, moment):
                expired.append(result)
                result, last = self.initial, None
            result = f(copy_if_mutable(result), unit)
            results.append(result)
            last = moment if last is None or moment > last else last
        return Followed(results, last, expired)

    def _moments(self, units: list[list[Unit]]) -> list[list[TimeValue]]:
        """Return the times of rows as numbers; None for each without a clock."""
        time = self.time
        if time is None:
            return [[None] * len(some) for some in units]
        evaluate_ahead(time, [unit for some in units for unit in some])
        moments = [[time(unit) for unit in some] for some in units]
        every = [moment for some in moments for moment in some]
        expect_declared(time, every)
        for moment in every:
            expect_durations(moment, keep=self.keep)
        return [list(map(to_number, some)) for some in moments]

    def is_over(self, last: TimeValue, moment: TimeValue) -> bool:
        """Return whether a moment is more than `keep` past the largest time of a key, both as numbers."""
        return bool(last < moment - span_of(self.keep))

    def _at(self, moment: TimeValue) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs when the clock has come to a moment."""
        units, waiting, order = release_rows(self.waiting, self.order, lambda last: self.is_over(last, moment))
        gone = [((key, self.states[key][0]), 1) for key, _ in units]
        states = self.states.updated({key: None for key, _ in units}, drop=None)
        after = replace(self, states=states, waiting=waiting, order=order)
        return after, self._deltas([(pair, -1) for pair, _ in gone], gone)

    def _deltas(self, changed: list[Unit], expired: list[Unit]) -> Deltas:
        table: Delta = make_delta(changed)[0]
        return (table, BagValue.of(expired) if expired else None) if self.by_clock else (table,)
