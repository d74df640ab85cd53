"""Merging: each delta pays for a part, what a trace holds does not change by it, and runs do not pile up."""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.layout import Layout
from flo.core.checkpoint import decode, encode
from flo.core.term import Lifting, Lowering
from flo.tables.io.files import WEIGHTS
from flo.tables.operators.ordering import Arranged
from flo.tables.plan import plan
from flo.tables.state import merging, run
from flo.tables.state.keys import keys_of
from flo.tables.state.merging import group_runs
from flo.tables.state.order import Order
from flo.tables.state.panes import Panes
from flo.tables.state.ranked import Heads, Ranked
from flo.tables.state.run import run_of
from flo.tables.state.totals import Totals, run_of_sums
from flo.tables.state.trace import Latest, Trace
from flo.tables.values import WEIGHT
from tests.quick import tried
from tests.tables.patches import colliding

KEY = ("key",)
SCHEMA = pa.schema([("key", pa.int64()), ("value", pa.int64()), pa.field(WEIGHT, pa.int64(), nullable=False)])


class Named(NamedTuple):
    name: str | None
    number: int


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(merging, "SMALLEST_PART", 1)


def delta_of(keys, values, weights):
    return run_of(pa.table([pa.array(each, pa.int64()) for each in (keys, values, weights)], schema=SCHEMA), KEY)


def of_sums(keys, values, weights):
    run = delta_of(keys, values, weights)
    whole = Latest(KEY).join([run])
    digits = {f"0:{0 if number % 2 else 2}": whole.table["value"].to_numpy() for number in (whole.rows,)}
    sums = {WEIGHT: whole.table[WEIGHT].to_numpy(), **digits}
    return run_of_sums(whole.table.select(KEY), whole.keys, sums)


def stored(trace):
    """The trace as it comes from a checkpoint."""
    return Lifting({})(decode(encode(Lowering()(trace))))


deltas = st.lists(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.sampled_from([1, 1, -1])), min_size=1, max_size=8),
    min_size=1,
    max_size=25,
)


@pytest.mark.parametrize("kind", [Trace, Latest, Totals, Heads])
@given(deltas, st.booleans(), st.booleans())
@tried(8)
def test_parts_hold_what_a_merge_at_once_holds(kind, deltas, collide, restored):
    make = of_sums if kind is Totals else delta_of
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            colliding(patch)
        trace, at_once = kind(KEY), kind(KEY)
        for delta in deltas:
            of_each = {key: (key, value, max(0, weight) if kind is Heads else weight) for key, value, weight in delta}
            run = make(*zip(*of_each.values(), strict=True))
            trace = trace.extend(run)
            with pytest.MonkeyPatch.context() as whole:
                whole.setattr(merging, "SMALLEST_PART", 1 << 40)
                at_once = at_once.extend(run)
            trace = stored(trace) if restored else trace
            assert trace == at_once
        assert len(at_once.runs) <= len(trace.runs)


def test_a_delta_pays_in_proportion_to_its_rows():
    trace, known, written, runs = Trace(KEY), set(), [], []
    rng = np.random.default_rng(1)
    for _ in range(200):
        trace = trace.extend(delta_of(rng.integers(0, 1 << 40, 50), np.zeros(50, int), np.ones(50, int)))
        files = {id(file): file for run in trace.runs for file in run.files}
        files |= {id(part): part for merge in trace.merges for part in merge.parts}
        kept = {name: file.rows for file in files.values() if (name := file.name)}
        written.append(sum(rows for name, rows in kept.items() if name not in known))
        known |= kept.keys()
        runs.append(len(trace.runs))
    assert trace.rows == 10_000
    assert max(written) <= 50 * (2 + log2(200))
    assert max(runs) <= 2 * log2(200)
    assert any(len(run.files) > 1 for run in trace.runs)


def test_the_rows_of_one_group_are_merged_in_parts():
    """Rows of one key that have an order: a merge is cut between them."""
    flow = flo.Flow("top")
    flow.output("top", flow.input("rows", flo.ZSet[Named]).top(3, key="name"))
    rng, loop, known, written, every = np.random.default_rng(1), flow.on(flo.here).loop(), set(), [], []
    for number in range(60):
        rows = [Named(None if value % 50 == 0 else str(value), number) for value in rng.integers(0, 1000, 20).tolist()]
        every += rows
        loop.push(rows=rows)
        loop.pull("top")
        (trace,) = (node.node.operator.rows for node in plan(loop._loop.nodes) if hasattr(node.node.operator, "rows"))
        files = [file for run in trace.runs for file in run.files]
        kept = {file.name: file.rows for file in (*files, *(part for merge in trace.merges for part in merge.parts))}
        written.append(sum(rows for name, rows in kept.items() if name not in known))
        known |= kept.keys()
    assert max(written) <= 20 * (2 + log2(60))
    assert trace == replace(trace, runs=(trace.join([*trace.runs]),), merges=())
    assert trace.rows == len(set(every))
    first = sorted(set(every), key=lambda row: (row.name is not None, row.name), reverse=True)[:-4]
    loop.push(rows={row: -every.count(row) for row in first})
    assert {row["name"] for row in loop.pull("top").to_pylist() if row[WEIGHTS] > 0} == {None}


