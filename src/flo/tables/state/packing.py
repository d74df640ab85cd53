"""Rows of a few small integers or times, each packed into one number.

    shop  day           number
    7     2024-01-03    0b_01_10        the lowest values of both columns count as 0
    6     2024-01-01    0b_00_00
    9     2024-01-02    0b_11_01

Invariant: equal rows have equal numbers, and others have other numbers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, one_chunk

SAMPLE = 64
"""How many numbers are looked at before all are, to find a number of which all are multiples."""


def pack_columns(table: pa.Table, most: int) -> Indices | None:
    """Pack each row into a number, the first column in the highest bits; None if it needs more than `most` bits."""
    packed: Indices | None = None
    for column in table.columns if table.num_rows else ():
        whole = pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type)
        if not whole or pa.types.is_uint64(column.type) or column.null_count:
            return None
        numbers = one_chunk(column).cast(pa.int64()).to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        span = high - low
        if span >= 2**63:
            return None
        numbers = numbers - low
        if span.bit_length() > most // 2:
            numbers, span = _divide(numbers, span)
        most -= span.bit_length()
        if most < 0:
            return None
        if packed is None:
            packed = numbers
        else:
            packed <<= span.bit_length()
            packed |= numbers
    return packed


def _divide(numbers: Indices, span: int) -> tuple[Indices, int]:
    """Divide numbers, of which `span` is the largest, by a number of which all are multiples: the length of windows."""
    step = int(np.gcd.reduce([*numbers[:: 1 + len(numbers) // SAMPLE], span]))
    if step < 2:
        return numbers, span
    divided = numbers // step
    return (divided, span // step) if np.array_equal(divided * step, numbers) else (numbers, span)
