"""Exact sums of numbers and of products of numbers, as limbs.

To multiply two columns, each number is split into parts of 27 bits. Products of parts, and the sums of several of them,
fit int64. Here a part has two decimal places instead, and 4321 is multiplied by 1205:

    parts of 4321   21, 43            21 + 43 · 100
    parts of 1205   5, 12
    terms           21·5, 21·12 + 43·5, 43·12     =  105, 467, 516
    product         105 + 467 · 100 + 516 · 100²  =  5206805

Invariant: Σ parts[i] · 2^(unit + 27 · i) is the number, exactly. Floats have a unit of their own, or share one.

To sum up many products, parts are added as they are, and the few sums are turned into limbs (limbs.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Numbers, has_all, largest
from flo.tables.state.grouping import RowsByKey
from flo.tables.state.limbs import (
    BITS,
    FEW,
    Floats,
    Limbs,
    add_digits,
    as_integers,
    limbs_of,
    place_digits,
    split_digits,
    sum_digits,
)

PART = 27
"""The bits of a part."""
_PART_MASK = (1 << PART) - 1


class Parts(NamedTuple):
    """Numbers as Σ parts[i] · 2^(unit + 27 · i)."""

    parts: list[Indices]
    """The parts of all numbers, the lowest first. Each is an int64 of about 27 bits."""
    unit: Indices | int
    """The exponent of the lowest part: one for all numbers, or one for each."""


class Integers(NamedTuple):
    """Numbers as value · 2^unit."""

    values: Indices
    unit: int


@dataclass(frozen=True, eq=False)
class Addends:
    """A column of numbers to be added up. Sums over the same column share its parts."""

    array: pa.Array

    @cached_property
    def integers(self) -> Integers | None:
        """The numbers as integers of 64 bits, if they are in one unit: decimals are in units of their last place."""
        kind = self.array.type
        if pa.types.is_floating(kind):
            return _integers_of_floats(np.asarray(self.array.cast(pa.float64())))
        if pa.types.is_decimal(kind):
            low, high = words_of(self.array).view(np.int64).T
            return Integers(low, 0) if has_all(high == low >> 63) else None
        whole = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
        return Integers(np.asarray(self.array.cast(pa.int64())), 0) if whole or pa.types.is_boolean(kind) else None

    @cached_property
    def parts(self) -> Parts:
        if self.integers is None:
            return _parts_of_wide(self.array)
        values, unit = self.integers
        if largest(values) < 1 << 2 * PART:
            return Parts([values & _PART_MASK, values >> PART], unit)
        return Parts([values & _PART_MASK, values >> PART & _PART_MASK, values >> 2 * PART], unit)

    def split_digits(self) -> Iterator[tuple[int, Indices]]:
        return split_digits(self.array)


@dataclass(frozen=True)
class ColumnProduct:
    """The products of the numbers of two columns, row by row. Values that are not finite count as zero."""

    one: Addends
    other: Addends

    def split_digits(self) -> Iterator[tuple[int, Indices]]:
        terms, unit = self._terms()
        for place, term in enumerate(terms):
            if term.any():
                yield from place_digits(term, unit + PART * place)

    @property
    def parts(self) -> Parts:
        terms, unit = self._terms()
        parts, carry = [], np.zeros(len(self.one.array), np.int64)
        for term in terms:
            whole = term + carry
            parts.append(whole & _PART_MASK)
            carry = whole >> PART
        return Parts([*parts, carry], unit)

    def _terms(self) -> Parts:
        """Return the products in parts that may be larger than 27 bits: sums of products of parts with one unit."""
        (left, unit), (right, other_unit) = self.one.parts, self.other.parts
        terms: list[Indices] = [np.zeros(0, np.int64)] * (len(left) + len(right) - 1)
        for place, one in enumerate(left):
            for more, other in enumerate(right):  # at most five have the same unit, each below 2⁵⁴
                known, product = terms[place + more], one * other
                terms[place + more] = known + product if len(known) else product
        return Parts(terms, unit + other_unit)


def words_of(array: pa.Array) -> Numbers:
    """Return the words of each decimal of a column, the lower first."""
    words: Numbers = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, 2)
    return words[array.offset : array.offset + len(array)]


def _parts_of_wide(array: pa.Array) -> Parts:
    """Return numbers that are not integers of 64 bits in parts."""
    if pa.types.is_floating(array.type):
        return _parts_of_floats(np.asarray(array.cast(pa.float64())))
    if pa.types.is_decimal(array.type):
        low, high = words_of(array).T
        high = high.view(np.int64)
        middle = (low >> np.uint64(2 * PART)).astype(np.int64) | high << 64 - 2 * PART & _PART_MASK
        rest = 3 * PART - 64  # the bits of the high word that are in the middle part
        parts = [_low(low, 0), _low(low, PART), middle & _PART_MASK, high >> rest & _PART_MASK, high >> rest + PART]
        return Parts(parts, 0)
    unsigned = np.asarray(array)  # of 64 bits
    return Parts([_low(unsigned, shift) for shift in (0, PART, 2 * PART)], 0)


def _integers_of_floats(values: Floats) -> Integers | None:
    """Return floats as integers, if their bits are within 62 places. Those that are not finite count as zero."""
    finite = np.isfinite(values)
    values = values if has_all(finite) else np.where(finite, values, 0.0)
    top = math.frexp(max(values.max(initial=0.0), -values.min(initial=0.0)))[1]
    if not -900 < top <= 62:  # small numbers could become zero
        return None
    scaled = values * 2.0 ** (62 - top)
    integers = scaled.astype(np.int64)
    if not has_all(integers == scaled):
        return None
    bits = int(np.bitwise_or.reduce(integers))
    zeros = max(0, (bits & -bits).bit_length() - 1)  # at the end of all of them
    return Integers(integers >> zeros, top - 62 + zeros)


def _parts_of_floats(values: Floats) -> Parts:
    """Return floats in parts: in one unit for all, if at most four parts are enough for that."""
    whole, unit = as_integers(values)
    used = unit[whole != 0]
    low = int(used.min(initial=2000))
    count = max(2, -(-(int(used.max(initial=low)) - low + 54) // PART))
    if count > 4:
        sign, size = np.sign(whole), np.abs(whole)
        return Parts([sign * (size & _PART_MASK), sign * (size >> PART)], unit)
    shift = np.maximum(unit - low, 0)
    parts = []
    for place in range(count):
        up = shift - PART * place
        part = (whole << np.maximum(up, 0)) >> np.minimum(np.maximum(-up, 0), 63)
        parts.append(part & _PART_MASK if place < count - 1 else part)
    return Parts(parts, low)


def _low(word: Numbers, shift: int) -> Indices:
    """Return the part of each word that begins at a bit."""
    return (word >> np.uint64(shift)).astype(np.int64) & _PART_MASK


def _sum_few_floats(values: list[float], weights: list[int], rows: RowsByKey) -> Limbs:
    """Do what `sum_numbers` does with Python's integers, which is faster for a few numbers."""
    parts = [math.frexp(value) if math.isfinite(value) else (0.0, 0) for value in values]
    low = (min(parts, key=itemgetter(1))[1] - 53) // BITS
    terms = [
        int(fraction * 2.0**53) * weight << exponent - 53 - BITS * low
        for (fraction, exponent), weight in zip(parts, weights, strict=True)
    ]
    return Limbs.of_integers(low, rows.add(np.array(terms, object)).tolist())


