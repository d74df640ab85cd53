"""Aggregates of sums, each a part of `group_by` on tables: count, sum, avg, bool_and, variances and those of the user.

Everything is computed from sums of numbers times their weights:

    group  x  weight    sums of a: n = 3, Σx = 3·2 + 2 = 8, Σx² = 9·2 + 4 = 22
    a      3  +2        avg = Σx / n = 8/3
    a      2  +1        variance = (n · Σx² - (Σx)²) / n² = (66 - 64) / 9

Invariant: sums are exact (state/limbs.py), so that a retraction takes away exactly what its insertion has added. A
result is rounded once, at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.cell import Cell
from flo.columns.expression import Expression
from flo.columns.indices import Indices, largest, to_arrow
from flo.columns.layout import Layout
from flo.tables.functions import called, written
from flo.tables.operators.group_part import (
    AggregatePart,
    Bit,
    Chosen,
    Multiplied,
    NotFinite,
    Number,
    Reading,
    Summand,
    has_sums,
    or_null,
    scatter,
)
from flo.tables.state.limbs import Limbs
from flo.tables.state.totals import Sums, as_array, as_decimals, as_floats, as_list, digits_of
from flo.tables.values import WEIGHT
from flo.values.exact import root_of, to_decimal, to_float
from flo.values.operators import group_aggregates as on_values
from flo.values.operators import moments
from flo.values.operators.shapes import expect_declared


@final
@dataclass(frozen=True)
class LinearPart(AggregatePart):
    """count, sum, avg, bool_and and bool_or: a sum, and how many values there are."""

    def fits(self) -> bool:
        return all(has_sums(cell.arrow) for cell in self.cells) or self._only_counts

    @property
    def _only_counts(self) -> bool:
        return isinstance(self.of.aggregator, on_values.CountRows)

    @cached_property
    def _number(self) -> Number:
        return Number(self.which, self.names[0])

    def summands(self) -> tuple[Summand, ...]:
        return self.counts() if self._only_counts else (*self.counts(), self._number)

    def results(self, reading: Reading) -> pa.Array:
        count, kind = self.count(reading), type(self.of.aggregator)
        if kind is on_values.CountRows:
            return to_arrow(np.maximum(count, 0))
        if kind is on_values.AllTrue:
            return or_null(pa.array(reading.integers(self._number) == count), count > 0)
        if kind is on_values.AnyTrue:
            return or_null(pa.array(reading.integers(self._number) > 0), count > 0)
        # what is left in a group that does not exist may not fit into the column
        there = ((count > 0) & (reading.sums[WEIGHT] > 0)).nonzero()[0]
        if len(there) == len(count):
            return self._of_sums(reading, reading.sums, count, there)
        sums = {name: column[there] for name, column in reading.sums.items()}
        return scatter(self._of_sums(reading, sums, count[there], there), there, len(count))

    def _of_sums(self, reading: Reading, sums: Sums, count: Indices, there: Indices) -> pa.Array:
        """Returns the sums or averages of the groups that exist, which are those with the indices `there`."""
        kind, place = self.cell.arrow, reading.places[self._number]

        def name(index: int) -> str:
            return reading.name(int(there[index]))

        if not isinstance(self.of.aggregator, on_values.AverageOf):
            return as_array(sums, place, kind, name)
        sums = {**sums, WEIGHT: count}
        if pa.types.is_decimal(kind):
            return as_decimals(sums, place, self.cells[0].arrow, kind, name, mean=True)
        return pa.array(as_floats(sums, place, mean=True))


@final
@dataclass(frozen=True)
class BitsPart(AggregatePart):
    """bit_and, bit_or and bit_xor: how many values have each bit."""

    def fits(self) -> bool:
        kind = self.cells[0].arrow
        return bool(pa.types.is_signed_integer(kind) and kind.bit_width == self._aggregator.bits)

    @property
    def _aggregator(self) -> on_values.Bitwise:
        assert isinstance(self.of.aggregator, on_values.Bitwise)
        return self.of.aggregator

    @property
    def _places(self) -> list[Bit]:
        number = Number(self.which, self.names[0])
        return [Bit(number, place) for place in range(self._aggregator.bits)]

    def summands(self) -> tuple[Summand, ...]:
        return (*self.counts(), *self._places)

    def results(self, reading: Reading) -> pa.Array:
        count, kind = self.count(reading), self.cell.arrow
        numbers = np.zeros(len(count), np.uint64)
        for each in self._places:
            bit = on_values.is_bit_set(self._aggregator.how, reading.integers(each), count)
            numbers |= bit.astype(np.uint64) << np.uint64(each.place)
        return or_null(pa.array(numbers.astype(kind.to_pandas_dtype()), kind), count > 0)


@final
@dataclass(frozen=True)
class MomentsPart(AggregatePart):
    """Variances, covariances and correlations: exact sums of the numbers and of their products, rounded once."""

    def fits(self) -> bool:
        return all(has_sums(cell.arrow) for cell in self.cells)

    @property
    def _floats(self) -> tuple[str, ...]:
        """The columns that may have infinities or NaN."""
        kinds = zip(self.names, self.cells, strict=True)
        return tuple(name for name, cell in kinds if pa.types.is_floating(cell.arrow))

    @property
    def _numbers(self) -> tuple[Number, ...]:
        """The numbers that are added up. For a row with an infinity or NaN nothing is added; such rows are counted. If
        there is one column, sums leave such numbers out anyway."""
        one = len(set(self.names)) == 1
        which = self.which if one else Chosen(self.where, self.which.filled, self._floats)
        return tuple(Number(which, name) for name in self.names)

    @property
    def _products(self) -> tuple[Multiplied, ...]:
        """Of the numbers, as far as the aggregate needs them."""
        one, two = self._numbers[0], self._numbers[-1]
        return (
            (Multiplied(one, one), Multiplied(one, two), Multiplied(two, two))
            if self._correlates
            else (Multiplied(one, two),)
        )

    def summands(self) -> tuple[Summand, ...]:
        odd = (NotFinite(self.which, self._floats),) if self._floats else ()
        return (*self.counts(), *odd, *self._numbers, *self._products)

    def results(self, reading: Reading) -> pa.Array:
        aggregator, count = self.of.aggregator, self.count(reading)
        there = (count > getattr(aggregator, "less", 0)) if not self._correlates else count > 0
        moments = np.full(len(count), np.nan)
        odd = reading.integers(NotFinite(self.which, self._floats)) if self._floats else np.zeros(len(count))
        places = np.flatnonzero(there & (odd == 0))
        if len(places):
            moments[places] = self._of_finite(reading, count, places)
        # an infinity or NaN, however few values there are, makes it NaN
        return or_null(pa.array(moments), there | ((odd != 0) & (count > 0)))

    @property
    def _correlates(self) -> bool:
        return isinstance(self.of.aggregator, moments.Correlation)

    def _of_finite(self, reading: Reading, count: Indices, places: Indices) -> Any:
        """Returns the results with these indices, where all values are finite."""
        aggregator, last = self.of.aggregator, len(self.names) - 1
        both = self._spread(reading, count, 0, last).at(places)
        many = count[places]
        if self._correlates:
            one, other = (self._spread(reading, count, place, place).at(places) for place in (0, last))
            rows = zip(both.fractions(), one.fractions(), other.fractions(), strict=True)
            return [moments.correlated(*each) for each in rows]
        less, root = getattr(aggregator, "less", 0), getattr(aggregator, "root", False)
        divisors = many * (many - less)  # exact below 2³¹
        scale = 10 ** (self._scale(0) + self._scale(last))
        if scale == 1 and largest(many) < 2**31:
            return both.to_roots(divisors) if root else both.to_floats(divisors)
        finish = root_of if root else to_float
        counts = many.tolist()
        return [
            finish(number / (scale * each * (each - less)))
            for number, each in zip(both.fractions(), counts, strict=True)
        ]

    def _scale(self, place: int) -> int:
        """The decimal places of an argument, in whose units sums are."""
        kind = self.cells[place].arrow
        return int(kind.scale) if pa.types.is_decimal(kind) else 0

    def _spread(self, reading: Reading, count: Indices, place: int, other: int) -> Limbs:
        """n · Σxy - Σx · Σy of two arguments."""
        one, two = self._numbers[place], self._numbers[other]

        def make() -> Limbs:
            which = dict.fromkeys((one, two, Multiplied(one, two)))
            digits = {each: digits_of(reading.sums, reading.places[each]).carry() for each in which}
            x, y, xy = digits[one], digits[two], digits[Multiplied(one, two)]
            return xy.times(Limbs.of_ints(count)).minus(x.times(y))

        return reading.once(("spread", one, two), make)


@final
@dataclass(frozen=True)
class FinishedPart(AggregatePart):
    """linear(of, finish): sums, and a function of the user that computes the result from them."""

    @property
    def _aggregator(self) -> on_values.LinearOf:
        assert isinstance(self.of.aggregator, on_values.LinearOf)
        return self.of.aggregator

    @property
    def _cells(self) -> tuple[Cell, ...]:
        """The numbers that are added: the columns, or the fields of one column of tuples."""
        if not pa.types.is_struct(self.cells[0].arrow):
            return self.cells
        layout = Layout.of(self.cells[0].kind)
        return () if layout is None else layout.cells

    def fits(self) -> bool:
        cells = self._cells
        inside = any(cell.nullable for cell in cells) and pa.types.is_struct(self.cells[0].arrow)
        return bool(cells) and not inside and all(has_sums(cell.arrow) for cell in cells)

    @property
    def _numbers(self) -> tuple[Number, ...]:
        if pa.types.is_struct(self.cells[0].arrow):
            return tuple(Number(self.which, self.names[0], place) for place in range(len(self._cells)))
        return tuple(Number(self.which, name) for name in self.names)

    def summands(self) -> tuple[Summand, ...]:
        return (*self.counts(), *self._numbers)

    def results(self, reading: Reading) -> pa.Array:
        there = np.flatnonzero((self.count(reading) > 0) & (reading.sums[WEIGHT] > 0))
        columns = []
        for number, cell in zip(self._numbers, self._cells, strict=True):
            values = as_list(reading.sums, reading.places[number], cell.arrow)
            if pa.types.is_decimal(cell.arrow):
                values = list(map(int if cell.wide else to_decimal, values))
            columns.append([values[place] for place in there])
        finish = self._aggregator.finish
        totals = [self._aggregator.combine(*each) for each in zip(*columns, strict=True)]
        if isinstance(finish, Expression):
            finish.prepare(totals)
        finished = called(finish, totals)
        expect_declared(finish, finished)
        layout = Layout.of(self.cell.annotation)
        assert layout is not None
        return scatter(layout.as_array(written(finished, layout.element)), there, reading.states)
