"""Windowers: which windows a row belongs to, which of them close now, and which rows are late.

Windows at regular places have numbers. With a size of 10 that slides by 5:

    window  1: [5, 15)                    5 ├─────────┤
    window  2: [10, 20)                        10 ├─────────┤
    window  3: [15, 25)                             15 ├─────────┤

    time  windows   at the watermark 16, window 1 has closed
    18    2, 3      waits for both
    12    1, 2      has missed window 1, so it is late, and goes to the side output. It also waits for window 2
    9     0, 1      late, and waits for nothing

A delta is assigned at once: from the time of each row and the watermark at it follow the first and the last window that
it is in time for; from the watermark after the delta follows the first window that stays open (`stops`). The windows
before that close.

Invariant: a window closes when the watermark is at its end or beyond, and never opens again.

**Where a late row is decided:** in `Windower.assign`, and nowhere else. `Grid.assign` does it for windows at regular
places, `Sessions.assign` (sessions.py) for sessions. The operator (windows.py) sends what is late to the side output.

To add a kind of window, add its operator on values (flo/values/operators/windows.py) and its windower, here or beside
sessions.py, registered in `WINDOWERS`. Grouping by key, state, emission, shards and checkpoints follow.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

import numpy as np

from flo.columns.indices import Indices, Mask
from flo.core.errors import ElementError
from flo.core.operator import Operator
from flo.core.untyped import TimeValue
from flo.tables.groups import ONE, Groups
from flo.tables.operator import register_in
from flo.tables.operators.clocks import LARGE, Axis, ClockReading, EventTime, RowNumbers, Times, ids_of
from flo.tables.state.panes import Panes
from flo.tables.state.run import Run
from flo.values.event_time import find_window, span_of
from flo.values.operators.sequences import Batch
from flo.values.operators.windows import Sliding, Tumbling

if TYPE_CHECKING:
    from flo.tables.operators.sessions import OpenSessions


@dataclass(frozen=True)
class TimedDelta:
    """The rows of a delta with their times, and the watermark at each of them."""

    groups: Groups
    times: Times
    """As they are kept: int64 or float64."""
    exact: Times
    """As they are computed with."""
    marks: Times | None
    """The watermark at each row; None if no row can be late."""
    before: ClockReading
    """The clock of each group before these rows."""
    latest: Times | None
    """The largest time of each group, after these rows; None if no window can close yet."""
    partitioned: bool = False
    """Whether the rows are of several partitions, and the watermark at each is that of its partition."""

    @property
    def is_one(self) -> bool:
        """Whether all rows are one group: there are no key columns."""
        return self.groups.keys is ONE

    @cached_property
    def ids(self) -> Indices:
        return ids_of(self.groups)


EVERY_TIME = np.full(1, np.inf)
"""A time after all times."""


class Bounds(NamedTuple):
    """The bounds of windows, [start, end): of one, or of several, as arrays."""

    start: Any
    end: Any


class WindowRange(NamedTuple):
    """For each of some times, the number of the first window and of the last one that hold it."""

    first: Any
    last: Any


class Closing(ABC):
    """The windows that close now, by number."""

    groups: Indices
    """The groups that may have rows which waited for them."""
    since: Times
    """For each of these groups, the time before which rows were gone already."""
    until: Times | None
    """The time before which rows are in windows that close; None if all are."""
    gone: Times
    """The time before which rows are in no other window, and leave; or one time for all groups."""

    @abstractmethod
    def holding(self, groups: Indices, times: Times) -> tuple[Indices, Indices | None]:
        """Returns for rows that waited: the number of the first closing window that holds each, and how many do; None
        if one does. `groups` are indices in `self.groups`."""

    @abstractmethod
    def bounds(self, numbers: Indices) -> Bounds:
        """Returns the bounds of the windows with these numbers."""


@dataclass(frozen=True)
class Assigned:
    """The rows of a delta, assigned to windows."""

    late: Indices
    """Rows that were in a window which had closed before they came."""
    rows: Indices
    """Rows in windows that close now."""
    first: Indices
    """The first such window of each."""
    counts: Indices | None
    """How many there are; None for one."""
    waits: Any
    """Whether each row of the delta is in a window that is open still."""
    closing: Closing
    opened: OpenSessions | None
    closed: Any
    """The last time of the last session of each group that has closed; see `ClockReading.closed`."""
    opens: Indices | None = None
    """The first window of each row that it is not late for, where a waiting row must remember it."""

    def only(self, own: Mask) -> Assigned:
        """Drops rows that do not belong to this shard; `own` says for each row of the delta whether it does."""
        mine = own[self.rows]
        counts = None if self.counts is None else self.counts[mine]
        late, rows, first = self.late[own[self.late]], self.rows[mine], self.first[mine]
        return replace(self, late=late, rows=rows, first=first, counts=counts, waits=self.waits & own)


class Windower(ABC):
    """Assigns rows to windows. `axis` is the time that they are windows of."""

    axis: Axis

    @abstractmethod
    def assign(self, delta: TimedDelta, opened: OpenSessions | None, panes: Panes) -> Assigned:
        """Assigns the rows of a delta to windows, and finds out which windows close. Here, and nowhere else, it is
        decided which rows are late."""

    @abstractmethod
    def remaining(
        self, keys: Run, before: ClockReading, opened: OpenSessions | None, panes: Panes
    ) -> tuple[Closing, OpenSessions | None]:
        """Returns the open windows of these keys, whose streams have ended, and the sessions without them."""

    @abstractmethod
    def reach(self, time: TimeValue, mark: TimeValue) -> Bounds:
        """Returns the start of the first window of a time that is open at a watermark, and the end of the last one. The
        watermark may be None."""

    @abstractmethod
    def gone(self, reading: ClockReading) -> Times:
        """Returns the time before which no rows of a key wait, given its clock."""


MakeWindower: TypeAlias = Callable[[Any, Any], Windower]
WINDOWERS: dict[type[Operator], MakeWindower] = {}
"""For a class of window operators: a function from the operator and the collections that it reads to its windower."""


class OpenWindows(NamedTuple):
    """The windows that are open for some times. For a time that has missed all of its windows, last < first."""

    first: Any
    last: Any
    late: Indices
    """The times for which a window has closed that holds them."""


@final
@dataclass(frozen=True)
class Grid(Windower):
    """Windows of one size at regular places, [n · slide, n · slide + size); n is the number of the window."""

    axis: Axis
    size: TimeValue
    slide: TimeValue

    def start(self, windows: Any) -> Any:
        return windows * self.slide

    def end(self, windows: Any) -> Any:
        next_start = self.start(windows + 1)
        if self.slide == self.size:
            return next_start
        return np.maximum(self.start(windows) + self.size, next_start)  # no gap where floats are rounded

    def holding(self, times: Times) -> WindowRange:
        last = self.last(times)
        return WindowRange(last if self.slide == self.size else self.after(times), last)

    def last(self, times: Times) -> Any:
        if times.dtype == np.int64:
            return times // self.slide
        if times.dtype == object:
            return np.array([find_window(time, self.slide) for time in times], object)
        windows = (times // self.slide).astype(np.int64)
        windows -= self.start(windows) > times
        return windows + (self.start(windows + 1) <= times)

    def after(self, moments: Times) -> Any:
        """The first window that ends behind each moment."""
        if moments.dtype == object:
            return np.array([self._after(moment) for moment in moments], object)
        windows = (moments - self.size) // self.slide + 1
        if moments.dtype == np.int64:
            return windows
        windows = windows.astype(int)
        while (low := self.end(windows) <= moments).any():
            windows = windows + low
        while (high := self.end(windows - 1) > moments).any():
            windows = windows - high
        return windows

    def _after(self, moment: TimeValue) -> int:
        """`after` for one moment, however far from 0 it is: there, windows next to each other may have equal ends as
        they are computed."""
        window = math.floor((Fraction(moment) - Fraction(self.size)) / Fraction(self.slide)) + 1
        if isinstance(moment, int):
            return window
        low, high, step = window - 1, window, 1
        while self._ends_after(low, moment):
            low, high, step = low - step, low, 2 * step
        while not self._ends_after(high, moment):
            low, high, step = high, high + step, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._ends_after(middle, moment) else (middle, high)
        return high

    def _ends_after(self, window: int, moment: TimeValue) -> bool:
        try:
            return bool(self.end(np.array([window], object))[0] > moment)  # compared as Python compares
        except OverflowError:  # no float is as large
            return window > 0

    def _find_open(self, times: Times, marks: Times | None) -> OpenWindows:
        """Finds the windows that are open for each time at its watermark."""
        first, last = self.holding(times)
        if marks is None:
            return OpenWindows(first, last, np.zeros(0, np.int64))
        late = np.flatnonzero(times < marks)  # others are in no window that has ended
        if len(late):
            opened = self.after(marks[late])
            within, first = first[late], first.copy()
            first[late] = np.maximum(within, opened)
            late = late[within < opened]
        return OpenWindows(first, last, late)

    def assign(self, delta: TimedDelta, opened: OpenSessions | None, panes: Panes) -> Assigned:
        first, last, late = self._find_open(delta.exact, delta.marks)  # refuses a time that is too large for its window
        opens = _whole(first) if delta.partitioned and self.slide != self.size else None
        if delta.latest is None:
            none, closed = np.zeros(0, np.int64), delta.before.closed
            nothing = AlignedClosing(self, none, none, none, none, none, none)
            return Assigned(late, none, none, None, first <= last, nothing, opened, closed, opens)
        stops = self.after(self.axis.watermark(delta.latest))
        stop = delta.groups.beside(stops)
        closes, waits = first < stop, last >= stop
        if len(late):
            closes &= first <= last
            waits &= first <= last
        rows = np.flatnonzero(closes)
        counts = None
        if self.slide != self.size:
            until = stop if len(stop) == 1 else stop[rows]
            counts = (np.minimum(last[rows], until - 1) - first[rows] + 1).astype(np.int64)
        closing = self._closing(delta.before, stops)
        closed = delta.before.closed
        return Assigned(late, rows, _whole(first[rows]), counts, waits, closing, opened, closed, opens)

    def _closing(self, before: ClockReading, stops: Any) -> AlignedClosing:
        """Returns the windows that were open before a delta and that close: before `stops`, or all if that is None."""
        known, begin = np.flatnonzero(before.known), None
        since, until, gone = -EVERY_TIME, None, EVERY_TIME
        if before.seen and not len(known):  # no window has closed yet, because a partition has sent nothing
            known = np.zeros(1, np.int64)
        else:
            begin = self._begin(before.latest[known])
            if stops is not None:
                moved = np.flatnonzero(begin < stops[known])
                known, begin = known[moved], begin[moved]
            since = self.axis.bounds(self.start(begin))
        if stops is not None:
            stops = stops[known]
            until, gone = self.axis.bounds(self.end(stops - 1)), self.axis.bounds(self.start(stops))
        return AlignedClosing(self, known, since, until, gone, begin, stops)

    def _begin(self, latest: Times) -> Any:
        """The first window that is open, for each of these largest times."""
        return self.after(self.axis.watermark(latest)) if len(latest) else np.zeros(0, np.int64)

    def remaining(
        self, keys: Run, before: ClockReading, opened: OpenSessions | None, panes: Panes
    ) -> tuple[Closing, OpenSessions | None]:
        return self._closing(before, None), opened

    def reach(self, time: TimeValue, mark: TimeValue) -> Bounds:
        first, last = self.holding(np.array([time], object))
        first = first if mark is None else np.maximum(first, self.after(np.array([mark], object)))
        return Bounds(self.start(first)[0], self.end(last)[0])

    def gone(self, reading: ClockReading) -> Times:
        return self.axis.bounds(self.start(self._begin(reading.latest)))


@final
@dataclass(frozen=True)
class AlignedClosing(Closing):
    """The windows of each group from `begin` on and before `stops`."""

    grid: Grid
    groups: Indices
    since: Times
    until: Times | None
    gone: Times
    begin: Any
    stops: Any

    def holding(self, groups: Indices, times: Times) -> tuple[Indices, Indices | None]:
        first, last = self.grid.holding(self.grid.axis.exact(times))
        if self.grid.slide == self.grid.size:
            return _whole(first), None
        first = first if self.begin is None else np.maximum(first, self.begin[groups])
        last = last if self.stops is None else np.minimum(last, self.stops[groups] - 1)
        return _whole(first), _whole(last - first + 1)

    def bounds(self, numbers: Indices) -> Bounds:
        grid = self.grid
        if len(numbers) and np.abs(numbers).max().item() * grid.slide + grid.size > LARGE:
            numbers = numbers.astype(object)
        return Bounds(grid.start(numbers), grid.end(numbers))


def too_far() -> ElementError:
    """The error for a window whose number, or a bound, is no 64-bit integer."""
    return ElementError("the bounds of a window do not fit the 64 bits of their columns")


def _whole(numbers: Any) -> Indices:
    """Numbers of windows as 64-bit integers."""
    try:
        integers: Indices = numbers.astype(np.int64, copy=False)
    except OverflowError:
        raise too_far() from None
    return integers


@register_in(WINDOWERS, Tumbling, Sliding)
def make_grid(like: Any, inputs: Any) -> Windower:
    return Grid(EventTime(like, inputs), span_of(like.size), span_of(like.slide))


@register_in(WINDOWERS, Batch)
def make_batches(like: Any, inputs: Any) -> Windower:
    """The windower of batches. A batch is a window of so many rows, on the axis of row numbers."""
    return Grid(RowNumbers(like.count), like.count, like.count)
