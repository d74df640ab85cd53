"""Columns of ones are slices of one shared column, and known as such wherever they come to."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from flo.columns.indices import MANY, combine_chunks, take_rows
from flo.columns.ones import FEW, MOST, is_ones, ones
from flo.tables.state.run import run_of

SIZES = [0, 1, FEW, FEW + 1, MANY, MOST, MOST + 1]


@pytest.mark.parametrize("count", SIZES)
def test_ones_are_ones(count: int) -> None:
    column = ones(count)
    assert len(column) == count
    assert column.null_count == 0
    assert np.array_equal(column.to_numpy(), np.ones(count, np.int64))


@pytest.mark.parametrize("values", [[1, 1], [1, None], [2], [None], ["1"], [1.0]])
def test_other_columns_are_not_known_as_ones(values: list[object]) -> None:
    assert not is_ones(pa.chunked_array([pa.array(values)]))


def test_every_chunk_must_be_known_as_ones() -> None:
    assert is_ones(pa.chunked_array([ones(5), ones(2).slice(1)]))
    assert not is_ones(pa.chunked_array([ones(5), pa.array([1])]))


def test_a_pickle_has_its_own_rows_only() -> None:
    ones(MOST)
    assert len(pickle.dumps(ones(3))) < 1000
    assert pa.table({"a": ones(3)}).get_total_buffer_size() == 24


def _copy(table: pa.Table) -> pa.Table:
    return pa.table([pa.array(column.to_pylist(), column.type) for column in table.columns], table.column_names)


@pytest.mark.parametrize("rows", [5, 2 * MANY, MOST + 5])
@pytest.mark.parametrize("weights", ["ones", "others", "both"])
def test_rows_taken_and_combined_are_those_of_plain_columns(rows: int, weights: str) -> None:
    draw = np.random.default_rng(rows)
    others = pa.array(draw.choice([-(2**63), -1, 0, 1, 2**63 - 1], rows))
    first, second = {"ones": (ones(rows),) * 2, "others": (others,) * 2, "both": (ones(rows), others)}[weights]
    texts = pa.array([None if each < 1 else f"{each}" for each in draw.integers(0, 5, rows)])
    tables = [pa.table({"text": texts, "±": each, "±#": ones(rows)}) for each in (first, second)]
    whole = pa.concat_tables(tables)
    plain = pa.concat_tables(map(_copy, tables))
    assert combine_chunks(whole).equals(plain)
    indices = draw.integers(0, 2 * rows, rows)
    assert take_rows(whole, indices).equals(plain.take(pa.array(indices)))
    assert is_ones(take_rows(whole, indices)["±#"]) == (MANY <= rows <= MOST // 2)


def test_a_run_of_ones_knows_its_weights() -> None:
    rows = 2 * MANY
    table = pa.table({"a": np.arange(rows) % 7, "±": ones(rows)})
    assert run_of(table, ("a",)).once
    assert not run_of(table.set_column(1, "±", pa.array(np.arange(rows))), ("a",)).inserts
