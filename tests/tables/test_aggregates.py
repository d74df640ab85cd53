"""Linear aggregates on tables give what they give on values."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.checkpoint import decode, encode
from flo.core.errors import ElementError, FunctionError
from flo.core.graph import Node, Sequential, inputs, setinput
from flo.core.operator import concat_all
from flo.core.semantics import finish
from flo.core.stream_type import StreamType
from flo.core.term import Lifting, Lowering
from flo.values.operators.zset_aggregates import Aggregate, Avg, Count, CountDistinct, Linear, Sum
from flo.values.operators.zset_ranking import Max, Min
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
    count: int
    price: float
    exact: Decimal


def group(row: Row) -> str:
    return row.group


def pair(row: Row) -> tuple[str, int]:
    return row.group, row.count % 2


def count(row: Row) -> int:
    return row.count


def price(row: Row) -> float:
    return row.price


def exact(row: Row) -> Decimal:
    return row.exact


def numbers(row: Row) -> tuple[int, float]:
    return row.count, row.price


def spread(totals: tuple[int, float]) -> float:
    return totals[0] - totals[1]


def double(total: int) -> str:
    return str(2 * total)


LAYOUT = Layout.of(Row)
BY = [group, pair, None, Expression("group", (LAYOUT,)), Expression(("group", nw.col("count") > 0), (LAYOUT,))]
LINEAR = [
    Count(),
    Sum(count),
    Sum(price),
    Sum(exact),
    Sum(Expression(nw.col("count") * 3, (LAYOUT,))),
    Sum(Expression("price", (LAYOUT,))),
    Avg(count),
    Avg(price),
    Avg(exact),
    Linear(numbers, spread),
    Linear(count, double),
]
TYPES = (StreamType(ZSet(Row), bounded=True),)

floats = st.floats() | st.sampled_from([0.1, -0.1, 1e300, 1e-300, 1e308, math.inf, -math.inf, math.nan, 5e-324])
decimals = st.sampled_from([Decimal("0.1"), Decimal(-7), Decimal("123456789012345.5"), Decimal("1e-18")])
rows = st.builds(
    Row,
    st.sampled_from(["a", "b", "", "ab"]),
    st.integers(-3, 3) | st.sampled_from([2**62, -(2**62)]),
    floats,
    decimals,
)
weights = st.sampled_from([1, 1, 1, -1, 2, -3])
deltas = st.lists(st.dictionaries(rows, weights, max_size=5).map(lambda rows: (rows,)), max_size=4)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("aggregator", LINEAR)
def test_it_runs_on_tables(by, aggregator):
    assert [form.name for form in forms(on_tables(Aggregate(by, aggregator), TYPES)[0])] == ["aggregate_tables"]


def _fits(chunks):
    return all(abs(row.count) < 2**60 for chunk in chunks for row in chunk[0])


@given(deltas, st.sampled_from(BY), st.sampled_from(LINEAR))
@tried(24)
def test_as_on_values(chunks, by, aggregator):
    if not _fits(chunks) and isinstance(aggregator, Sum):
        return  # a sum may not fit its column: below
    agree(Aggregate(by, aggregator), TYPES, chunks, seeds=2)


def _retracted(chunks):
    """Every row is taken back, in another order and other cuts."""
    back = {}
    for (chunk,) in chunks:
        for row, weight in chunk.items():
            back[row] = back.get(row, 0) - weight
    return [*chunks, *(({row: weight},) for row, weight in reversed(back.items()) if weight)]


@given(deltas, st.sampled_from(BY), st.sampled_from(LINEAR))
@tried(24)
def test_nothing_is_left_when_all_is_taken_back(chunks, by, aggregator):
    if not _fits(chunks):
        return
    (found,) = agree(Aggregate(by, aggregator), TYPES, _retracted(chunks), seeds=1)
    assert not found.weights


DISTINCT = [
    CountDistinct(),
    CountDistinct(count),
    CountDistinct(price),
    CountDistinct(exact),
    CountDistinct(numbers),
    CountDistinct(lambda row: row.price if row.count else row.group),
    CountDistinct(Expression(("group", nw.col("count") % 2), (LAYOUT,))),
]


@given(deltas, st.sampled_from(BY), st.sampled_from(DISTINCT))
@tried(24)
def test_different_values_are_counted(chunks, by, aggregator):
    assert [form.name for form in forms(on_tables(Aggregate(by, aggregator), TYPES)[0])] == ["count_distinct_tables"]
    agree(Aggregate(by, aggregator), TYPES, chunks, seeds=2)


@given(deltas, st.sampled_from([group, pair]), st.sampled_from(DISTINCT))
@tried(24)
def test_values_that_share_a_number_are_told_apart(chunks, by, aggregator):
    with pytest.MonkeyPatch.context() as patch:
        colliding(patch)
        agree(Aggregate(by, aggregator), TYPES, chunks, seeds=1)


def test_values_without_a_hash_are_refused_as_on_values():
    def parts(row: Row) -> list[int]:
        return [row.count]

    for f in (parts, lambda row: [row.count]):
        start, _ = on_tables(Aggregate(group, CountDistinct(f)), TYPES)
        with pytest.raises(FunctionError, match="unhashable"):
            finish(setinput(start, (TYPES[0].collection.value({Row("a", 1, 0.0, Decimal(0)): 1}),)), ())


class Sold(NamedTuple):
    small: Annotated[Decimal, pa.decimal128(10, 2)]
    number: Annotated[int, pa.int32()]
    share: Annotated[float, pa.float32()]


SOLD = Layout.of(Sold)
NARROW = [kind(Expression(name, (SOLD,))) for kind in (Sum, Avg) for name in Sold._fields]


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
    ),
    st.sampled_from(NARROW),
)
@tried(24)
def test_sums_of_narrow_columns_need_not_fit_them(chunks, aggregator):
    types = (StreamType(ZSet(Sold), bounded=True),)
    assert len(forms(on_tables(Aggregate(None, aggregator), types)[0])) == 1
    agree(Aggregate(None, aggregator), types, chunks, seeds=1)


def test_a_mean_of_decimals_is_rounded_once_to_the_even_one():
    for numbers_given, weight in (([1, 1, 3], 1), ([5, 0], 1), ([10**37], 3), ([1], -3), ([7], 2**33 + 1)):
        rows = {Row("a", place, 0.0, Decimal(number).scaleb(-18)): weight for place, number in enumerate(numbers_given)}
        agree(Aggregate(group, Avg(exact)), TYPES, [(rows,)])
    rows = {Row("a", 0, 0.0, Decimal(3).scaleb(-18)): 1, Row("a", 1, 0.0, Decimal(0)): 1}
    (found,) = agree(Aggregate(group, Avg(exact)), TYPES, [(rows,)])
    assert list(found.weights) == [("a", Decimal("2e-18"))]


KEYS = {
    int: [0, -1, 2**63 - 1, -(2**63)],
    float: [0.0, -0.0, math.nan, math.inf, 1.5],
    str: ["", "a", "ä", "a\0b"],
    bytes: [b"", b"\0", b"ab"],
    bool: [True, False],
    date: [date(1, 1, 1), date(2024, 2, 29)],
    datetime: [datetime(2024, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)],
    Decimal: [Decimal("1.5"), Decimal("1.50"), Decimal(0)],
    int | None: [None, 0, 1],
    tuple[int, str | None]: [(1, None), (1, "a"), (2, "a")],
}


@pytest.mark.parametrize("kind", KEYS, ids=str)
@given(data=st.data())
@tried(15)
def test_groups_of_every_type(kind, data):
    def key(row):
        return row[0]

    def number(row):
        return row[1]

    key.__annotations__ = {"return": kind}
    number.__annotations__ = {"return": int}
    pairs = st.tuples(st.sampled_from(KEYS[kind]), st.integers(0, 2))
    chunks = data.draw(st.lists(st.dictionaries(pairs, weights, max_size=4).map(lambda rows: (rows,)), max_size=3))
    types = (StreamType(ZSet(tuple[kind, int]), bounded=False),)
    operator = Aggregate(key, Sum(number))
    assert len(forms(on_tables(operator, types)[0])) == 1
    agree(operator, types, chunks, seeds=1)


@given(deltas, st.sampled_from([group, pair]), st.sampled_from(LINEAR))
@tried(24)
def test_groups_that_share_a_number_are_told_apart(chunks, by, aggregator):
    if not _fits(chunks):
        return
    with pytest.MonkeyPatch.context() as patch:
        colliding(patch)
        agree(Aggregate(by, aggregator), TYPES, chunks, seeds=1)


def test_a_sum_that_does_not_fit_names_its_group():
    signs = [1, -1, 1, -1, 1]
    rows = {Row("big", sign * 2**62, float(n), Decimal(0)): sign * 2**62 for n, sign in enumerate(signs)}
    with pytest.raises(ElementError, match="does not fit the 38 digits") as error:
        agree(Aggregate(group, Sum(count)), TYPES, [(rows,)])
    assert ("group", "'big'") in error.value.facts


def test_a_sum_that_did_not_fit_is_right_when_it_fits_again():
    row, other = Row("big", 2**62, 0.0, Decimal(0)), Row("big", -(2**62), 0.0, Decimal(0))
    (found,) = agree(Aggregate(group, Linear(count, double)), TYPES, [({row: 2**40},), ({other: 2**40 - 1},)])
    assert list(found.weights) == [("big", str(2**63))]


def test_a_number_that_is_missing_is_refused_as_on_values():
    def missing(row: Row) -> int:
        return None

    with pytest.raises(FunctionError, match="got None") as on_values:
        agree(Aggregate(group, Sum(missing)), TYPES, [({Row("a", 1, 0.0, Decimal(0)): 1},)])
    assert on_values.value is not None


def test_skew():
    rows = {Row("a", n, n / 7, Decimal(n)): 1 for n in range(500)} | {Row("b", 1, 0.5, Decimal(1)): 2}
    back = [(dict.fromkeys(list(rows)[start : start + 50], -1),) for start in range(0, 450, 50)]
    for aggregator in LINEAR:
        agree(Aggregate(group, aggregator), TYPES, [(rows,), *back], seeds=1)


OPERATORS = [
    Aggregate(group, Sum(price)),
    Aggregate(None, Avg(count)),
    Aggregate(group, Min(price)),
    Aggregate(None, Max(count)),
    Aggregate(group, CountDistinct(price)),
]


@given(deltas, st.sampled_from(OPERATORS))
@tried(24)
def test_it_goes_on_from_a_checkpoint(chunks, operator):
    if not _fits(chunks):
        return
    start, out = on_tables(operator, TYPES)
    nothing = tuple(t.collection.bottom() for t in out)
    straight, with_stops = (start, nothing), (start, nothing)
    for chunk in chunks:
        delta = tuple(None if data is None else t.collection.value(data) for t, data in zip(TYPES, chunk, strict=True))
        graph, outputs = straight
        straight = finish(setinput(graph, concat_all(inputs(graph), delta)), outputs)
        graph, outputs = with_stops
        lowering = Lowering()
        state = encode(lowering(forms(graph)[-1]))
        lifted = Lifting(lowering.names)(decode(state))
        assert lifted == forms(graph)[-1]
        graph = _replaced(graph, lifted.with_origins(forms(graph)[-1]))
        with_stops = finish(setinput(graph, concat_all(inputs(graph), delta)), outputs)
    assert straight[1] == with_stops[1]


def _replaced(graph, operator):
    match graph:
        case Sequential(left, right):
            return Sequential(_replaced(left, operator), _replaced(right, operator))
        case Node(values, old, origin):
            return Node(values, operator, origin) if type(old) is type(operator) else graph
