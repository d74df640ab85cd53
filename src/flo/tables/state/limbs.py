"""Limbs: integers of any size as columns of 32-bit digits, so that sums are exact in any order.

A number is Σ digit · 2^(32 · index). Floats and decimals are integers in a small enough unit; the digits of a float
start at a negative index. Only the final result is rounded, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flo.columns.indices import Indices, Numbers, largest
from flo.values.exact import to_float

BITS = 32
MASK = (1 << BITS) - 1
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Limbs:
    """A column of numbers: `digits[i]` has the digit with index `low + i` of each number."""

    low: int
    digits: npt.NDArray[np.int64]

    def carried(self) -> Limbs:
        """The numbers in canonical form: all digits are from 0 to 2³² - 1, except the highest, which has the sign."""
        rows, carry = [], np.zeros(self.digits.shape[1], np.int64)
        for digit in self.digits:
            whole = digit + carry
            carry = whole >> BITS
            rows.append(whole & MASK)
        negative = carry < 0
        if rows and (carry == -negative.astype(np.int64)).all() and (negative == (rows[-1] >> (BITS - 1) == 1)).all():
            rows[-1] = rows[-1] - (negative.astype(np.int64) << BITS)
        else:
            rows.append(carry)
        return Limbs(self.low, np.array(rows, np.int64))

    def negative(self) -> npt.NDArray[np.bool_]:
        """Which numbers are negative. Needs the canonical form."""
        return self.digits[-1] < 0  # type: ignore[no-any-return]

    def absolute(self) -> Limbs:
        return Limbs(self.low, np.where(self.negative(), -self.digits, self.digits)).carried()

    def number(self, place: int) -> int:
        """One of the numbers as a Python integer, times 2^(-32 · low)."""
        return sum(int(digit) << (BITS * index) for index, digit in enumerate(self.digits[:, place]))

    def at(self, places: Indices) -> Limbs:
        """Some of the numbers."""
        return Limbs(self.low, self.digits[:, places])

    def fractions(self) -> list[Fraction]:
        """The exact numbers."""
        unit = BITS * self.low
        up, down = 1 << max(unit, 0), 1 << max(-unit, 0)
        return [Fraction(self.number(place) * up, down) for place in range(self.digits.shape[1])]

    def to_floats(self, weights: Indices | None = None) -> Floats:
        """The floats nearest to the numbers, or to the numbers divided by weights."""
        size = self.absolute()
        if weights is None:
            return np.where(self.negative(), -1.0, 1.0) * _nearest(size, np.zeros(size.digits.shape[1], bool))
        small = _small(weights)
        quotients, rest = _divided(size, np.where(small, np.abs(weights), 1), 4)  # more digits than a float holds
        results = np.where(self.negative() != (weights < 0), -1.0, 1.0) * _nearest(quotients, rest != 0)
        tiny = (np.abs(results) < 2.0**-1021) & self.digits.any(axis=0)  # these may be rounded twice
        for place in np.flatnonzero(~small | tiny):
            results[place] = self._quotient(int(place), int(weights[place]))
        return results

    def _quotient(self, place: int, weight: int) -> float:
        number, unit = self.number(place), BITS * self.low
        return to_float(Fraction(number << max(unit, 0), weight << max(-unit, 0)))  # rounded once

    def times(self, other: Limbs) -> Limbs:
        """The products with other numbers. Both must be in canonical form."""
        one, two = self.absolute().digits.astype(np.uint64), other.absolute().digits.astype(np.uint64)
        found = np.zeros((len(one) + len(two), one.shape[1]), np.int64)
        for place, digit in enumerate(one):
            for more, factor in enumerate(two):
                product = digit * factor
                found[place + more] += (product & np.uint64(MASK)).astype(np.int64)
                found[place + more + 1] += (product >> np.uint64(BITS)).astype(np.int64)
        signs = np.where(self.negative() != other.negative(), -1, 1)
        return Limbs(self.low + other.low, found * signs).carried()

    def minus(self, other: Limbs) -> Limbs:
        """The differences to other numbers."""
        low = min(self.low, other.low)
        high = max(self.low + len(self.digits), other.low + len(other.digits))
        found = np.zeros((high - low, self.digits.shape[1]), np.int64)
        found[self.low - low : self.low - low + len(self.digits)] += self.digits
        found[other.low - low : other.low - low + len(other.digits)] -= other.digits
        return Limbs(low, found).carried()

    @staticmethod
    def of_ints(numbers: Indices) -> Limbs:
        return Limbs(0, np.array([numbers & MASK, numbers >> BITS]))

    def times_ten(self, power: int) -> Limbs:
        """The numbers times a power of ten."""
        limbs = self
        for zeros in range(power, 0, -9):
            limbs = Limbs(self.low, limbs.digits * 10 ** min(zeros, 9)).carried()
        return limbs

    def divided(self, weights: Indices) -> Limbs:
        """The quotients by weights, rounded half to even. No index may be negative."""
        whole = self.from_zero()
        small = _small(weights)
        divisors = np.where(small, np.abs(weights), 1)
        found, rest = _divided(whole.absolute(), divisors, 0)
        beyond = 2 * rest.astype(np.int64) - divisors
        found.digits[0] += (beyond > 0) | ((beyond == 0) & (found.digits[0] & 1 == 1))
        signs = np.where(self.negative() != (weights < 0), -1, 1)
        found = Limbs(0, found.digits * signs).carried()
        for place in np.flatnonzero(~small):
            number = round(Fraction(whole.number(int(place)), int(weights[place])))
            for index in range(len(found.digits)):
                last = index == len(found.digits) - 1
                found.digits[index, place] = number >> BITS * index if last else number >> BITS * index & MASK
        return found

    def to_ints(self) -> tuple[Indices, Indices]:
        """The numbers as int64, and the indices of those that do not fit. No digit index may be negative."""
        digits = self.from_zero().digits
        values = digits[0] + (digits[1] << BITS if len(digits) > 1 else 0)
        large = np.flatnonzero((digits[2:] != 0).any(axis=0) | (values >> BITS != digits[1:2].sum(axis=0)))
        whole = (self.number(int(place)) << BITS * self.low for place in large)
        return values, np.array([p for p, n in zip(large, whole, strict=True) if n != values[p]], np.int64)

    def from_zero(self) -> Limbs:
        """The numbers with digits for all indices from 0."""
        return Limbs(0, np.concatenate([np.zeros((self.low, self.digits.shape[1]), np.int64), self.digits]))


def _small(weights: Indices) -> npt.NDArray[np.bool_]:
    """Which weights fit one digit. (The smallest int64 has no absolute value.)"""
    return (weights >= -MASK) & (weights <= MASK)


def _divided(size: Limbs, divisors: Indices, more: int) -> tuple[Limbs, Numbers]:
    """Long division: the quotients, with `more` digits below the lowest, and the remainders."""
    rest, rows = np.zeros(len(divisors), np.uint64), []
    by = divisors.astype(np.uint64)
    for digit in (*size.digits[::-1], *np.zeros((more, len(divisors)), np.int64)):
        whole = (rest << np.uint64(BITS)) | digit.astype(np.uint64)
        rows.append((whole // by).astype(np.int64))
        rest = whole % by
    return Limbs(size.low - more, np.array(rows[::-1])), rest


def _nearest(size: Limbs, more: npt.NDArray[np.bool_]) -> Floats:
    """The floats nearest to nonnegative numbers. `more` says which are slightly larger than their digits.

    The highest 64 bits are kept, with a sticky bit for all lower ones, so that the processor rounds correctly.
    """
    count = size.digits.shape[1]
    digits = np.concatenate([np.zeros((3, count), np.int64), size.digits]).astype(np.uint64)
    there = digits != 0
    top = len(digits) - 1 - np.argmax(there[::-1], axis=0)
    top = np.where(there.any(axis=0), top, 3)
    each = np.arange(count)
    high, middle, last = (digits[top - down, each] for down in range(3))
    more = more | (np.cumsum(there, axis=0)[top - 3, each] > 0)
    bits = np.frexp(high.astype(np.float64))[1].astype(np.uint64)
    left = np.uint64(BITS) - bits
    kept = (((high << np.uint64(BITS)) | middle) << left) | (last >> bits)
    more = more | ((last & ((np.uint64(1) << bits) - np.uint64(1))) != 0)
    index = size.low - 3 + top
    unit = BITS * (index - 2) + bits.astype(np.int64)
    with np.errstate(over="ignore"):
        results: Floats = np.ldexp((kept | more.astype(np.uint64)).astype(np.float64), unit)
    return results


def pieces(array: pa.Array) -> Iterator[tuple[int, Indices]]:
    """The digits of a column of numbers: pairs of an index and the digits of all rows.

    Decimals are in units of their last place. Values that are not finite count as zero.
    """
    if pa.types.is_floating(array.type):
        yield from _of_floats(np.asarray(array.cast(pa.float64())))
    elif pa.types.is_decimal(array.type):
        words = np.frombuffer(array.buffers()[1], np.uint32).reshape(-1, 4)[array.offset : array.offset + len(array)]
        yield from ((index, words[:, index].astype(np.int64)) for index in range(3))
        yield 3, words[:, 3].view(np.int32).astype(np.int64)
    elif pa.types.is_uint64(array.type):
        unsigned = np.asarray(array)
        yield 0, (unsigned & np.uint64(MASK)).astype(np.int64)
        yield 1, (unsigned >> np.uint64(BITS)).astype(np.int64)
    else:
        values = np.asarray(array.cast(pa.int64()))
        yield 0, values & MASK
        yield 1, values >> BITS


def _of_floats(values: Floats) -> Iterator[tuple[int, Indices]]:
    fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = (fraction * 2.0**53).astype(np.int64)  # exact: 53 bits
    yield from placed(whole, exponent.astype(np.int64) - 53)


def placed(whole: Indices, unit: Indices | int) -> Iterator[tuple[int, Indices]]:
    """The digits of numbers below 2⁵⁸ times powers of two."""
    sign, size = np.sign(whole), np.abs(whole)
    shift, index = unit % BITS, unit // BITS
    low = (size & MASK) << shift
    high = ((size >> BITS) << shift) + (low >> BITS)
    parts = (sign * (low & MASK), sign * (high & MASK), sign * (high >> BITS))
    for begins in np.unique(index):
        for more, part in enumerate(parts):
            yield int(begins) + more, part if isinstance(unit, int) else np.where(index == begins, part, 0)


def summed(array: pa.Array, weights: Indices, order: Indices, firsts: Indices) -> Limbs:
    """Σ number · weight over the rows from each index in `firsts` to the next, in this order."""
    if pa.types.is_integer(array.type) and not pa.types.is_uint64(array.type):
        values = np.asarray(array.cast(pa.int64()))
        if largest(values) * largest(weights) * len(values) < 2**62:  # no sum can overflow
            whole = np.add.reduceat((values * weights)[order], firsts)
            return Limbs(0, whole[np.newaxis]).carried()
    return added_pieces(pieces(array), weights, order, firsts)


def added_pieces(found: Iterable[tuple[int, Indices]], weights: Indices, order: Indices, firsts: Indices) -> Limbs:
    """The same for numbers that are given as digits: pairs of an index and the digits of all rows."""
    sums: dict[int, Indices] = {}
    for index, digit in found:
        for more, term in enumerate(_weighted(digit, weights)):
            if term.any():
                part = np.add.reduceat(term[order], firsts)
                sums[index + more] = sums[index + more] + part if index + more in sums else part
    return limbs_of(sums, len(firsts)).carried()


def _weighted(digit: Indices, weights: Indices) -> tuple[Indices, ...]:
    """The digits times the weights, split into enough digits that their sums cannot overflow."""
    heaviest = largest(weights)
    if heaviest * len(digit) < 2**31:
        return (digit * weights,)
    if heaviest < 2**30:
        product = digit * weights
        return product & MASK, product >> BITS
    exact = digit.astype(object) * weights.astype(object)
    return tuple(part.astype(np.int64) for part in (exact & MASK, exact >> BITS & MASK, exact >> 2 * BITS))


def has_digits(kind: pa.DataType) -> bool:
    """Whether `pieces` supports columns of this type."""
    whole = pa.types.is_integer(kind)
    return bool(whole or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal128(kind))


def limbs_in(array: pa.Array) -> Limbs:
    """The numbers of a column."""
    every = np.arange(len(array))
    return added_pieces(pieces(array), np.ones(len(array), np.int64), every, every)


def limbs_of(columns: dict[int, Indices], count: int) -> Limbs:
    """Limbs from digits by index. Missing digits are zero."""
    if not columns:
        return Limbs(0, np.zeros((1, count), np.int64))
    nothing = np.zeros(count, np.int64)
    low, high = min(columns), max(columns)
    return Limbs(low, np.array([columns.get(index, nothing) for index in range(low, high + 1)]))


def running(array: pa.Array, weights: Indices) -> dict[int, Indices]:
    """Σ number · weight over all rows before each, and over all rows: sums by the index of the digit."""
    sums: dict[int, Indices] = {}
    if pa.types.is_integer(array.type) and not pa.types.is_uint64(array.type):
        values = np.asarray(array.cast(pa.int64()))
        if largest(values) * largest(weights) * len(values) < 2**62:  # no sum can overflow
            return {0: np.concatenate([[0], np.cumsum(values * weights)])}
    for index, digit in pieces(array):
        for more, term in enumerate(_weighted(digit, weights)):
            if term.any():
                found = np.concatenate([[0], np.cumsum(term)])
                sums[index + more] = sums[index + more] + found if index + more in sums else found
    return sums


# Exact products: each number is split into parts of 27 bits, so that products of parts, and the sums of several of
# them, fit int64.

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
    if pa.types.is_uint64(array.type):
        unsigned = np.asarray(array)
        return [_low(unsigned, shift) for shift in (0, PART, 2 * PART)], 0
    values = np.asarray(array.cast(pa.int64()))
    return [values & _PART_MASK, values >> PART & _PART_MASK, values >> 2 * PART], 0


def _low(word: Numbers, shift: int) -> Indices:
    return (word >> np.uint64(shift)).astype(np.int64) & _PART_MASK
