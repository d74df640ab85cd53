"""Part of `make bench`: what grows with the program and with the shards.

    python -m benchmarks.growth --scale 0.1

- operators: filter, with_columns and group_by, one after the other, in one program
- views: groups of the same input, each with a filter of its own, in one program
- shards: three views with a checkpoint; each micro-batch has one row, and so touches one shard of each

The time of each step is CPU time. Every result is compared with the sums of numpy.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo

OPERATORS, VIEWS, SHARDS = (30, 300), (10, 100), (10, 1000)
ROWS, KEYS, PUSHES, VERBS = 1000, 50, 20, 3
VIEWS_IN_SHARDS = 3
"""The views of the program whose shards are counted."""


class Row(NamedTuple):
    k: int
    v: int


class Steps(NamedTuple):
    """Milliseconds of CPU time."""

    build: float
    start: float
    first: float
    """The push of all rows."""
    delta: float
    """The push of one row, on average."""


def chain(operators: int) -> flo.Flow:
    """So many operators, each after the other."""
    flow = flo.Flow("chain")
    stream: Any = flow.input("rows", flo.ZSet[Row])
    for number in range(operators // VERBS):
        kept = stream.filter(nw.col("v") > -1 - number).with_columns(v=nw.col("v") + 1)
        stream = kept.group_by("k").agg(v=flo.sum("v"))
    flow.output("view 0", stream)
    return flow


def views(count: int) -> flo.Flow:
    """So many views of one input."""
    flow = flo.Flow("views")
    rows = flow.input("rows", flo.ZSet[Row])
    for number in range(count):
        flow.output(f"view {number}", rows.filter(nw.col("v") >= number).group_by("k").agg(v=flo.sum("v")))
    return flow


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    result = work()
    return result, (time.process_time() - started) * 1e3


def measure(build: Callable[[], flo.Flow], sums: list[np.ndarray], **checkpoint: Any) -> Steps:
    """Pushes rows and then deltas to a program, and compares its views with the sums of each key."""
    flow, building = timed(build)
    on = flow.on(flo.here)
    run, starting = timed(lambda: on.start(**checkpoint) if checkpoint else on.loop())
    data = pa.table({"k": np.arange(ROWS) % KEYS, "v": np.arange(ROWS)})
    _, first = timed(lambda: run.push(rows=data))
    delta = pa.table({"k": [0], "v": [0]})
    _, deltas = timed(lambda: [run.push(rows=delta) for _ in range(PUSHES)])
    results = {} if checkpoint else run.result()
    for number, expected in enumerate(sums):
        name = f"view {number}"
        table = run.view(name).arrow() if checkpoint else results[name]
        found = dict(zip(table["k"].to_pylist(), table["v"].to_pylist(), strict=True))
        assert found == {key: int(each) for key, each in enumerate(expected)}, name
    if checkpoint:
        run.stop()
    return Steps(building, starting, first, deltas / PUSHES)


def sums_above(least: int) -> np.ndarray:
    """The sum of each key, of the rows whose value is at least this. The deltas add zeros to key 0."""
    values = np.arange(ROWS)
    return np.bincount(values % KEYS, np.where(values >= least, values, 0), KEYS)


def after_chain(operators: int) -> np.ndarray:
    """The first group_by adds up v + 1 of each row; those after it add 1 to the sum of each key."""
    counts = np.full(KEYS, ROWS // KEYS)
    counts[0] += PUSHES
    return sums_above(0) + counts + operators // VERBS - 1


def growth(scale: float) -> Table:
    table = Table(title="growth with the program and with the shards, CPU time", title_justify="left")
    for column in ("what", "how many", "build", "start", "1,000 rows", "one row"):
        table.add_column(column, justify="left" if column == "what" else "right")

    def add(what: str, count: int, steps: Steps) -> None:
        table.add_row(what, f"{count:,}", *(f"{each:,.1f} ms" for each in steps))

    measure(lambda: chain(VERBS), [after_chain(VERBS)])  # imports what it needs
    for count in (max(VERBS, int(each * scale)) for each in OPERATORS):
        add("operators", count, measure(partial(chain, count), [after_chain(count)]))
    for count in (max(2, int(each * scale)) for each in VIEWS):
        add("views", count, measure(partial(views, count), list(map(sums_above, range(count)))))
    for count in (max(2, int(each * scale)) for each in SHARDS):
        with tempfile.TemporaryDirectory() as folder:
            sums = list(map(sums_above, range(VIEWS_IN_SHARDS)))
            add("shards", count, measure(partial(views, VIEWS_IN_SHARDS), sums, checkpoint=folder, shards=count))
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the full size, such as 0.1")
    Console().print(growth(parser.parse_args(arguments).scale))


if __name__ == "__main__":
    main()
