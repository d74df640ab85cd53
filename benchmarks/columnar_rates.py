"""How fast a program on tables is beside Polars over all of the data at once, and what its checkpoints cost."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from polars.testing import assert_frame_equal
from rich.table import Table

import flo
from benchmarks.columnar_programs import WEIGHTS, Workload, content
from benchmarks.columnar_spark import Spark

ROUNDS = 3


@dataclass(frozen=True)
class Pace:
    """A run: what came out, delta by delta, and how long each delta took."""

    pulled: list[pa.Table]
    seconds: list[float]

    @property
    def total(self) -> float:
        return sum(self.seconds)


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


def processors(run: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of all cores together: the same on a busy machine, where a program of many threads waits longer."""
    started = time.process_time()
    result = run()
    return time.process_time() - started, result


def paced(workload: Workload, turned: Callable[[int, Any], Any] = lambda number, loop: loop, workers: int = 1) -> Pace:
    """Delta by delta: pushed, and what came of it pulled. `turned` gives the loop to go on with."""
    loop: Any = workload.flow().on(flo.here, workers=workers).loop()
    pulled, took = [], []
    for number, delta in enumerate(workload.deltas):

        def move(delta: dict[str, Any] = delta, loop: Any = loop) -> pa.Table:
            for name, data in delta.items():
                loop.push(name, data)
            return loop.pull(workload.output)

        each, table = seconds(move)
        took.append(each)
        pulled.append(table)
        loop = turned(number, loop)
    if "late" in loop._outputs:
        assert loop.pull("late").num_rows == 0
    return Pace(pulled, took)


def check(workload: Workload, pulled: list[pa.Table], found: pl.DataFrame) -> int:
    """All that was pulled is, added up, what Polars found; gives the rows of that."""
    ours = pl.from_arrow(pa.concat_tables(pulled))
    assert isinstance(ours, pl.DataFrame)
    expected = workload.expected(found)
    assert_frame_equal(content(ours), expected, check_dtypes=False)
    return int(expected[WEIGHTS].sum())


def rates(workloads: list[Workload], spark: Spark | None) -> Table:
    workers = os.cpu_count() or 1
    title = f"{len(workloads[0].deltas)} deltas in turn, best of {ROUNDS} rounds; Polars has all of the data at once"
    table = Table(title=title, title_justify="left")
    columns = ("program", "rows in", "rows out", "flo", "Polars", "ratio", "of CPU time", "last delta / median")
    for column in (*columns, f"flo, {workers} workers", "ratio"):
        table.add_column(column, justify="left" if column == "program" else "right")
    if spark is not None:
        table.add_column("Spark")
        table.add_column("ratio")
    for workload in workloads:
        paces, shared, polars = [], [], []
        cores: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            at_work, pace = processors(lambda workload=workload: paced(workload))
            paces.append(pace)
            cores[0].append(at_work)
            shared.append(paced(workload, workers=workers))
            at_work, (took, found) = processors(lambda workload=workload: seconds(workload.at_once))
            polars.append(took)
            cores[1].append(at_work)
        best, least = min(paces, key=lambda pace: pace.total), min(polars)
        out, several = check(workload, best.pulled, found), min(shared, key=lambda pace: pace.total)
        check(workload, several.pulled, found)
        cells = [rate(workload.rows / best.total), rate(workload.rows / least), f"{least / best.total:.2f}"]
        cells.append(f"{min(cores[1]) / min(cores[0]):.2f}")
        last = best.seconds[-1] / statistics.median(best.seconds)
        beside = spark.beside(workload, out, best.total) if spark is not None else ()
        cells += [f"{last:.2f}", rate(workload.rows / several.total), f"{least / several.total:.2f}"]
        table.add_row(workload.name, f"{workload.rows:,}", f"{out:,}", *cells, *beside)
    return table


def checkpoints(workloads: list[Workload], folder: Path) -> Table:
    """A checkpoint after every delta, and in the middle another process's loop goes on from the last one."""
    title = "a checkpoint after every delta, resumed in the middle, with the same result"
    table = Table(title=title, title_justify="left")
    columns = (
        "program",
        "delta as a table",
        "written, median",
        "written, most",
        "written / deltas",
        "state",
        "restore",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "program" else "right")
    for workload in workloads:
        place = folder / workload.name
        written: list[int] = []
        restored: list[float] = []

        def turned(
            number: int,
            loop: Any,
            workload: Workload = workload,
            place: Path = place,
            written: list[int] = written,
            restored: list[float] = restored,
        ) -> Any:
            written.append(loop.checkpoint(place).bytes)
            if number != len(workload.deltas) // 2:
                return loop
            resumed = workload.flow().on(flo.here).loop()
            restored.append(seconds(lambda: resumed.restore(place))[0])
            return resumed

        pace = paced(workload, turned)
        check(workload, pace.pulled, workload.at_once())
        size = statistics.median(_bytes(delta) for delta in workload.deltas)
        share = sum(written) / (size * len(written))
        held = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        cells = [megabytes(n) for n in (size, statistics.median(written), max(written))]
        table.add_row(workload.name, *cells, f"{share:.2f}", megabytes(held), f"{restored[0] * 1e3:.0f} ms")
    return table


def rate(rows: float) -> str:
    return f"{rows / 1e6:.2f}M/s"


def megabytes(count: float) -> str:
    return f"{count / 1e6:,.2f} MB"


def _bytes(delta: dict[str, Any]) -> int:
    """The size of a delta as Arrow tables."""
    tables = (data if isinstance(data, pa.Table) else pl.read_parquet(data).to_arrow() for data in delta.values())
    return sum(int(table.nbytes) for table in tables)
