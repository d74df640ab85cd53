"""Columns of ones, the common case of weights, as slices of one shared column.

    rows that were inserted    shop  price  ±
                               3     20     1 ┐
                               7     35     1 ├ a slice of the shared column: no memory of its own, and known to be ones
                               3     12     1 ┘

To gather or to put together ones is another slice. A column that is not such a slice may hold ones all the same.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

FEW, MOST = 1 << 6, 1 << 20
"""The rows of the shared column, until somebody needs more. Still more ones are a column of their own."""


def _column(count: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(np.ones(count, np.int64))])


class Shared:
    """The shared column."""

    column = _column(FEW)


def ones(count: int) -> pa.Array:
    """Return a column of so many ones."""
    if count > MOST:
        return _column(count)
    shared = Shared.column
    if count > len(shared):
        shared = Shared.column = _column(MOST)
    return shared.slice(0, count)


def is_ones(column: pa.ChunkedArray) -> bool:
    """Return whether the column is made of slices of the shared one."""
    shared = Shared.column  # kept while this looks, so that nothing else has its address
    if column.type.id != shared.type.id:
        return False
    address = shared.buffers()[1].address
    return all(chunk.buffers()[1].address == address for chunk in column.chunks)
