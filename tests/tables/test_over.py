"""Window functions on tables give what they give on values, and look at no more rows than they must."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import narwhals as nw
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.core.graph import Node
from flo.core.stream_type import StreamType
from flo.tables.operators import over
from flo.tables.state import neighbours
from flo.values.keyed import Keyed
from flo.values.operators.over import Over
from flo.values.operators.per_key import PerKey
from flo.values.weighted import ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding, whole_deltas

pytestmark = [pytest.mark.slow, pytest.mark.every(test=2)]


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas():
    yield from whole_deltas()


class Row(NamedTuple):
    group: str | None
    at: int | None
    price: float
    note: str | None


TYPES = (StreamType(ZSet(Row), bounded=True),)


def operator(functions: dict[str, Any], by: Any = None, order: Any = None) -> Over:
    """The operator that the verbs make."""
    made = flo.Flow("over").input("rows", flo.ZSet[Row]).over(by, order).with_columns(**functions)
    assert isinstance(made.source.operator, Over)
    return made.source.operator


SMALL = nw.col("at") < 4
LOCAL = {
    "lag": {"a": flo.lag("price")},
    "both": {"a": flo.lag("note", 2, default="?"), "b": flo.lead("at", 1)},
    "around": {"a": flo.sum("price", rows=(-2, 1)), "b": flo.min("note", rows=(-1, 1)), "c": flo.count(rows=(1, 2))},
    "peers": {"a": flo.sum("price", range=(0, 0)), "b": flo.max("note", range=(0, 0))},
    "peers and rows": {"a": flo.count(range=(0, 0)), "b": flo.lag("price", 2)},
}
SUFFIX = {
    "numbers": {"a": flo.row_number(), "b": flo.rank()},
    "running": {"a": flo.sum("price", rows=(None, 0)), "b": flo.count("note", rows=(None, -1))},
    "ranges": {"a": flo.sum("at"), "b": flo.avg("price", where=nw.col("at") > 2)},
    "extremes": {
        "a": flo.max("price"),
        "b": flo.min("note", rows=(None, 1)),
        "c": flo.max("at", where=nw.col("at") < 4),
    },
    "mixed": {"a": flo.rank(), "b": flo.lead("price", 2), "c": flo.sum("price", rows=(None, 2))},
}
WHOLE = {
    "shares": {"a": flo.percent_rank(), "b": flo.cume_dist(), "c": flo.ntile(2), "d": flo.dense_rank()},
    "all": {"a": flo.sum("price", range=(None, None)), "b": flo.first("note", rows=(None, 1))},
    "the rest": {"a": flo.min("price", rows=(0, None)), "b": flo.last("at", rows=(-1, None))},
    "positions": {"a": flo.max("price"), "b": flo.nth_value("note", 2)},
}
FUNCTIONS = {**LOCAL, **SUFFIX, **WHOLE}
ORDERS = [None, "at", flo.desc("at"), [flo.asc("note", nulls_last=True), flo.desc("price")], nw.col("price") * 2]
BYS = [None, "group", ["group", "note"], nw.col("at") > 2]

rows = st.builds(
    Row,
    st.sampled_from(["a", "b", None]),
    st.sampled_from([None, 1, 2, 3, 4, 5]),
    st.sampled_from([0.0, -1.5, math.nan, math.inf, 0.1, 0.2]),
    st.sampled_from([None, "x", "ä"]),
)
deltas = st.lists(
    st.dictionaries(rows, st.sampled_from([1, 1, 2, -1, -2]), max_size=8).map(lambda rows: (rows,)), max_size=5
)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("order", range(len(ORDERS)))
def test_it_runs_on_tables(name, order):
    made = operator(FUNCTIONS[name], BYS[order % len(BYS)], ORDERS[order])
    assert [form.name for form in forms(on_tables(made, TYPES)[0])] == ["over_tables"]


@given(deltas, st.sampled_from(list(FUNCTIONS)), st.sampled_from(BYS), st.sampled_from(ORDERS))
@tried(60)
def test_as_on_values(chunks, name, by, order):
    agree(operator(FUNCTIONS[name], by, order), TYPES, chunks, seeds=1)


@given(deltas, st.sampled_from(list(LOCAL | SUFFIX)), st.sampled_from(BYS), st.sampled_from(ORDERS))
@tried(60)
def test_as_on_values_where_only_neighbours_are_read(chunks, name, by, order):
    with pytest.MonkeyPatch.context() as patch:
        reads_little(patch)
        agree(operator(FUNCTIONS[name], by, order), TYPES, chunks, seeds=1)


def reads_little(patch: pytest.MonkeyPatch) -> None:
    """From here on rows around changes are read, however few there are in all, and as few as can be."""
    patch.setattr(over, "MORE", 0)
    patch.setattr(neighbours.Search, "cost", lambda *_: -1)


@given(deltas, st.sampled_from(list(FUNCTIONS)), st.sampled_from(BYS), st.sampled_from(ORDERS))
@tried(24)
def test_partitions_and_rows_that_share_a_number_are_told_apart(chunks, name, by, order):
    with pytest.MonkeyPatch.context() as patch:
        colliding(patch)
        agree(operator(FUNCTIONS[name], by, order), TYPES, chunks, seeds=1)


many = st.lists(st.tuples(st.integers(0, 40), st.sampled_from([1, 1, 1, 2, -1])), min_size=1, max_size=60)


@given(st.lists(many, min_size=1, max_size=5), st.sampled_from(list(FUNCTIONS)), st.sampled_from(["group", None]))
@tried(60)
def test_as_on_values_in_long_partitions(chunks, name, by):
    def row(number: int) -> Row:
        return Row("ab"[number % 2], number // 3, number / 8, "xyz"[number % 3])

    deltas = [(_summed([(row(number), weight) for number, weight in chunk]),) for chunk in chunks]
    with pytest.MonkeyPatch.context() as patch:
        reads_little(patch)
        agree(operator(FUNCTIONS[name], by, "at"), TYPES, deltas, seeds=0)


def _summed(units: list[tuple[Row, int]]) -> dict[Row, int]:
    weights: dict[Row, int] = {}
    for row, weight in units:
        weights[row] = weights.get(row, 0) + weight
    return {row: weight for row, weight in weights.items() if weight}


large = st.dictionaries(
    st.sampled_from([-(2**63), -(2**62), -1, 0, 5, 2**62, 2**63 - 1]), st.sampled_from([1, 2, -1]), max_size=6
)
spans = [(-2, 1), (-1, -1), (1, 2), (0, 3), (None, 2), (None, -1), (-1, 0)]


@given(st.lists(many, min_size=1, max_size=5), st.sampled_from(spans), st.booleans(), st.sampled_from(["at", "price"]))
@tried(60)
def test_as_on_values_where_rows_near_in_value_are_read(chunks, span, down, column):
    def row(number: int) -> Row:
        at = None if number % 7 == 0 else number // 2
        return Row("ab"[number % 2], at, math.nan if number == 11 else number / 8, "xyz"[number % 3])

    functions = {
        "a": flo.sum("price", range=span),
        "b": flo.count(range=span),
        "c": flo.lag("price") if span[0] == -2 else flo.rank(),
    }
    if span[0] is not None:
        functions["d"] = flo.min("note", range=span)
    order = [flo.asc(column), flo.desc(column, nulls_last=bool(span[1]))][down]
    deltas = [(_summed([(row(number), weight) for number, weight in chunk]),) for chunk in chunks]
    with pytest.MonkeyPatch.context() as patch:
        reads_little(patch)
        agree(operator(functions, "group" if down else None, order), TYPES, deltas, seeds=0)


offsets = st.sampled_from([None, -(2**64), -(2**62), -1, 0, 1, 6, 2**63, 2**64])


@given(st.lists(large, max_size=3), st.tuples(offsets, offsets), st.booleans())
@tried(40)
def test_offsets_beyond_64_bits(chunks, bounds, down):
    start, end = bounds
    if start is not None and end is not None and start > end:
        start, end = end, start
    order = (flo.desc if down else flo.asc)("value")
    stream = flo.Flow("over").input("rows", flo.ZSet[int]).over(None, order)
    made = stream.with_columns(n=flo.count(range=(start, end)), most=flo.max("value", range=(start, end)))
    with pytest.MonkeyPatch.context() as patch:
        reads_little(patch)
        agree(made.source.operator, (StreamType(ZSet(int), bounded=False),), [(chunk,) for chunk in chunks], seeds=0)


@given(deltas, st.sampled_from(list(FUNCTIONS)), st.sampled_from(ORDERS), st.booleans())
@tried(30)
def test_for_every_key_as_on_values(chunks, name, order, collide):
    made = PerKey(Node(None, operator(FUNCTIONS[name], None, order)))
    keyed = [({row.at: {row: weight} for row, weight in chunk.items()},) for (chunk,) in chunks]
    with pytest.MonkeyPatch.context() as patch:
        reads_little(patch)
        if collide:
            colliding(patch)
        agree(made, (StreamType(Keyed(int | None, ZSet(Row)), bounded=False),), keyed, seeds=0)


def numbered(count: int) -> dict[Row, int]:
    return {Row("a", place, 1.0, None): 1 for place in range(count)}


@pytest.mark.parametrize(
    ("functions", "emitted"),
    [
        ({"a": flo.lag("at"), "b": flo.lead("at", 2)}, 1 + 2 * 4),
        ({"a": flo.sum("at", rows=(-3, 2))}, 1 + 2 * 6),
        ({"a": flo.sum("at", range=(-3, 2)), "b": flo.lag("at")}, 1 + 2 * 6),
        ({"a": flo.count(range=(0, 0)), "b": flo.lag("price")}, 5),
    ],
)
def test_a_change_is_seen_by_its_neighbours_alone(monkeypatch, functions, emitted):
    """However many rows there are, only those around a change are read, and only those that changed are emitted."""
    read, consolidate = [], over._consolidate
    monkeypatch.setattr(over, "_consolidate", lambda parts, *rest: (read.append(parts), consolidate(parts, *rest))[1])
    flow = flo.Flow("near")
    flow.output("out", flow.input("rows", flo.ZSet[Row]).over("group", "at").with_columns(**functions))
    loop = flow.on(flo.here).loop()
    for part in range(8):
        loop.push(rows={row: 1 for row in numbered(4000) if row.at % 8 == part})
    loop.pull("out")
    read.clear()
    loop.push(rows={Row("a", 1700, 2.0, None): 1})
    assert loop.pull("out").num_rows <= emitted
    assert sum(len(part.rows) for parts in read for part in parts) < 250
    read.clear()
    loop.push(rows={Row("a", place, 1.0, None): -1 for place in range(500, 3500, 1000)})
    assert loop.pull("out").num_rows <= 3 * emitted
    assert sum(len(part.rows) for parts in read for part in parts) < 500


def test_running_functions_read_from_the_first_change_on(monkeypatch):
    read, consolidate = [], over._consolidate
    monkeypatch.setattr(over, "_consolidate", lambda parts, *rest: (read.append(parts), consolidate(parts, *rest))[1])
    flow = flo.Flow("onward")
    functions = {"a": flo.row_number(), "b": flo.rank(), "c": flo.sum("at"), "d": flo.avg("price", rows=(None, 0))}
    functions["e"] = flo.min("at", rows=(None, 0))
    flow.output("out", flow.input("rows", flo.ZSet[Row]).over("group", "at").with_columns(**functions))
    loop = flow.on(flo.here).loop()
    loop.push(rows=numbered(4000))
    loop.pull("out")
    read.clear()
    loop.push(rows={Row("a", 3990, 0.5, None): 1})
    changes = loop.pull("out").to_pylist()
    assert len(changes) == 1 + 2 * 10  # the row before it is its peer, which is behind it
    assert sum(len(part.rows) for parts in read for part in parts) < 50
    (new,) = (row for row in changes if row["price"] == 0.5)
    assert (new["a"], new["b"], int(new["c"])) == (3991, 3991, 3990 * 3991 // 2 + 3990)
    assert new["d"] == 3990.5 / 3991
