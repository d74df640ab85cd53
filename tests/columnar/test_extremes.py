"""Least and greatest on tables are what they are on values."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import NamedTuple

import narwhals as nw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flo.columnar import ranked
from flo.columnar.expression import Expression
from flo.columnar.layout import Layout
from flo.core.stream_type import StreamType
from flo.values.operators.zset_aggregates import Aggregate
from flo.values.operators.zset_extremes import Max, Min
from flo.values.weighted import ZSet
from tests.columnar.harness import agree, forms, on_tables
from tests.columnar.patches import colliding, whole_deltas

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
OF = [number, price, both, Expression("price", (LAYOUT,)), Expression(nw.col("number") * -2, (LAYOUT,)), group]
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
@settings(max_examples=300, deadline=None)
def test_as_on_values(chunks, of, by, kind):
    agree(Aggregate(by, kind(of)), TYPES, chunks, seeds=1)


@given(deltas, st.sampled_from(OF), st.sampled_from(BY), st.sampled_from([Min, Max]))
@settings(max_examples=60, deadline=None)
def test_groups_and_rows_that_share_a_number_are_told_apart(chunks, of, by, kind):
    with pytest.MonkeyPatch.context() as patch:
        colliding(patch)
        agree(Aggregate(by, kind(of)), TYPES, chunks, seeds=1)


@given(deltas, st.sampled_from(OF), st.sampled_from(BY), st.sampled_from([Min, Max]))
@settings(max_examples=100, deadline=None)
def test_as_on_values_where_the_beginning_is_searched(chunks, of, by, kind):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "WORTH_A_SEARCH", 0)
        agree(Aggregate(by, kind(of)), TYPES, chunks, seeds=1)


VALUES = {
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
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
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


def test_what_python_cannot_compare_stays_on_values():
    class Note(NamedTuple):
        text: str | None

    def text(note: Note) -> str | None:
        return note.text

    types = (StreamType(ZSet(Note), bounded=False),)
    assert not forms(on_tables(Aggregate(None, Min(text)), types)[0])
