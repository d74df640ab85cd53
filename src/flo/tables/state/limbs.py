"""Limbs: numbers of any size as columns of 32-bit digits, so that sums are exact in any order.

A number is Σ digit · 2^(32 · index). Three numbers as limbs, with `low` = -1:

    index   number 0   number 1      number 2
    -1      0          2147483648    0             2147483648 · 2⁻³² is 0.5
    0       17         4             4294967295
    1       0          0             -1            the highest digit has the sign
    number  17         4.5           -1

Invariant of the canonical form: all digits are from 0 to 2³² - 1, except the highest, which has the sign. Digits that
are being added up may be any int64; `carry` brings them into canonical form.

Floats and decimals are integers in a small enough unit, so the digits of a float begin at a negative index. Only the
final result is rounded, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flo.columns.indices import Indices, Mask, Numbers, largest
from flo.tables.state.grouping import RowsByKey
from flo.values.exact import divided_float, root_of

BITS = 32
"""The bits of a digit."""
MASK = (1 << BITS) - 1
FEW = 8
"""Up to so many numbers are computed one by one, with Python's integers where that is faster than with NumPy."""
Floats = npt.NDArray[np.float64]
DigitsByIndex: TypeAlias = Iterable[tuple[int, Indices]]
"""Pairs of an index and the digits of all numbers at it. An index may come again: then its digits are added."""


