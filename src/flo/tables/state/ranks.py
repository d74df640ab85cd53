"""Order statistics: the value at a rank of a group, found without reading the group.

The values of groups are in runs that are sorted by group and value (ranked.py). `before` is the sum of the weights of
the rows before. One group has the values 2 4 4 5 9 12 12 20 30, and the one at rank 4 is asked for:

    run 0:  value   2   5   9   12  30        run 1:  value   4   12  20
            weight  1   1   1   1   1                 weight  2   1   1
            before  0   1   2   3   4                 before  0   2   3

    before 9:   2 in run 0 and 2 in run 1, together 4: the value at rank 4 is not before 9
    before 12:  3 in run 0 and 2 in run 1, together 5: it is before 12, so it is 9

Invariant: for every value, the weights over all runs add up to zero or more. Otherwise the sums would not increase, and
a search would miss. So what retractions take that has not been inserted yet is kept apart, as *owed*: see `settle`.

To find a rank, the range of every run that it may be in is cut at the same values, until few rows are left to be read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Mask, expand_ranges, one_chunk, take_rows
from flo.tables.state.order import Order
from flo.tables.state.ranked import Span
from flo.tables.state.run import Run
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, sum_ranges, weigh, weight_overflow
from flo.tables.values import WEIGHT

MOST = 1 << 9
"""How many rows of a group are read at once."""
PIVOTS = 1 << 6
"""How many values are looked up at a time, to cut down the ranges of a group."""
OWNER = "=owner"
"""The column with the group of a row."""


class Settled(NamedTuple):
    """A delta in two."""

    present: Run
    """How the weights of values that are present change."""
    owed: Run
    """How the weights of values that are owed change, with the opposite sign."""


def settle(delta: Run, present: Trace, owed: Trace, order: Order) -> Settled:
    """Split a sorted delta into changes of the values that are present, and of those that are owed.

    A value whose weights add up to 2 is present with weight 2; one whose weights add up to -3 is owed with weight 3. A
    value is never in both. So insertions pay first what is owed, and retractions owe what is not present.
    """
    weights = numbers_in(delta.table, WEIGHT)
    if delta.rows and weights.min() == np.iinfo(np.int64).min:  # which cannot be owed
        raise weight_overflow()
    paid = np.minimum(weights, _weights_in(owed, delta, weights > 0, order))
    taken = np.minimum(-weights, _weights_in(present, delta, weights < 0, order))
    owing = np.where(weights > 0, -paid, -weights - taken)
    return Settled(weigh(delta, weights + owing), weigh(delta, owing))


def _weights_in(trace: Trace, rows: Run, which: Mask, order: Order) -> Indices:
    """Return the weights that some of the rows of a sorted delta have in a trace; 0 for the others."""
    weights, asked = np.zeros(rows.rows, np.int64), np.flatnonzero(which)
    if not len(asked) or not trace.runs:
        return weights
    some = rows.take(asked)
    values = one_chunk(some.table[order.columns[0]])
    for run in trace:
        span = Span.of_groups(run, some).since(values, order)
        span = span.select(np.flatnonzero(span.starts < span.ends))
        theirs = one_chunk(span.run.table[order.columns[0]]).take(pa.array(span.starts))
        equal = ~order.before(values.take(pa.array(span.groups)), theirs)
        weights[asked[span.groups[equal]]] += numbers_in(span.run.table, WEIGHT)[span.starts[equal]]
    return weights


class _Sorted(NamedTuple):
    """The distinct values of groups, by group and in order."""

    values: pa.Array
    until: Indices
    """How many values there are up to each one, of all groups. A value counts as often as its weight says."""
    before: Indices
    """How many values there are before those of each group."""

    @classmethod
    def of(cls, spans: list[Span], count: int, order: Order) -> _Sorted:
        """Read and sort the rows of these ranges, of so many groups."""
        names, tables = [*order.columns, WEIGHT], []
        for span in spans:
            sizes = span.ends - span.starts
            rows = take_rows(span.run.table.select(names), expand_ranges(span.starts, sizes))
            tables.append(rows.append_column(OWNER, pa.array(np.repeat(span.groups, sizes), pa.int64())))
        table = pa.concat_tables(tables).combine_chunks()
        owners = numbers_in(table, OWNER)
        indices, firsts = replace(order, group_columns=()).sort(table, owners, in_parts=True)
        until = np.cumsum(sum_ranges(numbers_in(table, WEIGHT)[indices], firsts))
        rows = indices[firsts]
        before = np.concatenate([[0], until])[np.searchsorted(owners[rows], np.arange(count))]
        return cls(one_chunk(table[order.columns[0]]).take(pa.array(rows)), until, before)

    def at(self, groups: Indices, ranks: Indices) -> pa.Array:
        return self.values.take(pa.array(np.searchsorted(self.until, self.before[groups] + ranks, "right")))


@dataclass(frozen=True, eq=False)
class ByRank:
    """The values of groups, which can be asked for the value at a rank. The values of small groups are read and sorted;
    those of large ones are searched."""

    spans: list[Span]
    """The ranges of groups in runs; the weights of a value add up to zero or more."""
    count: int
    """How many groups there are."""
    order: Order
    """Of the runs, by one column."""

    @cached_property
    def _starts(self) -> Indices:
        """By run and group, the first row."""
        return self._by_group([span.starts for span in self.spans])

    @cached_property
    def _ends(self) -> Indices:
        """By run and group, the row behind the last."""
        return self._by_group([span.ends for span in self.spans])

    def _by_group(self, each: list[Indices]) -> Indices:
        """Return numbers of ranges by run and group; 0 where a run has no range of a group."""
        by_group = np.zeros((len(self.spans), self.count), np.int64)
        for row, span, places in zip(by_group, self.spans, each, strict=True):
            row[span.groups] = places
        return by_group

    @cached_property
    def _are_large(self) -> Mask:
        """For each group, whether it has more rows than are read at once."""
        large: Mask = (self._ends - self._starts).sum(axis=0) > MOST
        return large

    def _weights_before(self, rows: Indices) -> Indices:
        """Return the sums of the weights before rows, which are given by run, over all runs."""
        before = np.zeros(rows.shape[1:], np.int64)
        for span, each in zip(self.spans, rows, strict=True):
            before += span.run.weight_before(each)
        return before

    @cached_property
    def sizes(self) -> Indices:
        """How many values each group has."""
        return self._weights_before(self._ends) - self._weights_before(self._starts)

    @cached_property
    def _small(self) -> _Sorted:
        """All values of the small groups."""
        return _Sorted.of([span.only(~self._are_large) for span in self.spans], self.count, self.order)

    def at(self, groups: Indices, ranks: Indices) -> pa.Array:
        """Return the values of groups at ranks, which begin with 0 and are less than the size of the group."""
        large = self._are_large[groups]
        if not large.any():
            return self._small.at(groups, ranks)
        values = self._search(groups[large], ranks[large])
        if large.all():
            return values
        places = np.argsort(np.concatenate([np.flatnonzero(large), np.flatnonzero(~large)]))
        return pa.concat_arrays([values, self._small.at(groups[~large], ranks[~large])]).take(pa.array(places))

    def _search(self, groups: Indices, ranks: Indices) -> pa.Array:
        """Return the values at ranks of large groups.

        1. Look up some values in all runs, and add up how many come before each (`_pivots`).
        2. Keep the rows between the two values that the rank is between.
        3. Repeat until few rows are left. Read and sort these.
        """
        starts, ends = self._starts[:, groups], self._ends[:, groups]
        before, most = self._weights_before(starts), max(MOST, len(self.spans))  # of more, one range has several
        while len(left := np.flatnonzero((ends - starts).sum(axis=0) > most)):
            places = self._pivots(starts[:, left], ends[:, left])
            counts = self._weights_before(places[:, :, 1:-1]) - before[left, np.newaxis]
            last = (counts <= ranks[left, np.newaxis]).sum(axis=1)  # as counts increase
            every = np.arange(len(left))
            starts[:, left], ends[:, left] = places[:, every, last], places[:, every, last + 1]
        questions = np.arange(len(groups))
        spans = [Span(span.run, questions, *each) for span, *each in zip(self.spans, starts, ends, strict=True)]
        skipped = self._weights_before(starts) - before
        return _Sorted.of(spans, len(groups), self.order).at(questions, ranks - skipped)

    def _pivots(self, starts: Indices, ends: Indices) -> Indices:
        """Return by run and group where its range begins, where some values are or would be, and where it ends.

        The values are at regular distances in the longest range of the group. So at least that range is cut.
        """
        sizes = ends - starts
        longest = sizes.argmax(axis=0)
        steps = np.arange(1, PIVOTS + 1)
        values, owners = [], []
        for place, span in enumerate(self.spans):
            own = np.flatnonzero(longest == place)
            rows = starts[place, own, np.newaxis] + sizes[place, own, np.newaxis] * steps // (PIVOTS + 1)
            values.append(one_chunk(span.run.table[self.order.columns[0]]).take(pa.array(rows.ravel())))
            owners.append(own)
        nth = np.argsort(np.concatenate(owners))
        pivots = pa.concat_arrays(values).take(pa.array(expand_ranges(nth * PIVOTS, np.full(len(nth), PIVOTS))))
        bounds = np.empty((*starts.shape, PIVOTS + 2), np.int64)
        bounds[:, :, 0], bounds[:, :, 1:-1], bounds[:, :, -1] = starts, starts[:, :, np.newaxis], ends
        for place, span in enumerate(self.spans):
            own = np.flatnonzero(sizes[place])
            asked = expand_ranges(own * PIVOTS, np.full(len(own), PIVOTS))
            start, end = (np.repeat(each[place, own], PIVOTS) for each in (starts, ends))
            reached = Span(span.run, asked, start, end).since(pivots, self.order).starts
            bounds[place, own, 1:-1] = reached.reshape(len(own), PIVOTS)
        return bounds
