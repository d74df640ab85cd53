"""Chains of times in ranked traces, and the sessions that they make.

A *chain* is the rows of a key in one run that are less than a gap apart, one from the next. A session of the trace is
made of chains of its runs, unless rows of them are gone. So a change looks at chains, which are few and are found once
for each run, and not at their rows. Only the times that change, and those at which a run takes rows away, are looked at
one by one: they cut chains into *pieces*, all of whose rows are there before and after the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flo.columns.indices import Indices, Mask, bisect_ranges, expand_ranges, largest, one_chunk, take_rows
from flo.columns.windowing import TimeNumbers, are_apart, counted
from flo.tables.state.neighbours import are_told_apart, spans_of
from flo.tables.state.run import Run, starts_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import group_equal_rows
from flo.tables.values import WEIGHT

Moments = npt.NDArray[Any]
"""Times as integers or floats."""
FEW_CHAINS, PER_ROW = 1024, 4
"""With at most so many chains, and so many for each row that changes, all chains of the keys are looked at."""
ROUNDS, PER_ROUND = 8, 1 << 13
"""How often sessions are extended by the chains beside them, before all chains of their keys are looked at; once more
for each so many of these."""
FEW_KEYS, WORTH_A_LOOP = 4, 16
"""With so few keys, or at least so many questions for each, keys are searched one by one."""


@dataclass(frozen=True)
class Spacing:
    """What chains depend on: the column that has the time, and the gap that ends a session."""

    column: str
    gap: Any

    def read(self, run: Run) -> Moments:
        """The time of each row."""
        return TimeNumbers.of("session", one_chunk(run.table[self.column])).numbers

    def are_apart(self, later: Moments, earlier: Moments) -> Mask:
        return are_apart(later, earlier, counted(self.gap))


class Chains(NamedTuple):
    """The chains of a run."""

    times: Moments
    """The time of each row."""
    starts: Indices
    """The first row of each chain, and the number of rows."""
    negative: Indices
    """The rows with a negative weight: they take others away."""

    @classmethod
    def of(cls, run: Run, spacing: Spacing) -> Chains:
        """The chains, which are found once: other operators may hold the same run."""
        known = run.__dict__.setdefault("chains", {})
        if spacing not in known:
            times = spacing.read(run)
            new = np.zeros(run.rows, bool)
            new[starts_of(run.keys.numbers)[:-1]] = True
            new[1:] |= spacing.are_apart(times[1:], times[:-1])
            starts = np.append(np.flatnonzero(new), run.rows)
            known[spacing] = cls(times, starts, np.flatnonzero(numbers_in(run.table, WEIGHT) < 0))
        chains: Chains = known[spacing]
        return chains

    def first(self, which: Indices) -> Moments:
        return self.times[self.starts[which]]

    def last(self, which: Indices) -> Moments:
        return self.times[self.starts[which + 1] - 1]

    def near(
        self, first: Moments, last: Moments, low: Indices, high: Indices, spacing: Spacing
    ) -> tuple[Indices, Indices]:
        """For each span of times, the first chain from `low` to `high` that is in the same session, and the one behind
        the last."""
        begin = bisect_ranges(low, high, lambda which, of: spacing.are_apart(first[of], self.last(which)))
        return begin, bisect_ranges(begin, high, lambda which, of: ~spacing.are_apart(self.first(which), last[of]))


class Stored(NamedTuple):
    """The runs of a trace, and where the rows of some groups are in them."""

    runs: tuple[Run, ...]
    chains: tuple[Chains, ...]
    begins: npt.NDArray[np.int64]
    """By run and group: the first row, and the one behind the last."""
    stops: npt.NDArray[np.int64]

    @classmethod
    def of(cls, runs: tuple[Run, ...], groups: Run, spacing: Spacing) -> Stored:
        return cls(runs, tuple(Chains.of(run, spacing) for run in runs), *spans_of(runs, groups))

    def ties(self, place: int, owners: Indices, times: Moments) -> tuple[Indices, Indices]:
        """The rows of a run with these groups and times, which are sorted: the first, and the one behind the last."""
        column, begins, stops = self.chains[place].times, self.begins[place, owners], self.stops[place, owners]
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        if len(firsts) <= max(FEW_KEYS, len(owners) // WORTH_A_LOOP):
            low, high = np.empty((2, len(owners)), np.int64)
            for first, behind in zip(firsts, np.append(firsts[1:], len(owners)), strict=True):
                there, asked = column[begins[first] : stops[first]], times[first:behind]
                low[first:behind] = begins[first] + np.searchsorted(there, asked)
                high[first:behind] = begins[first] + np.searchsorted(there, asked, "right")
            return low, high
        low = bisect_ranges(begins, stops, lambda rows, which: column[rows] < times[which])
        return low, bisect_ranges(low, stops, lambda rows, which: column[rows] <= times[which])


class Spot(NamedTuple):
    """Rows of a run, in ranges, and the element that each range belongs to."""

    starts: Indices
    ends: Indices
    elements: Indices


class Elements(NamedTuple):
    """What sessions consist of: single times, and pieces of chains. They are sorted by group and by first time."""

    owners: Indices
    first: Moments
    last: Moments
    was: Mask
    """Whether it is there, before the change and after it."""
    now: Mask
    spots: list[Spot]
    """For each run, where its rows are."""
    changed: Indices
    """The element of each row that changes."""

    def sessions(self, there: Mask, spacing: Spacing) -> tuple[Moments, Moments]:
        """The first and the last time of the session of each element, if only some are there; any for the others."""
        firsts, lasts = self.first.copy(), self.last.copy()
        which = np.flatnonzero(there)
        if not len(which):
            return firsts, lasts
        owners, first = self.owners[which], self.first[which]
        values, ranks = np.unique(self.last[which], return_inverse=True)
        reached = np.maximum.accumulate(owners * len(values) + ranks)
        last = values[reached % len(values)]
        new = np.ones(len(which), bool)
        new[1:] = (owners[1:] != owners[:-1]) | spacing.are_apart(first[1:], last[:-1])
        begins = np.flatnonzero(new)
        counts = np.diff(begins, append=len(which))
        firsts[which], lasts[which] = np.repeat(first[begins], counts), np.repeat(last[begins + counts - 1], counts)
        return firsts, lasts


def find_elements(stored: Stored, groups: Run, delta: Run, owners: Indices, spacing: Spacing) -> Elements:
    """What the sessions consist of that a delta may change. `owners` has the group of each row of the delta.

    No row of the trace has a negative weight in all, before the delta and after it. So one is there at a time if the
    sum of the weights is positive.
    """
    chosen = _chosen_chains(stored, delta, owners, spacing)
    if not are_told_apart(stored.runs, groups, stored.begins, stored.stops):
        return _row_by_row(stored, delta, chosen, spacing)
    times, weights = spacing.read(delta), numbers_in(delta.table, WEIGHT)
    asked, moments = [owners], [times]
    for chains, (which, of) in zip(stored.chains, chosen, strict=True):
        low, high = (np.searchsorted(chains.negative, chains.starts[which + more]) for more in (0, 1))
        asked.append(np.repeat(of, high - low))
        moments.append(chains.times[chains.negative[expand_ranges(low, high - low)]])
    order, firsts = _grouped(np.concatenate(asked), np.concatenate(moments))
    single = np.empty(len(order), np.int64)
    single[order] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(order)))
    owner, at = np.concatenate(asked)[order[firsts]], np.concatenate(moments)[order[firsts]]
    ranges, rows = [], [(single[: delta.rows], weights, np.ones(delta.rows, bool))]
    for place, run in enumerate(stored.runs):
        low, high = stored.ties(place, owner, at)
        some = np.flatnonzero(low < high)
        low, high = low[some], high[some]
        ranges.append((low, high, some))
        stored_weights = numbers_in(run.table, WEIGHT)[expand_ranges(low, high - low)]
        rows.append((np.repeat(some, high - low), stored_weights, np.zeros(len(stored_weights), bool)))
    was, now = _presence(rows, len(at))
    return _with_pieces(stored, chosen, ranges, (owner, at, was, now), single[: delta.rows])


Chosen = list[tuple[Indices, Indices]]
"""For each run, chains of it, ascending, and the group of each."""


def _chosen_chains(stored: Stored, delta: Run, owners: Indices, spacing: Spacing) -> Chosen:
    """The chains of sessions that a delta may change."""
    shape = stored.begins.shape
    low, high = np.zeros((2, *shape), np.int64)
    for place, chains in enumerate(stored.chains):
        low[place], high[place] = (np.searchsorted(chains.starts, at[place]) for at in (stored.begins, stored.stops))
    high = np.where(stored.begins < stored.stops, high, low)
    if int((high - low).sum()) <= FEW_CHAINS + PER_ROW * delta.rows:
        return [
            (expand_ranges(low[place], counts), np.repeat(np.arange(shape[1]), counts))
            for place, counts in enumerate(high - low)
        ]
    own = Chains.of(delta, spacing)
    every = np.arange(len(own.starts) - 1)
    groups = owners[own.starts[:-1]]
    begin, end = _extended(stored, own.first(every), own.last(every), low[:, groups], high[:, groups], spacing)
    chosen = []
    for place in range(shape[0]):
        counts = end[place] - begin[place]
        which, first = np.unique(expand_ranges(begin[place], counts), return_index=True)
        chosen.append((which, np.repeat(groups, counts)[first]))
    return chosen


def _extended(
    stored: Stored, first: Moments, last: Moments, low: Indices, high: Indices, spacing: Spacing
) -> tuple[Indices, Indices]:
    """By run and span of times: the first chain from `low` to `high` in the same session, and the one behind the last.
    A session is extended until no chain is near it. If that takes long, all chains are taken."""
    begin, end = low.copy(), low.copy()
    left = np.arange(len(first))
    for _ in range(ROUNDS + int((high - low).max(initial=0)) // PER_ROUND):
        before = first[left], last[left]
        for place, chains in enumerate(stored.chains):
            near = chains.near(first[left], last[left], low[place, left], high[place, left], spacing)
            begin[place, left], end[place, left] = near
            some = left[near[0] < near[1]]
            first[some] = np.minimum(first[some], chains.first(begin[place, some]))
            last[some] = np.maximum(last[some], chains.last(end[place, some] - 1))
        left = left[(first[left] != before[0]) | (last[left] != before[1])]
        if not len(left):
            return begin, end
    begin[:, left], end[:, left] = low[:, left], high[:, left]
    return begin, end


def _with_pieces(
    stored: Stored,
    chosen: Chosen,
    ranges: list[tuple[Indices, Indices, Indices]],
    single: tuple[Indices, Moments, Mask, Mask],
    changed: Indices,
) -> Elements:
    """Single times, and the pieces that they cut chains into. `ranges` has the rows of single times in each run."""
    owner, at, was, now = single
    count, owners, first, last, spots = len(at), [owner], [at], [at], []
    for chains, (which, of), (low, high, some) in zip(stored.chains, chosen, ranges, strict=True):
        starts = np.concatenate([high, chains.starts[which]])  # what is behind a time belongs to its chain
        order = np.argsort(starts, kind="stable")
        starts = starts[order]
        ends = np.sort(np.concatenate([chains.starts[which + 1], low]))
        pieces = np.flatnonzero(starts < ends)
        starts, ends = starts[pieces], ends[pieces]
        owners.append(np.concatenate([owner[some], of])[order[pieces]])
        first.append(chains.times[starts])
        last.append(chains.times[ends - 1])
        numbers = count + np.arange(len(pieces))
        spots.append((np.concatenate([low, starts]), np.concatenate([high, ends]), np.concatenate([some, numbers])))
        count += len(pieces)
    more = np.ones(count - len(at), bool)
    return _sorted(
        (np.concatenate(owners), np.concatenate(first), np.concatenate(last)),
        (np.concatenate([was, more]), np.concatenate([now, more])),
        [Spot(*each) for each in spots],
        changed,
    )


def _row_by_row(stored: Stored, delta: Run, chosen: Chosen, spacing: Spacing) -> Elements:
    """The elements if other groups share a key number: every row is looked at, and belongs to the group of its key."""
    places = [
        np.unique(expand_ranges(chains.starts[which], chains.starts[which + 1] - chains.starts[which]))
        for chains, (which, _) in zip(stored.chains, chosen, strict=True)
    ]
    parts = [take_rows(run.table, some) for run, some in zip(stored.runs, places, strict=True)] + [delta.table]
    keys = pa.concat_tables([part.select(list(delta.columns)) for part in parts]).combine_chunks()
    order, firsts = group_equal_rows(keys)
    owners = np.empty(len(order), np.int64)
    owners[order] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(order)))
    times = [chains.times[some] for chains, some in zip(stored.chains, places, strict=True)]
    moments = np.concatenate([*times, spacing.read(delta)])
    order, firsts = _grouped(owners, moments)
    single = np.empty(len(order), np.int64)
    single[order] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(order)))
    elements = np.split(single, np.cumsum([len(some) for some in places]))
    rows = [
        (of, numbers_in(part, WEIGHT), np.full(len(of), part is delta.table))
        for of, part in zip(elements, parts, strict=True)
    ]
    at = moments[order[firsts]]
    spots = [Spot(some, some + 1, of) for some, of in zip(places, elements, strict=False)]
    return _sorted((owners[order[firsts]], at, at), _presence(rows, len(firsts)), spots, elements[-1])


def _grouped(owners: Indices, times: Moments) -> tuple[Indices, Indices]:
    """The indices that sort by group and time, and where each distinct pair begins."""
    order = np.lexsort((times, owners))
    owners, times = owners[order], times[order]
    new = np.ones(len(order), bool)
    new[1:] = (owners[1:] != owners[:-1]) | (times[1:] != times[:-1])
    return order, np.flatnonzero(new)


def _presence(rows: list[tuple[Indices, Indices, Mask]], count: int) -> tuple[Mask, Mask]:
    """Whether the weights of each of so many elements have a positive sum, without the new ones and with them. The rows
    have an element, a weight, and whether they are new."""
    elements, weights, new = (np.concatenate(each) for each in zip(*rows, strict=True))
    exact: Any = weights.astype(object) if largest(weights) * len(weights) > 2**62 else weights
    was, now = np.zeros((2, count), exact.dtype)
    np.add.at(was, elements[~new], exact[~new])
    np.add.at(now, elements, exact)
    return (was > 0).astype(bool), (now > 0).astype(bool)


def _sorted(
    spans: tuple[Indices, Moments, Moments], there: tuple[Mask, Mask], spots: list[Spot], changed: Indices
) -> Elements:
    owners, first, last = spans
    order = np.lexsort((first, owners))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return Elements(
        owners[order],
        first[order],
        last[order],
        there[0][order],
        there[1][order],
        [Spot(starts, ends, number[elements]) for starts, ends, elements in spots],
        number[changed],
    )
