"""Runs the tasks of a program in several processes of this machine: sends each its rows, and collects what they send.

Task t always runs in worker t, which keeps the states of its shards. Worker 0 is this process, so its share of the rows
is not copied. The others are forked. They inherit the program, so nothing but data and numbers is sent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa

from flo.core.collection import Value
from flo.core.errors import FloError
from flo.local.exchange import Exchange, SentBlob
from flo.local.executors import Tasks
from flo.local.worker import ForkedWorker, OwnWorker, TasksOfWorker, Worker, WorkerRequest
from flo.shards.plan.planning import holds_segment
from flo.shards.tasks.blobs import Blob
from flo.shards.tasks.context import MicroBatch
from flo.shards.tasks.hot_keys import Hot
from flo.shards.tasks.kept_memory import keep_freed_memory
from flo.tables.keyed import KeyedRows
from flo.tables.values import Rows

FEW_ROWS = 1 << 12
"""Fewer rows of an input are not split: to send them takes longer than to process them."""
MORE = 0.2
"""The share of rows that this process takes beyond its own, since the others begin later."""
MOST_WORKERS = 256


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
        keep_freed_memory()
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
        for worker in self.workers:
            worker.discard()
        places: dict[int, list[int]] = {}
        for place, (number, _) in enumerate(asked):
            places.setdefault(number, []).append(place)
        for number, own in places.items():
            self.workers[number].send(self._batches, [asked[place][1] for place in own])
        answers: dict[int, Any] = {}
        for number in sorted(places):  # this process works while the others do
            answers |= zip(places[number], self.workers[number].receive(), strict=True)
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
    """The rows in so many parts, or in one if they are few. The first is larger: it is not copied."""
    rows = value.table.num_rows
    parts = min(count, max(1, rows // FEW_ROWS))
    bounds = [0, *(round(rows * (part + MORE) / (parts + MORE)) for part in range(1, parts)), rows]
    for low, high in pairwise(bounds):
        yield replace(value, table=value.table.slice(low, high - low))
