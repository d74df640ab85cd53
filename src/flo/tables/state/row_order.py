"""The total order of `flo.values.canonical` on columns: of all values, whether Python can compare them or not.

    column   number        column            number: its rank in the column
    null     0             {a: 1, b: null}   0
    2.0      1             {a: 1, b: 7}      1
    nan      2             {a: 2, b: null}   2

Invariant: within one call, numbers are equal if and only if the values are, and ascend as the values do. Null is the
least value at any depth, and nan is the greatest number. Rows and lists compare part by part.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers, one_chunk
from flo.tables.state.comparison import number_nulls_first, own_numbers, rank_densely, rank_lists


def order_numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    """Return numbers in the order of the values of a column; equal for equal values only."""
    return number_nulls_first(_number_values, one_chunk(column))


def _number_values(array: pa.Array) -> Numbers:
    """Return numbers in the order of values without nulls."""
    kind = array.type
    if pa.types.is_struct(kind):
        return rank_densely([order_numbers(part) for part in array.flatten()])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return rank_lists(order_numbers, array)
    if pa.types.is_fixed_size_binary(kind):
        array = array.cast(pa.binary())
    if pa.types.is_decimal256(kind):
        values = array.to_pylist()
        places = {value: place for place, value in enumerate(sorted(set(values)))}
        return np.array([places[value] for value in values], np.uint64)
    return own_numbers(array)


def row_numbers(table: pa.Table, names: tuple[str, ...]) -> Numbers:
    """Return numbers in the order of rows, compared column by column."""
    columns = [order_numbers(table[name]) for name in names]
    return columns[0] if len(columns) == 1 else rank_densely(columns)
