"""Runs: sorted by key, searched without being scanned, merged without losing a row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.columns.indices import expand_ranges, sort_numbers, sort_rows
from flo.tables.state import run as module
from flo.tables.state.matching import match_keys
from flo.tables.state.run import merge_runs, run_of
from flo.tables.state.spilling import spill
from flo.tables.values import WEIGHT, WEIGHT_FIELD
from tests.quick import tried

keys = st.lists(st.one_of(st.integers(0, 6), st.integers(0, 2**62)), max_size=30)
texts = st.lists(st.sampled_from(["", "a", "b", None, "a long text of many bytes"]), max_size=12)


def run(values, kind=None):
    table = pa.table(
        {"k": pa.array(values, kind), "at": np.arange(len(values)), WEIGHT: np.ones(len(values), np.int64)}
    )
    return run_of(table, ("k",))


@given(keys, keys)
def test_pairs_of_numbers(left, right):
    check(left, right, pa.int64())


@given(texts, texts)
def test_pairs_of_texts(left, right):
    check(left, right, pa.string())


def check(left, right, kind):
    one, other = run(left, kind), run(right, kind)
    ours, theirs = match_keys(one, other)
    found = zip(one.table["at"].to_numpy()[ours].tolist(), other.table["at"].to_numpy()[theirs].tolist(), strict=True)
    assert Counter(found) == Counter((a, b) for a, x in enumerate(left) for b, y in enumerate(right) if x == y), (
        "every one with every one"
    )


@given(st.lists(keys, min_size=1, max_size=4))
def test_a_merge_has_all_rows_in_their_order(parts):
    whole = merge_runs([run(part, pa.int64()) for part in parts])
    numbers = whole.keys.numbers
    assert (numbers[1:] >= numbers[:-1]).all()
    assert Counter(whole.table["k"].to_pylist()) == Counter(key for part in parts for key in part)
    again = run(whole.table["k"].to_pylist(), pa.int64())
    assert (again.keys.numbers == numbers).all()


numbers = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(2**64 - 3, 2**64 - 1)), max_size=40)


@given(numbers, numbers, st.sampled_from([1, 2, 20]))
@tried(24)
def test_find(there, asked, times):
    from flo.tables.state.keys import Keys
    from flo.tables.state.run import Run

    there = there * times
    numbers = np.sort(np.array(there, np.uint64))
    one = Run(("k",), Keys(numbers, True), pa.table({"k": numbers}))
    wanted = np.unique(np.array(asked + there[::2], np.uint64))
    found, starts, counts = one.find(wanted)  # by bisection of all rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BISECTED", 0)
        patch.setattr(module, "SHORT", 0)
        by_index = one.find(wanted)  # or by bisection of the keys, if these are few
    assert [each.tolist() for each in by_index] == [each.tolist() for each in (found, starts, counts)]
    assert wanted[found].tolist() == sorted(set(wanted.tolist()) & set(there))
    rows = [numbers[start : start + count].tolist() for start, count in zip(starts, counts, strict=True)]
    assert rows == [[number] * there.count(number) for number in wanted[found].tolist()]
    for place, number in enumerate(wanted):  # one by one
        alone = one.find(np.array([number]))
        assert alone.present.tolist() == ([0] if place in found else [])
        assert alone.starts.tolist() == starts[found == place].tolist()
        assert alone.counts.tolist() == counts[found == place].tolist()


@pytest.mark.parametrize("mapped", [False, True])
def test_the_index_finds_what_bisection_does(mapped):
    """With numbers that are far apart, that share their highest bits, and that many rows have."""
    from flo.tables.state.keys import Keys
    from flo.tables.state.searching import Index

    most = 2**64 - 1
    for seed in range(60):
        rng = np.random.default_rng(seed)
        far = rng.integers(0, most, rng.integers(1, 300), np.uint64, endpoint=True)
        near = np.uint64(most) - rng.integers(0, 50, rng.integers(0, 300)).astype(np.uint64)
        often = np.full(rng.integers(0, 600), rng.integers(0, most, dtype=np.uint64))
        few = rng.integers(0, 8, rng.integers(0, 60)).astype(np.uint64) << np.uint64(rng.integers(0, 62))
        numbers = np.sort(
            np.concatenate([[far, near, often, few][place] for place in rng.permutation(4)[: seed % 4 + 1]])
        )
        if not len(numbers):
            continue
        asked = np.concatenate([rng.choice(numbers, 100), rng.choice(numbers, 9) + np.uint64(1)])
        asked = np.concatenate([asked, np.array([0, most], np.uint64)])
        asked = np.sort(asked) if seed % 2 else np.unique(asked)
        found = Index.of(numbers, int(rng.integers(1, 9)), mapped).find(Keys(numbers, True), asked)
        starts, ends = (np.searchsorted(numbers, asked, side) for side in ("left", "right"))
        there = np.flatnonzero(starts < ends)
        wanted = there, starts[there], (ends - starts)[there]
        assert [each.tolist() for each in found] == [each.tolist() for each in wanted]


def test_find_at_the_ends_of_the_range():
    from flo.tables.state.keys import Keys
    from flo.tables.state.run import Run

    numbers = np.array([0, 2**64 - 1], np.uint64)
    one = Run(("k",), Keys(numbers, True), pa.table({"k": numbers}))
    found, starts, counts = one.find(np.array([0, 1, 2**64 - 2, 2**64 - 1], np.uint64))
    assert (found.tolist(), starts.tolist(), counts.tolist()) == ([0, 3], [0, 1], [1, 1])
    low = Run(("k",), Keys(numbers[:1], True), pa.table({"k": numbers[:1]}))
    assert low.find(np.array([5, 2**64 - 1], np.uint64))[0].tolist() == []


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2)), min_size=1, max_size=30), st.data())
def test_a_large_run_keeps_no_numbers_that_its_columns_say(rows, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGE", 1)
        table = pa.table({"k": [k for k, _ in rows], "v": [float(v) for _, v in rows]})
        columns = data.draw(st.sampled_from([("k",), ("k", "v")]))
        one = module.run_of(table, columns)
        rested = one.prepare()
        assert rested.keys.bytes == 0 < one.keys.bytes
        assert rested.bytes < one.bytes
        assert (rested.keys.numbers == one.keys.numbers).all()
        asked = np.unique(one.keys.numbers[:: data.draw(st.integers(1, 3))])
        assert [each.tolist() for each in rested.find(asked)] == [each.tolist() for each in one.find(asked)]


@given(st.lists(st.sampled_from([0, 1, 2, 3, 1000, 2**40, 2**40 + 1, 2**64 - 2, 2**64 - 1]), max_size=60))
def test_equal_numbers_stay_in_their_order(numbers):
    """Also where they differ in their lowest bits alone."""
    array = np.array(numbers, np.uint64)
    order, ordered = sort_numbers(array)
    assert order.tolist() == np.argsort(array, kind="stable").tolist()
    assert ordered.tolist() == sorted(array.tolist())


@pytest.mark.parametrize("weight", [1, 2])
@pytest.mark.parametrize("key", ["#", "k"])
@pytest.mark.parametrize("kind", ["int64", "string"])
def test_a_column_may_have_the_name_of_the_key_numbers(key, kind, weight, tmp_path):
    keys = pa.array([3, 1, 2]).cast(kind)
    fields = [pa.field("k", kind), WEIGHT_FIELD, pa.field("#", kind)]
    table = pa.table([keys, pa.array([1, weight, 1]), keys], pa.schema(fields))
    one = run_of(table, (key,))
    sink = pa.BufferOutputStream()
    module.write_ipc(one, sink)
    again = module.read_ipc((key,), pa.BufferReader(sink.getvalue()))
    assert again.table.equals(one.table)
    assert (again.keys.numbers == one.keys.numbers).all()
    spill(again, tmp_path)
    assert again.table.equals(one.table)
    assert (again.keys.numbers == one.keys.numbers).all()


EDGES = [sign * (1 << bits) + more for bits in (0, 7, 8, 15, 16, 31, 32, 62) for sign in (-1, 1) for more in (-1, 0, 1)]


@given(st.lists(st.sampled_from([*EDGES, -(1 << 63), (1 << 63) - 1]), min_size=1, max_size=4), st.booleans())
def test_a_file_has_integers_in_few_bytes_and_gives_them_back(values, is_null):
    column = pa.array(np.resize(np.array(values, np.int64), module.FEWEST_NARROWED))
    if is_null:
        column = pa.concat_arrays([column, pa.nulls(1, pa.int64())])
    field = pa.field("n", pa.int64(), nullable=is_null, metadata={"of": "user"})
    table = pa.table([column, np.arange(len(column))], pa.schema([field, ("k", pa.int64())]))
    before = run_of(table, ("k",))
    after, plain = read_back(before), read_back(before, fewest=1 << 62)
    assert after.table.schema.equals(before.table.schema, check_metadata=True)
    assert after.table.equals(before.table)
    assert after.table.equals(plain.table)
    assert np.array_equal(after.keys.numbers, before.keys.numbers)


def read_back(run, fewest=module.FEWEST_NARROWED):
    """A run from its file. Files of earlier versions have all integers in 8 bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEWEST_NARROWED", fewest)
        sink = pa.BufferOutputStream()
        module.write_ipc(run, sink)
    data = sink.getvalue()
    stored = pa.ipc.open_file(data).read_all().schema
    assert (module.NARROWED in stored.metadata) == (fewest <= run.rows)
    assert (module.EXACT in stored.metadata) == (fewest > run.rows)  # others do not read such integers as they are
    return module.read_ipc(run.columns, pa.BufferReader(data))


