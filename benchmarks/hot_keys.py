"""A key with nine tenths of the rows, beside keys that have equally many, on Spark.

    python -m benchmarks.hot_keys --scale 0.1

Two programs: sums by shop, and sales joined with their shops, with sums by city. The join also runs without spreading
hot keys over shards. All runs are in one session, on micro-batches of equal size; the first ones warm up and find out
which keys are hot. Results are compared with numpy.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo
from benchmarks.spark_data import write_in_turn
from benchmarks.workers import Sale, Shop
from flo.shards.plan import planning
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


def run(spark: Any, flow: flo.Flow, folder: Path, hot: bool, given: pa.Table) -> tuple[float, int]:
    """The median seconds of the last micro-batches, and the most rows of a shard in one of them."""

    def stream(name: str) -> Any:
        schema = spark.read.parquet(str(folder / name)).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / name))

    inputs = {each.name: stream(f"sales {hot}" if each.name == "sales" else each.name) for each in flow._scope.inputs}
    with tempfile.TemporaryDirectory() as checkpoint:
        query = flow.on(spark).start(inputs, checkpoint=checkpoint, shards=SHARDS, trigger={"availableNow": True})
        query.wait()
        key = given["shop"].to_numpy() % (CITIES if flow.name == "cities" else SHOPS)
        expected = np.bincount(key, given["price"].to_numpy())
        view = query.view("sums").arrow()
        by = view["city" if flow.name == "cities" else "shop"].to_numpy()
        assert np.array_equal(np.bincount(by, view["total"].to_numpy(), len(expected)), expected)
        last = [each for each in query.progress if each.taken.get("sales")][-SETTLED:]
        most = max(max(each.figures.shard_rows[1].values()) for each in last)
        return statistics.median(each.seconds for each in last), most


def compare(scale: float) -> Table:
    spark = embedded("hot keys", cores=2)
    table = Table(
        title=f"{int(ROWS * scale):,} sales in {BATCHES} micro-batches, {SHARDS} shards", title_justify="left"
    )
    for column in ("program", "uniform", "nine tenths in one key", "times", "most rows of a shard"):
        table.add_column(column, justify="left" if column == "program" else "right")
    with tempfile.TemporaryDirectory() as folder:
        given = write_data(Path(folder), int(ROWS * scale))
        for name, build, spread in (("sums", sums, True), ("join", cities, True), ("join, not spread", cities, False)):
            planning.SPREAD_HOT_KEYS = spread
            (uniform, _), (hot, most) = (run(spark, build(), Path(folder), each, given[each]) for each in (False, True))
            table.add_row(name, f"{1e3 * uniform:,.0f} ms", f"{1e3 * hot:,.0f} ms", f"{hot / uniform:.2f}", f"{most:,}")
    planning.SPREAD_HOT_KEYS = True
    spark.stop()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help=f"1 is {ROWS:,} rows")
    Console().print(compare(parser.parse_args().scale))


if __name__ == "__main__":
    main()
