"""Windows of event time in the body of `per_key`: every key has a watermark of its own, as if it were alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, expanded, taken
from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import beside
from flo.tables.groups import Groups
from flo.tables.operators.per_key import every_key
from flo.tables.operators.per_key_cuts import PANE, CutOfEveryKey, Cuts, together
from flo.tables.operators.results import NO_ROWS
from flo.tables.operators.weights import chosen
from flo.tables.operators.window_times import LARGE, NoTime, Times, exact
from flo.tables.operators.windowing import W, counted
from flo.tables.operators.windows import Grid, WindowTables
from flo.tables.state.run import Run, pairs, run_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Latest
from flo.tables.streams import KeyedStreams
from flo.values.event_time import EPOCH, UTC_EPOCH
from flo.values.operators.windows import AlignedWindows, Sliding, Tumbling

TIME = "%"
"""The column of a row's time. No field of a Python class can have this name, nor the next ones."""
LATEST, ZONED = "latest/", "zoned/"


@dataclass(frozen=True)
class Clocks:
    """What some keys know of time: which have a row, the largest time of each, and whether its times have a zone."""

    known: Any
    latest: Times
    zoned: Any


@dataclass(frozen=True)
class WindowsOfEveryKey(CutOfEveryKey[W]):
    """`clocks` has the largest time of each key."""

    clocks: Latest = field(default=NO_ROWS)

    def clocks_of(self, keys: Run) -> tuple[Clocks, Places, pa.Table | None]:
        """What these keys know; and which of them have a row in `clocks`, and the rows."""
        places, rows = replace(self.clocks, columns=self.keys).known(keys)
        known, zoned = np.zeros(keys.rows, bool), np.zeros(keys.rows, bool)
        latest = np.zeros(keys.rows, np.float64 if self.form.kind is float else np.int64)
        if rows is not None:
            known[places], latest[places] = True, rows[LATEST].to_numpy()
            zoned[places] = rows[ZONED].to_numpy()
        return Clocks(known, latest, zoned), places, rows

    def grown(self, keys: Run, latest: Times, zoned: Any, **more: pa.Array) -> Latest:
        columns = {LATEST: pa.array(latest), ZONED: pa.array(zoned), **more}
        table = beside(keys.table, pa.table(columns))
        return replace(self.clocks, columns=self.keys).extended(Run(self.keys, keys.keys, table))

    def times(self, rows: Groups, clocks: Clocks) -> tuple[bool, Times]:
        """(whether the times have a zone, the times of the rows)."""
        form = self.form
        if rows.rows.num_rows == 1 and clocks.known[0]:  # what is wrong with it may depend on those before
            origin = UTC_EPOCH if clocks.zoned[0] else EPOCH if form.kind is timedelta else 0
            form = replace(form, origin=origin, latest=clocks.latest[0].item())
        origin, moments = form.times(rows.rows)
        if (clocks.known & (clocks.zoned != (origin == UTC_EPOCH))).any():
            raise NoTime("a time cannot be compared with earlier ones")  # the row at fault is searched for
        return origin == UTC_EPOCH, moments

    def every_key(self) -> Run:
        table = replace(self.clocks, columns=self.keys).table()
        keys = self.nothing().owners if table is None else table.select(list(self.keys))
        return run_of(keys, self.keys)

    def windows(self, cuts: Cuts, which: Places, rows: pa.Table, starts: Times, ends: Times) -> KeyedStreams:
        """Whole windows, and their bounds if these are asked for."""
        there, closed = self.whole(cuts, which, rows)
        if not closed.streams.count or not self.like.bounds:
            return closed
        table = closed.streams.tables[0]
        numbers = numbers_in(table, table.column_names[0])
        streams = self.form.closed(table.drop_columns(table.column_names[:1]), numbers, starts[there], ends[there])
        return replace(closed, streams=streams)


def reached(times: Times, ids: Places) -> Times:
    """The largest time up to each row, among the rows of its key; rows stand by key."""
    different, ranks = np.unique(times, return_inverse=True)
    steps = ids * len(different)
    found: Times = different[np.maximum.accumulate(steps + ranks) - steps]
    return found


def marks_of(times: Times, ids: Places, clocks: Clocks) -> Times:
    """The largest time at each row, with those that came before."""
    found = reached(times, ids)
    old = clocks.known[ids]
    return np.where(old, np.maximum(found, clocks.latest[ids]), found)


