"""Tumbling and sliding windows on tables: the windows of all rows of a delta at once, and which rows are late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, expanded, taken
from flo.core.operator import Delta, Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.operators.window_times import LARGE, Times, exact, key_of, number
from flo.tables.operators.windowing import TimeWindowTables, counted
from flo.tables.state.packing import grouped
from flo.tables.translate import form_of
from flo.values.event_time import place
from flo.values.operators.windows import AlignedWindows, Sliding, Tumbling


@final
@dataclass(frozen=True)
class Grid:
    """Windows of one size at regular places, and the numbers of those that a time is in."""

    size: Any
    slide: Any

    def start(self, windows: Any) -> Any:
        return windows * self.slide

    def end(self, windows: Any) -> Any:
        next_start = self.start(windows + 1)
        if self.slide == self.size:
            return next_start
        return np.maximum(self.start(windows) + self.size, next_start)  # no gap where floats are rounded

    def holding(self, times: Times) -> tuple[Any, Any]:
        """The first and the last window that hold each time."""
        last = self._last(times)
        return (last if self.slide == self.size else self.after(times)), last

    def _last(self, times: Times) -> Any:
        if times.dtype == np.int64:
            return times // self.slide
        if times.dtype == object:
            return np.array([place(time, self.slide) for time in times], object)
        windows = (times // self.slide).astype(np.int64)
        windows -= self.start(windows) > times
        return windows + (self.start(windows + 1) <= times)

    def after(self, moments: Times) -> Any:
        """The first window that ends behind each moment."""
        windows = (moments - self.size) // self.slide + 1
        if moments.dtype == np.int64:
            return windows
        windows = np.array([int(each) for each in windows], object) if windows.dtype == object else windows.astype(int)
        while (low := self.end(windows) <= moments).any():
            windows = windows + low
        while (high := self.end(windows - 1) > moments).any():
            windows = windows - high
        return windows

    def opened(self, times: Times, marks: Times) -> tuple[Any, Any, Places]:
        """(the first window that holds each time and is open at its watermark, the last one, which times are late)."""
        first, last = self.holding(times)
        late = np.flatnonzero(times < marks)  # others are in no window that has ended
        if len(late):
            opened = self.after(marks[late])
            within, first = first[late], first.copy()
            first[late] = np.maximum(within, opened)
            late = late[within < opened]
        return first, last, late


@dataclass(frozen=True)
class WindowTables(TimeWindowTables[AlignedWindows]):
    """tumbling(…) and sliding(…): a row waits until no open window holds it."""

    name = "window_tables"

    @property
    def grid(self) -> Grid:
        like: Any = self.like
        return Grid(number(like.size), number(like.slide))

    def _exact(self, times: Times) -> Times:
        grid = self.grid
        return exact(times, (grid.size, grid.slide, self.lateness))

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, windows, late = self.placed(table)
        return after, (windows, self.emitted(taken(table, late), 1) if len(late) else None)

    def placed(self, table: pa.Table) -> tuple[Operator, Delta, Places]:
        """(the operator after these rows, the windows that have closed, which rows are late)."""
        origin, moments = self.times(table)
        times, grid = self._exact(moments), self.grid
        marks = self.marks(times)
        first, last, late = grid.opened(times, marks)  # refuses a time that is too large for its window
        stop = grid.after(marks[-1:])[0]
        own = self.own(last)
        closing = np.flatnonzero(own & ((first < stop) & (first <= last) if len(late) else first < stop))
        windows = self._closed(stop, table, closing, first[closing], None if last is first else last[closing])
        waiting = self.waiting(table, moments, np.flatnonzero(own & (last >= stop)))
        waiting = waiting.without(key_of(grid.start(stop), self.kind))
        return self.after(table, origin, moments, waiting), windows, late[own[late]]

    def own(self, windows: Any) -> Any:
        """Which of these windows are to be closed here."""
        return np.ones(len(windows), bool)

    def _closed(self, stop: Any, table: pa.Table | None, places: Places, first: Any, last: Any) -> Delta:
        """The windows before `stop` that were open, with these rows of a delta, each in the windows from `first` to
        `last`, or in the first alone; all windows if there is no `stop`."""
        grid = self.grid
        begin = None if self.latest is None else grid.after(self._exact(np.array([self.latest])) - self.lateness)[0]
        if begin is not None and (stop is None or begin < stop):
            old, order, times = self.oldest(None if stop is None else grid.end(stop - 1))
            if old is not None:
                old_first, old_last = grid.holding(self._exact(times))
                first = np.concatenate([np.maximum(old_first, begin), first])
                last = None if last is None else np.concatenate([old_last, last])
                places = np.concatenate([order, places + old.num_rows])
                table = old if table is None else pa.concat_tables([old, table])
        if not len(places):
            return None
        first = first.astype(np.int64, copy=False)
        if last is not None:
            counts = (last if stop is None else np.minimum(last, stop - 1)).astype(np.int64) - first + 1
            first, places = expanded(first, counts), np.repeat(places, counts)
        order, numbers, counts = grouped(first)
        if np.abs(numbers).max().item() * grid.slide + grid.size > LARGE:
            numbers = numbers.astype(object)
        streams = np.repeat(np.arange(len(numbers)), counts)
        return self.closed(taken(table, places[order]), streams, grid.start(numbers), grid.end(numbers))

    def remaining(self) -> Delta:
        nothing = np.zeros(0, np.int64)
        return self._closed(None, None, nothing, nothing, nothing if self.grid.slide < self.grid.size else None)


@form_of(Tumbling, Sliding)
def windows(like: Any, inputs: StreamTypes) -> Operator | None:
    return WindowTables(like) if counted(like) else None
