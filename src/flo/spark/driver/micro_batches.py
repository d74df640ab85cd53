"""Running and committing micro-batches: the stages of a plan as Spark jobs, task reports, and the commit.

`MicroBatches.run_micro_batch` runs one, and `MicroBatches.commit_micro_batch` makes its version visible to readers.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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
from flo.spark.checkpoint.moments import forget_moment, record_moment
from flo.spark.checkpoint.retention import Retention
from flo.spark.driver.inputs import BoundInput, counter_name
from flo.spark.driver.job_names import JobNames
from flo.spark.driver.lasting_tasks import column_of_task, count_partitions, map_in_one_task
from flo.spark.driver.python_errors import python_error, segment_error
from flo.spark.driver.shared_columns import in_shared_columns, share_columns
from flo.spark.map_rows import map_rows
from flo.spark.plan.planning import holds_segment
from flo.spark.plan.stages import POSITION, Native, Plan, Stage
from flo.spark.session import is_narrow
from flo.spark.tasks.blobs import REPORT, SCHEMA, SPARK, Blob, read_blobs, unpickle
from flo.spark.tasks.context import MICRO_BATCH, Code, DriverCode, MicroBatch, describe_micro_batch
from flo.spark.tasks.input_task import MALFORMED, InputColumns, InputTask, run_entry
from flo.spark.tasks.naming import NamedTask
from flo.spark.tasks.native_task import PackTask, UnpackTask
from flo.spark.tasks.output_files import Output
from flo.spark.tasks.sending import Sender
from flo.spark.tasks.shard_record import ShardRecord
from flo.spark.tasks.small_batch_task import TOO_LARGE, SmallBatchTask
from flo.spark.tasks.stage_task import StageTask
from flo.spark.tasks.state import READABLE, Shard, StateVersions
from flo.sql.native import BESIDE, spark_schema
from flo.tables.values import Columns, Rows, is_ordered

FEW_BYTES = 1 << 23
"""A micro-batch is small if neither its inputs have more bytes than this, in the columns that they share, nor any of
its stages receives more."""
MOST_EXPECTED = 64
"""The most small micro-batches that must come in a row before one is expected to be small. The number grows each time
that one turns out to be large."""
READ_TOGETHER = 32
"""The most partitions of the inputs that one task reads, one after the other, in a small micro-batch."""
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
    changed_files: dict[str, list[str]] = field(default_factory=dict)
    """By output, the files of its changes."""
    stage_rows: dict[int, int] = field(default_factory=dict)
    """Rows received, by stage."""
    stage_seconds: dict[int, float] = field(default_factory=dict)
    """Seconds of the slowest task, by stage."""

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
        name: str = "",
    ) -> None:
        self.spark = spark
        self.plan = plan
        self.names = JobNames(name, plan)
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
        self.now: int | None = None
        """The number of the input that gets the time of the outside world, if there is one."""
        self._last: tuple[int, dict[int, StateVersions]] = (-1, {})
        """The version that was run last, committed or not, and its state versions."""
        self._input_task = InputTask((), shards)
        self._input_names = ""
        self.counted: set[str] = set()
        """The inputs whose rows Spark counts."""
        self.narrow = True
        """Whether all input rows are small."""
        self.stages = [self._code_of(stage) for stage in plan.stages]
        self._small_in_a_row = 0
        """How many micro-batches up to now were small."""
        self._small_expected = 1
        """After how many of them the next is expected to be small, too."""
        self._small_batch: Column | None = None
        """The task of small micro-batches, once there was one."""
        self._held: list[DataFrame] = []
        """What executors hold for the micro-batch that runs: rows that Catalyst reads, beside those that pass by."""

    @cached_property
    def _shard(self) -> Column:
        return col("shard")  # modulo the number of tasks, it is the number of the task

    def _deliveries(self, streams: Iterable[int]) -> tuple[Any, ...]:
        return tuple(each for stream in streams for each in self.plan.deliveries_of(stream))

    def _deliveries_from(self, stage: Stage) -> tuple[Any, ...]:
        return self._deliveries((*stage.outputs, *(made for _, made in stage.natives)))

    def _code_of(self, stage: Stage) -> Code | DriverCode:
        item = (stage, self._deliveries_from(stage), tuple(self.outputs))
        return DriverCode(item) if holds_segment(stage.graph) else Code.of(item)

    def add_inputs(self, given: Mapping[str, BoundInput], divert: bool = False) -> dict[str, DataFrame]:
        """The rows of the inputs, all in the same columns."""
        schemas = [each.frame.schema for each in given.values()]
        places = share_columns([field.dataType.json() for field in schema] for schema in schemas)
        self._input_task = InputTask(
            tuple(
                InputColumns(
                    Code.of((each.entry, self._deliveries(each.entry.outputs), name)),
                    tuple(zip(schema.names, place, strict=True)),
                    each.position,
                    each.partition,
                )
                for (name, each), schema, place in zip(given.items(), schemas, places, strict=True)
            ),
            self.shards,
            self.folder if divert else None,
        )
        self._input_names = self.names.name_inputs(given)
        fields = [field for schema in schemas for field in schema if field.name != MALFORMED]
        self.narrow = all(is_narrow(field.dataType) for field in fields)
        self.counted = {name for name, each in given.items() if each.counted}
        return dict(zip(given, in_shared_columns([each.frame for each in given.values()], places), strict=True))

    def _read(self, rows: DataFrame) -> DataFrame:
        """The rows of inputs as blobs, addressed to shards."""
        return rows.mapInArrow(NamedTask(self._input_names, self._input_task), SPARK)

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

    def now_blobs(self, version: int) -> list[Blob]:
        """The time of a micro-batch, which is recorded before the micro-batch runs."""
        if self.now is None:
            return []
        entry = self.plan.entries[self.now]
        sender = Sender(self._deliveries(entry.outputs), self.shards, self.now)
        moment = record_moment(self.folder, version)
        sender.add(run_entry(sender, entry, entry.type.collection.value(moment)))
        return list(sender.blobs())

    def _with_now(self, frame: DataFrame, version: int) -> DataFrame:
        blobs = self.now_blobs(version)
        if not blobs:
            return frame
        table = pa.Table.from_batches([blob.batch() for blob in blobs], SCHEMA)
        return frame.union(frame.sparkSession.createDataFrame(table, SPARK))

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
        parts = [self._read(reduce(DataFrame.union, frames))] if frames else []
        if self.plan.literals or not frames:
            spark = frames[0].sparkSession if frames else self.spark
            given = pa.Table.from_batches([blob.batch() for blob in self.literal_blobs()], SCHEMA)
            parts.append(spark.createDataFrame(given, SPARK))
        return self._run_stages(self._with_now(reduce(DataFrame.union, parts), 0), 0, ended)

    def run_micro_batch(self, rows: DataFrame, version: int, ended: set[int]) -> Outcome:
        """Runs a micro-batch on the rows of inputs: in one task if it is probably small, as the last ones were."""
        if self._asks_catalyst or self._small_in_a_row < self._small_expected or not has_own_thread():
            return self._run_stages(self._with_now(self._read(rows), version), version, ended)
        started = time.monotonic()
        found = self._in_one_task(rows, self.micro_batch(version, ended))
        reports = self._collect_reports(found, version)
        if not any(TOO_LARGE in each for each in reports):
            return self._outcome(found, version, reports, started, tasks=1)
        self._small_expected = min(2 * self._small_expected, MOST_EXPECTED)
        before = self._count_input_rows(found)
        # this reads the inputs once more
        outcome = self._run_stages(self._with_now(self._read(rows), version), version, ended)
        counts = {name: count - before.get(name, 0) for name, count in outcome.taken.items()}
        return replace(outcome, taken=counts, seconds=time.monotonic() - started)

    @cached_property
    def _asks_catalyst(self) -> bool:
        """Whether Catalyst runs segments, so that a micro-batch is more than one job."""
        return bool(self.plan.natives) or any(isinstance(code, DriverCode) for code in self.stages)

    def _in_one_task(self, rows: DataFrame, batch: MicroBatch) -> DataFrame:
        """A small micro-batch in one task. Tasks of their own read the inputs if these have many partitions, or if the
        time of the outside world is one of them."""
        self.spark.sparkContext.setLocalProperty(MICRO_BATCH, describe_micro_batch(replace(batch, tasks=1)))
        if self.now is not None or count_partitions(rows) > READ_TOGETHER:
            blobs = self._with_now(self._read(rows), batch.version)
            return blobs.repartition(1).mapInArrow(self._named(self.small_batch_task()), SPARK)
        if self._small_batch is None:
            self._small_batch = column_of_task(rows, self._named(self.small_batch_task(self._input_task)), SPARK)
        return map_in_one_task(rows, self._small_batch)

    def _named(self, task: SmallBatchTask) -> NamedTask:
        return NamedTask(self.names.all_stages, task)

    def small_batch_task(self, inputs: InputTask | None = None) -> SmallBatchTask:
        """The last task of a micro-batch, if that is small, and the only one if it reads the inputs."""
        stages = tuple(code for code in self.stages if isinstance(code, Code))
        return SmallBatchTask(inputs, stages, FEW_BYTES)

    def _run_stages(self, frame: DataFrame, version: int, ended: set[int]) -> Outcome:
        """Runs a micro-batch in stages, on the blobs of the inputs, with what Catalyst does between them."""
        started = time.monotonic()
        try:
            batch = self.micro_batch(version, ended)
            frame = self._add_natives(frame, 0, version)
            for number, code in enumerate(self.stages, 1):
                task = StageTask(code, batch)
                if isinstance(code, DriverCode):
                    frame = self._run_in_driver(frame, task, version)
                else:
                    frame = self._add_stage(frame, NamedTask(self.names.stages[number], task))
                frame = self._add_natives(frame, number, version)
            return self._outcome(frame, version, self._collect_reports(frame, version), started, self.tasks)
        finally:
            while self._held:
                self._held.pop().unpersist()

    def _add_stage(self, frame: DataFrame, task: Any) -> DataFrame:
        return frame.repartitionById(self.tasks, self._shard).mapInArrow(task, SPARK)

    def _run_in_driver(self, frame: DataFrame, task: StageTask, version: int) -> DataFrame:
        """The blobs after a stage that the driver runs: only there can a body in it ask Catalyst for a segment."""
        with self._errors(version):
            received = list(read_blobs(frame.toArrow().to_batches()))
        shares = [[blob for blob in received if blob.shard % self.tasks == number] for number in range(self.tasks)]
        sent = [batch for number, share in enumerate(shares) for batch in task.run_alone(number, share)]
        return frame.sparkSession.createDataFrame(pa.Table.from_batches(sent, SCHEMA), SPARK)

    def _add_natives(self, frame: DataFrame, level: int, version: int) -> DataFrame:
        """The blobs of a level, with the results of Catalyst in place of those that are for it.

        The tasks of a stage must run once, and not once for each reader of their blobs. So they run now, in a job of
        their own, and executors hold the blobs."""
        natives = self.plan.natives_after(level)
        if not natives:
            return frame
        held = frame.persist()
        self._held.append(held)
        self._collect_reports(held.where(col("delivery") == REPORT), version)
        parts = [held.where(~col("delivery").isin([each.delivery.number for each in natives]))]
        for each in natives:
            schema, unpack, pack = self.tasks_around(each)
            rows = held.where(col("delivery") == each.delivery.number).mapInArrow(unpack, schema)
            parts.append(map_rows(each.segment.chain.over(rows, BESIDE), pack, SPARK))
        return reduce(DataFrame.union, parts)

    def _collect_reports(self, frame: DataFrame, version: int) -> list[Any]:
        """The task reports that a frame gives. Raises the error that one of them holds."""
        with self._errors(version):
            reports = [unpickle(row.data) for row in frame.collect()]
        for each in reports:
            if isinstance(each, FloError):
                raise each
        return reports

    @contextmanager
    def _errors(self, version: int) -> Iterator[None]:
        """Names the jobs of a micro-batch, and raises the errors of Python in them as what they are."""
        context = self.spark.sparkContext
        self.names.describe(context, version)
        try:
            with self.names.site(context, version):
                yield
        except Exception as error:
            translated = (segment_error(error) if self.plan.natives else None) or python_error(error)
            raise translated from translated.__cause__

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
        changed: dict[str, list[str]] = {}
        stage_rows, stage_seconds = Counter[int](), dict[int, float]()
        versions = dict(self.state_versions(version - 1))
        for each in reports:
            if "stage" in each:
                before = versions.get(each["stage"], StateVersions())
                versions[each["stage"]] = before.with_changes(version, each["shards"], each["deliveries"])
                stage_rows[each["stage"]] += each["taken_rows"]
                stage_seconds[each["stage"]] = max(stage_seconds.get(each["stage"], 0.0), each["seconds"])
            for name, files in each.get("diverted", {}).items():
                diverted.setdefault(name, []).extend(files)
            taken.update(each.get("taken", {}))
            for name, count in each.get("rows", {}).items():
                rows[name] += count
            for name, paths in each.get("files", {}).items():
                changed.setdefault(name, []).extend(paths)
            ended.update(each.get("ended", {}))
        self._last = (version, versions)
        written = sum(each.get("written", 0) for each in reports)
        changed = {name: sorted(paths) for name, paths in changed.items()}
        stages = dict(stage_rows), stage_seconds
        return Outcome(version, rows, ended, written, dict(taken), seconds, diverted, changed, *stages)

    def commit_micro_batch(
        self, outcome: Outcome, epoch: int = 0, given: Mapping[str, tuple[int, str]] | None = None
    ) -> None:
        """Commits a micro-batch: from now on readers see its version."""
        versions = self.state_versions(outcome.version)
        commit_version(self.folder, outcome.version, self.shards, versions, epoch, given)
        if self.now is not None:
            forget_moment(self.folder, outcome.version - 2)
        self._oldest = self.retention.apply(self.folder, outcome.version) or self._oldest

    def read_records(self, output: Output, version: int) -> Iterator[tuple[int, ShardRecord]]:
        """The record of every shard of the stage that has this output."""
        stage = next(stage for stage in self.plan.stages if output.stream in stage.outputs)
        types = tuple(each.type for each in stage.inputs)
        for number, changed in self.state_versions(version)[stage.level].states():
            _, views, more = Shard(self.folder, self.shards, stage.level, number, stage.graph, types).read(changed)
            yield number, ShardRecord.read(views, more)


def has_own_thread() -> bool:
    """Whether PySpark gives each thread of Python a thread of Java, whose properties reach only its own jobs."""
    return os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"


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
