"""Rows that wait for their windows to close, by key columns and time: those that close are found without a scan.

Rows leave in the order of time: under each key, all rows before some time are gone. That time is known to the operator
(it follows from how far its clock has come), and is passed in as a bound. So no run is written again because a window
closes: a row that is gone leaves when its run merges, or when all rows of its run are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, bisect_ranges, ranges, sort_indices, take_rows
from flo.core.term import Call, Lowering, Term
from flo.tables.state.expiring import in_order
from flo.tables.state.keys import Keys, find_equal
from flo.tables.state.merging import Join, Merge, advance_merges, cut_sorted, fuel_of, group_runs
from flo.tables.state.run import Run
from flo.tables.state.trace import Trace, lift_merges, text_of

ARRIVAL, TIME = "@", "%"
"""The columns of a row's place in the order of arrival, and of its time. No field of a Python class can have such
names."""
_ARRIVAL = pa.field(ARRIVAL, pa.int64(), nullable=False)
RATIO = 1 / 7
"""A run is merged with newer ones when they have seven times its rows: panes are read only when windows close, so it is
better to have more runs than to copy rows often."""
PACE = 0.4
"""So fewer rows are merged with a delta than in other traces."""
Bounds = Callable[[Run], tuple[Any, Any]]
"""For some keys: (the time before which their rows are gone, the keys that have ended, of which all rows are)."""


def no_keys(keys: Run) -> tuple[Any, Any]:
    """Without key columns `left` says which rows of a run are gone: the first ones, since a run is sorted by time."""
    raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Panes(Trace):
    """Runs sorted by key columns, and by time under one key. Without key columns, the time is the key.

    `left` says how many rows of each run still wait: the others are gone, though the run may still hold them."""

    columns: tuple[str, ...] = ()
    left: tuple[int, ...] = ()

    term = "panes"

    @property
    def rows(self) -> int:
        return sum(self._left)

    @property
    def _left(self) -> tuple[int, ...]:
        """How many rows of each run may still wait: an upper bound where they were not counted."""
        return self.left if len(self.left) == len(self.runs) else tuple(run.rows for run in self.runs)

    def add(
        self,
        rows: pa.Table,
        some: Indices,
        times: Any,
        count: int,
        columns: tuple[str, ...],
        keys: Keys,
        bounds: Bounds,
    ) -> Panes:
        """Returns the panes with more rows, given their times and key numbers; `count` rows came before the delta."""
        order = in_time_order(times)
        numbers = keys.numbers if columns else in_order(times)
        if columns:
            order = order[np.argsort(numbers[order], kind="stable")]
        indices = some[order]
        table = take_rows(rows, indices).append_column(_ARRIVAL, pa.array(count + indices))
        table = table.append_column(pa.field(TIME, pa.array(times[:0]).type, nullable=False), pa.array(times[order]))
        run = Run(columns or (TIME,), Keys(numbers[order], keys.exact and bool(columns)), table)
        return replace(self, columns=columns)._extend(run, bounds)

    def take(self, keys: Run, since: Any, until: Any, gone: Any) -> tuple[Indices, pa.Table | None, Panes]:
        """(which of these keys each row belongs to, the rows, what waits after it): the rows of these keys with times
        from `since` on and before `until`, of which those before `gone` leave. `since` is what was `gone` before.
        Without key columns all rows are found, and it is not said that they belong to the one group."""
        owners: list[Indices] = []
        tables: list[pa.Table] = []
        remaining: list[int] = []
        for run, left in zip(self.runs, self._left, strict=True):
            ours, table, times = self._between(run, left, keys, since, until)
            if table is not None:
                owners.append(ours)
                tables.append(table)
                if self.columns:
                    left -= int(np.count_nonzero(times < (gone if len(gone) == 1 else gone[ours])))
                else:
                    left -= int(np.searchsorted(times, gone[0]))
            remaining.append(left)
        rows = pa.concat_tables(tables) if tables else None
        return np.concatenate([np.zeros(0, np.int64), *owners]), rows, self._with(remaining)

    def _between(self, run: Run, left: int, keys: Run, since: Any, until: Any) -> tuple[Indices, pa.Table | None, Any]:
        """The rows of one run that have these keys, from `since` to `until`."""
        times = run.table[TIME].to_numpy()
        if not self.columns:
            low, high = run.rows - left, run.rows
            high = low + int(np.searchsorted(times[low:], until[0])) if until is not None else high
            table = run.table.slice(low, high - low) if low < high else None
            return np.zeros(0, np.int64), table, times[low:high]
        present, starts, counts = run.find(keys.keys.numbers)
        ends = starts + counts
        lows = bisect_ranges(starts, ends, lambda rows, which: times[rows] < since[present[which]])
        highs = ends
        if until is not None:
            highs = bisect_ranges(lows, ends, lambda rows, which: times[rows] < until[present[which]])
        which, indices = ranges(lows, highs - lows)
        ours = present[which]
        if not (keys.keys.exact and run.keys.exact) and len(ours):
            names = list(run.columns)
            equal = find_equal(
                take_rows(keys.table.select(names), ours).columns, take_rows(run.table.select(names), indices).columns
            )
            ours, indices = ours[equal], indices[equal]
        return ours, take_rows(run.table, indices) if len(ours) else None, times[indices]

    def count_left(self, bounds: Bounds) -> Panes:
        """The same, with rows that are gone counted: a state that was cut into other shards does not know."""
        if len(self.left) == len(self.runs):
            return self
        kept = [_waiting(run, None, bounds) for run in self.runs]
        return replace(self, runs=tuple(kept), merges=())._with([run.rows for run in kept])

    def _with(self, left: list[int]) -> Self:
        """The panes of whose runs so many rows are left, without those that are gone as a whole."""
        return self._of(_with_left(group_runs(self.runs, self.merges), left))

    def _of(self, merges: Iterable[Merge]) -> Self:
        kept = [merge for merge in merges if merge.size]
        return replace(
            self,
            runs=tuple(run for merge in kept for run in merge.runs),
            left=tuple(left for merge in kept for left in merge.used or ()),
            merges=tuple(merge for merge in kept if len(merge.runs) > 1),
        )

    def _extend(self, delta: Run, bounds: Bounds) -> Self:
        every = replace(self, runs=(*self.runs, delta), left=(*self._left, delta.rows))
        merges = list(_with_left(group_runs(every.runs, self.merges), every.left))
        fuel = fuel_of(delta.rows, sum(run.rows for run in self.runs), PACE)
        return self._of(advance_merges(merges, fuel, every._join_waiting(bounds), self.cut, ratio=RATIO))

    def _join_waiting(self, bounds: Bounds) -> Join:
        """How runs, or slices of them, are merged: without the rows that are gone. Without key columns these are the
        ones before the first that waits."""
        if self.columns:
            return lambda runs, *, oldest: _merge_waiting([_waiting(run, None, bounds) for run in runs])
        some = [(run, left) for run, left in zip(self.runs, self._left, strict=True) if left]
        first = min(int(run.keys.at(np.array([run.rows - left]))[0]) for run, left in some)
        return lambda runs, *, oldest: _merge_waiting([run.part(run.below(first), run.rows) for run in runs])

    def cut(self, runs: list[Run], fuel: int) -> list[int] | None:
        return cut_sorted([run.table[TIME].to_numpy() for run in runs], fuel)

    def read_waiting(self, bounds: Bounds) -> pa.Table | None:
        """All waiting rows, in the order of arrival."""
        waiting = [_waiting(run, left, bounds) for run, left in zip(self.runs, self._left, strict=True)]
        if not waiting:
            return None
        table = pa.concat_tables([run.table for run in waiting])
        return take_rows(table, sort_indices(table[ARRIVAL].to_numpy()))

    def table(self) -> pa.Table | None:
        """All rows that its runs hold, as they came; under keys with those that are gone."""
        return self.read_waiting(_none_gone)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Panes) and self.is_same(other, _none_gone)

    def __hash__(self) -> int:
        return hash(type(self))

    def is_same(self, other: Panes, bounds: Bounds) -> bool:
        """Whether the same rows wait in both."""
        if bool(self.runs) != bool(other.runs):
            return False
        return (self.runs, self._left) == (other.runs, other._left) or self._texts(bounds) == other._texts(bounds)

    def _texts(self, bounds: Bounds) -> list[str]:
        table = self.read_waiting(bounds)
        return [] if table is None else [text_of(row) for row in table.to_pylist()]

    def lower(self, lower: Lowering) -> Term:
        runs, merges = tuple(lower(run) for run in self.runs), self.lower_merges(lower)
        return Call(self.term, (self.columns, runs, self.left, *([merges] if merges else [])))

    @classmethod
    def lift(cls, columns: Any = (), runs: Any = (), left: Any = (), merges: Any = ()) -> Self:  # type: ignore[override]
        return cls(tuple(columns), tuple(runs), tuple(left), merges=lift_merges(runs, merges))


def _with_left(merges: Iterable[Merge], left: Iterable[int]) -> Iterator[Merge]:
    """The merges, which know how many rows of each run still wait."""
    each = iter(left)
    return (replace(merge, used=tuple(islice(each, len(merge.runs)))) for merge in merges)


def _none_gone(keys: Run) -> tuple[Any, Any]:
    """All rows that a run holds, where it is not known which are gone."""
    return np.full(keys.rows, -np.inf), np.zeros(keys.rows, bool)


def in_time_order(times: Any) -> Indices:
    """The places of the times in their order, equal ones as they stand."""
    return sort_indices(times) if times.dtype == np.int64 else np.argsort(times, kind="stable")


def _waiting(run: Run, left: int | None, bounds: Bounds) -> Run:
    """A run without the rows that are gone. `left` is how many wait, where that is known."""
    if left == run.rows:
        return run
    if run.columns == (TIME,):
        return run if left is None else run.part(run.rows - left, run.rows)
    keys, counts = _each_key(run)
    gone, ended = bounds(keys)
    waits = (run.table[TIME].to_numpy() >= np.repeat(gone, counts)) & ~np.repeat(ended, counts)
    if waits.all():
        return run
    indices = np.flatnonzero(waits)
    return Run(run.columns, Keys(run.keys.numbers[indices], run.keys.exact), take_rows(run.table, indices))


def _each_key(run: Run) -> tuple[Run, Indices]:
    """(the key of each group of neighbours with one key, how many there are)."""
    numbers, own = run.keys.numbers, run.table.select(list(run.columns))
    new = np.concatenate([[True], numbers[1:] != numbers[:-1]])
    again = np.flatnonzero(~new)
    if len(again) and not run.keys.exact:
        new[again] = ~find_equal(take_rows(own, again - 1).columns, take_rows(own, again).columns)
    indices = np.flatnonzero(new)
    return Run(run.columns, Keys(numbers[indices], run.keys.exact), take_rows(own, indices)), np.diff(
        indices, append=run.rows
    )


def _merge_waiting(runs: list[Run]) -> Run:
    """Merges runs into one."""
    runs = [run for run in runs if run.rows] or runs[:1]
    if len(runs) == 1:
        return runs[0]
    table, numbers = pa.concat_tables([run.table for run in runs]), np.concatenate([run.keys.numbers for run in runs])
    order = np.argsort(table[TIME].to_numpy(), kind="stable")  # merges what is sorted already
    order = order[np.argsort(numbers[order], kind="stable")]
    exact = all(run.keys.exact for run in runs)
    return Run(runs[0].columns, Keys(numbers[order], exact), take_rows(table, order))
