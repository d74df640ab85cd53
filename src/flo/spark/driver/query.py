"""A running query: every micro-batch is a turn."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from flo.api.running import expect_known
from flo.core.errors import CheckpointError, FloError, Origin, UnknownNameError
from flo.spark.checkpoint.files import committed, expect_next
from flo.spark.checkpoint.lease import Lease
from flo.spark.checkpoint.offsets import problems_of_offsets
from flo.spark.driver.faults import for_java, without_java
from flo.spark.driver.sinks import DIVERTED, Given, Kept, Memory, Sink, forget_parts
from flo.spark.driver.turns import Outcome, Turns
from flo.spark.driver.views import View
from flo.spark.session import ON_DISK, STREAMING, having, of_tasks
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
        lease: Lease,
        offsets: str,
    ) -> None:
        self.name = name
        self.progress: deque[Outcome] = deque(maxlen=100)
        """What the last turns did."""
        self._turns, self._static, self._ended, self._sinks = turns, static, ended, sinks
        self._lease, self._offsets = lease, offsets
        self._fault: Exception | None = None
        self._over, self._ending = False, threading.Lock()
        self._begun = bool(static or turns.plan.literals)
        whole = turns.in_turns(reduce(DataFrame.union, streaming), ended, self._begun)
        writer = whole.writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", offsets)
        writer = writer.queryName(f"flo {name} {turns.run[:6]}")
        if trigger:
            writer = writer.trigger(**trigger)
        settings = of_tasks(turns.narrow) | STREAMING | (ON_DISK if "://" not in offsets else {})
        with having(turns.spark, settings):
            try:
                self._query = writer.start()
            except Exception as error:
                told = self._told(error)
                raise told from (None if told is error else error)
            lease.is_used = self._runs
            threading.Thread(target=self._wait_for_end, daemon=True).start()
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
            self._lease.expect_held()
            for output in turns.outputs:
                given = Given.of(batch.sparkSession, turns.folder, output, outcome, turns.shards, turns.checkpoint)
                _given(self._sinks[output.name], given)
            self._take_aside(batch.sparkSession, outcome)
            self._lease.expect_held()
            turns.commit(outcome, self._lease.epoch)
            forget_parts(turns.folder, turns.outputs, version)
            self.progress.append(outcome)
        except Exception as error:
            self._fault = self._lost() or without_java(error)
            raise for_java(self._fault) from None

    def _take_aside(self, spark: SparkSession, outcome: Outcome) -> None:
        """Rows that were put aside stay in the checkpoint, or go to a sink."""
        turns = self._turns
        for name in outcome.aside:
            given = Given.aside(spark, turns.folder, name, outcome, turns.shards, turns.checkpoint)
            sink = self._sinks.get(given.output, Kept())
            arriving.remember(turns.folder, name, outcome.version, list(given.files))
            _given(sink, given)
            if not isinstance(sink, Kept):
                arriving.forget(turns.folder, name, outcome.version)

    def _lost(self) -> CheckpointError | None:
        """That another query has taken over: whatever else goes wrong then comes of it."""
        try:
            self._lease.expect_held()
        except CheckpointError as error:
            return error
        except OSError:  # the store cannot be reached, and that is told
            return None
        return None

    def _told(self, error: Exception) -> Exception:
        """What is raised for what Spark has raised itself, outside of a turn."""
        if isinstance(error, FloError):
            return error
        damaged = next(problems_of_offsets(self._offsets, None), None)
        return damaged or without_java(error)

    def _runs(self) -> bool:
        try:
            return self.active
        except Exception:  # Java is gone
            return False

    def _wait_for_end(self) -> None:
        with contextlib.suppress(Exception):  # who waits for the query is told
            self._query.awaitTermination()
        self._end()

    def _end(self) -> None:
        """What is done once the query has ended, however it did: the first who sees it."""
        with self._ending:
            if self._over:
                return
            self._over = True
            found = None
            with contextlib.suppress(Exception):  # Java may be gone
                found = self._query.exception()
            if found is not None and self._fault is None:
                self._fault = self._lost() or self._told(found)
            with contextlib.suppress(CheckpointError, OSError):  # then the next start finds out
                self._lease.release()

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
        return arriving.put_aside(self._turns.folder, expect_known(name, dict.fromkeys(inputs), "input"), newest)

    @property
    def exception(self) -> Exception | None:
        """What ended the query, if something did."""
        found: Exception | None = self._query.exception()
        if found is not None:
            self._end()
        return found and (self._fault or without_java(found))  # a query that is stopped may have met something too

    @property
    def active(self) -> bool:
        return self._query.isActive

    def wait(self, timeout: float | None = None) -> bool:
        """Until the query ends, or so many seconds; whether it has ended. Raises what ended it."""
        try:
            done = self._query.awaitTermination(timeout)  # type: ignore[arg-type]  # fractions are fine
        except PySparkException as error:
            raise self._ended_by(error) from None
        if done is not False:
            self._end()
        return done is not False

    def process_all_available(self) -> None:
        """Until all that the sources have now is taken in."""
        try:
            self._query.processAllAvailable()
        except PySparkException as error:
            raise self._ended_by(error) from None

    def _ended_by(self, error: Exception) -> Exception:
        self._end()
        return self._fault or without_java(error)

    def stop(self) -> None:
        """Stops; a checkpoint goes on from here."""
        self._query.stop()
        self._end()

    def view(self, name: str, version: int | None = None) -> View:
        """An output that is kept, as it stands after the last turn, or after one before."""
        expect_known(name, {output.name: output for output in self._turns.outputs}, "output")
        return View.of(self._turns.folder, name, version, self._turns)

    def views(self, version: int | None = None) -> dict[str, View]:
        """All outputs that are kept, of one version."""
        version = View.newest(self._turns.folder) if version is None else version
        return {each.name: self.view(each.name, version) for each in self._turns.outputs if each.how == VIEW}

    def changes(self, name: str) -> list[pa.Table]:
        """What an output whose sink is `"memory"` gave, turn by turn."""
        sink = self._sinks[expect_known(name, self._sinks, "output")]
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
