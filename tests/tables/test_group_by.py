"""Groups and their aggregates on tables are what they are on values: sums, counts and extremes, of rows that go too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.core.checkpoint import decode, encode
from flo.core.errors import ElementError
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs, setinput
from flo.core.operator import concat_all
from flo.core.semantics import finish
from flo.core.stream_type import StreamType
from flo.core.term import Lifting, Lowering
from flo.values.weighted import ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding, whole_deltas

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas() -> Iterator[None]:
    yield from whole_deltas()


class Row(NamedTuple):
    group: str
    count: int
    price: float
    exact: Decimal


def group(row: Row) -> str:
    return row.group


def pair(row: Row) -> tuple[str, int]:
    return row.group, row.count % 2


def price(row: Row) -> float:
    return row.price


def numbers(row: Row) -> tuple[int, float]:
    return row.count, row.price


def spread(totals: tuple[int, float]) -> float:
    return totals[0] - totals[1]


def double(total: int) -> str:
    return str(2 * total)


BY: dict[str, dict[str, Any]] = {
    "function": {"key": group},
    "pair": {"key": pair},
    "all": {},
    "column": {"key": "group"},
    "columns": {"key": "group", "sign": nw.col("count") > 0},
}
LINEAR = {
    "count": flo.count(),
    "ints": flo.sum("count"),
    "floats": flo.sum(price),
    "decimals": flo.sum("exact"),
    "threes": flo.sum(nw.col("count") * 3),
    "mean of ints": flo.avg("count"),
    "mean of floats": flo.avg("price"),
    "mean of decimals": flo.avg("exact"),
    "several": flo.linear(numbers, spread),
    "one": flo.linear("count", double),
}
OTHERS = {
    "least": flo.min("count"),
    "greatest": flo.max(price),
    "least of pairs": flo.min(pair),
    "greatest exact": flo.max("exact"),
    "different": flo.count_distinct("price"),
    "different pairs": flo.count_distinct(pair),
    "different together": flo.count_distinct("group", nw.col("count") % 2),
}
TYPES = (StreamType(ZSet(Row), bounded=True),)


def program(element: Any, by: dict[str, Any], aggregates: dict[str, Any], bounded: bool = True) -> Graph:
    flow = flo.Flow("groups")
    rows = flow.input("rows", ZSet[element], bounded=bounded)
    flow.output("out", (rows.group_by(**by) if by else rows).agg(**aggregates))
    return flow.graph()


@cache
def graph_of(by: str, *names: str) -> Graph:
    every = {**LINEAR, **OTHERS}
    return program(Row, BY[by], {name.replace(" ", "_"): every[name] for name in names})


def grouping(graph: Graph) -> list[str]:
    return [form.name for form in forms(graph) if form.name == "group_by_tables"]


floats = st.floats() | st.sampled_from([0.1, -0.0, 1e300, 1e-300, 1e308, math.inf, -math.inf, math.nan, 5e-324])
decimals = st.sampled_from([Decimal("0.1"), Decimal(-7), Decimal("123456789012345.5"), Decimal("1e-18")])
rows = st.builds(
    Row,
    st.sampled_from(["a", "b", "", "ab"]),
    st.integers(-3, 3) | st.sampled_from([2**59, -(2**59)]),
    floats,
    decimals,
)
weights = st.sampled_from([1, 1, 1, -1, 2, -3])
deltas = st.lists(st.dictionaries(rows, weights, max_size=5).map(lambda rows: (rows,)), max_size=4)
some_of = st.lists(st.sampled_from([*LINEAR, *OTHERS]), min_size=1, max_size=3, unique=True).map(sorted)


@pytest.mark.parametrize("by", BY)
def test_it_runs_on_tables(by: str) -> None:
    assert grouping(on_tables(graph_of(by, *LINEAR, *OTHERS), TYPES)[0]) == ["group_by_tables"]


@given(deltas, st.sampled_from(list(BY)), some_of)
@tried(40)
def test_as_on_values(chunks: Any, by: str, names: list[str]) -> None:
    agree(graph_of(by, *names), TYPES, chunks, seeds=2)


@given(deltas, st.sampled_from(list(BY)), some_of)
@tried(24)
def test_groups_and_values_that_share_a_number_are_told_apart(chunks: Any, by: str, names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        colliding(patch)
        agree(graph_of(by, *names), TYPES, chunks, seeds=1)


def _retracted(chunks: Any) -> Any:
    """Every row is taken back, in another order and other cuts."""
    back: dict[Any, int] = {}
    for (chunk,) in chunks:
        for row, weight in chunk.items():
            back[row] = back.get(row, 0) - weight
    return [*chunks, *(({row: weight},) for row, weight in reversed(back.items()) if weight)]


@given(deltas, st.sampled_from([by for by in BY if BY[by]]), some_of)
@tried(24)
def test_nothing_is_left_when_all_is_taken_back(chunks: Any, by: str, names: list[str]) -> None:
    (found,) = agree(graph_of(by, *names), TYPES, _retracted(chunks), seeds=1)
    assert not found.weights


class Sold(NamedTuple):
    small: Annotated[Decimal, pa.decimal128(10, 2)]
    number: Annotated[int, pa.int32()]
    share: Annotated[float, pa.float32()]


@cache
def narrow_sums() -> Graph:
    sums = {f"sum_{name}": flo.sum(name) for name in Sold._fields}
    return program(Sold, {}, sums | {f"avg_{name}": flo.avg(name) for name in Sold._fields})


@given(
    st.lists(
        st.dictionaries(
            st.builds(
                Sold,
                st.decimals(-99999, 99999, places=2),
                st.integers(-(2**20), 2**20),
                st.floats(width=32, allow_nan=False),
            ),
            weights | st.sampled_from([2**40, -(2**33) - 1]),
            max_size=4,
        ).map(lambda rows: (rows,)),
        max_size=3,
    )
)
@tried(24)
def test_sums_of_narrow_columns_need_not_fit_them(chunks: Any) -> None:
    types = (StreamType(ZSet(Sold), bounded=True),)
    assert grouping(on_tables(narrow_sums(), types)[0])
    agree(narrow_sums(), types, chunks, seeds=1)


def test_a_mean_of_decimals_is_rounded_once_to_the_even_one() -> None:
    means = graph_of("column", "mean of decimals")
    for numbers_given, weight in (([1, 1, 3], 1), ([5, 0], 1), ([10**37], 3), ([1], -3), ([7], 2**33 + 1)):
        rows = {Row("a", place, 0.0, Decimal(number).scaleb(-18)): weight for place, number in enumerate(numbers_given)}
        agree(means, TYPES, [(rows,)])
    rows = {Row("a", 0, 0.0, Decimal(3).scaleb(-18)): 1, Row("a", 1, 0.0, Decimal(0)): 1}
    (found,) = agree(means, TYPES, [(rows,)])
    assert list(found.weights) == [("a", Decimal("2e-18"))]


def test_a_sum_that_does_not_fit_names_its_group() -> None:
    signs = [1, -1, 1, -1, 1]
    rows = {Row("big", sign * 2**62, float(n), Decimal(0)): sign * 2**62 for n, sign in enumerate(signs)}
    with pytest.raises(ElementError, match="does not fit the 38 digits") as error:
        agree(graph_of("column", "ints"), TYPES, [(rows,)])
    assert ("group", "('big',)") in error.value.facts


def test_a_sum_that_did_not_fit_is_right_when_it_fits_again() -> None:
    row, other = Row("big", 2**62, 0.0, Decimal(0)), Row("big", -(2**62), 0.0, Decimal(0))
    (found,) = agree(graph_of("column", "one"), TYPES, [({row: 2**40},), ({other: 2**40 - 1},)])
    assert list(found.weights) == [("big", str(2**63))]


def test_a_large_group_shrinks() -> None:
    rows = {Row("a", n, n / 7, Decimal(n)): 1 for n in range(500)} | {Row("b", 1, 0.5, Decimal(1)): 2}
    back = [(dict.fromkeys(list(rows)[start : start + 50], -1),) for start in range(0, 450, 50)]
    agree(graph_of("column", *LINEAR, *OTHERS), TYPES, [(rows,), *back], seeds=1)


def test_the_first_rows_are_taken_back_one_after_the_other() -> None:
    all_rows = [Row("a", n, n / 3, Decimal(n)) for n in range(60)]
    back = [({row: -1},) for row in all_rows[:45]]
    agree(graph_of("column", "least"), TYPES, [(dict.fromkeys(all_rows, 1),), *back], seeds=1)


@given(deltas, st.sampled_from(list(BY)), some_of)
@tried(24)
def test_it_goes_on_from_a_checkpoint(chunks: Any, by: str, names: list[str]) -> None:
    start, out = on_tables(graph_of(by, *names), TYPES)
    nothing = tuple(t.collection.bottom() for t in out)
    straight, with_stops = (start, nothing), (start, nothing)
    for chunk in chunks:
        delta = tuple(None if data is None else t.collection.value(data) for t, data in zip(TYPES, chunk, strict=True))
        graph, outputs = straight
        straight = finish(setinput(graph, concat_all(inputs(graph), delta)), outputs)
        graph, outputs = with_stops
        (operator,) = (form for form in forms(graph) if form.name == "group_by_tables")
        lowering = Lowering()
        lifted = Lifting(lowering.names)(decode(encode(lowering(operator))))
        assert lifted == operator
        graph = _replaced(graph, lifted.with_origins(operator))
        with_stops = finish(setinput(graph, concat_all(inputs(graph), delta)), outputs)
    assert straight[1] == with_stops[1]


def _replaced(graph: Graph, operator: Any) -> Graph:
    match graph:
        case Sequential(left, right) | Parallel(left, right):
            return type(graph)(_replaced(left, operator), _replaced(right, operator))
        case Node(values, old, origin):
            return Node(values, operator, origin) if type(old) is type(operator) else graph


# the least and the greatest value


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


VALUES: dict[Any, list[Any]] = {
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
    # nulls are skipped
    int | None: [None, -(2**63), 1, 2**63 - 1],
    str | None: [None, "", "a"],
    float | None: [None, math.nan, 1.5, -math.inf],
    tuple[int, str | None]: [(1, None), (1, "a"), (0, None), (3, "b")],
    tuple[int, str] | None: [None, (0, ""), (1, "a")],
    tuple[tuple[int, bool | None], ...]: [((1, None),), ((1, False), (5, None)), (), ((0, False),)],
    Noted: [Noted(1, None), Noted(1, "a"), Noted(0, "b")],
}


@cache
def extremes(kind: Any) -> Graph:
    def same(row: Any) -> Any:
        return row[0]

    same.__annotations__ = {"return": kind}
    aggregates = {"least": flo.min(same), "greatest": flo.max(same), "different": flo.count_distinct(same)}
    return program(tuple[kind, int], {}, aggregates, bounded=False)


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
@tried(8)
def test_values_of_every_type(kind: Any, data: Any) -> None:
    values = st.tuples(st.sampled_from(VALUES[kind]), st.just(0))
    chunks = data.draw(st.lists(st.dictionaries(values, weights, max_size=5).map(lambda c: (c,)), max_size=4))
    types = (StreamType(ZSet(tuple[kind, int]), bounded=False),)
    assert grouping(on_tables(extremes(kind), types)[0])
    agree(extremes(kind), types, chunks, seeds=1)


@pytest.mark.parametrize("kind", [Colour, Spot, tuple[Colour, ...]], ids=str)
def test_what_has_no_order_has_no_least_value(kind: Any) -> None:
    with pytest.raises(flo.TypeMismatch, match="it must get values that have an order"):
        extremes(kind)


def test_what_has_no_order_is_not_collected() -> None:
    """The tuple of the collected values is sorted, so equal groups have equal tuples."""
    rows = flo.Flow("rows").input("rows", flo.ZSet[tuple[int, Colour]])
    with pytest.raises(flo.TypeMismatch, match="it must get values that have an order"):
        rows.group_by(key=lambda row: row[0]).agg(all=flo.collect(lambda row: row[1]))


def test_what_python_orders_in_another_way_stays_on_values() -> None:
    class Backwards(NamedTuple):
        number: int

        def __lt__(self, other: Any) -> Any:
            return self.number > other.number

    def key(row: Row) -> Backwards:
        return Backwards(row.count)

    assert not grouping(on_tables(program(Row, {}, {"least": flo.min(key)}), TYPES)[0])


class Named(NamedTuple):
    k: int
    i: int
    x: float


@pytest.mark.parametrize("name", ["==0", "==1", "0:0"])
def test_a_group_may_be_named_as_an_argument_is(name: str) -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("named")
        rows = flow.input("rows", flo.ZSet[Named]).with_columns(**{name: nw.col("k")})
        flow.output("groups", rows.group_by(name).agg(s=flo.sum("i"), least=flo.min("x")))
        return flow

    rows = [Named(place % 3, place % 5, float(place % 2)) for place in range(10)]
    expected = {(0, 8, 0.0), (1, 7, 0.0), (2, 5, 0.0)}
    assert set(map(tuple, build().run(rows=rows)["groups"])) == expected
    loop = build().on(flo.here).loop()
    loop.push(rows=rows)
    assert {tuple(row.values())[:3] for row in loop.result()["groups"].to_pylist()} == expected


@pytest.mark.parametrize("name", ["±", "±Σ", "⊗"])
def test_no_column_has_a_name_of_the_engine(name: str) -> None:
    rows = flo.Flow("named").input("rows", flo.ZSet[Named])
    with pytest.raises(flo.TypeMismatch, match="a column must not be named"):
        rows.with_columns(**{name: nw.col("k")})
    with pytest.raises(flo.TypeMismatch, match="a column must not be named"):
        rows.group_by("k").agg(**{name: flo.count()})
    with pytest.raises(flo.TypeMismatch, match="a column must not be named"):
        flo.rows(pa.schema({name: pa.int64()}))
