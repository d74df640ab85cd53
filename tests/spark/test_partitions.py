"""Partitioned logs on Spark: the same windows, sums and late rows, however partitions and micro-batches are cut."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo
from tests.quick import is_thorough
from tests.spark.simulated import Simulated

PARTITIONS = 5


class Click(NamedTuple):
    user: int
    at: int


def at(click: Click) -> int:
    return click.at


def windowed() -> flo.Flow:
    """Windows of every kind, and what is late for each."""
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=PARTITIONS)
    for name, windows in {
        "tumbling": clicks.tumbling(10, "at", 3),
        "sliding": clicks.sliding(10, 4, "at", 3),
        "session": clicks.session(2, "at", 1),
    }.items():
        flow.output(name, windows.nest(lambda window: window.map(at).sum()).flatten())
        flow.output(f"{name} late", windows.late)
    return flow


Log = dict[int, list[Click]]


def log_of(rng: random.Random, length: int = 40) -> Log:
    """Rows of each partition, about in the order of time, and some far from it."""
    found: Log = {}
    for partition in range(PARTITIONS):
        time, rows = rng.randint(0, 20), []
        for _ in range(length):
            time += rng.choice([0, 1, 1, 2, 7])
            rows.append(Click(partition, max(0, time - rng.choice([0, 0, 0, 1, 2, 3, 5, 9, 14]))))
        found[partition] = rows
    return found


def cut_log(log: Log, rng: random.Random) -> list[tuple[Log, int]]:
    """The log in parts: of each partition some rows, or none. With each part, positions beyond those before."""
    left, parts = {partition: list(rows) for partition, rows in log.items()}, []
    while any(left.values()):
        sizes = {partition: rng.randint(0, rng.choice([5, 20])) for partition in left}
        part = {partition: rows[: sizes[partition]] for partition, rows in left.items() if rows[: sizes[partition]]}
        left = {partition: rows[sizes[partition] :] for partition, rows in left.items()}
        if part:
            parts.append((part, 100 * len(parts)))
    return parts


def on_values(flow: flo.Flow, log: Log, rng: random.Random) -> dict[str, Any]:
    loop = flow.loop()
    for part, _ in cut_log(log, rng):
        loop.push(clicks=part)
        loop.run()
    return dict(loop.result())


def on_tables(flow: flo.Flow, log: Log, rng: random.Random) -> dict[str, Any]:
    loop = flow.on(flo.here).loop()
    for part, _ in cut_log(log, rng):
        loop.push(clicks=part)
    found: dict[str, Any] = {}
    for name, table in loop.result().items():
        rows = table.to_pylist()
        if name.endswith("late"):
            found[name] = Counter()
            for row in rows:
                found[name][Click(row["user"], row["at"])] += row["_weight"]
        else:
            found[name] = [row["value"] for row in rows]
    return found


def in_tasks(flow: flo.Flow, log: Log, rng: random.Random, folder: Path) -> dict[str, Any]:
    query = Simulated(flow, folder, rng.choice([1, 2, 3, 5]), seed=rng.randint(0, 1000))
    for part, start in cut_log(log, rng):
        query.turn({"clicks": part}, started={"clicks": start})
    return query.values()


@pytest.mark.parametrize("seed", range(200 if is_thorough() else 5))
def test_windows_do_not_depend_on_how_partitions_are_interleaved(tmp_path: Path, seed: int) -> None:
    """200 cuts of the same log, on every engine."""
    log, flow, rng = log_of(random.Random(seed % 10)), windowed(), random.Random(seed)
    whole = dict(flow.run(clicks=log))
    assert all(whole.values())  # every kind of window closes, and every kind has late rows
    assert on_values(flow, log, rng) == whole
    assert on_tables(flow, log, rng) == whole
    assert in_tasks(flow, log, rng, tmp_path) == whole
