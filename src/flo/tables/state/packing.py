"""Rows of a few small integers or times, or of few texts, each packed into one number.

    shop  day           number
    7     2024-01-03    0b_01_10        the lowest values of both columns count as 0
    6     2024-01-01    0b_00_00
    9     2024-01-02    0b_11_01

Texts have the numbers in which they first come.

Invariant: equal rows have equal numbers, and others have other numbers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Indices, one_chunk

SAMPLE = 64
"""How many numbers are looked at before all are, to find a number of which all are multiples."""
FIRST, FEW = 1 << 10, 64
"""How many texts are looked at before all are, and how many may differ."""


def pack_columns(table: pa.Table, most: int) -> Indices | None:
    """Pack each row into a number, the first column in the highest bits; None if it needs more than `most` bits."""
    packed: Indices | None = None
    if not all(_may_pack(column) for column in table.columns):
        return None
    for column in table.columns if table.num_rows else ():
        numbers = _numbers_in(one_chunk(column))
        if numbers is None:
            return None
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


def _may_pack(column: pa.ChunkedArray) -> bool:
    """Whether the values of a column may be small numbers."""
    t, kind = pa.types, column.type
    is_number = (t.is_integer(kind) and not t.is_uint64(kind)) or t.is_timestamp(kind)
    return not column.null_count and (is_number or t.is_string(kind))


def _numbers_in(column: pa.Array) -> Indices | None:
    """The numbers of a column, or of its texts; None if there are many texts."""
    if not pa.types.is_string(column.type):
        return column.cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]
    if len(pc.unique(column.slice(0, FIRST))) > FEW:
        return None
    return column.dictionary_encode().indices.cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]


def _divide(numbers: Indices, span: int) -> tuple[Indices, int]:
    """Divide numbers, of which `span` is the largest, by a number of which all are multiples: the length of windows."""
    step = int(np.gcd.reduce([*numbers[:: 1 + len(numbers) // SAMPLE], span]))
    if step < 2:
        return numbers, span
    divided = numbers // step
    return (divided, span // step) if np.array_equal(divided * step, numbers) else (numbers, span)
