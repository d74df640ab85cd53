"""How much faster shards in worker processes are than one process: a join, and sums of tumbling windows.

    python -m benchmarks.workers                        # a minute
    python -m benchmarks.workers --rows 100000 --workers 2

The same deltas go into both, push by push in turn; the results are compared. Times are wall-clock times of the pushes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo

KEYS = 20_000


@dataclass(frozen=True)
class Sale:
    id: int
    shop: int
    price: int


@dataclass(frozen=True)
class Shop:
    shop: int
    city: int


def join_flow() -> flo.Flow:
    flow = flo.Flow("join")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    joined = sales.join(shops, on="shop")
    flow.output("cities", joined.group_by("city").agg(n=flo.count(), total=flo.sum("price")))
    return flow


def window_flow() -> flo.Flow:
    flow = flo.Flow("windows")
    rows = flow.input("sales", flo.ZSet[Sale]).tumble(1_000, "id")
    flow.output("windows", rows.group_by("shop", "window_start").agg(n=flo.count(), total=flo.sum("price")))
    return flow


def sales(delta: int, rows: int) -> pa.Table:
    draw = np.random.default_rng(delta)
    ids = np.arange(delta * rows, (delta + 1) * rows)
    return pa.table({"id": ids, "shop": draw.integers(0, KEYS, rows), "price": draw.integers(0, 1000, rows)})


SHOPS = pa.table({"shop": np.arange(KEYS), "city": np.arange(KEYS) % 500})
FLOWS: dict[str, Callable[[], flo.Flow]] = {"join": join_flow, "windowed sums": window_flow}


@dataclass(frozen=True)
class Measured:
    """The seconds of all pushes, and the results."""

    seconds: float
    rows: list[str]


def measure(name: str, workers: list[int], deltas: int, rows: int) -> list[Measured]:
    """Push the same deltas to a loop for each number of workers, in turn."""
    loops = [FLOWS[name]().on(flo.here, workers=count).loop() for count in workers]
    spent = [0.0] * len(loops)
    for loop in loops:
        if name == "join":
            loop.push(shops=SHOPS)
    for delta in range(deltas):
        table = sales(delta, rows)
        for place, loop in enumerate(loops):
            started = time.perf_counter()
            loop.push(sales=table)
            spent[place] += time.perf_counter() - started
    results = [sorted(map(str, next(iter(loop.result().values())).to_pylist())) for loop in loops]
    return [Measured(*each) for each in zip(spent, results, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=500_000, help="of each delta")
    parser.add_argument("--deltas", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    table = Table("program", "one process, s", f"{given.workers} workers, s", "times as fast", "results")
    for name in FLOWS:
        one, several = measure(name, [1, given.workers], given.deltas, given.rows)
        same = "equal" if one.rows == several.rows else "DIFFERENT"
        table.add_row(
            name, f"{one.seconds:.2f}", f"{several.seconds:.2f}", f"{one.seconds / several.seconds:.2f}", same
        )
    Console().print(table)


if __name__ == "__main__":
    main()
