"""Partitioned logs on Spark: the same windows, sums and late rows, however partitions and micro-batches are cut."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo
from flo.shards.tasks.shard_record import ShardRecord
from tests.quick import is_thorough
from tests.rescaling import rescale
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


def log_of(rng: random.Random, length: int = 24) -> Log:
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


def ranked(seen: int, click: Click) -> int:
    return seen + click.at


def sums_in(cut: Any) -> Any:
    """The sums of the windows that a function cuts rows into."""
    return lambda rows: cut(rows).nest(lambda window: window.map(at).sum()).flatten()


def keyed() -> flo.Flow:
    """A running sum for each user, whose clicks are in one partition; and windows of each, by the clock of all."""
    flow = flo.Flow("users")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=PARTITIONS)
    flow.output("running", clicks.key_by("user").per_key(lambda each: each.scan(0, ranked)).entries())
    clock = clicks.clock("at", 3)
    for name, cut in {
        "tumbling": lambda rows: rows.tumbling(10, clock=clock),
        "sliding": lambda rows: rows.sliding(10, 4, clock=clock),
        "sessions": lambda rows: rows.session(4, clock=clock),
    }.items():
        sums = clock.rows.key_by("user").per_key(sums_in(cut))
        flow.output(name, sums.entries())
    flow.output("of all", sums_in(lambda rows: rows.sliding(10, 4, clock=clock))(clock.rows))
    flow.output("clock", clock)
    flow.output("behind", clock.late)
    return flow


def plain(found: Any) -> Any:
    """An output on tables as it is on values."""
    if not hasattr(found, "to_pylist"):
        return found
    rows, counted = found.to_pylist(), Counter[Any]()
    if "_weight" not in found.column_names:
        return [row["value"] for row in rows]
    for row in rows:
        weight, values = row.pop("_weight"), tuple(row.values())
        counted[Click(*values) if "at" in row else values] += weight
    return counted


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
    return {name: plain(found) for name, found in loop.result().items()}


def in_tasks(flow: flo.Flow, log: Log, rng: random.Random, folder: Path) -> dict[str, Any]:
    """With other shards from the middle on."""
    query, parts = Simulated(flow, folder, rng.choice([1, 2, 3, 5]), seed=rng.randint(0, 1000)), cut_log(log, rng)
    for number, (part, start) in enumerate(parts):
        if number == len(parts) // 2:
            rescale(str(folder), rng.choice([2, 3, 4]))
            query = Simulated(flow, folder)
        query.turn({"clicks": part}, started={"clicks": start})
    return query.values()


@pytest.mark.parametrize("build", [windowed, keyed])
@pytest.mark.parametrize("seed", range(200 if is_thorough() else 1))
@pytest.mark.every(test=2)
def test_results_do_not_depend_on_how_partitions_are_interleaved(tmp_path: Path, seed: int, build: Any) -> None:
    """200 cuts of the same logs, on every engine."""
    log, flow, rng = log_of(random.Random(seed % 10)), build(), random.Random(seed)
    whole = dict(flow.run(clicks=log))
    assert all(whole.values())  # every kind of window closes, and every kind has late rows
    assert on_values(flow, log, rng) == whole
    assert on_tables(flow, log, rng) == whole
    assert in_tasks(flow, log, rng, tmp_path) == whole


def test_a_key_in_two_partitions_is_an_error_on_every_engine(tmp_path: Path) -> None:
    flow = flo.Flow("users")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
    flow.output("clicks", clicks.key_by("user").entries())
    log = {0: [Click(1, 1), Click(2, 2)], 1: [Click(3, 1), Click(2, 5)]}
    for run in (flow.run, flow.on(flo.here).run):
        with pytest.raises(flo.ElementError, match="the key 2 is in the partitions 0 and 1"):
            run(clicks=log)
    query = Simulated(flow, tmp_path, 3)
    query.turn({"clicks": {0: log[0]}})
    with pytest.raises(flo.ElementError, match="the key 2 is in the partitions 0 and 1"):
        query.turn({"clicks": {1: log[1]}})


def test_a_partition_that_is_added_counts_from_its_first_row_on(tmp_path: Path) -> None:
    """Its rows are late by the clock of the whole until then."""
    flow = flo.Flow("clicks")
    windows = flow.input("clicks", flo.Partitioned[Click], partitions=1).tumbling(10, "at")
    flow.output("sums", windows.nest(lambda window: window.map(at).sum()).flatten())
    flow.output("late", windows.late)
    query = Simulated(flow, tmp_path, 3)
    query.turn({"clicks": {0: [Click(0, 3), Click(0, 25)]}})
    query.turn({"clicks": {0: [Click(0, 45)], 1: [Click(1, 8), Click(1, 21)]}})
    assert query.values() == {"sums": [3], "late": Counter({Click(1, 8): 1})}
    query.turn({"clicks": {1: [Click(1, 33), Click(1, 50)]}})
    assert query.values()["sums"] == [3, 46, 33]


def rest(click: Click) -> int:
    return 100 // click.at


@pytest.mark.parametrize(
    "verb",
    [
        lambda clicks: clicks.tumbling(10, rest),
        lambda clicks: clicks.sliding(10, 4, rest),
        lambda clicks: clicks.session(2, rest),
        lambda clicks: clicks.key_by(rest),
        lambda clicks: clicks.clock(rest),
    ],
)
def test_an_error_of_a_function_of_partitions_names_the_row(tmp_path: Path, verb: Any) -> None:
    flow = flo.Flow("clicks")
    found = verb(flow.input("clicks", flo.Partitioned[Click], partitions=2))
    nested = isinstance(found.collection, flo.Nested)
    flow.output("found", found.nest(lambda window: window.count()).flatten() if nested else found)
    log = {0: [Click(1, 1), Click(2, 5)], 1: [Click(3, 0)]}
    query = Simulated(flow, tmp_path, 3)
    for run in (lambda: flow.on(flo.here).run(clicks=log), lambda: query.turn({"clicks": log})):
        with pytest.raises(flo.FunctionError, match="raised ZeroDivisionError") as error:
            run()
        assert "Click(user=3, at=0)" in str(error.value)


def test_positions_are_compared_within_a_partition(tmp_path: Path) -> None:
    flow = windowed()
    query = Simulated(flow, tmp_path, 2)
    query.turn({"clicks": {0: [Click(0, 3)]}}, started={"clicks": 7})
    query.turn({"clicks": {1: [Click(0, 3)]}}, started={"clicks": 2})
    with pytest.raises(
        flo.ElementError,
        match=r"position 7 of partition 0 arrived after one at 7|two rows of partition 0 have the position 7",
    ):
        query.turn({"clicks": {0: [Click(0, 3)]}}, started={"clicks": 7})


def test_positions_of_each_partition_are_compared_across_turns() -> None:
    record, delivery = ShardRecord(), SimpleNamespace(name="numbers to one place")

    def place(*rows: tuple[int, int]) -> list[tuple[int, int]]:
        partitions, positions = zip(*rows, strict=True)
        table = pa.table({"partition": partitions, "@": positions})
        found = record.sort_partitions(delivery, table, "partition", "@").to_pylist()  # type: ignore[arg-type]
        return [(row["partition"], row["@"]) for row in found]

    assert place((1, 4), (0, 9), (0, 8), (1, 3)) == [(0, 8), (0, 9), (1, 3), (1, 4)]
    with pytest.raises(flo.ElementError, match="two rows of partition 0 have the position 9"):
        place((0, 9))
    with pytest.raises(flo.ElementError, match="position 3 of partition 1 arrived after one at 4"):
        place((1, 3), (0, 10))
    assert place((1, 5), (0, 10)) == [(0, 10), (1, 5)]


def test_windows_of_partitions_go_on_in_another_number_of_shards(tmp_path: Path) -> None:
    log, flow, rng = log_of(random.Random(3)), windowed(), random.Random(3)
    parts = cut_log(log, rng)
    for number, (part, start) in enumerate(parts):
        if number == len(parts) // 2:
            rescale(str(tmp_path), 5)
        query = Simulated(flow, tmp_path, 2 if number < len(parts) // 2 else 5, seed=number)
        query.turn({"clicks": part}, started={"clicks": start})
    assert query.values() == dict(flow.run(clicks=log))


def test_partitions_may_be_tables() -> None:
    log, flow = log_of(random.Random(4)), windowed()
    tables = {
        partition: pa.table({"user": [row.user for row in rows], "at": [row.at for row in rows]})
        for partition, rows in log.items()
    }
    found = flow.on(flo.here).run(clicks=tables)
    assert {name: plain(each) for name, each in found.items()} == dict(flow.run(clicks=log))


def streamed(spark: Any, folder: Path, parts: list[tuple[Log, int]]) -> Any:
    """A stream of files, one for each micro-batch, whose rows have Kafka's columns and are in no order."""
    folder.mkdir()
    for number, (part, start) in enumerate(parts):
        rows = [
            {"user": row.user, "at": row.at, "partition": partition, "offset": start + place}
            for partition, given in part.items()
            for place, row in enumerate(given)
        ]
        random.Random(number).shuffle(rows)
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        os.utime(path, (number, number))  # files come by their age
    columns = "user long, at long, partition long, offset long"
    return spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(folder))


