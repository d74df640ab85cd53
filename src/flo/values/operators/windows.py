"""Windows of event time: tumbling, sliding and session windows, with a watermark and a side output for late rows.

A window closes, and is emitted, when the watermark passes its end. The watermark is the largest time seen, minus the
allowed lateness. In a partitioned stream each partition has its own watermark, which decides what is late; a window
closes when all of them have passed its end. So windows and late rows do not depend on how partitions are interleaved.
Windows may also follow a given clock (clocks.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from operator import itemgetter
from typing import Any, Self, TypeAlias

from flo.core.collection import End, Value
from flo.core.elements import returned_type
from flo.core.errors import TypeMismatch
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Deltas, Operator, Step, Values, expect_collection
from flo.core.persistent import Elements, PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, TimeValue, Unit
from flo.values.event_time import (
    TimeWindow,
    expect_times,
    find_window,
    no_bound,
    offset_of,
    origin_of,
    too_large,
    window_type,
)
from flo.values.keyed import KeyedValue
from flo.values.operators.clocks import (
    LatestTimes,
    clocked_steps,
    expect_partitions,
    in_one_partition,
    partition_steps,
    read_offset,
    watermark,
)
from flo.values.operators.lvars import expect_lvar
from flo.values.operators.sequences import SequenceCut
from flo.values.operators.shapes import ElementKind, run_leaps
from flo.values.ordered import SortedKeys
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, bag_of

PartitionedRows: TypeAlias = Iterable[tuple[int, Element]]
"""Elements, each with its partition; a sequence is the partition 0."""
WindowContent: TypeAlias = Elements[Element] | BagValue
"""The elements of an open window: in order, or without one."""


class TimeWindows(SequenceCut):
    """(S<T>, X) ↪ ([(S<T>, B)], X), (S<T>, X): the windows, and the late elements.

    (Partitioned<T>, X) ↪ ([(Bag<T>, B)], X), (Bag<T>, X): elements of different partitions have no order.
    With a clock, (C<T>, X), (LVar<Max>, Y) ↪ ([(C<T>, B)], Z), (C<T>, X), where C is a sequence or a bag: the clock
    alone closes windows. It is read when all that came before it has arrived.

    With `bounds`, a second inner stream has one `TimeWindow`: the bounds of the window.
    """

    time: ElementFunction
    lateness: TimeValue
    bounds: bool
    origin: TimeValue
    """0 or the epoch, set by the first element."""
    latest: TimeValue
    """The largest time seen, as an offset from the origin; of partitions, one for each; or the time of the clock."""
    by_clock: bool
    partitions: int | None
    """How many partitions are known; None if the input has none."""
    unordered: bool
    """Whether windows are bags."""
    opened: PersistentMap[Any, Any]
    """The content of each open window."""
    order: SortedKeys[Any]

    across_keys = True

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return (2 if self.by_clock else 1), 2

    @abstractmethod
    def durations(self) -> dict[str, TimeValue]:
        """Return the durations that must be positive, by name."""

    @abstractmethod
    def closed(self, window: Element, content: Element, origin: TimeValue) -> Values:
        """Return a window as it is emitted, given its number or its first time, and its content."""

    def remaining(self) -> list[Values]:
        """Return the open windows, in order."""
        return [self.closed(each, self.opened[each], self.origin) for each in self.order]

    @abstractmethod
    def admit(self, rows: PartitionedRows) -> tuple[Self, list[Values], list[Element]]:
        """Return the operator after these rows, the windows that have closed, and the late elements."""

    @abstractmethod
    def close_until(self, mark: object) -> tuple[Self, list[Values]]:
        """Return the operator without the windows that have ended at this time, and those windows."""

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner = self._inner(inputs)
        kind = returned_type(self.time)
        expect_times(self.name, kind, inputs[0], positive=self.durations(), lateness=self.lateness)
        kind = window_type(self.time, list(self.durations().values()))
        streams = (inner, Sequence(kind)) if self.bounds else (inner,)
        bounded = all(given.bounded for given in inputs)
        return StreamType(Nested(*streams), bounded), StreamType(inner, inputs[0].bounded)

    def _inner(self, inputs: StreamTypes) -> Sequence[Element] | Bag[Element]:
        """Return the collection of a window and of the late elements."""
        given = inputs[0].collection
        if self.by_clock:
            expect_collection(self, inputs[0], Sequence, Bag)
            expect_lvar(self, inputs[1], index=1)
            assert isinstance(given, (Sequence, Bag))
            return given
        if isinstance(given, Partitioned):
            return Bag(expect_partitions(self, given).row)
        return self.expect_input(inputs)

    def typed(self, inputs: StreamTypes) -> Self:
        given = inputs[0].collection
        count = given.count if isinstance(given, Partitioned) else None
        flush = all(each.bounded for each in inputs)
        return replace(self, flush=flush, partitions=count, unordered=isinstance(given, (Partitioned, Bag)))

    def steps(self, inputs: Values) -> Iterator[Step]:
        if self.by_clock:
            yield from clocked_steps(self, inputs, every=False)
        elif isinstance(inputs[0], KeyedValue):
            yield from partition_steps(self, inputs[0], every=False)
        else:
            for step in super().steps(inputs):
                closed, late = step.outputs
                if step.rule != self.rule or closed is late:  # the end, or no output
                    yield step
                else:
                    yield replace(step, rule=f"{self.rule}-{'emit' if late is None else 'late'}")

    def advance(self, inputs: Values) -> Iterator[Step]:
        if self.by_clock:
            return run_leaps(self, inputs, lambda operator, values: clocked_steps(operator, values, every=True))
        if isinstance(inputs[0], KeyedValue):
            return run_leaps(self, inputs, lambda operator, values: partition_steps(operator, values[0], every=True))
        return super().advance(inputs)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        return self.take_rows((0, unit) for unit in units)

    def take_units(self, units: list[Unit], source: Value) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs after these units of a sequence or bag."""
        return self.take_rows(in_one_partition(units, source))

    def take_rows(self, rows: PartitionedRows) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs after these rows."""
        operator, closed, late = self.admit(rows)
        return operator, self._deltas(closed, late)

    def finish(self, source: Any) -> tuple[Operator, Deltas]:
        windows = self.remaining() if self.flush else []
        late = (BagValue if self.unordered else SequenceValue).terminator()
        cleared = replace(self, opened=PersistentMap(), order=SortedKeys())
        return cleared, (NestedValue.pushing(*windows).fix(), late)

    def take_clock(self, moment: TimeValue) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs when its clock has come to this moment."""
        origin = origin_of(moment)
        mark = offset_of(moment, origin)
        if self.latest is not None and mark <= self.latest:
            return self, (None, None)
        operator, closed = self.close_until(mark)
        return replace(operator, latest=mark, origin=origin), self._deltas(closed, [])

    def offset(self, unit: object, origin: object) -> tuple[TimeValue, TimeValue]:
        """Return (the origin, the element's time as an offset from it)."""
        return read_offset(self.time, unit, origin, **self.durations(), lateness=self.lateness)

    def expect_bounds(self, origin: TimeValue, offset: TimeValue, start: object, end: object) -> None:
        """Raise if a window of this time has bounds that are shown, and datetimes do not have them."""
        if self.bounds and isinstance(offset, timedelta):
            try:
                origin + start, origin + end
            except OverflowError:
                raise no_bound(origin + offset) from None

    def clocks(self) -> LatestTimes:
        """Return the largest times, to be moved by rows."""
        return LatestTimes.of(self.latest, self.partitions, is_given=self.by_clock)

    def window(self, content: WindowContent | list[Element], origin: TimeValue, start: object, end: object) -> Values:
        value: Value
        if isinstance(content, BagValue):
            value = content.ended(End.ARRIVED)
        else:
            value = SequenceValue(content if isinstance(content, Elements) else Elements(content), End.ARRIVED)
        if not self.bounds:
            return (value,)
        return value, SequenceValue.of([TimeWindow(origin + start, origin + end)], End.ARRIVED)

    def _deltas(self, closed: list[Values], late: list[Element]) -> Deltas:
        late_delta = bag_of(late) if self.unordered else SequenceValue.of(late)
        return (NestedValue.pushing(*closed) if closed else None), (late_delta if late else None)

    def extended(self, content: WindowContent | None, units: Iterable[Unit]) -> WindowContent:
        """Return the content of a window with more elements."""
        if self.unordered:
            assert content is None or isinstance(content, BagValue)
            return (content or BagValue.of(())).concat(bag_of(units))
        assert content is None or isinstance(content, Elements)
        return (NONE if content is None else content).extended(units)


