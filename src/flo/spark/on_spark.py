"""`flow.on(spark)`: the same program on Spark."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

import flo.tables.operators  # noqa: F401  # the columnar forms
from flo.api.running import expect_known
from flo.columns.derive import derive_table_types
from flo.core.errors import (
    BoundednessError,
    CheckpointError,
    ElementError,
    FloError,
    Origin,
    TypeMismatch,
    UnknownNameError,
    brief,
)
from flo.core.graph import names, sequence
from flo.core.stream_type import StreamTypes
from flo.core.typing import initial
from flo.spark.checkpoint.agreed import agreed, content_of, write_agreed
from flo.spark.checkpoint.files import committed, reachable
from flo.spark.checkpoint.lease import Lease
from flo.spark.checkpoint.offsets import SPARK, expect_offsets
from flo.spark.driver.entering import Entering, Native, entering, has_weights, read_as
from flo.spark.driver.query import Query
from flo.spark.driver.shipping import resolve_annotations, ship
from flo.spark.driver.sinks import DIVERTED, Given, Sink, expect_columns, expect_weights, sink_of
from flo.spark.driver.turns import Turns
from flo.spark.driver.views import View
from flo.spark.plan.explain import explained
from flo.spark.plan.planning import planned
from flo.spark.plan.retractions import Cause, retractions
from flo.spark.plan.stages import MOST_SHARDS
from flo.spark.session import having, of_tasks, snapshot
from flo.spark.tasks.arriving import rows_in
from flo.spark.tasks.kept import PARTS, VIEW, Output
from flo.tables.here import one_of
from flo.tables.io.diverted import OnError
from flo.tables.io.files import WEIGHTS
from flo.tables.operator import columnar, plain
from flo.tables.translate import converting, translated
from flo.tables.values import Columns

if TYPE_CHECKING:
    from flo.api.flow import Flow


class OnSpark:
    """A flow on Spark: one query, of as many stages as its rows change places."""

    def __init__(self, flow: Flow, spark: SparkSession) -> None:
        _expect_session(spark)
        flow.type()
        self._flow = flow
        self._spark = spark
        _use_this_python(spark)
        ship(spark)
        self._inputs = {stream.name: stream for stream in flow._scope.inputs}
        types: StreamTypes = tuple(columnar(stream.type) or stream.type for stream in self._inputs.values())
        values = tuple(stream.type for stream in self._inputs.values())
        graph, outputs = translated(derive_table_types(flow.graph(), values, (*flow._outputs, *flow._late())), types)
        wanted = tuple(columnar(plain(output)) or plain(output) for output in outputs)
        between = converting(outputs, wanted)
        self._graph = initial(graph if between is None else sequence(graph, between), types)[0]
        for function in names(self._graph).values():
            resolve_annotations(function)
        self._plan = planned(self._graph, types)
        self._types = types
        self._output_types = dict(zip((*flow._outputs, *flow._late()), wanted, strict=True))

    def start(
        self,
        inputs: Mapping[str, DataFrame],
        outputs: Mapping[str, Any] | None = None,
        *,
        checkpoint: str | Path,
        order: Mapping[str, str] | None = None,
        shards: int | None = None,
        trigger: Mapping[str, Any] | None = None,
        spark_checkpoint: str | Path | None = None,
        on_error: OnError = "raise",
    ) -> Query:
        """Runs on these DataFrames, streaming ones and others, until it is stopped.

        An output without a sink is a view. `order` names the column that has the place of a row, for inputs that are
        sequences; by default the offset, of a source that has one. An input that is a stream of streams takes the rows
        of each micro-batch as an inner stream. With `on_error="divert"` rows of `orders` that do not fit, or that a
        function raises on before they are moved, are put aside: for `query.diverted("orders")`, or for the sink of the
        output `orders diverted`. `trigger` is Spark's: `{"processingTime": "5 seconds"}`, `{"availableNow": True}`.
        The checkpoint is a path, or an address that Arrow reaches (`s3a://…`); Spark's own part of it, the offsets,
        is in its folder `spark`, or at `spark_checkpoint`. One query at a time may run on a checkpoint: while another
        does on this machine, it is refused.
        """
        here, lease = Origin.here(), None
        try:
            frames = self._checked(inputs)
            _expect_shards(shards)
            _expect_trigger(trigger or {})
            divert = one_of("on_error", on_error, OnError) == "divert"
            sinks = self._sinks(outputs or {}, self._aside if divert else [])
            folder = str(checkpoint) if "://" in str(checkpoint) else str(Path(checkpoint).absolute())
            if Path(folder).is_file():
                raise CheckpointError(f"the checkpoint {folder!r} is a file, and a folder is expected")
            reachable(self._spark, folder)
            planned_outputs = self._planned_outputs(
                {name: sink.how for name, sink in sinks.items()}, {name: sink.staged() for name, sink in sinks.items()}
            )
            for output in planned_outputs:
                expect_columns(output)
            self._expect_weights(frames, sinks)
            streaming = [name for name, frame in frames.items() if frame.isStreaming]
            if not streaming:
                raise BoundednessError(
                    "`start` was given no streaming DataFrame, and there would be nothing to wait for",
                    instead=(("flow.on(spark).run(…)", "for inputs that are all bounded"),),
                )
            names, parallelism = list(self._inputs), shards or self._parallelism()
            ours = content_of(self._flow.name, self._graph, self._plan, names, planned_outputs, parallelism)
            read = zip(frames.items(), self._plan.entries, strict=False)
            ours["inputs"] += [read_as(name, frame, entry, (order or {}).get(name)) for (name, frame), entry in read]
            given = self._entering(frames, order or {}, divert)
            lease = Lease.take(folder, self._flow.name)
            count = agreed(folder, ours, shards)
            offsets = str(spark_checkpoint) if spark_checkpoint else f"{folder}/{SPARK}"
            expect_offsets(offsets, max(committed(folder), default=None))
            turns = Turns(self._spark, self._plan, planned_outputs, folder, count, ours["id"])
            entering = {name: turns.entering(name, each, divert) for name, each in given.items()}
            write_agreed(folder, ours)
            static = [entering[name] for name in frames if name not in streaming]
            ended = {place for place, name in enumerate(self._inputs) if name in frames and name not in streaming}
            streams = [entering[name] for name in streaming]
            return Query(self._flow.name, turns, streams, static, ended, sinks, dict(trigger or {}), lease, offsets)
        except BaseException as error:
            if lease is not None:
                lease.release()
            if isinstance(error, FloError):
                raise error.located(here) from error.__cause__
            raise

    def run(
        self,
        *,
        order: Mapping[str, str] | None = None,
        shards: int | None = None,
        on_error: OnError = "raise",
        **inputs: DataFrame,
    ) -> dict[str, Any]:
        """Runs to the end on bounded DataFrames, as one job. Gives DataFrames; plain Python for what has no columns.

        With `on_error="divert"` rows that `orders` cannot take are `orders diverted`.
        """
        here = Origin.here()
        folder = tempfile.mkdtemp(prefix="flo-")
        try:
            frames = self._checked(inputs)
            _expect_shards(shards)
            kinds = {n: PARTS if isinstance(t.collection, Columns) else VIEW for n, t in self._output_types.items()}
            outputs = self._planned_outputs(kinds)
            turns = Turns(self._spark, self._plan, outputs, folder, shards or self._parallelism())
            divert = one_of("on_error", on_error, OnError) == "divert"
            given = self._entering(frames, order or {}, divert)
            entering = {name: turns.entering(name, each, divert) for name, each in given.items()}
            with having(self._spark, of_tasks(turns.narrow)):
                outcome = turns.begin(list(entering.values()), set(range(len(self._inputs))))
            turns.commit(outcome)  # for views
            aside = {
                f"{name}{DIVERTED}": snapshot(Given.aside(self._spark, folder, name, outcome, turns.shards).frame())
                for name in (self._inputs if divert else ())
            }
            return aside | {
                each.name: snapshot(Given.of(self._spark, folder, each, outcome, turns.shards).frame())
                if each.how == PARTS
                else View(folder, each.name, 0, turns).value()
                for each in outputs
            }
        except FloError as error:
            raise error.located(here) from error.__cause__
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def explain(self) -> str:
        """The stages, what is shuffled between them and by which key, how each operator runs and what it keeps."""
        native = {id(operator) for each in self._natives for operator in each.operators}
        names = list(self._inputs), list(self._output_types)
        return explained(self._flow.name, self._plan, *names, self._parallelism(), native)

    def _parallelism(self) -> int:
        return max(1, self._spark.sparkContext.defaultParallelism)

    def _checked(self, inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        _expect_session(self._spark)
        for name, frame in inputs.items():
            stream = self._inputs[expect_known(name, self._inputs, "input")]
            if _is_connect(frame):
                raise _connect(f"the input `{name}` was given a DataFrame of Spark Connect")
            if not isinstance(frame, DataFrame):
                raise TypeMismatch(f"the input `{name}` takes a DataFrame, and was given {type(frame).__name__}")
            _expect_same_session(name, frame, self._spark)
            if stream.bounded and frame.isStreaming:
                raise BoundednessError(f"the input `{name}` is bounded, and a streaming DataFrame may never end")
        for name in self._inputs:
            if name not in inputs:
                raise UnknownNameError(f"the input `{name}` was given no DataFrame")
        return {name: inputs[name] for name in self._inputs}

    @property
    def _aside(self) -> list[str]:
        """The outputs of rows that are put aside."""
        return [f"{name}{DIVERTED}" for name in self._inputs]

    def _sinks(self, outputs: Mapping[str, Any], aside: list[str]) -> dict[str, Sink]:
        names = [*self._output_types, *aside]
        for name in outputs:
            expect_known(name, dict.fromkeys(names), "output")
        return {name: sink_of(name, outputs.get(name)) for name in names}

    def _expect_weights(self, frames: Mapping[str, DataFrame], sinks: Mapping[str, Sink]) -> None:
        """Refuses a sink that does not keep weights for an output that can take rows back."""
        if all(sinks[name].keeps_weight for name in self._output_types):
            return
        why = f"its DataFrame has a column `{WEIGHTS}`, and a weight below zero takes a row back"
        given = [
            Cause(name, why=why) if has_weights(frame, rows_in(entry.type.collection)) else None
            for (name, frame), entry in zip(frames.items(), self._plan.entries, strict=False)
        ]
        types = tuple(stream.type for stream in self._inputs.values())
        for name, cause in zip(self._output_types, retractions(self._flow.graph(), types, given), strict=True):
            if cause is not None:
                expect_weights(name, sinks[name], cause)

    def _planned_outputs(self, how: Mapping[str, str], to: Mapping[str, str | None] | None = None) -> list[Output]:
        streams = zip(self._output_types.items(), self._plan.outputs, strict=True)
        return [Output(name, stream, kind, how[name], (to or {}).get(name)) for (name, kind), stream in streams]

    def _entering(self, frames: Mapping[str, DataFrame], order: Mapping[str, str], divert: bool) -> dict[str, Entering]:
        """The inputs as the program reads them; refuses one that cannot fit."""
        for name in order:
            expect_known(name, self._inputs, "input")
        # rows that do not fit are put aside as they came
        natives = repeat(None) if divert else self._natives
        return {
            name: entering(name, frame, entry, native, order.get(name))
            for (name, frame), entry, native in zip(frames.items(), self._plan.entries, natives, strict=False)
        }

    @cached_property
    def _natives(self) -> list[Native]:
        return [Native.of(entry) for entry in self._plan.entries]


def _is_connect(item: Any) -> bool:
    """Whether a session or a frame is a client's, whose driver is elsewhere."""
    return type(item).__module__.startswith("pyspark.sql.connect")


