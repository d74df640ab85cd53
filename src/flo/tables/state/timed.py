"""Rows by key and time, of which those before some time are gone: rows of a key within an interval are found without a
scan.

A row that is gone leaves when its run merges, or when all rows of its run are gone. Rows come about in the order of
time, so runs that are gone are soon gone as a whole, and no run is written again only because some of its rows are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, bisect_ranges, ranges, take_rows
from flo.tables.state.expiring import is_before
from flo.tables.state.keys import Keys, find_equal, keys_of
from flo.tables.state.merging import cut_sorted
from flo.tables.state.run import Run
from flo.tables.state.trace import Trace, consolidate_table

TIME = "==at"
"""The column with the time as a number."""


@dataclass(frozen=True, eq=False)
class Timed(Trace):
    """A bag, sorted by key, and by time under one key. Rows whose time, and `span` more, is before `mark` are gone."""

    mark: Any = field(default=None, kw_only=True)
    span: Any = field(default=0, kw_only=True)
    """The operator that holds the trace knows both. They are not stored."""

    term = "timed"

    def is_gone(self, times: Any) -> Any:
        """Which of these times are gone."""
        if self.mark is None:
            return np.zeros(len(times), bool)
        return times + self.span < self.mark if times.dtype == np.float64 else is_before(times, self.mark - self.span)

    def drop_gone_runs(self) -> Self:
        """The trace without runs that are gone as a whole."""
        kept = tuple(run for run in self.runs if not self.is_gone(_last(run))[0])
        return self if len(kept) == len(self.runs) else replace(self, runs=kept)

    @property
    def how(self) -> tuple[object, ...]:
        return (*super().how, self.mark, self.span)

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        first = runs[0]
        times = np.concatenate([times_in(run) for run in runs])
        kept = np.flatnonzero(~self.is_gone(times))
        if len(runs) == 1 and len(kept) == first.rows:
            return first
        numbers = np.concatenate([run.keys.numbers for run in runs])[kept]
        order = np.lexsort((times[kept], numbers))
        table = take_rows(pa.concat_tables([run.table for run in runs]).combine_chunks(), kept[order])
        return Run(first.columns, Keys(numbers[order], all(run.keys.exact for run in runs)), table)

    def cut(self, runs: list[Run], fuel: int) -> list[int] | None:
        return cut_sorted([times_in(run) for run in runs], fuel)

    def table(self) -> pa.Table | None:
        return consolidate_table(self.join(list(self.runs)).table) if self.runs else None


def times_in(run: Run) -> Any:
    return run.table[TIME].to_numpy()


def _last(run: Run) -> Any:
    """The largest time of a run."""
    last = run.__dict__.get("last")
    if last is None:
        last = run.__dict__["last"] = times_in(run).max(keepdims=True)
    return last


def timed_run(rows: pa.Table, columns: tuple[str, ...], times: Any) -> Run:
    """Rows with these key columns, by key and time."""
    keys = keys_of([rows[name] for name in columns])
    order = np.lexsort((times, keys.numbers))
    table = take_rows(rows, order).append_column(pa.field(TIME, pa.array(times[:0]).type), pa.array(times[order]))
    return Run(columns, Keys(keys.numbers[order], keys.exact), table)


def match_times(rows: Run, run: Run, since: Any, until: Any) -> tuple[Indices, Indices]:
    """The pairs of row indices of two runs with equal keys, where the time in the second is from `since` to `until`,
    which are given for each row of the first."""
    present, starts, counts = run.find(rows.keys.numbers)
    times, ends = times_in(run), starts + counts
    lows = bisect_ranges(starts, ends, lambda places, which: times[places] < since[present[which]])
    highs = bisect_ranges(lows, ends, lambda places, which: times[places] <= until[present[which]])
    which, theirs = ranges(lows, highs - lows)
    ours = present[which]
    if len(ours) and not (rows.keys.exact and run.keys.exact):
        one = [take_rows(rows.table.select([name]), ours)[name] for name in rows.columns]
        other = [take_rows(run.table.select([name]), theirs)[name] for name in run.columns]
        equal = find_equal(one, other)
        ours, theirs = ours[equal], theirs[equal]
    return ours, theirs


def shifted(times: Any, span: Any, *, down: bool = False, up: bool = False) -> Any:
    """The times, and a span more; Python's own numbers where these would overflow. Floats are rounded `down` or `up` by
    more than sums of such numbers are rounded."""
    if times.dtype == np.float64:
        slack = 4 * np.spacing(np.maximum(np.abs(times), abs(span)))
        return times + span + (slack if up else -slack if down else 0)
    if not len(times) or max(abs(int(times.min())), abs(int(times.max())), abs(span)) < 1 << 62:
        return times + span
    return np.array([int(time) + span for time in times], object)