@dataclass(frozen=True)
class Limbs:
    """A column of numbers: `digits[i]` has the digit with index `low + i` of each number."""

    low: int
    digits: npt.NDArray[np.int64]

    def carry(self) -> Limbs:
        """Return the numbers in canonical form."""
        digits, carry = np.empty(self.digits.shape, np.int64), np.zeros(self.digits.shape[1], np.int64)
        whole = carry
        for digit, given in zip(digits, self.digits, strict=True):
            whole = given + carry
            carry = whole >> BITS
            np.bitwise_and(whole, MASK, out=digit)
        if len(digits) and whole.min(initial=0) >= ~(MASK >> 1) and whole.max(initial=0) <= MASK >> 1:
            digits[-1] = whole  # which has the sign
            return Limbs(self.low, digits)
        return Limbs(self.low, np.concatenate([digits, carry[np.newaxis]]))

    def trim(self) -> Limbs:
        """Return the canonical form without highest digits that only repeat the sign."""
        digits = self.digits
        while len(digits) > 1 and (digits[-1] == -(digits[-2] >> BITS - 1)).all():
            digits = digits[:-1].copy()
            digits[-1] -= (digits[-1] >> BITS - 1) << BITS
        return Limbs(self.low, digits)

    def negative(self) -> Mask:
        """Return which numbers are negative. Needs the canonical form."""
        return self.digits[-1] < 0  # type: ignore[no-any-return]

    def absolute(self) -> Limbs:
        return Limbs(self.low, np.where(self.negative(), -self.digits, self.digits)).carry()

    def number(self, place: int) -> int:
        """Return one of the numbers as a Python integer, times 2^(-32 · low)."""
        number = 0
        for digit in self.digits[::-1, place].tolist():
            number = (number << BITS) + digit
        return number

    def numbers(self) -> list[int]:
        """Return all numbers as Python integers, times 2^(-32 · low)."""
        numbers = [0] * self.digits.shape[1]
        for digits in self.digits[::-1].tolist():
            numbers = [(number << BITS) + digit for number, digit in zip(numbers, digits, strict=True)]
        return numbers

    def at(self, places: Indices) -> Limbs:
        return Limbs(self.low, self.digits[:, places])

    def fractions(self) -> list[Fraction]:
        """Return the exact numbers."""
        unit = BITS * self.low
        up, down = 1 << max(unit, 0), 1 << max(-unit, 0)
        return [Fraction(number * up, down) for number in self.numbers()]

    def to_floats(self, weights: Indices | None = None) -> Floats:
        """Return the floats nearest to the numbers, or to the numbers divided by weights. Digits may be any int64."""
        count = self.digits.shape[1]
        if count <= FEW:
            divisors = [1] * count if weights is None else weights.tolist()
            up, down = max(BITS * self.low, 0), max(-BITS * self.low, 0)
            ratios = zip(self.numbers(), divisors, strict=True)
            return np.array([divided_float(number << up, each << down) for number, each in ratios], np.float64)
        whole = self.carry()
        exact = whole._exact_floats()
        if exact is not None and (weights is None or largest(weights) <= 2**53):
            return exact if weights is None else exact / weights  # rounded once
        negative, size = whole.negative(), whole.absolute()
        if weights is None:
            return np.where(negative, -1.0, 1.0) * _nearest(size, np.zeros(count, bool))
        small = _small(weights)
        quotients, rest = _divide(size, np.where(small, np.abs(weights), 1), 4)  # more digits than a float holds
        results = np.where(negative != (weights < 0), -1.0, 1.0) * _nearest(quotients, rest != 0)
        tiny = (np.abs(results) < 2.0**-1021) & self.digits.any(axis=0)  # these may be rounded twice
        for place in np.flatnonzero(~small | tiny):
            results[place] = self._quotient(int(place), int(weights[place]))
        return results

    def _exact_floats(self) -> Floats | None:
        """Return the numbers as floats, if all of them are floats, and so far from the smallest and the largest one
        that their quotients are normal, too. Needs the canonical form."""
        unit = BITS * self.low
        if unit < -900 or unit + BITS * len(self.digits) > 900:
            return None
        high = np.zeros(self.digits.shape[1])
        for place in range(len(self.digits) - 1, -1, -1):
            term = self.digits[place] * 2.0 ** (unit + BITS * place)
            both = high + term
            if not np.array_equal(both - high, term):
                return None
            high = both
        return high

    def _quotient(self, place: int, weight: int) -> float:
        """Return the float nearest to one number divided by another."""
        return divided_float(*self._ratio(place, weight))

    def _ratio(self, place: int, divisor: int) -> tuple[int, int]:
        """Return one number divided by another, exactly, as two integers."""
        number, unit = self.number(place), BITS * self.low
        return (number << unit, divisor) if unit > 0 else (number, divisor << -unit)

    def to_roots(self, divisors: Indices) -> Floats:
        """Return the floats nearest to the square roots of the numbers divided by positive divisors; 0 for negative
        numbers.

        A root is estimated, and corrected by what its square lacks. Where that leaves the nearest float in doubt, it is
        computed exactly.
        """
        small = _small(divisors)
        size = Limbs(self.low, np.where(self.negative() | ~small, 0, self.digits))
        high, low, unit = _find_leading_bits(size)
        by = np.where(small, divisors, 1).astype(np.float64)
        quotient = high / by
        rest = (_minus_product(high, quotient, by) + low) / by
        root = np.sqrt(quotient)
        with np.errstate(invalid="ignore", divide="ignore"):
            lacking = (_minus_product(quotient, root, root) + rest) / (2 * root)
        lacking[high == 0] = 0.0
        results: Floats = np.ldexp(root + lacking, unit // 2)
        edge = np.abs(2 * np.abs(lacking) / np.spacing(root) - 1) < 2.0**-20  # half way between two floats
        at_power = (np.frexp(root)[0] == 0.5) & (lacking != 0)  # where floats below are nearer than those above
        tiny = (results < 2.0**-1021) & size.digits.any(axis=0)
        for place in np.flatnonzero((~small & ~self.negative()) | edge | at_power | tiny):
            results[place] = root_of(Fraction(*self._ratio(int(place), int(divisors[place]))))
        return results

    def times(self, other: Limbs) -> Limbs:
        """Return the products with other numbers. Both must be in canonical form."""
        one = self.absolute().digits.view(np.uint64)
        two = one if other is self else other.absolute().digits.view(np.uint64)
        digits = np.zeros((len(one) + len(two), one.shape[1]), np.int64)
        for place, digit in enumerate(one):
            for more, factor in enumerate(two):
                product = digit * factor
                digits[place + more] += (product & np.uint64(MASK)).view(np.int64)
                digits[place + more + 1] += (product >> np.uint64(BITS)).view(np.int64)
        signs = np.where(self.negative() != other.negative(), -1, 1)
        return Limbs(self.low + other.low, digits * signs).carry()

    def minus(self, other: Limbs) -> Limbs:
        low = min(self.low, other.low)
        high = max(self.low + len(self.digits), other.low + len(other.digits))
        digits = np.zeros((high - low, self.digits.shape[1]), np.int64)
        digits[self.low - low : self.low - low + len(self.digits)] += self.digits
        digits[other.low - low : other.low - low + len(other.digits)] -= other.digits
        return Limbs(low, digits).carry()

    @staticmethod
    def of_integers(low: int, numbers: list[int]) -> Limbs:
        """Return Python integers, in units of the digit with the index `low`, in canonical form."""
        highest = max(map(int.bit_length, numbers)) // BITS
        digits = [[number >> BITS * index & MASK for number in numbers] for index in range(highest)]
        return Limbs(low, np.array([*digits, [number >> BITS * highest for number in numbers]], np.int64))

    @staticmethod
    def of_ints(numbers: Indices) -> Limbs:
        return Limbs(0, np.array([numbers & MASK, numbers >> BITS]))

    def times_ten(self, power: int) -> Limbs:
        limbs = self
        for zeros in range(power, 0, -9):
            limbs = Limbs(self.low, limbs.digits * 10 ** min(zeros, 9)).carry()
        return limbs

    def divide(self, weights: Indices) -> Limbs:
        """Return the quotients by weights, rounded half to even. No index may be negative."""
        whole = self.pad_to_zero()
        small = _small(weights)
        divisors = np.where(small, np.abs(weights), 1)
        quotients, rest = _divide(whole.absolute(), divisors, 0)
        beyond = 2 * rest.astype(np.int64) - divisors
        quotients.digits[0] += (beyond > 0) | ((beyond == 0) & (quotients.digits[0] & 1 == 1))
        signs = np.where(self.negative() != (weights < 0), -1, 1)
        quotients = Limbs(0, quotients.digits * signs).carry()
        for place in np.flatnonzero(~small):
            number = round(Fraction(whole.number(int(place)), int(weights[place])))
            for index in range(len(quotients.digits)):
                last = index == len(quotients.digits) - 1
                quotients.digits[index, place] = number >> BITS * index if last else number >> BITS * index & MASK
        return quotients

    def to_ints(self) -> tuple[Indices, Indices]:
        """Return the numbers as int64, and which of them do not fit. No index of a digit may be negative."""
        digits = self.pad_to_zero().digits
        values = digits[0] + (digits[1] << BITS if len(digits) > 1 else 0)
        large = np.flatnonzero((digits[2:] != 0).any(axis=0) | (values >> BITS != digits[1:2].sum(axis=0)))
        whole = (self.number(int(place)) << BITS * self.low for place in large)
        return values, np.array([p for p, n in zip(large, whole, strict=True) if n != values[p]], np.int64)

    def pad_to_zero(self) -> Limbs:
        """Return the numbers with digits for all indices from 0."""
        return Limbs(0, np.concatenate([np.zeros((self.low, self.digits.shape[1]), np.int64), self.digits]))


def _small(weights: Indices) -> Mask:
    """Return which weights fit one digit. (The smallest int64 has no absolute value.)"""
    return (weights >= -MASK) & (weights <= MASK)


def _divide(size: Limbs, divisors: Indices, more: int) -> tuple[Limbs, Numbers]:
    """Return the quotients, with `more` digits below the lowest, and the remainders, by long division."""
    rest, rows = np.zeros(len(divisors), np.uint64), []
    by = divisors.astype(np.uint64)
    for digit in (*size.digits[::-1], *np.zeros((more, len(divisors)), np.int64)):
        whole = (rest << np.uint64(BITS)) | digit.astype(np.uint64)
        quotient = whole // by
        rows.append(quotient.astype(np.int64))
        rest = whole - quotient * by  # `%` would divide once more
    return Limbs(size.low - more, np.array(rows[::-1])), rest


class _LeadingBits(NamedTuple):
    """Numbers as (high + low) · 2^unit, where low is less than a rounding error of high."""

    high: Floats
    low: Floats
    unit: Indices


def _find_leading_bits(size: Limbs) -> _LeadingBits:
    """Return the highest 97 bits or more of nonnegative numbers."""
    count = size.digits.shape[1]
    digits = np.concatenate([np.zeros((3, count), np.int64), size.digits])
    there = digits != 0
    top = np.where(there.any(axis=0), len(digits) - 1 - np.argmax(there[::-1], axis=0), 3)
    high, low = np.zeros(count), np.zeros(count)
    for down in range(4):
        term = digits[top - down, np.arange(count)] * 2.0 ** (BITS * (3 - down))
        whole = high + term
        high, low = whole, low + (term - (whole - high))  # exact: the terms fall
    whole = high + low
    return _LeadingBits(whole, low - (whole - high), BITS * (size.low - 3 + top - 3))


def _minus_product(number: Floats, one: Floats, other: Floats) -> Floats:
    """Return number - one · other, nearly exactly, for numbers near the product."""
    (high, low), (more, less) = _halves(one), _halves(other)
    product = one * other
    return (number - product) - (((high * more - product) + (high * less + low * more)) + low * less)


def _halves(number: Floats) -> tuple[Floats, Floats]:
    """Return two floats of at most 26 bits whose sum is the number."""
    big = number * (2.0**27 + 1)
    high = big - (big - number)
    return high, number - high


def _nearest(size: Limbs, more: Mask) -> Floats:
    """Return the floats nearest to nonnegative numbers. `more` says which are slightly larger than their digits.

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


def split_digits(array: pa.Array) -> Iterator[tuple[int, Indices]]:
    """Yield the digits of a column of numbers.

    Decimals are in units of their last place. Values that are not finite count as zero.
    """
    if pa.types.is_floating(array.type):
        yield from place_digits(*as_integers(np.asarray(array).astype(np.float64, copy=False)))
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


def as_integers(values: Floats) -> tuple[Indices, Indices]:
    """Return integers of 53 bits and exponents of two: the floats are integer · 2^exponent."""
    fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    return (fraction * 2.0**53).astype(np.int64), exponent.astype(np.int64) - 53


def place_digits(whole: Indices, unit: Indices | int) -> Iterator[tuple[int, Indices]]:
    """Yield the digits of numbers below 2⁵⁸ times 2^unit."""
    shift, index = unit & (BITS - 1), unit >> 5
    sign, size = (np.sign(whole), np.abs(whole)) if whole.min(initial=0) < 0 else (1, whole)
    low = (size & MASK) << shift
    high = ((size >> BITS) << shift) + (low >> BITS)
    parts = (sign * (low & MASK), sign * (high & MASK), sign * (high >> BITS))
    several = _distinct(index)
    for begins in several:
        for more, part in enumerate(parts):
            yield begins + more, part if len(several) == 1 else part * (index == begins)


def _distinct(numbers: Indices | int) -> list[int]:
    """Return the distinct ones of numbers that are near to each other."""
    if isinstance(numbers, int):
        return [numbers]
    if not len(numbers):
        return []
    low, high = int(numbers.min()), int(numbers.max())
    return [low] if low == high else (low + np.flatnonzero(np.bincount(numbers - low))).tolist()


def sum_digits(digits: DigitsByIndex, weights: Indices, rows: RowsByKey) -> Limbs:
    """Return Σ number · weight over the rows of each key, of numbers given as digits."""
    heaviest = largest(weights)
    terms = (
        (index + more, rows.add(term))
        for index, digit in digits
        for more, term in enumerate(_weighted(digit, weights, heaviest))
    )
    return limbs_of(add_digits(terms), rows.size).carry()


def add_digits(digits: DigitsByIndex) -> dict[int, Indices]:
    """Return digits by index, added up where an index comes again."""
    sums: dict[int, Indices] = {}
    for index, digit in digits:
        if digit.any():
            sums[index] = sums[index] + digit if index in sums else digit
    return sums


def _weighted(digit: Indices, weights: Indices, heaviest: int) -> tuple[Indices, ...]:
    """Return the digits times the weights, split into enough digits that their sums cannot overflow. `heaviest` is the
    largest absolute weight."""
    if heaviest * len(digit) < 2**31:
        return (digit * weights,)
    if heaviest < 2**30:
        product = digit * weights
        return product & MASK, product >> BITS
    exact = digit.astype(object) * weights.astype(object)
    return tuple(part.astype(np.int64) for part in (exact & MASK, exact >> BITS & MASK, exact >> 2 * BITS))


def has_digits(kind: pa.DataType) -> bool:
    """Return whether `split_digits` supports columns of this type."""
    whole = pa.types.is_integer(kind)
    return bool(whole or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal128(kind))


def limbs_in(array: pa.Array) -> Limbs:
    """Return the numbers of a column."""
    return limbs_of(add_digits(split_digits(array)), len(array)).carry()


def limbs_of(columns: dict[int, Indices], count: int) -> Limbs:
    """Return limbs from digits by index. Missing digits are zero."""
    if not columns:
        return Limbs(0, np.zeros((1, count), np.int64))
    low = min(columns)
    digits = np.zeros((max(columns) - low + 1, count), np.int64)
    for index, digit in columns.items():
        digits[index - low] = digit
    return Limbs(low, digits)


def sum_before(array: pa.Array, weights: Indices) -> dict[int, Indices]:
    """Return Σ number · weight over all rows before each, and over all rows, by the index of the digit."""
    if pa.types.is_integer(array.type) and not pa.types.is_uint64(array.type):
        values = np.asarray(array.cast(pa.int64()))
        if largest(values) * largest(weights) * len(values) < 2**62:  # no sum can overflow
            return {0: np.concatenate([[0], np.cumsum(values * weights)])}
    heaviest = largest(weights)
    return add_digits(
        (index + more, np.concatenate([[0], np.cumsum(term)]))
        for index, digit in split_digits(array)
        for more, term in enumerate(_weighted(digit, weights, heaviest))
        if term.any()
    )
