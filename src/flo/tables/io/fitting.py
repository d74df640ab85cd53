"""Between tables of the user and tables of the engine.

Columns of an input are matched by name, cast if that is lossless, and rejected otherwise. A table of an output has
equal rows consolidated into one with its weight, and no negative weights unless they are allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell
from flo.columns.changes import row_layout
from flo.columns.indices import Indices, one_chunk
from flo.columns.layout import VALUE, Layout
from flo.columns.narrowing import marked_schema, to_users
from flo.columns.ones import ones
from flo.core.errors import brief
from flo.tables.io.changes import with_users_weights
from flo.tables.io.files import WEIGHTS, Piece
from flo.tables.state.consolidation import consolidate_table
from flo.tables.values import WEIGHT, Rows, is_ordered, layout_of, plain_zeros, schema_of
from flo.values.changes import DELETED, TableShape, shape_of
from flo.values.element_value import ElementCollection
from flo.values.operators.shapes import find_faults
from flo.values.weighted import Bag, Set, ZSet

FAILED = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError, OverflowError)


class Unfit(Exception):
    """No row of a table can fit: a column is missing or has the wrong type."""


@dataclass(frozen=True)
class MisfitRow:
    """A row of a piece that does not fit: its index and the reason."""

    index: int
    reason: str


def fit_rows(piece: Piece, of: ElementCollection[Any]) -> tuple[Rows, Indices, list[MisfitRow]]:
    """The rows that fit, their indices in the piece, and the rows that do not fit."""
    layout, shape = layout_of(of), shape_of(of.element)
    if shape is not None:
        table = piece.table
        arrays, reasons = _convert_changes(piece, shape, layout)
    else:
        table = _match_columns(piece.table, layout)
        arrays, reasons = _convert_columns(piece, table, layout)
    if not is_ordered(of):
        weights, misfits = _read_weights(table, of, layout)
        arrays.append(weights)
        for index, reason in misfits.items():
            reasons.setdefault(index, reason)
    whole = pa.Table.from_arrays(arrays, schema=schema_of(of))
    indices = np.arange(table.num_rows)
    if reasons:
        indices = np.delete(indices, list(reasons))
        whole = whole.take(pa.array(indices))
    rows = Rows(of, plain_zeros(of, whole))
    return rows, indices, [MisfitRow(index, reason) for index, reason in sorted(reasons.items())]


def _convert_columns(piece: Piece, table: pa.Table, layout: Layout) -> tuple[list[pa.Array], dict[int, str]]:
    """The columns of a layout, and the reasons for rows that do not fit, by index."""
    arrays, reasons = [], dict[int, str]()
    for name, cell in zip(layout.names, layout.cells, strict=True):
        array, misfits = _convert_column(
            table, name, cell, name in piece.texts or (name == VALUE and bool(piece.texts))
        )
        arrays.append(array)
        for place, reason in misfits.items():
            reasons.setdefault(place, reason)
    return arrays, reasons


def _convert_changes(piece: Piece, shape: TableShape, layout: Layout) -> tuple[list[pa.Array], dict[int, str]]:
    """The columns of changes, from rows and a column that names deletes. Of a deleted row only the key must fit, and
    the order if there is one; a table of deletes needs no other columns."""
    row, table, deleted = row_layout(shape), piece.table, np.zeros(piece.table.num_rows, bool)
    if DELETED in table.column_names and DELETED not in row.names:
        flags, misfits = _convert_column(table, DELETED, Cell(bool, pa.bool_(), nullable=True), DELETED in piece.texts)
        deleted = np.asarray(pc.fill_null(flags, False))
    else:
        misfits = {}
    if table.num_rows and deleted.all():
        for name, cell in zip(row.names, row.cells, strict=True):
            if name not in shape.leading and name not in table.column_names:
                table = table.append_column(name, pa.nulls(table.num_rows, cell.arrow))
    cells = tuple(replace(c, nullable=c.nullable and n not in shape.leading) for n, c in _columns(row))
    arrays, reasons = _convert_columns(piece, _match_columns(table, row), replace(row, cells=cells))
    if deleted.any():  # what the other columns of a deleted row hold does not matter
        leading = [(name, cell) for name, cell in _columns(row) if name in shape.leading]
        only = replace(
            row, names=tuple(n for n, _ in leading), cells=tuple(replace(c, nullable=False) for _, c in leading)
        )
        keys = _convert_columns(piece, table, only)[1]
        reasons = {p: reason for p, reason in reasons.items() if not deleted[p]} | {
            p: keys[p] for p in keys if deleted[p]
        }
    columns = dict(zip(row.names, arrays, strict=True))
    rest = layout.cells[-1].arrow
    if pa.types.is_struct(rest):
        parts = [columns[field.name] for field in rest]
        last = pa.StructArray.from_arrays(parts, fields=list(rest), mask=pa.array(deleted))
    else:
        last = pc.if_else(pa.array(deleted), pa.scalar(None, pa.bool_()), True)
    return [*(columns[name] for name in shape.leading), last], {**reasons, **misfits}


def _columns(layout: Layout) -> Iterator[tuple[str, Cell]]:
    return zip(layout.names, layout.cells, strict=True)


def _match_columns(table: pa.Table, layout: Layout) -> pa.Table:
    """Checks that the table has all columns. For elements that are not rows, a single column may have any name."""
    names = table.schema.names
    others = [name for name in names if name != WEIGHTS]
    if layout.names == (VALUE,) and VALUE not in others and len(others) == 1:
        return table.rename_columns([VALUE if name == others[0] else name for name in names])
    for name in layout.names:
        if name not in others:
            raise Unfit(f"the column `{name}` is missing; the columns are {', '.join(others) or 'none'}")
        if names.count(name) > 1:
            raise Unfit(f"two columns have the name `{name}`")
    return table


def _convert_column(table: pa.Table, name: str, cell: Cell, text: bool) -> tuple[pa.Array, dict[int, str]]:
    """A column as the type of its cell, and the reasons for rows whose value does not fit, by index."""
    array = one_chunk(table[name])
    if array.type.equals(cell.arrow) and cell.among is None and (cell.nullable or not array.null_count):
        return array, {}
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    text = text and is_text(array.type)
    if not (text or _is_lossless(array.type, cell.arrow)):
        raise Unfit(f"the column `{name}` is {array.type}; expected {cell.arrow}")
    if text and not is_text(cell.arrow) and not pa.types.is_binary(cell.arrow):
        array = pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
    given, converted, reasons = array, array, dict[int, str]()
    if not array.type.equals(cell.arrow):
        failing = find_faults(
            lambda start, stop: _convert(given.slice(start, stop - start), cell, text), len(given), FAILED
        )
        reasons = {index: f"`{name}` is {brief(given[index].as_py())}; expected {cell.arrow}" for index, _ in failing}
        if reasons:
            mask = np.zeros(len(array), bool)
            mask[list(reasons)] = True
            array = pc.if_else(pa.array(mask), pa.scalar(None, array.type), array)
        converted = _convert(array, cell, text)
    if not cell.nullable and converted.null_count:
        for index in np.flatnonzero(np.asarray(converted.is_null())):
            reasons.setdefault(int(index), f"`{name}` is null; expected a non-null {cell.arrow}")
    if cell.among is not None:
        known = pc.is_in(converted, value_set=pa.array(list(cell.among), converted.type))
        for index in np.flatnonzero(~np.asarray(pc.or_(known, converted.is_null()))):
            value = brief(given[int(index)].as_py())
            reasons.setdefault(int(index), f"`{name}` is {value}; expected one of {', '.join(map(repr, cell.among))}")
    return converted, reasons


def _convert(array: pa.Array, cell: Cell, text: bool) -> pa.Array:
    """The array as the type of a cell. Raises Arrow's error if a value does not fit."""
    if text and cell.kind is UUID:
        return pa.array([None if v is None else UUID(v).bytes for v in array.to_pylist()], cell.arrow)
    if text and pa.types.is_time(cell.arrow):
        moments = pc.binary_join_element_wise("1970-01-01T", array.cast(pa.string()), "")
        return moments.cast(pa.timestamp("us")).cast(cell.arrow)
    return cast_parts(array, cell.arrow)


