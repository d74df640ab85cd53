"""Clocks: how far the event time of a stream has come, as a value that grows.

The clock of a sequence is the largest time seen, minus the lateness. The clock of a partitioned stream is the minimum
over its partitions. A row is behind if the clock of its own partition had passed its time before the row came. So the
rows on time satisfy: once the clock is at t, no row with a time before t follows. Operators that take a clock rely on
it, and read the clock by a step that is `settled`, so that it cannot overtake rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, get_args

from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.errors import ElementError, OrderError, TypeMismatch
from flo.core.facts import Timing
from flo.core.operator import Bound, Delta, Deltas, Operator, Step, Values, expect_collection, replaced
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, TimeValue, Unit
from flo.values.event_time import expect_durations, expect_times, has_zone, offset_of, origin_of, window_type
from flo.values.keyed import KeyedValue
from flo.values.lattice import BOTTOM
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar, LVarValue
from flo.values.operators.keyed_streams import key_note, key_portions
from flo.values.operators.lvars import as_lvar, expect_lvar
from flo.values.operators.shapes import ElementKind, Unary, all_ending, consume_each, expect_declared, run_leaps
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, bag_of


@dataclass(slots=True)
class LatestTimes:
    """The largest times while rows come: of each partition in `each`, and their minimum in `whole`.

    `whole` is None as long as a partition that counts has sent nothing: a known one, or an added one, which is in
    `each` with None until its first row is taken.
    """

    partitions: int
    each: dict[int, TimeValue]
    whole: Any
    is_given: bool = False
    """Whether rows do not move it."""

    @classmethod
    def of(cls, state: Any, partitions: int | None, *, is_given: bool = False) -> LatestTimes:
        if partitions:
            latest = cls(partitions, dict(state or ()), None)
            latest.whole = latest._minimum()
            return latest
        return cls(0, {} if state is None else {0: state}, state, is_given)

    def state(self) -> Any:
        """The times as they are kept: one, or one for each partition."""
        return (tuple(sorted(self.each.items())) or None) if self.partitions else self.each.get(0)

    def _minimum(self) -> TimeValue:
        known = len(self.each) >= self.partitions and all(map(self.each.__contains__, range(self.partitions)))
        times = self.each.values() if known else ()
        return min(times, default=None) if None not in times else None

    def admit(self, partitions: Iterable[int]) -> LatestTimes:
        """Let partitions that were added count: from the minimum on, or if it is not known, as those that are known."""
        for each in partitions:
            if each >= self.partitions > 0 and each not in self.each:
                self.each[each] = self.whole
        return self

    def own(self, partition: int) -> Any:
        """The largest time of a partition; None before its first row."""
        return self.each.get(partition)

    def move(self, partition: int, time: object) -> bool:
        """Take the time of a row; return whether the minimum has moved."""
        if self.is_given:
            return False
        own = self.each.get(partition)
        if own is not None and time <= own:
            return False
        self.each[partition] = time
        if not self.partitions:
            self.whole = time
            return True
        if own is not None and own != self.whole:
            return False
        before, self.whole = self.whole, self._minimum()
        return self.whole is not None and self.whole != before


def read_offset(
    time: ElementFunction, element: object, origin: TimeValue, **durations: object
) -> tuple[TimeValue, TimeValue]:
    """Return (the origin, the time of an element as an offset from it). The first time sets the origin, if the
    durations fit it."""
    moment = time(element)
    expect_declared(time, [moment])
    if origin is None:
        origin = origin_of(moment)
        expect_durations(moment, **durations)
    return origin, offset_of(moment, origin)


def watermark(latest: TimeValue, lateness: TimeValue) -> TimeValue:
    """Return the watermark, given the largest time."""
    return latest - lateness if lateness else latest


def expect_partitions(operator: Operator, given: Partitioned[Element]) -> Partitioned[Element]:
    """Raise unless it is known how many partitions there are."""
    if not given.count:
        raise TypeMismatch(
            f"`{operator.name}` must know the number of partitions of {{input}}: one that has sent nothing yet holds "
            "the clock back",
            facts=(("{input}", str(given)),),
            instead=(("flow.input(…, flo.Partitioned[…], partitions=3)", "they are numbered 0, 1 and 2"),),
        )
    return given


def partition_steps(operator: Any, value: Any, *, every: bool) -> Iterator[Step]:
    """The steps of an operator on a partitioned stream, defined by `take_rows` and `finish`: one for each partition
    that has rows, or one for all. Partitions that were added begin at the clock of the whole before any of the rows."""
    added = [each for each, rows in value.entries.to_dict().items() if each >= operator.partitions and rows.elements]
    latest = LatestTimes.of(operator.latest, operator.partitions).admit(added)
    operator = replace(operator, latest=latest.state())
    portions = key_portions(value, every=every)
    for (_, rest), (after, outputs) in consume_each(
        portions, lambda it: operator.take_rows(rows_of(it[0])), lambda it: key_note(it[0])
    ):
        yield Step(f"{operator.rule}-partition", (rest,), after, outputs)
    if value.ending():
        yield Step(f"{operator.rule}-terminated", (value.passed(),), *operator.finish(KeyedValue))


def partition_rules(operator: Any) -> frozenset[str]:
    """The rules of `partition_steps`."""
    return frozenset({f"{operator.rule}-partition", f"{operator.rule}-terminated"})


def rows_of(entries: dict[int, Any]) -> Iterable[tuple[int, Element]]:
    """The elements of some partitions, each with its partition."""
    return ((partition, unit) for partition, value in entries.items() for unit in value.all_units())


def clocked_steps(operator: Any, inputs: Values, *, every: bool) -> Iterator[Step]:
    """The steps of an operator on elements and a clock, defined by `take_units`, `take_clock` and `finish`.

    Rows come first. Then the clock is read, when nothing before the operator can step; and then the ends are passed on.
    """
    rows: Any = inputs[0]
    clock, rule = as_lvar(inputs, 1), operator.rule
    portions = [(rows.all_units(), rows.drained())] if every else [([unit], rest) for unit, rest in rows.units()]
    portions = [each for each in portions if each[0]]
    for (_, rest), (after, outputs) in consume_each(
        portions, lambda it: operator.take_units(it[0], rows), lambda it: repr(it[0][0])
    ):
        yield Step(f"{rule}-row", (rest, clock), after, outputs)
    if portions:
        return
    if not clock.is_bottom():
        after, outputs = operator.take_clock(clock.value)
        yield Step(f"{rule}-clock", (rows, clock.drained()), after, outputs, settled=True)
    elif all_ending((rows, clock)):
        yield Step(f"{rule}-terminated", (rows.passed(), clock.passed()), *operator.finish(type(rows)))


def clocked_rules(operator: Any) -> frozenset[str]:
    """The rules of `clocked_steps`."""
    return frozenset({f"{operator.rule}-row", f"{operator.rule}-clock", f"{operator.rule}-terminated"})


def in_one_partition(units: list[Unit], source: object) -> Iterable[tuple[int, Element]]:
    """The elements of units, those of a bag as often as their weights say, with the partition 0."""
    if not isinstance(source, BagValue):
        return ((0, unit) for unit in units)
    return ((0, element) for element, weight in units for _ in range(weight))


ORDERED = (
    ("flow.input(…, flo.Sequence[…])", "an input with an order"),
    ("flow.input(…, flo.Partitioned[…], partitions=3)", "a log with an order within each partition"),
)


@dataclass(frozen=True)
class ClockOf(Unary):
    """clock_of(time, lateness, …): (S<T>, X) ↪ (LVar<Max>, X), (S<T>, X), (S<T>, X): the clock, the elements on time,
    and those behind it. Of a partitioned stream the elements are bags, and with `in_order` a fourth output has those on
    time by partition: (Partitioned<T>, X).
    """

    time: ElementFunction
    lateness: TimeValue = None
    partitions: int | None = None
    origin: TimeValue = None
    latest: TimeValue = None
    in_order: bool = False

    name = "clock_of"
    keeps = Bound.VALUE
    retracts = False
    timing = Timing.SEES
    rule = "clock"
    across_keys = True

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return 1, 4 if self.in_order else 3

    def type(self, inputs: StreamTypes) -> StreamTypes:
        given, bounded = inputs[0].collection, inputs[0].bounded
        expect_collection(self, inputs[0], Sequence, Partitioned, error=OrderError, instead=ORDERED)
        expect_times("clock", returned_type(self.time), inputs[0], lateness=self.lateness)
        rows: Any = Bag(expect_partitions(self, given).row) if isinstance(given, Partitioned) else given
        rows = StreamType(rows, bounded)
        return StreamType(LVar(self.lattice), bounded), rows, rows, *([inputs[0]] if self.in_order else [])

    def durations(self) -> dict[str, Any]:
        """Return the durations besides the lateness, as windows have them: none."""
        return {}

    @property
    def lattice(self) -> Max[TimeValue]:
        """The lattice of the clock's values."""
        kinds = get_args(window_type(self.time, [self.lateness] if self.lateness else [0]))
        return Max(kinds[0]) if kinds else Max()

    def typed(self, inputs: StreamTypes) -> ClockOf:
        given = inputs[0].collection
        return replace(self, partitions=given.count if isinstance(given, Partitioned) else None)

    def rules_for(self, inputs: StreamTypes) -> frozenset[str] | None:
        return partition_rules(self) if isinstance(inputs[0].collection, Partitioned) else None

    def steps(self, inputs: Values) -> Iterator[Step]:
        if isinstance(inputs[0], KeyedValue):
            return partition_steps(self, inputs[0], every=False)
        return super().steps(inputs)

    def advance(self, inputs: Values) -> Iterator[Step]:
        if isinstance(inputs[0], KeyedValue):
            return run_leaps(self, inputs, lambda operator, values: partition_steps(operator, values[0], every=True))
        return super().advance(inputs)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        return self.take_rows((0, unit) for unit in units)

    def take_rows(self, rows: Iterable[tuple[int, Element]]) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs after these rows."""
        origin, latest = self.origin, LatestTimes.of(self.latest, self.partitions)
        before = latest.whole
        on_time: list[tuple[int, Element]] = []
        late: list[tuple[int, Element]] = []
        for partition, unit in rows:
            origin, offset = read_offset(self.time, unit, origin, lateness=self.lateness)
            latest.move(partition, offset)
            is_late = offset < watermark(latest.own(partition), self.lateness)
            (late if is_late else on_time).append((partition, unit))
        clock = None
        if latest.whole is not None and latest.whole != before:
            clock = LVarValue(self.lattice, origin + watermark(latest.whole, self.lateness))
        after = replace(self, origin=origin, latest=latest.state())
        in_order = [by_partition(on_time)] if self.in_order else []
        return after, (clock, self._rows(on_time), self._rows(late), *in_order)

    def _rows(self, rows: list[tuple[int, Element]]) -> Delta:
        units = [unit for _, unit in rows]
        if not units:
            return None
        return bag_of(units) if self.partitions else SequenceValue.of(units)

    def finish(self, source: Any) -> tuple[Operator, Deltas]:
        ended = (BagValue if self.partitions else SequenceValue).terminator()
        in_order = [KeyedValue.terminator()] if self.in_order else []
        return self, (LVarValue(self.lattice, BOTTOM, End.ARRIVED), ended, ended, *in_order)


def by_partition(rows: list[tuple[int, Element]]) -> Delta:
    """Return rows by their partitions, each in its order."""
    parts: dict[int, list[Element]] = {}
    for partition, unit in rows:
        parts.setdefault(partition, []).append(unit)
    return KeyedValue.of({partition: SequenceValue.of(units) for partition, units in parts.items()}) if parts else None


WITH_ZONE = (('clock(nw.col("at").dt.replace_time_zone("UTC"))', "takes times without a zone as UTC"),)


@dataclass(frozen=True)
class MinClock(Operator):
    """min_clock(): (LVar<Max>, X), (LVar<Max>, Y) ↪ (LVar<Max>, Z): the clock that is behind. When a bounded clock has
    ended, no more rows of it come, and the other one counts; at the end the last of both. `seen` has the time of
    each."""

    bounded: tuple[bool, bool] = (False, False)
    seen: tuple[TimeValue, TimeValue] = (None, None)
    ended: tuple[bool, bool] = (False, False)

    name = "min_clock"
    keeps = Bound.VALUE
    arity = (2, 1)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = expect_lvar(self, inputs[0]), expect_lvar(self, inputs[1], index=1)
        for index, lattice in enumerate((left, right)):
            if not isinstance(lattice, Max):
                raise TypeMismatch(f"`min_clock` must get clocks; got an LVar of {lattice}", index=index)
        if not left.accepts(right) and not right.accepts(left):
            raise TypeMismatch(f"`min_clock` must get clocks of one type of times; got {left} and {right}")
        zones = [has_zone(each.element) for each in (left, right)]
        if None not in zones and zones[0] != zones[1]:
            one, other = (f"times {'with' if zone else 'without'} a zone" for zone in zones)
            raise TypeMismatch(
                f"`min_clock` must get clocks of one type of times; got {one} and {other}", instead=WITH_ZONE
            )
        wider = left if left.accepts(right) else right
        return (StreamType(LVar(wider), all(given.bounded for given in inputs)),)

    def typed(self, inputs: StreamTypes) -> MinClock:
        return replace(self, bounded=(inputs[0].bounded, inputs[1].bounded))

    def steps(self, inputs: Values) -> Iterator[Step]:
        for index in range(2):
            value = as_lvar(inputs, index)
            if not value.is_bottom():
                before = self.seen[index]
                seen = value.value if before is None or value.value > before else before
                after = replace(self, seen=replaced(self.seen, index, seen))
                after._expect_one_kind()
                rests = replaced(inputs, index, value.drained())
                yield Step("min-clock", rests, after, (self._moved(after, value),))
            elif value.end is End.ARRIVED:
                after = replace(self, ended=replaced(self.ended, index, True))
                rests = replaced(inputs, index, value.passed())
                if all(after.ended):
                    last = self._moved(after, value) or LVarValue(value.lattice, BOTTOM)
                    yield Step("min-clock-terminated", rests, MinClock(self.bounded), (last.fix(),))
                else:
                    yield Step("min-clock-ended", rests, after, (self._moved(after, value),))

    def minimum(self) -> Any:
        """Return the time of the clock that is behind; None if a clock has not started."""
        over = [ended and bounded for ended, bounded in zip(self.ended, self.bounded, strict=True)]
        if all(over):
            return max((time for time in self.seen if time is not None), default=None)
        waiting = [time for time, is_over in zip(self.seen, over, strict=True) if not is_over]
        return None if None in waiting else min(waiting)

    def _expect_one_kind(self) -> None:
        """Raise if the times of the clocks cannot be compared, which the types of Python functions do not say."""
        if None not in self.seen and len(set(map(origin_of, self.seen))) > 1:
            dates = all(isinstance(time, date) for time in self.seen)
            one, other = self.seen
            raise ElementError(
                f"`min_clock` must get clocks of one type of times; got {one!r} and {other!r}",
                instead=WITH_ZONE if dates else (),
            )

    def _moved(self, after: MinClock, value: LVarValue) -> Delta:
        time = after.minimum()
        return None if time is None or time == self.minimum() else LVarValue(value.lattice, time)
