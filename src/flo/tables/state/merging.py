"""Merging runs in levels, a bounded part with each delta.

Runs of similar size are merged into one, so that there are few runs, and each row is copied a logarithmic number of
times. To merge large runs at once would take as long as many deltas, and a checkpoint would write all of their rows
again. So a merge is spread over deltas: each pays for some rows of it, in proportion to its own. A part of a merge is a
range of key numbers. Until the last part is done, readers read the runs that are merged.

Some rows of a run may be of no more use: their windows have closed. A merge drops them, and a run with many of them
merges early, because only the others count as its size.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log2
from typing import NamedTuple, Protocol

import numpy as np

from flo.tables.state.run import Run, join_parts
from flo.tables.state.sharing import Sharing

SMALLEST_PART = 1 << 14
"""The rows that a delta pays for at least, however few it has. A part is a file of a checkpoint."""
PACE = 0.7
"""How many times its own rows a delta pays for, for each doubling of the state. With less, runs pile up."""
RATIO = 2
"""A run is merged with newer ones when it has at most so many times their rows."""
SAMPLES = 64
"""How many rows of a part are looked at, to find where it ends."""
NUMBERS = 1 << 64
"""The number of key numbers."""
MERGED = Sharing()
"""Parts of merges, and runs that were merged."""


class Join(Protocol):
    """Merges runs, or the same range of key numbers of each, into one."""

    def __call__(self, runs: list[Run], *, oldest: bool) -> Run: ...


@dataclass(frozen=True, eq=False)
class Merge:
    """A merge that has begun: adjacent runs, oldest first, and the parts that are done. One run has nothing to do."""

    runs: tuple[Run, ...]
    parts: tuple[Run, ...] = ()
    upto: int = 0
    """The first key number that is not in the parts."""
    used: tuple[int, ...] | None = None
    """How many rows of each run are of use, if not all are."""

    @property
    def size(self) -> int:
        return self.rows if self.used is None else sum(self.used)

    @property
    def rows(self) -> int:
        return sum(run.rows for run in self.runs)

    @property
    def left(self) -> int:
        """How many rows are not merged yet."""
        return sum(run.rows - run.below(self.upto) for run in self.runs) if len(self.runs) > 1 else 0

    def followed(self, newer: Merge) -> Merge:
        """The merge of these runs and newer ones, which begins."""
        used = None if self.used is None or newer.used is None else (*self.used, *newer.used)
        return Merge((*self.runs, *newer.runs), used=used)

    def advanced(
        self, fuel: int, join: Callable[[list[Run]], Run], how: tuple[object, ...] | None
    ) -> tuple[Merge, int]:
        """The merge with one more part, and the rows that were merged for it: at most about `fuel`. `how` says what
        else the result depends on than the runs; None if it cannot be said, and the result cannot be shared."""
        upto, is_file = self._end_of_part(fuel)
        key = None if how is None else (*how, self.upto, upto)
        part = _shared(key, self.runs, lambda: self._part(upto, join))
        parts = (*self.parts, part) if part.rows else self.parts
        after = replace(self, parts=parts, upto=upto)
        cost = 1 if is_file else self.left - after.left
        if after.left:
            return after, cost
        whole = _shared(how, parts, lambda: join_parts(parts)) if len(parts) > 1 else (*parts, part)[0]
        return Merge((whole.resting(),), used=None if self.used is None else (min(self.size, whole.rows),)), cost

    def _end_of_part(self, fuel: int) -> tuple[int, bool]:
        """The key number at which the next part ends, and whether the part is a file of one run.

        A file with no rows of other runs between its own is kept, unless it is small. This is so for most files if
        rows come in the order of their key numbers, such as times.
        """
        rows, end = 0, self.upto
        for group in _overlapping(self.runs, self.upto):
            count, last = sum(each.rows for each in group), max(each.last for each in group)
            if len(group) == 1 and group[0].whole and count >= SMALLEST_PART:
                return (end, False) if rows else (last + 1, True)
            if rows + count > fuel:
                return (end if rows else self._number_after(fuel)), False
            rows, end = rows + count, last + 1
            if rows >= SMALLEST_PART:
                return end, False
        return NUMBERS, False

    def _number_after(self, fuel: int) -> int:
        """A key number with about so many rows between `upto` and it. Rows with one number stay together."""
        step = max(1, fuel // SAMPLES)
        firsts = [run.below(self.upto) for run in self.runs]
        places = [
            np.arange(first + step - 1, min(first + fuel, run.rows), step)
            for first, run in zip(firsts, self.runs, strict=True)
        ]
        some = np.sort(np.concatenate([run.keys.at(at) for run, at in zip(self.runs, places, strict=True)]))
        return int(some[min(fuel // step, len(some)) - 1]) + 1 if len(some) else NUMBERS

    def _part(self, upto: int, join: Callable[[list[Run]], Run]) -> Run:
        slices = [run.between(self.upto, upto) for run in self.runs]
        there = [each for each in slices if each.rows]
        found = join(there) if there else slices[0]
        return found.again() if any(found is run for run in self.runs) else found  # what is shared is another run


class _File(NamedTuple):
    """A file of a run, or what is left of it."""

    first: int
    last: int
    """The key numbers of the first and the last row."""
    rows: int
    whole: bool


def _overlapping(runs: tuple[Run, ...], number: int) -> Iterator[list[_File]]:
    """The files of runs from a key number on, in groups that overlap with no other."""
    group: list[_File] = []
    for each in heapq.merge(*(_files_from(run, number) for run in runs)):
        if group and each.first > max(other.last for other in group):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _files_from(run: Run, number: int) -> Iterator[_File]:
    """The files of a run from a key number on."""
    start, ends = run.below(number), run.file_ends
    for place in range(int(np.searchsorted(ends, start, "right")), len(ends)):
        end = int(ends[place])
        first, last = run.keys.at(np.array([start, end - 1])).tolist()
        yield _File(first, last, end - start, start == end - run.files[place].rows)
        start = end


def _shared(how: tuple[object, ...] | None, parts: tuple[Run, ...], make: Callable[[], Run]) -> Run:
    return make() if how is None else MERGED.get(how, parts, make)


def group_runs(runs: tuple[Run, ...], merges: tuple[Merge, ...]) -> Iterator[Merge]:
    """All runs in order, those that are being merged together. A merge of runs that are no longer there is dropped."""
    started, place = {id(merge.runs[0]): merge for merge in merges}, 0
    while place < len(runs):
        merge = started.get(id(runs[place]))
        if merge is None or not all(map(_same, merge.runs, runs[place : place + len(merge.runs)])):
            merge = Merge((runs[place],))
        yield merge
        place += len(merge.runs)


def _same(one: Run, other: Run) -> bool:
    return one is other


def fuel_of(delta: int, rows: int) -> int:
    """How many rows are merged with a delta of so many rows, in a state of so many."""
    return max(SMALLEST_PART, int(delta * max(3.0, PACE * log2(1 + rows / delta))))


def advance_merges(merges: list[Merge], fuel: int, join: Join, how: tuple[object, ...] | None = None) -> list[Merge]:
    """Merges so many rows, beginning where the fewest are left. Merges that are due begin."""
    least = fuel // SAMPLES
    while fuel > least:
        merges = _begin(merges)
        waiting = [place for place, merge in enumerate(merges) if len(merge.runs) > 1]
        if not waiting:
            break
        place = min(waiting, key=lambda place: merges[place].left)

        def join_here(runs: list[Run], oldest: bool = place == 0) -> Run:
            return join(runs, oldest=oldest)

        after, cost = merges[place].advanced(fuel, join_here, None if how is None else (*how, place == 0))
        fuel -= max(1, cost)
        merges[place : place + 1] = [after] if after.rows else []
    return merges


def _begin(merges: list[Merge]) -> list[Merge]:
    """Begins the merges of runs that are alike, newest first."""
    found: list[Merge] = []
    grows = False  # whether the last one found begins here
    for merge in reversed(merges):
        alone = len(merge.runs) == 1
        if alone and grows and merge.size <= RATIO * found[-1].size:
            found[-1] = merge.followed(found[-1])
        else:
            found.append(merge)
            grows = alone
    return found[::-1]