@pytest.mark.parametrize("seed", range(20 if is_thorough() else 1))
def test_on_spark(spark: Any, tmp_path: Path, seed: int) -> None:
    """The last micro-batches of a log, or all of them."""
    log, flow = log_of(random.Random(seed)), windowed()
    parts = cut_log(log, random.Random(seed))
    parts = parts if is_thorough() else parts[-3:]
    frame = streamed(spark, tmp_path / "in", parts)
    query = flow.on(spark).start({"clicks": frame}, checkpoint=tmp_path / "state", trigger={"availableNow": True})
    assert query.wait(600)
    loop = flow.loop()
    for part, _ in parts:
        loop.push(clicks=part)
    loop.run()
    assert {name: query.view(name).value() for name in loop.result()} == dict(loop.result())


def test_the_columns_of_partitions_must_be_known(spark: Any, tmp_path: Path) -> None:
    flow = windowed()
    frame = spark.createDataFrame([], "user long, at long, source string, number long")
    with pytest.raises(flo.OrderError, match="which columns have the partition and the position"):
        flow.on(spark).run(clicks=frame)
    with pytest.raises(flo.ElementError, match="`source` of the input `clicks` is string; partitions must be integers"):
        flow.on(spark).run(clicks=frame, order={"clicks": ("source", "number")})