NONE: Elements[Element] = Elements()


class AlignedWindows(TimeWindows):
    """Windows of one size at regular intervals, [n · slide, n · slide + size).

    `opened` has the elements of the open windows, by window number.
    """

    size: TimeValue
    slide: TimeValue

    def start(self, number: int) -> TimeValue:
        """Return the start of window `number`."""
        return number * self.slide

    def end(self, number: int) -> TimeValue:
        """Return the end of window `number`. Never decreases with the number."""
        next_start = self.start(number + 1)
        if self.slide == self.size:
            return next_start
        return max(self.start(number) + self.size, next_start)  # rounding of floats must not leave gaps

    def numbers(self, offset: object) -> list[int]:
        """Return the numbers of the windows that contain this time."""
        number = find_window(offset, self.slide)
        numbers = []
        while self.end(number) > offset:
            numbers.append(number)
            number -= 1
        return numbers[::-1]

    def closed(self, window: int, content: WindowContent, origin: TimeValue) -> Values:
        return self.window(content, origin, self.start(window), self.end(window))

    def close_until(self, mark: object) -> tuple[Self, list[Values]]:
        order, closed, gone = self.order, [], dict[int, Any]()
        while (number := order.first()) is not None and self.end(number) <= mark:
            closed.append(self.closed(number, self.opened[number], self.origin))
            order, gone[number] = order.removed(number), None
        return replace(self, opened=self.opened.updated(gone, drop=None), order=order), closed

    def admit(self, rows: PartitionedRows) -> tuple[Self, list[Values], list[Element]]:
        origin, opened, order, latest = self.origin, self.opened, self.order, self.clocks()
        added: dict[int, list[Element]] = {}
        gone: list[int] = []
        closed: list[Values] = []
        late: list[Element] = []
        for partition, unit in rows:
            origin, offset = self.offset(unit, origin)
            if latest.move(partition, offset):
                mark = watermark(latest.whole, self.lateness)
                while (number := order.first()) is not None and self.end(number) <= mark:
                    content = self.extended(opened.get(number), added.pop(number, ()))
                    closed.append(self.closed(number, content, origin))
                    order = order.removed(number)
                    gone.append(number)
            own = latest.own(partition)
            mark = None if own is None else watermark(own, self.lateness)
            is_behind, is_late = mark is not None and offset < mark, False
            for number in self.numbers(offset):
                if is_behind and self.end(number) <= mark:
                    is_late = True
                elif number in added:
                    added[number].append(unit)
                else:
                    added[number] = [unit]
                    if number not in opened:
                        self.expect_bounds(origin, offset, self.start(number), self.end(number))
                        order = order.added(number)
            if is_late:
                late.append(unit)
        changes: dict[int, Any] = dict.fromkeys(gone)
        changes |= {number: self.extended(opened.get(number), more) for number, more in added.items()}
        after = replace(
            self, origin=origin, latest=latest.state(), opened=opened.updated(changes, drop=None), order=order
        )
        return after, closed, late


