"""What a checkpoint writes and how long a delta takes, if state is merged at once and if it is merged in parts.

    python -m benchmarks.merging                               # some minutes
    python -m benchmarks.merging --deltas 20 --rows 100000     # as in benchmarks.columnar

Equal deltas go into a join of two streams, a grouped sum, the first ten of all rows and windows that stay open, with
and without a key. A checkpoint follows each.
Both ways run in turn, delta by delta, and their results are compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import flo
from benchmarks.columnar_programs import WEIGHTS, Event, Row
from flo.tables.plan import plan
from flo.tables.state import merging
from flo.tables.state.trace import Trace


def join_flow() -> flo.Flow:
    flow = flo.Flow("join")
    one, other = (flow.input(name, flo.ZSet[Row]) for name in ("rows", "other"))
    flow.output("out", one.join(other, "k", "k", into={"k": "k", "v": "v", "w": "v_right"}))
    return flow


def sum_flow() -> flo.Flow:
    flow = flo.Flow("sum")
    flow.output("out", flow.input("rows", flo.ZSet[Row]).group_by("k").agg(v=flo.sum("v")))
    return flow


def top_flow() -> flo.Flow:
    flow = flo.Flow("top")
    flow.output("out", flow.input("rows", flo.ZSet[Row]).top(10, key="v"))
    return flow


def window_flow() -> flo.Flow:
    flow = flo.Flow("window")
    windows = flow.input("rows", flo.Sequence[Event]).tumbling(1 << 40, "time")
    flow.output("out", windows.nest(lambda w: w.key_by("k").per_key(lambda s: s.map("v").sum()).entries()).flatten())
    flow.output("late", windows.late)
    return flow


def keyed_window_flow() -> flo.Flow:
    flow = flo.Flow("windows of keys")

    def sums(rows: Any) -> Any:
        windows = rows.tumbling(1 << 40, "time")
        return windows.nest(lambda window: window.map("v").sum()).flatten(), windows.late

    out, late = flow.input("rows", flo.Sequence[Event]).key_by("k").per_key(sums)
    flow.output("out", out.entries())
    flow.output("late", late.entries())
    return flow


FLOWS = {
    "join": join_flow,
    "grouped sum": sum_flow,
    "top 10": top_flow,
    "open window": window_flow,
    "open windows of keys": keyed_window_flow,
}


@dataclass
class Side:
    """A loop that takes deltas in one of the two ways, and what it measured."""

    loop: Any
    folder: Path
    at_once: bool
    written: list[float] = field(default_factory=list)
    """Bytes of each checkpoint, as a multiple of those of the delta."""
    seconds: list[float] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    """The runs of the trace that has the most: each of them is searched."""

    def take(self, given: dict[str, pa.Table]) -> pa.Table:
        size = sum(table.nbytes for table in given.values())
        with _merging(self.at_once):
            began = time.perf_counter()
            self.loop.push(**given)
            pulled = self.loop.pull("out")
            saved = self.loop.checkpoint(self.folder)
            self.seconds.append(time.perf_counter() - began)
        self.written.append(saved.bytes / size)
        self.runs.append(max(len(trace.runs) for trace in _traces(self.loop)))
        return pulled

    def row(self) -> list[str]:
        took = sorted(self.seconds)
        numbers = [statistics.median(self.written), max(self.written), statistics.mean(self.written)]
        times = [statistics.median(took), took[min(len(took) - 1, int(0.99 * len(took)))], sum(took)]
        shown = [f"{number:.2f}" for number in numbers] + [f"{seconds * 1e3:,.0f} ms" for seconds in times]
        return [*shown, f"{statistics.mean(self.runs):.1f}", f"{max(self.runs)}"]


@contextmanager
def _merging(at_once: bool) -> Iterator[None]:
    with mock.patch.object(merging, "SMALLEST_PART", 1 << 62 if at_once else merging.SMALLEST_PART):
        yield


def _traces(loop: Any) -> Iterator[Trace]:
    for planned in plan(loop._loop.nodes):
        operator: Any = planned.node.operator
        values = (getattr(operator, each.name) for each in fields(operator))
        yield from (value for value in values if isinstance(value, Trace))


def delta(name: str, number: int, deltas: int, rows: int, rng: np.random.Generator) -> dict[str, pa.Table]:
    keys, numbers = rng.integers(0, deltas * rows // 4, rows), rng.integers(0, 1 << 30, rows)
    if name.startswith("open"):
        return {"rows": pa.table({"time": np.arange(rows) + number * rows, "k": keys, "v": numbers})}
    table = pa.table({"k": keys, "v": numbers, WEIGHTS: np.ones(rows, np.int64)})
    if name != "join":
        return {"rows": table}
    return {"rows": table, "other": table.set_column(0, "k", pa.array(rng.integers(0, deltas * rows // 4, rows)))}


def measure(name: str, deltas: int, rows: int, folder: Path) -> list[Side]:
    sides = [
        Side(FLOWS[name]().on(flo.here).loop(), folder / f"{name} {at_once}", at_once) for at_once in (True, False)
    ]
    rng = np.random.default_rng(1)
    for number in range(deltas):
        given = delta(name, number, deltas, rows, rng)
        one, other = (side.take(given) for side in sides[:: 1 if number % 2 else -1])
        assert one.num_rows == other.num_rows
        assert all(one[each].sort().equals(other[each].sort()) for each in one.column_names)
    return sides


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merging", description=__doc__)
    parser.add_argument("--deltas", type=int, default=100)
    parser.add_argument("--rows", type=int, default=20_000, help="of a delta")
    parser.add_argument("--only", choices=[*FLOWS], action="append")
    given = parser.parse_args(arguments)
    titles = ["program", "merged", "written / delta, median", "most", "mean"]
    titles += ["a delta, median", "99th percentile", "all", "runs, mean", "most"]
    print(f"{given.deltas} deltas of {given.rows:,} rows\n\n| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for name in given.only or FLOWS:
        with tempfile.TemporaryDirectory(prefix="flo-merging-") as temporary:
            for side in measure(name, given.deltas, given.rows, Path(temporary)):
                print(
                    f"| {name} | {'at once' if side.at_once else 'in parts'} | {' | '.join(side.row())} |", flush=True
                )


if __name__ == "__main__":
    main()
