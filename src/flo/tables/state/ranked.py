"""Ranked traces: rows sorted by group and by an order, so that the first rows of a group are found without a scan.

The first row of a group is its *head*. Here the order is by amount, and the head of ann was 3. Then 3 is retracted:

    run 0                        run 1                       run 2, the delta
    user  amount  weight         user  amount  weight        user  amount  weight
    ann   3       1              ann   5       -1            ann   3       -1
    ann   5       1              ann   8       1
    ann   9       1
    bob   2       1

    weights from 3 on:   3 → 1 - 1 = 0   5 → 1 - 1 = 0   8 → 1: the new head is 8

Invariant: a run is sorted by the number of the group and then by the order, and has a row once. A row exists if its
weights over all runs add up to more than zero.

Before the old head of a group there were no rows, and there are none now unless the delta has them. So every run is
read from there on:

1. Read the first few rows of the group from every run (`Span.first`).
2. Up to the first row after which a run has more rows, the weights are known. If these rows are enough, the group is
   decided (`_decide`).
3. Otherwise read twice as many.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flo.columns.indices import Indices, Mask, bisect_ranges, expand_ranges, has_all, one_chunk, take_rows
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.keys import Keys, find_equal
from flo.tables.state.matching import match_keys
from flo.tables.state.order import Order
from flo.tables.state.run import Run, starts_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Latest, Trace, group_equal_rows, sum_ranges, with_weights
from flo.tables.values import WEIGHT


@dataclass(frozen=True, eq=False)
class Ranked(Trace):
    """A z-set, sorted by group and by an order."""

    order: Order | None = field(default=None)
    """The order. The operator that holds the trace knows it, so it is not stored."""

    term = "ranked"

    @property
    def how(self) -> tuple[object, ...]:
        return (*super().how, self.order)

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        """Merge runs by group and order, and consolidate equal rows, which are adjacent then."""
        if len(runs) == 1:
            return runs[0]
        assert self.order is not None
        table = pa.concat_tables([run.table for run in runs]).combine_chunks()
        starts, numbers = [run.starts for run in runs], [run.keys.numbers for run in runs]
        distinct = [of[start[:-1]] for of, start in zip(numbers, starts, strict=True)]
        every = np.sort(np.concatenate(distinct), kind="stable")  # `np.unique` would not use that parts are sorted
        every = every[starts_of(every)[:-1]]
        groups = np.concatenate(
            [np.repeat(np.searchsorted(every, of), np.diff(start)) for of, start in zip(distinct, starts, strict=True)]
        )
        indices, firsts = self.order.sort(table, groups, in_parts=True)
        keys = Keys(np.concatenate(numbers), all(run.keys.exact for run in runs))
        return _consolidate(self.columns, table, indices, firsts, keys)

    def cut(self, runs: list[Run], fuel: int) -> list[int] | None:
        assert self.order is not None
        return self.order.cut([run.table for run in runs], fuel)

    def table(self) -> pa.Table | None:
        return consolidate_table(pa.concat_tables([run.table for run in self.runs])) if self.runs else None


def ranked_run(
    table: pa.Table, columns: tuple[str, ...], keys: Keys, order: Order, groups: Indices | None = None
) -> Run:
    """Return the rows of a delta as a run, consolidated and sorted by group and order. `groups` has the ranks of the
    key numbers of the rows, where these are known."""
    if groups is None:
        groups = np.unique(keys.numbers, return_inverse=True)[1]
    indices, firsts = order.sort(table, groups)
    return _consolidate(columns, table, indices, firsts, keys)


def _consolidate(columns: tuple[str, ...], table: pa.Table, order: Indices, firsts: Indices, keys: Keys) -> Run:
    """Consolidate rows into a run, given their order and where each distinct row begins in it."""
    weights = sum_ranges(numbers_in(table, WEIGHT)[order], firsts)
    if not has_all(weights):
        kept = np.flatnonzero(weights)
        firsts, weights = firsts[kept], weights[kept]
    rows = order[firsts]
    return Run(columns, Keys(keys.at(rows), keys.exact), with_weights(take_rows(table, rows), weights))


def groups_in(run: Run) -> Run:
    """Return the distinct groups of a run: their key columns, each once."""
    keys = run.table.select(list(run.columns))
    order, firsts = group_equal_rows(keys, run.keys)
    firsts = order[firsts]
    return Run(run.columns, Keys(run.keys.numbers[firsts], run.keys.exact), take_rows(keys, firsts))


def owners_of(groups: Run, rows: Run) -> Indices:
    """Return the group of each row."""
    ours, theirs = match_keys(groups, rows)
    owners = np.empty(rows.rows, np.int64)
    owners[theirs] = ours
    return owners


class Start(NamedTuple):
    """From where on to look for the new heads of groups."""

    stays: Mask
    """For each group, whether its head stays what it was: the rows of the delta are behind it."""
    begin: pa.Array
    """For each group, the first value of the first order column at which it may have changed."""


def start_of(delta: Run, old: Leading | None, groups: Run, order: Order, backwards: bool) -> Start:
    """Return from where on to look for heads, after a delta. With `backwards` its order is the opposite one."""
    stays = np.zeros(groups.rows, bool)
    starts = delta.starts
    if len(starts) != groups.rows + 1:  # some groups share a number
        return Start(stays, DeltaWithHeads.of(delta, old, groups, order).begin(order))
    firsts = starts[1:] - 1 if backwards else starts[:-1]
    values = one_chunk(delta.table[order.columns[0]]).take(pa.array(firsts))
    if old is not None:
        heads = one_chunk(old.table[order.columns[0]])
        stays[old.groups[order.before(heads, values.take(pa.array(old.groups)))]] = True
    return Start(stays, values)


class Leading(NamedTuple):
    """The first rows of groups."""

    table: pa.Table
    groups: Indices
    """The group of each row."""
    times: Indices
    """How often each row is among the first ones of its group."""

    def only(self, which: Mask) -> Leading:
        rows = np.flatnonzero(which[self.groups])
        return (
            self
            if len(rows) == len(self.groups)
            else Leading(take_rows(self.table, rows), self.groups[rows], self.times[rows])
        )

    def append(self, other: Leading) -> Leading:
        """Return these rows, and behind them those of other groups."""
        tables = pa.concat_tables([self.table, other.table.select(self.table.column_names)])
        return Leading(tables, np.concatenate([self.groups, other.groups]), np.concatenate([self.times, other.times]))


@dataclass(frozen=True, eq=False)
class Heads(Latest):
    """The first row of each group. A weight of zero says that a group has no rows any more."""

    term = "heads"

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        """Keep the newest head of each group, and drop groups without rows if nothing older is left that they hide."""
        whole = super().join(runs, fully=fully)
        if not (oldest or fully):  # older runs may have the groups that are no more
            return whole
        there = np.flatnonzero(numbers_in(whole.table, WEIGHT))
        return whole if len(there) == whole.rows else whole.take(there)

    def of(self, groups: Run) -> Leading | None:
        """Return the heads of these groups; None if there are none."""
        indices, rows = self.look_up(groups)
        if rows is None:
            return None
        there = np.flatnonzero(rows[WEIGHT].to_numpy())
        if not len(there):
            return None
        return Leading(take_rows(rows, there), indices[there], np.ones(len(there), np.int64))

    def update(self, old: Leading | None, new: Leading | None, groups: Run) -> Heads:
        """Return the heads with the new ones of these groups in place of the old ones."""
        first, last = (_index_heads(head, groups.rows) for head in (old, new))
        gone = np.flatnonzero((first >= 0) & (last < 0))
        come = np.flatnonzero(last >= 0)
        if old is not None and new is not None:
            both = np.flatnonzero((first >= 0) & (last >= 0))
            names = [name for name in new.table.column_names if name not in (*groups.columns, WEIGHT)]
            one, other = take_rows(old.table.select(names), first[both]), take_rows(new.table.select(names), last[both])
            come = np.setdiff1d(come, both[find_equal(one.columns, other.columns)], assume_unique=True)
        parts = [
            with_weights(take_rows(head.table, places[which]), np.full(len(which), weight))
            for head, places, which, weight in ((old, first, gone, 0), (new, last, come, 1))
            if head is not None and len(which)
        ]
        if not parts:
            return self
        which = np.concatenate([gone, come])
        order = np.argsort(which)
        keys = Keys(groups.keys.at(which[order]), groups.keys.exact)
        run = Run(groups.columns, keys, take_rows(pa.concat_tables(parts), order))
        return replace(self, columns=groups.columns).extend(run)


def _index_heads(head: Leading | None, count: int) -> Indices:
    """Return for each of so many groups the index of its head; -1 if it has none."""
    places = np.full(count, -1)
    if head is not None:
        places[head.groups] = np.arange(len(head.groups))
    return places


def heads_of(heads: Trace, groups: Run) -> Leading | None:
    """Return the stored heads of these groups; None if there are none."""
    met = [(run, *match_keys(groups, run)) for run in heads]
    if not sum(len(ours) for _, ours, _ in met):
        return None
    tables = [
        take_rows(run.table, theirs).append_column(OWNER, pa.array(ours, pa.int64())) for run, ours, theirs in met
    ]
    table = consolidate_table(pa.concat_tables(tables))
    return Leading(table.drop_columns([OWNER]), numbers_in(table, OWNER), numbers_in(table, WEIGHT))


OWNER = "=group"


class DeltaWithHeads(NamedTuple):
    """The rows of a delta, and the old heads of its groups."""

    table: pa.Table
    groups: Indices
    """The group of each row."""
    in_order: Indices
    """The indices of the rows by group and order."""

    @classmethod
    def of(cls, delta: Run, old: Leading | None, groups: Run, order: Order) -> DeltaWithHeads:
        """Return the rows of a delta and the old heads of these groups, and sort them."""
        ours, indices = match_keys(groups, delta)
        parts, owners = [take_rows(delta.table, indices)], [ours]
        if old is not None:
            parts, owners = [*parts, old.table], [*owners, old.groups]
        table, owner = pa.concat_tables(parts).combine_chunks(), np.concatenate(owners)
        return cls(table, owner, order.sort(table, owner)[0])

    def begin(self, order: Order) -> pa.Array:
        """Return for each group the first value of the first order column at which it may have changed."""
        owners = self.groups[self.in_order]
        firsts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]])[: len(owners)])
        return one_chunk(self.table[order.columns[0]]).take(pa.array(self.in_order[firsts]))


def find_leading(
    runs: list[Run], groups: Run, count: int, order: Order, begin: pa.Array, ties: int | None = None
) -> Leading | None:
    """Return the first `count` rows of each group, searched from `begin` on; None if there are no rows.

    With `ties`, rows that are equal to the last of them in so many columns of the order follow it.
    """
    return first_rows([Span.of(run, groups).since(begin, order) for run in runs], groups, count, order, ties)


def find_nearest(runs: list[Run], queries: Run, at: pa.Array, order: Order) -> Leading | None:
    """Return for each query the first row of its group that is not before a value; None if there are no rows.

    A query has the columns of a group, under any names, and `at` its value of the first order column. Groups may occur
    again.
    """
    if not runs:
        return None
    columns = runs[0].columns
    groups = queries.table.select(list(queries.columns)).rename_columns(list(columns))
    queries = Run(columns, queries.keys, groups)
    spans = [Span.of(run, queries).since(at, order) for run in runs]
    return first_rows(spans, queries, 1, order)


def first_rows(spans: list[Span], groups: Run, count: int, order: Order, ties: int | None = None) -> Leading | None:
    """Return the first `count` rows of each group in these ranges; None if there are no rows."""
    undecided, window, parts = np.zeros(groups.rows, bool), max(count, 1), []
    for span in spans:
        undecided[span.groups] = True
    while undecided.any():
        seen = [part for part in (span.first(window, undecided) for span in spans) if len(part.groups)]
        undecided = np.zeros(groups.rows, bool)
        if seen:
            heads, open_groups = _decide(seen, groups, count, order, ties)
            parts.append(heads)
            undecided[open_groups] = True
        window *= 2
    if not parts:
        return None
    tables, which, times = zip(*parts, strict=True)
    return Leading(pa.concat_tables(tables).combine_chunks(), np.concatenate(which), np.concatenate(times))


FEW, WORTH_NUMBERS = 64, 16
"""With at most so many ranges, or so many values to find in each, a search in each range is faster than one in all."""


class _Seen(NamedTuple):
    """The rows of a run that were read."""

    table: pa.Table
    groups: Indices
    """The group of each row."""
    edge: Indices
    """1 for a row after which the run has more rows of the group; otherwise 0."""


class Span(NamedTuple):
    """The rows of groups in a run: a range for each group that it has."""

    run: Run
    groups: Indices
    """The group of each range."""
    starts: Indices
    """The first row of each range."""
    ends: Indices
    """The row behind the last."""
    backwards: bool = False
    """Whether the run is sorted in the opposite of the order, and is read from the end."""

    @classmethod
    def of(cls, run: Run, groups: Run) -> Span:
        """Return the ranges of groups, with rows of other groups that have the same key number."""
        present, starts, counts = run.find(groups.keys.numbers)
        return cls(run, present, starts, starts + counts)

    @classmethod
    def of_groups(cls, run: Run, groups: Run) -> Span:
        """Return the ranges of groups, without rows of other groups that have the same key number."""
        span = cls.of(run, groups)
        if run.keys.exact and groups.keys.exact:
            return span
        if not run.mixed:
            names = list(groups.columns)
            firsts, ours = take_rows(run.table.select(names), span.starts), take_rows(groups.table, span.groups)
            return span.select(np.flatnonzero(find_equal(firsts.columns, ours.select(names).columns)))
        ours, theirs = match_keys(groups, run)
        order = np.lexsort((theirs, ours))
        which, starts, counts = np.unique(ours[order], return_index=True, return_counts=True)
        return cls(run.take(theirs[order]), which, starts, starts + counts)

    def renumber(self, more: int) -> Span:
        """Return the same ranges, of groups whose numbers are greater by `more`."""
        return self._replace(groups=self.groups + more)

    def only(self, which: Mask) -> Span:
        return self.select(np.flatnonzero(which[self.groups]))

    def select(self, rows: Indices) -> Span:
        return self._replace(groups=self.groups[rows], starts=self.starts[rows], ends=self.ends[rows])

    def since(self, begin: pa.Array, order: Order) -> Span:
        """Return the ranges without rows before `begin`. All of them go: one run may have a row, and another one its
        retraction."""
        column = one_chunk(self.run.table[order.columns[0]])
        there, asked = order.numbers_in_place(column), order.numbers_in_place(begin)
        if there is None or asked is None or there.dtype != asked.dtype:

            def is_before(rows: Indices, which: Indices) -> Mask:
                before = order.before(column.take(pa.array(rows)), begin.take(pa.array(self.groups[which])))
                return ~before if self.backwards else before

            places = bisect_ranges(self.starts, self.ends, is_before)
        else:
            places = self._search(there, asked, order)
        return self._replace(ends=places) if self.backwards else self._replace(starts=places)

    def _search(self, there: npt.NDArray[Any], asked: npt.NDArray[Any], order: Order) -> Indices:
        """Return where the ranges begin, or end if they are read backwards, given the numbers of the run and those to
        begin at."""
        if not len(self.groups):
            return self.starts
        new = np.flatnonzero(np.diff(self.starts, prepend=-1) | np.diff(self.ends, prepend=-1))
        if len(new) > FEW and len(new) * WORTH_NUMBERS > len(self.groups):

            def is_before(rows: Indices, which: Indices) -> Mask:
                before = order.is_before(there[rows], asked[self.groups[which]])
                return ~before if self.backwards else before

            return bisect_ranges(self.starts, self.ends, is_before)
        places, descending = np.empty(len(self.groups), np.int64), order.directions[0]
        for first, behind in zip(new.tolist(), [*new[1:].tolist(), len(self.groups)], strict=True):
            start, end = int(self.starts[first]), int(self.ends[first])
            upwards = there[start:end] if descending == self.backwards else there[start:end][::-1]
            bounds = asked[self.groups[first:behind]]
            if descending:
                kept = np.searchsorted(upwards, bounds, "right")
            else:
                kept = end - start - np.searchsorted(upwards, bounds)
            places[first:behind] = start + kept if self.backwards else end - kept
        return places

    def first(self, window: int, wanted: Indices) -> _Seen:
        """Read the first `window` rows of the wanted groups."""
        here = wanted[self.groups] & (self.starts < self.ends)
        groups, starts, ends = self.groups[here], self.starts[here], self.ends[here]
        counts = np.minimum(ends - starts, window)
        indices = expand_ranges(ends - counts if self.backwards else starts, counts)
        edge = np.zeros(len(indices), np.int64)
        edge[np.cumsum(counts) - (counts if self.backwards else 1)] = counts < ends - starts
        return _Seen(take_rows(self.run.table, indices), np.repeat(groups, counts), edge)


def _decide(
    seen: list[_Seen], groups: Run, count: int, order: Order, ties: int | None = None
) -> tuple[Leading, Indices]:
    """Return the first rows of the groups that the rows seen so far decide, and the groups that they do not.

    Up to the first row after which a run has more rows, every row was seen in all runs, and its weight is known.
    """
    table = pa.concat_tables([part.table for part in seen]).combine_chunks()
    which = np.concatenate([part.groups for part in seen])
    weights = numbers_in(table, WEIGHT)
    if not groups.keys.exact:  # ignore rows of other groups with the same key number
        ours = take_rows(groups.table, which)
        weights = np.where(
            find_equal([table[n] for n in groups.columns], [ours[n] for n in groups.columns]), weights, 0
        )
    indices, firsts = order.sort(table, which, in_parts=True)
    sums = sum_ranges(weights[indices], firsts)
    owner = which[indices[firsts]]
    rows = np.arange(len(firsts))
    begins = np.concatenate([[True], owner[1:] != owner[:-1]])
    head = np.flatnonzero(begins)
    more = np.maximum.reduceat(np.concatenate([part.edge for part in seen])[indices], firsts) > 0
    horizon = np.minimum.reduceat(np.where(more, rows, len(rows)), head)
    nth = np.cumsum(begins) - 1
    there = np.where((rows <= horizon[nth]) & (sums > 0), np.minimum(sums, max(count, 0)), 0)
    running = np.cumsum(there)
    before = running - there - (running - there)[head][nth]
    if ties is None:
        enough = (np.add.reduceat(there, head) >= count) | (horizon == len(rows))
        times = np.clip(count - before, 0, there) * enough[nth]
    else:
        new = begins | order.find_changes(take_rows(table.select(list(order.columns)), indices[firsts]), ties)
        before = before[np.flatnonzero(new)][np.cumsum(new) - 1]
        behind = (before >= count) & (rows <= horizon[nth])
        enough = np.logical_or.reduceat(behind, head) | (horizon == len(rows))
        times = np.where((there > 0) & (before < count), sums, 0) * enough[nth]
    chosen = np.flatnonzero(times)
    heads = Leading(take_rows(table, indices[firsts[chosen]]), owner[chosen], times[chosen])
    return heads, owner[head][~enough]
