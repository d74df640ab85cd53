"""A running query: every micro-batch is a turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from flo.api.running import known
from flo.core.errors import Origin, UnknownNameError
from flo.spark.checkpoint.files import committed, expect_next
from flo.spark.driver.faults import for_java, without_java
from flo.spark.driver.settings import ON_DISK, STREAMING, having, of_tasks
from flo.spark.driver.sinks import DIVERTED, Given, Kept, Memory, Sink, forget_parts
from flo.spark.driver.turns import Outcome, Turns
from flo.spark.driver.views import View
from flo.spark.tasks import arriving
from flo.spark.tasks.kept import VIEW

PATIENCE = 60_000
"""Milliseconds for sources to begin."""


class Query:
    """The handle of a flow that runs on Spark."""

    def __init__(
        self,
        name: str,
        turns: Turns,
        streaming: list[DataFrame],
        static: list[DataFrame],
        ended: set[int],
        sinks: Mapping[str, Sink],
        trigger: dict[str, Any],
        spark_part: str | None = None,
    ) -> None:
        self.name = name
        self.progress: deque[Outcome] = deque(maxlen=100)
        """What the last turns did."""
        self._turns, self._static, self._ended, self._sinks = turns, static, ended, sinks
        self._fault: Exception | None = None
        self._begun = bool(static or turns.plan.literals)
        whole = turns.in_turns(reduce(DataFrame.union, streaming), ended, self._begun)
        writer = whole.writeStream.foreachBatch(self._take)
        offsets = spark_part or f"{turns.folder}/spark"
        writer = writer.option("checkpointLocation", offsets)
        writer = writer.queryName(f"flo {name} {turns.run[:6]}")
        if trigger:
            writer = writer.trigger(**trigger)
        settings = of_tasks(turns.narrow) | STREAMING | (ON_DISK if "://" not in offsets else {})
        with having(turns.spark, settings):
            self._query = writer.start()
            self._initialized()

    def _initialized(self) -> None:
        """Until the sources are there: these ask the user's session, and not the copy that the query has."""
        try:
            self._query._jsq.streamingQuery().awaitInitialization(PATIENCE)
        except Exception:  # what is wrong with a source ends the query, and is told by it
            return
        except BaseException:  # nobody would have a handle
            self.stop()
            raise

    def _take(self, batch: DataFrame, version: int) -> None:
        try:
            expect_next(self._turns.folder, version)
            turns = self._turns
            if version == 0 and self._begun:
                outcome = turns.begin([batch, *self._static], self._ended)
            else:
                outcome = turns.take(batch, version)
            for output in turns.outputs:
                given = Given.of(batch.sparkSession, turns.folder, output, version, turns.shards)
                _given(self._sinks[output.name], given)
            self._take_aside(batch.sparkSession, outcome)
            turns.commit(outcome)
            forget_parts(turns.folder, turns.outputs, version)
            self.progress.append(outcome)
        except Exception as error:
            self._fault = without_java(error)
            raise for_java(self._fault) from None

    def _take_aside(self, spark: SparkSession, outcome: Outcome) -> None:
        """Rows that were put aside stay in the checkpoint, or go to a sink."""
        turns = self._turns
        for name in outcome.aside:
            given = Given.aside(spark, turns.folder, name, outcome, turns.shards)
            sink = self._sinks.get(given.output, Kept())
            arriving.remember(turns.folder, name, outcome.version, list(given.files))
            _given(sink, given)
            if not isinstance(sink, Kept):
                arriving.forget(turns.folder, name, outcome.version)

    def diverted(self, name: str) -> pa.Table:
        """The rows that an input has put aside, with the reason, if no sink takes them."""
        inputs = [each.removesuffix(DIVERTED) for each in self._sinks if each.endswith(DIVERTED)]
        if not inputs:
            raise UnknownNameError(
                "the query puts no rows aside: one that does not fit ends it",
                instead=(('start(…, on_error="divert")', "puts such rows aside"),),
                where=Origin.here(),
            )
        newest = max(committed(self._turns.folder), default=-1)
        return arriving.put_aside(self._turns.folder, known(name, dict.fromkeys(inputs), "input"), newest)

    @property
    def exception(self) -> Exception | None:
        """What ended the query, if something did."""
        found: Exception | None = self._query.exception()
        return found and (self._fault or without_java(found))  # a query that is stopped may have met something too

    @property
    def active(self) -> bool:
        return self._query.isActive

    def wait(self, timeout: float | None = None) -> bool:
        """Until the query ends, or so many seconds; whether it has ended. Raises what ended it."""
        try:
            done = self._query.awaitTermination(timeout)  # type: ignore[arg-type]  # fractions are fine
        except PySparkException as error:
            raise (self._fault or without_java(error)) from None
        return True if done is None else bool(done)

    def process_all_available(self) -> None:
        """Until all that the sources have now is taken in."""
        try:
            self._query.processAllAvailable()
        except PySparkException as error:
            raise (self._fault or without_java(error)) from None

    def stop(self) -> None:
        """Stops; a checkpoint goes on from here."""
        self._query.stop()

    def view(self, name: str, version: int | None = None) -> View:
        """An output that is kept, as it stands after the last turn, or after one before."""
        known(name, {output.name: output for output in self._turns.outputs}, "output")
        return View.of(self._turns.folder, name, version, self._turns)

    def views(self, version: int | None = None) -> dict[str, View]:
        """All outputs that are kept, of one version."""
        version = View.newest(self._turns.folder) if version is None else version
        return {each.name: self.view(each.name, version) for each in self._turns.outputs if each.how == VIEW}

    def changes(self, name: str) -> list[pa.Table]:
        """What an output whose sink is `"memory"` gave, turn by turn."""
        sink = self._sinks[known(name, self._sinks, "output")]
        if not isinstance(sink, Memory):
            raise UnknownNameError(
                f"the changes of `{name}` are not kept in memory",
                instead=((f'outputs={{"{name}": "memory"}}', "keeps them in this process"),),
                where=Origin.here(),
            )
        return sink.tables


def _given(sink: Sink, given: Given) -> None:
    """What a sink raises says of which output."""
    try:
        sink.take(given)
    except Exception as error:
        error.add_note(f"raised by the sink of the output `{given.output}`, at version {given.version}")
        raise