def cast_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the types of a schema with the same columns."""
    columns = [cast_parts(one_chunk(column), kind) for column, kind in zip(table.columns, schema.types, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def cast_parts(array: pa.Array, want: pa.DataType) -> pa.Array:
    """The array as another type. Structs and lists are cast part by part: Arrow casts no struct that is null if a part
    of it must not be."""
    if array.type.equals(want):
        return array
    if pa.types.is_dictionary(array.type):
        return cast_parts(array.dictionary_decode(), want)
    if pa.types.is_struct(want) and pa.types.is_struct(array.type):
        nulls = array.is_null()
        parts = []
        for field in want:
            part = cast_parts(pc.struct_field(array, field.name), field.type)
            if not field.nullable and pc.any(pc.and_(part.is_null(), pc.invert(nulls))).as_py():
                raise pa.ArrowInvalid(f"`{field.name}` is null")
            parts.append(part)
        return pa.StructArray.from_arrays(parts, fields=list(want), mask=nulls)
    if pa.types.is_list(want) and _is_list(array.type):
        whole = array.cast(pa.list_(array.type.value_type)).take(pa.array(np.arange(len(array))))  # without an offset
        items = cast_parts(whole.values, want.value_type)
        if items.null_count and not want.value_field.nullable:
            raise pa.ArrowInvalid("an item is null")
        return pa.ListArray.from_arrays(whole.offsets, items, type=want, mask=whole.is_null())
    return array.cast(want)


def _is_lossless(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether a cast between two types loses nothing. Single values may still not fit, which the cast reports."""
    t = pa.types
    if have.equals(want) or t.is_null(have):
        return True
    if t.is_dictionary(have):
        return _is_lossless(have.value_type, want)
    if t.is_struct(want) and t.is_struct(have):
        names = {field.name: field.type for field in have}
        return all(field.name in names and _is_lossless(names[field.name], field.type) for field in want)
    if t.is_list(want) and _is_list(have):
        return _is_lossless(have.value_type, want.value_type)
    if t.is_timestamp(have) and t.is_timestamp(want):
        return (have.tz is None) is (want.tz is None)
    return (
        (t.is_integer(have) and (t.is_integer(want) or t.is_floating(want) or t.is_decimal(want)))
        or (t.is_decimal(have) and have.scale == 0 and t.is_integer(want))
        or (t.is_floating(have) and t.is_floating(want) and have.bit_width <= want.bit_width)
        or (is_text(have) and is_text(want))
        or (_is_bytes(have) and _is_bytes(want))
        or any(test(have) and test(want) for test in (t.is_decimal, t.is_date, t.is_time, t.is_duration))
    )


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind) or t.is_fixed_size_binary(kind))


