"""The rows around a change in a ranked trace: those whose window functions may change, and those that they read.

The partition of ann has these amounts, in two runs sorted by partition and amount. A delta inserts 50. That row is an
*anchor*. Two rows before it and two behind it are read from each run:

    run 0:   10  20 [30  40    |  60  80] 90
    run 1:   15 [25  45        |  55  70]
                                ↑ 50
    known:          30 40 45   50 55 60 70 80

Where a run has more rows, the rows read last are no longer certain to have all their neighbours: run 0 has a row before
30, so nothing before 30 is known, although 25 was read. Behind, run 0 has 90 and was read up to 80; run 1 has no more
rows. So all rows from 30 to 80 are known.

Invariant: between the first and the last row that is known, no run has rows that were not read. The rows that are known
around an anchor are a *stretch*. Stretches that overlap are one. If a stretch has fewer rows than the window functions
reach, the operator reads more.

1. `reach_of` says how far a change can be seen by the window functions.
2. `search` finds the places of anchors in all runs at once, by binary search.
3. `Search.near` reads rows around these places.
4. `find_stretches` says which of them are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Mask, expand_ranges, one_chunk, take_rows
from flo.tables.state.frames import in_units
from flo.tables.state.keys import find_equal
from flo.tables.state.matching import match_keys
from flo.tables.state.order import Order
from flo.tables.state.run import Owned, Ranges, Run
from flo.values.operators.over import WindowFunction


class Reach(NamedTuple):
    """How far from a changed row results may change."""

    whole: bool
    """Whether in the whole partition."""
    onward: bool
    """Whether from the change to the end of the partition."""
    rows: int
    """How many rows before and behind the change are read."""
    peers: bool
    """Whether results of all peers change: of the rows that are equal in the columns of the order."""
    span: Any = None
    """How far from the value of the changed row; None if the value does not matter."""


WHOLE = Reach(whole=True, onward=True, rows=0, peers=True)


def reach_of(functions: Sequence[WindowFunction], peers: int) -> Reach:
    """Return how far a change can be seen by any of these functions. `peers` is how many columns tell peers apart."""
    reaches = [_reach(function, peers) for function in functions]
    return Reach(
        any(each.whole for each in reaches),
        any(each.onward for each in reaches),
        max(each.rows for each in reaches),
        any(each.peers for each in reaches),
        max((each.span for each in reaches if each.span is not None), default=None),
    )


def _reach(function: WindowFunction, peers: int) -> Reach:
    """Return how far a change can be seen by one function."""
    carried = function.kind in ("count", "sum", "avg", "min", "max")  # their result follows from that before the rows
    match function.kind, function.frame:
        case ("row_number", _):
            return Reach(False, True, 0, False)
        case ("rank", _):
            return Reach(not peers, True, 0, True)
        case ("lag" | "lead", _):
            return Reach(False, False, 2 * function.options[0], False)
        case ("dense_rank" | "percent_rank" | "cume_dist" | "ntile", _):
            return WHOLE
        case (_, ("rows", int(start), int(end))):
            return Reach(False, False, 2 * max(abs(start), abs(end)), False)
        case (_, ("rows", None, int(end))) if carried:
            return Reach(False, True, 2 * abs(end), False)
        case (_, ("range", 0, 0)):
            return Reach(not peers, False, 0, True)
        case (_, ("range", None, 0)) if carried:
            return Reach(not peers, True, 0, True)
        case (_, ("range", start, end)) if start is not None and end is not None:
            return Reach(False, False, 0, True, _span(start, end))
        case (_, ("range", None, end)) if carried and end is not None:
            return Reach(False, True, 0, True, _span(end, end))
    return WHOLE


def _span(start: Any, end: Any) -> Any:
    """Return how far from a change rows may be whose frames have the change, or which are in such a frame."""
    return 2 * max(abs(bound) for bound in (start, end) if bound)


@dataclass(frozen=True)
class Near:
    """The rows of every run that were read around anchors."""

    search: Search
    rows: tuple[Indices, ...]
    """For each run, the indices of its rows, each once, ascending."""
    owners: tuple[Indices, ...]
    """The group of each of them."""
    read: Ranges
    """By run and anchor: the rows read."""
    width: int
    """How many rows were read around anchors; 0 if only anchors matter, or rows near them in value, which were all
    read."""


@dataclass(frozen=True)
class Search:
    """The places of anchors in runs."""

    runs: tuple[Run, ...]
    anchors: Indices
    """The rows of the delta that are anchors."""
    groups: Indices
    """The group of each anchor."""
    equal: Ranges
    """By run and anchor: the rows that are neither before the anchor nor behind it."""
    partitions: Ranges
    """By run and anchor: the rows of its partition."""
    targets: Targets

    @property
    def rows(self) -> int:
        """How many rows the partitions have."""
        first = np.unique(self.groups, return_index=True)[1]
        return int(self.partitions.counts[:, first].sum())

    def cost(self, width: int) -> int:
        """Return how many rows are read around anchors, at most."""
        return int(self.equal.counts.sum()) + 2 * width * self.equal.starts.size

    def near(self, width: int, onward: bool) -> Near:
        """Read so many rows of every run before and behind the anchors, or with `onward` all rows behind them."""
        starts = np.maximum(self.equal.starts - width, self.partitions.starts)
        ends = self.partitions.ends if onward else np.minimum(self.equal.ends + width, self.partitions.ends)
        read = [Ranges(*each).list_once(self.groups) for each in zip(starts, ends, strict=True)]
        rows, owners = tuple(each.indices for each in read), tuple(each.owners for each in read)
        return Near(self, rows, owners, Ranges(starts, ends), width)


def search(runs: tuple[Run, ...], delta: Run, groups: Run, order: Order, reach: Reach, peers: int) -> Search | None:
    """Find the rows of a delta in runs; None if other partitions share a key number, which is rare, or if values around
    anchors cannot be computed. If all rows behind an anchor matter, only the first of each group is one."""
    ours, places = match_keys(groups, delta)
    if reach.onward:  # the first of each group
        ours, first = np.unique(ours, return_index=True)
        places = places[first]
    partitions = find_ranges(runs, groups)
    if not have_own_numbers(runs, groups, partitions):
        return None
    targets = Targets.of(take_rows(delta.table, places), order, reach, peers)
    if targets is None:
        return None
    partitions = Ranges(partitions.starts[:, ours], partitions.ends[:, ours])
    equal = targets.find([run.table for run in runs], Ranges(*(each.ravel() for each in partitions)))
    shape = (len(runs), len(ours))
    return Search(runs, places, ours, Ranges(*(each.reshape(shape) for each in equal)), partitions, targets)


class Target(NamedTuple):
    """A column of the order, and for each anchor the first and the last value of it."""

    name: str
    first: pa.Array
    last: pa.Array


class Targets(NamedTuple):
    """For each anchor, the values of the columns of the order that rows around it have."""

    order: Order
    columns: list[Target]

    @classmethod
    def of(cls, anchors: pa.Table, order: Order, reach: Reach, peers: int) -> Targets | None:
        """Return the values of anchors, of their peers, or near them; None if that cannot be computed."""
        names = order.columns[:peers] if reach.peers else order.columns
        columns = [Target(name, one_chunk(anchors[name]), one_chunk(anchors[name])) for name in names]
        if reach.span is not None:
            name, values, _ = columns[-1]
            low, high = add_offset(values, -reach.span), add_offset(values, reach.span)
            if low is None or high is None:
                return None
            columns[-1] = Target(name, high, low) if order.directions[peers - 1] else Target(name, low, high)
        return cls(order, columns)

    def find(self, tables: list[pa.Table], within: Ranges) -> Ranges:
        """Return for each table and anchor the rows in a range that are neither before the anchor nor behind it."""
        low, high = within.starts.copy(), within.ends.copy()
        which = np.tile(np.arange(len(low) // max(len(tables), 1)), len(tables))
        for place, (name, first, last) in enumerate(self.columns):
            stored = [one_chunk(table[name]) for table in tables]
            narrowed = _bound(stored, low, high, first, which, self.order, place, behind=False)
            high = _bound(stored, narrowed, high, last, which, self.order, place, behind=True)
            low = narrowed
        return Ranges(low, high)


def add_offset(values: pa.Array, offset: Any) -> pa.Array | None:
    """Return the values plus an offset, or a little further; None if the type has no such values."""
    kind = values.type
    if pa.types.is_floating(kind):
        with np.errstate(over="ignore"):
            moved = np.asarray(values.cast(pa.float64()).fill_null(0.0)) + float(offset)
            moved = moved.astype(kind.to_pandas_dtype())
        for _ in range(4):  # sums are rounded
            moved = np.nextafter(moved, np.copysign(np.inf, float(offset)).astype(moved.dtype))
        return pa.array(moved, kind, mask=np.asarray(values.is_null()))
    if pa.types.is_decimal(kind) or pa.types.is_uint64(kind):
        return None
    limits = np.iinfo(f"{'u' * pa.types.is_unsigned_integer(kind)}int{kind.bit_width}")
    width = pa.int32() if kind.bit_width == 32 and not pa.types.is_integer(kind) else pa.int64()
    whole = np.asarray(values.cast(width).fill_null(0)).astype(np.int64)
    step = in_units(offset, kind)
    if abs(step) > limits.max:
        reached = np.full(len(whole), limits.max if step > 0 else limits.min)
    else:
        reached = np.clip(whole, limits.min - min(step, 0), limits.max - max(step, 0)) + step
    array = pa.array(reached, mask=np.asarray(values.is_null()))
    return array.cast(width).cast(kind) if kind != pa.int64() else array


def find_ranges(runs: tuple[Run, ...], groups: Run) -> Ranges:
    """Return the rows of each run and group. A group that a run lacks has an empty range."""
    begins, stops = np.zeros((2, len(runs), groups.rows), np.int64)
    for place, run in enumerate(runs):
        present, starts, counts = run.find(groups.keys.numbers)
        begins[place, present], stops[place, present] = starts, starts + counts
    return Ranges(begins, stops)


def have_own_numbers(runs: tuple[Run, ...], groups: Run, where: Ranges) -> bool:
    """Return whether these groups share their key numbers with no other group of the runs. `where` has their rows."""
    if groups.keys.exact and all(run.keys.exact for run in runs):
        return True
    if len(np.unique(groups.keys.numbers)) < groups.rows:
        return False
    for place, run in enumerate(runs):
        if run.mixed:
            return False
        there = np.flatnonzero(where.counts[place])
        one = take_rows(run.table.select(list(run.columns)), where.starts[place, there])
        other = take_rows(groups.table.select(list(run.columns)), there)
        if not find_equal(one.columns, other.columns).all():
            return False
    return True


def _bound(
    stored: list[pa.Array],
    low: Indices,
    high: Indices,
    values: pa.Array,
    which: Indices,
    order: Order,
    place: int,
    *,
    behind: bool,
) -> Indices:
    """Return the first row in [low, high) that is not before a value, or is `behind` it, by binary search in a column
    of the order.

    All are searched at once: those of the first run, those of the second, and so on.
    """
    low, high = low.copy(), high.copy()
    left = np.flatnonzero(low < high)
    each = len(low) // max(len(stored), 1)
    while len(left):
        middle = (low[left] + high[left]) >> 1
        cuts = np.searchsorted(left, np.arange(1, len(stored)) * each)
        parts = zip(stored, np.split(middle, cuts), strict=True)
        here = pa.concat_arrays([column.take(pa.array(some)) for column, some in parts if len(some)])
        asked = values.take(pa.array(which[left]))
        before = ~order.before(asked, here, place) if behind else order.before(here, asked, place)
        low[left], high[left] = np.where(before, middle + 1, low[left]), np.where(before, high[left], middle)
        left = left[low[left] < high[left]]
    return low


class DistinctRows(NamedTuple):
    """The rows that were read and those of the delta, in order, each once."""

    table: pa.Table
    of_read: tuple[Indices, ...]
    """For each run, the index in the table of each row read."""
    of_anchors: Indices
    """The index in the table of each anchor."""
    owners: Indices
    """The group of each row."""
    was: Indices
    now: Indices
    """How often each row is there, before the delta and after it."""
    new_peers: Mask
    """Whether a row is the first of its peers."""


def find_stretches(near: Near, rows: DistinctRows, reach: Reach) -> Owned | None:
    """Return the rows that are known around anchors, owned by the number of their stretch; None if too few were read.

    1. Take the rows that are known around each anchor.
    2. If peers matter, shrink them to whole groups of peers, since more peers may not have been read.
    3. Check that enough rows are known on both sides, before the delta and after it.
    """
    begin, before, end, behind = _find_known(near, rows)
    first, last = rows.of_anchors, rows.of_anchors
    stop = np.searchsorted(rows.owners, rows.owners[rows.of_anchors], side="right")
    if reach.span is not None:
        start = np.searchsorted(rows.owners, rows.owners[rows.of_anchors])
        first, last = near.search.targets.find([rows.table], Ranges(start, stop))
        last = last - 1
    elif reach.peers:
        first, last = _preceding(rows.new_peers)[first], _following(np.append(rows.new_peers, True))[last + 1] - 1
    if reach.peers:
        begin = np.where(before, _following(np.append(rows.new_peers, True))[begin + 1], np.minimum(begin, first))
        end = np.where(behind, _preceding(rows.new_peers)[end] - 1, np.maximum(end, last))
    if reach.onward:
        end = stop - 1
    for weights in (rows.was, rows.now):
        total = np.concatenate([[0], np.cumsum(weights)])
        enough = ~before | ((begin <= first) & (total[first] - total[np.minimum(begin, first)] >= reach.rows))
        enough &= ~behind | ((last <= end) & (total[np.maximum(end, last) + 1] - total[last + 1] >= reach.rows))
        if not enough.all():
            return None
    return _join_intervals(begin, end)


class KnownRows(NamedTuple):
    """The rows that are known around each anchor, from the first to the last."""

    first: Indices
    more_before: Mask
    """Whether a run has rows before the first."""
    last: Indices
    more_behind: Mask
    """Whether a run has rows behind the last."""


def _find_known(near: Near, rows: DistinctRows) -> KnownRows:
    """Return the rows between which all rows of all runs were read."""
    anchors, count = rows.of_anchors, len(rows.was)
    begin, end = np.full(len(anchors), -1), np.full(len(anchors), count)
    if not near.width:
        nowhere = np.zeros(len(anchors), bool)
        return KnownRows(anchors, nowhere, anchors, nowhere)
    for place, (read, distinct) in enumerate(zip(near.rows, rows.of_read, strict=True)):
        start, stop = near.read.starts[place], near.read.ends[place]
        more = np.flatnonzero(start > near.search.partitions.starts[place])
        begin[more] = np.maximum(begin[more], distinct[np.searchsorted(read, start[more])])
        more = np.flatnonzero(stop < near.search.partitions.ends[place])
        end[more] = np.minimum(end[more], distinct[np.searchsorted(read, stop[more] - 1)])
    before, behind, owners = begin >= 0, end < count, rows.owners[anchors]
    begin = np.where(before, begin, np.searchsorted(rows.owners, owners))
    end = np.where(behind, end, np.searchsorted(rows.owners, owners, side="right") - 1)
    return KnownRows(begin, before, end, behind)


def _following(new: Mask) -> Indices:
    """Return for each index the first at it or behind it that is new."""
    return np.minimum.accumulate(np.where(new, np.arange(len(new)), len(new))[::-1])[::-1]


def _preceding(new: Mask) -> Indices:
    """Return for each index the last at it or before it that is new."""
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))


def _join_intervals(begin: Indices, end: Indices) -> Owned:
    """Return the indices in these intervals, ends included, owned by the number of their stretch. Intervals that
    overlap are one stretch."""
    order = np.argsort(begin, kind="stable")
    begin, reached = begin[order], np.maximum.accumulate(end[order])
    new = np.ones(len(begin), bool)
    new[1:] = begin[1:] > reached[:-1]
    firsts = np.flatnonzero(new)
    lasts = np.append(firsts[1:], len(begin)) - 1
    counts = reached[lasts] - begin[firsts] + 1
    return Owned(expand_ranges(begin[firsts], counts), np.repeat(np.arange(len(firsts)), counts))