def _connect(what: str) -> TypeMismatch:
    return TypeMismatch(
        f"{what}, which is not supported yet: Flo runs in the driver of a classic session",
        instead=(
            ('SparkSession.builder.master("…").getOrCreate()', "a classic session; SPARK_REMOTE must not be set"),
            ("spark-submit program.py", "runs the program where the driver is"),
        ),
    )


def _expect_session(spark: Any) -> None:
    """A classic session that is running."""
    if _is_connect(spark):
        raise _connect("`on` was given a session of Spark Connect").located(Origin.here())
    if type(spark).__module__.startswith("pyspark.") and not isinstance(spark, SparkSession):
        raise TypeMismatch(
            f"`on` takes a Spark session, and was given {type(spark).__name__}",
            instead=(("flow.on(spark)", "where `spark` is SparkSession.builder.getOrCreate()"),),
            where=Origin.here(),
        )
    if isinstance(spark, SparkSession) and spark.sparkContext._jsc is None:
        raise FloError(
            "the Spark session has been stopped, so nothing can run on it",
            instead=(("SparkSession.builder.getOrCreate()", "begins another, which `flow.on` takes"),),
            where=Origin.here(),
        )


def _expect_same_session(name: str, frame: DataFrame, spark: SparkSession) -> None:
    expected = (("expected", "a DataFrame of the session that was given to `flow.on`"),)
    theirs = frame.sparkSession
    if theirs.sparkContext._jsc is None:
        raise TypeMismatch(f"the input `{name}` is a DataFrame of a session that has been stopped", facts=expected)
    if _session(theirs) != _session(spark):
        raise TypeMismatch(
            f"the input `{name}` is a DataFrame of another session",
            facts=expected,
            instead=(("flow.on(frame.sparkSession)", "runs where its DataFrames are"),),
        )


def _session(spark: SparkSession) -> str:
    return str(spark._jsparkSession.sessionUUID())


def _expect_shards(shards: Any) -> None:
    if shards is not None and (not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS):
        raise ElementError(f"`shards` is {brief(shards)}, and a whole number from 1 to {MOST_SHARDS:,} is expected")


def _expect_trigger(trigger: Mapping[str, Any]) -> None:
    known_ones = {"availableNow": True, "processingTime": "5 seconds", "once": True}
    if not set(trigger) <= set(known_ones) or len(trigger) > 1:
        raise UnknownNameError(
            f"the trigger is {brief(dict(trigger))}, and one of those of micro-batches is expected",
            instead=tuple((f'trigger={{"{name}": {value!r}}}', "") for name, value in known_ones.items()),
        )


def _use_this_python(spark: SparkSession) -> None:
    """Workers on this machine run the Python that has Flo, unless the user says which."""
    context = spark.sparkContext
    if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
