"""Lines to paste: values, types and operators as Python that works with `import flo` and the user's own names."""

from __future__ import annotations

import datetime
import functools
import operator
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, Flag
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

import pytest

import flo
import flo.verify
from flo.values.operators.elementwise import Map
from flo.verify.exploration.source import SourceWriter, format_keywords, quote_trace
from tests.seeded.operators import Racing
from tests.verify.pasting import pasted


class Colour(Enum):
    RED = 1
    BLUE = 2


class Access(Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: float


@dataclass(frozen=True)
class Order:
    at: datetime.date
    colour: Colour


def local() -> type:
    @dataclass(frozen=True)
    class Loc:
        k: int

    return Loc


Loc = local()
OWN = {"Colour": Colour, "Access": Access, "Point": Point, "Order": Order, "Loc": Loc, "Racing": Racing}


@pytest.mark.parametrize(
    "value",
    [
        1, -2.5, float("inf"), True, None, "a\"b", b"x", (), (1,), [1, (2, 3)], {1, 2}, set(), frozenset({1}),
        frozenset(), {"a": [1]}, Counter("aab"), Colour.RED, Access.READ, Access.READ | Access.WRITE, Point(1, 2.0),
        Order(datetime.date(2026, 1, 1), Colour.BLUE), Loc(0), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        datetime.timedelta(days=1), Decimal("1.5"), Fraction(1, 2), uuid.UUID(int=3), PurePosixPath("/a"), range(3),
        int, list[Colour], flo.Max(int), flo.Product(flo.Max(int), flo.Or()), flo.Bag(Colour), operator.add,
        str.upper, len, flo.StreamType(flo.Sequence(datetime.date), bounded=True), Racing(), Map(operator.neg),
    ],
    ids=repr,
)  # fmt: skip
def test_values(value: Any) -> None:
    source = SourceWriter()
    assert pasted(source.line(source.value(value)), **OWN) == value


def test_nan_and_partial() -> None:
    source = SourceWriter()
    text = source.value([float("nan"), functools.partial(operator.add, 1)])
    nan, partial = pasted(source.line(text))
    assert nan != nan
    assert partial(2) == 3


@pytest.mark.parametrize(
    "kind",
    [
        int, datetime.date, frozenset[Colour], tuple[int, ...], int | None, Literal["a", 1], dict[str, list[Decimal]],
        Any, Loc, Callable[[int], str], tuple[()],
    ],
    ids=str,
)  # fmt: skip
def test_types(kind: Any) -> None:
    source = SourceWriter()
    assert pasted(source.line(source.kind(kind)), **OWN) == kind


@pytest.mark.parametrize(
    "collection",
    [
        flo.Sequence[datetime.date], flo.Bag[frozenset[Colour]], flo.Set, flo.LVar[flo.Max[int]],
        flo.LVar[flo.Product[flo.Max[int], flo.Or]], flo.LVar[flo.MapUnion[str, flo.Max[int]]],
        flo.Keyed[Colour, flo.Bag[Decimal]], flo.Nested[flo.Sequence[Loc]],  # type: ignore[valid-type]
    ],
    ids=str,
)  # fmt: skip
def test_collections(collection: Any) -> None:
    source = SourceWriter()
    text = source.collection(flo.Collection.of(collection))
    assert flo.Collection.of(pasted(source.line(text), **OWN)) == flo.Collection.of(collection)


def test_bags_are_lists_in_the_order_in_which_they_arrive() -> None:
    source = SourceWriter()
    assert source.data(flo.Bag(float), Counter({1.0: 1, 2.0: 2})) == "[1.0, 2.0, 2.0]"
    assert source.data(flo.Keyed(str, flo.Bag(int)), {"a": Counter([3, 3])}) == "{'a': [3, 3]}"
    assert source.data(flo.Nested(flo.Bag(int)), [Counter([3])]) == "[[3]]"


def test_names_and_traces_that_python_would_not_read() -> None:
    assert format_keywords([("x", "[1]"), ("new orders", "[2]")]) == ", x=[1], **{'new orders': [2]}"
    assert quote_trace("x←1") == '"x←1"'
    assert eval(quote_trace('x←"a"')) == 'x←"a"'


@dataclass(frozen=True)
class Forgetful(flo.Operator):
    """Emits the newest of what is there: illegal, whatever its elements are."""

    default: Any = None
    name = "newest_only"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return inputs

    def steps(self, inputs: tuple[Any, ...]) -> Iterator[flo.Step]:
        (value,) = inputs
        units = value.all_units()
        if units:
            yield flo.Step("newest-only", (value.drained(),), self, (type(value).of(units[-1:]),))
        elif value.ending():
            yield flo.Step("newest-only-terminator", (value.passed(),), self, (type(value).terminator(),))


@pytest.mark.parametrize(
    "collection",
    [
        flo.Sequence[datetime.date], flo.Sequence[Colour], flo.Sequence[Decimal], flo.Bag[frozenset[Colour]],
        flo.Bag[int], flo.Sequence[Order], flo.Sequence[Loc],  # type: ignore[valid-type]
    ],
    ids=str,
)  # fmt: skip
def test_lines_of_counterexamples_work(collection: Any) -> None:
    found = flo.verify.check(Forgetful(Colour.RED), collection, examples={Loc: [Loc(0), Loc(1)]}).counterexample
    assert found is not None
    again = pasted(found.reproduce, Forgetful=Forgetful, **OWN)
    assert again.events[-len(found.columns[1]) :] == found.columns[1]
