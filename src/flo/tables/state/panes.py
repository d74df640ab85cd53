"""Rows that wait for their windows to close.

A run is sorted by (key, time). With windows of 10 and the clock of key a at 30:

    key  time  arrival
    a    21    4     ┐ window [20, 30) has closed: `take` returns these rows, and they leave
    a    27    0     ┘
    a    34    3       waits
    b    12    1       waits: the clock of b is at 15

Invariant: under one key, all rows before its cutoff have left. The operator knows the cutoff from its clock, and passes
it in as a function of keys. So closing a window writes nothing: a run drops rows that have left when it is merged, or
as a whole when all have. `left` counts the rows of each run that still wait.

Without key columns the time is the key, and a run is sorted by time. Then the rows that have left are its first ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, sort_indices, take_rows
from flo.core.term import Call, Lowering, Term
from flo.tables.state.expiring import Interval, Times, in_order
from flo.tables.state.keys import Keys
from flo.tables.state.merging import JoinRuns, Merge, advance_merges, cut_sorted, fuel_of, group_runs
from flo.tables.state.run import Run
from flo.tables.state.timed import match_between, merge_by_time
from flo.tables.state.trace import Trace, lift_merges, text_of

ARRIVAL, TIME = "@", "%"
"""The columns with the position of a row in the order of arrival, and with its time. No field of a Python class can
have such names; windows of other rows that have them run on values."""
_ARRIVAL = pa.field(ARRIVAL, pa.int64(), nullable=False)
RATIO = 1 / 7
"""A run is merged with newer ones when they have seven times its rows: panes are read only when windows close, so it is
better to have more runs than to copy rows often."""
PACE = 0.4
"""So fewer rows are merged with a delta than in other traces."""


class Cutoffs(NamedTuple):
    """Which rows of some keys have left."""

    times: Times
    """For each key, the time before which its rows have left."""
    ended: Any
    """For each key, whether it has ended. Then all of its rows have left."""


FindCutoffs: TypeAlias = Callable[[Run], Cutoffs]
"""Gives the cutoffs of keys."""


class Taken(NamedTuple):
    """Rows that were taken from panes."""

    owners: Indices
    """For each row, the index of its key. Empty without key columns."""
    rows: pa.Table | None
    """The rows; None if there are none."""
    panes: Panes
    """The panes without the rows that have left."""


def no_keys(keys: Run) -> Cutoffs:
    """Stand for the cutoffs of panes without key columns: there, `left` says which rows have left."""
    raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Panes(Trace):
    """The rows that wait, in runs sorted by key and time.

    `left` says how many rows of each run still wait: the others have left, though the run may still hold them. It is
    empty if they were not counted."""

    columns: tuple[str, ...] = ()
    left: tuple[int, ...] = ()

    term = "panes"

    @property
    def rows(self) -> int:
        return sum(self._left)

    @property
    def _left(self) -> tuple[int, ...]:
        """How many rows of each run still wait, or more where they were not counted."""
        return self.left if len(self.left) == len(self.runs) else tuple(run.rows for run in self.runs)

    def add(
        self,
        rows: pa.Table,
        some: Indices,
        times: Times,
        count: int,
        columns: tuple[str, ...],
        keys: Keys,
        cutoffs: FindCutoffs,
    ) -> Panes:
        """Return the panes with some rows of a delta more, given their times and keys. `count` rows came before it."""
        order = in_time_order(times)
        numbers = keys.numbers if columns else in_order(times)
        if columns:
            order = order[np.argsort(numbers[order], kind="stable")]
        indices = some[order]
        table = take_rows(rows, indices).append_column(_ARRIVAL, pa.array(count + indices))
        table = table.append_column(pa.field(TIME, pa.array(times[:0]).type, nullable=False), pa.array(times[order]))
        run = Run(columns or (TIME,), Keys(numbers[order], keys.exact and bool(columns)), table)
        return replace(self, columns=columns)._extend(run, cutoffs)

    def take(self, keys: Run, times: Interval, cutoff: Any) -> Taken:
        """Return the rows of `keys` with a time in `times`, each with the index of its key, and the panes without the
        rows before `cutoff`. All are given for each key; `times.since` is the cutoff so far.

        A row from the cutoff on is returned and waits on: it belongs to more windows."""
        owners: list[Indices] = []
        tables: list[pa.Table] = []
        remaining: list[int] = []
        for run, left in zip(self.runs, self._left, strict=True):
            ours, table = self._find(run, left, keys, times)
            if table is not None:
                owners.append(ours)
                tables.append(table)
                left -= self._count_before(cutoff, ours, table)
            remaining.append(left)
        rows = pa.concat_tables(tables) if tables else None
        return Taken(np.concatenate([np.zeros(0, np.int64), *owners]), rows, self._with_left(remaining))

    def _find(self, run: Run, left: int, keys: Run, times: Interval) -> tuple[Indices, pa.Table | None]:
        """Return the rows of a run that have these keys and a time in an interval, and the index of the key of each."""
        own = run.table[TIME].to_numpy()
        if not self.columns:
            low, high = run.rows - left, run.rows
            high = low + int(np.searchsorted(own[low:], times.until[0])) if times.until is not None else high
            return np.zeros(0, np.int64), run.table.slice(low, high - low) if low < high else None
        since, until = times
        is_inside = None if until is None else (lambda rows, which: own[rows] < until[which])
        ours, rows = match_between(keys, run, lambda rows, which: own[rows] < since[which], is_inside)
        return ours, take_rows(run.table, rows) if len(ours) else None

    def _count_before(self, cutoff: Any, owners: Indices, rows: pa.Table) -> int:
        """Return how many rows of a run leave."""
        times = rows[TIME].to_numpy()
        if not self.columns:
            return int(np.searchsorted(times, cutoff[0]))
        return int(np.count_nonzero(times < (cutoff if len(cutoff) == 1 else cutoff[owners])))

    def count_left(self, cutoffs: FindCutoffs) -> Panes:
        """Return the panes with the rows that wait counted: those of a state that was cut into other shards are not."""
        if len(self.left) == len(self.runs):
            return self
        kept = [_keep_waiting(run, None, cutoffs) for run in self.runs]
        return replace(self, runs=tuple(kept), merges=())._with_left([run.rows for run in kept])

    def _with_left(self, left: list[int]) -> Self:
        """Return the panes with these counts, without runs of which all rows have left."""
        return self._with_merges(_count_used(group_runs(self.runs, self.merges), left))

    def _with_merges(self, merges: Iterable[Merge]) -> Self:
        """Return the panes with the runs of these merges, which know how many rows wait."""
        kept = [merge for merge in merges if merge.size]
        return replace(
            self,
            runs=tuple(run for merge in kept for run in merge.runs),
            left=tuple(left for merge in kept for left in merge.used or ()),
            merges=tuple(merge for merge in kept if len(merge.runs) > 1),
        )

    def _extend(self, delta: Run, cutoffs: FindCutoffs) -> Self:
        """Return the panes with one more run, which pays for a part of the merges that are due."""
        every = replace(self, runs=(*self.runs, delta), left=(*self._left, delta.rows))
        merges = list(_count_used(group_runs(every.runs, self.merges), every.left))
        fuel = fuel_of(delta.rows, sum(run.rows for run in self.runs), PACE)
        return self._with_merges(advance_merges(merges, fuel, every._join_waiting(cutoffs), self.cut, ratio=RATIO))

    def _join_waiting(self, cutoffs: FindCutoffs) -> JoinRuns:
        """Return how to merge runs, or slices of them: without the rows that have left. Without key columns these are
        the ones before the first that waits in any run."""
        if self.columns:
            return lambda runs, *, oldest: _merge_waiting([_keep_waiting(run, None, cutoffs) for run in runs])
        some = [(run, left) for run, left in zip(self.runs, self._left, strict=True) if left]
        first = min(int(run.keys.at(np.array([run.rows - left]))[0]) for run, left in some)
        return lambda runs, *, oldest: _merge_waiting([run.part(run.below(first), run.rows) for run in runs])

    def cut(self, runs: list[Run], fuel: int) -> list[int] | None:
        return cut_sorted([run.table[TIME].to_numpy() for run in runs], fuel)

    def read_waiting(self, cutoffs: FindCutoffs) -> pa.Table | None:
        """Return all rows that wait, in the order of arrival; None if there are no runs."""
        waiting = [_keep_waiting(run, left, cutoffs) for run, left in zip(self.runs, self._left, strict=True)]
        if not waiting:
            return None
        table = pa.concat_tables([run.table for run in waiting])
        return take_rows(table, sort_indices(table[ARRIVAL].to_numpy()))

    def table(self) -> pa.Table | None:
        """Return all rows that its runs hold, in the order of arrival; with key columns also those that have left."""
        return self.read_waiting(_no_cutoffs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Panes) and self.is_same(other, _no_cutoffs)

    def __hash__(self) -> int:
        return hash(type(self))

    def is_same(self, other: Panes, cutoffs: FindCutoffs) -> bool:
        """Return whether the same rows wait in both."""
        if bool(self.runs) != bool(other.runs):
            return False
        return (self.runs, self._left) == (other.runs, other._left) or self._texts(cutoffs) == other._texts(cutoffs)

    def _texts(self, cutoffs: FindCutoffs) -> list[str]:
        table = self.read_waiting(cutoffs)
        return [] if table is None else [text_of(row) for row in table.to_pylist()]

    def lower(self, lower: Lowering) -> Term:
        runs, merges = tuple(lower(run) for run in self.runs), self.lower_merges(lower)
        return Call(self.term, (self.columns, runs, self.left, *([merges] if merges else [])))

    @classmethod
    def lift(cls, columns: Any = (), runs: Any = (), left: Any = (), merges: Any = ()) -> Self:  # type: ignore[override]
        return cls(tuple(columns), tuple(runs), tuple(left), merges=lift_merges(runs, merges))


def _count_used(merges: Iterable[Merge], left: Iterable[int]) -> Iterator[Merge]:
    """Yield the merges with the numbers of rows that wait: only these are of use."""
    each = iter(left)
    return (replace(merge, used=tuple(islice(each, len(merge.runs)))) for merge in merges)


def _no_cutoffs(keys: Run) -> Cutoffs:
    """Return cutoffs that keep all rows, where the real ones are not known."""
    return Cutoffs(np.full(keys.rows, -np.inf), np.zeros(keys.rows, bool))


def in_time_order(times: Times) -> Indices:
    """Return the indices that sort the times, stably."""
    return sort_indices(times) if times.dtype == np.int64 else np.argsort(times, kind="stable")


def _keep_waiting(run: Run, left: int | None, cutoffs: FindCutoffs) -> Run:
    """Return the rows of a run that wait. `left` is how many these are, where that is known."""
    if left == run.rows:
        return run
    if run.columns == (TIME,):
        return run if left is None else run.part(run.rows - left, run.rows)
    firsts = run.first_rows()
    counts = np.diff(firsts, append=run.rows)
    times, ended = cutoffs(replace(run, table=run.table.select(list(run.columns))).take(firsts))
    waits = (run.table[TIME].to_numpy() >= np.repeat(times, counts)) & ~np.repeat(ended, counts)
    return run if waits.all() else run.take(np.flatnonzero(waits))


def _merge_waiting(runs: list[Run]) -> Run:
    runs = [run for run in runs if run.rows] or runs[:1]
    if len(runs) == 1:
        return runs[0]
    return merge_by_time(runs, np.concatenate([run.table[TIME].to_numpy() for run in runs]))
