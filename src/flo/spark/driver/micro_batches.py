"""Running and committing micro-batches: the stages of a plan as Spark jobs, task reports, and the commit.

`MicroBatches.run_micro_batch` runs one, and `MicroBatches.commit_micro_batch` makes its version visible to readers.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import StructType

from flo.core.collection import Collection, Value
from flo.core.errors import EngineError, FloError
from flo.core.stream_type import StreamType
from flo.spark.arrow_types import arrow_schema
from flo.spark.checkpoint.commits import commit_version, committed_versions, read_state_versions
from flo.spark.checkpoint.retention import Retention
from flo.spark.driver.inputs import BoundInput, counter_name
from flo.spark.driver.python_errors import python_error
from flo.spark.plan.stages import POSITION, Native, Plan, Stage
from flo.spark.session import is_narrow
from flo.spark.tasks.blobs import REPORT, SCHEMA, SPARK, Blob, unpickle
from flo.spark.tasks.context import Code, MicroBatch
from flo.spark.tasks.input_task import MALFORMED, InputTask, run_entry
from flo.spark.tasks.native_task import PackTask, UnpackTask
from flo.spark.tasks.output_files import Output
from flo.spark.tasks.sending import Sender
from flo.spark.tasks.shard_record import ShardRecord
from flo.spark.tasks.small_batch_task import TOO_LARGE, SmallBatchTask
from flo.spark.tasks.stage_task import StageTask
from flo.spark.tasks.state import READABLE, Shard, StateVersions
from flo.sql.native import BESIDE, spark_schema
from flo.tables.values import Columns, Rows, is_ordered

FEW_BYTES = 1 << 22
"""A micro-batch is small if none of its stages receives more bytes than this."""
MOST_EXPECTED = 64
"""The most small micro-batches that must come in a row before one is expected to be small. The number grows each time
that one turns out to be large."""
ON_CLUSTER = 64
"""How many tasks a stage may have on any cluster."""


@dataclass(frozen=True)
class Outcome:
    """The result of one micro-batch."""

    version: int
    rows: dict[str, int]
    """Rows of changes, by output."""
    ended: dict[str, bool]
    """Whether each output has ended."""
    written: int
    """Bytes of state."""
    taken: dict[str, int]
    """Rows read, by input, before any filter."""
    seconds: float
    diverted_files: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """The files of diverted rows, by input, with the number of rows in each."""
    changed_shards: dict[str, list[int]] = field(default_factory=dict)
    """By output, the shards that have written a file of its changes."""

    @property
    def diverted(self) -> dict[str, int]:
        """Rows diverted, by input."""
        return {name: sum(count for _, count in files) for name, files in self.diverted_files.items()}


class MicroBatches:
    """Runs the micro-batches of a program on Spark, one version after the other."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        outputs: list[Output],
        folder: str,
        shards: int,
        checkpoint: str = "",
        retention: Retention | None = None,
    ) -> None:
        self.spark = spark
        self.plan = plan
        self.outputs = outputs
        self.folder = folder
        self.shards = shards
        self.checkpoint = checkpoint
        """The id of the checkpoint; empty for a batch job, which keeps none."""
        self.retention = retention or Retention()
        self._oldest = min(committed_versions(folder), default=0)
        """The oldest version that readers may read."""
        self.tasks = min(shards, most_tasks(spark))
        self.run = uuid.uuid4().hex
        """Identifies this start of the query."""
        self._last: tuple[int, dict[int, StateVersions]] = (-1, {})
        """The version that was run last, committed or not, and its state versions."""
        self.counted: set[str] = set()
        """The inputs whose rows Spark counts."""
        self.narrow = True
        """Whether all input rows are small."""
        self.stages = [Code.of((stage, self._deliveries_from(stage), tuple(outputs))) for stage in plan.stages]
        self._small_in_a_row = 0
        """How many micro-batches up to now were small."""
        self._small_expected = 1
        """After how many of them the next is expected to be small, too."""
        self._held: list[DataFrame] = []
        """What executors hold for the micro-batch that runs: rows that Catalyst reads, beside those that pass by."""

    @cached_property
    def _shard(self) -> Column:
        return col("shard")  # modulo the number of tasks, it is the number of the task

    def _deliveries(self, streams: Iterable[int]) -> tuple[Any, ...]:
        return tuple(each for stream in streams for each in self.plan.deliveries_of(stream))

    def _deliveries_from(self, stage: Stage) -> tuple[Any, ...]:
        return self._deliveries((*stage.outputs, *(made for _, made in stage.natives)))

    def add_input(self, name: str, given: BoundInput, divert: bool = False) -> DataFrame:
        """The rows of an input as blobs, addressed to shards."""
        entry = given.entry
        self.narrow &= all(is_narrow(field.dataType) for field in given.frame.schema if field.name != MALFORMED)
        if given.counted:
            self.counted.add(name)
        code = Code.of((entry, self._deliveries(entry.outputs), name))
        task = InputTask(code, self.shards, given.position, given.partition, self.folder if divert else None)
        return given.frame.mapInArrow(task, SPARK)

    def literal_blobs(self) -> list[Blob]:
        """The literals of the program, which enter in the first micro-batch."""
        found = []
        for number, source in self.plan.literals.items():
            entry = self.plan.entries[number]
            assert source.value is not None
            sender = Sender(self._deliveries(entry.outputs), self.shards, number)
            sender.add(run_entry(sender, entry, _with_positions(source.value)))
            found += list(sender.blobs())
        return found

    def micro_batch(self, version: int, ended: set[int]) -> MicroBatch:
        """The description of a micro-batch for its tasks. `ended` are the inputs that have ended."""
        ended = ended | set(self.plan.literals)
        done = frozenset(stream for stream, inputs in self.plan.sources.items() if inputs <= ended)
        versions = self.state_versions(version - 1)
        return MicroBatch(
            version, self.run, self.folder, self.shards, self.tasks, done, versions, self._oldest_for(version)
        )

    def run_first_micro_batch(self, frames: list[DataFrame], ended: set[int]) -> Outcome:
        """Runs the first micro-batch, with the rows of batch inputs and the literals of the program."""
        spark = frames[0].sparkSession if frames else self.spark
        if self.plan.literals:
            given = pa.Table.from_batches([blob.batch() for blob in self.literal_blobs()], SCHEMA)
            frames = [*frames, spark.createDataFrame(given, SPARK)]
        return self._run_stages(reduce(DataFrame.union, frames), 0, ended)

    def run_micro_batch(self, frame: DataFrame, version: int, ended: set[int]) -> Outcome:
        """Runs a micro-batch on the blobs of the inputs: in one task if it is probably small, as the last ones were."""
        if self.plan.natives or self._small_in_a_row < self._small_expected:
            return self._run_stages(frame, version, ended)
        started = time.monotonic()
        found = frame.repartition(1).mapInArrow(self.small_batch_task(self.micro_batch(version, ended)), SPARK)
        reports = _collect_reports(found)
        if not any(TOO_LARGE in each for each in reports):
            return self._outcome(found, version, reports, started, tasks=1)
        self._small_expected = min(2 * self._small_expected, MOST_EXPECTED)
        before = self._count_input_rows(found)
        outcome = self._run_stages(frame, version, ended)  # which reads the inputs once more
        counts = {name: count - before.get(name, 0) for name, count in outcome.taken.items()}
        return replace(outcome, taken=counts, seconds=time.monotonic() - started)

    def small_batch_task(self, batch: MicroBatch) -> SmallBatchTask:
        """The only task of a micro-batch, if that is small."""
        return SmallBatchTask(tuple(self.stages), replace(batch, tasks=1), FEW_BYTES)

    def _run_stages(self, frame: DataFrame, version: int, ended: set[int]) -> Outcome:
        """Runs a micro-batch in stages, on the blobs of the inputs, with what Catalyst does between them."""
        started = time.monotonic()
        try:
            batch = self.micro_batch(version, ended)
            frame = self._add_natives(frame, 0)
            for number, code in enumerate(self.stages, 1):
                frame = self._add_natives(self._add_stage(frame, StageTask(code, batch)), number)
            return self._outcome(frame, version, _collect_reports(frame), started, self.tasks)
        finally:
            while self._held:
                self._held.pop().unpersist()

    def _add_stage(self, frame: DataFrame, task: Any) -> DataFrame:
        return frame.repartitionById(self.tasks, self._shard).mapInArrow(task, SPARK)

    def _add_natives(self, frame: DataFrame, level: int) -> DataFrame:
        """The blobs of a level, with the results of Catalyst in place of those that are for it.

        The tasks of a stage must run once, and not once for each reader of their blobs. So they run now, in a job of
        their own, and executors hold the blobs."""
        natives = self.plan.natives_after(level)
        if not natives:
            return frame
        held = frame.persist()
        self._held.append(held)
        _collect_reports(held.where(col("delivery") == REPORT))
        parts = [held.where(~col("delivery").isin([each.delivery.number for each in natives]))]
        for each in natives:
            schema, unpack, pack = self.tasks_around(each)
            rows = held.where(col("delivery") == each.delivery.number).mapInArrow(unpack, schema)
            parts.append(each.segment.chain.over(rows, BESIDE).mapInArrow(pack, SPARK))
        return reduce(DataFrame.union, parts)

    def tasks_around(self, native: Native) -> tuple[StructType, UnpackTask, PackTask]:
        """The tasks before and after a segment, and the schema of the rows that it reads."""
        fields = [*native.segment.input.schema, pa.field(BESIDE, pa.int64(), False)]
        schema = spark_schema(pa.schema(fields))
        code = Code.of((native.output, _elements(native.type), self._deliveries([native.output])))
        return schema, UnpackTask(arrow_schema(schema)), PackTask(code, self.shards)

    def state_versions(self, version: int) -> dict[int, StateVersions]:
        """The state versions of a version, by level: from memory, or from its commit."""
        last, found = self._last
        if version < 0:
            return {}
        return found if last == version else read_state_versions(self.folder, version, self.shards)

    def _oldest_for(self, version: int) -> int:
        """The oldest version that readers may read during a micro-batch; the same if it runs again after its commit."""
        return max(0, min(self._oldest, version - READABLE))

    def _outcome(self, frame: DataFrame, version: int, reports: list[Any], started: float, tasks: int) -> Outcome:
        """The outcome of a micro-batch, from the task reports that a frame gave."""
        expected, found = tasks * len(self.plan.stages), sum("stage" in each for each in reports)
        if found != expected:  # PySpark returns what it has read if the JVM dies
            raise EngineError(f"Spark returned {found} of {expected} task reports: the JVM has probably stopped")
        received = Counter[int]()
        for each in reports:
            received[each.get("stage", 0)] += each.get("received", 0)
        self._small_in_a_row = self._small_in_a_row + 1 if max(received.values()) <= FEW_BYTES else 0
        outcome = self.summarize(version, reports, time.monotonic() - started)
        return replace(outcome, taken={**outcome.taken, **self._count_input_rows(frame)})

    def _count_input_rows(self, frame: DataFrame) -> dict[str, int]:
        """For inputs that Catalyst filters, the number of rows before the filter."""
        if not self.counted:
            return {}
        executions = [frame._jdf.queryExecution()]
        streaming = self.spark.sparkContext.getLocalProperty("sql.streaming.queryId")
        if streaming:  # the frame of a micro-batch starts after the part of the plan that reads and counts
            query = self.spark._jsparkSession.streams().get(streaming)
            executions.append(query.streamingQuery().lastExecution())
        counts = dict.fromkeys(self.counted, 0)
        for observed in (each.observedMetrics() for each in executions):
            for name in self.counted:
                if observed.contains(counter_name(name)):
                    counts[name] = observed.apply(counter_name(name)).getLong(0)
        return counts

    def summarize(self, version: int, reports: list[Any], seconds: float) -> Outcome:
        """The outcome of a micro-batch, from the reports of its tasks. Remembers the new state versions."""
        rows, taken = {output.name: 0 for output in self.outputs}, Counter[str]()
        ended: dict[str, bool] = {}
        diverted: dict[str, list[tuple[str, int]]] = {}
        changed: dict[str, list[int]] = {}
        versions = dict(self.state_versions(version - 1))
        for each in reports:
            if "stage" in each:
                before = versions.get(each["stage"], StateVersions())
                versions[each["stage"]] = before.with_changes(version, each["shards"], each["deliveries"])
            for name, files in each.get("diverted", {}).items():
                diverted.setdefault(name, []).extend(files)
            taken.update(each.get("taken", {}))
            for name, count in each.get("rows", {}).items():
                rows[name] += count
            for name, shards in each.get("files", {}).items():
                changed.setdefault(name, []).extend(shards)
            ended.update(each.get("ended", {}))
        self._last = (version, versions)
        written = sum(each.get("written", 0) for each in reports)
        changed = {name: sorted(shards) for name, shards in changed.items()}
        return Outcome(version, rows, ended, written, dict(taken), seconds, diverted, changed)

    def commit_micro_batch(self, outcome: Outcome, epoch: int = 0) -> None:
        """Commits a micro-batch: from now on readers see its version."""
        versions = self.state_versions(outcome.version)
        commit_version(self.folder, outcome.version, self.shards, versions, epoch)
        self._oldest = self.retention.apply(self.folder, outcome.version) or self._oldest

    def read_records(self, output: Output, version: int) -> Iterator[tuple[int, ShardRecord]]:
        """The record of every shard of the stage that has this output."""
        stage = next(stage for stage in self.plan.stages if output.stream in stage.outputs)
        types = tuple(each.type for each in stage.inputs)
        for number, changed in self.state_versions(version)[stage.level].states():
            _, views, more = Shard(self.folder, self.shards, stage.level, number, stage.graph, types).read(changed)
            yield number, ShardRecord.read(views, more)


def _collect_reports(frame: DataFrame) -> list[Any]:
    """The task reports that a frame gives. Raises the error that one of them holds."""
    try:
        reports = [unpickle(row.data) for row in frame.collect()]
    except Exception as error:
        translated = python_error(error)
        raise translated from translated.__cause__
    for each in reports:
        if isinstance(each, FloError):
            raise each
    return reports


def most_tasks(spark: SparkSession) -> int:
    """The most tasks that are useful in a stage: one for each core. A cluster may grow beyond its current cores."""
    context = spark.sparkContext
    now = max(1, context.defaultParallelism)
    return now if str(context.master).startswith("local") else max(now, ON_CLUSTER)


def _elements(stream: StreamType) -> Collection:
    """The collection of a stream of rows."""
    assert isinstance(stream.collection, Columns)
    return stream.collection.base


def _with_positions(value: Value) -> Value:
    """Adds positions to ordered rows, as those of a DataFrame have."""
    if not isinstance(value, Rows) or not is_ordered(value.of):
        return value
    return replace(value, table=value.table.append_column(POSITION, pa.array(np.arange(value.table.num_rows))))
