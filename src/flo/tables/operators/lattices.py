"""Operators into LVars on tables: the rows of a delta become one value, which is the LVar's delta."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import one_chunk
from flo.columns.layout import VALUE
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import by_columns, elements_of, result_layout, results
from flo.tables.groups import Groups
from flo.tables.operator import Grouping, OnTables, Placement
from flo.tables.operators.lattice_columns import finite, joined, natural, proper, reducible
from flo.tables.state.limbs import BITS, Limbs, has_digits, limbs_of, pieces, summed
from flo.tables.state.totals import numbers_in
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of, ordered
from flo.values.lattice_orders import canonical
from flo.values.lvar import LVarValue
from flo.values.operators.lattices import FoldLattice, SumLattice
from flo.values.sequence import SequenceValue
from flo.values.weighted import BagValue


@dataclass(frozen=True)
class LVars:
    """A delta of LVars by group, and the keys of the groups."""

    owners: pa.Table
    values: list[Any]


@form_of(FoldLattice)
@final
@dataclass(frozen=True)
class FoldLatticeTables(OnTables[FoldLattice]):
    """The join of all rows, on columns where the lattice has a join of them."""

    placement = Placement.ANYWHERE  # a join of joins is the join of all
    grouping = Grouping.ANY
    keeps_positions = False

    name = "fold_lattice_tables"

    @property
    def by_row(self) -> bool:
        like = self.like
        return not (by_columns(like.f) and reducible(like.lattice, result_layout(like.f, self.inputs[0])))

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        if not self.keys:
            return self, (self._joined(table),)
        groups = Groups.of(table, self.keys)
        parts = zip(groups.firsts.tolist(), groups.counts.tolist(), strict=True)
        values = [self._joined(groups.rows.slice(first, count)) for first, count in parts]
        return self, (LVars(groups.keys.table, values),)  # type: ignore[return-value]

    def _joined(self, table: pa.Table) -> Any:
        """The join of these rows, as an LVar."""
        like = self.like
        of = self.inputs[0]
        if not self.by_row:
            layout, found = result_layout(like.f, of), results(like.f, of, table)
            assert layout is not None
            if proper(like.lattice, layout, found):
                return LVarValue(like.lattice, joined(like.lattice, layout, found))
        return like.consume(elements_of(of, table), SequenceValue)[1][0]


@form_of(SumLattice)
@final
@dataclass(frozen=True)
class SumLatticeTables(OnTables[SumLattice]):
    """The largest sum so far, exact."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    total: int | Fraction = 0

    name = "sum_lattice_tables"

    @classmethod
    def fits(cls, like: SumLattice, inputs: StreamTypes) -> bool:
        layout = layout_of(inputs[0].collection)
        return layout.names == (VALUE,) and has_digits(layout.cells[0].arrow)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        like = self.like
        sequence = ordered(self.inputs[0])
        array = one_chunk(table[VALUE])
        if array.null_count or not (finite(array) if sequence else natural(array)):
            return self._refused(table)
        sums = _running(array) if sequence else _whole(array, numbers_in(table, WEIGHT))
        ends = [self.total + _exact(sums, place, array.type) for place in (_largest(sums), -1)]
        largest = LVarValue(like.lattice, canonical(max(0, self.total, *ends)))
        return replace(self, total=canonical(ends[-1])), (largest,)

    def _refused(self, table: pa.Table) -> tuple[Operator, Deltas]:
        """What the operator on values says."""
        like = self.like
        elements = elements_of(self.inputs[0], table)
        if ordered(self.inputs[0]):
            return like.consume(elements, SequenceValue)
        return like.consume(list(zip(elements, table[WEIGHT].to_pylist(), strict=True)), BagValue)


def _whole(array: pa.Array, weights: Any) -> Limbs:
    """The one sum of all numbers times their weights."""
    return summed(array, weights, np.arange(len(array)), np.zeros(1, np.int64))


def _running(array: pa.Array) -> Limbs:
    """The sum up to each number."""
    digits: dict[int, Any] = {}
    for index, digit in pieces(array):
        digits[index] = digits[index] + digit if index in digits else digit
    return limbs_of({index: np.cumsum(digit) for index, digit in digits.items()}, len(array)).carried()


def _largest(sums: Limbs) -> int:
    """Where the largest of carried sums is."""
    places = np.arange(sums.digits.shape[1])
    for digit in sums.digits[::-1]:
        found = digit[places]
        places = places[found == found.max()]
    return int(places[0])


def _exact(sums: Limbs, place: int, kind: pa.DataType) -> int | Fraction:
    number = sums.number(place) * Fraction(2) ** (BITS * sums.low)
    return number / 10**kind.scale if pa.types.is_decimal(kind) else number