@pytest.mark.parametrize("fewest", [module.FEWEST_NARROWED, 1 << 62], ids=["now", "earlier"])
def test_a_run_from_a_file_writes_that_file(fewest, tmp_path):
    """It keeps the name of the file: so it does in another folder, as a copy and when it is spilled."""
    first = run_of(pa.table({"k": np.arange(1 << 14), "v": np.arange(1 << 14)}), ("k",))
    again = read_back(first, fewest)
    data = file_of(again)
    assert data == file_of(again.copy())
    assert data == file_of(module.join_parts([again, run([1 << 62])]).files[0])
    spill(again, tmp_path)
    assert data == file_of(again)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEWEST_NARROWED", fewest)
        assert data == file_of(first)


def file_of(run):
    sink = pa.BufferOutputStream()
    run.write_file(sink)
    return sink.getvalue()


KINDS = [pa.int64(), pa.timestamp("us"), pa.decimal128(20), pa.float64(), pa.string()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("names", [["k"], ["k", "v"]])
@given(
    parts=st.lists(st.lists(st.integers(-(10**12), 10**12), max_size=4), min_size=1, max_size=3), ascend=st.booleans()
)
def test_rows_that_are_in_order_already_stay(kind, names, parts, ascend):
    every = [each for part in parts for each in part]
    every = sorted(set(every)) if ascend else every
    if pa.types.is_string(kind):
        every = sorted(map(str, every)) if ascend else list(map(str, every))
    half = len(every) // 2
    columns = {"k": pa.chunked_array([every[:half], every[half:]], pa.array(every).type).cast(kind)}
    table = pa.table(columns | {"v": pa.array(range(len(every), 0, -1))})
    found = sort_rows(table, names)
    assert found["k"].to_pylist() == sorted(table["k"].to_pylist())
    assert sorted(found.to_pylist(), key=repr) == sorted(table.to_pylist(), key=repr)
    if len(names) == 2:
        assert found.equals(table.sort_by([(name, "ascending") for name in names]))


def test_expanded():
    assert expand_ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
