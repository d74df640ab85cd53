"""The rows around a change in a ranked trace: those whose window functions may change, and those that they read.

Every changed row is an *anchor*. Its place in a run is found by binary search, in all runs at once. Around it, or from
there to the end of the partition, rows are read from every run. Where runs have more rows, only those count that stand
between the innermost of the rows read last: there, no run has rows that were not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flo.columns.indices import Indices, expand_ranges, one_chunk, take_rows
from flo.tables.state.frames import in_units
from flo.tables.state.keys import find_equal
from flo.tables.state.order import Order
from flo.tables.state.run import Run, match_keys
from flo.values.operators.over_functions import WindowFunction

Flags: TypeAlias = npt.NDArray[np.bool_]


class Reach(NamedTuple):
    """How far a change of one row can be seen."""

    whole: bool
    """In the whole partition."""
    onward: bool
    """From there to the end of the partition."""
    rows: int
    """How many rows before and behind are read."""
    peers: bool
    """By all peers."""
    span: Any = None
    """How far from its value; None if the value does not matter."""


WHOLE = Reach(True, True, 0, True)


def reach_of(functions: Sequence[WindowFunction], peers: int) -> Reach:
    """How far changes can be seen by these functions."""
    reaches = [_reach(function, peers) for function in functions]
    return Reach(
        any(each.whole for each in reaches),
        any(each.onward for each in reaches),
        max(each.rows for each in reaches),
        any(each.peers for each in reaches),
        max((each.span for each in reaches if each.span is not None), default=None),
    )


def _reach(function: WindowFunction, peers: int) -> Reach:
    carried = function.kind in ("count", "sum", "avg", "min", "max")  # from what stands before
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
    """How far from a change rows may be whose frames have the change, or which are in such a frame."""
    return 2 * max(abs(bound) for bound in (start, end) if bound)


@dataclass(frozen=True)
class Near:
    """The rows that were read around anchors, of every run, and where they begin and end for each anchor."""

    runs: tuple[Run, ...]
    rows: tuple[Indices, ...]
    """For each run, the indices of its rows, each once, ascending."""
    owners: tuple[Indices, ...]
    """The group of each of them."""
    anchors: Indices
    """The rows of the delta that are anchors."""
    starts: npt.NDArray[np.int64]
    """By run and anchor: the first row read, and the one behind the last."""
    ends: npt.NDArray[np.int64]
    begins: npt.NDArray[np.int64]
    """By run and anchor: the first row of the partition, and the one behind the last."""
    stops: npt.NDArray[np.int64]
    width: int
    """How many rows were read around anchors; 0 if only anchors matter, or rows near them in value, which were all
    read."""
    targets: Targets


@dataclass(frozen=True)
class Search:
    """The places of anchors in runs."""

    runs: tuple[Run, ...]
    anchors: Indices
    groups: Indices
    """The group of each anchor."""
    low: npt.NDArray[np.int64]
    """By run and anchor: the first row that is not before the anchor, and the first that is behind it."""
    high: npt.NDArray[np.int64]
    begins: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    targets: Targets

    @property
    def rows(self) -> int:
        """How many rows the partitions have."""
        first = np.unique(self.groups, return_index=True)[1]
        return int((self.stops - self.begins)[:, first].sum())

    def cost(self, width: int) -> int:
        """How many rows are read around anchors, at most."""
        return int((self.high - self.low).sum()) + 2 * width * self.low.size

    def near(self, width: int, onward: bool) -> Near:
        """So many rows of every run before and behind the anchors, or all rows behind them."""
        starts = np.maximum(self.low - width, self.begins)
        ends = self.stops if onward else np.minimum(self.high + width, self.stops)
        rows, owners = [], []
        for place in range(len(self.runs)):
            counts = ends[place] - starts[place]
            read, first = np.unique(expand_ranges(starts[place], counts), return_index=True)
            rows.append(read)
            owners.append(np.repeat(self.groups, counts)[first])
        return Near(
            self.runs,
            tuple(rows),
            tuple(owners),
            self.anchors,
            starts,
            ends,
            self.begins,
            self.stops,
            width,
            self.targets,
        )


def search(runs: tuple[Run, ...], delta: Run, groups: Run, order: Order, reach: Reach, peers: int) -> Search | None:
    """Finds the rows of a delta in runs; None if other partitions share a key number, which is rare."""
    ours, places = match_keys(groups, delta)
    if reach.onward:  # the first of each group
        ours, first = np.unique(ours, return_index=True)
        places = places[first]
    begins, stops = spans_of(runs, groups)
    if not are_told_apart(runs, groups, begins, stops):
        return None
    targets = Targets.of(take_rows(delta.table, places), order, reach, peers)
    if targets is None:
        return None
    begins, stops = begins[:, ours], stops[:, ours]
    low, high = targets.find([run.table for run in runs], begins.ravel(), stops.ravel())
    shape = (len(runs), len(ours))
    return Search(runs, places, ours, low.reshape(shape), high.reshape(shape), begins, stops, targets)


class Targets(NamedTuple):
    """For each anchor, the first and the last values of columns of the order that rows around it have."""

    order: Order
    columns: list[tuple[str, pa.Array, pa.Array]]

    @classmethod
    def of(cls, anchors: pa.Table, order: Order, reach: Reach, peers: int) -> Targets | None:
        """The anchors themselves, their peers, or what is near them in value; None if that cannot be computed."""
        names = order.columns[:peers] if reach.peers else order.columns
        columns = [(name, one_chunk(anchors[name]), one_chunk(anchors[name])) for name in names]
        if reach.span is not None:
            name, values, _ = columns[-1]
            low, high = shifted(values, -reach.span), shifted(values, reach.span)
            if low is None or high is None:
                return None
            columns[-1] = (name, high, low) if order.directions[peers - 1] else (name, low, high)
        return cls(order, columns)

    def find(self, tables: list[pa.Table], begins: Indices, stops: Indices) -> tuple[Indices, Indices]:
        """For each table and anchor, the first row in [begin, stop) that is not before the anchor, and the first that
        is behind it."""
        low, high = begins.copy(), stops.copy()
        which = np.tile(np.arange(len(begins) // max(len(tables), 1)), len(tables))
        for place, (name, first, last) in enumerate(self.columns):
            stored = [one_chunk(table[name]) for table in tables]
            narrowed = _bound(stored, low, high, first, which, self.order, place, behind=False)
            high = _bound(stored, narrowed, high, last, which, self.order, place, behind=True)
            low = narrowed
        return low, high


def shifted(values: pa.Array, offset: Any) -> pa.Array | None:
    """The values plus an offset, or a little further; None if the type has no such values."""
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


def spans_of(runs: tuple[Run, ...], groups: Run) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """By run and group: the first row, and the one behind the last."""
    begins, stops = np.zeros((2, len(runs), groups.rows), np.int64)
    for place, run in enumerate(runs):
        present, starts, counts = run.find(groups.keys.numbers)
        begins[place, present], stops[place, present] = starts, starts + counts
    return begins, stops


def are_told_apart(
    runs: tuple[Run, ...], groups: Run, begins: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> bool:
    """Whether every key number that is found stands for one partition."""
    if groups.keys.exact and all(run.keys.exact for run in runs):
        return True
    if len(np.unique(groups.keys.numbers)) < groups.rows:
        return False
    for place, run in enumerate(runs):
        if not _is_unmixed(run):
            return False
        there = np.flatnonzero(begins[place] < stops[place])
        one = take_rows(run.table.select(list(run.columns)), begins[place, there])
        other = take_rows(groups.table.select(list(run.columns)), there)
        if not find_equal(one.columns, other.columns).all():
            return False
    return True


def _is_unmixed(run: Run) -> bool:
    """Whether rows with equal key numbers have equal keys. It is known once for each run."""
    known = run.__dict__.get("unmixed")
    if known is None:
        numbers = run.keys.numbers
        again = np.flatnonzero(numbers[1:] == numbers[:-1]) + 1
        own = run.table.select(list(run.columns))
        known = not len(again) or bool(
            find_equal(take_rows(own, again - 1).columns, take_rows(own, again).columns).all()
        )
        run.__dict__["unmixed"] = known
    return bool(known)


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
    """Binary search in a column of the order: the first row in [low, high) that is not before a value, or `behind` it.

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


