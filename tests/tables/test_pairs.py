"""Zip, one sequence after the other, and the merge of sorted ones: on tables as on values."""

from __future__ import annotations

import math
from datetime import date
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.stream_type import StreamType
from flo.tables.operators import pairs as pair_operators
from flo.values.operators.pairs import MergeSorted, UnionSequences, Zip
from flo.values.sequence import Sequence
from tests.quick import tried
from tests.tables.failing import fails_alike
from tests.tables.harness import agree, forms, on_tables

pytestmark = pytest.mark.every(test=2)


class Row(NamedTuple):
    number: int
    text: str | None


def number(row: Row) -> int:
    return row.number


def text(row: Row) -> str | None:
    return row.text


def inverse(row: Row) -> float:
    return -1 / row.number


rows = st.builds(Row, st.integers(0, 3), st.sampled_from([None, "x"]))
VALUES = {int: st.integers(0, 9), str | None: st.sampled_from([None, "a"]), Row: rows}
BY_NUMBER, BY_BOTH = (Expression(on, (Layout.of(Row),)) for on in ("number", ("number", "number")))
bounded = pytest.mark.parametrize("bounded", [(True, True), (True, False), (False, False)])


def arrivals(left, right):
    return st.lists(st.tuples(*(st.lists(each, max_size=5) | st.none() for each in (left, right))), max_size=5)


def sequences(*kinds, bounded=(True, True)):
    return tuple(StreamType(Sequence(kind), each) for kind, each in zip(kinds, bounded, strict=True))


@bounded
@pytest.mark.parametrize(("left", "right"), [(int, Row), (Row, str | None), (Row, Row)], ids=str)
@given(data=st.data())
@tried(15)
def test_zip(bounded, left, right, data):
    types = sequences(left, right, bounded=bounded)
    assert [form.name for form in forms(on_tables(Zip(), types)[0])] == ["zip_tables"]
    agree(Zip(), types, data.draw(arrivals(VALUES[left], VALUES[right])))


@pytest.mark.parametrize("bounded", [(True, True), (True, False)])
@pytest.mark.parametrize(("left", "right"), [(Row, Row), (str, str | None), (str | None, str)], ids=str)
@given(data=st.data())
@tried(15)
def test_one_after_the_other(bounded, left, right, data):
    types = sequences(left, right, bounded=bounded)
    assert [form.name for form in forms(on_tables(UnionSequences(), types)[0])] == ["one_then_other_tables"]
    draw = {**VALUES, str: st.sampled_from("ab")}
    agree(UnionSequences(), types, data.draw(arrivals(draw[left], draw[right])))


@pytest.mark.parametrize(("left", "right"), [(Row, Row | None), (int, int | str)], ids=str)
def test_what_has_not_the_same_columns_stays_values(left, right):
    assert not forms(on_tables(UnionSequences(), sequences(left, right))[0])


def in_chunks(elements, key):
    """Two sorted sequences, each in chunks."""

    def cut(drawn):
        left, right, places = drawn
        left, right = sorted(left, key=key), sorted(right, key=key)
        one, other = 0, 0
        chunks = []
        for more, others in places:
            chunks.append((left[one : one + more], right[other : other + others]))
            one, other = one + more, other + others
        return [*chunks, (left[one:], right[other:])]

    some, counts = st.lists(elements, max_size=12), st.integers(0, 4)
    return st.tuples(some, some, st.lists(st.tuples(counts, counts), max_size=4)).map(cut)


FLAT = {
    int: st.integers(0, 9),
    float: st.sampled_from([-math.inf, -0.5, 0.0, -0.0, 1e300]),
    str: st.text("aä\uffff\U0001f600", max_size=2),
    date: st.dates(date(1969, 1, 1), date(1971, 1, 1)),
    tuple[str, int]: st.tuples(st.sampled_from("ab"), st.integers(0, 2)),
}


@pytest.mark.parametrize("kind", FLAT, ids=str)
@given(data=st.data())
@tried(20)
def test_merge(kind, data):
    types = sequences(kind, kind)
    assert [form.name for form in forms(on_tables(MergeSorted(), types)[0])] == ["merge_tables"]
    agree(MergeSorted(), types, data.draw(in_chunks(FLAT[kind], None)))


@pytest.mark.every(test=3)
@pytest.mark.parametrize("key", [number, BY_NUMBER, BY_BOTH])
@pytest.mark.parametrize("at_once", [1, 2, 1024])
@given(data=st.data())
@tried(15)
def test_merge_by_a_key(key, at_once, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_operators, "AT_ONCE", at_once)
        agree(MergeSorted(key), sequences(Row, Row), data.draw(in_chunks(rows, number)))


@given(arrivals(st.integers(0, 5), st.integers(0, 5)))
@tried(20)
def test_merge_of_what_may_not_be_sorted(chunks):
    fails_alike(MergeSorted(), sequences(int, int), [tuple(each or [] for each in chunk) for chunk in chunks])


@given(arrivals(rows, rows))
@tried(20)
def test_merge_by_a_key_that_may_go_wrong(chunks):
    filled = [tuple(each or [] for each in chunk) for chunk in chunks]
    for key in (inverse, text):
        assert forms(on_tables(MergeSorted(key), sequences(Row, Row))[0])
        fails_alike(MergeSorted(key), sequences(Row, Row), filled)


def place(row: Row) -> float:
    return {0: math.nan, 1: -1.0, 2: 0.5, 3: math.inf}[row.number]


@given(arrivals(rows, rows))
@tried(20)
def test_merge_by_keys_that_are_no_numbers(chunks):
    fails_alike(MergeSorted(place), sequences(Row, Row), [tuple(each or [] for each in chunk) for chunk in chunks])


def test_what_waits_is_not_looked_at(monkeypatch):
    looked_at = []
    results = pair_operators.results

    def counted(key, of, table):
        looked_at.append(table.num_rows)
        return results(key, of, table)

    monkeypatch.setattr(pair_operators, "results", counted)
    flow = flo.Flow("merged")
    left, right = (flow.input(name, flo.Sequence[int], bounded=True) for name in ("left", "right"))
    flow.output("merged", left.merge(right))
    loop = flow.on(flo.here).loop()
    loop.push(left=pa.table({"value": range(100_000)}))
    for number in range(10):
        loop.push(right=pa.table({"value": [number]}))
    assert sum(looked_at) < 30 * pair_operators.AT_ONCE
    loop.end("left")
    loop.end("right")
    loop.run()
    assert loop.result()["merged"]["value"].to_pylist() == sorted([*range(100_000), *range(10)])
