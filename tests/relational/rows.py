"""Rows with values at the edges of their types, drawn from few of them, and what is exact of lists of numbers."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

from flo.values.exact import to_float
from tests.relational.harness import Source

BERLIN = ZoneInfo("Europe/Berlin")
TEXTS = ["", "a", "ß", "e\u0301", "\u00e9", "\U0001f600", "\uffff", "a\n"]
FLOATS = [math.nan, math.inf, -math.inf, 1e308, -1e308, -0.0, 0.0, 5e-324, 0.1, 2.0**53 + 2]
FINITE = [1e308, -1e308, -0.0, 5e-324, 0.1, 1.5, 2.0**53 + 2, 1e-200, 1e200]
TAME = [0.0, 0.1, 1.5, -2.25, 1e6, 3.0]
INTS = [2**63 - 1, -(2**63), 2**53 + 1, 0, -1, 7]
MONEY = [Decimal("9999999999.99"), Decimal("-0.01"), Decimal("0.00"), Decimal("1.50")]
TIMES = [
    datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN),
    datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
    datetime(1900, 1, 1, tzinfo=BERLIN),
    datetime(2026, 3, 29, 1, 59, tzinfo=BERLIN),
]


class Sale(NamedTuple):
    shop: str | None
    item: str
    price: float | None
    tame: float
    finite: float | None
    qty: int
    big: int | None
    cost: Annotated[Decimal, pa.decimal128(12, 2)] | None
    sold: Annotated[datetime, BERLIN] | None
    ok: bool | None


def draw_sale(rng: random.Random) -> Sale:
    def perhaps(values: list[Any]) -> Any:
        return rng.choice([None, *values])

    return Sale(
        shop=rng.choice(["", "ß", "\U0001f600", None]),
        item=rng.choice(TEXTS),
        price=perhaps(FLOATS),
        tame=rng.choice(TAME),
        finite=perhaps(FINITE),
        qty=rng.choice([0, 1, 2, 3]),
        big=perhaps(INTS),
        cost=perhaps(MONEY),
        sold=perhaps(TIMES),
        ok=perhaps([True, False]),
    )


SALES = {"sales": Source(Sale, draw_sale)}


def exact_sum(numbers: list[float]) -> float | None:
    """The sum rounded once, in any order: floats that cancel leave nothing behind, and 1e308 twice is no overflow if
    -1e308 is there too."""
    if not numbers:
        return None
    odd = [number for number in numbers if not math.isfinite(number)]
    return sum(odd) if odd else to_float(sum(map(Fraction, numbers)))


def exact_mean(numbers: list[Any]) -> float | None:
    total = exact_sum(numbers)
    if total is None or not all(map(math.isfinite, numbers)):
        return total
    return to_float(sum(map(Fraction, numbers)) / len(numbers))


__all__ = ["BERLIN", "FLOATS", "SALES", "UTC", "Sale", "exact_mean", "exact_sum", "timedelta"]