@final
@dataclass(frozen=True)
class AlignedOfEveryKey(WindowsOfEveryKey[AlignedWindows]):
    """tumbling(…) and sliding(…). The pane of a row is the last window that holds it."""

    form: WindowTables

    name = "aligned_of_every_key"

    @property
    def grid(self) -> Grid:
        return self.form.grid

    def exactly(self, times: Times) -> Times:
        return exact(times, (self.grid.size, self.grid.slide, self.form.lateness)) if len(times) else times

    def added(self, rows: Groups) -> tuple[Self, KeyedStreams, pa.Table | None]:
        keys, grid = rows.keys, self.grid
        clocks, _, _ = self.clocks_of(keys)
        zoned, moments = self.times(rows, clocks)
        ids = np.repeat(np.arange(keys.rows), rows.counts)
        largest = marks_of(moments, ids, clocks)
        latest = largest[np.cumsum(rows.counts) - 1]
        first, last, late = grid.opened(self.exactly(moments), self._marks(largest))
        stops = grid.after(self._marks(latest)).astype(np.int64)
        first, last = first.astype(np.int64), last.astype(np.int64)
        table = self.in_panes(rows.rows, last, **{TIME: moments})
        number = np.maximum(np.minimum(last, stops[ids] - 1) - first + 1, 0)
        places, windows = np.repeat(np.arange(len(ids)), number), expanded(first, number)
        known = np.flatnonzero(clocks.known)
        opened, last_opened = self._open(clocks.latest[known])
        old_owners, old = self._holding_rows(keys, known, opened, np.minimum(last_opened, stops[known] - 1))
        owners = np.concatenate([ids[places], old_owners])
        owners, closing, which = _different(owners, np.concatenate([windows, old]))
        closed, gone = self._closed(keys, owners, closing, which[: len(places)], taken(table, places))
        waiting = (last >= stops[ids]) & (first <= last)
        after = replace(
            self,
            waiting=self.kept(table.filter(pa.array(waiting)), gone),
            count=self.count + len(ids),
            clocks=self.grown(keys, latest, np.full(keys.rows, zoned)),
        )
        return after, closed, taken(rows.rows, late) if len(late) else None

    def _marks(self, latest: Times) -> Times:
        marks: Times = self.exactly(latest) - self.form.lateness
        return marks

    def _open(self, latest: Times) -> tuple[Places, Places]:
        """The windows that may hold rows of keys that have come so far: the first of each and the last."""
        if not len(latest):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        _, last = self.grid.holding(self.exactly(latest))
        return self.grid.after(self._marks(latest)).astype(np.int64), last.astype(np.int64)

    def _holding_rows(self, keys: Run, owners: Places, first: Places, last: Places) -> tuple[Places, Places]:
        """Of the windows from the first to the last of each owner, at least those that rows wait in."""
        number = np.maximum(last - first + 1, 0) if self.waiting.runs else np.zeros(len(owners), np.int64)
        if number.astype(np.float64).sum() <= self.waiting.rows:
            return np.repeat(owners, number), expanded(first, number)
        rows = run_of(pa.concat_tables([run.table.select([*self.keys, PANE]) for run in self.waiting]), self.keys)
        places, theirs = pairs(chosen(keys, owners), rows)
        panes = numbers_in(rows.table, PANE)[theirs]
        begin = np.maximum(panes - self._more, first[places])
        number = np.maximum(np.minimum(panes, last[places]) - begin + 1, 0)
        return np.repeat(owners[places], number), expanded(begin, number)

    def _closed(
        self, keys: Run, owners: Places, windows: Places, which: Places, rows: pa.Table | None
    ) -> tuple[KeyedStreams, pa.Table | None]:
        """These windows of these keys, with rows that have just come; and rows that waited for nothing else."""
        grid = self.grid
        large = len(windows) and np.abs(windows).max().item() * grid.slide + grid.size > LARGE
        numbers = windows.astype(object) if large else windows
        starts, ends = grid.start(numbers), grid.end(numbers)
        cuts = Cuts(taken(keys.table, owners), windows, windows + self._more)
        old, waiting = self.found(cuts)
        if waiting is not None:
            inside = self.exactly(waiting[TIME].to_numpy()) < ends[old]
            places = np.flatnonzero(inside)
            old, waiting = old[places], taken(waiting, places)
        gone = waiting and waiting.filter(pa.array(numbers_in(waiting, PANE) == windows[old]))
        if rows is not None:
            which, rows = np.concatenate([old, which]), together(waiting, rows)
        else:
            which, rows = old, waiting
        if rows is None or not len(which):
            return self.nothing(), gone
        return self.windows(cuts, which, rows, starts, ends), gone

    @property
    def _more(self) -> int:
        """How many panes a window has behind its first; of floats perhaps one less."""
        grid = self.grid
        if grid.slide == grid.size:
            return 0
        panes = -(-grid.size // grid.slide)
        return panes - 1 if isinstance(panes, int) else int(panes)

    def ending(self, keys: Run) -> tuple[Self, KeyedStreams]:
        clocks, _, _ = self.clocks_of(keys)
        known = np.flatnonzero(clocks.known)
        owners, windows = self._holding_rows(keys, known, *self._open(clocks.latest[known]))
        closed, gone = self._closed(keys, *_different(owners, windows)[:2], np.zeros(0, np.int64), None)
        return replace(self, waiting=self.kept(None, gone)), closed if self.like.flush else self.nothing()


def _different(owners: Places, windows: Places) -> tuple[Places, Places, Places]:
    """(the owner and the number of each different window, in order; for each of those given which one it is)."""
    order = np.lexsort((windows, owners))
    pair = np.stack([owners[order], windows[order]])
    new = np.concatenate([[True], (pair[:, 1:] != pair[:, :-1]).any(axis=0)])[: len(order)]
    which = np.empty(len(order), np.int64)
    which[order] = np.cumsum(new) - 1
    return pair[0][new], pair[1][new], which


@every_key(Tumbling, Sliding)
def windows(like: Any, inputs: StreamTypes) -> Operator | None:
    return AlignedOfEveryKey(like, WindowTables(like)) if counted(like) else None