def _is_list(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind) or t.is_list_view(kind))


def _read_weights(table: pa.Table, of: ElementCollection[Any], layout: Layout) -> tuple[pa.Array, dict[int, str]]:
    """The weights of the rows: from the weight column if there is one, otherwise 1."""
    if not isinstance(of, (ZSet, Bag)) or WEIGHTS not in table.schema.names or WEIGHTS in layout.names:
        return ones(table.num_rows), {}
    weights, misfits = _convert_column(table, WEIGHTS, Cell(int, pa.int64()), is_text(table.schema.field(WEIGHTS).type))
    if not misfits and pc.min_max(weights).as_py() == {"min": 1, "max": 1}:
        return ones(table.num_rows), {}
    if isinstance(of, Bag):
        for index in np.flatnonzero(np.asarray(pc.fill_null(pc.less(weights, 1), False))):
            misfits.setdefault(
                int(index), f"`{WEIGHTS}` is {weights[int(index)].as_py()}; the lowest weight in a Bag is 1"
            )
    return weights, misfits


def table_of(rows: Rows) -> pa.Table:
    """The rows of an output, as users get them: a sequence in its order, a bag or z-set with weights, a set with each
    row once."""
    layout, table = layout_of(rows.of), rows.table if is_ordered(rows.of) else consolidate_table(rows.table)
    if layout.sums:
        table = to_users(table, marked_schema(layout))
    if is_ordered(rows.of):
        return table
    if isinstance(rows.of, Set):
        return table.drop_columns([WEIGHT])
    if isinstance(rows.of, Bag):
        table = table.filter(pc.greater(table[WEIGHT], 0))
    return with_users_weights(table)


def rows_below_zero(rows: Rows) -> list[tuple[Any, int]]:
    """The rows of a z-set that were retracted more often than inserted, with their weights."""
    if not isinstance(rows.of, ZSet):
        return []
    table = table_of(rows)
    below = table.filter(pc.less(table[WEIGHTS], 0)).to_pylist()
    return [(row, row.pop(WEIGHTS)) for row in below]
