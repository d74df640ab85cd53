"""Operators into LVars on tables: the rows of a delta become one value, which is the delta of the LVar.

    delta: n        fold_lattice(Max)    fold_lattice(Min)    sum_lattice: sums so far, and the largest
    3               8                    -1                   3, 11, 10: the delta is 11
    8
    -1

Invariant: an LVar is the join of all of its deltas. A join does not depend on order or repetition, so the rows of a
delta may be joined in any order, in columns, and `fold_lattice` keeps nothing. `sum_lattice` keeps the exact sum of all
numbers so far.

A lattice is computed on columns if `is_reducible` says so of its rows. If a row is not a value of the lattice
(`are_proper`), the operator on values raises the error that users see.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, final, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell
from flo.columns.indices import Indices, one_chunk, take_rows
from flo.columns.layout import VALUE, Layout
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.core.type_relations import accepts
from flo.tables.functions import elements_of, result_layout, results, runs_on_columns
from flo.tables.groups import Groups
from flo.tables.operator import Grouping, OnTables, Placement
from flo.tables.state.comparison import comparisons
from flo.tables.state.grouping import AdjacentRows
from flo.tables.state.limbs import BITS, Limbs, has_digits, limbs_of, split_digits
from flo.tables.state.products import Addends, sum_numbers
from flo.tables.state.totals import numbers_in
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, is_ordered, layout_of
from flo.values.canonical import canonical_element
from flo.values.exact import plain_type
from flo.values.lattice import TOP, Lattice
from flo.values.lattice_orders import And, Flat, Max, Min, NaturalSum, Or, canonical
from flo.values.lattice_structures import Product, Versioned
from flo.values.lvar import LVarValue
from flo.values.operators.lattices import FoldLattice, SumLattice
from flo.values.sequence import SequenceValue
from flo.values.weighted import BagValue

_SEARCHED = (str, bytes, Decimal)
"""Of these Arrow finds the largest without sorting, in the order that Python has."""


def is_reducible(lattice: Lattice[Any], layout: Layout | None) -> bool:
    """Whether rows of this layout are values of the lattice, and their join can be computed from columns."""
    if layout is None:
        return False
    match lattice:
        case Max(ordered=kind) | Min(ordered=kind) | Flat(agreed=kind):
            return comparisons(layout) is not None and _has_declared_type(kind, layout)
        case And() | Or():
            return _is_one_of(layout, bool)
        case NaturalSum(number=kind):
            return _is_one_of(layout, int, bool) or (kind is not int and _is_one_of(layout, float, Decimal))
        case Product(lattices=lattices):
            return len(lattices) == len(_parts(layout)) and all(map(is_reducible, lattices, _parts(layout)))
        case Versioned(version=kind, lattice=inner):
            parts = _parts(layout)
            return len(parts) == 2 and is_reducible(Max(kind), parts[0]) and is_reducible(inner, parts[1])
    return False


def _has_declared_type(kind: Any, layout: Layout) -> bool:
    """Whether all elements are of the type that the lattice says."""
    if kind is Any or kind == layout.element:
        return True
    plain = isinstance(kind, type) and not get_args(kind)
    return plain and layout.names == (VALUE,) and accepts(kind, plain_type(layout.cells[0].kind))


def _is_one_of(layout: Layout, *kinds: Any) -> bool:
    """Whether rows are values of one of these Python types, and never None."""
    cell = layout.cells[0]
    return layout.names == (VALUE,) and plain_type(cell.kind) in kinds and not cell.nullable


def _parts(layout: Layout) -> list[Layout | None]:
    """The layouts of the places of a tuple."""
    return [None if cell.nullable else Layout.of(cell.kind) for cell in layout.cells] if layout.form is tuple else []


def _unpack(layout: Layout, table: pa.Table) -> list[tuple[Layout, pa.Table]]:
    """Splits rows that are tuples into their parts: the layout and the columns of each. `is_reducible` must hold."""
    cells = zip(layout.names, layout.cells, strict=True)
    return [_unpack_cell(cell, one_chunk(table[name])) for name, cell in cells]


def _unpack_cell(cell: Cell, array: pa.Array) -> tuple[Layout, pa.Table]:
    """The layout of the values of a column, and their columns."""
    inner = Layout.of(cell.kind)
    assert inner is not None
    arrays = [array] if inner.form == "value" else array.flatten()
    return inner, pa.Table.from_arrays(arrays, names=list(inner.names))


def are_proper(lattice: Lattice[Any], layout: Layout, table: pa.Table) -> bool:
    """Whether every row is a value of the lattice. If not, the operator on values raises."""
    match lattice:
        case Product(lattices=lattices):
            return _are_all_proper(lattices, _unpack(layout, table))
        case Versioned(version=kind, lattice=inner):
            return _are_all_proper((Max(kind), inner), _unpack(layout, table))
    columns = [one_chunk(column) for column in table.columns]
    if any(map(_has_null_or_nan, columns)) or (isinstance(lattice, NaturalSum) and not are_natural(columns[0])):
        return False
    return not any(each.doubtful(column).any() for each, column in zip(comparisons(layout) or (), columns, strict=True))


def _are_all_proper(lattices: tuple[Lattice[Any], ...], indices: list[tuple[Layout, pa.Table]]) -> bool:
    return all(are_proper(lattice, *place) for lattice, place in zip(lattices, indices, strict=True))


def _has_null_or_nan(array: pa.Array) -> bool:
    """Whether there is a null or a NaN in it, or in a part of a value."""
    if pa.types.is_struct(array.type):
        return bool(array.null_count) or any(map(_has_null_or_nan, array.flatten()))
    if pa.types.is_list(array.type):
        return bool(array.null_count) or _has_null_or_nan(array.flatten())
    return bool(array.null_count or (pa.types.is_floating(array.type) and np.isnan(np.asarray(array)).any()))


def are_natural(array: pa.Array) -> bool:
    """Whether all numbers are finite and not below zero."""
    if pa.types.is_boolean(array.type):
        return True
    return are_finite(array) and not pc.any(pc.less(array, pa.scalar(0, array.type))).as_py()


def are_finite(array: pa.Array) -> bool:
    return not pa.types.is_floating(array.type) or bool(np.isfinite(np.asarray(array)).all())


def join_rows(lattice: Lattice[Any], layout: Layout, table: pa.Table) -> Any:
    """Joins all rows, of which there is at least one."""
    match lattice:
        case Max() | NaturalSum():
            return lattice.value(_element(layout, table, largest=True))
        case Min():
            return _element(layout, table, largest=False)
        case Flat():
            least = _element(layout, table, largest=False)
            return least if least == _element(layout, table, largest=True) else TOP
        case And():
            return pc.all(table[VALUE]).as_py()
        case Or():
            return pc.any(table[VALUE]).as_py()
        case Product(lattices=lattices):
            indices = _unpack(layout, table)
            return tuple(join_rows(each, *place) for each, place in zip(lattices, indices, strict=True))
    assert isinstance(lattice, Versioned)
    (versions, version), (inner, values) = _unpack(layout, table)
    newest = _find_best(versions, version, largest=True)
    return versions.to_elements(take_rows(version, newest[:1]))[0], join_rows(
        lattice.lattice, inner, take_rows(values, newest)
    )


def _element(layout: Layout, table: pa.Table, *, largest: bool) -> Any:
    return canonical_element(layout.to_elements(take_rows(table, _find_best(layout, table, largest=largest)[:1]))[0])


def _find_best(layout: Layout, table: pa.Table, *, largest: bool) -> Indices:
    """Returns the rows that are the largest, or the smallest: compared by the first column, then by the next one."""
    rows = np.arange(table.num_rows)
    for name, cell, each in zip(layout.names, layout.cells, comparisons(layout) or (), strict=True):
        column = one_chunk(table[name])
        column = column if len(rows) == len(column) else column.take(pa.array(rows))
        if plain_type(cell.kind) in _SEARCHED and not pa.types.is_fixed_size_binary(column.type):
            best = np.asarray(pc.equal(column, pc.min_max(column)["max" if largest else "min"]))
        else:
            numbers = each.numbers(column)
            best = numbers == (numbers.max() if largest else numbers.min())
        rows = rows[best]
    return rows


@dataclass(frozen=True)
class LVars:
    """A delta of LVars by group."""

    owners: pa.Table
    """The keys of the groups."""
    values: list[Any]
    """The LVar of each."""


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
        return not (runs_on_columns(like.f) and is_reducible(like.lattice, result_layout(like.f, self.inputs[0])))

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        if not self.keys:
            return self, (self._join(table),)
        groups = Groups.of(table, self.keys)
        parts = zip(groups.firsts.tolist(), groups.counts.tolist(), strict=True)
        values = [self._join(groups.rows.slice(first, count)) for first, count in parts]
        return self, (LVars(groups.keys.table, values),)  # type: ignore[return-value]

    def _join(self, table: pa.Table) -> Any:
        like = self.like
        of = self.inputs[0]
        if not self.by_row:
            layout, values = result_layout(like.f, of), results(like.f, of, table)
            assert layout is not None
            if are_proper(like.lattice, layout, values):
                return LVarValue(like.lattice, join_rows(like.lattice, layout, values))
        return like.consume(elements_of(of, table), SequenceValue)[1][0]


@form_of(SumLattice)
@final
@dataclass(frozen=True)
class SumLatticeTables(OnTables[SumLattice]):
    """The largest sum so far."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE

    total: int | Fraction = 0
    """The exact sum of all numbers so far."""

    name = "sum_lattice_tables"

    @classmethod
    def fits(cls, like: SumLattice, inputs: StreamTypes) -> bool:
        layout = layout_of(inputs[0].collection)
        return layout.names == (VALUE,) and has_digits(layout.cells[0].arrow)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        like = self.like
        sequence = is_ordered(self.inputs[0])
        array = one_chunk(table[VALUE])
        if array.null_count or not (are_finite(array) if sequence else are_natural(array)):
            return self._refuse(table)
        sums = _sum_prefixes(array) if sequence else _sum_all(array, numbers_in(table, WEIGHT))
        ends = [self.total + _exact(sums, place, array.type) for place in (_find_largest(sums), -1)]
        largest = LVarValue(like.lattice, canonical(max(0, self.total, *ends)))
        return replace(self, total=canonical(ends[-1])), (largest,)

    def _refuse(self, table: pa.Table) -> tuple[Operator, Deltas]:
        """Raises the error of the operator on values."""
        like = self.like
        elements = elements_of(self.inputs[0], table)
        if is_ordered(self.inputs[0]):
            return like.consume(elements, SequenceValue)
        return like.consume(list(zip(elements, table[WEIGHT].to_pylist(), strict=True)), BagValue)


def _sum_all(array: pa.Array, weights: Any) -> Limbs:
    """The one sum of all numbers times their weights."""
    return sum_numbers(Addends(array), weights, AdjacentRows(np.zeros(1, np.int64), len(array)))


def _sum_prefixes(array: pa.Array) -> Limbs:
    """The sum up to each number."""
    digits: dict[int, Any] = {}
    for index, digit in split_digits(array):
        digits[index] = digits[index] + digit if index in digits else digit
    return limbs_of({index: np.cumsum(digit) for index, digit in digits.items()}, len(array)).carry()


def _find_largest(sums: Limbs) -> int:
    """The index of the largest sum. The sums must be in canonical form."""
    indices = np.arange(sums.digits.shape[1])
    for digit in sums.digits[::-1]:
        digits = digit[indices]
        indices = indices[digits == digits.max()]
    return int(indices[0])


def _exact(sums: Limbs, place: int, kind: pa.DataType) -> int | Fraction:
    """The sum at an index as a number of Python, without rounding."""
    number = sums.number(place) * Fraction(2) ** (BITS * sums.low)
    return number / 10**kind.scale if pa.types.is_decimal(kind) else number
