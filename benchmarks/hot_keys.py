"""A key with nine tenths of the rows, beside keys that have equally many, on Spark.

    python -m benchmarks.hot_keys --scale 0.1

Two programs: sums by shop, and sales joined with their shops, with sums by city. The join also runs without spreading
hot keys over shards. All runs are in one session, in turn, on micro-batches of equal size; the first ones of a run warm
up and find out which keys are hot. Each run has new worker processes, so that their memory is of this run. Results are
compared with numpy.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo
from benchmarks.process_memory import end_workers, most_of_a_worker
from benchmarks.spark_data import write_in_turn
from benchmarks.workers import Sale, Shop
from flo.spark.session import embedded

ROWS, BATCHES, SETTLED, SHOPS, CITIES, SHARDS = 2_000_000, 16, 8, 20_000, 500, 4


def sums() -> flo.Flow:
    flow = flo.Flow("sums")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("sums", sales.group_by("shop").agg(n=flo.count(), total=flo.sum("price")))
    return flow


def cities() -> flo.Flow:
    flow = flo.Flow("cities")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    joined = sales.join(shops, on="shop")
    flow.output("sums", joined.group_by("city").agg(n=flo.count(), total=flo.sum("price")))
    return flow


def sales(rows: int, hot: bool) -> pa.Table:
    draw = np.random.default_rng(1)
    shops = draw.integers(0, SHOPS, rows)
    if hot:
        shops[draw.random(rows) < 0.9] = 7
    return pa.table({"id": np.arange(rows), "shop": shops, "price": draw.integers(0, 1_000, rows)})


def write_data(folder: Path, rows: int) -> dict[bool, pa.Table]:
    """Writes the files of both kinds of sales, and of the shops."""
    size, given = rows // BATCHES, {}
    for hot in (False, True):
        given[hot] = sales(rows, hot)
        write_in_turn([given[hot].slice(start, size) for start in range(0, rows, size)], folder / f"sales {hot}")
    write_in_turn([pa.table({"shop": np.arange(SHOPS), "city": np.arange(SHOPS) % CITIES})], folder / "shops")
    return given


@dataclass
class Run:
    """What was measured of a program: the seconds of settled micro-batches, rows of a shard, memory of a worker."""

    seconds: list[float] = field(default_factory=list)
    rows: int = 0
    memory: int = 0

    def add(self, spark: Any, flow: flo.Flow, folder: Path, hot: bool, given: pa.Table) -> None:
        """Runs the program in new worker processes, and compares its view with numpy."""

        def stream(name: str) -> Any:
            schema = spark.read.parquet(str(folder / name)).schema
            return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / name))

        inputs = {
            each.name: stream(f"sales {hot}" if each.name == "sales" else each.name) for each in flow._scope.inputs
        }
        end_workers()
        with tempfile.TemporaryDirectory() as checkpoint, most_of_a_worker() as most:
            query = flow.on(spark).start(inputs, checkpoint=checkpoint, shards=SHARDS, trigger={"availableNow": True})
            query.wait()
            expect_sums(query.view("sums").arrow(), given, "city" if flow.name == "cities" else "shop")
            last = [each for each in query.progress if each.taken.get("sales")][-SETTLED:]
        self.seconds += [each.seconds for each in last]
        self.rows = max(self.rows, *(max(each.figures.shard_rows[1].values()) for each in last))
        self.memory = max(self.memory, most[-1])


def expect_sums(view: pa.Table, given: pa.Table, column: str) -> None:
    count = CITIES if column == "city" else SHOPS
    expected = np.bincount(given["shop"].to_numpy() % count, given["price"].to_numpy())
    assert np.array_equal(np.bincount(view[column].to_numpy(), view["total"].to_numpy(), len(expected)), expected)


def compare(scale: float, rounds: int) -> Table:
    spark = embedded("hot keys", cores=2)
    table = Table(
        title=f"{int(ROWS * scale):,} sales in {BATCHES} micro-batches, {SHARDS} shards, {rounds} rounds in turn",
        title_justify="left",
    )
    for column in ("program", "sales", "median", "/ uniform", "most rows of a shard", "most memory of a worker"):
        table.add_column(column, justify="left" if column in ("program", "sales") else "right")
    programs = (("sums", sums, True), ("join", cities, True), ("join, not spread", cities, False))
    with tempfile.TemporaryDirectory() as folder:
        given = write_data(Path(folder), int(ROWS * scale))
        found: dict[tuple[str, bool], Run] = {(name, hot): Run() for name, _, _ in programs for hot in (False, True)}
        for _ in range(rounds):
            for name, build, spread in programs:
                flo.rewrites.hot_keys = spread
                for hot in (False, True):
                    found[name, hot].add(spark, build(), Path(folder), hot, given[hot])
        for (name, hot), run in found.items():
            took, uniform = statistics.median(run.seconds), statistics.median(found[name, False].seconds)
            times = f"{took / uniform:.2f}" if hot else ""
            kind = "nine tenths in one key" if hot else "uniform"
            table.add_row(name, kind, f"{1e3 * took:,.0f} ms", times, f"{run.rows:,}", f"{run.memory >> 20} MB")
    flo.rewrites.hot_keys = True
    spark.stop()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help=f"1 is {ROWS:,} rows")
    parser.add_argument("--rounds", type=int, default=3, help="how often each program runs")
    chosen = parser.parse_args()
    Console().print(compare(chosen.scale, chosen.rounds))


if __name__ == "__main__":
    main()