class Distinct(NamedTuple):
    """The rows that were read, in order, each once."""

    table: pa.Table
    of_read: tuple[Indices, ...]
    """For each run, which of them the rows read of it are."""
    of_anchors: Indices
    """Which of them the anchors are."""
    owners: Indices
    """The group of each."""
    was: Indices
    now: Indices
    """How often each stands there, before and after."""
    new_peers: Flags
    """Whether its peers begin with it."""


def find_stretches(near: Near, rows: Distinct, reach: Reach) -> tuple[Indices, Indices] | None:
    """The distinct rows whose surroundings are known, and the number of the stretch of each; None if too few were
    read."""
    begin, before, end, behind = _known(near, rows)
    first, last = rows.of_anchors, rows.of_anchors
    stop = np.searchsorted(rows.owners, rows.owners[rows.of_anchors], side="right")
    if reach.span is not None:
        start = np.searchsorted(rows.owners, rows.owners[rows.of_anchors])
        first, last = near.targets.find([rows.table], start, stop)
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
    return _covered(begin, end, len(rows.was))


def _known(near: Near, rows: Distinct) -> tuple[Indices, Flags, Indices, Flags]:
    """For each anchor the first row from which all runs were read, and whether more are there; and the last."""
    anchors, count = rows.of_anchors, len(rows.was)
    begin, end = np.full(len(anchors), -1), np.full(len(anchors), count)
    if not near.width:
        nowhere = np.zeros(len(anchors), bool)
        return anchors, nowhere, anchors, nowhere
    for place, (read, distinct) in enumerate(zip(near.rows, rows.of_read, strict=True)):
        start, stop = near.starts[place], near.ends[place]
        more = np.flatnonzero(start > near.begins[place])
        begin[more] = np.maximum(begin[more], distinct[np.searchsorted(read, start[more])])
        more = np.flatnonzero(stop < near.stops[place])
        end[more] = np.minimum(end[more], distinct[np.searchsorted(read, stop[more] - 1)])
    before, behind, owners = begin >= 0, end < count, rows.owners[anchors]
    begin = np.where(before, begin, np.searchsorted(rows.owners, owners))
    end = np.where(behind, end, np.searchsorted(rows.owners, owners, side="right") - 1)
    return begin, before, end, behind


def _following(new: Flags) -> Indices:
    """For each place, the first at it or behind it that is new."""
    return np.minimum.accumulate(np.where(new, np.arange(len(new)), len(new))[::-1])[::-1]


def _preceding(new: Flags) -> Indices:
    """For each place, the last at it or before it that is new."""
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))


def _covered(begin: Indices, end: Indices, count: int) -> tuple[Indices, Indices]:
    """The places in these intervals, and the number of the stretch of each: intervals that overlap are one."""
    order = np.argsort(begin, kind="stable")
    begin, reached = begin[order], np.maximum.accumulate(end[order])
    new = np.ones(len(begin), bool)
    new[1:] = begin[1:] > reached[:-1]
    firsts = np.flatnonzero(new)
    lasts = np.append(firsts[1:], len(begin)) - 1
    counts = reached[lasts] - begin[firsts] + 1
    return expand_ranges(begin[firsts], counts), np.repeat(np.arange(len(firsts)), counts)
