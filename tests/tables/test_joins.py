"""Joins on tables give what joins on values give."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.columns.expression import Expression, nullable_layout
from flo.columns.layout import Layout
from flo.core.graph import inputs, setinput
from flo.core.operator import concat_all
from flo.core.semantics import advance
from flo.core.stream_type import StreamType
from flo.tables.operators import weights as weights_module
from flo.tables.state import run as run_module
from flo.tables.state import trace as trace_module
from flo.tables.state.keys import Keys, keys_of
from flo.values.operators.bags import BagJoin
from flo.values.operators.sets import SetJoin
from flo.values.operators.zset_joins import AntiJoin, FullJoin, Join, LeftJoin, RightJoin, SemiJoin
from flo.values.weighted import Bag, Set, ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.test_elementwise import said_of

pytestmark = [pytest.mark.slow, pytest.mark.every(test=2)]


class Row(NamedTuple):
    key: int
    name: str | None


class Pair(NamedTuple):
    key: int
    both: str


def key(row: Row) -> int:
    return row.key


def name_or_key(row: Row) -> tuple[str | None, int]:
    return row.name, row.key


def both(left: Row, right: Row) -> Pair:
    return Pair(left.key, f"{left.name} {right.name}")


def perhaps(left: Row | None, right: Row | None) -> Pair:
    return Pair(-1 if left is None else left.key, f"{left and left.name} {right and right.name}")


rows = st.builds(Row, st.integers(0, 3), st.sampled_from(["a", "b", None]))
deltas = st.dictionaries(rows, st.sampled_from([1, -1, 2, -2]), max_size=5)
chunks = st.lists(st.tuples(deltas, deltas), max_size=4)
TYPES = (StreamType(ZSet(Row), bounded=False), StreamType(ZSet(Row), bounded=True))
ROW = Layout.of(Row)
by_column = Expression("key", (ROW,))
by_two = Expression(("name", "key"), (ROW,))
by_all = Expression(("key", "name"), (ROW,))
by_sum = Expression(nw.col("key") // 2, (ROW,))
into = Expression({"key": "key", "name": "name_right", "sum": nw.col("key") * 10 + nw.col("key_right")}, (ROW, ROW))
into_left = Expression({"key": "key", "other": "key_right", "name": "name"}, (ROW, nullable_layout(ROW)))
into_right = Expression({"key": "key", "other": "key_right", "name": "name"}, (nullable_layout(ROW), ROW))
into_full = Expression({"one": "key", "other": "key_right"}, (nullable_layout(ROW), nullable_layout(ROW)))
KEYS = [(key, key), (by_column, by_column), (by_column, key), (by_two, by_two), (by_sum, by_sum), (None, by_all)]
KEYS += [(lambda row: row.key, lambda row: float(row.key)), (name_or_key, by_two)]


def on_its_tables(operator: Any, types: Any = TYPES) -> None:
    assert len(forms(on_tables(operator, types)[0])) == 1


@pytest.mark.parametrize("keys", KEYS)
@given(chunks)
@tried(8)
@pytest.mark.every(test=2)
def test_joins_on_keys_of_every_making(keys, chunks):
    for kind in (Join, SemiJoin, AntiJoin, LeftJoin, RightJoin, FullJoin):
        on_its_tables(kind(*keys))
        agree(kind(*keys), TYPES, chunks)


@given(chunks)
@tried(10)
def test_joins_of_whole_rows_and_what_they_become(chunks):
    for operator in (
        Join(),
        Join(into=both),
        Join(key, key, both),
        Join(by_column, by_column, both),
        Join(by_column, by_column, into),
        LeftJoin(by_column, by_column, perhaps),
        LeftJoin(by_column, by_column, into_left),
        RightJoin(by_column, by_column, perhaps),
        RightJoin(by_column, by_column, into_right),
        FullJoin(by_column, by_column, perhaps),
        FullJoin(by_column, by_column, into_full),
    ):
        on_its_tables(operator)
        agree(operator, TYPES, chunks)


@given(st.lists(st.tuples(deltas, deltas), max_size=4))
@tried(8)
def test_numbers_that_many_keys_share(chunks):
    """Keys are told apart by their columns where their numbers are equal."""

    def few(columns: Any) -> Keys:
        return Keys(keys_of(columns).numbers & 1, exact=False)

    patch = pytest.MonkeyPatch()
    for module in (run_module, trace_module, weights_module):
        patch.setattr(module, "keys_of", few)
    try:
        for kind in (Join, SemiJoin, AntiJoin, FullJoin):
            agree(kind(by_two, by_two), TYPES, chunks, seeds=1)
    finally:
        patch.undo()


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), max_size=8), st.integers(1, 40))
@tried(8)
def test_a_key_that_has_nearly_all_rows(moves, many):
    start = {Row(0, str(number)): 1 for number in range(many)}
    chunks = [(start, start), *(({Row(0, "1"): one}, {Row(0, "2"): other}) for one, other in moves)]
    for kind in (SemiJoin, AntiJoin, FullJoin):
        agree(kind(by_column, by_column), TYPES, chunks, seeds=1)


class Colour(Enum):
    RED = 1
    GREEN = 2


@dataclass(frozen=True)
class Point:
    x: int
    y: float


ZONED = Annotated[datetime, pa.timestamp("us", "UTC")]
MOMENT = datetime(2024, 2, 29, tzinfo=UTC)
# others are in tests/engines/extremes.py
KINDS: list[tuple[Any, list[Any]]] = [
    (str, ["", "a", "a much longer text than eight bytes", "a much longer text than eight bytez", "x" * 600]),
    (bytes, [b"", b"a\0", b"a"]),
    (date, [date(2024, 2, 29), date(1969, 1, 1)]),
    (ZONED, [MOMENT, MOMENT + timedelta(microseconds=1)]),
    (timedelta, [timedelta(0), timedelta(days=-1)]),
    (Colour, list(Colour)),
    (tuple[int, str], [(0, ""), (0, "a"), (1, "")]),
    (tuple[int, ...], [(), (0,), (0, 0), (1,)]),
    (tuple[int, ...] | None, [(), None, (0,)]),
    (Point, [Point(0, 0.5), Point(0, 1.5), Point(1, 0.5)]),
    (Row, [Row(0, None), Row(0, "a"), Row(1, None)]),
]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=lambda it: str(it)[:30])
def test_keys_of_every_type(kind, values):
    element = tuple[kind, int]
    types = (StreamType(ZSet(element), False), StreamType(ZSet(element), False))
    keys = Expression("0", (Layout.of(element),))
    chunks = [
        ({(value, number): 1 for number, value in enumerate(values)}, {(value, 7): 1 for value in values[:2]}),
        ({(values[0], 0): -1}, {(value, 8): 2 for value in values[1:]}),
        ({(values[-1], 9): 1}, {(values[0], 7): -1, (values[-1], 8): -2}),
    ]
    for on in (keys, lambda pair: pair[0]):
        for kind_of_join in (Join, SemiJoin, FullJoin):
            on_its_tables(kind_of_join(on, keys), types)
            agree(kind_of_join(on, keys), types, chunks)
    whole = (StreamType(ZSet(kind), False), StreamType(ZSet(kind), False))
    pieces = [(dict.fromkeys(values, 1), {values[0]: 2}), ({values[0]: -1}, {values[-1]: 1})]
    agree(Join(), whole, pieces)
    agree(FullJoin(), whole, pieces)


def test_keys_of_two_types_that_python_finds_equal():
    types = (StreamType(ZSet(int), False), StreamType(ZSet(float), False))
    (found,) = agree(SemiJoin(), types, [({1: 1, 2: 1}, {1.0: 1, 2.5: 1})])
    assert found.weights.to_dict() == {1: 1}
    narrow = (StreamType(ZSet(Annotated[int, pa.int32()]), False), StreamType(ZSet(int | None), False))
    (found,) = agree(SemiJoin(), narrow, [({1: 1, 2: 1}, {1: 1, None: 1})])
    assert found.weights.to_dict() == {1: 1}


bags = st.dictionaries(rows, st.integers(1, 3), max_size=4)


@given(st.lists(st.tuples(bags, bags), max_size=3))
@tried(18)
def test_joins_of_bags(chunks):
    types = (StreamType(Bag(Row), True), StreamType(Bag(Row), True))
    for operator in (BagJoin(), BagJoin(key, by_column), BagJoin(by_two, by_two, both), BagJoin(key, key, into)):
        on_its_tables(operator, types)
        agree(operator, types, chunks)


nodes = st.sets(st.integers(0, 3), max_size=4)
edges = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5)


@given(st.lists(st.tuples(nodes, edges), max_size=4))
@tried(18)
def test_joins_of_sets(chunks):
    types = (StreamType(Set(int), True), StreamType(Set(tuple[int, int]), True))
    second = Expression("1", (Layout.of(tuple[int, int]),))
    for operator in (SetJoin(), SetJoin(None, second), SetJoin(into=lambda x, y: x, on=None, other_on=second)):
        agree(operator, types, chunks)
    on_its_tables(SetJoin(), types)


def test_edges_between_rows():
    types = (StreamType(Set(tuple[int, str]), True), StreamType(Set(tuple[tuple[int, str], tuple[int, str]]), True))
    chunks = [({(1, "a")}, {((1, "a"), (2, "b")), ((3, "c"), (1, "a"))}), ({(3, "c")}, {((1, "a"), (2, "b"))})]
    (found,) = agree(SetJoin(), types, chunks)
    assert set(found.weights) == {(2, "b"), (1, "a")}
    on_its_tables(SetJoin(), types)


def touchy(left: Row, right: Row) -> int:
    return 10 // (left.key - 1) + (0 if right.name else 1 // 0)


def touchy_key(row: Row) -> int:
    return 10 // row.key


@pytest.mark.parametrize("operator", [Join(key, key, touchy), Join(touchy_key, key), SemiJoin(key, touchy_key)])
def test_a_function_that_raises_says_the_same_as_on_values(operator):
    left = {Row(0, "a"): 1, Row(1, "b"): 1, Row(2, "c"): 1}
    right = {Row(0, "d"): 1, Row(1, "e"): 2, Row(2, None): 1, Row(2, "f"): 1}
    said = said_of(operator, TYPES, (left, right), tables=True)
    assert said == said_of(operator, TYPES, (left, right), tables=False)
    assert "ZeroDivisionError" in said


def test_rows_that_cancel_are_not_given_to_a_function():
    """As on values, where they are gone from the buffer."""
    (found,) = agree(Join(key, touchy_key), TYPES, [({Row(0, "a"): 1}, {Row(1, "b"): 1})])
    graph, _ = on_tables(Join(key, touchy_key), TYPES)
    deltas = [tuple(t.collection.value(d) for t, d in zip(TYPES, ({}, {Row(0, "b"): w}), strict=True)) for w in (1, -1)]
    for delta in deltas:
        graph = setinput(graph, concat_all(inputs(graph), delta))
    advance(graph)
    assert not found.weights
