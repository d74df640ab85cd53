"""The order of rows by whole numbers that are small: number and place in one, which is sorted faster than places."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers, Places, one_chunk
from flo.tables.state.trace import alike

FEW = 16
"""So many numbers are faster searched for one by one than sorted."""


def arranged(numbers: Places | Numbers) -> Places:
    """The places of the numbers in their order, equal ones as they stand."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    low, bits = numbers.min(), len(numbers).bit_length()
    if (int(numbers.max()) - int(low)).bit_length() + bits > 63:
        return np.argsort(numbers, kind="stable")
    return _sorted((numbers - low).astype(np.int64, copy=False), bits) & ((1 << bits) - 1)


def _sorted(small: Places, bits: int) -> Places:
    """Numbers with their places in the lowest bits, in order."""
    both = small << bits
    both |= np.arange(len(small))
    both.sort()
    return both


def grouped(numbers: Places) -> tuple[Places, Places, Places]:
    """(the places of the numbers in their order, equal ones as they stand; each one there is; how often)."""
    low, high = int(numbers.min()), int(numbers.max())
    if high - low < FEW:
        small = (numbers - low).astype(np.uint8)
        places = [np.flatnonzero(small == each) for each in range(high - low + 1)]
        counts = np.array([len(each) for each in places])
        return np.concatenate(places), low + np.flatnonzero(counts), counts[counts > 0]
    if high - low < 1 << 16:
        order = np.argsort((numbers - low).astype(np.uint16), kind="stable")  # of such small numbers in linear time
    else:
        order = arranged(numbers)
    found, counts = np.unique(numbers[order], return_counts=True)
    return order, found, counts


def together(table: pa.Table) -> tuple[Places, Places]:
    """(the rows in an order in which equal ones are neighbours, older ones first; where each different row begins).

    As `alike`, but in any order. Rows of a few small numbers are sorted by these, and need not be compared.
    """
    bits = table.num_rows.bit_length()
    small = _packed(table, 63 - bits)
    if small is None:
        return alike(table)
    both = _sorted(small, bits)
    small = both >> bits
    return both & ((1 << bits) - 1), np.flatnonzero(np.diff(small, prepend=-1))


def _packed(table: pa.Table, most: int) -> Places | None:
    """The columns of each row as one number, the first in the highest bits; None if they do not fit so many bits."""
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
