"""Small micro-batches run in one task. What they give, and the states that they leave, are those of many tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructField, StructType

from flo.spark.driver import micro_batches
from flo.spark.driver.inputs import share_columns
from flo.spark.driver.lasting_tasks import LastingTask, rdd_of
from flo.spark.driver.micro_batches import SparkMicroBatches
from tests.spark.harness import fed, values
from tests.spark.shops import DATA, everything, expected, merged, sales, snapshot, sums
from tests.spark.simulated import InOrder, Simulated


class InOneTask(InOrder):
    def in_one_task(self) -> bool:
        return True


def test_states_and_results_are_those_of_many_tasks(tmp_path: Path) -> None:
    many, one = (Simulated(everything(), tmp_path / name, shards=3) for name in ("many", "one"))
    one.free = InOneTask()
    for data in DATA:
        many.turn(data)
        one.turn(data)
    assert one.values() == expected(4)
    assert snapshot(str(tmp_path / "one")) == snapshot(str(tmp_path / "many"))


def test_inputs_share_columns_of_the_same_type() -> None:
    assert share_columns([["long", "text", "long"], ["text", "text"], ["date", "long"]]) == [[0, 1, 2], [1, 3], [4, 0]]


def test_inputs_with_many_partitions_are_read_by_tasks_of_their_own(
    spark: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(micro_batches, "READ_TOGETHER", 0)
    folders, read_inputs = [], SparkMicroBatches.read_inputs

    def noted(self: SparkMicroBatches, rows: Any, batch: Any = None, task: Any = None) -> Any:
        folders.append(batch.blobs)
        return read_inputs(self, rows, batch, task)

    monkeypatch.setattr(SparkMicroBatches, "read_inputs", noted)
    pieces = [sales(100 * version, 5) for version in range(3)]
    query = fed(spark, sums(), {"sales": pieces}, tmp_path)
    assert folders[-1] is None  # there is one for blobs while stages run
    assert [outcome.taken["sales"] for outcome in query.progress] == [5, 5, 5]
    assert values(query) == dict(sums().run(sales=merged([{"sales": piece} for piece in pieces])["sales"]))


def test_partitions_are_counted_in_any_plan(spark: Any, tmp_path: Path) -> None:
    """That of a micro-batch, and one that is no RDD."""
    counts = []

    def note(rows: Any, version: int) -> None:
        counts.append((rows._jdf.logicalPlan().getClass().getSimpleName(), rdd_of(rows).getNumPartitions()))

    spark.range(5).write.parquet(str(tmp_path / "rows"))
    streamed = spark.readStream.schema("id long").parquet(str(tmp_path / "rows")).repartition(3)
    writer = streamed.writeStream.foreachBatch(note).option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    note(spark.range(0, 10, 1, 3), 0)
    assert counts == [("LogicalRDD", 3), ("Range", 3)]


def test_a_lasting_task_takes_the_rows_of_later_micro_batches(spark: Any) -> None:
    """Also nulls in a column that had none when it was planned."""

    def describe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [row["id"] for batch in batches for row in batch.to_pylist()]
        yield pa.record_batch({"data": pa.array([repr(rows).encode()], pa.binary())})

    numbers = spark.range(0, 3, 1, 2)
    nullable = numbers.selectExpr("nullif(id, 1) as id")
    task = LastingTask(numbers, describe, StructType([StructField("data", BinaryType())]), 0)
    assert [task.collect(rdd_of(each)) for each in (numbers, nullable)] == [[b"[0, 1, 2]"], [b"[0, None, 2]"]]


@pytest.fixture
def in_stages(monkeypatch: Any) -> list[int]:
    """The micro-batches that run in stages."""
    versions: list[int] = []
    run_stages = SparkMicroBatches.run_stages

    def noted(self: SparkMicroBatches, frame: Any, batch: Any) -> Any:
        versions.append(batch.version)
        return run_stages(self, frame, batch)

    monkeypatch.setattr(SparkMicroBatches, "run_stages", noted)
    return versions


def expect_sums(query: Any, pieces: list[pa.Table]) -> None:
    assert [outcome.taken["sales"] for outcome in query.progress] == [len(piece) for piece in pieces]
    assert values(query) == dict(sums().run(sales=merged([{"sales": piece} for piece in pieces])["sales"]))


def test_one_that_turns_out_to_be_large_runs_in_stages(
    spark: Any, tmp_path: Path, monkeypatch: Any, in_stages: list[int]
) -> None:
    """Few rows, so that the next micro-batch is expected to have few; then many, and few again."""
    monkeypatch.setattr(micro_batches, "FEW_BYTES", 2_000)
    counts = [5, 5, 2_000, 5, 5, 5]
    pieces = [sales(100 * version, count) for version, count in enumerate(counts)]
    query = fed(spark, sums(), {"sales": pieces}, tmp_path)
    assert in_stages == [0, 2, 3, 4], "the first is not known, the third is large, and two small ones must follow it"
    expect_sums(query, pieces)


def test_small_files_after_a_load_are_known_to_be_small(
    spark: Any, tmp_path: Path, monkeypatch: Any, in_stages: list[int]
) -> None:
    monkeypatch.setattr(micro_batches, "FEW_BYTES", 20_000)
    pieces = [sales(10_000 * version, count) for version, count in enumerate([5_000, 5, 5])]
    query = fed(spark, sums(), {"sales": pieces}, tmp_path)
    assert in_stages == [0]
    expect_sums(query, pieces)


def test_sizes_of_files_that_have_misled_are_not_asked_again(
    spark: Any, tmp_path: Path, monkeypatch: Any, in_stages: list[int]
) -> None:
    monkeypatch.setattr(micro_batches, "FEW_BYTES", 20_000)
    monkeypatch.setattr(micro_batches, "estimate_bytes", lambda rows: 0)
    pieces = [sales(10_000 * version, count) for version, count in enumerate([5_000, 5_000, 5, 5, 5])]
    query = fed(spark, sums(), {"sales": pieces}, tmp_path)
    assert in_stages == [0, 1, 2, 3], "two small ones in a row are asked for instead"
    expect_sums(query, pieces)
