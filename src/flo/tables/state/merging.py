"""Merging runs in levels, a bounded part with each delta.

Runs of similar size are merged into one, so that there are few runs, and each row is copied a logarithmic number of
times. To merge large runs at once would take as long as many deltas, and a checkpoint would write all of their rows
again. So a merge is spread over deltas: each pays for some rows of it, in proportion to its own. A part of a merge is a
range of key numbers. Until the last part is done, readers read the runs that are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log2
from typing import Protocol

import numpy as np

from flo.tables.state.run import Run, join_parts
from flo.tables.state.sharing import Sharing

SMALLEST_PART = 1 << 14
"""The rows that a delta pays for at least, however few it has. A part is a file of a checkpoint."""
PACE = 0.7
"""How many times its own rows a delta pays for, for each doubling of the state. With less, runs pile up."""
RATIO = 2
"""A run is merged with newer ones when it has at most so many times their rows."""
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

    @property
    def rows(self) -> int:
        return sum(run.rows for run in self.runs)

    @property
    def left(self) -> int:
        """How many rows are not merged yet."""
        return sum(run.rows - run.below(self.upto) for run in self.runs) if len(self.runs) > 1 else 0

    def advanced(self, fuel: int, join: Callable[[list[Run]], Run], how: tuple[object, ...]) -> Merge:
        """The merge with so many more rows done. `how` says what else the result depends on than the runs."""
        upto = NUMBERS if not self.runs[0].columns or fuel >= self.left else self._number_after(fuel)
        part = MERGED.get((*how, self.upto, upto), self.runs, lambda: self._part(upto, join))
        parts = (*self.parts, part) if part.rows else self.parts
        if upto < NUMBERS:
            return replace(self, parts=parts, upto=upto)
        return Merge((MERGED.get(how, parts, lambda: join_parts(parts)) if len(parts) > 1 else (*parts, part)[0],))

    def _number_after(self, fuel: int) -> int:
        """A key number with about so many rows between `upto` and it. Rows with one number stay together."""
        largest = max(self.runs, key=lambda run: run.rows)
        first = largest.below(self.upto)
        share = max(1, fuel * (largest.rows - first) // self.left)
        if first + share >= largest.rows:
            return NUMBERS
        return max(self.upto + 1, int(largest.keys.at(np.array([first + share]))[0]))

    def _part(self, upto: int, join: Callable[[list[Run]], Run]) -> Run:
        if self.upto == 0 and upto == NUMBERS:
            return join([*self.runs]).resting()
        slices = [run.between(self.upto, upto) for run in self.runs]
        there = [each for each in slices if each.rows]
        found = join(there) if there else slices[0]
        return replace(found) if any(found is run for run in self.runs) else found  # what is shared is another run


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


def advance_merges(merges: list[Merge], fuel: int, join: Join, how: tuple[object, ...]) -> list[Merge]:
    """Merges so many rows, beginning where the fewest are left. Merges that are due begin."""
    while fuel > 0:
        merges = _begin(merges)
        waiting = [place for place, merge in enumerate(merges) if len(merge.runs) > 1]
        if not waiting:
            break
        place = min(waiting, key=lambda place: merges[place].left)
        before = merges[place]

        def join_here(runs: list[Run], oldest: bool = place == 0) -> Run:
            return join(runs, oldest=oldest)

        after = before.advanced(fuel, join_here, (*how, place == 0))
        fuel -= max(1, before.left - after.left)
        merges[place : place + 1] = [after] if after.rows else []
    return merges


def _begin(merges: list[Merge]) -> list[Merge]:
    """Begins the merges of runs that are alike, newest first."""
    found: list[Merge] = []
    tail: tuple[Run, ...] = ()
    for merge in reversed(merges):
        size = sum(run.rows for run in tail)
        if len(merge.runs) == 1 and (not tail or merge.rows <= RATIO * size):
            tail = (*merge.runs, *tail)
            continue
        found += [Merge(tail)] if tail else []
        tail = merge.runs if len(merge.runs) == 1 else ()
        found += [merge] if len(merge.runs) > 1 else []
    found += [Merge(tail)] if tail else []
    return found[::-1]
