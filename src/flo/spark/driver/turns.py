"""Turns of the loop, as the driver sees them: a plan on Spark from deltas to outputs, and what came of it."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col

from flo.core.collection import Value
from flo.core.errors import EngineError, FloError
from flo.spark.checkpoint.files import commit, standing_as_json, standing_at
from flo.spark.driver.entering import Entering, counter
from flo.spark.driver.faults import misfit, without_java
from flo.spark.plan.stages import POSITION, Plan
from flo.spark.session import is_narrow
from flo.spark.tasks.blobs import SCHEMA, SPARK, Blob, noted
from flo.spark.tasks.context import STANDING, VERSION, Code, Turn, as_property
from flo.spark.tasks.enter import Enter, leaving
from flo.spark.tasks.kept import Kept, Output
from flo.spark.tasks.sending import Sending
from flo.spark.tasks.state import Shard, Standing
from flo.spark.tasks.work import InTurns, Work
from flo.tables.values import Rows, ordered

ON_CLUSTER = 64
"""So many tasks a stage may have on any cluster."""


@dataclass(frozen=True)
class Outcome:
    """What one turn did."""

    version: int
    rows: dict[str, int]
    """How many rows of changes each output had."""
    ended: dict[str, bool]
    written: int
    """Bytes of state."""
    taken: dict[str, int]
    """How many rows came on each input, before any filter."""
    seconds: float
    aside: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """The files of rows that each input has put aside, and how many there are."""
    files: dict[str, list[int]] = field(default_factory=dict)
    """The shards that have written a file of the changes of each output."""

    @property
    def diverted(self) -> dict[str, int]:
        """How many rows each input has put aside."""
        return {name: sum(count for _, count in files) for name, files in self.aside.items()}


class Turns:
    """A program on Spark: takes deltas, version by version."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        outputs: list[Output],
        folder: str,
        shards: int,
        checkpoint: str = "",
    ) -> None:
        self.spark = spark
        self.plan = plan
        self.outputs = outputs
        self.folder = folder
        self.shards = shards
        self.checkpoint = checkpoint
        """The id of the checkpoint; a run that keeps none has none."""
        self.tasks = min(shards, cores(spark))
        self.run = uuid.uuid4().hex
        self._standing: tuple[int, dict[int, Standing]] = (-1, {})
        """Where the states are, and of which version: the last that was taken, committed or not."""
        self.counted: set[str] = set()
        """The inputs whose rows Spark counts."""
        self.narrow = True
        """Whether all rows that enter have few bytes, whatever they say."""
        self.stages = [Code.of((stage, self._sent(stage.outputs), tuple(outputs))) for stage in plan.stages]

    @cached_property
    def _shard(self) -> Column:
        return col("shard")  # its remainder is the number of the task

    def _sent(self, streams: Iterable[int]) -> tuple[Any, ...]:
        return tuple(each for stream in streams for each in self.plan.sent(stream))

    def entering(self, name: str, given: Entering, divert: bool = False) -> DataFrame:
        """The rows of an input on their way to shards."""
        entry = given.entry
        self.narrow &= is_narrow(given.frame.schema)
        if given.counted:
            self.counted.add(name)
        code = Code.of((entry, self._sent(entry.outputs), name))
        return given.frame.mapInArrow(Enter(code, self.shards, given.position, self.folder if divert else None), SPARK)

    def literals(self) -> list[Blob]:
        """What the program gives itself, in the first turn."""
        found = []
        for number, source in self.plan.literals.items():
            entry = self.plan.entries[number]
            assert source.value is not None
            sending = Sending(self._sent(entry.outputs), self.shards, number)
            sending.gather(leaving(sending, entry, _placed(source.value)))
            found += list(sending.blobs())
        return found

    def turn(self, version: int, ended: set[int]) -> Turn:
        ended = ended | set(self.plan.literals)
        done = frozenset(stream for stream, inputs in self.plan.sources.items() if inputs <= ended)
        return Turn(version, self.run, self.folder, self.shards, self.tasks, done, self.standing(version - 1))

    def begin(self, frames: list[DataFrame], ended: set[int]) -> Outcome:
        """The first turn, with what the program gives itself."""
        spark = frames[0].sparkSession if frames else self.spark
        if self.plan.literals:
            given = pa.Table.from_batches([blob.batch() for blob in self.literals()], SCHEMA)
            frames = [*frames, spark.createDataFrame(given, SPARK)]
        turn = self.turn(0, ended)
        return self.take(self._staged(reduce(DataFrame.union, frames), lambda code: Work(code, turn)), 0)

    def in_turns(self, frame: DataFrame, ended: set[int], begun: bool) -> DataFrame:
        """A stream of rows on their way to shards, as one of what tasks say of them; if it is to be `begun`, its first
        turn has the rows."""
        turn = self.turn(0, ended)
        return self._staged(frame, lambda code: InTurns(code, turn, begun))

    def _staged(self, frame: DataFrame, task: Callable[[Code], Any]) -> DataFrame:
        for code in self.stages:
            frame = frame.repartitionById(self.tasks, self._shard).mapInArrow(task(code), SPARK)
        return frame

    def standing(self, version: int) -> dict[int, Standing]:
        """Where the states of a version are: known, or read from its commit."""
        known, found = self._standing
        if version < 0:
            return {}
        return found if known == version else standing_at(self.folder, version, self.shards)

    def take(self, frame: DataFrame, version: int) -> Outcome:
        """One turn, of which this is what tasks say; raises what one found wrong."""
        started = time.monotonic()
        self.spark.sparkContext.setLocalProperty(VERSION, str(version))
        self.spark.sparkContext.setLocalProperty(STANDING, as_property(self.standing(version - 1)))
        try:
            said = [noted(row.data) for row in frame.collect()]
        except Exception as error:
            told = without_java(misfit(error))
            raise told from told.__cause__
        faults = [each for each in said if isinstance(each, FloError)]
        if faults:
            raise faults[0]
        if {each.get("version", version) for each in said} != {version}:
            raise EngineError(f"a task took turn {version} for another: is PYSPARK_PIN_THREAD false?")
        outcome = self._outcome(version, said, time.monotonic() - started)
        return replace(outcome, taken={**outcome.taken, **self._counted_in(frame)})

    def _counted_in(self, frame: DataFrame) -> dict[str, int]:
        """The rows of inputs that Spark has filtered itself, before it did."""
        if not self.counted:
            return {}
        executions = [frame._jdf.queryExecution()]
        streaming = self.spark.sparkContext.getLocalProperty("sql.streaming.queryId")
        if streaming:  # the frame of a micro-batch begins behind what has read and counted its rows
            query = self.spark._jsparkSession.streams().get(streaming)
            executions.append(query.streamingQuery().lastExecution())
        counts = dict.fromkeys(self.counted, 0)
        for observed in (each.observedMetrics() for each in executions):
            for name in self.counted:
                if observed.contains(counter(name)):
                    counts[name] = observed.apply(counter(name)).getLong(0)
        return counts

    def _outcome(self, version: int, said: list[Any], seconds: float) -> Outcome:
        rows, taken = {output.name: 0 for output in self.outputs}, Counter[str]()
        ended: dict[str, bool] = {}
        aside: dict[str, list[tuple[str, int]]] = {}
        parts: dict[str, list[int]] = {}
        standing = dict(self.standing(version - 1))
        for each in said:
            if "stage" in each:
                before = standing.get(each["stage"], Standing())
                standing[each["stage"]] = before.changed(version, each["shards"], each["deliveries"])
            for name, files in each.get("aside", {}).items():
                aside.setdefault(name, []).extend(files)
            taken.update(each.get("taken", {}))
            for name, count in each.get("rows", {}).items():
                rows[name] += count
            for name, shards in each.get("files", {}).items():
                parts.setdefault(name, []).extend(shards)
            ended.update(each.get("ended", {}))
        self._standing = (version, standing)
        written = sum(each.get("written", 0) for each in said)
        files = {name: sorted(shards) for name, shards in parts.items()}
        return Outcome(version, rows, ended, written, dict(taken), seconds, aside, files)

    def kept(self, output: Output, version: int) -> Iterator[tuple[int, Kept]]:
        """What each shard keeps of an output, and beside it."""
        stage = next(stage for stage in self.plan.stages if output.stream in stage.outputs)
        types = tuple(each.type for each in stage.inputs)
        for number, changed in self.standing(version)[stage.level].states():
            _, parts, more = Shard(self.folder, self.shards, stage.level, number, stage.graph, types).read(changed)
            yield number, Kept.read(parts, more)

    def commit(self, outcome: Outcome, epoch: int = 0) -> None:
        """From now on readers see this version."""
        standing = standing_as_json(self.shards, self.standing(outcome.version))
        commit(self.folder, outcome.version, {**vars(outcome), **standing}, epoch)


def cores(spark: SparkSession) -> int:
    """How many tasks a stage should have at most: more cost time and bring nothing. A cluster may get more cores than
    it has now."""
    context = spark.sparkContext
    now = max(1, context.defaultParallelism)
    return now if str(context.master).startswith("local") else max(now, ON_CLUSTER)


def _placed(value: Value) -> Value:
    """Rows in order have positions, as those of a DataFrame."""
    if not isinstance(value, Rows) or not ordered(value.of):
        return value
    return replace(value, table=value.table.append_column(POSITION, pa.array(np.arange(value.table.num_rows))))
