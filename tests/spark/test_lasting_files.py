"""Streaming files whose micro-batches share what does not change are the same files, rows and logs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from flo.shards.plan.rewrites import rewrites
from flo.spark.driver.lasting_files import NAME
from flo.sql.java import java_package
from tests.spark.sources import files

AVAILABLE = {"availableNow": True}
PIECES = [pa.table({"value": pa.array(each, pa.int64())}) for each in ([1, 2], [3, -4], [], [5, 2**62], [1])]
INDEX = f"{NAME}$Files"


class Number(NamedTuple):
    value: int


def start(spark: Any, where: Path, rows: Any, **options: Any) -> Any:
    flow = flo.Flow("numbers")
    flow.output("counts", flow.input("numbers", flo.ZSet[Number]).group_by("value").agg(n=flo.count()))
    return flow.on(spark).start({"numbers": rows}, checkpoint=where, **options)


def last_location(query: Any) -> tuple[str, list[str], int]:
    """Of the last micro-batch: the class that has the files, these, and how many bytes they have."""
    leaves = query._query._jsq.streamingQuery().lastExecution().logical().collectLeaves()
    location = leaves.head().relation().location()
    return location.getClass().getName().rpartition(".")[2], list(location.inputFiles()), location.sizeInBytes()


def logs(where: Path) -> dict[str, list[str]]:
    """What Spark has written of offsets and of the files of sources, without the times."""
    found = [each for each in (where / "spark").rglob("*") if each.is_file() and each.parent.name in ("0", "offsets")]
    return {
        str(each.relative_to(where)): [line for line in each.read_text().splitlines() if "batchWatermarkMs" not in line]
        for each in found
        if not each.name.endswith(".crc")
    }


@pytest.fixture
def plainly(monkeypatch: Any) -> Iterator[Any]:
    """Switches it off."""
    return lambda: monkeypatch.setattr(rewrites, "lasting_files", False)


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_files_rows_and_logs_are_those_of_spark(spark: Any, tmp_path: Path, plainly: Any, kind: str) -> None:
    rows = files(spark, PIECES, tmp_path / "numbers")
    if kind == "json":
        folder = tmp_path / "texts"
        folder.mkdir()
        for number, piece in enumerate(PIECES):
            text = "\n".join(f'{{"value": {value}}}' for value in piece["value"].to_pylist())
            (folder / f"{number} é.json").write_text(text)
            os.utime(folder / f"{number} é.json", (number, number))  # Spark takes the oldest file first
        rows = spark.readStream.schema("value long").option("maxFilesPerTrigger", 1).json(str(folder))
    else:  # Spark skips a file without a byte
        (tmp_path / "numbers" / "002.parquet").write_bytes(b"")
        os.utime(tmp_path / "numbers" / "002.parquet", (2, 2))
    ours = start(spark, tmp_path / "ours", rows, trigger=AVAILABLE)
    assert ours.wait()
    plainly()
    own = start(spark, tmp_path / "own", rows, trigger=AVAILABLE)
    assert own.wait()
    assert ours.view("counts").value() == own.view("counts").value()
    assert [each.taken for each in ours.progress] == [each.taken for each in own.progress]
    assert [each["numInputRows"] for each in ours._query.recentProgress] == [2, 2, 0, 2, 1]
    assert logs(tmp_path / "ours") == logs(tmp_path / "own")
    (here, *found), (there, *wanted) = last_location(ours), last_location(own)
    assert (here, there) == (INDEX, "InMemoryFileIndex")
    assert found == wanted


def test_a_checkpoint_goes_on_with_the_other(spark: Any, tmp_path: Path, plainly: Any) -> None:
    rows = files(spark, PIECES[:2], tmp_path / "numbers")
    assert start(spark, tmp_path / "c", rows, trigger=AVAILABLE).wait()
    plainly()
    files(spark, PIECES, tmp_path / "numbers")
    query = start(spark, tmp_path / "c", rows, trigger=AVAILABLE)
    assert query.wait()
    assert dict(query.view("counts").value()).keys() == {(1, 2), (2, 1), (3, 1), (-4, 1), (5, 1), (2**62, 1)}


def test_a_file_that_is_gone_is_left_to_spark(spark: Any, tmp_path: Path) -> None:
    """Spark lists the files when the query starts, and skips those that are gone later."""

    def take(changes: pa.Table, version: int) -> None:
        (tmp_path / "numbers" / "001.parquet").unlink(missing_ok=True)

    rows = files(spark, PIECES, tmp_path / "numbers")
    query = start(spark, tmp_path / "c", rows, trigger=AVAILABLE, outputs={"counts": take})
    assert query.wait()
    assert [each["numInputRows"] for each in query._query.recentProgress] == [2, 0, 0, 2, 1]
    assert last_location(query)[0] == INDEX


def test_folders_that_name_columns_are_left_to_spark(spark: Any, tmp_path: Path) -> None:
    for number in range(3):
        frame = spark.createDataFrame([(number,)], "n long")
        frame.write.parquet(str(tmp_path / f"numbers/value={number}"))
    rows = spark.readStream.schema("n long, value long").option("maxFilesPerTrigger", 1)
    query = start(spark, tmp_path / "c", rows.parquet(str(tmp_path / "numbers")), trigger=AVAILABLE)
    assert query.wait()
    assert sorted(row.value for row, _ in query.view("counts").value().items()) == [0, 1, 2]
    assert last_location(query)[0] == "InMemoryFileIndex"


def test_settings_that_change_reach_the_reader(spark: Any, tmp_path: Path) -> None:
    """Hadoop's settings may have keys for a store, which are renewed while a query runs."""
    folder, hadoop = tmp_path / "numbers", spark.sparkContext._jsc.hadoopConfiguration()
    rows = files(spark, PIECES[:1], folder)
    query = start(spark, tmp_path / "c", rows)
    readers = []

    def read(count: int) -> Any:
        files(spark, PIECES[:count], folder)
        query.process_all_available()
        files_of_batch = query._query._jsq.streamingQuery().lastExecution().logical().collectLeaves().head()
        made = files_of_batch.relation().fileFormat()
        return java_package("org.apache.commons.lang3.reflect").FieldUtils.readField(made, "reader", True)

    try:
        query.process_all_available()
        readers = [read(2), read(4)]
        hadoop.set("flo.test", "7")
        readers.append(read(5))
    finally:
        hadoop.unset("flo.test")
        query.stop()
    assert readers[0].equals(readers[1])
    assert not readers[1].equals(readers[2])
