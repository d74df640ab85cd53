"""Whether an element belongs to the type that its stream declares."""

from __future__ import annotations

import enum
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, TypeVar, Union

import pytest

from flo.core.elements import belongs, find_mismatch, returned_type
from flo.core.type_names import type_name
from flo.core.type_relations import accepts

T = TypeVar("T")


@dataclass
class Order:
    number: int
    price: float


@dataclass
class Special(Order):
    note: str = ""


class Point(NamedTuple):
    x: int
    y: int


class Row(TypedDict):
    id: int


class Loose(TypedDict, total=False):
    id: int


class Colour(enum.Enum):
    RED = 1


BELONG = [
    (1, int),
    (1, float),
    (1.5, float),
    (True, bool),
    ("a", str),
    (None, None),
    (None, type(None)),
    (1, Any),
    (object(), object),
    (1, int | str),
    ("a", Union[int, str]),  # noqa: UP007
    (None, Optional[int]),  # noqa: UP045
    ("b", Literal["a", "b"]),
    ((1, "a"), tuple[int, str]),
    ((1, 2, 3), tuple[int, ...]),
    ((), tuple[()]),
    ([1, 2], list[int]),
    ({1}, set[int]),
    (frozenset({1}), frozenset[int]),
    ({"a": 1}, dict[str, int]),
    (Order(1, 2.0), Order),
    (Order(1, 2), Order),
    (Special(1, 2.0), Order),
    (Point(1, 2), Point),
    ({"id": 1}, Row),
    ({}, Loose),
    (Colour.RED, Colour),
    (1, Annotated[int, "positive"]),
    ("anything", T),
    ("anything", "Forward"),
]

STRANGERS = [
    ("a", int),
    (1.0, int),
    (1, str),
    (1, None),
    (1.5, int | str),
    (1, Literal[True]),
    ("c", Literal["a", "b"]),
    ((1, 2), tuple[int, str]),
    ((1,), tuple[int, str]),
    ((1, "a"), tuple[int, ...]),
    ([1, "a"], list[int]),
    ((1, 2), list[int]),
    ({1: 1}, dict[str, int]),
    (Order("1", 2.0), Order),
    (Order(1, 2.0), Special),
    ({"id": "a"}, Row),
    ({}, Row),
    ({"id": 1, "more": 2}, Row),
    (1, Colour),
    ("a", Annotated[int, "positive"]),
]


@pytest.mark.parametrize(("value", "kind"), BELONG)
def test_belongs(value, kind):
    assert belongs(value, kind)


@pytest.mark.parametrize(("value", "kind"), STRANGERS)
def test_does_not_belong(value, kind):
    assert not belongs(value, kind)


def test_the_first_stranger():
    assert find_mismatch([1, 2, 3], int) is None
    assert find_mismatch([1, True, "a"], int) == 2
    assert find_mismatch((x for x in [1, 2, "a", 3]), int) == 2
    assert find_mismatch([object()], Any) is None
    assert find_mismatch([], int) is None
    assert find_mismatch([(1, 2), (1, "a")], tuple[int, int]) == 1


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        (int, int),
        (Any, str),
        (str, Any),
        (float, int),
        (int, bool),
        (object, int),
        (int | str, int),
        (int | str, str | int),
        (tuple[int, str], tuple[int, str]),
        (tuple[float, Any], tuple[int, str]),
        (list, list[int]),
        (list[int], list),
        (Order, Special),
        (int, T),
    ],
)
def test_accepts(kind, other):
    assert accepts(kind, other)


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        (int, str),
        (int, float),
        (int, int | str),
        (tuple[int, str], tuple[int, int]),
        (Special, Order),
        (str, list[str]),
    ],
)
def test_does_not_accept(kind, other):
    assert not accepts(kind, other)


def test_what_a_function_returns():
    def stated(x: int) -> str:
        return str(x)

    def unresolved(x) -> Missing:  # noqa: F821
        return x

    assert returned_type(stated) is str
    assert returned_type(unresolved) is Any
    assert returned_type(lambda x: x) is Any
    assert returned_type(Order) is Order
    assert returned_type(len) in (int, Any)


def test_types_are_named_as_one_writes_them():
    assert type_name(int) == "int"
    assert type_name(tuple[int, str]) == "tuple[int, str]"
    assert type_name(typing.Any) == "Any"
    assert type_name(int | None) == "int | None"
