"""Rows by their times, so that those that a clock has passed are found without a scan.

A run is sorted by time. The clock moves from 10 to 20, and `take` returns the rows in between:

    time  user  weight
    7     ann   1        taken when the clock came to 10
    12    bob   2      ┐ in [10, 20): these are taken now
    15    eve   1      ┘
    31    ann   1        waits

Invariant: no row before the clock is there, if weights are added up over all runs. What is taken is retracted: a new
run has bob with weight -2 and eve with -1. Both cancel out when the runs merge. So a run is not written again each time
that some of its rows expire.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Numbers, sort_numbers, take_rows
from flo.core.untyped import TimeValue
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.keys import Keys
from flo.tables.state.run import Run
from flo.tables.state.trace import Trace, consolidate_runs
from flo.tables.values import WEIGHT

Times: TypeAlias = npt.NDArray[Any]
"""int64 or float64 (of dates and datetimes microseconds from the epoch); Python's own numbers where those would
overflow or be rounded."""
TIME = "==time"
"""The column with the time as a number. Rows are cut into shards by the other columns: see `Cut.BY_GROUP`."""
FIRST, LAST = -(1 << 63), (1 << 63) - 1
"""The first and the last time that is a 64-bit integer."""


class Interval(NamedTuple):
    """The times from `since` on and before `until`. None is no bound."""

    since: TimeValue
    until: TimeValue


def in_order(times: Times) -> Numbers:
    """Return numbers that are ordered as the times are: 64-bit integers, or finite floats."""
    if times.dtype == np.float64:
        bits = (times + 0.0).view(np.int64)  # -0.0 is 0.0
        times = bits ^ ((bits >> 63) & LAST)
    numbers: Numbers = times.view(np.uint64) ^ np.uint64(1 << 63)
    return numbers


def is_before(times: Times, mark: TimeValue) -> Any:
    """Return which times are before a mark, which may be any number."""
    if times.dtype == np.int64 and not FIRST <= mark <= LAST:
        return np.full(len(times), mark > LAST)
    return times < mark


@dataclass(frozen=True, eq=False)
class Expiring(Trace):
    """A z-set, sorted by time. The key number of a row is its time."""

    term = "expiring"

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        """Merge runs by time, and consolidate equal rows: rows that were taken and their retractions cancel out."""
        whole = consolidate_runs(*(Run((TIME,), run.keys, run.table) for run in runs), fully=fully)
        return Run(runs[0].columns, whole.keys, whole.table)

    def add(self, rows: pa.Table, times: Times) -> Self:
        """Return the trace with more rows, given their times."""
        order, numbers = sort_numbers(in_order(times))
        table = take_rows(rows, order).append_column(pa.field(TIME, pa.array(times[:0]).type), pa.array(times[order]))
        columns = (TIME, *(name for name in rows.column_names if name != WEIGHT))
        return replace(self, columns=columns).extend(Run(columns, Keys(numbers, exact=False), table))

    def take(self, times: Interval) -> tuple[pa.Table | None, Self]:
        """Return the rows with times in an interval, or None, and the trace without them. Earlier rows must have been
        taken before."""
        parts = []
        for run in self.runs:
            low = 0 if times.since is None else self._first(run, times.since)
            high = self._first(run, times.until)
            parts += [run.table.slice(low, high - low)] if low < high else []
        rows = consolidate_table(pa.concat_tables(parts).combine_chunks()) if parts else None
        if rows is None or not rows.num_rows:
            return None, self
        field = rows.schema.field(WEIGHT)
        negative = rows.set_column(rows.schema.get_field_index(WEIGHT), field, pc.negate_checked(rows[WEIGHT]))
        return rows.drop_columns([TIME]), self.add(negative.drop_columns([TIME]), rows[TIME].to_numpy())

    @staticmethod
    def _first(run: Run, mark: TimeValue) -> int:
        """Return the first row that is not before a mark."""
        times = run.table.schema.field(TIME).type.to_pandas_dtype()
        if times is np.int64 and not FIRST <= mark <= LAST:
            return run.rows if mark > LAST else 0
        mark = math.ceil(mark) if times is np.int64 else mark
        return int(np.searchsorted(run.keys.numbers, in_order(np.array([mark], times))[0]))
