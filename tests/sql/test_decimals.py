"""Arithmetic of decimals on columns is exact: it gives what integers of any size give."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest

from flo.sql.functions import decimals
from flo.sql.nodes import Expr

KINDS = [
    ((38, 2, 20), (20, 0, 8), (38, 6)),
    ((17, 2, 17), (17, 2, 17), (37, 20)),
    ((38, 2, 38), (38, 2, 30), (38, 6)),
    ((38, 10, 38), (38, 10, 38), (38, 6)),
    ((38, 37, 38), (20, 0, 19), (38, 30)),
    ((10, 5, 10), (38, 0, 4), (38, 6)),
]
"""Precision, scale and digits of dividend and divisor, and the type of the quotient."""


def numbers(digits: int, count: int, seed: int) -> list[int]:
    """Return numbers up to so many digits: arbitrary ones, many nines, and neighbours of powers of two."""
    draw, found = random.Random(seed), []
    for _ in range(count):
        size = draw.randint(1, digits)
        kinds = (
            draw.randint(0, 10**size - 1),
            10**size - draw.randint(1, 3),
            int("".join(draw.choice("0999") for _ in range(size))),
            draw.choice((2**32, 2**63, 2**64, 2**96)) * draw.randint(1, 9) + draw.randint(-1, 1),
        )
        found.append(min(draw.choice(kinds), 10**digits - 1) * draw.choice((1, -1)))
    return found


def node(name: str, kind: tuple[int, int]) -> Expr:
    return Expr(name, pa.decimal128(*kind), True, (), (("mode", "LEGACY"),))


@pytest.mark.parametrize(("above", "below", "result"), KINDS)
def test_quotients(above, below, result):
    """Rounded half up to 38 places, and then to the scale."""
    one, other = numbers(above[2], 500, 1), [each or 1 for each in numbers(below[2], 500, 2)]
    columns = [
        decimals.of_integers(one, pa.decimal128(*above[:2])),
        decimals.of_integers(other, pa.decimal128(*below[:2])),
    ]
    wanted = []
    for a, b in zip(one, other, strict=True):
        places = decimals.half_up(a * 10 ** (38 + below[1]), b * 10 ** above[1])
        value = decimals.half_up(places, 10 ** (38 - result[1]))
        wanted.append(value if abs(value) < 10 ** result[0] else None)
    assert decimals.integers(decimals.divide(node("Divide", result), *columns), 500) == wanted


@pytest.mark.parametrize("count", [1, 7, 9, 10, 14, 19, 28, 37])
def test_digits_are_dropped_exactly(count):
    """Arrow's own division of 256 bits is wrong for some of these numbers."""
    given = numbers(74, 500, count)
    data = pa.array([Decimal(each) for each in given], pa.decimal256(76, 0))
    unit = 10**count
    for mode, exact in (
        ("half_up", lambda value: decimals.half_up(value, unit)),
        ("trunc", lambda value: abs(value) // unit * (1 if value >= 0 else -1)),
    ):
        assert decimals.integers(decimals.drop_digits(data, count, mode), 500) == [exact(each) for each in given], mode


def test_products_are_rounded_to_38_digits_first():
    one, other = numbers(38, 500, 3), numbers(37, 500, 4)
    columns = [decimals.of_integers(one, pa.decimal128(38, 30)), decimals.of_integers(other, pa.decimal128(38, 30))]
    found = decimals.integers(decimals.multiply(node("Multiply", (38, 6)), *columns), 500)
    for a, b, value in zip(one, other, found, strict=True):
        product, scale = decimals.to_digits(a * b, 60)
        wanted = decimals.to_scale(product, scale, 6)
        assert value == (wanted if abs(wanted) < 10**38 else None)
