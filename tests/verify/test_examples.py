"""Examples: a few telling values of every type, always the same; and the constants that a function speaks of."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, make_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypedDict, TypeVar
from uuid import UUID

import pytest

import flo
from flo.core.elements import belongs
from flo.verify.data.constants import constants
from flo.verify.data.examples import examples
from flo.verify.data.given import Given
from flo.verify.data.strategies import strategy_for
from flo.verify.programs.inputs import pick_elements

T = TypeVar("T")
LIMIT = 500


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: int
    y: float = 0.0


@dataclass(frozen=True)
class Inner:
    price: float
    colour: Colour = Colour.RED


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner
    tags: tuple[str, ...] = ()
    more: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Tree:
    value: int
    children: tuple[Tree, ...] = ()


@dataclass(frozen=True)
class Positive:
    amount: int

    def __post_init__(self) -> None:
        if self.amount <= 0:
            raise ValueError(self.amount)


@dataclass(frozen=True)
class Box(Generic[T]):
    item: T


class Row(TypedDict):
    key: str
    count: NotRequired[int]


UserId = NewType("UserId", int)
KINDS = [
    int, float, str, bool, None, type(None), bytes, complex, Decimal, Fraction, date, datetime, time, timedelta, UUID,
    Colour, Literal["a", 2], tuple[int, str], tuple[int, ...], tuple[()], tuple, Point, Inner, Outer, Tree, Positive,
    Box[int], Row, list[int], list, set[str], frozenset[int], dict[str, int], dict, int | None, int | str,
    Annotated[int, ["not hashable"]], UserId, Any, object, list[dict[str, tuple[int, ...]]],
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_examples_are_few_different_and_of_the_type(kind: Any) -> None:
    found = examples(kind)
    assert 0 < len(found) < 50
    assert found == examples(kind)
    assert not [value for value in found if not belongs(value, kind if kind is not UserId else int)]
    assert len({repr(value) for value in found}) == len(found)


@pytest.mark.every(test=2)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_generated_values_are_of_the_type(kind: Any) -> None:
    from hypothesis import HealthCheck, given, settings

    @settings(max_examples=20, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy_for(kind, Given()))
    def test(value: Any) -> None:
        assert belongs(value, kind if kind is not UserId else int)
        assert value == value  # no nan

    test()


def test_examples_of_a_wide_type_are_few() -> None:
    wide = make_dataclass("wide", [(f"field{n}", float) for n in range(30)], frozen=True)
    for kind in (wide, tuple[(int,) * 30]):
        assert 10 < len(examples(kind)) < 50
        assert examples(kind) == examples(kind)


@pytest.mark.parametrize("kind", [float, Decimal])
def test_sums_of_these_examples_depend_on_their_order(kind: Any) -> None:
    triples = list(product(examples(kind)[:3], repeat=3))
    assert [(a, x, y) for a, x, y in triples if (a + x) + y != (a + y) + x]


def test_moments_have_no_zones_and_can_be_compared() -> None:
    assert {value.tzinfo for value in examples(datetime)} == {None}


def test_a_union_has_some_of_every_kind_first() -> None:
    assert {type(value) for value in examples(int | str | None)[:3]} == {int, str, type(None)}


def test_what_cannot_be_made_has_no_examples() -> None:
    class Unknown(ABC):
        @abstractmethod
        def area(self) -> int: ...

    assert examples(Unknown) == []
    with pytest.raises(flo.LawError, match="no values of Unknown can be made"):
        strategy_for(Unknown, Given())


def test_constants_stand_in_code_closures_defaults_globals_and_what_is_called() -> None:
    near = 40

    def helper(x: int) -> int:
        return x if x < 70 else 0

    def f(a: int, x: int, step: int = 30) -> int:
        """Not this text."""
        key = "key"
        return helper(a + near + step + LIMIT + 1000) if str(x) != key else 0

    found = constants(f)
    assert {1000, 999, 1001, 40, 39, 41, 30, 500, 70, 71, "key"} <= set(found)
    assert not [value for value in found if value == f.__doc__]
    assert {7, 8} <= set(constants(partial(f, 7)))
    assert constants(max) == []


def test_examples_are_tried_around_constants() -> None:
    def f(x: float) -> float:
        return x if x < 100.0 else 0.0

    given = Given().with_constants_of(f)
    assert {99.0, 100.0, 101.0} <= set(given.examples(float))
    assert 100.0 not in given.examples(int)


class Sale(NamedTuple):
    shop: str
    price: int
    second: int


def test_rows_differ_in_every_column_and_have_constants_of_the_code() -> None:
    given = Given(constants=(60, 100), integers=(60, 100))
    first, other = pick_elements(Sale, given)
    assert all(one != another for one, another in zip(first, other, strict=True))
    assert (other.price, other.second) == (100, 100), "beyond the end of a window of 60"
    rows = given.distinct_elements(Sale, 6)
    assert len(set(rows)) == 6
    assert {60, 100} <= {row.second for row in rows}


def test_rows_of_a_class_that_refuses_them_are_those_that_it_takes() -> None:
    @dataclass(frozen=True)
    class Even:
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError(self.number)

    assert {row.number % 2 for row in Given().distinct_elements(Even, 5)} == {0}
