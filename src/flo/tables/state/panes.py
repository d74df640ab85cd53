"""Rows that wait for their windows to close, by key columns and time: those that close are found without a scan.

Rows leave in the order of time: under each key, all rows before some time are gone. That time is known to the operator
(it follows from how far its clock has come), and is passed in as a bound. So a run is written once, and not each time
that a window closes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, bisect_ranges, ranges, sort_indices, take_rows
from flo.core.term import Call, Lowering, Term
from flo.tables.state.keys import Keys, find_equal
from flo.tables.state.run import Run
from flo.tables.state.trace import Trace, text_of

ARRIVAL, TIME = "@", "%"
"""The columns of a row's place in the order of arrival, and of its time. No field of a Python class can have such
names."""
_ARRIVAL = pa.field(ARRIVAL, pa.int64(), nullable=False)
_DIGITS = 3
"""Runs that have as many octal digits are of one level, and are merged when there are eight."""
Bounds = Callable[[Run], tuple[Any, Any]]
"""For some keys: (the time before which their rows are gone, the keys that have ended, of which all rows are)."""


def no_keys(keys: Run) -> tuple[Any, Any]:
    """Without key columns `left` says which rows of a run are gone: the first ones, since a run is sorted by time."""
    raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Panes(Trace):
    """Runs sorted by key columns, and by time under one key. `left` says how many rows of each run still wait: the
    others are gone, though the run may still hold them. A run that is mostly gone is written anew."""

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

    def added(
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
        numbers = keys.numbers
        if columns:
            order = order[np.argsort(numbers[order], kind="stable")]
            numbers = numbers[order]
        indices = some[order]
        table = take_rows(rows, indices).append_column(_ARRIVAL, pa.array(count + indices))
        table = table.append_column(pa.field(TIME, pa.array(times[:0]).type, nullable=False), pa.array(times[order]))
        return replace(self, columns=columns)._extended(Run(columns, Keys(numbers, keys.exact), table), bounds)

    def closed(
        self, keys: Run, since: Any, until: Any, gone: Any, bounds: Bounds
    ) -> tuple[Indices, pa.Table | None, Panes]:
        """(which of these keys each row belongs to, the rows, what waits after it): the rows of these keys with times
        from `since` on and before `until`, of which those before `gone` leave. `since` is what was `gone` before.
        Without key columns all rows are found, and it is not said that they belong to the one group."""
        owners: list[Indices] = []
        tables: list[pa.Table] = []
        runs: list[tuple[Run, int]] = []
        for run, left in zip(self.runs, self._left, strict=True):
            ours, table, times = self._between(run, left, keys, since, until)
            if table is not None:
                owners.append(ours)
                tables.append(table)
                if run.columns:
                    left -= int(np.count_nonzero(times < (gone if len(gone) == 1 else gone[ours])))
                else:
                    left -= int(np.searchsorted(times, gone[0]))
            runs.append((run, left))
        after = self._with(_tidied(run, left, bounds) for run, left in runs)
        found = pa.concat_tables(tables) if tables else None
        return np.concatenate([np.zeros(0, np.int64), *owners]), found, after

    def _between(self, run: Run, left: int, keys: Run, since: Any, until: Any) -> tuple[Indices, pa.Table | None, Any]:
        """The rows of one run that have these keys, from `since` to `until`."""
        times = run.table[TIME].to_numpy()
        if not run.columns:
            low, high = run.rows - left, run.rows
            high = low + int(np.searchsorted(times[low:], until[0])) if until is not None else high
            table = run.table.slice(low, high - low) if low < high else None
            return np.zeros(0, np.int64), table, times[low:high]
        found, starts, counts = run.find(keys.keys.numbers)
        ends = starts + counts
        lows = bisect_ranges(starts, ends, lambda rows, which: times[rows] < since[found[which]])
        highs = ends
        if until is not None:
            highs = bisect_ranges(lows, ends, lambda rows, which: times[rows] < until[found[which]])
        which, indices = ranges(lows, highs - lows)
        ours = found[which]
        if not (keys.keys.exact and run.keys.exact) and len(ours):
            names = list(run.columns)
            equal = find_equal(
                take_rows(keys.table.select(names), ours).columns, take_rows(run.table.select(names), indices).columns
            )
            ours, indices = ours[equal], indices[equal]
        return ours, take_rows(run.table, indices) if len(ours) else None, times[indices]

    def counted(self, bounds: Bounds) -> Panes:
        """The same, with rows that are gone counted: a state that was cut into other shards does not know."""
        if len(self.left) == len(self.runs):
            return self
        return self._with(_compacted(run, 0 if run.columns else run.rows, bounds) for run in self.runs)

    def _with(self, runs: Any) -> Self:
        kept = [(run, left) for run, left in runs if left]
        return replace(self, runs=tuple(run for run, _ in kept), left=tuple(left for _, left in kept))

    def _extended(self, delta: Run, bounds: Bounds) -> Panes:
        runs, tail = list(zip(self.runs, self._left, strict=True)), [(delta, delta.rows)]
        while True:
            level = _level(sum(left for _, left in tail))
            alike = 0
            while alike < len(runs) and _level(runs[-alike - 1][1]) <= level:
                alike += 1
            if alike < 7:
                whole = _merged([_compacted(run, left, bounds)[0] for run, left in tail])
                return self._with([*runs, (whole, whole.rows)])
            tail = [*runs[-alike:], *tail]
            del runs[-alike:]

    def live(self, bounds: Bounds) -> pa.Table | None:
        """All waiting rows, in the order of arrival."""
        found = [_compacted(run, left, bounds)[0] for run, left in zip(self.runs, self._left, strict=True)]
        if not found:
            return None
        table = pa.concat_tables([run.table for run in found])
        return take_rows(table, sort_indices(table[ARRIVAL].to_numpy()))

    def table(self) -> pa.Table | None:
        """All rows that its runs hold, as they came; under keys with those that are gone."""
        return self.live(_none_gone)

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
        table = self.live(bounds)
        return [] if table is None else [text_of(row) for row in table.to_pylist()]

    def lower(self, lower: Lowering) -> Term:
        return Call(self.term, (self.columns, tuple(lower(run) for run in self.runs), self.left))

    @classmethod
    def lift(cls, columns: Any = (), runs: Any = (), left: Any = ()) -> Self:
        return cls(tuple(columns), tuple(runs), tuple(left))


def _none_gone(keys: Run) -> tuple[Any, Any]:
    """All rows that a run holds, where it is not known which are gone."""
    return np.full(keys.rows, -np.inf), np.zeros(keys.rows, bool)


def in_time_order(times: Any) -> Indices:
    """The places of the times in their order, equal ones as they stand."""
    return sort_indices(times) if times.dtype == np.int64 else np.argsort(times, kind="stable")


def _tidied(run: Run, left: int, bounds: Bounds) -> tuple[Run, int]:
    """Rewrites a run most of whose rows are gone, to free memory."""
    return (run, left) if 2 * left > run.rows or not left else _compacted(run, left, bounds)


def _compacted(run: Run, left: int, bounds: Bounds) -> tuple[Run, int]:
    """A run without the rows that are gone. `left` is how many wait, where that is known, else 0."""
    if left == run.rows:
        return run, left
    if not run.columns:
        indices = np.arange(run.rows - left, run.rows)
    else:
        keys, counts = _each_key(run)
        gone, ended = bounds(keys)
        indices = np.flatnonzero((run.table[TIME].to_numpy() >= np.repeat(gone, counts)) & ~np.repeat(ended, counts))
    kept = Run(run.columns, Keys(run.keys.numbers[indices], run.keys.exact), take_rows(run.table, indices))
    return kept, kept.rows


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


def _merged(runs: list[Run]) -> Run:
    """Merges runs into one."""
    runs = [run for run in runs if run.rows] or runs[:1]
    if len(runs) == 1:
        return runs[0]
    table = pa.concat_tables([run.table for run in runs])
    order = np.argsort(table[TIME].to_numpy(), kind="stable")  # merges what is sorted already
    numbers = np.concatenate([run.keys.numbers for run in runs])
    if runs[0].columns:
        order = order[np.argsort(numbers[order], kind="stable")]
    exact = all(run.keys.exact for run in runs)
    return Run(runs[0].columns, Keys(numbers[order], exact), take_rows(table, order))


def _level(rows: int) -> int:
    return rows.bit_length() // _DIGITS
