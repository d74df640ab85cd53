"""Top-k on tables gives what it gives on values."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import narwhals as nw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.data import canonical_text
from flo.core.stream_type import StreamType
from flo.tables.state import order, ranked
from flo.values.operators.zset_ranking import TopK
from flo.values.weighted import ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding, whole_deltas

pytestmark = [pytest.mark.slow, pytest.mark.every(test=2)]


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas():
    yield from whole_deltas()


class Row(NamedTuple):
    group: str
    score: int
    weight: float
    note: str | None


def group(row: Row) -> str:
    return row.group


def untyped_group(row):
    return row.group, row.score > 0


def score(row: Row) -> int:
    return row.score


def weight(row: Row) -> float:
    return row.weight


def both(row: Row) -> tuple[float, str]:
    return row.weight, row.group


LAYOUT = Layout.of(Row)
BY = [None, group, untyped_group, Expression("group", (LAYOUT,)), Expression(nw.col("score") > 0, (LAYOUT,))]
KEY = [score, weight, both, Expression("score", (LAYOUT,)), Expression(("group", "weight"), (LAYOUT,)), group]
TYPES = (StreamType(ZSet(Row), bounded=True),)

rows = st.builds(
    Row,
    st.sampled_from(["a", "b"]),
    st.sampled_from([-1, 0, 9, 10, 100]),
    st.sampled_from([0.0, -1.5, math.nan, math.inf, 2.0]),
    st.sampled_from([None, "x", "x'", 'x"\\', "ä\n", ""]),
)
deltas = st.lists(
    st.dictionaries(rows, st.sampled_from([1, 1, 2, -1, -2]), max_size=8).map(lambda rows: (rows,)), max_size=4
)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("key", KEY)
def test_it_runs_on_tables(by, key):
    assert [form.name for form in forms(on_tables(TopK(2, key, by), TYPES)[0])] == ["top_k_tables"]


@given(deltas, st.integers(0, 4), st.sampled_from(KEY), st.sampled_from(BY), st.booleans())
@tried(24)
def test_as_on_values(chunks, count, key, by, descending):
    agree(TopK(count, key, by, descending), TYPES, chunks, seeds=1)


@given(
    deltas,
    st.integers(0, 4),
    st.sampled_from([both, Expression(("score", "group"), (LAYOUT,)), lambda row: (row.score, row.weight)]),
    st.sampled_from(BY),
    st.sampled_from([(True, False), (False, True)]),
)
@tried(24)
def test_columns_of_the_key_have_a_direction_each(chunks, count, key, by, descending):
    agree(TopK(count, key, by, descending), TYPES, chunks, seeds=1)


@given(deltas, st.integers(1, 3), st.sampled_from(KEY), st.sampled_from(BY))
@tried(24)
def test_groups_and_rows_that_share_a_number_are_told_apart(chunks, count, key, by):
    with pytest.MonkeyPatch.context() as patch:
        colliding(patch)
        agree(TopK(count, key, by), TYPES, chunks, seeds=1)


@given(
    deltas,
    st.integers(0, 4),
    st.sampled_from([(1, ("score", "group")), (2, ("weight", "group")), (1, ("group", "note", "score"))]),
    st.sampled_from(BY),
    st.booleans(),
    st.booleans(),
)
@tried(40)
def test_rows_that_are_tied(chunks, count, key, by, down, collide):
    ties, columns = key
    order = Expression(columns, (LAYOUT,))
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            colliding(patch)
        agree(TopK(count, order, by, (down,) * len(columns), ties), TYPES, chunks, seeds=1)


def test_many_rows_taken_back_from_the_top():
    all_rows = [Row("a", n, 0.0, None) for n in range(300)] + [Row("b", n, 0.0, None) for n in range(3)]
    back = [(dict.fromkeys(all_rows[:300][start : start + 40], -1),) for start in range(0, 280, 40)]
    agree(TopK(3, score, group, False), TYPES, [(dict.fromkeys(all_rows, 1),), *back], seeds=1)
    agree(TopK(3, score, group, True), TYPES, [(dict.fromkeys(all_rows, 1),), *back[::-1]], seeds=1)


def test_whole_rows_are_compared_without_a_key():
    types = (StreamType(ZSet(tuple[int, float]), bounded=False),)
    chunk = {(1, 2.0): 1, (1, math.nan): 1, (0, 5.0): 3, (2, -1.0): 1}
    for count in range(4):
        agree(TopK(count), types, [(chunk,), ({(0, 5.0): -2, (1, 2.0): -1},)])
        agree(TopK(count, descending=True), types, [(chunk,), ({(2, -1.0): -1, (1, math.nan): -1},)])


@given(st.lists(rows, min_size=2, max_size=6))
@settings(deadline=None)
def test_texts_of_rows_are_in_the_order_of_values(some):
    found = order.texts(LAYOUT, LAYOUT.to_table(some)).to_pylist()
    by_text = sorted(range(len(some)), key=lambda place: (found[place], place))
    assert by_text == sorted(range(len(some)), key=lambda place: (canonical_text(some[place]), place))


def test_only_the_heads_of_groups_are_looked_at(monkeypatch):
    seen = []
    decided = ranked._decide
    monkeypatch.setattr(ranked, "_decide", lambda parts, *rest: (seen.append(parts), decided(parts, *rest))[1])
    all_rows = dict.fromkeys([Row("a", n, 0.0, None) for n in range(2000)], 1)
    back = [({Row("a", n, 0.0, None): -1 for n in range(start, start + 50)},) for start in range(0, 1000, 50)]
    agree(TopK(2, score, group, False), TYPES, [(all_rows,), *back], seeds=0)
    assert max(sum(len(part.groups) for part in parts) for parts in seen) < 400


def grouped(aggregate):
    flow = flo.Flow("groups")
    flow.output("found", flow.input("rows", ZSet[Row], bounded=True).group_by("group").agg(found=aggregate))
    return flow.graph()


@pytest.mark.parametrize("operator", [TopK(2, score, group), grouped(flo.min("score")), grouped(flo.avg("weight"))])
def test_many_groups_in_several_runs(operator):
    rng = random.Random(7)
    there = []
    chunks = []
    for size in (900, 300, 90, 30, 200, 5, 1):
        chunk = {}
        for _ in range(size):
            row = Row(f"g{rng.randrange(200)}", rng.randrange(1000), rng.uniform(-1, 1), None)
            chunk[row] = 1
        chunk |= dict.fromkeys(rng.sample(there, len(there) // 5), -1)
        there += chunk
        chunks.append((chunk,))
    agree(operator, TYPES, chunks, seeds=1)


def mixed_group(row):
    """Says nothing of its results: 1, 1.0 and True are one group, as in Python."""
    return {"a": 1, "b": 1.0}.get(row.group, True)


def test_equal_keys_of_different_types_are_one_group():
    given = {Row("a", 1, 0.0, None): 1, Row("b", 3, 0.0, None): 1, Row("c", 2, 0.0, None): 1}
    (top,) = agree(TopK(1, score, mixed_group, True), TYPES, [(given,)])
    assert [row.score for row in top.elements_list()] == [3]
