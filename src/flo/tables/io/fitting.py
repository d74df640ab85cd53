"""Columns of any table as the columns of a row type: matched by name, cast where nothing is lost, refused otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell
from flo.columns.indices import Places, one_chunk
from flo.columns.layout import VALUE, Layout
from flo.core.errors import brief
from flo.tables.io.files import WEIGHTS, Piece
from flo.tables.values import WEIGHT, Rows, layout_of, ordered, plain_zeros
from flo.values.element_value import ElementCollection
from flo.values.weighted import Bag, ZSet

FAILED = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError, OverflowError)


class Unfit(Exception):
    """No row of a table can fit: a column is missing, or is of another type."""


@dataclass(frozen=True)
class Misfit:
    """A row of a piece that does not fit, by its place, and why."""

    place: int
    reason: str


def fitted(piece: Piece, of: ElementCollection[Any]) -> tuple[Rows, Places, list[Misfit]]:
    """The rows that fit, their places in the piece, and those that do not fit."""
    layout = layout_of(of)
    table = named(piece.table, layout)
    arrays, reasons = [], dict[int, str]()
    for name, cell in zip(layout.names, layout.cells, strict=True):
        array, odd = _column(table, name, cell, name in piece.texts or (name == VALUE and bool(piece.texts)))
        arrays.append(array)
        for place, reason in odd.items():
            reasons.setdefault(place, reason)
    schema = layout.schema
    if not ordered(of):
        weights, odd = _weights(table, of, layout)
        arrays.append(weights)
        schema = schema.append(pa.field(WEIGHT, pa.int64(), nullable=False))
        for place, reason in odd.items():
            reasons.setdefault(place, reason)
    whole = pa.Table.from_arrays(arrays, names=schema.names)
    places = np.ones(table.num_rows, bool)
    places[list(reasons)] = False
    if reasons:
        whole = whole.filter(pa.array(places))
    rows = Rows(of, plain_zeros(of, pa.Table.from_arrays(whole.columns, schema=schema)))
    return rows, np.flatnonzero(places), [Misfit(place, reason) for place, reason in sorted(reasons.items())]


def named(table: pa.Table, layout: Layout) -> pa.Table:
    """The table with the columns that the layout names; elements that are no rows may have a column of any name."""
    others = [name for name in table.column_names if name != WEIGHTS]
    if layout.names == (VALUE,) and VALUE not in others and len(others) == 1:
        return table.rename_columns([VALUE if name == others[0] else name for name in table.column_names])
    for name in layout.names:
        if name not in others:
            raise Unfit(f"there is no column `{name}`: the columns are {', '.join(others) or 'none'}")
        if table.column_names.count(name) > 1:
            raise Unfit(f"two columns are called `{name}`")
    return table


def _column(table: pa.Table, name: str, cell: Cell, text: bool) -> tuple[pa.Array, dict[int, str]]:
    """The column as the cell has it, and the rows whose value does not fit."""
    array = one_chunk(table[name])
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    text = text and is_text(array.type)
    if not (text or lossless(array.type, cell.arrow)):
        raise Unfit(f"the column `{name}` is {array.type}, and {cell.arrow} is expected")
    if text and not is_text(cell.arrow) and not pa.types.is_binary(cell.arrow):
        array = pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
    reasons = {
        place: f"`{name}` is {brief(array[place].as_py())}, and {cell.arrow} is expected"
        for place in _failing(array, cell, text, 0)
    }
    given = array
    if reasons:
        mask = np.zeros(len(array), bool)
        mask[list(reasons)] = True
        array = pc.if_else(pa.array(mask), pa.scalar(None, array.type), array)
    found = converted(array, cell, text)
    if not cell.nullable and found.null_count:
        for place in np.flatnonzero(np.asarray(found.is_null())):
            reasons.setdefault(int(place), f"`{name}` is null, and {cell.arrow} without nulls is expected")
    if cell.among is not None:
        known = pc.is_in(found, value_set=pa.array(list(cell.among), found.type))
        for place in np.flatnonzero(~np.asarray(pc.or_(known, found.is_null()))):
            shown = brief(given[int(place)].as_py())
            reasons.setdefault(int(place), f"`{name}` is {shown}, which is none of {', '.join(map(repr, cell.among))}")
    return found, reasons


def _failing(array: pa.Array, cell: Cell, text: bool, start: int) -> Iterator[int]:
    """The places of the values that cannot be converted: by halves, so that few of them cost little."""
    try:
        converted(array, cell, text)
    except FAILED:
        if len(array) == 1:
            yield start
        else:
            half = len(array) // 2
            yield from _failing(array.slice(0, half), cell, text, start)
            yield from _failing(array.slice(half), cell, text, start + half)


def converted(array: pa.Array, cell: Cell, text: bool) -> pa.Array:
    """Raises what Arrow raises where a value does not fit."""
    if text and cell.kind is UUID:
        return pa.array([None if v is None else UUID(v).bytes for v in array.to_pylist()], cell.arrow)
    if text and pa.types.is_time(cell.arrow):
        moments = pc.binary_join_element_wise("1970-01-01T", array.cast(pa.string()), "")
        return moments.cast(pa.timestamp("us")).cast(cell.arrow)
    return shaped(array, cell.arrow)


def shaped(array: pa.Array, want: pa.DataType) -> pa.Array:
    """The array as another type, part by part where it has parts."""
    if array.type.equals(want):
        return array
    if pa.types.is_dictionary(array.type):
        return shaped(array.dictionary_decode(), want)
    if pa.types.is_struct(want) and pa.types.is_struct(array.type):
        nulls = array.is_null()
        parts = []
        for field in want:
            part = shaped(pc.struct_field(array, field.name), field.type)
            if not field.nullable and pc.any(pc.and_(part.is_null(), pc.invert(nulls))).as_py():
                raise pa.ArrowInvalid(f"`{field.name}` is null")
            parts.append(part)
        return pa.StructArray.from_arrays(parts, fields=list(want), mask=nulls)
    if pa.types.is_list(want) and _is_list(array.type):
        whole = array.cast(pa.list_(array.type.value_type)).take(pa.array(np.arange(len(array))))  # no offset
        items = shaped(whole.values, want.value_type)
        if items.null_count and not want.value_field.nullable:
            raise pa.ArrowInvalid("an item is null")
        return pa.ListArray.from_arrays(whole.offsets, items, type=want, mask=whole.is_null())
    return array.cast(want)


def lossless(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether values of one type can be of the other as they are; whether each of them fits is seen when it is cast."""
    t = pa.types
    if have.equals(want) or t.is_null(have):
        return True
    if t.is_dictionary(have):
        return lossless(have.value_type, want)
    if t.is_struct(want) and t.is_struct(have):
        names = {field.name: field.type for field in have}
        return all(field.name in names and lossless(names[field.name], field.type) for field in want)
    if t.is_list(want) and _is_list(have):
        return lossless(have.value_type, want.value_type)
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


def _weights(table: pa.Table, of: ElementCollection[Any], layout: Layout) -> tuple[pa.Array, dict[int, str]]:
    """1 for every row, or what the column of weights says; a set has none."""
    if not isinstance(of, (Bag, ZSet)) or WEIGHTS not in table.column_names or WEIGHTS in layout.names:
        return pa.array(np.ones(table.num_rows, np.int64)), {}
    weights, odd = _column(table, WEIGHTS, Cell(int, pa.int64()), is_text(table.schema.field(WEIGHTS).type))
    if isinstance(of, Bag):
        for place in np.flatnonzero(np.asarray(pc.fill_null(pc.less(weights, 1), False))):
            odd.setdefault(int(place), f"`{WEIGHTS}` is {weights[int(place)].as_py()}, and a Bag counts from 1")
    return weights, odd
