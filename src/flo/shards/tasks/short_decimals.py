"""Decimals of at most 18 digits on their way from Spark to a task: as integers.

    column d, decimal(15, 2)     1.50   -0.07   null
    sent, int64                   150      -7   null     without the point
    here, decimal128(15, 2)      1.50   -0.07   null

Spark holds such a decimal in 64 bits. For Arrow it would make an object of each, and an array of bytes of that, which
takes three times as long as to write an integer.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columns.indices import one_chunk

MOST_DIGITS = 18
"""So many digits always fit 64 bits."""


def is_short(kind: pa.DataType) -> bool:
    """Whether a column of this type is sent as integers."""
    return bool(pa.types.is_decimal128(kind)) and kind.precision <= MOST_DIGITS


def with_points(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """The decimals whose digits are integers: the upper half of each has the sign in all bits."""
    array = one_chunk(column)
    validity, digits = array.buffers()
    stop = array.offset + len(array)
    words = np.empty((stop, 2), np.int64)
    words[:, 0] = np.frombuffer(digits, np.int64, stop)
    np.right_shift(words[:, 0], 63, out=words[:, 1])
    return pa.Array.from_buffers(kind, len(array), [validity, pa.py_buffer(words)], array.null_count, array.offset)
