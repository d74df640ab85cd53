"""Rows by key and time, of which old ones are gone: the rows of a key in an interval are found without a scan.

A run is sorted by (key, time). Here `mark` is 30 and `span` is 10, so rows before 20 are gone:

    key  time
    ann  12     gone: no row that still comes can meet it
    ann  21   ┐ `match_times` returns these for a row of ann and the times from 20 to 30
    ann  28   ┘
    ann  40
    bob  35

Invariant: a row whose time, and `span` more, is before `mark` is not part of the content, whether a run has it or not.

A row that is gone leaves when its run merges, or when all rows of its run are gone. Rows come about in the order of
time, so a run is soon gone as a whole, and no run is written again only because some of its rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, bisect_ranges, ranges, take_rows
from flo.core.untyped import TimeValue
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.expiring import Times, is_before
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.matching import Pairs, drop_collisions
from flo.tables.state.merging import cut_sorted
from flo.tables.state.run import Run
from flo.tables.state.trace import Trace

TIME = "==at"
"""The column with the time as a number."""


@dataclass(frozen=True, eq=False)
class Timed(Trace):
    """A bag, sorted by key, and under one key by time, of which old rows are gone."""

    mark: TimeValue = field(default=None, kw_only=True)
    span: TimeValue = field(default=0, kw_only=True)
    """Rows whose time plus `span` is before `mark` are gone. The operator that holds the trace knows both; they are not
    stored."""

    term = "timed"

    def is_gone(self, times: Times) -> Any:
        """Return which rows with these times are gone."""
        if self.mark is None:
            return np.zeros(len(times), bool)
        return times + self.span < self.mark if times.dtype == np.float64 else is_before(times, self.mark - self.span)

    def drop_gone_runs(self) -> Self:
        """Return the trace without runs of which all rows are gone."""
        kept = tuple(run for run in self.runs if not self.is_gone(_last(run))[0])
        return self if len(kept) == len(self.runs) else replace(self, runs=kept)

    @property
    def how(self) -> tuple[object, ...]:
        return (*super().how, self.mark, self.span)

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        """Merge runs by key and time, without the rows that are gone."""
        first = runs[0]
        times = np.concatenate([times_in(run) for run in runs])
        kept = np.flatnonzero(~self.is_gone(times))
        if len(runs) == 1 and len(kept) == first.rows:
            return first
        return merge_by_time(runs, times, kept)

    def cut(self, runs: list[Run], fuel: int) -> list[int] | None:
        return cut_sorted([times_in(run) for run in runs], fuel)

    def table(self) -> pa.Table | None:
        return consolidate_table(self.join(list(self.runs)).table) if self.runs else None


def times_in(run: Run) -> Times:
    times: Times = run.table[TIME].to_numpy()
    return times


def _last(run: Run) -> Times:
    """Return the largest time of a run, as an array. It is computed once."""
    last: Times | None = run.__dict__.get("last")
    if last is None:
        last = run.__dict__["last"] = times_in(run).max(keepdims=True)
    return last


def timed_run(rows: pa.Table, columns: tuple[str, ...], times: Times) -> Run:
    """Return rows as a run, sorted by these key columns and time."""
    keys = keys_of([rows[name] for name in columns])
    order = np.lexsort((times, keys.numbers))
    table = take_rows(rows, order).append_column(pa.field(TIME, pa.array(times[:0]).type), pa.array(times[order]))
    return Run(columns, Keys(keys.numbers[order], keys.exact), table)


def match_times(rows: Run, run: Run, first: Times, last: Times) -> Pairs:
    """Return all pairs of a row of the one and a row of the other run with equal keys, where the time of the other is
    from `first` to `last`. Both are given for each row of the one, and are themselves in the interval."""
    times = times_in(run)
    return match_between(
        rows, run, lambda at, which: times[at] < first[which], lambda at, which: times[at] <= last[which]
    )


IsBefore: TypeAlias = Callable[[Indices, Indices], Any]
"""Says which rows, given by their indices, are before a bound, given by the index of the key that it belongs to."""


def match_between(keys: Run, run: Run, is_early: IsBefore, is_inside: IsBefore | None) -> Pairs:
    """Return all pairs of a row of `keys` and a row of `run` that has its key, and is inside of its interval.

    The rows of a key in the run are sorted: first those that are early, then those inside, then others. `is_inside` is
    None if all are inside that are not early.
    """
    present, starts, counts = run.find(keys.keys.numbers)
    ends = starts + counts
    lows = bisect_ranges(starts, ends, lambda rows, which: is_early(rows, present[which]))
    highs = ends
    if is_inside is not None:
        highs = bisect_ranges(lows, ends, lambda rows, which: is_inside(rows, present[which]))
    which, theirs = ranges(lows, highs - lows)
    return drop_collisions(keys, run, present[which], theirs)


def merge_by_time(runs: list[Run], times: Times, kept: Indices | None = None) -> Run:
    """Merge runs into one, sorted by key number and time. `times` has those of all runs, one run after the other, and
    `kept` the rows that stay, if not all do."""
    numbers, table = np.concatenate([run.keys.numbers for run in runs]), pa.concat_tables([run.table for run in runs])
    if kept is not None:
        numbers, times = numbers[kept], times[kept]
    order = np.lexsort((times, numbers))  # fast on sorted parts
    rows = take_rows(table, order if kept is None else kept[order])
    return Run(runs[0].columns, Keys(numbers[order], all(run.keys.exact for run in runs)), rows)


def add_span(times: Times, span: TimeValue, *, down: bool = False, up: bool = False) -> Any:
    """Return the times plus a span; as Python's own integers where these would overflow. Floats are rounded `down` or
    `up` by more than sums of such numbers are rounded."""
    if times.dtype == np.float64:
        slack = 4 * np.spacing(np.maximum(np.abs(times), abs(span)))
        return times + span + (slack if up else -slack if down else 0)
    if not len(times) or max(abs(int(times.min())), abs(int(times.max())), abs(span)) < 1 << 62:
        return times + span
    return np.array([int(time) + span for time in times], object)
