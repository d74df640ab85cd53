"""Windows on tables: tumbling, sliding, session and batch.

Tumbling windows of 10 with a lateness of 2, by the key columns of the operator (none: all rows are one group; `per_key`
adds the user's key). The rows of a arrived in this order:

    key  time   watermark
    a    21     19          waits for window [20, 30)
    a    34     32          waits for [30, 40), and closes [20, 30): the inner stream with the row at 21 is emitted
    a    33     32          waits for [30, 40)
    a    28     32          late: its window has closed. It goes to the side output
    b    12     10          waits: b has a clock of its own

Invariant: a window closes when the watermark of its key is at its end or beyond. A row waits as long as it is in a
window that is open, and once, whatever the number of windows that it is in. A row that comes when a window of it has
closed is late.

The operator has three parts.

- The clock says how far time has come (clocks.py).
- The windower says which windows a row belongs to, which close, and which rows are late (windowers.py).
- The panes hold the rows of open windows, by key and time (state/panes.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Mask, expand_ranges, grouped, sort_indices, take_rows
from flo.columns.windowing import YEARS
from flo.core.collection import Collection
from flo.core.errors import ElementError
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.core.untyped import TimeValue
from flo.tables.groups import Groups
from flo.tables.operator import Grouping, Placement
from flo.tables.operators.clocks import (
    ClockState,
    ReadsPartitions,
    Times,
    as_bag,
    has_numbers,
    ids_of,
    moment_of,
    new_clock,
)
from flo.tables.operators.sessions import OpenSessions
from flo.tables.operators.weights import select_rows
from flo.tables.operators.windowers import WINDOWERS, Assigned, Closing, TimedDelta, Windower, too_far
from flo.tables.state.expiring import Interval
from flo.tables.state.keys import Keys
from flo.tables.state.panes import ARRIVAL, TIME, Cutoffs, Panes, Taken
from flo.tables.state.run import Run
from flo.tables.state.trace import with_weights
from flo.tables.streams import Streams, add_stream_numbers, expect_nested, inner_of
from flo.tables.translate import form_of
from flo.tables.values import layout_of
from flo.values.event_time import no_bound
from flo.values.operators.sequences import Batch
from flo.values.operators.windows import TimeWindows
from flo.values.partitioned import Partitioned

OPENS = "opens/"
"""The column with the first window of a waiting row that it is not late for. No field of a Python class can have this
name."""


class EmitsWindows(ReadsPartitions[TimeWindows | Batch]):
    """The base of windows: rows become the inner streams of the windows that close."""

    @property
    def windower(self) -> Windower:
        return WINDOWERS[type(self.like)](self.like, self.row_inputs)

    @property
    def partitions(self) -> int | None:
        return None if isinstance(self.like, Batch) else self.like.partitions

    def expect_bounds(self, times: Times, mark: TimeValue = None, *, zoned: bool) -> None:
        """Raises if rows with these times wait for windows whose bounds are emitted, and are no datetimes."""
        windower = self.windower
        if getattr(self.like, "bounds", False) and windower.axis.kind is timedelta and len(times):
            for time in (times.min().item(), times.max().item()):
                start, end = windower.reach(time, mark)
                if start < YEARS[0] or end > YEARS[1]:
                    raise no_bound(moment_of(time, windower.axis, zoned))

    def _deltas(self, closed: Streams | None, late: pa.Table | None) -> Deltas:
        """The outputs: closed windows, and late rows if there is a side output."""
        return (closed, self.emitted(late, 1)) if len(self.outputs) > 1 else (closed,)

    @property
    def _names(self) -> list[str]:
        return list(layout_of(inner_of(expect_nested(self.outputs[0]))[0]).names)

    def _close(self, groups: Groups, assigned: Assigned, owners: Indices, old: pa.Table | None) -> Streams | None:
        """Returns the windows that close as inner streams: each with the rows that waited for it, in the order in which
        they came, and then those of the delta. `old` are rows that waited, `owners` says whose they are: an index in
        `closing.groups`."""
        closing, first, counts, indices = assigned.closing, assigned.first, assigned.counts, assigned.rows
        ids = ids_of(groups)[indices] if self.keys else indices[:0]
        tables = [groups.rows.select(self._names)] if len(indices) else []
        if old is not None:
            order = sort_indices(old[ARRIVAL].to_numpy())
            whose = owners[order] if self.keys else np.zeros(1, np.int64)  # one group, which numpy broadcasts
            old_first, old_counts = closing.holding(whose, old[TIME].to_numpy()[order])
            if OPENS in old.column_names and old_counts is not None:
                opens = np.maximum(old_first, old[OPENS].to_numpy()[order])
                old_first, old_counts = opens, np.maximum(old_counts - (opens - old_first), 0)
            first = np.concatenate([old_first, first])
            if old_counts is not None:
                counts = old_counts if counts is None else np.concatenate([old_counts, counts])
            indices = np.concatenate([order, indices + old.num_rows])
            ids = np.concatenate([closing.groups[whose], ids]) if self.keys else ids
            tables = [old.select(self._names), *tables]
        if not len(indices):
            return None
        if counts is not None:
            first, indices = expand_ranges(first, counts), np.repeat(indices, counts)
            ids = np.repeat(ids, counts) if self.keys else ids
        if not len(indices):  # rows that are late for all that closes
            return None
        if self.keys:
            order, ids, windows, counts = _sort_by_window(ids, first)
        else:
            order, windows, counts = grouped(first)
        rows = _take(pa.concat_tables(tables), indices[order])
        streams = np.repeat(np.arange(len(windows)), counts)
        whole = self._streams(rows, streams, closing, windows)
        return replace(whole, owners=take_rows(groups.keys.table, ids)) if self.keys else whole

    def _streams(self, rows: pa.Table, streams: Indices, closing: Closing, windows: Indices) -> Streams:
        """Makes inner streams, which are whole, of rows by window. `streams` says for each row which window it is of,
        `windows` has the number of each window."""
        if getattr(self.like, "unordered", False):
            rows = with_weights(rows, np.ones(rows.num_rows, np.int64))
        tables = [add_stream_numbers(rows, streams)]
        of: Any = self.outputs[0]
        if getattr(self.like, "bounds", False):
            fields = layout_of(inner_of(of)[1]).schema
            bounds = zip(closing.bounds(windows), fields, strict=True)
            columns = [_column(each, field.type) for each, field in bounds]
            tables.append(add_stream_numbers(pa.Table.from_arrays(columns, schema=fields), np.arange(len(windows))))
        return Streams(of, len(windows), tuple(tables))


W = TypeVar("W", bound=EmitsWindows)


class Added(NamedTuple, Generic[W]):
    """The result of adding rows."""

    operator: W
    closed: Streams | None
    """The windows that have closed, as inner streams."""
    late: pa.Table | None
    """The late rows."""


@form_of(*WINDOWERS)
@dataclass(frozen=True)
class WindowTables(EmitsWindows):
    """The windows of all groups. A row waits once, whatever the number of windows that it is in."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY

    clock: ClockState | None = None
    """None before the first row."""
    count: int = 0
    """How many rows have come."""
    opened: Panes = Panes()  # noqa: RUF009
    """The rows of open windows."""
    sessions: OpenSessions | None = None
    """Where windows are sessions: those that are open."""

    name = "window_tables"

    @classmethod
    def fits(cls, like: TimeWindows | Batch, inputs: StreamTypes) -> bool:
        if isinstance(like, TimeWindows) and (like.by_clock or not has_numbers(like)):
            return False
        return can_wait(inputs[0].collection)

    def new_clock(self) -> ClockState:
        return new_clock(self.keys, self.partitions)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, closed, late = self.add(Groups.of(table, self.keys))
        return after, self._deltas(closed, late)

    def add(self, groups: Groups, own: Mask | None = None) -> Added[Self]:
        """Adds rows: they move the clock, which closes windows, and those that are not late wait or leave at once.

        If only some rows are its `own`, the others only move the clock.
        """
        windower = self.windower
        axis, clock = windower.axis, self.clock or self.new_clock()
        before = clock.read(groups.keys, axis.kind)
        zoned, times = axis.times(groups, before)
        reached, latest, clock = clock.reach(groups, times, before)
        marks, apart = axis.marks(groups, reached), self.partitions is not None
        delta = TimedDelta(groups, times, axis.exact(times), marks, before, latest, apart)
        assigned = windower.assign(delta, self.sessions, self.opened)
        if own is not None:
            assigned = assigned.only(own)
        clock = clock.moved(
            groups.keys, before.moved(before.latest if latest is None else latest, zoned, assigned.closed)
        )
        panes, count = self.opened.count_left(self._gone), self.count + len(times)
        after = replace(self, clock=clock, count=count, opened=panes, sessions=assigned.opened)
        owners, old, panes = after._closing_rows(groups.keys, assigned.closing)
        closed = self._close(delta.groups, assigned, owners, old)
        waits = np.flatnonzero(assigned.waits)
        if len(waits):
            mark = None if latest is None else axis.watermark(latest).min()
            self.expect_bounds(times[waits], mark, zoned=zoned)
            keys = Keys(np.zeros(len(waits), np.uint64), exact=True)
            if self.keys:
                keys = Keys(groups.keys.keys.numbers[delta.ids[waits]], groups.keys.keys.exact)
            kept = self._kept(groups.rows, times)
            kept = kept if assigned.opens is None else kept.append_column(OPENS, pa.array(assigned.opens))
            panes = panes.add(kept, waits, times[waits], self.count, self.keys, keys, after._gone)
        late = take_rows(groups.rows, assigned.late) if len(assigned.late) else None
        if late is not None and apart:
            late = as_bag(late)
        return Added(replace(after, opened=panes), closed, late)

    def close(self, groups: Run) -> tuple[Operator, Deltas]:
        like = self.like
        windower, clock = self.windower, self.clock or self.new_clock()
        before = clock.read(groups, windower.axis.kind)
        closing, sessions = windower.remaining(groups, before, self.sessions, self.opened)
        panes = self.opened.count_left(self._gone)
        after = replace(self, clock=clock.ended(groups), opened=panes, sessions=sessions)
        owners, old, panes = after._closing_rows(groups, closing)
        none = np.zeros(0, np.int64)
        nothing = Assigned(none, none, none, None, none, closing, sessions, before.closed)
        closed = self._close(Groups(pa.table({}), groups, none), nothing, owners, old) if like.flush else None
        return replace(after, opened=panes), self._deltas(closed, None)

    def _gone(self, keys: Run) -> Cutoffs:
        """Returns for each of these keys the time before which its rows have left, and whether it has ended."""
        windower = self.windower
        reading = (self.clock or self.new_clock()).read(keys, windower.axis.kind)
        return Cutoffs(windower.gone(reading), reading.over)

    def _kept(self, rows: pa.Table, times: Times) -> pa.Table:
        """Returns rows with the columns that waiting rows need."""
        return rows.select([*self.keys, *self._names])

    def _closing_rows(self, keys: Run, closing: Closing) -> Taken:
        """(the place of each row's group in `closing.groups`, the rows that waited for what closes, those left)."""
        if not len(closing.groups):
            return Taken(np.zeros(0, np.int64), None, self.opened)
        some = keys if len(closing.groups) == keys.rows else select_rows(keys, closing.groups)
        return self.opened.take(some, Interval(closing.since, closing.until), closing.gone)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WindowTables) or type(other) is not type(self):
            return NotImplemented
        mine, theirs = ((each.like, each.clock, each.count, each.sessions) for each in (self, other))
        return mine == theirs and self.opened.is_same(other.opened, self._gone)

    def __hash__(self) -> int:
        return hash((self.like, self.count))


