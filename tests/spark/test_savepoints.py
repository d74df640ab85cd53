"""Tags, copies and going back, with the offsets and the source logs of Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo
from flo.core.errors import CheckpointError
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.tags import add_tag
from flo.spark.view_source import ChangesReader, Request


@dataclass(frozen=True)
class Sale:
    shop: str
    price: int


def totals() -> flo.Flow:
    flow = flo.Flow("totals")
    given = flow.input("sales", flo.ZSet[Sale])
    flow.output("totals", given.group_by("shop").agg(n=flo.count(), total=flo.sum("price")))
    return flow


def write(folder: Path, numbers: range) -> None:
    """A file for each micro-batch. A query that runs sees it whole, and with its own time."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        rows = {"shop": ["abc"[number % 3], "d"], "price": [number, 1]}
        written = folder.with_name("written.parquet")
        pq.write_table(pa.table(rows), written)
        os.utime(written, (number, number))  # Spark takes the oldest file first
        written.rename(folder / f"{number:03}.parquet")


def expected(numbers: Any) -> set[tuple[str, int, int]]:
    rows = [sale for number in numbers for sale in (Sale("abc"[number % 3], number), Sale("d", 1))]
    return {
        (row["shop"], row["n"], row["total"]) for row in totals().on(flo.here).run(sales=rows)["totals"].to_pylist()
    }


def start(spark: Any, files: Path, where: Path, **options: Any) -> Any:
    frame = spark.readStream.schema("shop string, price bigint").option("maxFilesPerTrigger", 1).parquet(str(files))
    return totals().on(spark).start({"sales": frame}, checkpoint=where, **options)


def run(spark: Any, files: Path, where: Path, **options: Any) -> Any:
    query = start(spark, files, where, trigger={"availableNow": True}, **options)
    query.wait()
    return query


def rows(query: Any, version: int | None = None) -> set[tuple[str, int, int]]:
    return {(row["shop"], row["n"], row["total"]) for row in query.view("totals", version).arrow().to_pylist()}


@pytest.fixture
def forgetful(spark: Any) -> Iterator[None]:
    """Spark keeps two micro-batches, and compacts the logs of its sources often."""
    settings = {
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.fileSource.log.compactInterval": "3",
        "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
    }
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, earlier in before.items():
        if earlier is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, earlier)


@pytest.mark.thorough
def test_a_tag_keeps_offsets_that_spark_removes(spark: Any, tmp_path: Path, forgetful: None) -> None:
    files, where = tmp_path / "files", tmp_path / "checkpoint"
    write(files, range(2))
    run(spark, files, where, shards=2)
    assert add_tag(str(where), "early") == 1
    write(files, range(2, 7))
    query = run(spark, files, where)
    assert rows(query) == expected(range(7))
    assert rows(query, 1) == expected(range(2))
    assert not (where / "spark" / "offsets" / "1").exists()

    copy_checkpoint(str(where), str(tmp_path / "copy"), "early")
    (files / "005.parquet").unlink()
    left = [0, 1, 2, 3, 4, 6]
    for each in (where, tmp_path / "copy"):
        query = run(spark, files, each, keep=20, version="early" if each is where else None)
        assert rows(query) == expected(left)
        assert committed_versions(str(each)) == list(range(1, 6))
        assert rows(query, 1) == expected(range(2))
        assert rows(query, 3) == expected(range(4))
        assert list(Checkpoint(str(each)).problems()) == []
    with pytest.raises(CheckpointError, match="Spark no longer has the offsets of version 2"):
        run(spark, files, where, version=2)


def test_a_copy_runs_beside_the_original(spark: Any, tmp_path: Path) -> None:
    files, where, copy = tmp_path / "files", tmp_path / "checkpoint", tmp_path / "copy"
    write(files, range(3))
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        copy_checkpoint(str(where), str(copy))
    original = start(spark, files, where, shards=2, keep=10)
    try:
        original.process_all_available()
        assert copy_checkpoint(str(where), str(copy)) == 2
        other = start(spark, files, copy)
        try:
            write(files, range(3, 5))
            for query in (original, other):
                query.process_all_available()
                assert rows(query) == expected(range(5))
                assert [each.version for each in query.progress][-1] == 4
        finally:
            other.stop()
    finally:
        original.stop()
    back = run(spark, files, where, version=1)
    assert rows(back) == expected(range(5))
    assert back.progress[0].version == 2
    assert list(Checkpoint(str(where)).problems()) == []


@pytest.mark.thorough
def test_back_behind_micro_batches_of_spark(spark: Any, tmp_path: Path) -> None:
    """Versions that were pushed have no offsets: Spark then begins anew."""
    files, where = tmp_path / "files", tmp_path / "checkpoint"
    with totals().on(flo.here).start(checkpoint=where, shards=2) as local:
        local.push(sales=[Sale("pushed", 1)])
        add_tag(str(where), "pushed")
    write(files, range(2))
    run(spark, files, where)
    with totals().on(flo.here).start(checkpoint=where, keep=10) as local:
        local.push(sales=[Sale("pushed", 2)])
        local.push(sales=[Sale("pushed", 3)])
    write(files, range(2, 3))
    assert rows(run(spark, files, where, keep=10)) == expected(range(3)) | {("pushed", 3, 6)}
    assert rows(run(spark, files, where, keep=10, version=3)) == expected(range(3)) | {("pushed", 2, 3)}
    assert rows(run(spark, files, where, version="pushed")) == expected(range(3)) | {("pushed", 1, 1)}


def test_a_stream_that_has_read_abandoned_versions_ends(tmp_path: Path) -> None:
    def start(**options: Any) -> Any:
        return totals().on(flo.here).start(checkpoint=tmp_path, keep=10, **options)

    request = Request.of({"path": str(tmp_path), "view": "totals", "changes": "true"})
    with start() as local:
        for price in range(4):
            local.push(sales=[Sale("a", price)])
    reader = ChangesReader(request, request.schema())
    offsets = [reader._offset(version) for version in range(4)]
    assert reader.latestOffset() == offsets[3]
    with start(version=1) as local:
        for price in range(3):
            local.push(sales=[Sale("b", price)])
    assert reader.initialOffset() == {"version": -1, "checkpoint": offsets[0]["checkpoint"]}
    assert reader.partitions(offsets[1], reader.latestOffset())
    for start_at, end in ((offsets[2], reader.latestOffset()), (offsets[1], offsets[3])):
        with pytest.raises(CheckpointError, match="went back to a version before them"):
            reader.partitions(start_at, end)
