"""Joins of lattice values over columns: the largest, the smallest, whether all or any are true, place by place."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, get_args, get_origin

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell
from flo.columns.indices import Places, one_chunk, take_rows
from flo.columns.layout import VALUE, Layout
from flo.core.type_relations import accepts
from flo.tables.state.python_order import comparisons
from flo.values.canonical import canonical_element
from flo.values.lattice import TOP, Lattice
from flo.values.lattice_orders import And, Flat, Max, Min, NaturalSum, Or
from flo.values.lattice_structures import Product, Versioned

_SEARCHED = (str, bytes, Decimal)
"""Of these Arrow finds the largest without sorting, in the order that Python has."""


def reducible(lattice: Lattice[Any], layout: Layout | None) -> bool:
    """Whether rows of this layout are values of the lattice, and their join can be told from columns."""
    if layout is None:
        return False
    match lattice:
        case Max(ordered=kind) | Min(ordered=kind) | Flat(agreed=kind):
            return comparisons(layout) is not None and _declared(kind, layout)
        case And() | Or():
            return _one_of(layout, bool)
        case NaturalSum(number=kind):
            return _one_of(layout, int, bool) or (kind is not int and _one_of(layout, float, Decimal))
        case Product(lattices=lattices):
            return len(lattices) == len(_parts(layout)) and all(map(reducible, lattices, _parts(layout)))
        case Versioned(version=kind, lattice=inner):
            parts = _parts(layout)
            return len(parts) == 2 and reducible(Max(kind), parts[0]) and reducible(inner, parts[1])
    return False


def _declared(kind: Any, layout: Layout) -> bool:
    """Whether all elements are of the type that the lattice says."""
    if kind is Any or kind == layout.element:
        return True
    plain = isinstance(kind, type) and not get_args(kind)
    return plain and layout.names == (VALUE,) and accepts(kind, _plain_kind(layout.cells[0].kind))


def _plain_kind(kind: Any) -> Any:
    """The Python type, without the Arrow type beside it."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _one_of(layout: Layout, *kinds: Any) -> bool:
    cell = layout.cells[0]
    return layout.names == (VALUE,) and _plain_kind(cell.kind) in kinds and not cell.nullable


def _parts(layout: Layout) -> list[Layout | None]:
    """The layouts of the places of a tuple."""
    return [None if cell.nullable else Layout.of(cell.kind) for cell in layout.cells] if layout.form is tuple else []


def _places(layout: Layout, table: pa.Table) -> list[tuple[Layout, pa.Table]]:
    """The layouts and the columns of the places of a tuple, which `reducible` has found to have some."""
    cells = zip(layout.names, layout.cells, strict=True)
    return [_columns(cell, one_chunk(table[name])) for name, cell in cells]


def _columns(cell: Cell, array: pa.Array) -> tuple[Layout, pa.Table]:
    inner = Layout.of(cell.kind)
    assert inner is not None
    arrays = [array] if inner.form == "value" else array.flatten()
    return inner, pa.Table.from_arrays(arrays, names=list(inner.names))


def proper(lattice: Lattice[Any], layout: Layout, table: pa.Table) -> bool:
    """Whether every row is a value of the lattice; if not, the operator on values says what is wrong."""
    match lattice:
        case Product(lattices=lattices):
            return _all_proper(lattices, _places(layout, table))
        case Versioned(version=kind, lattice=inner):
            return _all_proper((Max(kind), inner), _places(layout, table))
    columns = [one_chunk(column) for column in table.columns]
    if any(map(_strange, columns)) or (isinstance(lattice, NaturalSum) and not natural(columns[0])):
        return False
    return not any(each.doubtful(column).any() for each, column in zip(comparisons(layout) or (), columns, strict=True))


def _all_proper(lattices: tuple[Lattice[Any], ...], places: list[tuple[Layout, pa.Table]]) -> bool:
    return all(proper(lattice, *place) for lattice, place in zip(lattices, places, strict=True))


def _strange(array: pa.Array) -> bool:
    """Whether there is a null or a nan in it."""
    if pa.types.is_struct(array.type):
        return bool(array.null_count) or any(map(_strange, array.flatten()))
    if pa.types.is_list(array.type):
        return bool(array.null_count) or _strange(array.flatten())
    return bool(array.null_count or (pa.types.is_floating(array.type) and np.isnan(np.asarray(array)).any()))


def natural(array: pa.Array) -> bool:
    """Whether all numbers are finite and not below zero."""
    if pa.types.is_boolean(array.type):
        return True
    return finite(array) and not pc.any(pc.less(array, pa.scalar(0, array.type))).as_py()


def finite(array: pa.Array) -> bool:
    return not pa.types.is_floating(array.type) or bool(np.isfinite(np.asarray(array)).all())


def joined(lattice: Lattice[Any], layout: Layout, table: pa.Table) -> Any:
    """The join of all rows, of which there is at least one."""
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
            places = _places(layout, table)
            return tuple(joined(each, *place) for each, place in zip(lattices, places, strict=True))
    assert isinstance(lattice, Versioned)
    (versions, version), (inner, values) = _places(layout, table)
    newest = _best(versions, version, largest=True)
    return versions.to_elements(take_rows(version, newest[:1]))[0], joined(
        lattice.lattice, inner, take_rows(values, newest)
    )


def _element(layout: Layout, table: pa.Table, *, largest: bool) -> Any:
    return canonical_element(layout.to_elements(take_rows(table, _best(layout, table, largest=largest)[:1]))[0])


def _best(layout: Layout, table: pa.Table, *, largest: bool) -> Places:
    """The rows that are the largest or the smallest, column by column."""
    rows = np.arange(table.num_rows)
    for name, cell, each in zip(layout.names, layout.cells, comparisons(layout) or (), strict=True):
        column = one_chunk(table[name])
        column = column if len(rows) == len(column) else column.take(pa.array(rows))
        if _plain_kind(cell.kind) in _SEARCHED and not pa.types.is_fixed_size_binary(column.type):
            found = np.asarray(pc.equal(column, pc.min_max(column)["max" if largest else "min"]))
        else:
            numbers = each.numbers(column)
            found = numbers == (numbers.max() if largest else numbers.min())
        rows = rows[found]
    return rows
