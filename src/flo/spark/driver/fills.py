"""A fill on Spark: its micro-batches are jobs, and its rows are read by tasks.

    rows that the checkpoint holds     tasks read its files, a few shards in each micro-batch
    rows that a source still has       read again into files (`read_again.py`), which tasks read
    rows of the user                   come from the driver, where they are

Invariant: no row of a state or of a source passes through the driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce

from pyspark.sql import DataFrame, SparkSession

from flo.local.durable import DurableLoop
from flo.local.executors import Executor, InProcess, Tasks
from flo.local.fill_run import FillJob, FillRows, FillRun, Push
from flo.shards.checkpoint.lease import Lease
from flo.shards.evolution.comparison import Holder
from flo.shards.evolution.held_rows_task import HeldRowsTask
from flo.shards.evolution.snapshots import count_parts, count_rows
from flo.shards.micro_batches import Outcome
from flo.shards.plan.stages import Plan
from flo.shards.tasks.blobs import Blob
from flo.shards.tasks.context import Code
from flo.shards.tasks.output_files import Output
from flo.spark.driver.job_names import hold_description
from flo.spark.driver.micro_batches import SparkMicroBatches, frame_of
from flo.spark.driver.read_again import ReadAgain
from flo.spark.session import hold_settings, task_settings
from flo.spark.tasks.spark_task import BLOBS, SparkTask
from flo.tables.checkpoint.folders import folder

AT_ONCE = 1 << 28
"""How many bytes of files that were read again are in a micro-batch, for each task."""


class FillLoop(DurableLoop):
    """The loop of a fill program whose micro-batches run on Spark."""

    batches: SparkMicroBatches

    def start_executor(self) -> Executor:
        """What is pushed enters in the driver. Stages do not run there."""
        self._frames: list[DataFrame] = []
        """The blobs that tasks read, for the next micro-batch."""
        return InProcess(Tasks(self.batches, in_memory=False))

    def take(self, blobs: DataFrame) -> int:
        """Runs a micro-batch on what tasks read; returns the number of rows."""
        self._frames = [blobs]
        self._run_anyway()
        return sum(self._pending[-1].outcome.taken.values())

    def run_micro_batch(self) -> tuple[Outcome, list[Blob]]:
        batches, spark = self.batches, self.batches.spark
        waiting, self._waiting = self._waiting, {}
        frames, self._frames = self._frames, []
        batch = batches.micro_batch(self.version, set(self.ended))
        batch = replace(batch, source="push" if waiting else batch.source)
        entered = self.executor.enter({number: self._placed(number, value) for number, value in waiting.items()}, {})
        self._raise_errors(entered)
        entered += batches.literal_blobs() if self.version == 0 else []
        if entered or not frames:
            frames.append(frame_of(spark, entered))
        settings = hold_settings(spark, task_settings(batches.widths.narrow))
        with settings, hold_description(spark.sparkContext):
            outcome = batches.run_stages(reduce(DataFrame.union, frames), batch)
        self.version += 1
        return outcome, []


class SparkFillRun(FillRun):
    """Runs a fill on Spark."""

    loop: FillLoop

    def __init__(self, spark: SparkSession, again: ReadAgain, job: FillJob, lease: Lease) -> None:
        self.spark, self.again = spark, again
        super().__init__(job, lease)

    def start_loop(self, plan: Plan, outputs: list[Output], lease: Lease) -> FillLoop:
        job = self.job
        batches = SparkMicroBatches(self.spark, plan, outputs, job.where, job.shards, name=f"{job.flow}, fill")
        batches.memory = job.memory
        return FillLoop(job.fill.dag, batches, self.views_of(batches), lease)

    def rows_of_state(self, place: int, holder: Holder) -> FillRows:
        job, batches = self.job, self.loop.batches
        entry = batches.plan.entries[place]
        code = Code.of((entry, batches.deliveries(entry.outputs), job.input_of(place)))
        task = HeldRowsTask(code, job.checkpoint, job.version, holder, job.shards, job.where if job.diverts else None)
        parts = range(count_parts(self.checkpoint, job.version, holder))
        groups = [parts[start : start + batches.tasks] for start in range(0, len(parts), batches.tasks)]
        pushes = (partial(self._take_parts, task, list(group)) for group in groups)
        return FillRows(count_rows(self.checkpoint, job.version, holder), pushes)

    def _take_parts(self, task: HeldRowsTask, parts: list[int]) -> int:
        numbers = self.spark.range(parts[0], parts[-1] + 1, 1, len(parts))
        return self.loop.take(numbers.mapInArrow(SparkTask("rows that the checkpoint holds", task), BLOBS))

    def rows_of_source(self, place: int, name: str) -> FillRows:
        read = self.again(name, f"{self.job.where}/rows/{name}")
        if read is None:
            return FillRows(0, iter(()))
        bound, where = read
        checks = self.job.entries[name] if self.job.diverts else None
        bound = replace(bound, entry=self.loop.batches.plan.entries[place], checks=checks)
        self.read_whole.add(name)
        files = {each: size for each, (size, _) in folder(where).files("").items() if each.endswith(".parquet")}
        ordered = bound.position is not None
        groups = [sorted(files)] if ordered else list(group_files(files, AT_ONCE * self.loop.batches.tasks))

        def take(names: list[str]) -> int:
            rows = self.spark.read.schema(bound.frame.schema).parquet(*(f"{where}/{each}" for each in names))
            given = self.loop.batches.add_inputs({name: replace(bound, frame=rows)}, self.job.diverts)
            return self.loop.take(self.loop.batches.read_inputs(given[name]))

        pushes: Iterator[Push] = (partial(take, group) for group in groups if group)
        return FillRows(self.spark.read.parquet(where).count() if files else 0, pushes)


@dataclass(frozen=True)
class SparkFills:
    """Starts fills on Spark."""

    spark: SparkSession
    again: ReadAgain
    reads_again: bool = True

    def __call__(self, job: FillJob, lease: Lease) -> FillRun:
        return SparkFillRun(self.spark, self.again, job, lease)


def group_files(sizes: dict[str, int], most: int) -> Iterator[list[str]]:
    """Files in groups of at most so many bytes, or of one file."""
    group: list[str] = []
    total = 0
    for name, size in sorted(sizes.items()):
        if group and total + size > most:
            yield group
            group, total = [], 0
        group.append(name)
        total += size
    if group:
        yield group
