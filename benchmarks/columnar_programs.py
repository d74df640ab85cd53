"""The programs of `benchmarks.columnar`, their data, and the same with Polars over all of the data at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import flo

WEIGHTS = "_weight"
DELTAS = 20
SECOND = 1_000_000
WINDOW, LATENESS, DISORDER, PER_SECOND = 10 * SECOND, 2 * SECOND, SECOND, 5_000
JOINED = 3_998_291
"""How many rows the join has at scale 1: what other implementations gave on the same data."""


class Row(NamedTuple):
    k: int
    v: int


class Event(NamedTuple):
    time: int
    k: int
    v: int


@dataclass(frozen=True)
class Workload:
    """A program, its data in deltas, and what must come out."""

    name: str
    flow: Callable[[], flo.Flow]
    deltas: list[dict[str, Any]]
    """For each delta what every input is given: a table or a file."""
    rows: int
    output: str
    at_once: Callable[[], pl.DataFrame]
    """With Polars, from the same tables or files."""
    expected: Callable[[pl.DataFrame], pl.DataFrame]
    """What Polars found, as a bag or z-set of rows with weights."""


def content(frame: pl.DataFrame) -> pl.DataFrame:
    """A z-set in one form: every row once, none of weight zero, sorted."""
    names = [name for name in frame.columns if name != WEIGHTS]
    added = frame.group_by(names).agg(pl.col(WEIGHTS).cast(pl.Int64).sum())
    return added.filter(pl.col(WEIGHTS) != 0).sort(names)


def counted(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of weight 1."""
    return content(frame.with_columns(pl.lit(1).alias(WEIGHTS)))


def join_flow() -> flo.Flow:
    flow = flo.Flow("join")
    a, b = flow.input("a", flo.ZSet[Row]), flow.input("b", flo.ZSet[Row])
    flow.output("joined", a.join(b, "k", "k", {"k": "k", "s": nw.col("v") + nw.col("v_right")}))
    return flow


def join(scale: float, folder: Path) -> Workload:
    """Two streams of 20 files, 100k rows each, keys uniform over a million; the weights are a column of the files."""
    rows, keys = max(1, int(100_000 * scale)), max(1, int(1_000_000 * scale))
    rng = np.random.default_rng(0)
    for side in "ab":
        (folder / side).mkdir(parents=True, exist_ok=True)
        for number in range(DELTAS):
            columns = {"k": rng.integers(0, keys, rows), "v": rng.integers(0, 1000, rows)}
            table = pa.table({**columns, WEIGHTS: np.ones(rows, dtype=np.int64)})
            pq.write_table(table, folder / side / f"{number:03d}.parquet")

    def at_once() -> pl.DataFrame:
        a, b = (pl.read_parquet(folder / side / "*.parquet") for side in "ab")
        weight = pl.col(WEIGHTS) * pl.col(f"{WEIGHTS}_right")
        return a.join(b, on="k").select("k", (pl.col("v") + pl.col("v_right")).alias("s"), weight)

    def expected(found: pl.DataFrame) -> pl.DataFrame:
        assert scale != 1 or found.height == JOINED, found.height
        return content(found)

    deltas = [{side: folder / side / f"{number:03d}.parquet" for side in "ab"} for number in range(DELTAS)]
    return Workload("join", join_flow, deltas, 2 * DELTAS * rows, "joined", at_once, expected)


def windows_flow() -> flo.Flow:
    flow = flo.Flow("windows")
    windows = flow.input("events", flo.Sequence[Event]).tumbling(WINDOW, "time", LATENESS)
    sums = windows.nest(lambda w: w.key_by("k").per_key(lambda s: s.map("v").sum()).entries()).flatten()
    flow.output("sums", sums)
    flow.output("late", windows.late)
    return flow


def windows(scale: float, folder: Path) -> Workload:
    """5 million events, 10 thousand keys, out of order within a second: the sums of closed windows."""
    count = max(DELTAS, int(5_000_000 * scale))
    rng = np.random.default_rng(1)
    due = np.arange(count) * (SECOND // PER_SECOND)
    columns = {"time": due + rng.integers(0, DISORDER, count), "k": rng.integers(0, 10_000, count)}
    table = pa.table({**columns, "v": rng.integers(0, 1000, count)})
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    closed = (int(columns["time"].max()) - LATENESS) // WINDOW
    """Windows before this one have ended."""

    def at_once() -> pl.DataFrame:
        return frame.group_by((pl.col("time") // WINDOW).alias("window"), "k").agg(pl.col("v").sum())

    def expected(found: pl.DataFrame) -> pl.DataFrame:
        return counted(found.filter(pl.col("window") < closed).select(pl.col("k").alias("0"), pl.col("v").alias("1")))

    deltas = [{"events": part} for part in parts(table)]
    return Workload("windowed sums", windows_flow, deltas, count, "sums", at_once, expected)


def groups_flow(inputs: Sequence[str] = ("rows",)) -> flo.Flow:
    flow = flo.Flow("groups")
    rows = reduce(lambda left, right: left.union(right), [flow.input(name, flo.ZSet[Row]) for name in inputs])
    flow.output("sums", rows.group_by("k").agg(v=flo.sum("v")))
    return flow


def groups(scale: float, folder: Path) -> Workload:
    """5 million rows in 10 thousand groups; every fifth takes an earlier one back."""
    table = with_retractions(max(DELTAS, int(5_000_000 * scale)), 10_000, np.random.default_rng(2))
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)

    def at_once() -> pl.DataFrame:
        weight = pl.col(WEIGHTS)
        return frame.group_by("k").agg((pl.col("v") * weight).sum(), weight.sum())

    def expected(found: pl.DataFrame) -> pl.DataFrame:
        there = found.filter(pl.col(WEIGHTS) != 0)
        return counted(there.select("k", "v"))

    deltas = [{"rows": part} for part in parts(table)]
    return Workload("grouped sum", groups_flow, deltas, table.num_rows, "sums", at_once, expected)


def with_retractions(count: int, keys: int, rng: np.random.Generator) -> pa.Table:
    """Rows, every fifth of which takes back one that came before, each at most once."""
    place = np.arange(count)
    back = place % 5 == 4
    came = np.flatnonzero(~back)
    nth = np.arange(back.sum())
    earlier = came[2 * nth + rng.integers(0, 2, len(nth))]  # of the four times as many that came before
    k, v = rng.integers(0, keys, count), rng.integers(0, 1000, count)
    k[back], v[back] = k[earlier], v[earlier]
    return pa.table({"k": k, "v": v, WEIGHTS: np.where(back, -1, 1)})


def parts(table: pa.Table) -> list[pa.Table]:
    """The table in deltas."""
    size = -(-table.num_rows // DELTAS)
    return [table.slice(start, size) for start in range(0, table.num_rows, size)]


WORKLOADS: dict[str, Callable[[float, Path], Workload]] = {"join": join, "windows": windows, "groups": groups}
