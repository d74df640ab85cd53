"""Windows of event time: tumbling, sliding and session windows, with a watermark and a side output for late rows.

A window closes, and is emitted, when the watermark passes its end. The watermark is the largest time seen, minus the
allowed lateness.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, TypeAlias, final

from flo.core.collection import End
from flo.core.errors import TypeMismatch
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Bound, Deltas, Operator, Step, Values
from flo.core.persistent import Elements, PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.values.event_time import (
    TimeWindow,
    expect_durations,
    find_window,
    is_positive_duration,
    offset_of,
    origin_of,
    window_type,
)
from flo.values.operators.sequences import Cut
from flo.values.operators.shapes import ElementKind, expect_declared
from flo.values.ordered import Ordered
from flo.values.sequence import Sequence, SequenceValue


class TimeWindows(Cut):
    """(S<T>, X) ↪ ([(S<T>, B)], X), (S<T>, X): the windows, and the late elements.

    With `bounds`, a second inner stream has one `TimeWindow`: the bounds of the window.
    """

    arity = (1, 2)
    time: Callable[[Any], Any]
    lateness: Any
    bounds: bool
    origin: Any
    """0 or the epoch, set by the first element."""
    latest: Any
    """The largest time seen, as an offset from the origin."""

    @abstractmethod
    def durations(self) -> dict[str, Any]:
        """Return the durations that must be positive, by name."""

    @abstractmethod
    def remaining(self) -> list[Values]:
        """Return the open windows, in order."""

    @abstractmethod
    def cleared(self) -> Operator:
        """Return the operator without open windows."""

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner = self.expect_input(inputs)
        for name, duration in self.durations().items():
            if not is_positive_duration(duration):
                raise TypeMismatch(f"the {name} of `{self.name}` windows must be > 0; got {duration!r}")
        if self.lateness and not is_positive_duration(self.lateness):
            raise TypeMismatch(f"the lateness of `{self.name}` windows must be a duration ≥ 0; got {self.lateness!r}")
        kind = window_type(self.time, list(self.durations().values()))
        streams = (inner, Sequence(kind)) if self.bounds else (inner,)
        return StreamType(Nested(*streams), inputs[0].bounded), StreamType(inner, inputs[0].bounded)

    def steps(self, inputs: Values) -> Iterator[Step]:
        for step in super().steps(inputs):
            closed, late = step.outputs
            if step.rule != self.rule or closed is late:  # the end, or no output
                yield step
            else:
                yield replace(step, rule=f"{self.rule}-{'emit' if late is None else 'late'}")

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        windows = self.remaining() if self.flush else []
        return self.cleared(), (NestedValue.pushing(*windows).fix(), SequenceValue.terminator())

    def offset(self, unit: Any, origin: Any) -> tuple[Any, Any]:
        """Return (the origin, the element's time as an offset from it)."""
        moment = self.time(unit)
        expect_declared(self.time, [moment])
        if origin is None:
            origin = origin_of(moment)
            expect_durations(moment, **self.durations(), lateness=self.lateness)
        return origin, offset_of(moment, origin)

    def watermark(self, latest: Any) -> Any:
        return latest - self.lateness if self.lateness else latest

    def window(self, elements: SequenceValue, origin: Any, start: Any, end: Any) -> Values:
        if not self.bounds:
            return (elements,)
        return elements, SequenceValue.of([TimeWindow(origin + start, origin + end)], End.ARRIVED)


def make_deltas(closed: list[Values], late: list[Any]) -> Deltas:
    return (NestedValue.pushing(*closed) if closed else None), (SequenceValue.of(late) if late else None)


NONE: Elements[Any] = Elements()


class AlignedWindows(TimeWindows):
    """Windows of one size at regular intervals, [n · slide, n · slide + size).

    `opened` has the elements of the open windows, by window number.
    """

    size: Any
    slide: Any
    opened: PersistentMap[int, Elements[Any]]
    order: Ordered[int]

    def start(self, number: int) -> Any:
        """Return the start of window `number`."""
        return number * self.slide

    def end(self, number: int) -> Any:
        """Return the end of window `number`. Never decreases with the number."""
        next_start = self.start(number + 1)
        if self.slide == self.size:
            return next_start
        return max(self.start(number) + self.size, next_start)  # rounding of floats must not leave gaps

    def numbers(self, offset: Any) -> list[int]:
        """Return the numbers of the windows that contain this time."""
        number = find_window(offset, self.slide)
        found = []
        while self.end(number) > offset:
            found.append(number)
            number -= 1
        return found[::-1]

    def remaining(self) -> list[Values]:
        return [self._closed(number, self.opened[number], self.origin) for number in self.order]

    def cleared(self) -> Operator:
        return replace(self, opened=PersistentMap(), order=Ordered())

    def _closed(self, number: int, elements: Elements[Any], origin: Any) -> Values:
        value = SequenceValue(elements, End.ARRIVED)
        return self.window(value, origin, self.start(number), self.end(number))

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        origin, latest, opened, order = self.origin, self.latest, self.opened, self.order
        watermark = None if latest is None else self.watermark(latest)
        added: dict[int, list[Any]] = {}
        gone: list[int] = []
        closed: list[Values] = []
        late: list[Any] = []
        for unit in units:
            origin, offset = self.offset(unit, origin)
            if latest is None or offset > latest:
                latest, watermark = offset, self.watermark(offset)
                while (number := order.first()) is not None and self.end(number) <= watermark:
                    elements = opened.get(number, NONE).extended(added.pop(number, ()))
                    closed.append(self._closed(number, elements, origin))
                    order = order.removed(number)
                    gone.append(number)
            is_late = False
            for number in self.numbers(offset):
                if number in added:
                    added[number].append(unit)
                elif self.end(number) <= watermark:
                    is_late = True
                else:
                    added[number] = [unit]
                    order = order if number in opened else order.added(number)
            if is_late:
                late.append(unit)
        changes: dict[int, Any] = dict.fromkeys(gone)
        changes |= {number: opened.get(number, NONE).extended(more) for number, more in added.items()}
        operator = replace(self, origin=origin, latest=latest, opened=opened.updated(changes, drop=None), order=order)
        return operator, make_deltas(closed, late)


@final
@dataclass(frozen=True)
class Tumbling(AlignedWindows):
    """tumbling(size, time, lateness, …): adjacent windows, [n · size, (n + 1) · size)."""

    size: Any
    time: Callable[[Any], Any]
    lateness: Any = None
    flush: bool = False
    bounds: bool = False
    origin: Any = None
    latest: Any = None
    opened: PersistentMap[int, Elements[Any]] = PersistentMap()  # noqa: RUF009
    order: Ordered[int] = Ordered()  # noqa: RUF009

    name = "tumbling"
    keeps = Bound.WINDOWS
    rule = "tumbling"

    def durations(self) -> dict[str, Any]:
        return {"size": self.size}

    @property
    def slide(self) -> Any:
        return self.size


@final
@dataclass(frozen=True)
class Sliding(AlignedWindows):
    """sliding(size, slide, time, lateness, …): overlapping windows, [n · slide, n · slide + size)."""

    size: Any
    slide: Any
    time: Callable[[Any], Any]
    lateness: Any = None
    flush: bool = False
    bounds: bool = False
    origin: Any = None
    latest: Any = None
    opened: PersistentMap[int, Elements[Any]] = PersistentMap()  # noqa: RUF009
    order: Ordered[int] = Ordered()  # noqa: RUF009

    name = "sliding"
    keeps = Bound.WINDOWS
    rule = "sliding"

    def durations(self) -> dict[str, Any]:
        return {"size": self.size, "slide": self.slide}

    def type(self, inputs: StreamTypes) -> StreamTypes:
        outputs = super().type(inputs)
        if self.slide > self.size:
            raise TypeMismatch(
                f"`slide` must be ≤ `size`, or elements between windows are lost; got {self.slide!r} > {self.size!r}",
                instead=(("{input}.filter(…).tumbling(…)", "drops elements explicitly"),),
            )
        return outputs


Run: TypeAlias = tuple[Any, Elements[tuple[int, Any]]]
"""An open session: its last time, and its elements, each with its position in the order of arrival."""


@final
@dataclass(frozen=True)
class Session(TimeWindows):
    """session(gap, time, lateness, …): elements less than `gap` apart are in one window, [first, last + gap).

    An element may extend an open session, or merge two. `opened` has the open sessions by their first time. `horizon`
    is the end of the last closed session: elements before it are late and belong to no other session.
    """

    gap: Any
    time: Callable[[Any], Any]
    lateness: Any = None
    flush: bool = False
    bounds: bool = False
    origin: Any = None
    latest: Any = None
    opened: PersistentMap[Any, Run] = PersistentMap()  # noqa: RUF009
    order: Ordered[Any] = Ordered()  # noqa: RUF009
    count: int = 0
    horizon: Any = None

    name = "session"
    keeps = Bound.WINDOWS
    rule = "session"

    def durations(self) -> dict[str, Any]:
        return {"gap": self.gap}

    def remaining(self) -> list[Values]:
        return [self._closed(first, self.opened[first], self.origin) for first in self.order]

    def cleared(self) -> Operator:
        return replace(self, opened=PersistentMap(), order=Ordered())

    def _closed(self, first: Any, session: Run, origin: Any) -> Values:
        last, elements = session
        arrived = [unit for _, unit in sorted(elements, key=itemgetter(0))]
        return self.window(SequenceValue.of(arrived, End.ARRIVED), origin, first, last + self.gap)

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        origin, latest, order, count, horizon = self.origin, self.latest, self.order, self.count, self.horizon
        watermark = None if latest is None else self.watermark(latest)
        changes: dict[Any, Run | None] = {}
        closed: list[Values] = []
        late: list[Any] = []

        def session(first: Any) -> Run:
            return changes.get(first) or self.opened[first]

        for unit in units:
            origin, offset = self.offset(unit, origin)
            if latest is None or offset > latest:
                latest, watermark = offset, self.watermark(offset)
                while (first := order.first()) is not None and session(first)[0] + self.gap <= watermark:
                    closed.append(self._closed(first, session(first), origin))
                    horizon = session(first)[0] + self.gap
                    order, changes[first] = order.removed(first), None
            before, after = order.at_most(offset), order.above(offset)
            joined = [before] if before is not None and offset < session(before)[0] + self.gap else []
            if after is not None and after < offset + self.gap:
                joined.append(after)
            if (horizon is not None and offset < horizon) or not (joined or watermark < offset + self.gap):
                late.append(unit)
                continue
            first, last, elements = offset, offset, Elements([(count, unit)])
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
            count += 1
        opened = self.opened.updated(changes, drop=None)
        operator = replace(self, origin=origin, latest=latest, opened=opened, order=order, count=count, horizon=horizon)
        return operator, make_deltas(closed, late)


def merge_elements(elements: Elements[Any], others: Elements[Any]) -> Elements[Any]:
    """Append the shorter one to the longer one, unsorted, so that repeated merges are cheap."""
    return elements.extended(others) if len(elements) >= len(others) else others.extended(elements)
