"""`flow.on(spark)`: the same program on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from flo.api.explain import explain_partitions, explain_state
from flo.api.running import expect_known, expect_one_of
from flo.core.errors import (
    BoundednessError,
    FloError,
    HasMethods,
    Origin,
    TypeMismatch,
    UnknownNameError,
)
from flo.core.explained_calls import explain_methods
from flo.local.evolution import find_evolution
from flo.local.fill_run import Change, OnChange
from flo.pictures.notebook import html_text
from flo.program.identity import supplied
from flo.program.retractions import Cause
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.program_changes import Description, describe_program
from flo.shards.checkpoint.retention import Retention
from flo.shards.plan.explain import PlanSection, explain_plan, plan_blocks
from flo.shards.plan.planning import segment_of
from flo.shards.plan.stages import Entry
from flo.shards.program import (
    ShardedProgram,
    as_table,
    checkpoint_folder,
    choose_shards,
    expect_memory,
    expect_shards,
    finish_as_table,
)
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.output_changes import DIVERTED, OutputChanges
from flo.shards.sinks.retrying import Retrying
from flo.shards.tasks.input_task import row_collection
from flo.shards.tasks.output_files import PARTS, VIEW, Output
from flo.shards.tasks.state import READABLE
from flo.shards.watching.watch import QueryWatch
from flo.shards.watching.watched import Watched
from flo.spark.driver.file_statistics import shared_relations
from flo.spark.driver.fills import SparkFills
from flo.spark.driver.inputs import BoundInput, InputOrder, NativePrefix, bind_input, describe_source, has_weights
from flo.spark.driver.job_names import hold_description
from flo.spark.driver.micro_batches import SparkMicroBatches, tasks_at_once
from flo.spark.driver.offset_logs import number_sources
from flo.spark.driver.python_errors import SparkErrors, python_error
from flo.spark.driver.query import Query
from flo.spark.driver.read_again import ReadAgain
from flo.spark.driver.resuming import ResumePoint
from flo.spark.driver.session_checks import (
    connect_error,
    expect_same_session,
    expect_session,
    expect_trigger,
    is_connect,
    use_own_python,
)
from flo.spark.driver.shipping import resolve_annotations, ship
from flo.spark.driver.source_scans import SourceScan, scan_once
from flo.spark.driver.spark_changes import SparkChanges, View
from flo.spark.session import export_s3_settings, hold_on_executors, hold_settings, task_settings
from flo.tables.io.diverted import OnError
from flo.tables.io.files import WEIGHTS
from flo.tables.lowering import lower_flow
from flo.tables.values import Columns
from flo.values.partitioned import Partitioned

if TYPE_CHECKING:
    from flo.api.flow import Flow


@explain_methods
class OnSpark(HasMethods):
    """A flow on Spark: one query, cut into stages where its rows are shuffled."""

    _called = "a flow on Spark"

    def __init__(self, flow: Flow, spark: SparkSession, described: Mapping[str, str] | None = None) -> None:
        """`described` says, for inputs that are made of other DataFrames, how: a checkpoint belongs to that."""
        expect_session(spark)
        self._described = described or {}
        self._flow = flow
        self._spark = spark
        with SparkErrors():
            use_own_python(spark)
            ship(spark)
        self._inputs = {stream.name: stream for stream in flow._scope.inputs}
        self._given = [stream.name for stream in flow._scope.inputs if stream is not flow._scope.now]
        """The inputs that get DataFrames. The time of the outside world does not."""
        dag = lower_flow(flow, as_table, finish_as_table)
        for stream in flow._scope.inputs:
            of = stream.type.collection
            resolve_annotations(getattr(of, "row" if isinstance(of, Partitioned) else "element", None))
        for vertex in dag.vertices:
            for function in supplied(vertex.operator):
                resolve_annotations(function)
        self._program = ShardedProgram(flow, dag)
        self._plan = self._program.plan
        self._output_types = self._program.output_types

    def __repr__(self) -> str:
        return f"<Flow {self._flow.name!r}, on Spark: start(…), run(…), explain()>"

    def start(
        self,
        inputs: Mapping[str, DataFrame],
        outputs: Mapping[str, Any] | None = None,
        *,
        checkpoint: str | Path,
        order: Mapping[str, InputOrder] | None = None,
        shards: int | None = None,
        trigger: Mapping[str, Any] | None = None,
        spark_checkpoint: str | Path | None = None,
        on_error: OnError = "raise",
        keep: int | str = READABLE,
        changed: OnChange = "reject",
        fill: Mapping[str, object] | None = None,
        refill: Sequence[str] = (),
        version: int | str | None = None,
        retry: float = 0,
        memory: str | None = None,
        ui: int | None = None,
    ) -> Query:
        """Starts a query on these DataFrames, at least one of them streaming. It runs until it is stopped.

        - `outputs`: a sink for each output. An output without a sink is a view.
        - `checkpoint`: a path, or a URL that Arrow reaches (`s3a://…`). Only one query at a time may run on it.
        - `order`: for inputs that are sequences, the column with the position of a row; by default the offset, if the
          source has one. For partitioned ones the columns with the partition and the position, by default Kafka's. An
          input that is a stream of streams takes each micro-batch as an inner stream.
        - `shards`: how many parts the state has; by default Spark's parallelism. A checkpoint keeps its number, unless
          another one is given: then its state is cut.
        - `trigger`: one of Spark's, such as `{"processingTime": "5 seconds"}` or `{"availableNow": True}`.
        - `spark_checkpoint`: where Spark keeps its offsets; by default in the folder `spark` of the checkpoint.
        - `on_error="divert"`: diverts rows that do not fit, or on which a function raises before a shuffle. Those of
          the input `orders` go to `query.diverted("orders")`, or to the sink of the output `orders diverted`.
        - `keep`: how many committed versions readers can read, such as 10, or for how long, such as `"1 day"`.
        - `changed`: what to do if the checkpoint is of another program. `"reject"` raises, with what would be kept and
          filled; `"fill"` keeps the state of operators that are the same, and fills the others from all input so far:
          from the state, or from the sources, up to the offsets of the last micro-batch.
        - `fill`: rows of inputs that their sources do not have any more: a table, a frame, files or rows.
        - `refill`: the names of functions whose code has changed: what depends on them is computed anew.
        - `version`: a version to go back to, by its number or by the name of its tag (`flo state tag`). Later ones are
          abandoned, and the sources are read again from its offsets.
        - `retry`: for how many seconds a sink that raises is tried again, with growing delays. By default its error
          ends the query at once.
        - `memory`: a limit for the state in memory, such as `"4 GB"`, for each executor. The rest is in files on the
          local disk, in the folder `FLO_CACHE`, and read by need. With a limit there are 16 shards by default: the
          runs of one shard at a time are merged in memory.
        - `ui`: a port: serves the page of `query.ui` there from now on, also during a fill. 0 is any free one.
        """
        here, lease, watch = Origin.here(), None, None
        try:
            frames = self._check_frames(inputs)
            streaming = _streaming_inputs(frames)
            expect_shards(shards)
            limit = expect_memory(memory)
            expect_trigger(trigger or {})
            retention = Retention.of(keep)
            divert = expect_one_of("on_error", on_error, OnError) == "divert"
            folder = checkpoint_folder(checkpoint)
            export_s3_settings(self._spark, folder)
            causes = self._retracting(frames)
            sinks = self._program.choose_sinks(outputs or {}, self._given, divert)
            planned = self._program.outputs_for(sinks, causes)
            bound = self._bind_inputs(frames, order or {}, divert)
            ours = self._describe(frames, order or {}, planned, causes, shards, limit)
            sinks |= self._program.bind_sinks(self._spark, sinks, planned)

            lease = Lease.take(folder, self._flow.name)
            point = ResumePoint.find(folder, ours, shards, version, spark_checkpoint)
            name, count, own = self._flow.name, point.shards, ours["id"]
            batches = SparkMicroBatches(self._spark, self._plan, planned, folder, count, own, retention, name)
            batches.now = self._now
            batches.memory = limit and limit // tasks_at_once(self._spark)
            rows = batches.add_inputs(bound, divert)
            giving = Giving(batches, sinks, divert, point.version, Retrying(retry, lease.expect_held))
            giving.within = partial(SparkChanges.within, self._spark)

            misfits = giving.find_misfits(ours["new_sinks"], changed == "fill", point.runs_again)
            change = Change(changed, fill or {}, refill, on_error, misfits)
            again = ReadAgain(partial(self._bind_inputs, frames, order or {}, divert=True), point)
            evolution = find_evolution(
                self._program,
                batches,
                ours,
                change,
                SparkFills(self._spark, again),
                frames.keys() - set(streaming),
                point.version,
            )
            settings: dict[str, object] = {"runs": f"on Spark {self._spark.version}, {self._spark.sparkContext.master}"}
            settings |= {
                "inputs": ours["sources"],
                "read once": batches.read_once,
                "trigger": trigger,
                "on_error": on_error,
                "keep": keep,
            }
            settings |= {"changed": changed, "refill": refill, "retry": f"{retry:g} s", "memory": memory}
            watched = Watched.of(self._flow, self._blocks(count), list(frames), batches, sinks, settings)
            watch = QueryWatch(watched, batches)
            watch.fill = evolution.figures if evolution is not None else None
            if ui is not None:
                watch.serve(ui)
            point = point.resume(giving, evolution, lease)

            return Query(
                watch,
                batches,
                [rows[name] for name in streaming],
                [rows[name] for name in frames if name not in streaming],
                {place for place, name in enumerate(self._inputs) if name in frames and name not in streaming},
                sinks,
                giving,
                dict(trigger or {}),
                lease,
                point.logs,
                point.resumed,
            )
        except BaseException as error:
            if watch is not None:
                watch.end()
                watch.close()
            if lease is not None:
                lease.release()
            raised = python_error(error) if isinstance(error, Exception) else error
            if isinstance(raised, FloError):
                raised.located(here)
            elif raised is error:
                raise
            raise raised from raised.__cause__

    def _describe(
        self,
        frames: Mapping[str, DataFrame],
        order: Mapping[str, InputOrder],
        outputs: list[Output],
        causes: Mapping[str, Cause],
        shards: int | None,
        memory: int | None,
    ) -> Description:
        """The program as the checkpoint describes it, with how its inputs are read."""
        outline = self._flow._outline({name: cause.why for name, cause in causes.items()})
        count = choose_shards(shards, self._parallelism(), memory)
        ours = describe_program(self._flow.name, self._plan, list(self._inputs), outputs, count, outline)
        read = zip(frames.items(), self._entries, strict=True)
        ours["sources"] = [describe_source(name, frame, entry, order.get(name)) for (name, frame), entry in read]
        ours["sources"] += [f"{name}: {how}" for name, how in self._described.items()]
        ours["offsets"] = number_sources({name: frames[name] for name in _streaming_inputs(frames)})
        return ours

    def run(
        self,
        *,
        order: Mapping[str, InputOrder] | None = None,
        shards: int | None = None,
        on_error: OnError = "raise",
        **inputs: DataFrame,
    ) -> dict[str, Any]:
        """Runs to the end on bounded DataFrames, as one job.

        Returns a DataFrame for each output, or plain Python if it has no columns. With `on_error="divert"`
        the rows that the input `orders` diverts are the output `orders diverted`.
        """
        with SparkErrors(), tempfile.TemporaryDirectory(prefix="flo-", ignore_cleanup_errors=True) as folder:
            frames = self._check_frames(inputs)
            expect_shards(shards)
            kinds = {n: PARTS if isinstance(t.collection, Columns) else VIEW for n, t in self._output_types.items()}
            outputs = self._program.plan_outputs(kinds)
            count = shards or self._parallelism()
            batches = SparkMicroBatches(self._spark, self._plan, outputs, folder, count, name=self._flow.name)
            batches.now = self._now
            divert = expect_one_of("on_error", on_error, OnError) == "divert"
            bound = self._bind_inputs(frames, order or {}, divert)
            rows = list(batches.add_inputs(bound, divert).values())
            settings = hold_settings(self._spark, task_settings(batches.widths.is_unlimited))
            with settings, hold_description(self._spark.sparkContext):
                outcome = batches.run_first_micro_batch(rows, 0, set(range(len(self._inputs))))
            batches.commit_micro_batch(outcome)  # so that views can be read
            diverted = {
                f"{name}{DIVERTED}": hold_on_executors(
                    self._frame(OutputChanges.of_diverted(folder, name, outcome, batches.shards))
                )
                for name in (self._given if divert else ())
            }
            return diverted | {
                each.name: hold_on_executors(self._frame(OutputChanges.of(folder, each, outcome, batches.shards)))
                if each.how == PARTS
                else View(folder, each.name, 0, batches).value()
                for each in outputs
            }

    def _frame(self, changes: OutputChanges) -> DataFrame:
        return SparkChanges.within(self._spark, changes).frame()

    def explain(self) -> str:
        """The plan as text: the stages, the shuffles between them, how each operator runs, and what state it keeps."""
        with SparkErrors():
            blocks = self._blocks(self._parallelism())
        text = explain_plan(self._flow.name, self._plan, blocks, self._native_operators)
        program = self._flow._scope, self._flow._outputs
        return "\n".join([text, *explain_partitions(*program, "  "), *explain_state(*program, "  ")])

    def _scans(self, frames: Mapping[str, DataFrame]) -> list[SourceScan]:
        """How often these DataFrames are read, if they are the inputs."""
        bound = self._bind_inputs(frames, {}, divert=False)
        return scan_once(self._spark, {name: each.frame for name, each in bound.items()})

    def _repr_html_(self) -> str:
        return html_text(self.explain())

    @property
    def _native_operators(self) -> set[int]:
        """The operators that Catalyst runs, by their identity."""
        native = {id(operator) for each in self._natives for operator in each.operators}
        return native | {id(vertex.operator) for _, vertex in self._plan.vertices if segment_of(vertex.operator)}

    def _blocks(self, shards: int) -> list[PlanSection]:
        names = list(self._inputs), list(self._output_types)
        written = frozenset(rows.stream for each in self._natives for rows in each.written)
        read = {name: each.read for name, each in zip(self._given, self._natives, strict=True) if each.read}
        return plan_blocks(self._plan, *names, shards, self._native_operators, written, read)

    def _parallelism(self) -> int:
        return max(1, self._spark.sparkContext.defaultParallelism)

    def _check_frames(self, inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """The DataFrames in the order of the inputs. Raises if one is missing, unknown or of the wrong kind."""
        expect_session(self._spark)
        for name, frame in inputs.items():
            stream = self._inputs[expect_known(name, dict.fromkeys(self._given), "input")]
            if is_connect(frame):
                raise connect_error(f"the input `{name}` was given a DataFrame of Spark Connect")
            if not isinstance(frame, DataFrame):
                raise TypeMismatch(f"the input `{name}` needs a DataFrame; got {type(frame).__name__}")
            expect_same_session(name, frame, self._spark)
            if stream.bounded and frame.isStreaming:
                raise BoundednessError(
                    f"the input `{name}` is bounded, but its DataFrame is streaming and may never end"
                )
        for name in self._given:
            if name not in inputs:
                raise UnknownNameError(f"the input `{name}` has no DataFrame")
        return {name: inputs[name] for name in self._given}

    @property
    def _now(self) -> int | None:
        """The number of the input that gets the time of the outside world."""
        return next((place for place, name in enumerate(self._inputs) if name not in self._given), None)

    @property
    def _entries(self) -> list[Entry]:
        """Where the rows of DataFrames enter."""
        return [self._plan.entries[place] for place, name in enumerate(self._inputs) if name in self._given]

    def _retracting(self, frames: Mapping[str, DataFrame]) -> dict[str, Cause]:
        """The inputs whose DataFrames can retract rows, and why."""
        why = f"its DataFrame has a column `{WEIGHTS}`, and a negative weight retracts a row"
        return {
            name: Cause(name, why=why)
            for (name, frame), entry in zip(frames.items(), self._entries, strict=True)
            if has_weights(frame, row_collection(entry.type.collection))
        }

    def _bind_inputs(
        self, frames: Mapping[str, DataFrame], order: Mapping[str, InputOrder], divert: bool
    ) -> dict[str, BoundInput]:
        """Binds the DataFrames to inputs. Raises if one can never fit."""
        for name in order:
            expect_known(name, self._inputs, "input")
        # with `divert` nothing is pushed down, because rows are diverted as they came
        natives = repeat(None) if divert else self._natives
        shared = shared_relations(frames.values())
        return {
            name: bind_input(name, frame, entry, native, order.get(name), shared)
            for (name, frame), entry, native in zip(frames.items(), self._entries, natives, strict=False)
        }

    @cached_property
    def _natives(self) -> list[NativePrefix]:
        return [NativePrefix.of(entry, self._plan) for entry in self._entries]


def _streaming_inputs(frames: Mapping[str, DataFrame]) -> list[str]:
    """The inputs with streaming DataFrames. Raises if there is none."""
    streaming = [name for name, frame in frames.items() if frame.isStreaming]
    if not streaming:
        raise BoundednessError(
            "`start` needs a streaming DataFrame for at least one input",
            instead=(("flow.on(spark).run(…)", "if all inputs are bounded"),),
        )
    return streaming
