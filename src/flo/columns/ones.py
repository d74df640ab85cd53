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
INT64 = pa.int64()


def _make(count: int) -> pa.Buffer:
    return pa.py_buffer(np.ones(count, np.int64))


class Shared:
    """The data of the shared column."""

    data = _make(FEW)


def ones(count: int) -> pa.Array:
    """Return a column of so many ones."""
    if count > MOST:
        data = _make(count)
    else:
        data = Shared.data
        if count > FEW and data.size == 8 * FEW:
            data = Shared.data = _make(MOST)
        data = data.slice(0, 8 * count)  # the buffer and not the column: a pickle has all of a buffer
    return pa.Array.from_buffers(INT64, count, [None, data])


def is_ones(column: pa.ChunkedArray) -> bool:
    """Return whether the column is made of slices of the shared one."""
    if column.type.id != INT64.id:
        return False
    shared = Shared.data  # kept while this looks, so that nothing else has its address
    return all((data := chunk.buffers()[1]) is not None and data.address == shared.address for chunk in column.chunks)
