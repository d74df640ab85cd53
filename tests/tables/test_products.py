"""Exact products and sums of columns, against Python's fractions: ints, decimals and floats of all sizes."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flo.tables.state import limbs, products
from flo.tables.state.limbs import Limbs, limbs_in
from flo.tables.state.products import Addends, ColumnProduct, sum_numbers
from flo.tables.state.trace import EqualRows
from flo.values.exact import root_of, to_float

FLOATS = [0.0, -0.0, 5e-324, 1e308, -1.7e308, 2.2e-308, 0.1, math.nan, math.inf, -math.inf]
INTS = [2**63 - 1, -(2**63), 0, -1, 1, 7]
WIDE = [10**38 - 1, -(10**38) + 1, 0, 1, -1]


def column(kind: str, rng: random.Random, count: int) -> tuple[pa.Array, list[Any]]:
    match kind:
        case "float":
            values: list[Any] = [rng.choice([*FLOATS, rng.uniform(-1e9, 1e9), rng.random()]) for _ in range(count)]
            return pa.array(values, pa.float64()), values
        case "near":
            some = (0.0, 2.0**-20, 2.0**20)
            near = [rng.choice([*some, 100 * rng.random(), -rng.random()]) for _ in range(count)]
            return pa.array(near, pa.float64()), near
        case "unit":
            quarters = [
                rng.choice([*FLOATS[:2], *FLOATS[-3:], rng.randrange(-(2**40), 2**40) / 4]) for _ in range(count)
            ]
            return pa.array(quarters, pa.float64()), quarters
        case "limit":
            limits = [rng.choice([2.0**61, -(2.0**61), 2.0**62 - 2.0**10, 1.0, -0.5]) for _ in range(count)]
            return pa.array(limits, pa.float64()), limits
        case "int":
            values = [rng.choice([*INTS, rng.randrange(-(2**63), 2**63)]) for _ in range(count)]
            return pa.array(values, pa.int64()), values
        case "decimal":
            values = [rng.choice([*WIDE, rng.randrange(-(10**38) + 1, 10**38)]) for _ in range(count)]
            return pa.array(list(map(Decimal, values)), pa.decimal128(38, 0)), values
        case "short decimal" | "nearly short decimal":
            beyond = [] if kind == "short decimal" else [2**63, -(2**63) - 1, 2**64 - 1]
            values = [rng.choice([*INTS, *beyond, rng.randrange(-(10**6), 10**6)]) for _ in range(count)]
            return pa.array(list(map(Decimal, values)), pa.decimal128(38, 0)), values
        case "price":
            values = [rng.choice([-1, 0, 1, rng.randrange(10**10)]) for _ in range(count)]
            return pa.array(list(map(Decimal, values)), pa.decimal128(15, 0)), values
    values = [rng.choice([0, 1]) for _ in range(count)]
    return pa.array(values, pa.int8()) if kind == "bit" else pa.array(list(map(bool, values)), pa.bool_()), values


def exact(number: Any) -> Fraction:
    """What is not finite counts as zero."""
    return Fraction(number) if math.isfinite(number) else Fraction(0)


KINDS = (
    "float",
    "near",
    "unit",
    "limit",
    "int",
    "decimal",
    "short decimal",
    "nearly short decimal",
    "price",
    "bit",
    "bool",
)


@pytest.mark.parametrize("heaviest", [3, 2**40])
@pytest.mark.parametrize(("one", "other"), [*combinations_with_replacement(KINDS, 2)])
def test_sums_of_products_are_exact(one: str, other: str, heaviest: int) -> None:
    rng, count, firsts = random.Random(f"{one} {other}"), 200, np.array([0, 60, 61])
    (left, xs), (right, ys) = column(one, rng, count), column(other, rng, count)
    if one == other:
        right, ys = left, xs
    weights = [rng.choice([1, -1, 2, heaviest]) for _ in range(count)]
    order = np.array(rng.sample(range(count), count))
    for offset in (0, 7):  # columns that begin within their buffers
        rest = order[order < count - offset]
        x, y = (Addends(array.slice(offset).take(pa.array(rest))) for array in (left, right))
        equal = EqualRows(np.arange(len(rest)), firsts)
        found = sum_numbers(ColumnProduct(x, x if left is right else y), np.array(weights[offset:])[rest], equal)
        sums = found.fractions()
        for place, (start, end) in enumerate(pairwise([*firsts.tolist(), len(rest)])):
            rows = [offset + int(at) for at in rest[start:end]]
            assert sums[place] == sum(exact(xs[at]) * exact(ys[at]) * weights[at] for at in rows)


@pytest.mark.parametrize("heaviest", [3, 2**40])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_exact(kind: str, heaviest: int) -> None:
    rng, firsts = random.Random(kind), np.array([0, 60, 61])
    array, values = column(kind, rng, 200)
    weights = [rng.choice([1, -1, 2, heaviest]) for _ in values]
    sums = sum_numbers(Addends(array), np.array(weights), EqualRows(np.arange(200), firsts)).fractions()
    for place, (start, end) in enumerate(pairwise([*firsts.tolist(), len(values)])):
        assert sums[place] == sum(exact(values[at]) * weights[at] for at in range(start, end))


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_sums_are_those_of_many(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(kind)
    for count in range(1, 9):
        array, values = column(kind, rng, count)
        weights = np.array([rng.choice([1, -1, 3, 2**40]) for _ in values])
        firsts = np.array([0, *([count // 2] if count > 1 else [])])
        divisors = np.array([rng.choice([1, -1, 3, 2**40]) for _ in firsts])
        equal = EqualRows(np.arange(count), firsts)
        few = sum_numbers(Addends(array), weights, equal)
        floats = few.to_floats(), few.carry().to_floats(divisors)
        with monkeypatch.context() as patch:
            for module in (limbs, products):
                patch.setattr(module, "FEW", -1)
            many = sum_numbers(Addends(array), weights, equal)
            assert few.fractions() == many.fractions()
            assert [each.tolist() for each in floats] == [many.to_floats().tolist(), many.to_floats(divisors).tolist()]


def test_arithmetic_of_digits() -> None:
    rng = random.Random(1)
    (left, xs), (right, ys) = column("float", rng, 300), column("decimal", rng, 300)
    counts = np.array([rng.choice([1, 2, 7, 2**31, -3, 2**62]) for _ in xs])
    one, other = limbs_in(left), limbs_in(right)
    assert one.times(other).fractions() == [exact(x) * y for x, y in zip(xs, ys, strict=True)]
    assert one.minus(other).fractions() == [exact(x) - y for x, y in zip(xs, ys, strict=True)]
    assert Limbs.of_ints(counts).fractions() == list(map(Fraction, counts.tolist()))
    quotients = one.times(other).to_floats(counts).tolist()
    expected = [to_float(exact(x) * y / n) for x, y, n in zip(xs, ys, counts.tolist(), strict=True)]
    assert quotients == expected


def test_digits_have_one_canonical_form() -> None:
    rng = random.Random(3)
    edges = [0, 1, -1, *(sign * 2**bits + more for sign in (1, -1) for bits in (31, 32, 62) for more in (-1, 0, 1))]
    for count in (0, 1, 2, 5):
        for edge in edges:
            some = [[rng.choice([0, -1, 1, edge]) for _ in range(30)] for _ in range(count)]
            limbs = Limbs(-1, np.array(some, np.int64).reshape(count, 30))
            whole = limbs.carry()
            assert whole.fractions() == limbs.fractions()
            assert len(whole.digits) in (count, count + 1)
            assert ((whole.digits[:-1] >= 0) & (whole.digits[:-1] < 2**32)).all()
            assert whole.trim().digits.tolist() == limbs.carry().carry().trim().digits.tolist()
            assert (whole.negative() == [number < 0 for number in limbs.fractions()]).all()


def test_square_roots_are_rounded_once() -> None:
    rng = random.Random(2)
    divisors = [rng.choice([1, 2, 3, rng.randint(1, 2**32 - 1), rng.randint(2**32, 2**40)]) for _ in range(2000)]
    numbers = [_number_with_a_root(rng, divisor) for divisor in divisors]
    digits = [[n >> 32 * index & 2**32 - 1 for n in numbers] for index in range(6)]
    for low in (0, -1, -70, 12):
        limbs = Limbs(low, np.array([*digits, [n >> 192 for n in numbers]]))
        squares = [Fraction(n, d) * Fraction(2) ** (32 * low) for n, d in zip(numbers, divisors, strict=True)]
        assert limbs.to_roots(np.array(divisors)).tolist() == list(map(root_of, squares))


def _number_with_a_root(rng: random.Random, divisor: int) -> int:
    """A number whose quotient by a divisor has any root, an exact one, or one half way between two floats or near."""
    match rng.randrange(5):
        case 0:
            return rng.getrandbits(rng.randint(1, 180))
        case 1:
            return rng.getrandbits(53) ** 2 * divisor
        case 2:
            return (2 * rng.getrandbits(53) + 1) ** 2 * divisor + rng.choice([-1, 0, 1])
        case 3:
            return (1 << rng.randint(0, 140)) * divisor + rng.choice([-1, 0, 1])
    return rng.choice([0, -rng.getrandbits(60)])