@dataclass(frozen=True)
class Tumbling(AlignedWindows):
    """tumbling(size, time, lateness, …): adjacent windows, [n · size, (n + 1) · size)."""

    size: TimeValue
    time: ElementFunction
    lateness: TimeValue = None
    flush: bool = False
    bounds: bool = False
    origin: TimeValue = None
    latest: TimeValue = None
    opened: PersistentMap[int, WindowContent] = PersistentMap()  # noqa: RUF009
    order: SortedKeys[int] = SortedKeys()  # noqa: RUF009
    by_clock: bool = False
    partitions: int | None = None
    unordered: bool = False

    name = "tumbling"

    def durations(self) -> dict[str, TimeValue]:
        return {"size": self.size}

    @property
    def slide(self) -> TimeValue:
        return self.size


@dataclass(frozen=True)
class Sliding(AlignedWindows):
    """sliding(size, slide, time, lateness, …): overlapping windows, [n · slide, n · slide + size)."""

    size: TimeValue
    slide: TimeValue
    time: ElementFunction
    lateness: TimeValue = None
    flush: bool = False
    bounds: bool = False
    origin: TimeValue = None
    latest: TimeValue = None
    opened: PersistentMap[int, WindowContent] = PersistentMap()  # noqa: RUF009
    order: SortedKeys[int] = SortedKeys()  # noqa: RUF009
    by_clock: bool = False
    partitions: int | None = None
    unordered: bool = False

    name = "sliding"

    def durations(self) -> dict[str, TimeValue]:
        return {"size": self.size, "slide": self.slide}

    def type(self, inputs: StreamTypes) -> StreamTypes:
        outputs = super().type(inputs)
        if self.slide > self.size:
            raise TypeMismatch(
                f"`slide` must be ≤ `size`, or elements between windows are lost; got {self.slide!r} > {self.size!r}",
                instead=(("{input}.filter(…).tumbling(…)", "drops elements explicitly"),),
            )
        return outputs


