"""Exact sums: of any numbers, in any order, rounded once."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from itertools import permutations
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.term import Lifting, Lowering
from flo.values.exact import DECIMAL_NAN, NAN, Exact
from tests.values.zset_cases import few


def total(*numbers):
    return Exact().added((x, 1) for x in numbers).value()


def test_kinds_of_sums():
    assert (total(1, 2), type(total(1, 2))) == (3, int)
    assert (total(1, 2.5), type(total(1, 2))) == (3.5, int)
    assert type(total(1, 2.0)) is float
    assert (total(Decimal("1.10"), 2), type(total(Decimal("1.10"), 2))) == (Decimal("3.1"), Decimal)
    assert (total(Fraction(1, 3), 1), type(total(Fraction(1, 3), 1))) == (Fraction(4, 3), Fraction)
    assert type(total(Fraction(1, 3), Decimal(1))) is Fraction
    assert type(total(Decimal("0.5"), 0.5)) is float
    assert (total(True, True), type(total(True))) == (2, int)
    assert (total(), type(total())) == (0, int)


def test_a_large_decimal_sum_is_not_rounded():
    with localcontext() as context:
        context.prec = 3
        digits = Decimal("12345678901234567890123456789012345678901234567890.123")
        assert str(total(digits, Decimal("0.001"))) == "12345678901234567890123456789012345678901234567890.124"
        mean = Exact().added([(Decimal(1), 1)]).mean(3)
        assert str(mean) == "0." + "3" * 18
        assert str(Exact().added([(Decimal(5), 1)]).mean(2)) == "2.5"
        tiny = Exact().added([(Decimal("1e-30"), 1)])
        assert (tiny.mean(1), tiny.mean(2), tiny.mean(-3)) == (Decimal("1e-30"), 0, 0)
        half = Exact().added([(Decimal("3e-18"), 1)])
        assert (half.mean(2), half.mean(-2)) == (Decimal("2e-18"), Decimal("-2e-18"))
    assert str(total(Decimal("1E+3"), Decimal("-0"))) == "1000"


def test_sums_are_rounded_once():
    assert total(*[0.1] * 10) == 1.0
    assert reduce(add, [0.1] * 10) != 1.0
    assert total(1e308, 1e308, -1e308, -1e308, 5e-324) == 5e-324
    assert total(1e308, 1e308) == math.inf
    assert total(-1e308, -1e308) == -math.inf
    assert Exact().added([(2**53 + 1, 1)]).mean(1) == float(2**53)
    assert Exact().added([(0.1, 3)]).mean(3) == 0.1


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((math.inf, 1), math.inf),
        ((-math.inf, 1), -math.inf),
        ((math.inf, -math.inf), NAN),
        ((math.inf, math.nan), NAN),
        ((Decimal("Infinity"), 1), Decimal("Infinity")),
        ((Decimal("-Infinity"), Decimal("Infinity")), DECIMAL_NAN),
        ((Decimal("Infinity"), 1.5), math.inf),
    ],
)
def test_what_is_not_finite(numbers, expected):
    for order in permutations(numbers):
        found = total(*order)
        assert found is expected or found == expected
        assert type(found) is type(expected)


def test_what_is_taken_back_cancels():
    numbers = [0.1, math.inf, -math.inf, math.nan, 3, Decimal("1.1"), Fraction(1, 3), 1e300]
    some = Exact().added([(0.3, 1)])
    after = (
        some.added((x, 2) for x in numbers).added((x, -1) for x in numbers).added((x, -1) for x in reversed(numbers))
    )
    assert after == some
    assert after.added([(0.3, -1)]) == Exact()


def test_taking_back_an_infinity_that_never_came():
    assert Exact().added([(math.inf, -1)]).value() == -math.inf
    assert Exact().added([(math.inf, -1), (-math.inf, 1)]).value() == -math.inf
    assert Exact().added([(math.inf, 1)]).mean(-2) == -math.inf


numbers = st.one_of(st.integers(), st.floats(), st.decimals(places=3, min_value=-1000, max_value=1000), st.fractions())


@few
@given(st.lists(st.tuples(numbers, st.integers(-2, 2)), max_size=6), st.randoms())
def test_no_order_can_be_seen(terms, rng):
    shuffled = list(terms)
    rng.shuffle(shuffled)
    exact, other = Exact().added(terms), Exact()
    for term in shuffled:
        other = other.added([term])
    assert exact == other
    assert repr(exact.value()) == repr(other.value())
    assert Lifting()(Lowering()(exact)) == exact


def test_numbers_of_other_libraries():
    class Half(float):
        pass

    assert total(Half(0.5), 1) == 1.5
    with pytest.raises(TypeError, match="exact sums take"):
        total(1j)
