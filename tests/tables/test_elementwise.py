"""Operators that keep nothing: on tables they give what they give on values."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.columns.expression import WEIGHTS, Expression
from flo.columns.layout import Layout
from flo.core.errors import FloError
from flo.core.graph import Node, inputs, setinput
from flo.core.operator import concat_all
from flo.core.semantics import advance
from flo.core.stream_type import StreamType
from flo.core.typing import initial
from flo.values.operators.bags import BagUnion
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.sets import ToBag, ToSet, UnionSets
from flo.values.operators.zsets import MapWeights, Minus, Negate, Plus, ToZSet
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables


class Row(NamedTuple):
    key: int
    name: str | None


ROW = Layout.of(Row)


def name_of(row: Row) -> str | None:
    return row.name


def swapped(row: Row) -> tuple[str | None, int]:
    return row.name, row.key


def letters(row: Row) -> list[str]:
    return [row.name] * row.key if row.name else []


def over(given: Any) -> Expression:
    return Expression(given, (ROW,))


rows = st.builds(Row, st.integers(0, 3), st.sampled_from(["a", "b", None]))
DATA = {
    Sequence: st.lists(rows, max_size=5),
    Bag: st.dictionaries(rows, st.integers(1, 3), max_size=4),
    Set: st.sets(rows, max_size=4),
    ZSet: st.dictionaries(rows, st.sampled_from([1, -1, 2]), max_size=4),
}
EACH = [
    Map(name_of),
    Map(swapped),
    Map(over("name")),
    Map(over(("name", "key"))),
    Map(over({"key": "key", "more": nw.col("key") * 2 + 1, "one": nw.lit(1)})),
    Map(over(nw.col("key") > 1)),
    Map(over(nw.col("name").fill_null("none"))),
    Map(over(nw.when(nw.col("key") > 1).then(nw.col("key")))),
    Filter(name_of),
    Filter(over(nw.col("key") > 1)),
    Filter(over(nw.col("name") == "a")),
    Filter(lambda row: row.key),
    FlatMap(letters),
]


@pytest.mark.parametrize("kind", list(DATA))
@pytest.mark.parametrize("operator", EACH)
@given(st.data())
@tried(8)
def test_each_row(kind, operator, data):
    types = (StreamType(kind(Row), data.draw(st.booleans())),)
    assert len(forms(on_tables(operator, types)[0])) == 1
    agree(operator, types, data.draw(st.lists(st.tuples(DATA[kind]), max_size=3)))


UNIONS = [(Plus, ZSet), (Minus, ZSet), (BagUnion, Bag), (UnionSets, Set)]


@pytest.mark.parametrize(("operator", "kind"), UNIONS)
@given(st.data())
@tried(15)
def test_unions(operator, kind, data):
    types = (StreamType(kind(Row), True), StreamType(kind(Row), data.draw(st.booleans())))
    assert len(forms(on_tables(operator(), types)[0])) == 1
    agree(operator(), types, data.draw(st.lists(st.tuples(DATA[kind], DATA[kind]), max_size=3)))


def test_a_union_with_a_type_that_has_more_values():
    types = (StreamType(Bag(int), False), StreamType(Bag(int | None), False))
    assert len(forms(on_tables(BagUnion(), types)[0])) == 1
    agree(BagUnion(), types, [([1], [None, 2])])


@pytest.mark.parametrize("kind", [Sequence, Bag, Set])
@given(st.data())
@tried(10)
def test_ways_between_collections(kind, data):
    types = (StreamType(kind(Row), True),)
    chunks = data.draw(st.lists(st.tuples(DATA[kind]), max_size=4))
    for operator in (ToBag(), ToZSet(), ToSet()):
        assert len(forms(on_tables(operator, types)[0])) == 1
        agree(operator, types, chunks)


WEIGHT_FUNCTIONS = [
    MapWeights(lambda row, weight: weight * row.key),
    MapWeights(Expression(nw.col("weight") * nw.col("key"), (ROW, WEIGHTS))),
    MapWeights(Expression(-nw.col("weight"), (ROW, WEIGHTS))),
    MapWeights(Expression("weight", (ROW, WEIGHTS))),
    Negate(),
]


@pytest.mark.parametrize("operator", WEIGHT_FUNCTIONS)
@given(st.lists(st.tuples(DATA[ZSet]), max_size=3))
@tried(15)
def test_weights(operator, chunks):
    types = (StreamType(ZSet(Row), False),)
    assert len(forms(on_tables(operator, types)[0])) == 1
    agree(operator, types, chunks)


def said_of(operator: Any, types: Any, data: Any, *, tables: bool) -> str:
    """The error, on values or on tables."""
    graph, _ = on_tables(operator, types) if tables else initial(Node(None, operator), types)
    values = tuple(t.collection.value(d) for t, d in zip(types, data, strict=True))
    graph = setinput(graph, concat_all(inputs(graph), values))
    error = ""
    for _ in range(5):
        try:
            graph, _ = advance(graph)
        except FloError as fault:
            error = str(fault)
    form = forms(graph)[0].name if tables else ""
    return error.replace(f"`{form}`", f"`{operator.name}`")


def broken(row: Row) -> int:
    return 10 // row.key


def liar(row: Row) -> int:
    return row.name if row.key == 2 else row.key  # type: ignore[return-value]


@pytest.mark.parametrize("kind", [Sequence, Bag, Set, ZSet])
@pytest.mark.parametrize(
    "operator", [Map(broken), Map(liar), MapWeights(lambda row, weight: weight // row.key), MapWeights(lambda r, w: 1)]
)
def test_a_function_that_raises_says_the_same_as_on_values(kind, operator):
    if isinstance(operator, MapWeights) and kind is not ZSet:
        return
    data = [Row(1, "a"), Row(0, "b"), Row(2, "c"), Row(3, "d")]
    types = (StreamType(kind(Row), False),)
    said = said_of(operator, types, (data,), tables=True)
    assert said == said_of(operator, types, (data,), tables=False)
    assert said


def test_an_expression_that_is_not_additive_is_refused_with_the_same_words():
    f = Expression(nw.col("weight") * 0 + nw.col("key"), (ROW, WEIGHTS))
    types = (StreamType(ZSet(Row), False),)
    data = {Row(0, "a"): 1, Row(1, "b"): 1}
    said = said_of(MapWeights(f), types, (data,), tables=True)
    assert said == said_of(MapWeights(f), types, (data,), tables=False)
    assert "additive in the weight" in said
