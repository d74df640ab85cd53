"""Order statistics, each a part of `group_by` on tables: median, quantiles and percentiles.

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

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import pyarrow as pa

from flo.columns.cell import Cell
from flo.columns.indices import Indices
from flo.tables.operators.group_orders import Ordered, Wanted
from flo.tables.operators.group_part import Part, Reading, scatter
from flo.tables.state.comparison import comparisons
from flo.tables.state.limbs import Limbs, limbs_in
from flo.tables.state.ranks import ByRank
from flo.tables.state.trace import weight_overflow
from flo.values.operators import group_aggregates as on_values


@final
@dataclass(frozen=True)
class QuantilePart(Part):
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