OpenSession: TypeAlias = tuple[TimeValue, Element]
"""An open session: its last time, and its elements: a bag, or each with its position in the order of arrival."""


@dataclass(frozen=True)
class Session(TimeWindows):
    """session(gap, time, lateness, …): elements less than `gap` apart are in one window, [first, last + gap).

    An element may extend an open session, or merge two. `opened` has the open sessions by their first time. `horizon`
    is the end of the last closed session: elements before it are late and belong to no other session.

    In a partitioned stream an element is late if it is behind the watermark of its partition: it might belong to a
    session of other partitions that has closed.
    """

    gap: TimeValue
    time: ElementFunction
    lateness: TimeValue = None
    flush: bool = False
    bounds: bool = False
    origin: TimeValue = None
    latest: TimeValue = None
    opened: PersistentMap[Element, OpenSession] = PersistentMap()  # noqa: RUF009
    order: SortedKeys[TimeValue] = SortedKeys()  # noqa: RUF009
    count: int = 0
    horizon: TimeValue = None
    by_clock: bool = False
    partitions: int | None = None
    unordered: bool = False

    name = "session"

    def durations(self) -> dict[str, TimeValue]:
        return {"gap": self.gap}

    def closed(self, window: TimeValue, content: OpenSession, origin: TimeValue) -> Values:
        last, elements = content
        if not self.unordered:
            elements = [unit for _, unit in sorted(elements, key=itemgetter(0))]
        return self.window(elements, origin, window, last + self.gap)

    def close_until(self, mark: object) -> tuple[Self, list[Values]]:
        order, closed, gone, horizon = self.order, [], dict[Any, Any](), self.horizon
        while (first := order.first()) is not None and (end := self.opened[first][0] + self.gap) <= mark:
            closed.append(self.closed(first, self.opened[first], self.origin))
            order, gone[first], horizon = order.removed(first), None, end
        return replace(self, opened=self.opened.updated(gone, drop=None), order=order, horizon=horizon), closed

    def admit(self, rows: PartitionedRows) -> tuple[Self, list[Values], list[Element]]:
        origin, order, count, horizon, latest = self.origin, self.order, self.count, self.horizon, self.clocks()
        changes: dict[TimeValue, OpenSession | None] = {}
        closed: list[Values] = []
        late: list[Element] = []

        def session(first: object) -> OpenSession:
            return changes.get(first) or self.opened[first]

        for partition, unit in rows:
            origin, offset = self.offset(unit, origin)
            if not offset < offset + self.gap:
                raise too_large(offset, self.gap)
            if latest.move(partition, offset):
                mark = watermark(latest.whole, self.lateness)
                while (first := order.first()) is not None and session(first)[0] + self.gap <= mark:
                    closed.append(self.closed(first, session(first), origin))
                    horizon = session(first)[0] + self.gap
                    order, changes[first] = order.removed(first), None
            own = latest.own(partition)
            mark = None if own is None else watermark(own, self.lateness)
            before, after = order.at_most(offset), order.above(offset)
            joined = [before] if before is not None and offset < session(before)[0] + self.gap else []
            if after is not None and after < offset + self.gap:
                joined.append(after)
            if mark is not None and offset < mark:
                is_late = bool(self.partitions) or not (joined or mark < offset + self.gap)
                if is_late or (horizon is not None and offset < horizon):
                    late.append(unit)
                    continue
            self.expect_bounds(origin, offset, offset, offset + self.gap)
            first, last, elements = offset, offset, bag_of([unit]) if self.unordered else Elements([(count, unit)])
            for start in joined:
                its_last, its_elements = session(start)
                first, last = min(first, start), max(last, its_last)
                elements = merge_elements(its_elements, elements)
            for start in joined:
                if start != first:
                    order, changes[start] = order.removed(start), None
            if first not in joined:
                order = order.added(first)
            changes[first] = (last, elements)
            count += not self.unordered
        opened = self.opened.updated(changes, drop=None)
        after_rows = replace(
            self, origin=origin, latest=latest.state(), opened=opened, order=order, count=count, horizon=horizon
        )
        return after_rows, closed, late


def merge_elements(elements: Element, others: Element) -> Element:
    """Append the shorter one to the longer one, unsorted, so that repeated merges are cheap."""
    if isinstance(elements, BagValue):
        return elements.concat(others) if elements.size() >= others.size() else others.concat(elements)
    return elements.extended(others) if len(elements) >= len(others) else others.extended(elements)
