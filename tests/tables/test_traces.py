"""Traces: what they hold does not depend on how it came, and the cost of a delta follows the delta."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flo.core.checkpoint import decode, encode
from flo.core.term import Lifting, Lowering
from flo.tables.state import keys
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.matching import match_keys
from flo.tables.state.ranked import Heads, Leading
from flo.tables.state.run import run_of
from flo.tables.state.totals import Totals
from flo.tables.state.trace import Trace
from flo.tables.values import WEIGHT
from tests.quick import tried
from tests.tables.patches import colliding

pytestmark = pytest.mark.slow

SCHEMA = pa.schema([("key", pa.string()), ("value", pa.float64()), pa.field(WEIGHT, pa.int64(), nullable=False)])


def table_of(rows):
    keys, values, weights = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        [pa.array(keys, pa.string()), pa.array(values, pa.float64()), pa.array(weights, pa.int64())], schema=SCHEMA
    )


def trace_of(chunks, columns=("key",)):
    trace = Trace(columns)
    for chunk in chunks:
        trace = trace.extend(run_of(table_of(chunk), columns))
    return trace


def sums(rows):
    found = {}
    for key, value, weight in rows:
        place = (key, "nan" if value != value else value)
        found[place] = found.get(place, 0) + weight
    return {place: weight for place, weight in found.items() if weight}


def content(trace):
    table = trace.table()
    return sums(zip(*table.to_pydict().values(), strict=True)) if table is not None else {}


rows = st.tuples(
    st.sampled_from(["a", "b", "", None]),
    st.sampled_from([0.0, -0.0, 1.0, float("nan"), None]),
    st.sampled_from([1, 1, -1, 2, 0]),
)
chunks = st.lists(st.lists(rows, max_size=6), max_size=6)


@given(chunks, st.booleans(), st.sampled_from([("key",), ("key", "value")]))
@tried(24)
def test_weights_are_added_and_zeros_disappear(chunks, collide, columns):
    with pytest.MonkeyPatch.context() as patch:
        if collide:  # every row has one of two numbers
            colliding(patch)
        trace = trace_of(chunks, columns)
        expected = sums(row for chunk in chunks for row in chunk)
        assert content(trace) == expected
        assert trace.consolidate().rows == len(expected)
        assert trace == trace_of([[row for chunk in chunks for row in chunk]], columns)
        assert trace == trace_of(chunks[::-1], columns)
        if expected:
            assert trace != trace_of([*chunks, [("c", 1.0, 1)]], columns)


def test_two_rows_with_one_number_are_never_one(monkeypatch):
    monkeypatch.setattr(keys, "_of_bytes", lambda array: np.zeros(len(array), np.uint64))
    monkeypatch.setattr(keys, "_of_floats", lambda values: np.zeros(len(values), np.uint64))
    some = [("a", 1.0, 1), ("b", 1.0, -1), ("a", 2.0, 1), ("a", 1.0, -1), ("b", 1.0, 1), ("b", 3.0, 5)]
    assert content(trace_of([some[:3], some[3:]])) == {("a", 2.0): 1, ("b", 3.0): 5}
    assert trace_of([some[:3], some[3:]]).rows == 2


def test_where_the_key_is_the_row_it_is_kept_once():
    trace = trace_of([[("a", 1.0, 1)] * 50] * 20, ("key", "value"))
    assert trace.consolidate().rows == 1
    assert content(trace) == {("a", 1.0): 1000}


@given(st.lists(st.integers(1, 40), max_size=30))
@settings(deadline=None)
def test_levels(sizes):
    trace, at = Trace(("key",)), 0
    for size in sizes:
        trace = trace.extend(run_of(table_of([(str(at + n), 0.0, 1) for n in range(size)]), ("key",)))
        at += size
        assert all(larger.rows > 2 * smaller.rows for larger, smaller in pairwise(trace))
    assert trace.rows == sum(sizes)


def test_versions_share_runs():
    old = trace_of([[(str(n), 0.0, 1) for n in range(100)]])
    new = old.extend(run_of(table_of([("x", 0.0, 1)]), ("key",)))
    assert new.runs[0] is old.runs[0]
    assert (old.rows, new.rows) == (100, 101)


def test_an_empty_delta_changes_nothing():
    trace = trace_of([[("a", 1.0, 1)]])
    assert trace.extend(run_of(table_of([]), ("key",))) is trace


def test_memory_is_at_most_twice_that_of_the_rows():
    count = 100_000
    numbers = np.random.default_rng(0).permutation(count)
    table = pa.table({"key": numbers, "value": numbers * 0.5, WEIGHT: np.ones(count, np.int64)})
    trace = Trace(("key",))
    for start in range(0, count, 10_000):
        trace = trace.extend(run_of(table.slice(start, 10_000).combine_chunks(), ("key",)))
    trace = trace.consolidate()
    match_keys(run_of(table.slice(0, 10).combine_chunks(), ("key",)), trace.runs[0])  # what a search keeps counts too
    assert table.nbytes < trace.bytes <= 2 * table.nbytes


def test_a_probe_looks_at_what_is_asked_for(monkeypatch):
    from flo.tables.state import run as runs

    trace = trace_of([[(str(n), 0.0, 1) for n in range(5000)]])
    asked = run_of(table_of([("7", 0.0, 1), ("none", 0.0, 1)]), ("key",))
    copied = []
    take_rows = runs.take_rows
    monkeypatch.setattr(
        runs, "take_rows", lambda table, places: (copied.append(len(places)), take_rows(table, places))[1]
    )
    (run,) = trace
    ours, theirs = match_keys(asked, run)
    assert (
        run.table["key"].take(pa.array(theirs)).to_pylist()
        == ["7"]
        == asked.table["key"].take(pa.array(ours)).to_pylist()
    )
    assert sum(copied) <= 4


@given(chunks)
@tried(20)
def test_it_lowers_to_its_runs_and_back(chunks):
    trace = trace_of(chunks)
    again = Lifting()(decode(encode(Lowering()(trace))))
    assert again == trace
    assert [run.name for run in again] == [run.name for run in trace]
    assert [run.keys.exact for run in again] == [run.keys.exact for run in trace]


def test_names_follow_content():
    one, same, other = (run_of(table_of([("a", value, 1)]), ("key",)) for value in (1.0, 1.0, 2.0))
    assert one.name == same.name != other.name
    sliced = run_of(table_of([("x", 0.0, 1), ("a", 1.0, 1)]).slice(1), ("key",))
    assert sliced.name == one.name


def totals_run(sums, columns=("=key",)):
    names = [*columns, WEIGHT, *sorted({name for _, more in sums.values() for name in more})]
    rows = [(key, weight, *(more.get(name, 0) for name in names[2:])) for key, (weight, more) in sums.items()]
    return run_of(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), columns)


@pytest.mark.parametrize("collide", [False, True])
def test_totals_are_added_column_by_column(monkeypatch, collide):
    if collide:
        colliding(monkeypatch)
    trace = Totals(("=key",))
    for delta in (
        {"a": (1, {"0:0": 7}), "b": (1, {"0:0": 2**32 - 1}), "c": (2, {"0:-3": 1})},
        {"a": (-1, {"0:0": -7}), "b": (1, {"0:0": 1})},
        {"c": (-2, {"0:nan": 1})},
    ):
        trace = trace.extend(totals_run(delta))
    rows = {row.pop("=key"): {n: v for n, v in row.items() if v} for row in trace.table().to_pylist()}
    assert rows == {"b": {WEIGHT: 2, "0:1": 1}, "c": {"0:-3": 1, "0:nan": 1}}


def test_added_up_keeps_no_order_of_its_own():
    some = table_of([("a", 1.0, 1), ("b", 1.0, 1), ("a", 1.0, -1)])
    assert consolidate_table(some).to_pydict() == {"key": ["b"], "value": [1.0], WEIGHT: [1]}


def test_heads_that_are_gone_hide_older_ones_until_the_runs_are_merged():
    groups = run_of(pa.table({"key": ["a", "b", "c"]}), ("key",))
    names = groups.table["key"].to_pylist()

    def leading(values):
        rows = [(name, float(values[name]), 1) for name in names if name in values]
        places = np.array([place for place, name in enumerate(names) if name in values], np.int64)
        return Leading(table_of(rows), places, np.ones(len(rows), np.int64)) if rows else None

    many = run_of(table_of([(f"other {n}", 0.0, 1) for n in range(20)]), ("key",))
    heads = Heads(("key",)).extend(many).update(None, leading({"a": 1, "b": 2}), groups)
    after = heads.update(leading({"a": 1, "b": 2}), leading({"b": 2, "c": 3}), groups)
    assert len(after.runs) > 1
    found = after.of(groups)
    values = dict(zip([names[place] for place in found.groups], found.table["value"].to_pylist(), strict=True))
    assert values == {"b": 2.0, "c": 3.0}
    assert (heads.rows, after.consolidate().rows) == (22, 22), "b, c and the others: a is gone"
    assert heads.update(leading({"a": 1}), leading({"a": 1}), groups) is heads
    assert after.update(leading({"b": 2, "c": 3}), None, groups).of(groups) is None
