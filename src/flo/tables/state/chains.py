"""Chains of times in ranked traces, and the sessions that they form.

A *chain* is the rows of a key in one run that are less than a gap apart, one from the next. A session of the trace
consists of chains of its runs. Here the gap is 10, and the key ann has rows at these times in two runs:

    run 0:   1  5  8        40 44            chains [1, 8] and [40, 44]
    run 1:           16                      chain [16, 16]
    sessions: [1, 16] and [40, 44]           8 and 16 are less than 10 apart

Now a delta retracts the row at 8. The time 8 is looked at by itself, and cuts its chain into a *piece*:

    elements:  [1, 5]  8  [16, 16]  [40, 44]
    was:        yes   yes  yes       yes     sessions [1, 16] and [40, 44]
    now:        yes   no   yes       yes     sessions [1, 5], [16, 16] and [40, 44]: the first one has split

Invariant: all rows of a piece are there before and after the change. So a change looks at chains, which are few and are
computed once for each run, and not at their rows. Only the times that change, and those at which a run retracts rows,
are looked at one by one.

1. Choose the chains of sessions that the delta may change (`_choose_chains`).
2. Add up the weights at the single times, before the delta and after it (`_find_present`).
3. Cut the chains at these times into pieces (`_cut_chains`).
4. Join elements that are less than a gap apart into sessions (`SessionElements.find_sessions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Mask, bisect_ranges, expand_ranges, largest, one_chunk, take_rows
from flo.columns.windowing import TimeNumbers, are_apart
from flo.core.untyped import TimeValue
from flo.tables.state.expiring import Times
from flo.tables.state.neighbours import find_ranges, have_own_numbers
from flo.tables.state.run import Owned, Ranges, Run, starts_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import group_equal_rows
from flo.tables.values import WEIGHT
from flo.values.event_time import span_of

FEW_CHAINS, PER_ROW = 1024, 4
"""With at most so many chains, and so many more for each row that changes, all chains of the keys are chosen."""
ROUNDS, PER_ROUND = 8, 1 << 13
"""How often sessions are extended by the chains beside them, before all chains of their keys are chosen; once more for
each so many of these."""
FEW_KEYS, WORTH_A_LOOP = 4, 16
"""With at most so few keys, or at least so many times to find for each, keys are searched one by one."""


@dataclass(frozen=True)
class Spacing:
    """The column that has the time, and the gap that ends a session."""

    column: str
    gap: TimeValue

    def read(self, run: Run) -> Times:
        return TimeNumbers.of("session", one_chunk(run.table[self.column])).numbers

    def are_apart(self, later: Times, earlier: Times) -> Mask:
        """Return which pairs of times are a gap or more apart."""
        return are_apart(later, earlier, span_of(self.gap))


class Chains(NamedTuple):
    """The chains of a run."""

    times: Times
    """The time of each row."""
    starts: Indices
    """The first row of each chain, and at the end the number of rows."""
    negative: Indices
    """The rows with a negative weight: they retract rows of other runs."""

    @classmethod
    def of(cls, run: Run, spacing: Spacing) -> Chains:
        """Return the chains of a run. They are computed once: other operators may hold the same run."""
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

    def first(self, which: Indices) -> Times:
        return self.times[self.starts[which]]

    def last(self, which: Indices) -> Times:
        return self.times[self.starts[which + 1] - 1]

    def find_near(self, first: Times, last: Times, within: Ranges, spacing: Spacing) -> Ranges:
        """Return for each span of times the chains in a range that are less than a gap from it."""
        low, high = within
        begin = bisect_ranges(low, high, lambda which, of: spacing.are_apart(first[of], self.last(which)))
        end = bisect_ranges(begin, high, lambda which, of: ~spacing.are_apart(self.first(which), last[of]))
        return Ranges(begin, end)


class Stored(NamedTuple):
    """The runs of a trace, and where the rows of some groups are in them."""

    runs: tuple[Run, ...]
    chains: tuple[Chains, ...]
    """The chains of each run."""
    where: Ranges
    """By run and group: its rows."""

    @classmethod
    def of(cls, runs: tuple[Run, ...], groups: Run, spacing: Spacing) -> Stored:
        """Find these groups in the runs of a trace."""
        return cls(runs, tuple(Chains.of(run, spacing) for run in runs), find_ranges(runs, groups))

    def find_ties(self, place: int, owners: Indices, times: Times) -> Ranges:
        """Return for each of these groups and times, which are sorted, the rows of a run with both."""
        column, (begins, stops) = self.chains[place].times, (each[place, owners] for each in self.where)
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        if len(firsts) <= max(FEW_KEYS, len(owners) // WORTH_A_LOOP):
            low, high = np.empty((2, len(owners)), np.int64)
            for first, behind in zip(firsts, np.append(firsts[1:], len(owners)), strict=True):
                there, asked = column[begins[first] : stops[first]], times[first:behind]
                low[first:behind] = begins[first] + np.searchsorted(there, asked)
                high[first:behind] = begins[first] + np.searchsorted(there, asked, "right")
            return Ranges(low, high)
        low = bisect_ranges(begins, stops, lambda rows, which: column[rows] < times[which])
        return Ranges(low, bisect_ranges(low, stops, lambda rows, which: column[rows] <= times[which]))


class Spot(NamedTuple):
    """Ranges of rows of a run, and the element that each belongs to."""

    starts: Indices
    ends: Indices
    elements: Indices


class SessionBounds(NamedTuple):
    """The first and the last time of a session, for each element."""

    first: Times
    last: Times


class SessionElements(NamedTuple):
    """The elements of sessions: single times, and pieces of chains."""

    owners: Indices
    """The group of each element."""
    first: Times
    """The first and the last time of each element."""
    last: Times
    was: Mask
    """Whether rows of the element are there, before the change and after it."""
    now: Mask
    spots: list[Spot]
    """For each run, the rows of elements."""
    changed: Indices
    """The element of each row that changes."""

    def sort(self) -> SessionElements:
        """Return the elements sorted by group and by first time."""
        order = np.lexsort((self.first, self.owners))
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        return SessionElements(
            self.owners[order],
            self.first[order],
            self.last[order],
            self.was[order],
            self.now[order],
            [spot._replace(elements=number[spot.elements]) for spot in self.spots],
            number[self.changed],
        )

    def find_sessions(self, there: Mask, spacing: Spacing) -> SessionBounds:
        """Return the session of each element that is there; anything for the others. The elements must be sorted."""
        firsts, lasts = self.first.copy(), self.last.copy()
        which = np.flatnonzero(there)
        if not len(which):
            return SessionBounds(firsts, lasts)
        owners, first = self.owners[which], self.first[which]
        values, ranks = np.unique(self.last[which], return_inverse=True)
        reached = np.maximum.accumulate(owners * len(values) + ranks)
        last = values[reached % len(values)]
        new = np.ones(len(which), bool)
        new[1:] = (owners[1:] != owners[:-1]) | spacing.are_apart(first[1:], last[:-1])
        begins = np.flatnonzero(new)
        counts = np.diff(begins, append=len(which))
        firsts[which], lasts[which] = np.repeat(first[begins], counts), np.repeat(last[begins + counts - 1], counts)
        return SessionBounds(firsts, lasts)


def find_elements(stored: Stored, groups: Run, delta: Run, owners: Indices, spacing: Spacing) -> SessionElements:
    """Return the elements of the sessions that a delta may change, sorted. `owners` has the group of each row of it.

    No row of the trace has a negative weight in all, before the delta and after it. So a row is there at a time if the
    sum of the weights at that time is positive.
    """
    chosen = _choose_chains(stored, delta, owners, spacing)
    if not have_own_numbers(stored.runs, groups, stored.where):
        return _compare_rows(stored, delta, chosen, spacing)
    times, weights = spacing.read(delta), numbers_in(delta.table, WEIGHT)
    asked, moments = [owners], [times]
    for chains, (which, of) in zip(stored.chains, chosen, strict=True):  # the times of retractions
        low, high = (np.searchsorted(chains.negative, chains.starts[which + more]) for more in (0, 1))
        asked.append(np.repeat(of, high - low))
        moments.append(chains.times[chains.negative[expand_ranges(low, high - low)]])
    distinct = _group(np.concatenate(asked), np.concatenate(moments))
    owner, at = distinct.owners, distinct.times
    changed = distinct.numbers[: delta.rows]
    spots, rows = [], [_Weights(changed, weights, np.ones(delta.rows, bool))]
    for place, run in enumerate(stored.runs):
        low, high = stored.find_ties(place, owner, at)
        some = np.flatnonzero(low < high)
        low, high = low[some], high[some]
        spots.append(Spot(low, high, some))
        stored_weights = numbers_in(run.table, WEIGHT)[expand_ranges(low, high - low)]
        rows.append(_Weights(np.repeat(some, high - low), stored_weights, np.zeros(len(stored_weights), bool)))
    was, now = _find_present(rows, len(at))
    return _cut_chains(stored, chosen, SessionElements(owner, at, at, was, now, spots, changed))


def _choose_chains(stored: Stored, delta: Run, owners: Indices, spacing: Spacing) -> list[Owned]:
    """Return for each run the chains of sessions that a delta may change: all chains of its groups if these are few."""
    shape = stored.where.starts.shape
    low, high = np.zeros((2, *shape), np.int64)
    for place, chains in enumerate(stored.chains):
        low[place], high[place] = (np.searchsorted(chains.starts, at[place]) for at in stored.where)
    high = np.where(stored.where.counts > 0, high, low)
    if int((high - low).sum()) <= FEW_CHAINS + PER_ROW * delta.rows:
        return [
            Owned(expand_ranges(low[place], counts), np.repeat(np.arange(shape[1]), counts))
            for place, counts in enumerate(high - low)
        ]
    own = Chains.of(delta, spacing)
    every = np.arange(len(own.starts) - 1)
    groups = owners[own.starts[:-1]]
    within = Ranges(low[:, groups], high[:, groups])
    near = _extend(stored, own.first(every), own.last(every), within, spacing)
    return [Ranges(*each).list_once(groups) for each in zip(*near, strict=True)]


def _extend(stored: Stored, first: Times, last: Times, within: Ranges, spacing: Spacing) -> Ranges:
    """Return by run and span of times the chains in a range that are in the same session.

    A span is extended by the chains near it, until there are no more. If that takes long, all chains are taken.
    """
    low, high = within
    begin, end = low.copy(), low.copy()
    left = np.arange(len(first))
    for _ in range(ROUNDS + int((high - low).max(initial=0)) // PER_ROUND):
        before = first[left], last[left]
        for place, chains in enumerate(stored.chains):
            near = chains.find_near(first[left], last[left], Ranges(low[place, left], high[place, left]), spacing)
            begin[place, left], end[place, left] = near
            some = left[near.counts > 0]
            first[some] = np.minimum(first[some], chains.first(begin[place, some]))
            last[some] = np.maximum(last[some], chains.last(end[place, some] - 1))
        left = left[(first[left] != before[0]) | (last[left] != before[1])]
        if not len(left):
            return Ranges(begin, end)
    begin[:, left], end[:, left] = low[:, left], high[:, left]
    return Ranges(begin, end)


def _cut_chains(stored: Stored, chosen: list[Owned], single: SessionElements) -> SessionElements:
    """Return elements that are single times, and the pieces that they cut chains into."""
    count, owners, first, last, spots = len(single.first), [single.owners], [single.first], [single.last], []
    for chains, (which, of), (low, high, some) in zip(stored.chains, chosen, single.spots, strict=True):
        starts = np.concatenate([high, chains.starts[which]])  # what is behind a time belongs to its chain
        order = np.argsort(starts, kind="stable")
        starts = starts[order]
        ends = np.sort(np.concatenate([chains.starts[which + 1], low]))
        pieces = np.flatnonzero(starts < ends)
        starts, ends = starts[pieces], ends[pieces]
        owners.append(np.concatenate([single.owners[some], of])[order[pieces]])
        first.append(chains.times[starts])
        last.append(chains.times[ends - 1])
        numbers = count + np.arange(len(pieces))
        spots.append(Spot(np.concatenate([low, starts]), np.concatenate([high, ends]), np.concatenate([some, numbers])))
        count += len(pieces)
    more = np.ones(count - len(single.first), bool)
    return SessionElements(
        np.concatenate(owners),
        np.concatenate(first),
        np.concatenate(last),
        np.concatenate([single.was, more]),
        np.concatenate([single.now, more]),
        spots,
        single.changed,
    ).sort()


def _compare_rows(stored: Stored, delta: Run, chosen: list[Owned], spacing: Spacing) -> SessionElements:
    """Return the elements if other groups share a key number: the time of every row is one, and each row is compared to
    tell its group."""
    places = [
        np.unique(expand_ranges(chains.starts[which], chains.starts[which + 1] - chains.starts[which]))
        for chains, (which, _) in zip(stored.chains, chosen, strict=True)
    ]
    parts = [take_rows(run.table, some) for run, some in zip(stored.runs, places, strict=True)] + [delta.table]
    keys = pa.concat_tables([part.select(list(delta.columns)) for part in parts]).combine_chunks()
    owners = group_equal_rows(keys).numbers()
    times = [chains.times[some] for chains, some in zip(stored.chains, places, strict=True)]
    moments = np.concatenate([*times, spacing.read(delta)])
    distinct = _group(owners, moments)
    elements = np.split(distinct.numbers, np.cumsum([len(some) for some in places]))
    rows = [
        _Weights(of, numbers_in(part, WEIGHT), np.full(len(of), part is delta.table))
        for of, part in zip(elements, parts, strict=True)
    ]
    at = distinct.times
    spots = [Spot(some, some + 1, of) for some, of in zip(places, elements, strict=False)]
    return SessionElements(distinct.owners, at, at, *_find_present(rows, len(at)), spots, elements[-1]).sort()


class _Distinct(NamedTuple):
    """Distinct pairs of a group and a time, sorted."""

    owners: Indices
    times: Times
    numbers: Indices
    """For each pair as it was given, which of the distinct ones it is."""


def _group(owners: Indices, times: Times) -> _Distinct:
    """Return the distinct pairs of a group and a time."""
    order = np.lexsort((times, owners))
    owners, times = owners[order], times[order]
    new = np.ones(len(order), bool)
    new[1:] = (owners[1:] != owners[:-1]) | (times[1:] != times[:-1])
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(new) - 1
    return _Distinct(owners[new], times[new], numbers)


class _Weights(NamedTuple):
    """The weights of rows at single times."""

    elements: Indices
    """The number of the time of each row."""
    weights: Indices
    new: Mask
    """Whether a row is of the delta."""


def _find_present(rows: list[_Weights], count: int) -> tuple[Mask, Mask]:
    """Return whether the weights of each of so many elements have a positive sum, before the delta and after it."""
    elements, weights, new = (np.concatenate(each) for each in zip(*rows, strict=True))
    exact: Any = weights.astype(object) if largest(weights) * len(weights) > 2**62 else weights
    was, now = np.zeros((2, count), exact.dtype)
    np.add.at(was, elements[~new], exact[~new])
    np.add.at(now, elements, exact)
    return (was > 0).astype(bool), (now > 0).astype(bool)
