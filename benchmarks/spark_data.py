"""The data of `benchmarks.spark`, as files that Spark takes one by one, and what must come out."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import columnar_programs
from benchmarks.columnar_programs import DELTAS, WEIGHTS

TEN = 10
SETTLED = 10
"""How many micro-batches at the end of a run are looked at: the first ones warm up."""


WARM = "warm"
"""The folder with less of the same data, which a side runs on before it is measured."""
INPUTS = ("rows", "rows2", "rows3", "rows4")
"""The inputs of a program that reads ten rows from each."""


def write_in_turn(tables: list[pa.Table], folder: Path) -> None:
    """A file for each micro-batch: Spark takes the oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(tables):
        file = folder / f"{number:03}.parquet"
        pq.write_table(table, file)
        os.utime(file, (number, number))


def join(scale: float, folder: Path) -> int:
    """Two streams of 20 files of 100k rows, keys uniform over a million; how many rows the join has."""
    workload = columnar_programs.join(scale, folder)
    for number, delta in enumerate(workload.deltas):
        for file in delta.values():
            os.utime(file, (number, number))
    return int(workload.expected(workload.at_once())[WEIGHTS].sum())


def windows(scale: float, folder: Path) -> tuple[int, int, int]:
    """5 million events of 10 thousand keys; how many windows have sums, in how many of them the end is not yet
    sure, and the sum of all."""
    workload = columnar_programs.windows(scale, folder)
    tables = [delta["events"] for delta in workload.deltas]
    start = 0
    for place, table in enumerate(tables):
        tables[place] = table.append_column("offset", pa.array(np.arange(start, start + table.num_rows)))
        start += table.num_rows
    write_in_turn(tables, folder / "events")
    found = workload.at_once()
    closed = int(workload.expected(found)[WEIGHTS].sum())
    return found.height, found.height - closed, int(found["v"].sum())


def chain(scale: float, folder: Path) -> pl.DataFrame:
    """Orders of 100 thousand customers, every fifth taken back, and the region of each; the sums by region."""
    customers = max(TEN, int(100_000 * scale))
    orders = columnar_programs.with_retractions(int(2_000_000 * scale), customers, np.random.default_rng(3))
    write_in_turn(columnar_programs.parts(orders), folder / "orders")
    regions = pa.table({"k": np.arange(customers), "region": np.arange(customers) % 50})
    write_in_turn([regions], folder / "regions")
    frame = pl.from_arrow(orders)
    assert isinstance(frame, pl.DataFrame)
    weight = pl.col(WEIGHTS)
    sums = frame.group_by("k").agg((pl.col("v") * weight).sum(), weight.sum()).filter(weight != 0)
    return sums.group_by((pl.col("k") % 50).alias("region")).agg(pl.col("v").sum()).sort("region")


def ten_rows(folder: Path) -> None:
    """20 files of ten rows for each input. Those to warm up are ten times as many: Java compiles what has run hundreds
    of times."""
    rng, count = np.random.default_rng(4), DELTAS * (10 if folder.name == WARM else 1)
    for name in INPUTS:
        write_in_turn([_rows(rng, TEN, 100) for _ in range(count)], folder / name)


def few_or_many(rows: int, scale: float, folder: Path) -> list[list[int]]:
    """Five files of so many rows; the sums by key."""
    rng, count = np.random.default_rng(6), max(TEN, int(rows * scale))
    tables = [_rows(rng, count, count * TEN) for _ in range(5)]
    write_in_turn(tables, folder / "rows")
    frame = pl.from_arrow(pa.concat_tables(tables))
    assert isinstance(frame, pl.DataFrame)
    return [list(row) for row in frame.group_by("k").agg(pl.col("v").sum()).sort("k").rows()]


def growth(deltas: int, scale: float, folder: Path) -> tuple[int, int]:
    """A first file of so many deltas on each side of a join, and then deltas of the same size; the rows of both."""
    delta = max(1, int(100_000 * scale))
    rows, rng = deltas * delta, np.random.default_rng(5)
    for side in "ab":
        write_in_turn([_rows(rng, rows, rows), *(_rows(rng, delta, rows) for _ in range(SETTLED))], folder / side)
    return rows, delta


def _rows(rng: np.random.Generator, count: int, keys: int) -> pa.Table:
    columns = {"k": rng.integers(0, keys, count), "v": rng.integers(0, 1000, count)}
    return pa.table({**columns, WEIGHTS: np.ones(count, dtype=np.int64)})
