"""Least and greatest on tables are what they are on values."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Literal, NamedTuple
from uuid import UUID

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.errors import FunctionError
from flo.core.graph import Node, inputs, setinput
from flo.core.operator import concat_all
from flo.core.semantics import finish
from flo.core.stream_type import StreamType
from flo.core.typing import initial
from flo.tables.state import ranked
from flo.values.operators.zset_aggregates import Aggregate
from flo.values.operators.zset_ranking import Max, Min, TopK
from flo.values.weighted import ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding, whole_deltas

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas():
    yield from whole_deltas()


class Row(NamedTuple):
    group: str
    number: int
    price: float
    note: str | None


def group(row: Row) -> str:
    return row.group


def pair(row: Row) -> tuple[str, int]:
    return row.group, row.number % 2


def number(row: Row) -> int:
    return row.number


def price(row: Row) -> float:
    return row.price


def both(row: Row) -> tuple[float, str]:
    return row.price, row.group


LAYOUT = Layout.of(Row)
BY = [None, group, pair, Expression("group", (LAYOUT,)), Expression(nw.col("number") > 0, (LAYOUT,))]
OF = [number, price, both, Expression("price", (LAYOUT,)), Expression(-(nw.col("number") % 5), (LAYOUT,)), group]
TYPES = (StreamType(ZSet(Row), bounded=True),)

rows = st.builds(
    Row,
    st.sampled_from(["a", "b"]),
    st.sampled_from([-1, 0, 9, 2**63 - 1]),
    st.sampled_from([0.0, -0.0, -1.5, math.nan, math.inf]),
    st.sampled_from([None, "x", ""]),
)
weights = st.sampled_from([1, 1, 2, -1, -2])
deltas = st.lists(st.dictionaries(rows, weights, max_size=8).map(lambda rows: (rows,)), max_size=4)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("of", OF)
def test_it_runs_on_tables(by, of):
    for kind in (Min, Max):
        assert [form.name for form in forms(on_tables(Aggregate(by, kind(of)), TYPES)[0])] == ["extreme_tables"]


@given(deltas, st.sampled_from(OF), st.sampled_from(BY), st.sampled_from([Min, Max]))
@tried(24)
def test_as_on_values(chunks, of, by, kind):
    agree(Aggregate(by, kind(of)), TYPES, chunks, seeds=1)


@given(deltas, st.sampled_from(OF), st.sampled_from(BY), st.sampled_from([Min, Max]))
@tried(24)
def test_groups_and_rows_that_share_a_number_are_told_apart(chunks, of, by, kind):
    with pytest.MonkeyPatch.context() as patch:
        colliding(patch)
        agree(Aggregate(by, kind(of)), TYPES, chunks, seeds=1)


@given(deltas, st.sampled_from(OF), st.sampled_from(BY), st.sampled_from([Min, Max]))
@tried(24)
def test_as_on_values_where_the_beginning_is_searched(chunks, of, by, kind):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "WORTH_A_SEARCH", 0)
        agree(Aggregate(by, kind(of)), TYPES, chunks, seeds=1)


class Size(IntEnum):
    L = 3
    S = 1
    M = 2


class Word(StrEnum):
    Z = "a"
    A = "z"


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Version(NamedTuple):
    major: int
    label: str


@dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int


class Noted(NamedTuple):
    x: int
    note: str | None


@dataclass(frozen=True)
class Spot:
    x: int
    y: int


VALUES = {
    Noted: [Noted(1, None), Noted(1, "a"), Noted(0, "")],
    int: [0, -1, 2**63 - 1, -(2**63)],
    float: [0.0, math.nan, math.inf, -math.inf, 1.5, -5e-324],
    str: ["", "a", "ä", "a\0b", "𝔸", "b"],
    bytes: [b"", b"\0", b"ab", b"\xff"],
    bool: [True, False],
    date: [date(1, 1, 1), date(2024, 2, 29), date(1969, 1, 1)],
    datetime: [datetime(2024, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)],
    time: [time(0), time(23, 59, 59, 999999)],
    timedelta: [timedelta(0), timedelta(-1), timedelta(1, 2, 3)],
    Decimal: [Decimal("1.5"), Decimal("-1.5"), Decimal(0), Decimal(10)],
    tuple[int, float]: [(1, math.nan), (1, 0.0), (0, 3.0)],
    Annotated[datetime, pa.timestamp("us", "UTC")]: [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 3, 2)],
    UUID: [UUID(int=n) for n in (0, 1, 2**127, 2**128 - 1, 256)],
    Size: list(Size),
    Word: list(Word),
    Literal["b", "a", "c"]: ["a", "b", "c"],
    tuple[int, ...]: [(), (1,), (1, 2), (0, 9, 9), (1, 1, 5)],
    tuple[float, ...]: [(), (math.nan,), (0.0, 1.0), (0.0,), (math.inf,)],
    tuple[str, tuple[int, Size]]: [("a", (1, Size.L)), ("a", (1, Size.S)), ("", (2, Size.M)), ("a", (0, Size.L))],
    Version: [Version(1, "b"), Version(1, "a"), Version(0, "z"), Version(2, "")],
    Point: [Point(1, 2), Point(1, 1), Point(0, 9)],
    # None is the least value
    int | None: [None, -(2**63), 1, 2**63 - 1],
    str | None: [None, "", "a"],
    float | None: [None, math.nan, 1.5, -math.inf],
    tuple[int, str | None]: [(1, None), (1, "a"), (0, None), (3, "b")],
    tuple[int, str] | None: [None, (0, ""), (1, "a")],
    tuple[tuple[int, bool | None], ...]: [((1, None),), ((1, False), (5, None)), (), ((0, False),)],
    # what Python compares as long as it meets no other
    Colour: [Colour.RED],
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
@tried(20)
def test_values_of_every_type(kind, data):
    chunks = data.draw(
        st.lists(st.dictionaries(st.sampled_from(VALUES[kind]), weights, max_size=5).map(lambda c: (c,)), max_size=4)
    )
    types = (StreamType(ZSet(kind), bounded=False),)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "WORTH_A_SEARCH", 0)
        for each in (Min(), Max()):
            assert len(forms(on_tables(Aggregate(None, each), types)[0])) == 1
            agree(Aggregate(None, each), types, chunks, seeds=1)


def test_the_first_rows_are_taken_back_one_after_the_other():
    all_rows = [Row("a", n, n / 3, None) for n in range(200)]
    back = [({row: -1},) for row in all_rows[:150]]
    agree(Aggregate(group, Min(number)), TYPES, [(dict.fromkeys(all_rows, 1),), *back], seeds=1)


NOT_COMPARED = {
    Colour: (list(Colour), "'<' not supported between instances of 'Colour' and 'Colour'"),
    Spot: ([Spot(1, 2), Spot(2, 1)], "'<' not supported between instances of 'Spot' and 'Spot'"),
    tuple[Colour, ...]: ([(Colour.RED,), (Colour.BLUE,)], "'<' not supported between instances of 'Colour'"),
}


@pytest.mark.parametrize("kind", NOT_COMPARED, ids=str)
@pytest.mark.parametrize("extreme", [Min(), Max()])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_python_does_not_compare_is_refused_as_on_values(kind, extreme, at_once):
    values, message = NOT_COMPARED[kind]
    types = (StreamType(ZSet(kind), bounded=False),)
    operator = Aggregate(None, extreme)
    on_values, on_columns = initial(Node(None, operator), types), on_tables(operator, types)
    assert forms(on_columns[0])
    chunks = [dict.fromkeys(values, 1)] if at_once else [{value: 1} for value in values]
    for graph, outputs in (on_values, on_columns):
        with pytest.raises(FunctionError, match=message):
            _fed(graph, outputs, [types[0].collection.value(chunk) for chunk in chunks])


def _fed(graph, outputs, deltas):
    found = tuple(stream.collection.bottom() for stream in outputs)
    for delta in deltas:
        graph, found = finish(setinput(graph, concat_all(inputs(graph), (delta,))), found)


@pytest.mark.parametrize("kind", NOT_COMPARED, ids=str)
def test_what_left_before_the_other_came_is_not_compared(kind):
    one, *others = NOT_COMPARED[kind][0]
    chunks = [({one: 1},), ({one: -1},), ({others[0]: 2},), ({others[0]: -2, one: 1},)]
    types = (StreamType(ZSet(kind), bounded=False),)
    agree(TopK(3), types, chunks, seeds=0)
    agree(Aggregate(None, Min()), types, chunks[:3], seeds=0)


def test_what_python_orders_in_another_way_stays_on_values():
    class Backwards(NamedTuple):
        number: int

        def __lt__(self, other):
            return self.number > other.number

    def key(row: Row) -> Backwards:
        return Backwards(row.number)

    def prices(row: Row) -> list[float]:
        return [row.price]

    for of in (key, prices):
        assert not forms(on_tables(Aggregate(None, Min(of)), TYPES)[0])


def least(numbers):
    return numbers.min()


@pytest.mark.parametrize("verb", [least, lambda z: z.max(), lambda z: z.top(1, lambda x: x)])
@pytest.mark.parametrize("values", list(itertools.permutations([3.0, math.nan, None])), ids=str)
@pytest.mark.parametrize("at_once", [True, False])
def test_none_is_the_least_value_and_nan_the_greatest_number(verb, values, at_once):
    flow = flo.Flow("mixed")
    flow.output("out", verb(flow.input("x", flo.ZSet[float | None])))
    deltas = [values] if at_once else [[value] for value in values]
    expected = {None if verb is least else math.nan: 1}
    loop = flow.loop()
    _pushed(loop, deltas)
    assert repr(loop.result()["out"]) == repr(expected)
    agree(
        Aggregate(None, Min() if verb is least else Max()),
        (StreamType(ZSet(float | None), bounded=False),),
        [(dict.fromkeys(delta, 1),) for delta in deltas],
    )


def _pushed(loop, deltas):
    for delta in deltas:
        loop.push(x=dict.fromkeys(delta, 1))
        loop.run()
