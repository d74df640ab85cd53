"""Outputs that nobody pulls: equal rows are consolidated, and there are few chunks, whatever the number of pushes."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import flo
from flo.tables.io import unsent
from flo.tables.io.unsent import FEW_CHUNKS, merge_chunks


def build() -> flo.Flow:
    flow = flo.Flow("unsent")
    rows = flow.input("rows", flo.ZSet[int])
    flow.output("rows", rows)
    flow.output("counts", rows.group_by("value").agg(n=flo.count()))
    return flow


def chunks(loop: Any) -> list[int]:
    return [value.table.column(0).num_chunks for value in loop._loop.outputs]


def test_rows_that_come_and_go_leave_nothing() -> None:
    loop = build().on(flo.here).loop()
    for number in range(60):
        loop.push(rows={number: 1})
        loop.push(rows={number: -1})
    assert all(value.table.num_rows <= 2 * FEW_CHUNKS for value in loop._loop.outputs)
    assert max(chunks(loop)) <= FEW_CHUNKS
    assert loop.result()["rows"].num_rows == 0


def test_a_few_rows_that_change_stay_few() -> None:
    loop = build().on(flo.here).loop()
    loop.push(rows=[0, 1, 2])
    for number in range(60):
        loop.push(rows={number % 3: 1})
    assert loop._loop.outputs[1].table.num_rows < 60  # of 120 changes and more
    counts = loop.result()["counts"].to_pylist()
    assert sorted(row["n"] for row in counts) == [21, 21, 21]


def test_there_are_few_chunks() -> None:
    loop = build().on(flo.here).loop()
    for number in range(150):
        loop.push(rows=[number])
        assert max(chunks(loop)) <= FEW_CHUNKS
    assert loop.result()["rows"].num_rows == 150


@pytest.mark.parametrize("seed", range(3))
def test_what_is_pulled_is_the_same(seed: int) -> None:
    rng, loop, total = random.Random(seed), build().on(flo.here).loop(), Counter[int]()
    taken = Counter[int]()
    for _ in range(80):
        change = {rng.randrange(6): rng.choice([-1, 1, 2]) for _ in range(rng.randrange(4))}
        loop.push(rows=change)
        for row, weight in change.items():
            total[row] += weight
        if rng.random() < 0.2:
            for row in loop.pull("rows", rng.choice([None, 1, 3])).to_pylist():
                taken[row["value"]] += row["_weight"]
    for row in loop.pull("rows").to_pylist():
        taken[row["value"]] += row["_weight"]
    assert {row: weight for row, weight in taken.items() if weight} == {row: w for row, w in total.items() if w}


def test_a_sequence_keeps_its_order() -> None:
    flow = flo.Flow("ordered")
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("numbers", numbers)
    flow.output("by key", numbers.key_by(lambda n: n % 2).per_key(lambda each: each.enumerate()))
    loop = flow.on(flo.here).loop()
    for number in range(60):
        loop.push(numbers=[number, -number])
    assert loop._loop.outputs[0].table.column(0).num_chunks <= FEW_CHUNKS  # type: ignore[attr-defined]
    found = loop.result()
    assert found["numbers"]["value"].to_pylist() == [each for number in range(60) for each in (number, -number)]
    assert [number for number, _ in found["by key"][0]] == list(range(60))


def test_a_push_that_raises_leaves_outputs_as_they_were() -> None:
    flow = flo.Flow("faulty")
    flow.output("halves", flow.input("rows", flo.ZSet[int]).map(lambda n: 6 // n))
    loop = flow.on(flo.here).loop()
    loop.push(rows=[1, 2])
    before = loop._loop.outputs
    with pytest.raises(flo.FloError):
        loop.push(rows=[0])
    assert loop._loop.outputs is before


def test_many_rows_are_merged_however_few_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsent, "FEW_ROWS", 10)
    loop = build().on(flo.here).loop()
    for number in range(6):
        loop.push(rows=[number])
        loop.push(rows={number: -1})
    assert max(chunks(loop)) <= 10
    for _ in range(20):
        loop.push(rows={7: 1})
        loop.push(rows={7: -1})
    assert max(value.table.num_rows for value in loop._loop.outputs) <= 10


def test_a_part_that_is_pulled_has_no_row_that_is_gone() -> None:
    loop = build().on(flo.here).loop()
    loop.push(rows=[1, 2])
    loop.push(rows={1: -1})
    assert loop.pull("rows", 1).to_pylist() == [{"value": 2, "_weight": 1}]
    assert loop.pull("rows").num_rows == 0


@pytest.mark.parametrize("at_most", [1, None])
def test_a_pull_that_raises_says_where_and_leaves_the_changes(at_most: int | None) -> None:
    flow = flo.Flow("large weights")
    flow.output("rows", flow.input("rows", flo.ZSet[int]))
    loop = flow.on(flo.here).loop()
    for weight in (2**63 - 1, 2**62):
        loop.push(rows={1: weight})
    with pytest.raises(flo.ElementError, match="of the output `rows`") as caught:
        loop.pull("rows", at_most)
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("test_unsent_outputs.py")
    loop.push(rows={1: -(2**62)})
    assert loop.pull("rows", at_most).to_pylist() == [{"value": 1, "_weight": 2**63 - 1}]


@pytest.fixture
def merging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are merged however few there are."""
    monkeypatch.setattr(unsent, "FEW_CHUNKS", 1)


@pytest.mark.usefixtures("merging")
def test_each_chunk_is_more_than_twice_the_next() -> None:
    table = pa.table({"value": pa.chunked_array([[1] * 9, [2] * 4, [3], [4]])})
    merged = merge_chunks(table, pa.Table.combine_chunks)
    assert [len(chunk) for chunk in merged["value"].chunks] == [15]
    assert merged.equals(table)
    table = pa.table({"value": pa.chunked_array([[1] * 9, [2] * 3, [3]])})
    assert merge_chunks(table, pa.Table.combine_chunks) is table


@pytest.mark.usefixtures("merging")
def test_pushes_of_several_chunks_are_merged() -> None:
    table = pa.table({"value": pa.chunked_array([[1] * 8, [2], [3] * 8, [4], [5] * 8, [6]])})
    merged = merge_chunks(table, pa.Table.combine_chunks)
    assert [len(chunk) for chunk in merged["value"].chunks] == [26, 1]
    assert merged.equals(table)
