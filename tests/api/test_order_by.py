"""What `order_by` takes, and the order that it gives."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import narwhals as nw
import pytest

import flo
from flo.api.ordering import bind_order, bind_total_order
from flo.core.errors import TypeMismatch
from flo.values.operators.zset_ranking import RankOrder


class Row(NamedTuple):
    a: int
    b: float | None
    c: str | None
    tags: frozenset[str] = frozenset()


class Plain(NamedTuple):
    a: int
    b: float | None
    c: str | None


def stream(kind=Plain):
    return flo.Flow("order").input("rows", flo.ZSet[kind])


ROWS = [Plain(a, b, c) for a, b, c in itertools.product([1, 2], [None, math.nan, -1.5, 2.0], [None, "x"])]


def place(value, descending, nulls_last):
    """Where a value stands, as a key for `sorted`."""
    if value is None:
        return (1 if nulls_last else -1, 0, 0)
    number = (1, 0) if value != value else (0, value)
    if isinstance(value, str):
        return (0, 0, -ord(value[0]) if descending else ord(value[0]))
    return (0, *((-number[0], -number[1]) if descending else number))


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("of", ["b", nw.col("b") * 1, "c"])
def test_nulls_are_where_they_are_asked_for(down, last, of):
    key = (flo.desc if down else flo.asc)(of, nulls_last=last)
    order = bind_total_order("top", [key], stream())
    name = "c" if isinstance(of, str) and of == "c" else "b"
    found = sorted(ROWS, key=RankOrder(order.key, order.directions, "top").rank)
    expected = sorted(ROWS, key=lambda row: [place(getattr(row, name), down, last), *map(as_tie, row)])
    assert list(map(repr, found)) == list(map(repr, expected))


def as_tie(value):
    return place(value, descending=False, nulls_last=False)


def test_a_flag_is_added_only_where_nulls_can_be_elsewhere():
    def shape(given):
        found = bind_order("top", given, stream())
        return len(found.directions), found.directions

    assert shape("a") == shape(flo.asc("a", nulls_last=True)) == (1, (False,))
    assert shape(flo.desc("a")) == (1, (True,))
    assert shape("b") == (1, (False,))
    assert shape(flo.desc("b", nulls_last=True)) == (1, (True,))
    assert shape(flo.desc("b")) == (2, (True, True))
    assert shape(flo.asc("b", nulls_last=True)) == (2, (False, False))
    assert shape(["a", flo.desc("b"), nw.col("a") + 1]) == (4, (False, True, True, False))


def test_the_rest_of_the_row_breaks_ties():
    order = bind_total_order("top", flo.desc("a"), stream())
    assert (order.key.text, order.directions, order.peers) == ("(col(a), col(b), col(c))", (True, False, False), 1)
    order = bind_total_order("top", None, stream())
    assert (order.key.text, order.directions, order.peers) == ("(col(a), col(b), col(c))", (False,) * 3, 0)


@dataclass(frozen=True)
class Colour:
    name: str


class Colours(NamedTuple):
    a: int
    tags: tuple[tuple[int, str], ...]
    b: Colour


def test_columns_without_an_order_are_refused():
    with pytest.raises(TypeMismatch, match="must be columns whose values have an order; asc\\('b'\\) has none"):
        bind_order("top", "b", stream(Colours))
    assert bind_total_order("top", "tags", stream(Colours)).key.text == "(col(tags), col(a))"


@pytest.mark.parametrize("given", [None, 3, [], lambda row: row.a, [["a"]], [("a", "b")]])
def test_what_is_no_order_is_refused(given):
    with pytest.raises(TypeMismatch, match="`order_by` of `top` must be columns, expressions"):
        bind_order("top", given, stream())


@pytest.mark.parametrize("make", [flo.asc, flo.desc])
def test_a_sort_key_has_one_column(make):
    with pytest.raises(TypeMismatch, match="must get one column or expression"):
        make(("a", "b"))
    with pytest.raises(TypeMismatch, match="must be True or False"):
        make("a", nulls_last="yes")
    with pytest.raises(TypeMismatch, match="does not have"):
        bind_order("top", make("z"), stream())
