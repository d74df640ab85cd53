"""Running and committing micro-batches: the stages of a plan as Spark jobs, task reports, and the commit.

`run_micro_batch` runs one, and `commit_micro_batch` makes its version visible to readers.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import StructType

from flo.core.errors import EngineError
from flo.shards.checkpoint.retention import Retention
from flo.shards.evolution.held_rows_task import send_nothing
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.plan.planning import holds_segment
from flo.shards.plan.rewrites import rewrites
from flo.shards.plan.stages import Native, Plan, Stage
from flo.shards.tasks.blobs import REPORT, SCHEMA, Blob, raise_reported, read_blobs, unpickle
from flo.shards.tasks.context import Code, LoadedCode, MicroBatch
from flo.shards.tasks.hot_keys import hot_in
from flo.shards.tasks.input_task import MALFORMED, InputColumns, InputTask
from flo.shards.tasks.native_task import PackTask, UnpackTask, elements_of
from flo.shards.tasks.output_files import COUNT, Output
from flo.shards.tasks.small_batch_task import TOO_LARGE, SmallBatchTask
from flo.shards.tasks.stage_task import StageTask
from flo.spark.arrow_rows import arrow_schema, map_rows
from flo.spark.driver.catalyst_outputs import SCAN, WrittenOutput
from flo.spark.driver.direct_reads import DirectRead
from flo.spark.driver.file_statistics import UnreadColumns
from flo.spark.driver.inputs import BoundInput, counter_name, in_shared_columns, send_integers, share_columns
from flo.spark.driver.job_names import JobNames
from flo.spark.driver.lasting_tasks import LastingTask, estimate_bytes, rdd_of
from flo.spark.driver.python_errors import python_error, segment_error
from flo.spark.driver.row_widths import WIDE, RowWidths, WideRow
from flo.spark.driver.source_scans import OwnColumns, SourceScan, describe_shared, scan_once
from flo.spark.session import has_own_thread
from flo.spark.tasks.spark_task import BLOBS, MICRO_BATCH, SparkTask, describe_micro_batch, pickle_with_spark
from flo.sql.java import Java
from flo.sql.native import BESIDE, spark_schema

FEW_BYTES = 1 << 23
"""A micro-batch is small if neither its inputs have more bytes than this, in the columns that they share, nor any of
its stages receives more."""
FEW_ROWS = 20_000
"""If Catalyst can write the output, a small micro-batch has no more rows than this. One task of Python takes about half
as long for ten rows, and for so many about as long as Catalyst."""
MOST_EXPECTED = 64
"""The most small micro-batches that must come in a row before one is expected to be small. The number grows each time
that one turns out to be large."""
READ_TOGETHER = 32
"""The most partitions of the inputs that one task reads, one after the other, in a small micro-batch."""
SCHEDULING = "scheduling"
"""The phase in which Spark plans, schedules and moves rows between tasks."""
ON_CLUSTER = 64
"""How many tasks a stage may have on any cluster."""


class SparkMicroBatches(MicroBatches):
    """Runs the micro-batches of a program on Spark."""

    rest = SCHEDULING

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
        super().__init__(plan, outputs, folder, shards, most_tasks(spark), checkpoint, retention)
        self.spark = spark
        self.names = JobNames(name, plan)
        self._input_task = InputTask((), shards)
        self._input_names = ""
        self.read_once: list[str] = []
        """The inputs that are read together."""
        self.counted: set[str] = set()
        """The inputs whose rows Spark counts."""
        self._counted_before: dict[str, int] = {}
        """What Spark has counted in earlier attempts at a micro-batch."""
        self._counted_in_files = False
        """Whether the footers of files have these counts, too."""
        self.unread: list[UnreadColumns] = []
        """Columns of inputs that Spark does not read, and that must have no nulls."""
        self.widths = RowWidths()
        self.written: tuple[WrittenOutput, ...] = ()
        """The outputs that Catalyst writes."""
        self._reads_directly = rewrites.direct_reads
        """Whether such an output may be one plan with the files that it reads."""
        pickle_with_spark()
        self.stages = [self._code_of(stage) for stage in plan.stages]
        self._stages_beside = self.stages
        """The stages when Catalyst has written its outputs."""
        self._task_beside = self._input_task
        """The task at the inputs that it has not read."""
        self._small_in_a_row = 0
        """How many micro-batches up to now were small."""
        self._small_expected = 1
        """After how many of them the next is expected to be small, too."""
        self._small_batch: LastingTask | None = None
        """The task of small micro-batches, once there was one."""
        self._held: list[DataFrame] = []
        """What executors hold for the micro-batch that runs: rows that Catalyst reads, beside those that pass by."""

    @cached_property
    def _blob_folder(self) -> str | None:
        """A folder among Spark's own temporary files, where tasks hand large blobs to each other, if all tasks run on
        this machine, and what Spark writes need not be encrypted."""
        context = self.spark.sparkContext
        is_encrypted = context.getConf().get("spark.io.encryption.enabled", "false").strip().lower() == "true"
        is_local = str(context.master).partition("[")[0] == "local" and not is_encrypted
        return f"{context._temp_dir}/blobs-{self.run}" if is_local and rewrites.blob_files else None

    @cached_property
    def _shard(self) -> Column:
        return col("shard")  # modulo the number of tasks, it is the number of the task

    def _code_of(self, stage: Stage, written: Collection[str] = ()) -> Code | LoadedCode:
        """A stage for tasks. Of the outputs that are `written` already, they say only whether these have ended."""
        outputs = tuple(replace(each, how=COUNT, to=None) if each.name in written else each for each in self.outputs)
        item = (stage, self.deliveries_from(stage), outputs)
        return LoadedCode(item) if holds_segment(stage.dag) else Code.of(item)

    def add_inputs(self, given: Mapping[str, BoundInput], divert: bool = False) -> dict[str, DataFrame]:
        """The rows of the inputs, all in the same columns."""
        asked = scan_once(self.spark, {name: each.frame for name, each in given.items()})
        in_spark = {name for name, each in given.items() if each.written}  # Catalyst reads the decimals
        scans = [scan if in_spark & scan.inputs.keys() else send_integers(scan) for scan in asked]
        places = share_columns([field.dataType.json() for field in scan.frame.schema] for scan in scans)

        def columns(name: str, own: OwnColumns, place: list[int], sent: SourceScan, asked: SourceScan) -> InputColumns:
            each = given[name]
            kinds, others = (arrow_schema(scan.frame.schema).types for scan in (asked, sent))
            decimals = [(at, kinds[index]) for at, index in enumerate(own.columns) if kinds[index] != others[index]]
            return InputColumns(
                Code.of((each.entry, self.deliveries(each.entry.outputs), name)),
                tuple(zip(each.frame.columns, (place[index] for index in own.columns), strict=True)),
                each.position,
                each.partition,
                None if each.checks is None else Code.of(each.checks),
                None if own.kept is None else place[own.kept],
                tuple(decimals),
            )

        read = [
            {name: columns(name, own, place, sent, before) for name, own in sent.inputs.items()}
            for sent, before, place in zip(scans, asked, places, strict=True)
        ]
        by_name = {name: (number, each) for number, scan in enumerate(read) for name, each in scan.items()}
        self.written = WrittenOutput.all_of(given, self.outputs, by_name)
        names, by_catalyst = {each.output.name for each in self.written}, {each.input for each in self.written}
        self._stages_beside = [self._code_of(stage, names) for stage in self.plan.stages]
        tasks = tuple(tuple(scan.values()) for scan in read)
        self._input_task = InputTask(tasks, self.shards, self.folder if divert else None)
        left = tuple(tuple(each for name, each in scan.items() if name not in by_catalyst) for scan in read)
        self._task_beside = replace(self._input_task, scans=left)
        self.read_once = describe_shared(scans)
        self._input_names = self.names.name_inputs(given)
        self.counted = {name for name, each in given.items() if each.counted}
        self._counted_in_files = all(each.whole_files for each in given.values() if each.counted)
        self.unread = [each.unread for each in given.values() if each.unread is not None]
        frames = in_shared_columns(scans, places)
        fields = [field.dataType for each in given.values() for field in each.frame.schema if field.name != MALFORMED]
        shared = next(iter(frames.values())).schema if frames else StructType()
        self.widths = RowWidths.of(self.spark, fields, shared)
        return {name: frames[name] for name in given}

    def read_inputs(self, rows: DataFrame, batch: MicroBatch | None = None, task: InputTask | None = None) -> DataFrame:
        """The rows of inputs as blobs, addressed to shards."""
        task = task or self._input_task
        if batch is not None:
            task = replace(task, hot=hot_in(batch.state_versions), blobs=batch.blobs)
        return rows.mapInArrow(SparkTask(self._input_names, task), BLOBS)

    def _run_again(self, rows: DataFrame, run: Callable[[DataFrame], Outcome], started: float) -> Outcome:
        """Runs a micro-batch whose inputs were read before. Their rows are counted once."""
        for name, count in self._count_input_rows(rows).items():
            self._counted_before[name] = self._counted_before.get(name, 0) + count
        return replace(run(rows), seconds=time.monotonic() - started)

    def _with_now(self, frame: DataFrame, version: int) -> DataFrame:
        blobs = self.now_blobs(version)
        return frame.union(frame_of(frame.sparkSession, blobs)) if blobs else frame

    def run_first_micro_batch(self, frames: list[DataFrame], version: int, ended: set[int]) -> Outcome:
        """Runs the first micro-batch, with the rows of batch inputs and, at version 0, the literals of the program."""
        self._counted_before = {}
        self._check_unread(version)
        batch = replace(self.micro_batch(version, ended), blobs=self._blob_folder)
        spark = frames[0].sparkSession if frames else self.spark

        def run(rows: DataFrame | None = None) -> Outcome:
            parts = [] if rows is None else [self.read_inputs(rows, batch)]
            if (self.plan.literals and version == 0) or not parts:
                parts.append(frame_of(spark, self.literal_blobs()))
            blobs = self._with_now(reduce(DataFrame.union, parts), version)
            return self.run_stages(blobs, batch)

        return self.widths.run(reduce(DataFrame.union, frames), run, self._run_again) if frames else run()

    def run_micro_batch(self, rows: DataFrame, version: int, ended: set[int]) -> Outcome:
        """Runs a micro-batch on the rows of inputs, in one task if it is probably small."""
        self._counted_before = {}
        self._check_unread(version)
        batch = self.micro_batch(version, ended)
        if not self._is_probably_small(rows, batch):
            return self._run_large(rows, batch)
        started = time.monotonic()
        reports = self._run_in_one_task(rows, batch)
        if not any(TOO_LARGE in each for each in reports):
            return self._outcome(rows, version, reports, started, tasks=1)
        self._small_expected = min(2 * self._small_expected, MOST_EXPECTED)
        return self._run_again(rows, partial(self._run_large, batch=batch), started)

    def _is_probably_small(self, rows: DataFrame, batch: MicroBatch) -> bool:
        """Whether a micro-batch is probably small: as the last ones were, or because its files are. Files are asked
        until one such micro-batch was large, and if there is state: the first may be the first of many."""
        if self._asks_catalyst or not has_own_thread():
            return False
        if self._small_in_a_row >= self._small_expected:
            return True
        if batch.is_first or self.written or self._small_expected > 1:
            return False
        return estimate_bytes(rows) <= FEW_BYTES

    def _check_unread(self, version: int) -> None:
        """Raises if a row of the micro-batch that Spark runs has null in a column that is not read."""
        if not self.unread:
            return
        execution = self._streaming_execution()
        with self._errors(version):
            for each in self.unread:
                each.expect_no_nulls(self.spark, execution)

    def _streaming_execution(self) -> Java | None:
        """The execution of the micro-batch that Spark runs; None if there is no stream."""
        streaming = self.spark.sparkContext.getLocalProperty("sql.streaming.queryId")
        if not streaming:
            return None
        return self.spark._jsparkSession.streams().get(streaming).streamingQuery().lastExecution()

    def _run_large(self, rows: DataFrame, batch: MicroBatch) -> Outcome:
        batch = replace(batch, blobs=self._blob_folder)
        if self.written:
            self.widths.expect_wide(rows)
            return self._write_outputs(rows, batch)
        return self.widths.run(rows, partial(self._run_stages_on, batch=batch), self._run_again)

    def _run_stages_on(self, rows: DataFrame, batch: MicroBatch) -> Outcome:
        return self.run_stages(self._with_now(self.read_inputs(rows, batch), batch.version), batch)

    def _write_outputs(self, rows: DataFrame, batch: MicroBatch) -> Outcome:
        """Runs a micro-batch of which Catalyst writes outputs. Their stages run, too, and receive none of these rows:
        here, if there are no others."""
        started, version = time.monotonic(), batch.version
        left = [number for number, inputs in enumerate(self._task_beside.scans) if inputs]
        others = bool(left or self.now is not None or len(self.plan.stages) > 1 or self.plan.natives)
        try:
            if len(self.written) + bool(left) > 1:  # several jobs read the rows
                rows = self._hold(rows)
            direct = None if others or len(self.written) > 1 else self._read_directly(rows)
            read = rows if direct is None else direct.frame
            with self._errors(version):
                counts = {each.output.name: each.write(read, version, self.shards, self.run) for each in self.written}
            taken = {each.input: counts[each.output.name] for each in self.written}
            if direct is None:
                taken |= self._count_input_rows(rows)
            else:
                taken |= dict.fromkeys(self.counted, direct.rows)
                direct.note_rows(sum(taken.values()))
            report = {"taken": taken, "rows": counts, "input_seconds": time.monotonic() - started}
            if others:
                read = self.read_inputs(rows.where(col(SCAN).isin(left)), batch, self._task_beside)
                return self.run_stages(self._with_now(read, version), batch, self._stages_beside, [report])
            (code,) = self._stages_beside
            sent = StageTask(code, replace(batch, tasks=1)).run_alone(0, [])
            reports = [report, *raise_reported([unpickle(blob.data) for blob in read_blobs(sent)])]
            self._note_size(sum(taken.values()) <= FEW_ROWS)
            return self.summarize(version, reports, time.monotonic() - started)
        finally:
            self._release()

    def _read_directly(self, rows: DataFrame) -> DirectRead | None:
        """The micro-batch as a plan over files, if its rows can be counted without Spark."""
        if not self._reads_directly or (self.counted and not self._counted_in_files):
            return None
        return DirectRead.of(rows, self._streaming_execution(), bool(self.counted))

    def _hold(self, rows: DataFrame) -> DataFrame:
        """The same rows, which executors hold until the micro-batch has run: those that read them get the same."""
        self._held.append(rows.persist())
        return self._held[-1]

    def _release(self) -> None:
        while self._held:
            self._held.pop().unpersist()

    def _note_size(self, is_small: bool) -> None:
        """Notes whether a micro-batch was small."""
        self._small_in_a_row = self._small_in_a_row + 1 if is_small else 0

    @cached_property
    def _asks_catalyst(self) -> bool:
        """Whether Catalyst runs segments, so that a micro-batch is more than one job."""
        return bool(self.plan.natives) or any(isinstance(code, LoadedCode) for code in self.stages)

    def _run_in_one_task(self, rows: DataFrame, batch: MicroBatch) -> list[Any]:
        """The task reports of a small micro-batch in one task. Tasks of their own read the inputs if these have many
        partitions, or if the time of the outside world is one of them."""
        described = (MICRO_BATCH, describe_micro_batch(replace(batch, tasks=1)))
        self.widths.expect_wide(rows)
        if self.now is None:
            task = self._task_of_small(rows)
            with self._translated():
                here = task.collect_in_driver(rows, READ_TOGETHER, described)
            if here is not None:
                return raise_reported([unpickle(each) for each in here])
        self.spark.sparkContext.setLocalProperty(*described)
        rdd = rdd_of(rows)
        if self.now is not None or rdd.getNumPartitions() > READ_TOGETHER:
            blobs = self._with_now(self.read_inputs(rows, batch), batch.version)
            one = blobs.repartition(1).mapInArrow(self._named(self.small_batch_task()), BLOBS)
            return self._collect_reports(one, batch.version)
        with self._errors(batch.version):
            data = self._task_of_small(rows).collect(rdd)
        return raise_reported([unpickle(each) for each in data])

    def _task_of_small(self, rows: DataFrame) -> LastingTask:
        """The task of small micro-batches, which reads the inputs."""
        if self._small_batch is None:
            task = self._named(self.small_batch_task(self._input_task))
            self._small_batch = LastingTask(rows, task, BLOBS, BLOBS.names.index("data"))
        return self._small_batch

    def _named(self, task: SmallBatchTask) -> SparkTask:
        return SparkTask(self.names.all_stages, task)

    def small_batch_task(self, inputs: InputTask | None = None) -> SmallBatchTask:
        """The last task of a micro-batch, if that is small, and the only one if it reads the inputs."""
        stages = tuple(code for code in self.stages if isinstance(code, Code))
        return SmallBatchTask(inputs, stages, FEW_BYTES)

    def run_stages(
        self,
        frame: DataFrame,
        batch: MicroBatch,
        stages: Sequence[Code | LoadedCode] = (),
        reports: Sequence[Any] = (),
    ) -> Outcome:
        """Runs a micro-batch in stages, on the blobs of the inputs, with what Catalyst does between them. `reports` are
        on what it did before."""
        started, version = time.monotonic(), batch.version
        try:
            if batch.blobs is not None:
                os.makedirs(batch.blobs, exist_ok=True)
            frame = self._add_natives(frame, 0, version)
            for number, code in enumerate(stages or self.stages, 1):
                task = StageTask(code, batch)
                if isinstance(code, LoadedCode):
                    frame = self._run_in_driver(frame, task, version)
                else:
                    frame = self._add_stage(frame, SparkTask(self.names.stages[number], task))
                frame = self._add_natives(frame, number, version)
            collected = [*reports, *self._collect_reports(frame, version)]
            started -= sum(each["input_seconds"] for each in reports)
            return self._outcome(frame, version, collected, started, self.tasks)
        finally:
            self._release()
            if batch.blobs is not None:
                shutil.rmtree(batch.blobs, ignore_errors=True)

    def _add_stage(self, frame: DataFrame, task: Any) -> DataFrame:
        return frame.repartitionById(self.tasks, self._shard).mapInArrow(task, BLOBS)

    def _run_in_driver(self, frame: DataFrame, task: StageTask, version: int) -> DataFrame:
        """The blobs after a stage that the driver runs: only there can a body in it ask Catalyst for a segment."""
        with self._errors(version):
            received = list(read_blobs(frame.toArrow().to_batches()))
        shares = [[blob for blob in received if blob.shard % self.tasks == number] for number in range(self.tasks)]
        sent = [batch for number, share in enumerate(shares) for batch in task.run_alone(number, share)]
        return frame.sparkSession.createDataFrame(pa.Table.from_batches(sent, SCHEMA), BLOBS)

    def _add_natives(self, frame: DataFrame, level: int, version: int) -> DataFrame:
        """The blobs of a level, with the results of Catalyst in place of those that are for it.

        The tasks of a stage must run once, and not once for each reader of their blobs. So they run now, in a job of
        their own, and executors hold the blobs."""
        natives = self.plan.natives_after(level)
        if not natives:
            return frame
        held = self._hold(frame)
        self._collect_reports(held.where(col("delivery") == REPORT), version)
        parts = [held.where(~col("delivery").isin([each.delivery.number for each in natives]))]
        for each in natives:
            schema, unpack, pack = self.tasks_around(each)
            rows = held.where(col("delivery") == each.delivery.number).mapInArrow(unpack, schema)
            packing = SparkTask("flo: results of Catalyst", pack)
            parts.append(map_rows(each.segment.chain.over(rows, BESIDE), packing, BLOBS))
        return reduce(DataFrame.union, parts)

    def _collect_reports(self, frame: DataFrame, version: int) -> list[Any]:
        """The task reports that a frame gives. Raises the error that one of them holds."""
        with self._errors(version):
            reports = [unpickle(row.data) for row in frame.collect()]
        return raise_reported(reports)

    @contextmanager
    def _errors(self, version: int) -> Iterator[None]:
        """Names the jobs of a micro-batch, and raises the errors of Python in them as what they are."""
        context = self.spark.sparkContext
        self.names.describe(context, version)
        with self._translated(), self.names.site(context, version):
            yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raises the errors of Python in tasks as what they are."""
        try:
            yield
        except Exception as error:
            if WIDE in str(error):
                raise WideRow from error
            translated = (segment_error(error) if self.plan.natives else None) or python_error(error)
            raise translated from translated.__cause__

    def tasks_around(self, native: Native) -> tuple[StructType, UnpackTask, PackTask]:
        """The tasks before and after a segment, and the schema of the rows that it reads."""
        fields = [*native.segment.input.schema, pa.field(BESIDE, pa.int64(), False)]
        schema = spark_schema(pa.schema(fields))
        code = Code.of((native.output, elements_of(native.type), self.deliveries([native.output])))
        return schema, UnpackTask(arrow_schema(schema)), PackTask(code, self.shards)

    def _outcome(self, frame: DataFrame, version: int, reports: list[Any], started: float, tasks: int) -> Outcome:
        """The outcome of a micro-batch, from the task reports that a frame gave."""
        expected, reported = tasks * len(self.plan.stages), sum("stage" in each for each in reports)
        if reported != expected:  # PySpark returns what it has read if the JVM dies
            raise EngineError(f"Spark returned {reported} of {expected} task reports: the JVM has probably stopped")
        received = Counter[int]()
        for each in reports:
            received[each.get("stage", 0)] += each.get("received", 0)
        outcome = self.summarize(version, reports, time.monotonic() - started)
        taken = {**outcome.taken, **self._count_input_rows(frame)}
        has_few_rows = not self.written or sum(taken.values()) <= FEW_ROWS
        self._note_size(has_few_rows and max(received.values()) <= FEW_BYTES)
        return replace(outcome, taken=taken)

    def _count_input_rows(self, frame: DataFrame) -> dict[str, int]:
        """For inputs that Catalyst filters, the number of rows before the filter."""
        if not self.counted:
            return {}
        # the frame of a micro-batch starts after the part of the plan that reads and counts
        both = frame._jdf.queryExecution(), self._streaming_execution()
        executions = [each for each in both if each is not None]
        counts = dict.fromkeys(self.counted, 0)
        for observed in (each.observedMetrics() for each in executions):
            for name in self.counted:
                if observed.contains(counter_name(name)):
                    counts[name] = observed.apply(counter_name(name)).getLong(0)
        return {name: count - self._counted_before.get(name, 0) for name, count in counts.items()}


def tasks_at_once(spark: SparkSession) -> int:
    """How many tasks an executor runs at once, each in a process of its own."""
    context = spark.sparkContext
    master, cores = str(context.master), context.getConf().get("spark.executor.cores")
    if cores and not master.startswith("local"):
        return int(cores)
    if master.startswith(("yarn", "k8s")):
        return 1
    return max(1, context.defaultParallelism)  # all cores: an executor of a standalone cluster has no more


def most_tasks(spark: SparkSession) -> int:
    """The most tasks that are useful in a stage: one for each core. A cluster may grow beyond its current cores."""
    context = spark.sparkContext
    now = max(1, context.defaultParallelism)
    return now if str(context.master).startswith("local") else max(now, ON_CLUSTER)


def frame_of(spark: SparkSession, blobs: list[Blob]) -> DataFrame:
    """Return blobs as a DataFrame."""
    if not blobs:  # Catalyst would run no task on an empty table
        return spark.range(1).mapInArrow(SparkTask("no rows", send_nothing), BLOBS)
    return spark.createDataFrame(pa.Table.from_batches([blob.batch() for blob in blobs], SCHEMA), BLOBS)
