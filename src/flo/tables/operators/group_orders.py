"""Aggregates by the order of values, each a part of `group_by` on tables: min, max, arg_min, arg_max, first, last,
median, quantiles and percentiles.

A keeper has the values of each group in order, and the first or last row of each group apart:

    group  x  weight
    a      1  +1     first of a: min(x) is 1
    a      4  +1
    a      9  +1     last of a: max(x) is 9
    b      5  +2     first and last of b

When (a, 1) is retracted, the first row of a is searched for from there on: it is (a, 4).

Invariant: the first and last rows that are kept are those with a positive weight, in each group.

`Ordered` also serves order statistics, which count values. Then values that were retracted more
often than they came, which are *owed*, are kept apart.

The values of a group have ranks, by their order and their weights:

    group  x  weight   ranks
    a      1  +2       0, 1
    a      4  +1       2
    a      9  +1       3          the median is at rank 1.5: between 1 and 4, so it is 2.5

The value at a rank is found without reading the group (state/ranks.py).

Invariant: the results are those of the aggregator on values, bit for bit. A value between two is computed exactly and
rounded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.cell import Cell
from flo.columns.indices import Indices, first_of_each, has_all, one_chunk
from flo.columns.layout import Layout
from flo.tables.operators.group_part import AggregatePart, Chosen, Delta, Keeper, Reading, Summand, Traces, scatter
from flo.tables.state.comparison import comparisons
from flo.tables.state.limbs import Limbs, limbs_in
from flo.tables.state.order import Order
from flo.tables.state.ranked import Heads, Leading, Ranked, Span, first_rows, groups_in, ranked_run, start_of
from flo.tables.state.ranks import ByRank, settle
from flo.tables.state.run import Run
from flo.tables.state.totals import Sums
from flo.tables.state.trace import Trace, weight_overflow
from flo.values.operators import group_aggregates as on_values


@dataclass(frozen=True)
class Wanted:
    """The first row of each group in the order of some columns, which a part asks for."""

    names: tuple[str, ...]
    """The columns of the order."""
    descending: tuple[bool, ...]
    which: Chosen
    cells: tuple[Cell, ...] = field(compare=False)

    @property
    def layout(self) -> Layout | None:
        return Layout.of(tuple[tuple(cell.annotation for cell in self.cells)])  # type: ignore[misc]

    @property
    def backwards(self) -> bool:
        """Whether it is the last row of an order whose first column is ascending."""
        return self.descending[0]

    @property
    def canonical(self) -> tuple[tuple[str, bool], ...]:
        """The order, or its opposite, in which the first column is ascending."""
        return tuple((name, down != self.backwards) for name, down in zip(self.names, self.descending, strict=True))


@final
@dataclass(frozen=True)
class Ordered(Keeper):
    """Keeps the values of groups in order, and the first or the last row of each group, or both.

    min(x), max(x) and arg_max(y, x) share one: rows in the order of x and then of y, descending. median(x) shares the
    one of min(x), which then counts values.
    """

    longest: Wanted
    """By all columns; others want the first row by some of them."""
    ends: tuple[bool, ...]
    """Which rows are kept: the first of a group (False), the last (True)."""
    counts: bool = False
    """Whether values are counted: those that are owed are kept apart (see `settle`), in the last trace."""

    @property
    def traces(self) -> int:  # type: ignore[override]
        return 1 + len(self.ends) + self.counts

    def is_by(self, wanted: Wanted) -> bool:
        """Whether it is this order, forwards or backwards, of the same rows."""
        return self.longest.which == wanted.which and self.longest.canonical == wanted.canonical

    @property
    def layout(self) -> Layout:
        """The layout of the columns of the order."""
        layout = self.longest.layout
        assert layout is not None
        return layout

    def order(self, backwards: bool, groups: Run) -> Order:
        """The order of the values, or its opposite."""
        directions = tuple(down != backwards for _, down in self.longest.canonical)
        order = Order(self.longest.names, directions, self.layout, by_text=False, key=self.layout, decisive=True)
        return order if groups.keys.exact else replace(order, group_columns=groups.columns)

    def initial(self) -> Traces:
        return Ranked(()), *(Heads(()) for _ in self.ends), *([Ranked(())] if self.counts else [])

    def advance(self, delta: Delta, traces: Traces, places: Mapping[Summand, int]) -> tuple[Traces, Sums]:
        some = delta.choose(self.longest.which, self.longest.names)
        if not some.table.num_rows:
            return traces, {}
        rows, heads, owed = traces[0], traces[1 : 1 + len(self.ends)], traces[1 + len(self.ends) :]
        assert isinstance(rows, Ranked)
        columns = tuple(some.keys.column_names)
        order = self.order(False, Run(columns, some.numbers, some.keys))
        ranks = some.owners if delta.numbers_differ else None
        run = ranked_run(some.rows(self.longest.names), columns, some.numbers, order, ranks)
        rows = replace(rows, columns=columns, order=order)
        if self.counts:
            assert isinstance(owed[0], Ranked)
            run, more = settle(run, rows, owed[0], order)
            owed = (replace(owed[0], columns=columns, order=order).extend(more),)
        if not run.rows:
            return (rows, *heads, *owed), {}
        if not heads:
            return (rows.extend(run), *owed), {}
        groups = groups_in(run)
        read = delta.read if delta.numbers_differ and _are_all(groups, delta.groups) else {}
        spans = [Span.of(each, groups) for each in (*rows.runs, run)]
        moved = [self._move_heads(end, head, spans, groups, read) for end, head in enumerate(heads, start=1)]
        return (rows.extend(run), *moved, *owed), {}

    @property
    def needs(self) -> tuple[str, ...] | None:
        return None if self.counts else ()

    def choose_rows(self, delta: Delta) -> Indices:
        """The first row of each group, the last, or both. Values are compared column by column, as far as they tie."""
        assert delta.owners is not None
        assert delta.groups is not None
        every, owners, count, chosen = delta.rows_in(self.longest.which), delta.owners, delta.groups.rows, []
        for backwards in self.ends:
            order, rows = self.order(backwards, delta.groups), every
            for place, name in enumerate(order.columns):
                column = one_chunk(delta.table[name])
                numbers = order.numbers_of(place, column if len(rows) == len(column) else column.take(pa.array(rows)))
                least = np.full(count, np.iinfo(numbers.dtype).max, numbers.dtype)
                np.minimum.at(least, owners[rows], numbers)
                rows = rows[numbers == least[owners[rows]]]
            firsts = first_of_each(owners[rows], count)
            chosen.append(rows[firsts[firsts >= 0]])
        return np.concatenate(chosen)

    def by_rank(self, reading: Reading) -> ByRank:
        """The values of the groups of a delta, before and after it."""
        runs = [(state, run) for state, traces in enumerate(reading.traces.values()) for run in traces[self][0]]
        spans = [Span.of_groups(run, reading.groups).renumber(state * reading.groups.rows) for state, run in runs]
        return ByRank(spans, reading.states, self.order(False, reading.groups))

    def _move_heads(self, end: int, heads: Trace, spans: list[Span], groups: Run, read: dict[Any, Any]) -> Trace:
        """Replaces the first or last rows of groups that a delta changes. The last of `spans` is that of the delta.

        Puts the rows before and after into `read`, so that parts need not read them again."""
        assert isinstance(heads, Heads)
        backwards = self.ends[end - 1]
        order, old = self.order(backwards, groups), heads.of(groups)
        stays, begin = start_of(spans[-1].run, old, groups, order, backwards)
        if has_all(stays):
            read[self, end, 0] = read[self, end, 1] = old
            return heads
        moving = [each for each in (span.only(~stays) for span in spans) if len(each.groups)]
        ranges = [span._replace(backwards=backwards).since(begin, order) for span in moving]
        new = first_rows(ranges, groups, 1, order)
        after = heads.update(old and old.only(~stays), new, groups)
        if old is not None and stays.any():
            new = old.only(stays) if new is None else old.only(stays).append(new)
        read[self, end, 0], read[self, end, 1] = old, new
        return after


def _are_all(some: Run, groups: Run | None) -> bool:
    """Whether these are all groups of a delta, whose numbers differ."""
    return groups is not None and np.array_equal(some.keys.numbers, groups.keys.numbers)


def orders_for(wanted: list[Wanted], counted: list[Wanted]) -> list[Ordered]:
    """Returns the orders, each once, that have the first rows of `wanted`, and that count the values of `counted`.

    An order by more columns does not do for one by fewer: while a retraction is ahead of its insertion, it has other
    rows of positive weight.
    """
    orders: list[Ordered] = []
    for each in dict.fromkeys(wanted):
        place = next((place for place, order in enumerate(orders) if order.is_by(each)), None)
        if place is None:
            orders.append(Ordered(each, (each.backwards,)))
        elif each.backwards not in orders[place].ends:
            orders[place] = replace(orders[place], ends=(False, True))
    for each in dict.fromkeys(counted):
        place = next((place for place, order in enumerate(orders) if order.is_by(each)), None)
        if place is None:
            orders.append(Ordered(each, (), counts=True))
        else:
            orders[place] = replace(orders[place], counts=True)
    return orders


@final
@dataclass(frozen=True)
class FirstPart(AggregatePart):
    """min, max, arg_min, arg_max, first and last: the first value of each group in an order."""

    def fits(self) -> bool:
        return comparisons(self.wanted.layout) is not None

    @property
    def wanted(self) -> Wanted:
        of = self.of.aggregator
        assert isinstance(of, on_values.FirstOf)
        names, cells = tuple(self.names[at] for at in of.by), tuple(self.cells[at] for at in of.by)
        return Wanted(names, of.descending, self.which, cells)

    def results(self, reading: Reading) -> pa.Array:
        wanted, groups = self.wanted, reading.groups
        orders = [each for each in reading.traces[1] if isinstance(each, Ordered) and each.is_by(wanted)]
        keeper = next(each for each in orders if wanted.backwards in each.ends)
        end = 1 + keeper.ends.index(wanted.backwards)

        def head(state: int) -> Leading | None:
            heads = reading.traces[state][keeper][end]
            assert isinstance(heads, Heads)
            return reading.once((keeper, end, state), lambda: heads.of(groups))

        values, places = [pa.nulls(0, self.cells[0].arrow)], [np.zeros(0, np.int64)]
        for place, state in enumerate(reading.traces):
            if (leading := head(state)) is not None:
                values.append(one_chunk(leading.table[self.names[0]]))
                places.append(leading.groups + place * groups.rows)
        return scatter(pa.concat_arrays(values), np.concatenate(places), reading.states)


@final
@dataclass(frozen=True)
class QuantilePart(AggregatePart):
    """median, quantile and percentile: the value at a rank of each group, or between two."""

    def fits(self) -> bool:
        return comparisons(self.wanted.layout) is not None and all(cell.hashable for cell in self.cells)

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.names, (False,), self.which, self.cells)

    def results(self, reading: Reading) -> pa.Array:
        orders = [each for each in reading.traces[1] if isinstance(each, Ordered) and each.is_by(self.wanted)]
        keeper = next(each for each in orders if each.counts)
        values = reading.once((keeper, ByRank), lambda: keeper.by_rank(reading))
        groups = np.flatnonzero(values.sizes)
        if not len(groups):
            return pa.nulls(reading.states, self.cell.arrow)
        of = self.of.aggregator
        if isinstance(of, on_values.PercentileOf):
            return scatter(_percentiles(of, values, groups), groups, reading.states)
        assert isinstance(of, on_values.QuantileOf)
        return scatter(self._quantiles(of, values, groups), groups, reading.states)

    def _quantiles(self, of: on_values.QuantileOf, values: ByRank, groups: Indices) -> pa.Array:
        """The quantile of each of these groups, with exact arithmetic."""
        sizes = values.sizes[groups]
        if int(sizes.max()) * of.at.denominator >= 2**62:
            raise weight_overflow()
        lows, parts = np.divmod((sizes - 1) * of.at.numerator, of.at.denominator)
        if not of.continuous:
            return values.at(groups, lows)
        low, high = _find_both(values, groups, lows, lows + (parts > 0))
        return interpolate(low, high, parts, of, self.cells[0], self.cell)


def _find_both(values: ByRank, groups: Indices, one: Indices, other: Indices) -> tuple[pa.Array, pa.Array]:
    """Returns the values of groups at two ranks each, which are searched for together."""
    both = values.at(np.concatenate([groups, groups]), np.concatenate([one, other]))
    return both[: len(groups)], both[len(groups) :]


def _percentiles(of: on_values.PercentileOf, values: ByRank, groups: Indices) -> pa.Array:
    """The percentile of each group, with the arithmetic of floats."""
    lasts = values.sizes[groups] - 1
    places = np.maximum(np.ceil((lasts + 1) * of.at) - 1, 0) if of.discrete else lasts * of.at
    low, high = np.floor(places), np.ceil(places)
    ranks = (lasts - each if of.downwards else each for each in (low, high))
    one, other = map(np.asarray, _find_both(values, groups, *(each.astype(np.int64) for each in ranks)))
    with np.errstate(invalid="ignore", over="ignore"):
        between_them = on_values.interpolated(one, other, places - low, high - places, of.weighs_ends)
    return pa.array(np.where((low == high) | (one == other), one, between_them))


def interpolate(
    low: pa.Array, high: pa.Array, parts: Indices, of: on_values.QuantileOf, given: Cell, result: Cell
) -> pa.Array:
    """Returns low + (high - low) * part / denominator for each of these values, rounded once.

    The denominator is that of the quantile."""
    whole = of.at.denominator
    if pa.types.is_decimal(low.type):
        rows = zip(given.to_values(low), given.to_values(high), parts.tolist(), strict=True)
        return result.to_array([on_values.between(a, b, Fraction(part, whole), of.places) for a, b, part in rows])
    one, other = (np.asarray(each.cast(pa.float64(), safe=False)) for each in (low, high))
    exact = np.isfinite(one) & np.isfinite(other)
    if pa.types.is_floating(low.type):
        exact &= (parts > 0) & (one != other)
    left, right, size = low.filter(pa.array(exact)), high.filter(pa.array(exact)), np.full(exact.sum(), whole)
    to_right = limbs_in(right).times(Limbs.of_ints(parts[exact]))
    sums = to_right.minus(limbs_in(left).times(Limbs.of_ints(parts[exact] - size)))
    with np.errstate(invalid="ignore", over="ignore"):
        points = np.where((parts == 0) | (one == other), one, one + (other - one) * 0.5)
    points[exact] = sums.to_floats(size) if len(size) else 0.0
    return pa.array(points)
