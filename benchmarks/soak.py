"""A query that runs for minutes on steady input: does its state, its memory or its time per micro-batch grow?

    python -m benchmarks.soak --minutes 10
    python -m benchmarks.soak --minutes 60 --rows 20000

Windows of a sequence, an interval join of two sequences, and sums joined with a table whose rows change. The last two
are upserted to a database. As many keys, open windows and retained rows are there at all times, so everything should
stay as it is. It prints a line a minute, and a verdict for each figure.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw

import flo
import flo.spark
from benchmarks.process_memory import resident, started
from flo.spark.driver.query import Query
from flo.spark.session import embedded

KEYS = 10_000
WITHIN, KEPT_SECONDS = 2, 5
"""An event accepts the offers of its key of the last seconds. Rows are retained for longer."""
KEPT = 10
"""The versions that are kept: of changes, of the state, and of Spark's own log."""
AT_LEAST = 8
"""Samples, however short the run is."""
GROWTH = 0.15
"""A figure grows if it is by so much larger at the end of the second half than at its beginning, by a straight line."""


class Event(NamedTuple):
    time: int
    k: int
    v: int


class Price(NamedTuple):
    k: int
    price: int
    at: int


class Offer(NamedTuple):
    k: int
    made: int


def soak_flow() -> flo.Flow:
    flow = flo.Flow("soak")
    events = flow.input("events", flo.Sequence[Event])
    offers = flow.input("offers", flo.Sequence[Offer])
    prices = flow.table("prices", Price, key="k", order_by="at")
    windows = events.tumbling(10, time="time", lateness=2)
    sums_of_windows = windows.nest(lambda w: w.key_by("k").per_key(lambda s: s.map("v").sum()).entries())
    flow.output("closed", sums_of_windows.flatten())
    flow.output("late", windows.late)
    sums = events.to_zset().group_by("k").agg(v=flo.sum("v"))
    flow.output("worth", sums.join(prices, "k", "k", into={"k": "k", "v": "v", "price": "price"}))
    seen, made = events.clock("time"), offers.clock("made")
    clock = flo.min_clock(seen, made)
    recent = seen.rows.to_zset().retain("time", clock, KEPT_SECONDS)
    soon = (nw.col("time") - nw.col("made")).is_between(0, WITHIN)
    pairs = recent.join(made.rows.to_zset().retain("made", clock, KEPT_SECONDS), on="k", where=soon)
    flow.output("accepted", pairs.group_by("k").agg(n=flo.count()))
    return flow


@dataclass(frozen=True)
class Sample:
    """What was measured since the sample before, and how large everything is."""

    batch: int
    rows: int
    milliseconds: float
    """The median of the micro-batches."""
    slowest: float
    written: float
    """Bytes of state that a micro-batch wrote, the most."""
    state_bytes: float
    state_files: int
    spark_files: int
    change_files: int
    driver: float
    jvm: float
    workers: float


TITLES = {
    "batch": "micro-batch",
    "rows": "rows",
    "milliseconds": "ms, median",
    "slowest": "ms, most",
    "written": "written, most",
    "state_bytes": "state",
    "state_files": "files of the state",
    "spark_files": "of Spark",
    "change_files": "of changes",
    "driver": "driver",
    "jvm": "JVM",
    "workers": "workers",
}
BYTES = ("written", "state_bytes", "driver", "jvm", "workers")
WATCHED = ("milliseconds", "state_bytes", "state_files", "spark_files", "change_files", "driver", "jvm", "workers")


