"""Window functions on columns: rows in order, where the frame of each begins and ends, and what is in it.

Rows are in *stretches*: adjacent rows of one partition, in order. A stretch is a whole partition, or a part of it whose
neighbours do not matter; then `before` says what comes before it in the partition. Here the partition of ann has two
rows before its stretch, with the sum 30, and a frame is the row and the one before it ("rows", -1, 0):

    unit  row  stretch  peers  amount  weight   frame        row_number   sum from the start
    0     7    0 (ann)  0      20      1        [0, 1)       3            30 + 20
    1     2    0        1      25      1        [0, 2)       4            30 + 45
    2     4    0        1      25      1        [1, 3)       5            30 + 70
    3     1    1 (bob)  2      10      1        [3, 4)       1            10

A *unit* is a row with its weight; or one unit for each time that a row is there, if results may differ between them.

Invariant: units are sorted by stretch, and in a stretch by the order. So a frame is a range of units, [begin, end), and
no frame leaves its stretch. A sum over a frame is the difference of two running sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Indices, Mask, Numbers
from flo.tables.state.comparison import comparison, own_numbers
from flo.tables.state.limbs import sum_before
from flo.tables.state.run import Ranges
from flo.tables.state.totals import Sums, as_array, as_decimals, as_floats, find_specials
from flo.tables.values import WEIGHT
from flo.values.operators.over import Frame, WindowFunction


@dataclass(frozen=True)
class Read:
    """The input of a window function for each row: a value, its Python type, and whether the row counts."""

    values: pa.Array
    kind: Any
    counts: Mask
    arguments: list[tuple[Any, ...]] | None = None
    """The arguments of an aggregate that is computed as on values."""


@dataclass(frozen=True)
class Before:
    """What comes before each stretch in its partition."""

    rows: Indices
    """How many rows."""
    sums: dict[int, Sums] = field(default_factory=dict)
    """By the number of a function, the sums of its input."""
    extremes: dict[int, pa.Array] = field(default_factory=dict)
    """By the number of a function, the least or greatest value of its input."""


@dataclass(frozen=True)
class Units:
    """Rows in stretches, in order."""

    rows: Indices
    """The row index of each unit."""
    weights: Indices
    stretches: Indices
    """The number of the stretch of each unit, not descending."""
    peers: Indices
    """The number of the group of peers of each unit, not descending. No group is in two stretches."""
    before: Before
    order: tuple[pa.Array, ...] = ()
    """For each column of the order, the values by row index: the offset of a range is added to those of the last."""
    descending: bool = False

    @property
    def count(self) -> int:
        return len(self.rows)

    @cached_property
    def each(self) -> Indices:
        return np.arange(self.count)

    @cached_property
    def total(self) -> Indices:
        """The sum of the weights before each unit, and at the end of all."""
        return np.concatenate([[0], np.cumsum(self.weights)])

    @cached_property
    def bounds(self) -> Ranges:
        """For each unit, the units of its stretch."""
        return _bounds(self.stretches)

    @cached_property
    def peer_bounds(self) -> Ranges:
        return _bounds(self.peers)

    @property
    def stretch_sizes(self) -> Indices:
        """For each unit, how many rows its stretch has."""
        return self.total[self.bounds.ends] - self.total[self.bounds.starts]

    def count_before(self, of: Indices) -> Indices:
        """Return how many rows of the partition of each unit come before another unit of its stretch, given in `of`."""
        return self.before.rows[self.stretches] + self.total[of] - self.total[self.bounds.starts]

    def frames(self, frame: Frame) -> Ranges:
        """Return the frame of each unit. One that ends before it begins is empty."""
        mode, start, end = frame
        low, high = self.bounds
        if mode == "rows":
            begins = low if start is None else np.clip(self.each + start, low, high)
            ends = high if end is None else np.clip(self.each + end + 1, low, high)
        elif mode == "bounds":
            begins = low if start is None else self._at_bound(start, 0)
            ends = high if end is None else self._at_bound(end, 1)
        else:
            begins = low if start is None else self._at(start, 0)
            ends = high if end is None else self._at(end, 1)
        return Ranges(begins, np.maximum(begins, ends))

    def _at(self, offset: Any, side: int) -> Indices:
        """Return where a range begins (side 0) or ends (side 1): at the peers, or at an offset from the value."""
        if not offset:
            return self.peer_bounds[side]
        offset = -offset if self.descending else offset
        return self._search(self.order[-1], side, lambda values, there: _rank_with_offset(values, offset))

    def _at_bound(self, place: int, side: int) -> Indices:
        """Return where a range begins or ends whose bound is a column of the order. It is never before that of an
        earlier row, as a frame slides."""
        if not place:
            return self.peer_bounds[side]
        bounds = self.order[place].take(pa.array(self.rows))
        at = self._search(
            self.order[0], side, lambda values, there: _rank_with_bounds(values, bounds.take(pa.array(there)))
        )
        return np.maximum.accumulate(at)

    def _search(
        self, order: pa.Array, side: int, ranks: Callable[[pa.Array, Indices], tuple[Numbers, Numbers]]
    ) -> Indices:
        """Return where bounds are among the values of the order. `ranks` gets the values that are not null and the
        units that have them, and ranks values and bounds in one order. The bound of a null is at its peers."""
        values = order.take(pa.array(self.rows))
        there = np.flatnonzero(np.asarray(values.is_valid()))
        bounds = self.peer_bounds[side].copy()
        if not len(there):
            return bounds
        now, moved = ranks(values.drop_null(), there)
        stretches = self.stretches[there].astype(np.uint64)
        span = np.uint64(max(int(now.max()), int(moved.max())) + 1)
        if self.descending:
            now, moved = span - np.uint64(1) - now, span - np.uint64(1) - moved
        begins, ends = _bounds(self.stretches[there])
        places = np.searchsorted(stretches * span + now, stretches * span + moved, side="right" if side else "left")
        bounds[there] = there[begins] + np.clip(places, begins, ends) - begins
        return bounds


class Places(NamedTuple):
    """A unit for each unit, if there is one."""

    units: Indices
    """Any unit where there is none."""
    there: Mask
    """Whether there is one."""


def _bounds(groups: Indices) -> Ranges:
    """Return for each item the range of its group. Items of a group are adjacent."""
    new = np.ones(len(groups), bool)
    new[1:] = groups[1:] != groups[:-1]
    firsts = np.flatnonzero(new)
    which = np.cumsum(new) - 1
    return Ranges(firsts[which], np.append(firsts[1:], len(groups))[which])


def _rank_with_offset(values: pa.Array, offset: Any) -> tuple[Numbers, Numbers]:
    """Return the ranks of values, and of the same values plus an offset, in one order."""
    kind, count = values.type, len(values)
    both: npt.NDArray[Any]
    if pa.types.is_floating(kind):
        numbers = np.asarray(values.cast(pa.float64()))
        with np.errstate(over="ignore", invalid="ignore"):
            both = own_numbers(pa.array(np.concatenate([numbers, numbers + float(offset)])))
    elif pa.types.is_decimal(kind):
        step = Decimal(offset)
        scale = max(kind.scale, -int(step.as_tuple().exponent), 0)
        wide = values.cast(pa.decimal256(75, scale))
        moved = pc.add(wide, pa.scalar(step, wide.type))
        both = own_numbers(pa.concat_arrays([wide.cast(moved.type), moved]))
    else:
        numbers = np.asarray(values.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())).astype(np.int64)
        both = _append_moved(numbers, in_units(offset, kind))
    ranks = np.unique(both, return_inverse=True)[1].astype(np.uint64)
    return ranks[:count], ranks[count:]


def _rank_with_bounds(values: pa.Array, bounds: pa.Array) -> tuple[Numbers, Numbers]:
    """Return the ranks of values and of bounds, in one order."""
    ranks = np.unique(own_numbers(pa.concat_arrays([values, bounds])), return_inverse=True)[1].astype(np.uint64)
    return ranks[: len(values)], ranks[len(values) :]


def _append_moved(numbers: Indices, step: int) -> npt.NDArray[Any]:
    """Return the numbers, and behind them the numbers plus a step."""
    limits = np.iinfo(np.int64)
    low, high = int(numbers.min()) + step, int(numbers.max()) + step
    if limits.min <= min(low, step) and max(high, step) <= limits.max:
        return np.concatenate([numbers, numbers + step])
    exact = numbers.astype(object)  # rare: beyond 64 bits
    return np.concatenate([exact, exact + step])


def in_units(offset: Any, kind: pa.DataType) -> int:
    """Return an offset in the unit of a column."""
    if not isinstance(offset, timedelta):
        return int(offset)
    if pa.types.is_date32(kind):
        return offset.days
    unit = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 0}[kind.unit]
    micro = offset // timedelta(microseconds=1)
    return micro // unit if unit else micro * 1000


def compute(function: WindowFunction, read: Read | None, units: Units, number: int, arrow: pa.DataType) -> pa.Array:
    """Return the result of a function for every unit, as a column of this type. `number` is the number of the function:
    `before` has its sums by it."""
    if read is None:
        return pa.array(_number(function, units), arrow)
    if function.kind in ("lag", "lead"):
        return _read_neighbour(function, read, units)
    begins, ends = units.frames(function.frame)
    if function.options[1:] == (True,):  # nth_value that skips nulls
        return _take(read, units, _find_nth(read.counts[units.rows], begins, ends, function.options[0]))
    if function.kind in ("first_value", "last_value", "nth_value"):
        places = ends - 1 if function.kind == "last_value" else begins + (*function.options, 1)[0] - 1
        return _take(read, units, Places(places, (begins <= places) & (places < ends)))
    counts = read.counts[units.rows]
    if function.kind in ("first", "last"):
        return _take(read, units, _find_end(counts, begins, ends, function.kind == "first"))
    from_start = function.frame[1] is None
    if function.kind in ("min", "max"):
        greatest = function.kind == "max"
        best = _take(read, units, _find_extreme(read, units, counts, begins, ends, greatest))
        known = units.before.extremes.get(number) if from_start else None
        return best if known is None else best_of([best, known.take(pa.array(units.stretches))], read.kind, greatest)
    before = units.before.sums.get(number) if from_start else None
    weights = np.where(counts, units.weights, 0)
    totals = running_sums(read, units.rows, weights, only_count=function.kind == "count")
    sums = {name: total[ends] - total[begins] for name, total in totals.items()}
    for name, more in (before or {}).items():
        sums[name] = sums.get(name, 0) + more[units.stretches]
    return _sum(function.kind, read, sums, arrow)


def _number(function: WindowFunction, units: Units) -> Any:
    """Return the result of a function without input for every unit: a number that follows from the order alone."""
    match function.kind:
        case "row_number":
            return units.count_before(units.each) + 1
        case "rank":
            return units.count_before(units.peer_bounds.starts) + 1
        case "dense_rank":
            return units.peers - units.peers[units.bounds.starts] + 1 if units.count else units.peers
        case "percent_rank":
            others = units.stretch_sizes - 1
            return np.where(others > 0, units.count_before(units.peer_bounds.starts) / np.maximum(others, 1), 0.0)
        case "cume_dist":
            return units.count_before(units.peer_bounds.ends) / units.stretch_sizes
    (buckets,) = function.options
    size, more = np.divmod(units.stretch_sizes, buckets)
    place, large = units.count_before(units.each), more * (size + 1)
    return np.where(place < large, place // (size + 1), more + (place - large) // np.maximum(size, 1)) + 1


def _read_neighbour(function: WindowFunction, read: Read, units: Units) -> pa.Array:
    """Return the value at a distance from every unit, or a default outside of its stretch: lag and lead."""
    distance, default = function.options
    low, high = units.bounds
    places = units.each + (-distance if function.kind == "lag" else distance)
    inside = (low <= places) & (places < high)
    neighbours = _take(read, units, Places(places, inside))
    if default is None or inside.all():
        return neighbours
    filler = pa.array([default], read.values.type) if not isinstance(default, pa.Array) else default
    chosen = np.where(inside, units.rows[np.where(inside, places, 0)], len(read.values))
    return pa.concat_arrays([read.values, filler]).take(pa.array(chosen))


def _take(read: Read, units: Units, places: Places) -> pa.Array:
    """Return the values of these units; null where there is none."""
    if not units.count:
        return read.values.slice(0, 0)
    there = places.there
    return read.values.take(pa.array(units.rows[np.where(there, places.units, 0)], mask=~there))


def _find_end(counts: Mask, begins: Indices, ends: Indices, first: bool) -> Places:
    """Return the first or the last unit of each frame that counts."""
    every = np.arange(len(counts))
    if first:
        following = np.minimum.accumulate(np.where(counts, every, len(counts))[::-1])[::-1]
        nearest = np.append(following, len(counts))[begins]
        return Places(nearest, nearest < ends)
    nearest = np.append(np.maximum.accumulate(np.where(counts, every, -1)), -1)[ends - 1]
    return Places(nearest, (nearest >= begins) & (ends > begins))


def _find_nth(counts: Mask, begins: Indices, ends: Indices, nth: int) -> Places:
    """Return the n-th unit of each frame that counts, from the end if n is negative."""
    counted = np.flatnonzero(counts)
    before = np.searchsorted(counted, begins if nth > 0 else ends) + (nth - 1 if nth > 0 else nth)
    inside = (before >= 0) & (before < len(counted))
    places = np.append(counted, 0)[np.where(inside, before, len(counted))]
    return Places(places, inside & (begins <= places) & (places < ends))


def _find_extreme(read: Read, units: Units, counts: Mask, begins: Indices, ends: Indices, greatest: bool) -> Places:
    """Return the unit with the least or greatest value of each frame.

    A frame is the union of two ranges that overlap, whose length is a power of two. After step p, `level` has the best
    of the 2ᵖ units from each unit on.
    """
    by_value, level = _rank_best_first(_numbers_of(read.values, read.kind)[units.rows], counts, greatest)
    lengths = ends - begins
    depth = np.frexp(np.maximum(lengths, 1).astype(np.float64))[1] - 1
    best = np.full(units.count, units.count)
    for power in range(int(depth.max(initial=0)) + 1):
        here = np.flatnonzero((depth == power) & (lengths > 0))
        best[here] = np.minimum(level[begins[here]], level[ends[here] - (1 << power)])
        step = 1 << power
        level[:-step] = np.minimum(level[:-step], level[step:])
    there = best < units.count
    return Places(by_value[np.where(there, best, 0)] if units.count else best, there)


def _numbers_of(values: pa.Array, kind: Any) -> Numbers:
    """Return numbers in the order of values of a Python type."""
    of = comparison(kind)
    assert of is not None
    return of.numbers(values)


def _rank_best_first(numbers: Numbers, counts: Mask, greatest: bool) -> tuple[Indices, Indices]:
    """Return the indices from the best number to the worst, and the rank of each number; that of those that do not
    count is behind all."""
    by_value = np.argsort(~numbers if greatest else numbers, kind="stable")
    level = np.empty(len(numbers), np.int64)
    level[by_value] = np.arange(len(numbers))
    level[~counts] = len(numbers)
    return by_value, level


def best_of(columns: list[pa.Array], kind: Any, greatest: bool) -> pa.Array:
    """Return row by row the least or greatest of the values of several columns that are not null."""
    count, values = len(columns[0]), pa.concat_arrays(columns)
    there = np.asarray(values.is_valid())
    numbers = _numbers_of(values.drop_null(), kind)
    ranks = np.full(len(values), len(values))
    ranks[there] = np.unique(~numbers if greatest else numbers, return_inverse=True)[1]
    chosen = ranks.reshape(len(columns), count).argmin(axis=0) * count + np.arange(count)
    return values.take(pa.array(chosen))


def running_extremes(read: Read, counts: Mask, groups: npt.NDArray[Any], greatest: bool) -> Indices:
    """Return for each row the row with the least or greatest value up to it in its group; -1 if none counts."""
    count = len(counts)
    by_value, level = _rank_best_first(_numbers_of(read.values, read.kind), counts, greatest)
    group = np.zeros(count, np.int64)
    group[1:] = np.cumsum(groups[1:] != groups[:-1])
    lower = group * (count + 1)  # so that every group begins below the one before it
    best = np.minimum.accumulate(level - lower) + lower
    there = best < count
    return np.where(there, by_value[np.where(there, best, 0)], -1) if count else best


def running_sums(read: Read, rows: Indices, weights: Indices, *, only_count: bool) -> Sums:
    """Return the number and the sum of the values before each of these rows, and at the end of all. Weights count."""
    sums: Sums = {WEIGHT: np.concatenate([[0], np.cumsum(weights)])}
    array = read.values
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int64())
    if only_count:
        return sums
    array = pc.fill_null(array, pa.scalar(0, array.type)) if array.null_count else array
    array = array.take(pa.array(rows))
    for index, total in sum_before(array, weights).items():
        sums[f"0:{index}"] = total
    for name, there in find_specials(array):
        sums[f"0:{name}"] = np.concatenate([[0], np.cumsum(np.where(there, weights, 0))])
    return sums


def _sum(kind: str, read: Read, sums: Sums, arrow: pa.DataType) -> pa.Array:
    """Return the counts, sums or averages of frames, given their sums. That of nothing is null, or a count of 0."""
    counts = sums[WEIGHT]
    if kind == "count":
        return pa.array(counts, arrow)
    empty = counts == 0
    sums = {**sums, WEIGHT: np.where(empty, 1, counts)}
    if kind == "avg" and pa.types.is_decimal(arrow):
        results = as_decimals(sums, 0, read.values.type, arrow, _named, mean=True)
    elif kind == "avg":
        results = pa.array(as_floats(sums, 0, mean=True))
    else:
        results = as_array(sums, 0, arrow, _named)
    return pc.if_else(pa.array(~empty), results, pa.scalar(None, results.type)) if empty.any() else results


def _named(place: int) -> str:
    """Name a frame whose sum does not fit, for an error."""
    return "a frame"
