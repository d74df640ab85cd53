"""Keyed streams on tables against the same on values: key_by, map_values, filter_keys, entries, join_keyed."""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.columns.row_types import rows
from flo.core.graph import Node, parallel, sequence, setinput
from flo.core.semantics import attempt
from flo.core.stream_type import StreamType
from flo.core.typing import initial
from flo.tables.keyed import ENDED, KeyedColumns, has_key_columns
from flo.values.keyed import Keyed
from flo.values.operators.keyed_streams import Entries, FilterKeys, KeyBy, KeyedJoin, MapValues
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables


class Sale(NamedTuple):
    shop: str | None
    item: int
    price: float


LAYOUT = Layout.of(Sale)
KINDS = [Sequence, Bag, Set, ZSet]
sales = st.builds(Sale, st.sampled_from(["a", "b", None]), st.integers(0, 2), st.sampled_from([0.5, -0.0, 0.0]))


def col(given, layouts=(LAYOUT,)):
    return Expression(given, layouts)


def shop(sale: Sale) -> str | None:
    return sale.shop


def price(sale: Sale) -> float:
    return sale.price


def of_b(key: str | None) -> bool:
    return key == "b"


def both(left: Sale, right: Sale) -> tuple[int, int]:
    return left.item, right.item


def op(operator):
    return Node(None, operator)


@st.composite
def chunks(draw, kind, sides=1):
    def data():
        rows = draw(st.lists(sales, max_size=5))
        if kind is not ZSet:
            return set(rows) if kind is Set else rows
        weights = draw(st.lists(st.sampled_from([-1, 1, 2]), min_size=len(rows), max_size=len(rows)))
        return dict(zip(rows, weights, strict=True))

    count = draw(st.integers(1, 3))
    return [tuple(data() if draw(st.booleans()) else None for _ in range(sides)) for _ in range(count)]


def named(graph, types):
    return [form.name for form in forms(on_tables(graph, types)[0])]


PROGRAMS = {
    "key_by": [KeyBy(shop)],
    "key_by column": [KeyBy(col("shop"))],
    "key_by columns": [KeyBy(col(("item", "shop")))],
    "map_values": [KeyBy(col("shop")), MapValues(price)],
    "map_values by column": [KeyBy(shop), MapValues(col("price"))],
    "filter_keys": [KeyBy(shop), FilterKeys(of_b)],
    "filter_keys by column": [KeyBy(col("item")), FilterKeys(col(nw.col("value") > 0, (Layout.of(int),)))],
    "entries": [KeyBy(col(("item", "shop"))), Entries()],
    "all": [KeyBy(shop), FilterKeys(of_b), MapValues(price), Entries()],
}


@pytest.mark.parametrize("program", PROGRAMS)
@tried(12)
@given(st.sampled_from(KINDS), st.data())
def test_programs_agree(program, kind, data):
    graph = sequence(*map(op, PROGRAMS[program]))
    types = (StreamType(kind(Sale), bounded=data.draw(st.booleans())),)
    agree(graph, types, data.draw(chunks(kind)))
    assert named(graph, types) == [f"{each.name}_tables" for each in PROGRAMS[program]]


@pytest.mark.parametrize("into", [None, both, col(nw.col("item") + nw.col("item_right"), (LAYOUT, LAYOUT))])
@tried(10)
@given(st.sampled_from([Sequence, Bag, ZSet]), st.data())
def test_joins_agree(into, kind, data):
    graph = sequence(parallel(op(KeyBy(shop)), op(KeyBy(shop))), op(KeyedJoin(into)))
    types = (StreamType(kind(Sale), bounded=True),) * 2
    agree(graph, types, data.draw(chunks(kind, sides=2)))
    assert named(graph, types) == ["key_by_tables", "key_by_tables", "join_keyed_tables"]


KEYED = Keyed(str, Sequence(int))
keyed_data = st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 2), max_size=3), max_size=3)


@tried(20)
@given(st.lists(keyed_data, max_size=3), st.booleans(), st.integers(0, 5))
def test_values_are_those_of_the_collection(pieces, ends, at_most):
    values = [KEYED.value(data) for data in pieces] + [KEYED.bottom().fix()] * ends
    expected, found = KEYED.bottom(), KeyedColumns(KEYED).bottom()
    for value in values:
        expected, found = expected.concat(value), found.concat(KeyedColumns(KEYED).formed(value))
    assert found in KeyedColumns(KEYED)
    assert found.value() == expected
    assert found.fixed() == expected.fixed()
    assert found == KeyedColumns(KEYED).formed(expected)
    rest, sent = found.send(at_most)
    assert found.empty().concat(sent).concat(rest) == found
    assert found.take()[0].size() == 0


def test_a_stream_that_ends_before_the_others():
    value = KEYED.value({"a": [1], "b": []})
    value = value.concat(type(value).of({"b": KEYED.inner.bottom().fix()}))
    found = KeyedColumns(KEYED).formed(value)
    assert found.keys.to_pylist() == [{"key.value": "b", ENDED: True}]
    assert found.value() == value


def test_names_that_could_be_confused_stay_values():
    schema = pa.schema([pa.field("key.value", pa.int64())])
    assert has_key_columns(KEYED)
    assert not has_key_columns(Keyed(int, Bag(rows(schema))))
    assert not has_key_columns(Keyed(list, Bag(int)))
    assert not has_key_columns(Keyed(int, KEYED))


@pytest.mark.parametrize("kind", [Sequence, Bag])
def test_a_fault_of_map_values_says_its_key(kind):
    def share(number: int) -> float:
        return 1 / number

    types = (StreamType(Keyed(str, kind(int)), bounded=False),)
    said = []
    for graph, _ in (initial(op(MapValues(share)), types), on_tables(MapValues(share), types)):
        value = types[0].collection.value({"a": [1, 0], "b": [2], "c": [4]})
        said.append(str(attempt(setinput(graph, (value,)))[2]).replace("map_values_tables", "map_values"))
    assert said[0] == said[1]
    assert "under the key 'a'" in said[0]
