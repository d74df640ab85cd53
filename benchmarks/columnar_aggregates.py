"""Several aggregates of one key beside each of them alone; and small deltas into a large state."""

from __future__ import annotations

import statistics
import time
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from polars.testing import assert_frame_equal
from rich.table import Table

import flo
from benchmarks.columnar_programs import WEIGHTS

ROWS, GROUPS, ITEMS, DELTAS, ROUNDS = 1_000_000, 10_000, 500, 10, 3
SMALL, STEPS = (1, 10, 100), 50


class Sale(NamedTuple):
    shop: int
    price: float
    quantity: int
    item: str


AGGREGATES: dict[str, tuple[Any, pl.Expr]] = {
    "count": (flo.count(), pl.len()),
    "sum of integers": (flo.sum("quantity"), pl.col("quantity").sum()),
    "sum of floats": (flo.sum("price"), pl.col("price").sum()),
    "avg": (flo.avg("price"), pl.col("price").mean()),
    "min": (flo.min("price"), pl.col("price").min()),
    "max": (flo.max("price"), pl.col("price").max()),
    "count_distinct": (flo.count_distinct("item"), pl.col("item").n_unique()),
    "stddev_samp": (flo.stddev_samp("price"), pl.col("price").std()),
}
"""Each with the same in Polars."""


def sales(scale: float) -> list[pa.Table]:
    """Deltas of sales. From the second on, every sixth row retracts one of the delta before."""
    rng, count, groups = np.random.default_rng(6), max(100, int(ROWS * scale)), max(10, int(GROUPS * scale))
    size = -(-count // DELTAS)
    parts = [
        pa.table(
            {
                "shop": rng.integers(0, groups, size),
                "price": rng.integers(1, 1 << 40, size) / 1024,  # their sums are exact in Polars too
                "quantity": rng.integers(0, 1000, size),
                "item": pa.array(rng.integers(0, ITEMS, size)).cast(pa.string()),
                WEIGHTS: np.ones(size, np.int64),
            }
        )
        for _ in range(DELTAS)
    ]
    back = [part.slice(0, size // 5).drop_columns([WEIGHTS]) for part in parts]
    taken = [part.append_column(WEIGHTS, pa.array(np.full(part.num_rows, -1))) for part in back]
    return [parts[0], *(pa.concat_tables(both).combine_chunks() for both in zip(parts[1:], taken, strict=False))]


def program(names: list[str]) -> flo.Flow:
    flow = flo.Flow("aggregates")
    rows = flow.input("rows", flo.ZSet[Sale])
    given = {name.replace(" ", "_"): AGGREGATES[name][0] for name in names}
    flow.output("out", rows.group_by("shop").agg(**given))
    return flow


def run(flow: flo.Flow, deltas: list[pa.Table]) -> tuple[float, list[pa.Table], Any]:
    """The CPU time of all deltas, the changes, and the loop after them."""
    loop, pulled, started = flow.on(flo.here).loop(), [], time.process_time()
    for delta in deltas:
        loop.push(rows=delta)
        pulled.append(loop.pull("out"))
    return time.process_time() - started, pulled, loop


def several(scale: float) -> Table:
    """All aggregates in one `agg`, and each alone: alternately, the best of some rounds."""
    deltas, names = sales(scale), list(AGGREGATES)
    sides = {**{name: [name] for name in names}, f"all {len(names)}": names}
    took: dict[str, float] = {}
    for _ in range(ROUNDS):
        for side, some in sides.items():
            seconds, pulled, _ = run(program(some), deltas)
            took[side] = min(seconds, took.get(side, seconds))
            check(some, deltas, pulled)
    dearest = max(names, key=took.__getitem__)
    rows = sum(delta.num_rows for delta in deltas)
    title = f"aggregates of {rows:,} rows in {DELTAS} deltas, a sixth of them retractions"
    table = Table(title=title, title_justify="left")
    for column in ("aggregate", "CPU time", f"/ {dearest}", "/ all alone"):
        table.add_column(column, justify="left" if column == "aggregate" else "right")
    alone = sum(took[name] for name in names)
    for side, seconds in took.items():
        table.add_row(side, f"{seconds:.2f} s", f"{seconds / took[dearest]:.2f}", f"{seconds / alone:.2f}")
    return table


def check(names: list[str], deltas: list[pa.Table], pulled: list[pa.Table]) -> None:
    """Compares the changes, added up, with the result of Polars on the rows that are left."""
    frame = pl.from_arrow(pa.concat_tables(deltas))
    changes = pl.from_arrow(pa.concat_tables(pulled))
    assert isinstance(frame, pl.DataFrame)
    assert isinstance(changes, pl.DataFrame)
    left = frame.group_by(Sale._fields).agg(pl.col(WEIGHTS).sum()).filter(pl.col(WEIGHTS) > 0)
    left = left.select(pl.exclude(WEIGHTS).repeat_by(WEIGHTS).explode())
    expected = left.group_by("shop").agg(AGGREGATES[name][1].alias(name.replace(" ", "_")) for name in names)
    columns = expected.columns
    found = changes.group_by(columns).agg(pl.col(WEIGHTS).sum()).filter(pl.col(WEIGHTS) != 0)
    assert set(found[WEIGHTS]) == {1}
    assert_frame_equal(found.select(columns).sort("shop"), expected.sort("shop"), check_dtypes=False)


def small_deltas(scale: float) -> Table:
    """The CPU time of a few rows that go into the state of all."""
    deltas, rng = sales(scale), np.random.default_rng(7)
    title = (
        f"small deltas into a state of {sum(delta.num_rows for delta in deltas):,} rows: CPU time, median of {STEPS}"
    )
    table = Table(title=title, title_justify="left")
    for column in ("program", *(f"{count} row{'s' * (count > 1)}" for count in SMALL)):
        table.add_column(column, justify="left" if column == "program" else "right")
    every = deltas[0]
    for side, flow in programs().items():
        _, _, loop = run(flow, deltas)
        cells = []
        for count in SMALL:
            steps = [every.take(pa.array(rng.integers(0, every.num_rows, count))) for _ in range(STEPS)]
            seconds = []
            for step in steps:
                started = time.process_time()
                loop.push(rows=step)
                loop.pull("out")
                seconds.append(time.process_time() - started)
            cells.append(f"{statistics.median(seconds) * 1e3:.2f} ms")
        table.add_row(side, *cells)
    return table


def programs() -> dict[str, flo.Flow]:
    """Programs with one keyed verb, and that with all aggregates."""
    found = {name: program([name]) for name in AGGREGATES}
    found[f"all {len(AGGREGATES)}"] = program(list(AGGREGATES))
    for name in ("distinct", "top 1 of each shop", "join with its maxima"):
        flow = flo.Flow(name)
        rows = flow.input("rows", flo.ZSet[Sale])
        match name:
            case "distinct":
                flow.output("out", rows.distinct())
            case "top 1 of each shop":
                flow.output("out", rows.top(1, "price", by="shop"))
            case _:
                shops = rows.group_by("shop").agg(most=flo.max("price"))
                flow.output("out", rows.join(shops, "shop", "shop", {"item": "item", "most": "most"}))
        found[name] = flow
    return found
