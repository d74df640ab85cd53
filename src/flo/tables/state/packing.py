"""Sorting by small integers: value and row index are packed into one number, which sorts faster than argsort."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers, Places, one_chunk
from flo.tables.state.trace import alike

FEW = 16
"""With at most this many distinct values, searching for each is faster than sorting."""


def arranged(numbers: Places | Numbers) -> Places:
    """The indices that sort the numbers, stably."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    low, bits = numbers.min(), len(numbers).bit_length()
    if (int(numbers.max()) - int(low)).bit_length() + bits > 63:
        return np.argsort(numbers, kind="stable")
    return _sort_with_indices((numbers - low).astype(np.int64, copy=False), bits) & ((1 << bits) - 1)


def _sort_with_indices(small: Places, bits: int) -> Places:
    """The sorted numbers, with their indices in the lowest bits."""
    both = small << bits
    both |= np.arange(len(small))
    both.sort()
    return both


def grouped(numbers: Places) -> tuple[Places, Places, Places]:
    """The indices that sort the numbers, stably; the distinct numbers; and the count of each."""
    low, high = int(numbers.min()), int(numbers.max())
    if high - low < FEW:
        small = (numbers - low).astype(np.uint8)
        places = [np.flatnonzero(small == each) for each in range(high - low + 1)]
        counts = np.array([len(each) for each in places])
        return np.concatenate(places), low + np.flatnonzero(counts), counts[counts > 0]
    if high - low < 1 << 16:
        order = np.argsort((numbers - low).astype(np.uint16), kind="stable")  # a radix sort for 16 bits
    else:
        order = arranged(numbers)
    found, counts = np.unique(numbers[order], return_counts=True)
    return order, found, counts


def together(table: pa.Table) -> tuple[Places, Places]:
    """Groups equal rows, as `alike` does, but in any order.

    Rows of a few small integers are packed and sorted, without comparing columns.
    """
    bits = table.num_rows.bit_length()
    small = _pack_columns(table, 63 - bits)
    if small is None:
        return alike(table)
    both = _sort_with_indices(small, bits)
    small = both >> bits
    return both & ((1 << bits) - 1), np.flatnonzero(np.diff(small, prepend=-1))


def _pack_columns(table: pa.Table, most: int) -> Places | None:
    """The columns of each row packed into one number, the first in the highest bits; None if it needs more bits."""
    packed: Places | None = None
    for column in table.columns if table.num_rows else ():
        if not pa.types.is_integer(column.type) or pa.types.is_uint64(column.type) or column.null_count:
            return None
        numbers = one_chunk(column).cast(pa.int64()).to_numpy()
        low = int(numbers.min())
        bits = (int(numbers.max()) - low).bit_length()
        most -= bits
        if most < 0:
            return None
        packed = numbers - low if packed is None else packed << bits | (numbers - low)
    return packed
