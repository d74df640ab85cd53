"""One worker: it answers questions of the process that runs the program, with what its tasks send.

A question is a tuple such as ("stage", 1, batch, 0, blobs): run stage 1 as task 0 with what it receives. The answer is
a list of blobs on their way, or an error. All questions to a worker go in one message, and so do their answers: if
either side sent a second message before it reads, both could wait for the other to read.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from types import FrameType
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from flo.core.errors import FloError
from flo.local.exchange import Exchange, OwnBlobs, SentBlob
from flo.local.executors import Tasks
from flo.shards.tasks.blobs import Blob
from flo.shards.tasks.context import MicroBatch
from flo.shards.tasks.kept_memory import keep_freed_memory

WorkerRequest: TypeAlias = tuple[Any, ...]
"""What a worker is asked for: a word, and its arguments."""


class WorkerLost(FloError):
    """A worker process has ended."""


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

    def answer(self, batch: int, questions: Sequence[WorkerRequest]) -> list[Any]:
        """The answers to questions of a micro-batch, each what it asks for, or an error."""
        if batch != self._batch:
            self._batch = batch
            self._own.clear()
        return [self._answer(*each) for each in questions]

    def _answer(self, kind: str, *details: Any) -> Any:
        self._answered += 1
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
    """Runs the tasks of one number."""

    def send(self, batch: int, questions: list[WorkerRequest]) -> None:
        """Ask it, in a micro-batch. Its answers to other questions were received or discarded."""

    def receive(self) -> list[Any]:
        """The answers to the questions: what they ask for, or an error."""

    def discard(self) -> None:
        """Forget questions whose answers were not received, because waiting for them was interrupted."""

    def close(self) -> None:
        """Ask nothing any more."""

    def stop(self) -> None:
        """End its process."""


@dataclass
class OwnWorker:
    """This process. It works on an answer when that is to be received, while the others work on theirs."""

    tasks: TasksOfWorker
    asked: tuple[int, list[WorkerRequest]] = (0, [])

    def send(self, batch: int, questions: list[WorkerRequest]) -> None:
        self.asked = batch, questions

    def receive(self) -> list[Any]:
        return self.tasks.answer(*self.asked)

    def discard(self) -> None: ...

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
        self._is_asked = False

    def send(self, batch: int, questions: list[WorkerRequest]) -> None:
        with delay_interrupt():
            try:
                self.connection.send((batch, questions))
            except (BrokenPipeError, ConnectionResetError):
                raise self._lost() from None
            self._is_asked = True

    def receive(self) -> list[Any]:
        self.connection.poll(None)  # an interrupt leaves the answers there
        with delay_interrupt():
            self._is_asked = False
            try:
                answers: list[Any] = self.connection.recv()
            except (EOFError, ConnectionResetError):
                raise self._lost() from None
            return answers

    def discard(self) -> None:
        if self._is_asked:
            self.receive()

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


@contextmanager
def delay_interrupt() -> Iterator[None]:
    """Within the block Ctrl-C waits: after half of a message nothing else can be read."""
    handle = signal.getsignal(signal.SIGINT)
    if not callable(handle) or threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *given: interrupts.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handle)
        if interrupts:
            handle(*interrupts[0])


def _serve(number: int, tasks: Tasks, exchange: Exchange, connection: Connection, parents: Connection) -> None:
    """The work of a process: answers until the other end is closed."""
    parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    pa.set_cpu_count(1)
    keep_freed_memory()
    own = TasksOfWorker(number, tasks, exchange)
    while True:
        try:
            asked = connection.recv()
        except (EOFError, OSError):  # the parent has stopped it, or was killed: then nobody else removes the files
            exchange.remove()
            os._exit(0)
        answers = [_sendable(each, number) for each in own.answer(*asked)]
        with suppress(OSError):  # the parent is gone, which the next message tells
            connection.send(answers)


def _sendable(answer: Any, number: int) -> Any:
    """An answer, or an error in its place that can be pickled."""
    if isinstance(answer, BaseException):
        try:
            ForkingPickler.dumps(answer)
        except (pickle.PicklingError, TypeError, AttributeError):
            return FloError(f"worker {number} raised {type(answer).__name__}: {answer}")
    return answer
