"""A running query: a handle on Spark's streaming query, whose every micro-batch goes through the sinks to a commit."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from functools import partial, reduce
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from flo.core.errors import CheckpointError, FloError
from flo.pictures.notebook import MOST_ROWS, html_block, html_table
from flo.shards.checkpoint.commits import expect_next_version
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.spark_logs import BATCH, ResumedBatches, find_log_problems
from flo.shards.micro_batches import Outcome
from flo.shards.query_outputs import QueryOutputs
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.retrying import StoppedWaiting
from flo.shards.sinks.sinks import Sink
from flo.shards.tasks.figures import COMMIT, OTHER, SINKS
from flo.shards.watching.watch import EngineReport, QueryWatch
from flo.spark.driver.catalyst_outputs import SETTINGS as PARQUET
from flo.spark.driver.hadoop_settings import forget_origins
from flo.spark.driver.lasting_files import with_lasting_files
from flo.spark.driver.local_logs import local_log_settings
from flo.spark.driver.micro_batches import SparkMicroBatches
from flo.spark.driver.python_errors import error_for_spark, is_java_lost, python_error
from flo.spark.driver.spark_changes import SparkChanges, View
from flo.spark.driver.spark_reports import read_report
from flo.spark.session import STREAMING, hold_settings, task_settings

PATIENCE = 60_000
"""How long to wait for sources to start, in milliseconds."""


class Query(QueryOutputs[View]):
    """The handle of a flow that runs on Spark."""

    _batches: SparkMicroBatches
    _view = View

    def __init__(
        self,
        watch: QueryWatch,
        batches: SparkMicroBatches,
        streaming: list[DataFrame],
        static: list[DataFrame],
        ended: set[int],
        sinks: Mapping[str, Sink],
        giving: Giving,
        trigger: dict[str, Any],
        lease: Lease,
        offsets: str,
        resumed: ResumedBatches,
    ) -> None:
        self.name = name = watch.watched.name
        self._progress: deque[Outcome] = deque(maxlen=100)
        self._batches, self._static, self._ended, self._sinks = batches, static, ended, sinks
        self._giving, self._lease, self._offsets, self._resumed = giving, lease, offsets, resumed
        self._failure: Exception | None = None
        self._interrupted = False
        """Whether it was stopped while it waited for a sink. Spark reports that as an error."""
        self._over, self._ending = threading.Event(), threading.Lock()
        self._lost: Exception | None = None
        """Why it is not known how the query ended, such as the end of Java."""
        self._watch, watch.state, watch.reports = watch, self._state, self._spark_reports
        self._watch.first = resumed.first
        self._has_first = bool(static or batches.plan.literals)
        """Whether the first micro-batch has rows besides those of the streams."""
        writer = with_lasting_files(reduce(DataFrame.union, streaming)).writeStream.foreachBatch(self._run_micro_batch)
        writer = writer.option("checkpointLocation", offsets)
        writer = writer.queryName(f"flo {name} {batches.run[:6]}")
        if trigger:
            writer = writer.trigger(**trigger)
        settings = task_settings(batches.widths.is_unlimited) | STREAMING
        settings |= local_log_settings(batches.spark) if "://" not in offsets else {}
        settings |= PARQUET if batches.written else {}
        forget_origins(batches.spark)
        with hold_settings(batches.spark, settings):
            try:
                self._query = writer.start()
            except Exception as error:
                translated = self._translate(error)
                raise translated from (None if translated is error else error)
            lease.is_used = self._is_running
            threading.Thread(target=self._wait_for_end, daemon=True).start()
            self._wait_for_sources()

    def __repr__(self) -> str:
        version = f", version {self._progress[-1].version}" if self._progress else ""
        return f"<Query {self.name!r}{version}, {self._state()[0]}>"

    def _repr_html_(self) -> str:
        columns = ("micro-batch", "rows in", "changes out", "state written", "seconds")
        last = list(self._progress)[-MOST_ROWS:]
        rows = [
            (each.version, sum(each.taken.values()), sum(each.rows.values()), each.written, f"{each.seconds:.2f}")
            for each in last
        ]
        return html_block(html_table(columns, rows, f"{self.name}, {self._state()[0]}"))

    @property
    def progress(self) -> deque[Outcome]:
        """The outcomes of the last micro-batches. Spark reports on what is around a micro-batch shortly after it."""
        self._watch.read_reports()
        return self._progress

    def _wait_for_sources(self) -> None:
        """Waits until the sources have started. Until then they read the settings of the user's session."""
        try:
            self._query._jsq.streamingQuery().awaitInitialization(PATIENCE)
        except Exception:  # an error of a source ends the query, which reports it
            return
        except BaseException:  # the caller gets no handle to stop the query with
            self.stop()
            raise

    def _run_micro_batch(self, batch: DataFrame, number: int) -> None:
        """Runs a micro-batch, gives its changes to the sinks, and commits it."""
        resumed, version = self._resumed, number + self._resumed.first
        if resumed.last is not None and number <= resumed.last and not resumed.is_newest:
            return  # it is in a version before the last push
        started = time.monotonic()
        try:
            batches = self._batches
            expect_next_version(batches.folder, version)
            if number == 0 and (self._static or (version == 0 and self._has_first)):
                outcome = batches.run_first_micro_batch([batch, *self._static], version, self._ended)
            else:
                outcome = batches.run_micro_batch(batch, version, self._ended)
            self._lease.expect_held()
            self._giving.within = partial(SparkChanges.within, batch.sparkSession)
            figures = outcome.figures
            with figures.measure(SINKS):
                given = self._giving.give(outcome)
            self._lease.expect_held()
            more = {BATCH: number, "ended": sorted(self._ended)}
            with figures.measure(COMMIT):
                batches.commit_micro_batch(outcome, self._lease.epoch, self._giving.given, more)
            with figures.measure(SINKS):
                self._giving.commit(given, version)
            figures.spend(OTHER, time.monotonic() - started - sum(figures.phases.values()))
            self._progress.append(outcome)
            self._watch.note(outcome)
        except StoppedWaiting as stopped:
            self._interrupted = True
            raise error_for_spark(stopped) from None
        except Exception as error:
            self._failure = self._translate(error, in_micro_batch=True)
            raise error_for_spark(self._failure) from None

    def _translate(self, error: Exception, in_micro_batch: bool = False) -> Exception:
        """The error to show to the user.

        A lost lease comes first, since it may cause any other error. Outside of a micro-batch, damaged files of Spark
        come next.
        """
        lost = self._lost_lease()
        if lost is not None or isinstance(error, FloError):
            return lost or error
        damaged = None if in_micro_batch else next(find_log_problems(self._offsets, None), None)
        return damaged or python_error(error)

    def _lost_lease(self) -> CheckpointError | None:
        """The error of a query whose checkpoint another query has taken over."""
        try:
            self._lease.expect_held()
        except CheckpointError as error:
            return error
        except OSError:  # the store cannot be reached, which the original error says
            return None
        return None

    def _is_running(self) -> bool:
        try:
            return self.active
        except Exception:  # Java does not answer
            return False

    def _wait_for_end(self) -> None:
        try:
            self._query.awaitTermination()
        except PySparkException:  # `wait` and `exception` report it
            pass
        except Exception as error:
            self._lost = python_error(error)
        self._end()

    def _end(self) -> None:
        """Stores the error and releases the lease, once, when the query has ended."""
        with self._ending:
            if self._over.is_set():
                return
            self._watch.end()
            error = None
            with contextlib.suppress(Exception):  # Java may have ended
                error = self._query.exception()
            if error is not None and self._failure is None and not self._interrupted:
                self._failure = self._translate(error)
            with contextlib.suppress(CheckpointError, OSError):  # the next start reports it
                self._lease.release()
            self._over.set()

    def _end_with(self, error: Exception) -> Exception:
        """Ends the query, and returns the error that ended it."""
        self._end()
        return self._failure or self._translate(error)

    def _lose(self, error: Exception) -> Exception:
        """The error to show for a call of Java that failed. If Java has ended, so has the query."""
        if is_java_lost(error):
            self._lost = self._lost or python_error(error)
            self._end()
            return self._failure or self._lost
        return self._translate(error)

    def _state(self) -> tuple[str, str]:
        """Whether it is running, waiting for a sink, ended or failed; and the error as text."""
        if not self._over.is_set() and self._is_running():
            return ("running", "") if self.waiting is None else ("waiting", self.waiting)
        error = self._failure or self._lost
        return ("ended", "") if error is None else ("failed", str(error))

    def _spark_reports(self, count: int) -> list[EngineReport]:
        """So many of Spark's last reports on its micro-batches, or as many as it has kept."""
        try:
            kept = self._query._jsq.recentProgress()
            return [
                read_report(json.loads(kept[place].json())) for place in range(max(0, len(kept) - count), len(kept))
            ]
        except Exception:  # Java has ended
            return []

    @property
    def exception(self) -> Exception | None:
        """The error that ended the query, if one did."""
        try:
            failure: Exception | None = self._query.exception()
        except Exception as error:  # Java has ended
            return self._lose(error)
        if self._interrupted:
            return None
        return failure and self._end_with(failure)  # a query that was stopped may have failed before

    @property
    def active(self) -> bool:
        """Whether the query runs."""
        try:
            return self._query.isActive
        except Exception as error:
            if is_java_lost(error):
                return False
            raise self._lose(error) from None

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the query to end, at most `timeout` seconds; returns whether it has ended. Raises its error.

        It does not wait in a call of Java, which PySpark's handler of Ctrl-C would break.
        """
        if not self._over.wait(timeout):
            return False
        error = self._failure or self._lost
        if error is not None:
            raise error
        return True

    def process_all_available(self) -> None:
        """Waits until all data that the sources have now is processed."""
        try:
            self._query.processAllAvailable()
        except PySparkException as error:
            raise self._end_with(error) from None
        except Exception as error:
            raise self._lose(error) from None

    def stop(self) -> None:
        """Stops the query, and closes its page. A later start resumes from the checkpoint.

        If it waits for a sink, the micro-batch is not committed, and runs again at the next start."""
        self._giving.retrying.stop()
        try:
            self._query.stop()
        except Exception as error:
            if not is_java_lost(error):  # then there is nothing left to stop
                raise self._lose(error) from None
            self._lose(error)
        finally:
            self._end()
            self._watch.close()