def start(spark: Any, folder: Path, rows: int) -> Query:
    """The query on three streams of Spark's own source."""
    few = max(1, rows // 10)
    events = _rows(spark, rows, "value", f"value div {rows} as time", f"value % {KEYS} as k", "value % 1000 as v")
    offers = _rows(spark, few, "value", f"value div {few} as made", f"(value * 7) % {KEYS} as k")
    prices = _rows(spark, few, f"(value * 7) % {KEYS} as k", "value % 100 as price", "value as at")
    database = {"uri": str(folder / "soak.db")}
    sinks = {
        "closed": flo.spark.Changes(str(folder / "closed"), keep=KEPT),
        "late": "noop",
        "worth": flo.spark.Upsert("sqlite", "worth", database),
        "accepted": flo.spark.Upsert("sqlite", "accepted", database),
    }
    return (
        soak_flow()
        .on(spark)
        .start(
            {"events": events, "offers": offers, "prices": prices},
            sinks,
            checkpoint=folder / "checkpoint",
            order={"events": "value", "offers": "value"},
            keep=KEPT,
        )
    )


def _rows(spark: Any, rows: int, *columns: str) -> Any:
    return spark.readStream.format("rate").option("rowsPerSecond", rows).load().selectExpr(*columns)


def samples(query: Query, folder: Path, minutes: float) -> Iterator[Sample]:
    """A sample each minute, or more often in a short run."""
    count = max(AT_LEAST, round(minutes))
    last = -1
    for _ in range(count):
        query.wait(minutes * 60 / count)
        new = [each for each in query.progress if each.version > last] or [query.progress[-1]]
        last = new[-1].version
        took, memory = [each.seconds * 1e3 for each in new], _memory()
        state, logs = _sizes(folder / "checkpoint" / "state"), _sizes(folder / "checkpoint" / "spark")
        changes = _sizes(folder / "closed")
        yield Sample(
            last,
            sum(sum(each.taken.values()) for each in new),
            statistics.median(took),
            max(took),
            max(each.written for each in new),
            sum(state),
            len(state),
            len(logs),
            len(changes),
            *(memory[who] for who in ("driver", "jvm", "workers")),
        )


def _sizes(under: Path) -> list[int]:
    found = []
    for file in under.rglob("*"):
        try:
            if file.is_file():
                found.append(file.stat().st_size)
        except FileNotFoundError:  # removed while we look
            continue
    return found


def _shown(name: str, value: float) -> str:
    return f"{value / 1e6:,.1f} MB" if name in BYTES else f"{value:,.0f}"


def verdicts(found: list[Sample], minutes: float) -> Iterator[list[str]]:
    """For each figure whether it is flat or grows in the second half, and by how much in an hour."""
    half = found[len(found) // 2 :]
    for name in WATCHED:
        values = [float(getattr(each, name)) for each in half]
        slope = statistics.linear_regression(range(len(values)), values).slope
        start = max(1.0, statistics.mean(values) - slope * (len(values) - 1) / 2)
        grown = slope * (len(values) - 1) / start
        hourly = slope * len(found) / minutes * 60
        sign = "+" if hourly >= 0 else "-"
        yield [TITLES[name], "grows" if grown > GROWTH else "flat", f"{grown:+.0%}", sign + _shown(name, abs(hourly))]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rows", type=int, default=5_000, help="events in a second")
    given = parser.parse_args(arguments)
    spark = embedded("soak", cores=2)
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", str(KEPT))
    try:
        with tempfile.TemporaryDirectory(prefix="flo-soak-") as temporary:
            query = start(spark, Path(temporary), given.rows)
            try:
                found = _watch(query, Path(temporary), given.minutes)
            finally:
                query.stop()
    finally:
        spark.stop()
    print("\n| figure | verdict | second half | in an hour |\n|---|---|---|---|")
    for row in verdicts(found, given.minutes):
        print(f"| {' | '.join(row)} |")


def _watch(query: Query, folder: Path, minutes: float) -> list[Sample]:
    while not query.progress:
        query.wait(1)
    time.sleep(5)  # the first micro-batches compile
    print(f"| {' | '.join(TITLES.values())} |\n|{'---|' * len(TITLES)}")
    found = []
    for sample in samples(query, folder, minutes):
        found.append(sample)
        print(f"| {' | '.join(_shown(each.name, getattr(sample, each.name)) for each in fields(sample))} |")
        sys.stdout.flush()
    return found


def _memory() -> dict[str, int]:
    """Of this process and those below it: what is resident and not of files."""
    found = {"driver": resident(os.getpid()), "jvm": 0, "workers": 0}
    for pid, name in started().items():
        found["jvm" if name == "java" else "workers"] += resident(pid)
    return found


if __name__ == "__main__":
    main()