def test_a_merge_of_runs_that_are_gone_is_dropped():
    trace = Trace(KEY)
    for number in range(40):
        trace = trace.extend(delta_of(np.arange(8) + 8 * number, np.zeros(8, int), np.ones(8, int)))
    assert trace.merges
    whole = trace.consolidate().extend(delta_of([999], [0], [1]))
    assert not whole.merges
    assert whole.rows == 321
    for merge in trace.merges:
        for kept in (merge.runs[:-1], merge.runs[1:]):
            assert [each.runs for each in group_runs(kept, trace.merges)] == [(run,) for run in kept]


@pytest.mark.thorough
def test_a_delta_looks_at_few_files(monkeypatch):
    """Where all rows have one key number, the files of all runs overlap."""
    monkeypatch.setattr(merging, "SMALLEST_PART", 16)
    looked, files_from = [], merging._files_from

    def counting(run, start):
        for each in files_from(run, start):
            looked[-1] += 1
            yield each

    monkeypatch.setattr(merging, "_files_from", counting)
    panes, rng = Panes(), np.random.default_rng(1)
    for number in range(1000):
        table = pa.table({"key": np.zeros(8, int)})
        looked.append(0)
        times = number + rng.integers(0, 100, 8)
        panes = panes.add(table, np.arange(8), times, 8 * number, KEY, keys_of([table["key"]]), none_gone)
    assert sum(len(run.files) for run in panes.runs) > 200
    assert max(looked) < 100


def none_gone(keys):
    return np.zeros(keys.rows, np.int64), np.zeros(keys.rows, bool)


@pytest.mark.parametrize("large", [1, 1 << 40])
def test_files_take_no_memory_beside_their_run(large, monkeypatch):
    monkeypatch.setattr(run, "LARGE", large)
    trace, rng = Trace(KEY), np.random.default_rng(1)
    for _ in range(40):
        trace = trace.extend(delta_of(rng.integers(0, 1 << 40, 50), np.zeros(50, int), np.ones(50, int)))
    several = [(whole, file) for whole in trace.runs if len(whole.files) > 1 for file in whole.files]
    assert several
    for whole, file in several:
        assert type(file.keys) is type(whole.keys)
        if large > 1:
            assert np.shares_memory(file.keys.numbers, whole.keys.numbers)
        assert np.array_equal(file.keys.numbers, keys_of([file.table["key"]]).numbers)


def test_two_traces_of_the_same_rows_share_what_is_merged():
    one, other = Trace(KEY), Trace(KEY)
    for number in range(40):
        delta = delta_of(np.arange(8) + 8 * number, np.zeros(8, int), np.ones(8, int))
        one, other = one.extend(delta), other.extend(delta)
        assert all(map(lambda mine, theirs: mine is theirs, one.runs[:-1], other.runs[:-1]))


@pytest.mark.always
def test_traces_of_the_same_rows_in_other_orders_share_nothing():
    layout, rng = Layout.of(tuple[int, int]), np.random.default_rng(1)
    orders = [Order(("value",), down, layout, by_text=False, decisive=True) for down in (False, True)]
    kinds = [lambda order: Ranked(KEY, order=order), lambda order: Arranged(KEY, order=order)]
    traces = [make(order) for make in kinds for order in orders]
    for _ in range(60):
        delta = delta_of(rng.permutation(16), rng.integers(0, 1000, 16), np.ones(16, int))
        traces = [trace.extend(delta) for trace in traces]
        for trace, order in zip(traces, 2 * orders, strict=True):
            for each in trace.runs:
                groups = np.unique(each.keys.numbers, return_inverse=True)[1]
                assert np.array_equal(order.sort(each.table, groups, in_parts=True)[0], np.arange(each.rows))


def test_a_checkpoint_has_runs_in_parts(tmp_path):
    flow = flo.Flow("distinct")
    flow.output("distinct", flow.input("rows", flo.ZSet[tuple[int, int]]).distinct())
    loop, runs = flow.on(flo.here).loop(), []
    for number in range(30):
        loop.push(rows=[(number * 50 + place, place) for place in range(50)])
        assert loop.pull("distinct").num_rows == 50
        runs.append(loop.checkpoint(tmp_path).runs)
        if number % 7 == 6:
            loop = flow.on(flo.here).loop()
            loop.restore(tmp_path)
    assert max(runs) > 6
    loop.push(rows=[(number, number % 50) for number in range(1501)])
    assert loop.pull("distinct").num_rows == 1


@pytest.mark.parametrize("seed", [3, 4])
def test_a_file_has_the_content_that_its_name_says(seed, tmp_path):
    """Parts of sums have only the columns that they need. The name of a part is known when its run is stored again."""
    flow, rng = flo.Flow("sums"), np.random.default_rng(seed)
    flow.output("sums", flow.input("rows", flo.ZSet[Named]).group_by("name").agg(total=flo.sum("number")))
    loop = flow.on(flo.here).loop()
    for number in range(60):
        names = rng.integers(0, 4000, 20).tolist()
        loop.push(rows=[Named(str(name) if name else None, 1 if number % 3 else 1 << 61) for name in names])
        loop.pull("sums")
        loop.checkpoint(tmp_path / "one")
        if number % 7 == 6:
            loop.checkpoint(tmp_path / "other")
            flow.on(flo.here).loop().restore(tmp_path / "other")
