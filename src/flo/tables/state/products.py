"""Exact products of two columns of numbers, as digits that can be added up: see limbs.py.

Each number is split into parts of 27 bits, so that products of parts, and the sums of several of them, fit int64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Numbers
from flo.tables.state.limbs import placed

PART = 27
_PART_MASK = (1 << PART) - 1


@dataclass(frozen=True)
class Product:
    """The products of the numbers of two columns, row by row. Values that are not finite count as zero."""

    one: pa.Array
    other: pa.Array

    def pieces(self) -> Iterator[tuple[int, Indices]]:
        """Pairs of an index and the digits of all rows."""
        left, unit = _parts(self.one)
        right, other_unit = (left, unit) if self.other is self.one else _parts(self.other)
        for place in range(len(left) + len(right) - 1):
            terms = [
                left[index] * right[place - index]
                for index in range(max(0, place - len(right) + 1), min(place, len(left) - 1) + 1)
            ]
            whole = terms[0]
            for term in terms[1:]:  # at most five, each below 2⁵⁴
                whole = whole + term
            if whole.any():
                yield from placed(whole, unit + other_unit + PART * place)


def _parts(array: pa.Array) -> tuple[list[Indices], Indices | int]:
    """The parts of each number, the lowest first, and the exponents of the lowest."""
    if pa.types.is_floating(array.type):
        values = np.asarray(array.cast(pa.float64()))
        fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
        whole = (fraction * 2.0**53).astype(np.int64)  # exact: 53 bits
        sign, size = np.sign(whole), np.abs(whole)
        return [sign * (size & _PART_MASK), sign * (size >> PART)], exponent.astype(np.int64) - 53
    if pa.types.is_decimal(array.type):
        words = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, 2)[array.offset : array.offset + len(array)]
        low, high = words[:, 0], words[:, 1].view(np.int64)
        middle = (low >> np.uint64(2 * PART)).astype(np.int64) | high << 64 - 2 * PART & _PART_MASK
        rest = 3 * PART - 64  # the bits of the high word that are in the middle part
        parts = [_low(low, 0), _low(low, PART), middle & _PART_MASK, high >> rest & _PART_MASK, high >> rest + PART]
        return parts, 0
    values = np.asarray(array.cast(pa.int64()))
    return [values & _PART_MASK, values >> PART & _PART_MASK, values >> 2 * PART], 0


def _low(word: Numbers, shift: int) -> Indices:
    return (word >> np.uint64(shift)).astype(np.int64) & _PART_MASK
