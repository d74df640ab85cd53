"""How much faster shards in worker processes are than one process: a join, and sums of tumbling windows.

    python -m benchmarks.workers                        # two minutes
    python -m benchmarks.workers --load 500000 --rows 100000 --workers 2

The same deltas go into both, push by push in turn; the results are compared. The first push is a load of many rows,
and pushes of some rows follow. The last program has about as many groups as rows, so that no sum makes them fewer.

Each side runs in a process of its own, which is new: memory that a process has used before is faster.

Two figures for each: wall-clock time, which other programs on the machine change; and the critical path, the processor
time of the driver and, of each question to the workers, that of the one which took longest. The driver is one of them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo
from flo.local.sharded import WorkersLoop
from flo.local.table_loop import TableLoop
from flo.local.worker import ForkedWorker
from flo.local.workers import Workers

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


def window_flow(size: int) -> flo.Flow:
    flow = flo.Flow("windows")
    rows = flow.input("sales", flo.ZSet[Sale]).tumble(size, "id")
    flow.output("windows", rows.group_by("shop", "window_start").agg(n=flo.count(), total=flo.sum("price")))
    return flow


def sales(first: int, rows: int) -> pa.Table:
    draw = np.random.default_rng(first)
    ids = np.arange(first, first + rows)
    return pa.table({"id": ids, "shop": draw.integers(0, KEYS, rows), "price": draw.integers(0, 1000, rows)})


SHOPS = pa.table({"shop": np.arange(KEYS), "city": np.arange(KEYS) % 500})
FLOWS: dict[str, Callable[[], flo.Flow]] = {
    "join": join_flow,
    "windowed sums": lambda: window_flow(250_000),
    "as many groups as rows": lambda: window_flow(1_000),
}


def processor_seconds(process: int) -> float:
    """The processor time of a process so far."""
    tasks = f"/proc/{process}/task"
    return sum(int(open(f"{tasks}/{each}/schedstat").read().split()[0]) for each in os.listdir(tasks)) / 1e9


class MeasuredLoop:
    """A loop, with the time of its pushes."""

    def __init__(self, flow: flo.Flow, workers: int) -> None:
        self.loop: TableLoop = flow.on(flo.here, workers=workers).loop()
        self.wall = self.critical = 0.0
        if isinstance(self.loop._loop, WorkersLoop):
            self._measure_questions(self.loop._loop.executor)

    def _measure_questions(self, workers: Workers) -> None:
        answers = workers._answers

        def measured(asked: list[Any]) -> list[Any]:
            forked = [each.process.pid or 0 for each in workers.workers if isinstance(each, ForkedWorker)]
            started = time.process_time()
            before = list(map(processor_seconds, forked))
            asks = time.process_time()
            answered = answers(asked)
            own = time.process_time() - asks
            longest = max(own, *map(float.__sub__, map(processor_seconds, forked), before))
            self.critical += longest - (time.process_time() - started)  # to measure is no part of it
            return answered

        workers._answers = measured  # type: ignore[method-assign]

    def push(self, table: pa.Table) -> None:
        started, spent = time.perf_counter(), time.process_time()
        self.loop.push(sales=table)
        self.wall += time.perf_counter() - started
        self.critical += time.process_time() - spent

    def seconds(self) -> tuple[float, float]:
        """The seconds since this was last asked for."""
        seconds = self.wall, self.critical
        self.wall = self.critical = 0.0
        return seconds

    def rows(self) -> list[str]:
        return sorted(map(str, next(iter(self.loop.result().values())).to_pylist()))

    def stop(self) -> None:
        if isinstance(self.loop._loop, WorkersLoop):
            self.loop._loop.executor.stop()


def serve(name: str, workers: int, questions: Connection) -> None:
    """Measure one side: push the sales (first id, rows) that are asked for, or give the rows of the result."""
    measured = MeasuredLoop(FLOWS[name](), workers)
    if name == "join":
        measured.loop.push(shops=SHOPS)
    for tables in iter(questions.recv, None):
        for first, count in tables:
            measured.push(sales(first, count))
        questions.send(measured.seconds() if tables else measured.rows())
    measured.stop()


class Side:
    """One side, in a new process."""

    def __init__(self, name: str, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._questions, others = context.Pipe()
        self._process = context.Process(target=serve, args=(name, workers, others))
        self._process.start()
        others.close()

    def ask(self, tables: list[tuple[int, int]]) -> Any:
        self._questions.send(tables)
        return self._questions.recv()

    def stop(self) -> None:
        self._questions.send(None)
        self._process.join()


def measure(name: str, workers: int, load: int, deltas: int, rows: int) -> tuple[dict[str, list[Any]], bool]:
    """The seconds of one process and of workers, by what was pushed; and whether the results are equal."""
    sides = [Side(name, count) for count in (1, workers)]
    pushes = {f"a load of {load:,} rows": [(0, load)]} if load else {}
    pushes[f"{deltas} × {rows:,} rows"] = [(load + number * rows, rows) for number in range(deltas)]
    seconds: dict[str, list[Any]] = {}
    for what, tables in pushes.items():
        taken: list[list[tuple[float, float]]] = [[] for _ in sides]
        for table in tables:
            for figures, side in zip(taken, sides, strict=True):
                figures.append(side.ask([table]))
        seconds[what] = [tuple(map(sum, zip(*figures, strict=True))) for figures in taken]
    one, several = (side.ask([]) for side in sides)
    for side in sides:
        side.stop()
    return seconds, one == several


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--load", type=int, default=3_000_000, help="rows of the first push; 0 for none")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each further push")
    parser.add_argument("--deltas", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    table = Table(
        "program", "pushed", "one process, s", f"{given.workers} workers, s", "wall", "critical path", "results"
    )
    for name in FLOWS:
        measured, equal = measure(name, given.workers, given.load, given.deltas, given.rows)
        for what, both in measured.items():
            figures = [f"{wall:.2f} ({critical:.2f})" for wall, critical in both]
            ratios = [f"{before / after:.2f}" for before, after in zip(*both, strict=True)]
            table.add_row(name, what, *figures, *ratios, "equal" if equal else "DIFFERENT")
    Console().print("Seconds of wall-clock time, in parentheses of the critical path; how many times as fast.", table)


if __name__ == "__main__":
    main()