def sum_numbers(column: Addends | ColumnProduct, weights: Indices, rows: RowsByKey) -> Limbs:
    """Return Σ number · weight over the rows of each key.

    1. Integers whose sums cannot overflow are added as they are, and so are decimals and floats that are integers in
       some unit.
    2. Many numbers in one unit are added in parts of 27 bits, and the sums are split into digits.
    3. Other numbers are split into digits, and these are added.
    """
    few = len(weights) <= FEW
    if few and isinstance(column, Addends) and pa.types.is_floating(column.array.type):
        return _sum_few_floats(column.array.to_pylist(), weights.tolist(), rows)
    if isinstance(column, Addends) and column.integers is not None:
        values, exponent = column.integers
        most = largest(values) * largest(weights) * len(values)  # of any sum
        if not most:
            return Limbs(0, np.zeros((1, rows.size), np.int64))
        if most < 2**62 and not exponent:
            return Limbs(0, rows.add(values * weights)[np.newaxis]).carry()
        if most < 2**58:
            digits = place_digits(rows.add(values * weights), exponent)
            return limbs_of(add_digits(digits), rows.size).carry().trim()
    if few:
        return sum_digits(column.split_digits(), weights, rows).trim()
    parts, unit = column.parts
    if isinstance(unit, int) and largest(weights) * len(weights) < 2**28:
        sums = [rows.add(part * weights) for part in parts]  # below 2⁵⁸
        digits = (piece for place, part in enumerate(sums) for piece in place_digits(part, unit + PART * place))
        return limbs_of(add_digits(digits), rows.size).carry().trim()
    return sum_digits(column.split_digits(), weights, rows)
