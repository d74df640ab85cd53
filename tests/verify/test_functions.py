"""Which functions a fold over a collection without order refuses."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass

import pytest

from flo.core.errors import LawError
from flo.values.weighted import Bag
from flo.verify.functions import examples, expect_commutative


@dataclass(frozen=True)
class Sale:
    price: float
    place: str
    count: int


@dataclass(frozen=True)
class Late:
    place: str
    count: int
    price: float


@pytest.mark.parametrize(
    ("kind", "price"),
    [
        (float, lambda x: x),
        (tuple[str, float], lambda row: row[1]),
        (tuple[float, str, int], lambda row: row[0]),
        (Sale, lambda row: row.price),
        (Late, lambda row: row.price),
    ],
)
def test_a_sum_of_floats_is_refused_wherever_they_are(kind, price):
    with pytest.raises(LawError, match="needs a commutative function"):
        expect_commutative(lambda total, row: total + price(row), 0.0, Bag(kind), None, "rows")
    expect_commutative(lambda most, row: max(most, price(row)), 0.0, Bag(kind), None, "rows")


def test_examples_of_a_wide_type_are_few():
    wide = make_dataclass("wide", [(f"field{n}", float) for n in range(30)], frozen=True)
    for kind in (wide, tuple[(int,) * 30]):
        assert 10 < len(examples(kind)) < 50
        assert examples(kind) == examples(kind)
