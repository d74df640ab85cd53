"""A running program whose state is in files: each `run` is a micro-batch, given to the sinks and committed.

    push ──> stages, on the states of version 6 ──> states of version 7 ──> sinks ──> commit of version 7

The checkpoint is the one that Spark writes: the same plan, states by the same ids, the same commits. So a program that
was begun here goes on there, and the other way round.

Invariant: `version` is the next version to run, and `_pending` has the micro-batches that were run and are not
committed. A push that raises goes back to the state before it, but never behind a version that is committed.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flo.local.executors import Executor, InProcess, Tasks
from flo.local.sharded import ShardedLoop, ShardedMoment
from flo.local.worker import WorkerLost
from flo.local.workers import Workers
from flo.program.dag import Dag
from flo.shards.checkpoint.commits import committed_versions, read_commit
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.spark_logs import BATCH, ENDED, PUSHED
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.sinks.giving import Giving
from flo.shards.tasks.figures import COMMIT, SINKS
from flo.shards.tasks.output_files import write_diverted
from flo.tables.io.diverted import Diverted


@dataclass
class Pending:
    """A micro-batch that was run and is not committed."""

    outcome: Outcome
    moment: ShardedMoment = field(repr=False)
    """The state after it."""


class DurableLoop(ShardedLoop):
    """The event loop of a program with a checkpoint."""

    def __init__(self, dag: Dag, batches: MicroBatches, giving: Giving, lease: Lease) -> None:
        self.giving, self.lease = giving, lease
        self.progress: deque[Outcome] = deque(maxlen=100)
        """The outcomes of the last micro-batches."""
        self.note: Callable[[Outcome], None] = lambda outcome: None
        """Called with each micro-batch that is committed."""
        super().__init__(dag, batches)
        self._pending: list[Pending] = []
        self._batch: int | None = None
        """The last micro-batch of Spark that the checkpoint includes."""
        self.version = max(committed_versions(batches.folder), default=-1) + 1
        if self.version:
            last = read_commit(batches.folder, self.version - 1)
            self.counts = {int(number): count for number, count in last.get(PUSHED, {}).items()}
            self.ended = frozenset(last.get(ENDED, ()))
            self._batch = last.get(BATCH)
        self._committed = self.snapshot()
        """The state at the last commit."""

    def start_executor(self) -> Executor:
        tasks = Tasks(self.batches, in_memory=False)
        if self.batches.tasks == 1:
            return InProcess(tasks)
        workers = Workers(tasks, self.batches.tasks)
        weakref.finalize(self, workers.stop)
        return workers

    def run(self) -> None:
        """Run a micro-batch, if something was pushed or nothing has run yet."""
        if self._waiting or not self.version:
            self._run_anyway()

    def _run_anyway(self) -> None:
        """Run a micro-batch. If a worker dies, new ones run it again, on states from files."""
        before = self.snapshot()
        try:
            outcome, _ = self.run_micro_batch()
        except WorkerLost:
            self.executor.stop()
            self.executor = self.start_executor()
            self.roll_back(before)
            outcome, _ = self.run_micro_batch()
        self.executor.finish()
        self._pending.append(Pending(outcome, self.snapshot()))

    def commit(self, diverted: Mapping[str, list[Diverted]], notes: Mapping[str, Any] | None = None) -> None:
        """Give the changes of what was run to the sinks, and commit it. The rows that inputs have diverted go along.

        `notes` are for the last of these commits."""
        if (notes or any(diverted.values())) and not self._pending:
            self._run_anyway()  # a micro-batch without rows, to commit them with
        for name, rows in diverted.items():
            file = write_diverted(self.batches.folder, name, rows)
            outcome = self._pending[-1].outcome
            outcome.diverted_files.setdefault(name, []).append((file, len(rows)))
            outcome.taken[name] = outcome.taken.get(name, 0) + len(rows)
        while self._pending:
            each = self._pending[0]
            self.lease.expect_held()
            with each.outcome.figures.measure(SINKS):
                given = self.giving.give(each.outcome)
            self.lease.expect_held()
            counts = {str(number): count for number, count in each.moment.counts.items()}
            more = {PUSHED: counts, ENDED: sorted(each.moment.ended), BATCH: self._batch}
            more |= (notes or {}) if len(self._pending) == 1 else {}
            with each.outcome.figures.measure(COMMIT):
                self.batches.commit_micro_batch(each.outcome, self.lease.epoch, self.giving.given, more)
            self._committed = self._pending.pop(0).moment
            self.progress.append(each.outcome)
            try:
                with each.outcome.figures.measure(SINKS):
                    self.giving.commit(given, each.outcome.version)
            finally:
                self.note(each.outcome)

    def roll_back(self, to: ShardedMoment) -> None:
        to = to if to.version >= self._committed.version else self._committed
        super().roll_back(to)
        self._pending = [each for each in self._pending if each.outcome.version < to.version]
