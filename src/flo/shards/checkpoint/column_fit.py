"""Rows that were stored with other columns, read with those that their output has now.

    stored               now                          read
    shop  n: int32       shop  n: int64  city         shop  n  city
    a     1                                           a     1  null

Invariant: it depends on the types alone which values are kept, so readers and writers agree on the rows.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from flo.tables.io.files import WEIGHTS

DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
"""How many digits an integer has at most, by its number of bits."""


def fit_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with these columns: with null in one that they do not have, or not with a type that fits."""
    columns: list[Any] = []
    for field in schema:
        if field.name in table.column_names and widens(table[field.name].type, field.type):
            columns.append(table[field.name].cast(field.type))
        elif field.name == WEIGHTS:  # of rows that had an order
            columns.append(pa.array(np.ones(table.num_rows, np.int64)))
        else:
            columns.append(pa.nulls(table.num_rows, field.type))
    return pa.table(columns, schema)


def widens(before: pa.DataType, now: pa.DataType) -> bool:
    """Whether all values of a type are values of another."""
    t = pa.types
    if before == now or t.is_null(before):
        return True
    if t.is_struct(before) and t.is_struct(now):
        pairs = list(zip(before.fields, now.fields, strict=False))
        return before.num_fields == now.num_fields and all(
            mine.name == other.name and widens(mine.type, other.type) for mine, other in pairs
        )
    if t.is_map(before) and t.is_map(now):
        return widens(before.key_type, now.key_type) and widens(before.item_type, now.item_type)
    if any(of(before) and of(now) for of in (t.is_list, t.is_large_list)):  # Parquet has another name for an item
        return widens(before.value_type, now.value_type)
    if t.is_integer(before) and t.is_integer(now):
        return bool(before.bit_width <= now.bit_width and t.is_signed_integer(before) == t.is_signed_integer(now))
    if t.is_decimal(before) and t.is_decimal(now):
        return bool(before.scale <= now.scale and before.precision - before.scale <= now.precision - now.scale)
    if t.is_integer(before) and t.is_decimal(now):
        return bool(now.precision - now.scale >= DIGITS[before.bit_width])
    if t.is_integer(before) and t.is_floating(now):
        return bool(before.bit_width <= 32 and now.bit_width == 64)
    if t.is_timestamp(before) and t.is_timestamp(now):
        return bool((before.tz is None) == (now.tz is None))
    if t.is_floating(before) and t.is_floating(now):
        return bool(before.bit_width <= now.bit_width)
    texts, binaries = (t.is_string, t.is_large_string), (t.is_binary, t.is_large_binary)
    return any(any(of(before) for of in each) and any(of(now) for of in each) for each in (texts, binaries))


def type_of(text: str) -> pa.DataType | None:
    """The type with this text; None if it is nested, or not known."""
    decimal = re.fullmatch(r"decimal(128|256)\((\d+), (\d+)\)", text)
    instant = re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", text)
    if decimal:
        make = pa.decimal128 if decimal[1] == "128" else pa.decimal256
        return make(int(decimal[2]), int(decimal[3]))
    if instant:
        return pa.timestamp(instant[1], instant[2])
    try:
        return pa.type_for_alias(text)
    except ValueError:
        return None
