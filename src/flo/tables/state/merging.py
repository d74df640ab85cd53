"""Merging runs in levels, a bounded part with each delta.

A trace has these runs, oldest first, with their rows. Runs 1 to 3 are of similar size, and their merge has begun:

    run 0     run 1   run 2   run 3   run 4
    40000     9000    5000    3000    200
              └─ key numbers below 7… are merged: done = (4100, 2300, 1500)
                 They are in one part of 7800 rows, since some have cancelled out.

Invariant: `parts` has the rows before `done` of all runs of the merge, in the order of key numbers, and no others.

Runs of similar size are merged into one, so that there are few runs, and each row is copied a logarithmic number of
times. To merge large runs at once would take as long as many deltas, and a checkpoint would write all of their rows
again. So a merge of many rows is spread over deltas: each pays for some rows of it, in proportion to its own. A part of
a merge is a range of key numbers, or of the rows of one key number, if these have an order. Until the last part is
done, readers read the runs that are merged.

Some rows of a run may be of no more use: their windows have closed. A merge drops them, and a run with many of them
merges early, because only the others count as its size.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import log2
from operator import is_
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from flo.columns.indices import Indices
from flo.tables.state.run import Run, join_parts
from flo.tables.state.sharing import Sharing

SMALLEST_PART = 1 << 14
"""How many rows a delta pays for at least, however few it has. A part is a file of a checkpoint."""
PACE = 0.7
"""How many times its own rows a delta pays for, for each doubling of the state. With less, runs pile up."""
RATIO = 2.2
"""A run is merged with newer ones when it has at most so many times their rows, unless a trace says otherwise."""
SAMPLES = 64
"""How many rows of a part are looked at, to find where it ends."""
MERGED = Sharing()
"""The parts of merges, and the merged runs, of all traces."""


class JoinRuns(Protocol):
    """Merges runs, or the same range of key numbers of each. `oldest` says that no earlier run has their keys."""

    def __call__(self, runs: list[Run], *, oldest: bool) -> Run: ...


CutRuns: TypeAlias = Callable[[list[Run], int], "list[int] | None"]
"""Cuts the rows of one key number in several runs. Returns how many rows of each come before the cut, about so many in
all; None if the rows have no order."""


class EndOfPart(NamedTuple):
    """Where the next part of a merge ends."""

    rows: tuple[int, ...]
    """For each run, the row after the last of the part."""
    is_file: bool
    """Whether the part is a file of one run, which is kept as it is."""


class Advanced(NamedTuple):
    """A merge after one more part."""

    merge: Merge
    cost: int
    """How many rows were merged for it."""


@dataclass(frozen=True, eq=False)
class Merge:
    """A merge that has begun: adjacent runs, oldest first, and the parts that are done. A run alone is a merge of one
    run, with nothing to do."""

    runs: tuple[Run, ...]
    parts: tuple[Run, ...] = ()
    done: tuple[int, ...] = ()
    """How many rows of each run are in the parts. Empty if there are no parts."""
    used: tuple[int, ...] | None = None
    """How many rows of each run are of use, if not all are."""
    rows: int = field(init=False)
    size: int = field(init=False)
    """How many rows are of use."""

    def __post_init__(self) -> None:
        rows = sum([run.rows for run in self.runs])
        vars(self).update(rows=rows, size=rows if self.used is None else sum(self.used))

    @property
    def left(self) -> int:
        """How many rows are not merged yet."""
        return self.rows - sum(self.done) if len(self.runs) > 1 else 0

    @property
    def starts(self) -> tuple[int, ...]:
        """The first row of each run that is not in a part."""
        return self.done or (0,) * len(self.runs)

    def append(self, newer: Merge) -> Merge:
        """Return the merge of these runs and newer ones, of which no part is done."""
        used = None if self.used is None or newer.used is None else (*self.used, *newer.used)
        return Merge((*self.runs, *newer.runs), used=used)

    def advance(
        self, fuel: int, join: Callable[[list[Run]], Run], cut: CutRuns, how: tuple[object, ...] | None
    ) -> Advanced:
        """Merge one more part, of at most about `fuel` rows. After the last part, the runs become one.

        `how` says what the result depends on besides the runs; None if that is not known, and the result cannot be
        shared.
        """
        ends, is_file = self._end_of_part(fuel, cut)
        key = None if how is None else (*how, self.starts, ends)
        part = _shared(key, self.runs, lambda: self._part(ends, join))
        parts = (*self.parts, part) if part.rows else self.parts
        after = replace(self, parts=parts, done=ends)
        cost = 1 if is_file else self.left - after.left
        if after.left:
            return Advanced(after, cost)
        whole = _shared(how, parts, lambda: join_parts(parts)) if len(parts) > 1 else (*parts, part)[0].prepare()
        return Advanced(Merge((whole,), used=None if self.used is None else (min(self.size, whole.rows),)), cost)

    def _end_of_part(self, fuel: int, cut: CutRuns) -> EndOfPart:
        """Return where the next part ends.

        A file with no rows of other runs between its own is kept, unless it is small. This is so for most files if
        rows come in the order of their key numbers, such as times.
        """
        if self.left <= fuel and self.left < SMALLEST_PART:
            return EndOfPart(tuple(run.rows for run in self.runs), is_file=False)
        rows, end = 0, 0
        for each in _overlapping(self.runs, self.starts, fuel):
            if each.whole and each.rows >= SMALLEST_PART:
                return EndOfPart(self._below(end if rows else each.last + 1), is_file=not rows)
            if rows + each.rows > fuel:
                return EndOfPart(self._below(end) if rows else self._after(fuel, cut), is_file=False)
            rows, end = rows + each.rows, each.last + 1
            if rows >= SMALLEST_PART:
                break
        return EndOfPart(self._below(end), is_file=False)

    def _below(self, number: int) -> tuple[int, ...]:
        """Return how many rows of each run have a smaller key number."""
        return tuple(run.below(number) for run in self.runs)

    def _after(self, fuel: int, cut: CutRuns) -> tuple[int, ...]:
        """Return where a part of about so many rows ends. Rows with one number stay together if these are not many."""
        number = self._number_after(fuel)
        ends = self._below(number + 1)
        if 4 * (sum(ends) - sum(self.starts)) <= 5 * fuel:
            return ends
        before = self._below(number)
        if sum(before) > sum(self.starts):
            return before
        sizes = cut([run.part(*bounds) for run, *bounds in zip(self.runs, self.starts, ends, strict=True)], fuel)
        return ends if sizes is None else tuple(start + more for start, more in zip(self.starts, sizes, strict=True))

    def _number_after(self, fuel: int) -> int:
        """Return the largest key number of about so many rows."""
        some = np.concatenate(
            [
                run.keys.at(start + places_in(run.rows - start, fuel))
                for start, run in zip(self.starts, self.runs, strict=True)
                if start < run.rows
            ]
        )
        return int(some[last_of(some, fuel)])

    def _part(self, ends: tuple[int, ...], join: Callable[[list[Run]], Run]) -> Run:
        """Merge the rows of all runs from where the last part ended up to these ends."""
        slices = [run.part(*bounds) for run, *bounds in zip(self.runs, self.starts, ends, strict=True)]
        there = [each for each in slices if each.rows]
        return _other_run(join(there) if there else slices[0], self.runs)


class _File(NamedTuple):
    """A file of a run, the rest of one, or several files that overlap."""

    first: int
    last: int
    """The key numbers of the first and the last row."""
    rows: int
    whole: bool
    """Whether it is one file, with all of its rows."""


def _overlapping(runs: tuple[Run, ...], starts: tuple[int, ...], most: int) -> Iterator[_File]:
    """Yield the files of runs from these rows on, as one where their key numbers overlap. If such a group has more rows
    than `most`, it is the last one."""
    files = heapq.merge(*map(_files_from, runs, starts))
    joined = next(files)
    for each in files:
        if each.first > joined.last:
            yield joined
            joined = each
        elif joined.rows + each.rows > most:
            yield joined._replace(rows=joined.rows + each.rows, whole=False)
            return
        else:
            joined = _File(joined.first, max(joined.last, each.last), joined.rows + each.rows, False)
    yield joined


def _files_from(run: Run, start: int) -> Iterator[_File]:
    """Yield the files of a run from a row on."""
    ends = run.file_ends
    for place in range(int(np.searchsorted(ends, start, "right")), len(ends)):
        end = int(ends[place])
        first, last = run.keys.at(np.array([start, end - 1])).tolist()
        yield _File(first, last, end - start, start == end - run.files[place].rows)
        start = end


def places_in(rows: int, fuel: int) -> Indices:
    """Return the rows to look at in a sorted run of so many rows, to cut it and others after about `fuel` in all."""
    step = max(1, fuel // SAMPLES)
    return np.arange(max(1, min(step, rows)), min(fuel, rows) + 1, step) - 1


def last_of(ranks: Any, fuel: int) -> int:
    """Return which of the rows at `places_in` all runs is the last one before the cut, given their ranks."""
    place = min(fuel // max(1, fuel // SAMPLES), len(ranks)) - 1
    return int(np.argsort(ranks, kind="stable")[place])


def cut_sorted(columns: list[Any], fuel: int) -> list[int]:
    """Cut sorted columns. Return how many rows of each come before the cut, about so many in all."""
    some = np.concatenate([column[places_in(len(column), fuel)] for column in columns])
    bound = some[last_of(some, fuel)]
    return [int(np.searchsorted(column, bound, "right")) for column in columns]


def _shared(how: tuple[object, ...] | None, parts: tuple[Run, ...], make: Callable[[], Run]) -> Run:
    """Return the run that another trace has computed of these parts in this way; call `make` if none has."""
    return make() if how is None else MERGED.get(how, parts, make)


def group_runs(runs: tuple[Run, ...], merges: tuple[Merge, ...]) -> Iterator[Merge]:
    """Yield all runs in order, grouped by merges. A merge of runs that are no longer there is dropped."""
    started, place = {id(merge.runs[0]): merge for merge in merges}, 0
    while place < len(runs):
        merge = started.get(id(runs[place]))
        if merge is None or not _are_same(merge.runs, runs[place : place + len(merge.runs)]):
            merge = Merge((runs[place],))
        yield merge
        place += len(merge.runs)


def _are_same(one: tuple[Run, ...], other: tuple[Run, ...]) -> bool:
    return len(one) == len(other) and all(map(is_, one, other))


def fuel_of(delta: int, rows: int, pace: float = PACE) -> int:
    """Return how many rows to merge with a delta of so many rows, in a state of so many."""
    return max(SMALLEST_PART, int(delta * pace * max(4.3, log2(1 + rows / delta))))


def merge_small(runs: tuple[Run, ...], join: JoinRuns, how: tuple[object, ...]) -> tuple[Run, ...] | None:
    """Merge the newest of these runs at once, if that is due. Return None if they have so many rows that the merge is
    to be spread over deltas."""
    first = first_due([run.rows for run in runs])
    some = runs[first:]
    if sum([run.rows for run in some]) >= SMALLEST_PART:
        return None
    if not some:
        return runs
    oldest = first == 0
    whole = MERGED.get((*how, oldest), some, lambda: _other_run(join(list(some), oldest=oldest), some))
    return (*runs[:first], whole) if whole.rows else runs[:first]


def _other_run(whole: Run, parts: Sequence[Run]) -> Run:
    """Return a merged run that is none of its parts: what is shared must not refer to them."""
    return whole.copy() if whole in parts else whole


def advance_merges(
    merges: list[Merge],
    fuel: int,
    join: JoinRuns,
    cut: CutRuns,
    how: tuple[object, ...] | None = None,
    ratio: float = RATIO,
) -> list[Merge]:
    """Merge about `fuel` rows.

    1. Begin the merges that are due.
    2. Advance the merge with the fewest rows left by one part.
    3. Repeat until the fuel is used up, or nothing is left to merge.
    """
    least = fuel // SAMPLES
    while fuel > least:
        merges = _begin(merges, ratio)
        waiting = [place for place, merge in enumerate(merges) if len(merge.runs) > 1]
        if not waiting:
            break
        place = min(waiting, key=lambda place: merges[place].left)

        def join_here(runs: list[Run], oldest: bool = place == 0) -> Run:
            return join(runs, oldest=oldest)

        after, cost = merges[place].advance(fuel, join_here, cut, None if how is None else (*how, place == 0))
        fuel -= max(1, cost)
        merges[place : place + 1] = [after] if after.rows else []
    return merges


def first_due(sizes: list[int], ratio: float = RATIO) -> int:
    """Return the oldest of these runs that is to be merged with all newer ones: it has at most so many times their
    rows. The number of runs if there is none."""
    newer, first = 0, len(sizes)
    for place in range(len(sizes) - 1, -1, -1):
        if newer and sizes[place] <= ratio * newer:
            first = place
        newer += sizes[place]
    return first


def _begin(merges: list[Merge], ratio: float) -> list[Merge]:
    """Begin the merges that are due: of a run and all newer ones, if it has at most so many times their rows. A merge
    that has begun separates the runs before it from those after it."""
    begun: list[Merge] = []
    alone: list[Merge] = []
    for merge in [*merges, None]:
        if merge is not None and len(merge.runs) == 1:
            alone.append(merge)
            continue
        first = first_due([each.size for each in alone], ratio)
        begun += [*alone[:first], *([reduce(Merge.append, alone[first:])] if alone[first:] else [])]
        begun += [] if merge is None else [merge]
        alone = []
    return begun
