"""Part of `make bench`: how long a delta of one row takes through five verbs, and whether that grows with the state.

    python -m benchmarks.latency --scale 0.1

The verbs are filter, with_columns, join with a table, group_by and filter. Each push is pulled at once, and what was
pulled is compared with the sums of Python.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections import Counter
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo
from benchmarks.columnar_programs import WEIGHTS

SIZES = (10_000, 1_000_000)
"""The rows of the table that the deltas are joined with."""
REGIONS, WARM, PUSHES = 1000, 100, 500


class Order(NamedTuple):
    shop: int
    price: float
    quantity: int


class Shop(NamedTuple):
    shop: int
    region: int


class Latency(NamedTuple):
    """What one push takes."""

    wall: float
    """Milliseconds, the median."""
    cpu: float
    """Milliseconds of CPU time, the median: on a busy machine, it varies less."""
    quick: float
    """Milliseconds of CPU time that a tenth of the pushes do not exceed: what others do on the machine matters less."""
    calls: float
    """Calls of functions, in Python and in C."""


def program() -> flo.Flow:
    flow = flo.Flow("latency")
    orders, shops = flow.input("orders", flo.ZSet[Order]), flow.input("shops", flo.ZSet[Shop])
    paid = orders.filter(nw.col("quantity") > 0).with_columns(paid=nw.col("price") * nw.col("quantity"))
    regions = paid.join(shops, on="shop").group_by("region").agg(total=flo.sum("paid"), n=flo.count())
    flow.output("out", regions.filter(nw.col("n") > 1))
    return flow


class Run:
    """A loop with a table of so many shops, and orders that come one by one."""

    def __init__(self, shops: int) -> None:
        self.shops, self.rng = shops, np.random.default_rng(8)
        self.orders: list[Order] = []
        self.changes: Counter[tuple[int, float, int]] = Counter()
        self.loop: Any = program().on(flo.here).loop()
        numbers = np.arange(shops)
        self.loop.push(shops=pa.table({"shop": numbers, "region": numbers % REGIONS}))

    def draw(self, count: int) -> list[Order]:
        """Orders whose sums are exact, and that all verbs let pass."""
        shops, quarters = self.rng.integers(0, self.shops, count), self.rng.integers(1, 4000, count)
        quantities = self.rng.integers(1, 10, count)
        return [Order(*row) for row in zip(shops.tolist(), (quarters / 4).tolist(), quantities.tolist(), strict=True)]

    def push(self, order: Order, data: Any) -> None:
        """Pushes an order, as a table or as a row, and pulls what comes of it."""
        self.loop.push(orders=data)
        self._pulled = self.loop.pull("out")
        self.orders.append(order)

    def count(self) -> None:
        """Counts what was pulled last, which takes no time of a push."""
        for row in self._pulled.to_pylist():
            self.changes[row["region"], row["total"], row["n"]] += row[WEIGHTS]

    def measure(self, as_table: bool, pushes: int) -> Latency:
        given = [(order, _table([order]) if as_table else [order]) for order in self.draw(WARM + 2 * pushes)]
        wall, cpu = [], []
        for order, data in given[: WARM + pushes]:
            started, at_work = time.perf_counter(), time.process_time()
            self.push(order, data)
            wall.append(time.perf_counter() - started)
            cpu.append(time.process_time() - at_work)
            self.count()
        profile = cProfile.Profile()
        for order, data in given[WARM + pushes :]:
            profile.enable()
            self.push(order, data)
            profile.disable()
            self.count()
        calls = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
        medians = (statistics.median(each[WARM:]) * 1e3 for each in (wall, cpu))
        return Latency(*medians, float(np.quantile(cpu[WARM:], 0.1)) * 1e3, calls / pushes)

    def check(self) -> None:
        """Compares the sum of all changes with what Python computes from all orders."""
        totals: dict[int, tuple[float, int]] = {}
        for order in self.orders:
            if order.quantity > 0:
                total, n = totals.get(order.shop % REGIONS, (0.0, 0))
                totals[order.shop % REGIONS] = total + order.price * order.quantity, n + 1
        expected = Counter((region, total, n) for region, (total, n) in totals.items() if n > 1)
        assert {row: count for row, count in self.changes.items() if count} == expected


def _table(orders: list[Order]) -> pa.Table:
    return pa.Table.from_pylist([order._asdict() for order in orders])


def latencies(scale: float, pushes: int = PUSHES) -> Table:
    table = Table(title=f"a delta of one row through five verbs, median of {pushes} pushes", title_justify="left")
    for column in ("rows in the join", "pushed", "time", "CPU time", "a tenth takes less than", "calls"):
        table.add_column(column, justify="left" if column == "pushed" else "right")
    for size in SIZES:
        for as_table in (True, False):
            run = Run(max(10, int(size * scale)))
            *times, calls = run.measure(as_table, pushes)
            run.check()
            pushed = "a table" if as_table else "a row"
            table.add_row(f"{run.shops:,}", pushed, *(f"{each:.2f} ms" for each in times), f"{calls:,.0f}")
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the full size, such as 0.1")
    Console().print(latencies(parser.parse_args(arguments).scale))


if __name__ == "__main__":
    main()
