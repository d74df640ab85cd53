"""Who runs the tasks of a program on this machine: this process alone, here, or it and others (flo.local.workers).

Task t runs the shards s with s % tasks == t.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from flo.core.collection import Value
from flo.core.errors import FloError
from flo.local.held_states import HeldStageTask, HeldStates
from flo.shards.micro_batches import MicroBatches
from flo.shards.plan.stages import Entry
from flo.shards.tasks.blobs import Blob, report_blob
from flo.shards.tasks.context import LoadedCode, MicroBatch
from flo.shards.tasks.hot_keys import Hot
from flo.shards.tasks.input_task import run_entry
from flo.shards.tasks.sending import Sender
from flo.shards.tasks.stage_task import StageTask, finish_writes
from flo.shards.tasks.state import program_of
from flo.tables.checkpoint.folders import Writes
from flo.tables.dataflow import Work
from flo.tables.keyed import KeyedRows
from flo.tables.plan import state_size
from flo.tables.values import Rows

UNSENT_ROWS = -2
"""The delivery number of rows that the driver pulls."""


class Tasks:
    """The tasks of a program: what one process does with the rows of inputs, and with what shards receive."""

    def __init__(self, batches: MicroBatches, *, in_memory: bool) -> None:
        self.batches = batches
        self.held = HeldStates() if in_memory else None
        self.stages = [
            LoadedCode((stage, batches.deliveries_from(stage), tuple(batches.outputs))) for stage in batches.plan.stages
        ]

    def prepare(self) -> None:
        """Compute what follows from the program alone, before processes are forked that would all compute it."""
        for entry in self.batches.plan.entries:
            _ = entry.dataflow
        for stage in self.batches.plan.stages:
            program_of(stage.dag)

    def enter(self, number: int, value: Value, origin: int, hot: Hot) -> list[Blob]:
        """Run the operators before the first shuffle on the rows of an input."""
        entry: Entry = self.batches.plan.entries[number]
        started, work = time.monotonic(), dict[str, Work]()
        sender = Sender(self.batches.deliveries(entry.outputs), self.batches.shards, origin, hot)
        try:
            sender.add(run_entry(sender, entry, value, work))
        except FloError as error:
            return [report_blob(0, origin, error)]
        blobs = list(sender.blobs())
        figures = {"work": work, "input_seconds": time.monotonic() - started, "hot": sender.newly_hot}
        return [*blobs, report_blob(0, origin, figures)]

    def enter_rows(self, number: int, packed: Blob, origin: int, hot: Hot) -> list[Blob]:
        """The same for rows that another process has packed."""
        nothing = self.batches.plan.entries[number].type.collection.bottom()
        assert isinstance(nothing, (Rows, KeyedRows))
        return self.enter(number, replace(nothing, table=packed.rows()), origin, hot)

    def enter_untyped(self, number: int, value: Any, origin: int, hot: Hot) -> list[Blob]:
        """The same for a value that another process has sent without its type."""
        nothing = self.batches.plan.entries[number].type.collection.bottom()
        typed = replace(value, of=nothing.of) if isinstance(nothing, (Rows, KeyedRows)) else value
        return self.enter(number, typed, origin, hot)

    def run_stage(self, place: int, batch: MicroBatch, task: int, received: list[Blob]) -> list[Blob]:
        """Run the shards of a task. The states are stored when this returns."""
        code, writes = self.stages[place], Writes()
        if place == 0 and self.held is not None:
            self.held.prepare(batch)
        work = StageTask(code, batch) if self.held is None else HeldStageTask(code, batch, self.held)
        try:
            blobs = list(work.run(task, received, writes))
            return [*blobs, finish_writes(writes, task, code.load()[0].level, batch)]
        finally:
            writes.close()

    def take_unsent(self, output: str, version: int) -> list[Blob]:
        """The changes of an output that were not pulled, as they are after a version. They are not kept any more."""
        values = [] if self.held is None else list(self.held.take_unsent(output, version))
        return [Blob(0, UNSENT_ROWS, 0, table=value.table) for value in values if isinstance(value, Rows)]

    def state_size(self) -> tuple[int, int]:
        """The rows and bytes of the states that are held in memory."""
        newest = [states[max(states)] for states in (self.held.states.values() if self.held is not None else ())]
        sizes = [state_size(nodes) for nodes, _ in newest]
        return sum(rows for rows, _ in sizes), sum(size for _, size in sizes)


class Executor(Protocol):
    """Runs tasks, and gives their blobs."""

    def enter(self, values: dict[int, Value], hot: Hot) -> list[Blob]:
        """What the inputs with new rows send."""

    def run_stage(self, place: int, batch: MicroBatch, shares: list[list[Blob]]) -> list[Blob]:
        """What the tasks of a stage send, given what each receives."""

    def read(self, blobs: Iterable[Blob]) -> list[Blob]:
        """Blobs that tasks have sent, with their data."""

    def finish(self) -> None:
        """The micro-batch is done: what it has sent is not needed any more."""

    def state_size(self) -> tuple[int, int]:
        """The rows and bytes of all states in memory."""

    def stop(self) -> None:
        """End all processes."""


@dataclass
class InProcess:
    """Runs all tasks in this process, one after the other."""

    tasks: Tasks

    def enter(self, values: dict[int, Value], hot: Hot) -> list[Blob]:
        return [blob for number, value in values.items() for blob in self.tasks.enter(number, value, 0, hot)]

    def run_stage(self, place: int, batch: MicroBatch, shares: list[list[Blob]]) -> list[Blob]:
        every = (self.tasks.run_stage(place, batch, task, share) for task, share in enumerate(shares))
        return [blob for blobs in every for blob in blobs]

    def read(self, blobs: Iterable[Blob]) -> list[Blob]:
        return list(blobs)

    def finish(self) -> None: ...

    def state_size(self) -> tuple[int, int]:
        return self.tasks.state_size()

    def stop(self) -> None: ...
