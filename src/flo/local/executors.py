"""Who runs the tasks of a program on this machine: this process alone, or it and worker processes that it forks.

Task t runs the shards s with s % tasks == t, always in the same worker, which keeps their states. Worker 0 is this
process, so its share of the rows is not copied. The others are forked. They inherit the program, so nothing but data
and numbers is sent.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from flo.core.collection import Value
from flo.core.errors import FloError
from flo.local.exchange import Exchange, OwnBlobs, SentBlob
from flo.local.held_states import HeldStageTask, HeldStates
from flo.shards.micro_batches import MicroBatches
from flo.shards.plan.planning import holds_segment
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

FEW_ROWS = 1 << 12
"""Fewer rows of an input are not split: to send them takes longer than to process them."""
MOST_WORKERS = 256
UNSENT_ROWS = -2
"""The delivery number of rows that the driver pulls."""
WorkerRequest: TypeAlias = tuple[Any, ...]
"""What a worker is asked for: a word, and its arguments."""


class WorkerLost(FloError):
    """A worker process has ended."""


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
        figures = {"work": work, "input_seconds": time.monotonic() - started, "hot": sender.found}
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


class Workers:
    """Runs the tasks of each number in a process of its own, those of number 0 in this one."""

    def __init__(self, tasks: Tasks, count: int) -> None:
        if not hasattr(os, "fork"):
            raise FloError("`workers` needs processes that can be forked, which this system does not have")
        plan = tasks.batches.plan
        programs = [*(entry.dag for entry in plan.entries), *(stage.dag for stage in plan.stages)]
        if any(map(holds_segment, programs)):
            raise FloError(
                "a body of `nest` or `per_key` has an SQL function that Spark computes, and workers have no session",
                instead=(("flow.on(flo.here)", "runs in the process that has the session"),),
            )
        tasks.prepare()
        self.tasks, self.count = tasks, count
        self.exchange = Exchange()
        self._process = os.getpid()
        self._files = 0
        """How many files this process has written."""
        self._batches = 0
        """How many micro-batches have begun, whether they succeeded or not."""
        forked = [ForkedWorker(number, tasks, self.exchange) for number in range(1, count)]
        self.workers: list[Worker] = [OwnWorker(TasksOfWorker(0, tasks, self.exchange)), *forked]

    def enter(self, values: dict[int, Value], hot: Hot) -> list[Blob]:
        self._batches += 1
        asked: list[tuple[int, WorkerRequest]] = []
        for number, value in values.items():
            parts = list(split_rows(value, self.count)) if isinstance(value, Rows) else []
            if len(parts) < 2:
                worker = 0 if value.size() < FEW_ROWS else number % self.count
                asked.append((worker, ("enter", number, _untyped(value), worker, hot)))
                continue
            asked.append((0, ("enter", number, parts[0], 0, hot)))
            blobs = [Blob(task, number, task, table=part.table) for task, part in enumerate(parts) if task]
            for sent in self._write(f"i-{number}", blobs):
                asked.append((sent.blob.shard, ("rows", number, sent, sent.blob.shard, hot)))
        return self._ask(asked)

    def _write(self, name: str, blobs: list[Blob]) -> list[SentBlob]:
        self._files += 1
        return self.exchange.write(f"{name}-{self._files}", blobs)

    def run_stage(self, place: int, batch: MicroBatch, shares: list[list[Blob]]) -> list[Blob]:
        asked = []
        for task, share in enumerate(shares):
            sent = [each for each in map(_sent, share) if each is not None]
            here = [blob for blob in share if _sent(blob) is None]
            sent += self._write(f"d-{task}", here) if task else map(SentBlob, here)
            asked.append((task, ("stage", place, batch, task, sent)))
        return self._ask(asked)

    def _ask(self, asked: list[tuple[int, WorkerRequest]]) -> list[Blob]:
        """Ask workers, all at once, and wait for their answers."""
        return [SentAway.of(each) for answer in self._answers(asked) for each in answer]

    def _answers(self, asked: list[tuple[int, WorkerRequest]]) -> list[Any]:
        for number, question in asked:
            self.workers[number].send((self._batches, *question))
        own_first = sorted(range(len(asked)), key=lambda place: asked[place][0])
        answers = {place: self.workers[asked[place][0]].receive() for place in own_first}
        for each in answers.values():
            if isinstance(each, BaseException):
                raise each
        return [answers[place] for place in range(len(asked))]

    def take_unsent(self, output: str, version: int) -> list[pa.Table]:
        """The changes of an output that were not pulled, as they are after a version, from all workers."""
        asked = [(number, ("unsent", output, version)) for number in range(self.count)]
        tables = [blob.rows() for blob in self.read(self._ask(asked))]
        self.finish()
        return tables

    def state_size(self) -> tuple[int, int]:
        sizes = self._answers([(number, ("size",)) for number in range(self.count)])
        return sum(rows for rows, _ in sizes), sum(size for _, size in sizes)

    def read(self, blobs: Iterable[Blob]) -> list[Blob]:
        every = list(blobs)
        sent = [each for each in map(_sent, every) if each is not None]
        return [*(blob for blob in every if _sent(blob) is None), *self.exchange.read(sent)]

    def finish(self) -> None:
        self.exchange.clear()

    def stop(self) -> None:
        if os.getpid() != self._process:
            return  # a fork, which has a copy of this
        for worker in self.workers:
            worker.close()
        for worker in reversed(self.workers):  # a worker has copies of the connections of those before it
            worker.stop()
        self.exchange.remove()


@dataclass(frozen=True)
class SentAway(Blob):
    """A blob whose data is in a file of the exchange. Whoever needs the data reads it there."""

    sent: SentBlob | None = None

    @classmethod
    def of(cls, sent: SentBlob) -> Blob:
        blob = sent.blob
        return cls(blob.shard, blob.delivery, blob.origin, blob.part, blob.ended, sent=sent)


def _sent(blob: Blob) -> SentBlob | None:
    return blob.sent if isinstance(blob, SentAway) else None


def _untyped(value: Value) -> Any:
    """The value without its type, which the workers know: no pickle can name a class of rows that Flo has made."""
    return replace(value, of=None) if isinstance(value, (Rows, KeyedRows)) else value  # type: ignore[arg-type]


def split_rows(value: Rows, count: int) -> Iterator[Rows]:
    """The rows in so many parts, or in one if they are few."""
    rows = value.table.num_rows
    parts = min(count, max(1, rows // FEW_ROWS))
    bounds = [rows * part // parts for part in range(parts + 1)]
    for low, high in pairwise(bounds):
        yield replace(value, table=value.table.slice(low, high - low))


class TasksOfWorker:
    """What a worker does: it answers questions, and keeps what it sends to itself until the micro-batch is over."""

    def __init__(self, number: int, tasks: Tasks, exchange: Exchange) -> None:
        self.number, self.tasks, self.exchange = number, tasks, exchange
        self._stages = tasks.batches.plan.stages
        self._to_stages = {delivery.number for stage in self._stages for delivery in stage.inputs}
        self._batch = self._answered = 0
        self._own = OwnBlobs()
        self._act: dict[str, Callable[..., Any]] = {
            "enter": lambda *given: self._send(tasks.enter_untyped(*given)),
            "rows": lambda place, sent, *more: self._send(tasks.enter_rows(place, exchange.read([sent])[0], *more)),
            "stage": self._run_stage,
            "unsent": lambda output, version: self._send(tasks.take_unsent(output, version)),
            "size": tasks.state_size,
        }

    def answer(self, batch: int, kind: str, *details: Any) -> Any:
        """The answer to a question: what it asks for, or an error."""
        self._answered += 1
        if batch != self._batch:
            self._batch = batch
            self._own.clear()
        try:
            return self._act[kind](*details)
        except BaseException as error:
            return error

    def _run_stage(self, place: int, batch: MicroBatch, task: int, sent: list[SentBlob]) -> list[SentBlob]:
        kept, others = self._own.get(sent)
        if place == len(self._stages) - 1:
            self._own.clear()
        return self._send(self.tasks.run_stage(place, batch, task, kept + self.exchange.read(others)))

    def _send(self, blobs: list[Blob]) -> list[SentBlob]:
        """The blobs on their way. Those to itself are kept, and those that worker 0 sends to this process passed on."""
        sent, written = list[SentBlob](), list[Blob]()
        for blob in blobs:
            if blob.delivery not in self._to_stages and self.number == 0:
                sent.append(SentBlob(blob))
            elif blob.delivery in self._to_stages and blob.shard % self.tasks.batches.tasks == self.number:
                sent.append(self._own.keep(blob))
            else:
                written.append(blob)
        return sent + self.exchange.write(f"{self.number}-{self._answered}", written)


class Worker(Protocol):
    """Runs the tasks of one number. It answers questions in the order in which it was asked."""

    def send(self, question: WorkerRequest) -> None:
        """Ask it."""

    def receive(self) -> Any:
        """The answer to the next question: what it asks for, or an error."""

    def close(self) -> None:
        """Ask nothing any more."""

    def stop(self) -> None:
        """End its process."""


@dataclass
class OwnWorker:
    """This process. It works on an answer when that is to be received, while the others work on theirs."""

    tasks: TasksOfWorker
    questions: deque[WorkerRequest] = field(default_factory=deque)

    def send(self, question: WorkerRequest) -> None:
        self.questions.append(question)

    def receive(self) -> Any:
        return self.tasks.answer(*self.questions.popleft())

    def close(self) -> None: ...

    def stop(self) -> None: ...


class ForkedWorker:
    """A process that runs the tasks of one number."""

    def __init__(self, number: int, tasks: Tasks, exchange: Exchange) -> None:
        context = multiprocessing.get_context("fork")
        self.number = number
        self.connection, other = context.Pipe()
        given = (number, tasks, exchange, other, self.connection)
        self.process = context.Process(target=_serve, args=given, name=f"flo worker {number}", daemon=True)
        self.process.start()
        other.close()

    def send(self, question: WorkerRequest) -> None:
        try:
            self.connection.send(question)
        except (BrokenPipeError, ConnectionResetError):
            raise self._lost() from None

    def receive(self) -> Any:
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._lost() from None

    def _lost(self) -> WorkerLost:
        self.process.join(5)
        code = self.process.exitcode
        why = f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        return WorkerLost(
            f"worker {self.number} has ended: {why}",
            facts=(("often", "the system has ended it because memory was short"),),
            instead=(
                ("another loop", "begins anew"),
                ("start(…, checkpoint=…)", "keeps states in files: another worker takes its place"),
            ),
        )

    def close(self) -> None:
        self.connection.close()

    def stop(self) -> None:
        self.process.join(1)
        if self.process.is_alive():
            self.process.terminate()


def _serve(number: int, tasks: Tasks, exchange: Exchange, connection: Connection, parents: Connection) -> None:
    """The work of a process: answers until the other end is closed."""
    parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    pa.set_cpu_count(1)
    own = TasksOfWorker(number, tasks, exchange)
    while True:
        try:
            question = connection.recv()
        except (EOFError, OSError):  # the parent has stopped it, or was killed: then nobody else removes the files
            exchange.remove()
            os._exit(0)
        answer = own.answer(*question)
        with suppress(OSError):  # the parent is gone, which the next question tells
            try:
                connection.send(answer)
            except (pickle.PicklingError, TypeError, AttributeError):
                connection.send(FloError(f"worker {number} raised {type(answer).__name__}: {answer}"))
