"""Chains of joins of aggregates, which must cost what the joins cost; and the state of a stream beside a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from polars.testing import assert_frame_equal
from rich.table import Table

import flo
from benchmarks.columnar_programs import WEIGHTS, Row, content, counted
from benchmarks.columnar_rates import processors

KEYS, LENGTHS, UPDATES = 500, (2, 4, 6, 8, 10), 10
STREAM, TABLE, DELTAS = 1_000_000, 10_000, 10


def chain(joins: int) -> flo.Flow:
    """The sums of all keys, joined again and again with sums of the same rows."""
    flow = flo.Flow("chain")
    rows = flow.input("rows", flo.ZSet[Row])
    found = rows.group_by("k").agg(v=flo.sum("v"))
    for _ in range(joins):
        found = found.join(rows.group_by("k").agg(v=flo.sum("v")), "k", "k", {"k": "k", "v": "v_right"})
    flow.output("out", found)
    return flow


def chains() -> Table:
    title = f"joins of sums in a row: {KEYS} keys, all of which change in {UPDATES} deltas"
    table = Table(title=title, title_justify="left")
    for column in ("joins", "CPU time", "a join", "rows out, last delta"):
        table.add_column(column, justify="right")
    rng = np.random.default_rng(4)
    deltas = [pa.table({"k": np.arange(KEYS), "v": rng.integers(1, 1000, KEYS)}) for _ in range(UPDATES)]
    rows = pl.from_arrow(pa.concat_tables(deltas))
    assert isinstance(rows, pl.DataFrame)
    sums = counted(rows.group_by("k").agg(pl.col("v").sum()))
    for joins in LENGTHS:
        loop = chain(joins).on(flo.here).loop()

        def moved(loop: Any = loop) -> list[pa.Table]:
            pulled = []
            for delta in deltas:
                loop.push(rows=delta)
                pulled.append(loop.pull("out"))
            return pulled

        took, pulled = processors(moved)
        found = pl.from_arrow(pa.concat_tables(pulled))
        assert isinstance(found, pl.DataFrame)
        assert_frame_equal(content(found), sums, check_dtypes=False)
        table.add_row(str(joins), f"{took:.2f} s", f"{took / joins * 1e3:.0f} ms", f"{pulled[-1].num_rows:,}")
    return table


def ended(scale: float) -> Table:
    """A stream that is joined with a table that has ended, and with one that may still change."""
    count, keys = max(DELTAS, int(STREAM * scale)), max(1, int(TABLE * scale))
    title = f"{count:,} rows of a stream in {DELTAS} deltas, joined with a table of {keys:,}"
    table = Table(title=title, title_justify="left")
    for column in ("the table", "CPU time", "rows of state", "bytes of state"):
        table.add_column(column, justify="left" if column == "the table" else "right")
    rng = np.random.default_rng(5)
    stream = pa.table({"k": rng.integers(0, 2 * keys, count), "v": rng.integers(0, 1000, count)})
    known = pa.table({"k": np.arange(keys), "v": rng.integers(0, 1000, keys)})
    frames = [pl.from_arrow(each) for each in (stream, known)]
    assert all(isinstance(frame, pl.DataFrame) for frame in frames)
    both = frames[0].join(frames[1], on="k").select("k", s=pl.col("v") + pl.col("v_right"))  # type: ignore[union-attr,arg-type]
    for bounded in (True, False):
        flow = flo.Flow("table")
        a, b = flow.input("a", flo.ZSet[Row]), flow.input("b", flo.ZSet[Row], bounded=bounded)
        flow.output("out", a.join(b, "k", "k", {"k": "k", "v": "v", "w": "v_right"}))
        loop = flow.on(flo.here).loop()
        loop.push(b=known)
        if bounded:
            loop.end("b")

        def moved(loop: Any = loop) -> list[pa.Table]:
            pulled, size = [], -(-count // DELTAS)
            for start in range(0, count, size):
                loop.push(a=stream.slice(start, size))
                pulled.append(loop.pull("out"))
            return pulled

        took, pulled = processors(moved)
        found = pl.from_arrow(pa.concat_tables(pulled))
        assert isinstance(found, pl.DataFrame)
        summed = found.select("k", (pl.col("v") + pl.col("w")).alias("s"), WEIGHTS)
        assert_frame_equal(content(summed), counted(both), check_dtypes=False)
        rows, size = loop.state
        assert not bounded or rows == keys, rows
        table.add_row("has ended" if bounded else "may change", f"{took:.2f} s", f"{rows:,}", f"{size:,}")
    return table