def can_wait(rows: Collection) -> bool:
    """Whether no column of these rows has the name of one that stands beside them while they wait."""
    of = rows.inner if isinstance(rows, Partitioned) else rows
    return {ARRIVAL, TIME, OPENS}.isdisjoint(layout_of(of).names)


class ByWindow(NamedTuple):
    """Rows by group and window."""

    order: Indices
    """The rows; those of one window as they stand."""
    groups: Indices
    """The group of each window that has rows."""
    windows: Indices
    """The number of each of these windows."""
    counts: Indices
    """How many rows each has."""


def _sort_by_window(ids: Indices, windows: Indices) -> ByWindow:
    """Sorts rows by group and window, given both for each row."""
    low, different = int(windows.min()), None
    span = int(windows.max()) - low + 1
    if span * (int(ids.max()) + 1) >= 1 << 62:
        different, windows = np.unique(windows, return_inverse=True)
        low, span = 0, len(different)
    order, pairs, counts = grouped(ids * span + (windows - low))
    groups, numbers = np.divmod(pairs, span)
    return ByWindow(order, groups, numbers + low if different is None else different[numbers], counts)


def _take(table: pa.Table, indices: Indices) -> pa.Table:
    """Takes rows; adjacent ones without a copy."""
    count = len(indices)
    if indices[-1] - indices[0] == count - 1 and bool(np.all(np.diff(indices) == 1)):
        return table.slice(int(indices[0]), count)
    return take_rows(table, indices)


def _column(moments: Times, kind: pa.DataType) -> pa.Array:
    """Moments as a column: of datetimes they are microseconds from the epoch."""
    if pa.types.is_timestamp(kind) and len(moments) and not YEARS[0] <= moments.min() <= moments.max() <= YEARS[1]:
        raise ElementError("the bounds of a window are not in the years 1 to 9999")
    try:
        return pa.array(np.asarray(moments, np.float64 if pa.types.is_floating(kind) else np.int64)).cast(kind)
    except OverflowError:
        raise too_far() from None
