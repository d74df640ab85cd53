"""The total order of `flo.values.row_order` on columns: null is the least, NaN the greatest number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers, one_chunk
from flo.tables.state.order import own_numbers, rank_densely, rank_lists


def order_numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    """Numbers in the order of the values of a column; equal for equal values only. They compare within one call."""
    array = one_chunk(column)
    if not array.null_count:
        return _numbers(array)
    numbers = np.zeros(len(array), np.uint64)
    numbers[np.asarray(array.is_valid())] = rank_densely([_numbers(array.drop_null())]) + np.uint64(1)
    return numbers


def _numbers(array: pa.Array) -> Numbers:
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
    """Ranks of rows, compared column by column."""
    columns = [order_numbers(table[name]) for name in names]
    return columns[0] if len(columns) == 1 else rank_densely(columns)
