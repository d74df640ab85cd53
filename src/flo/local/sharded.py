"""A running program on tables as shards in worker processes: each `run` is a micro-batch.

    push ──> operators before the first shuffle ──> stage 1 in all workers ──> … ──> outputs

The stages and the shuffles between them are those that Spark would run. States are in the memory of the workers, by
version; a loop that goes back asks for an older version.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import numpy as np
import pyarrow as pa

from flo.core.collection import End, Value
from flo.core.operator import Deltas, Values
from flo.core.stream_type import StreamType
from flo.local.executors import Executor, Tasks
from flo.local.workers import Workers
from flo.program.dag import Dag
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.plan.stages import ONE, POSITION, Delivery, Plan
from flo.shards.tasks.blobs import REPORT, Blob, raise_reported, unpickle
from flo.shards.tasks.context import LoadedCode
from flo.shards.tasks.figures import INPUTS
from flo.shards.tasks.hot_keys import hot_in
from flo.shards.tasks.native_task import PackTask, elements_of
from flo.shards.tasks.output_files import UNSENT, Output
from flo.shards.tasks.shard_record import ShardRecord
from flo.shards.tasks.stage_task import read_delivery
from flo.sql.native import BESIDE
from flo.tables.dataflow import StatefulLoop
from flo.tables.io.unsent import is_consolidated, merge_value
from flo.tables.keyed import KeyedRows
from flo.tables.values import WEIGHT, Columns, Rows, is_ordered


@dataclass(frozen=True)
class ShardedMoment:
    """The state of a loop between two micro-batches."""

    version: int
    waiting: dict[int, Value]
    counts: dict[int, int]
    finished: frozenset[int]
    outputs: Values
    ended: frozenset[int]


class ShardedLoop(StatefulLoop[ShardedMoment]):
    """The event loop of a program whose shards are in worker processes."""

    def __init__(self, dag: Dag, batches: MicroBatches) -> None:
        super().__init__(dag.input_types, dag.output_types)
        self.batches = batches
        self.workers = batches.tasks
        self.version = 0
        """The micro-batch that is next."""
        self._waiting: dict[int, Value] = {}
        """By input, what was pushed since the last micro-batch."""
        self.counts: dict[int, int] = {}
        """By ordered input, the number of rows so far."""
        self._finished: frozenset[int] = frozenset()
        """The outputs that have ended."""
        self._oldest = 0
        """The oldest version that something may go back to."""
        self.input_names: Mapping[int, str] = {}
        """The names of the inputs whose rows are counted."""
        self.began: float | None = None
        """When the rows of the next micro-batch began to be read, if that is measured."""
        self.executor = self.start_executor()

    def start_executor(self) -> Executor:
        """Start what runs the tasks."""
        raise NotImplementedError(type(self).__name__)

    def push(self, deltas: Deltas) -> None:
        """I ++ Δ."""
        for number, delta in enumerate(deltas):
            if delta is None:
                continue
            if delta.fixed():
                self.ended |= {number}
            before = self._waiting.get(number)
            self._waiting[number] = delta if before is None else before.concat(delta)

    def run_micro_batch(self) -> tuple[Outcome, list[Blob]]:
        """Run a micro-batch on what was pushed; return its outcome, and the blobs that no stage has received."""
        started = time.monotonic()
        waiting, self._waiting = self._waiting, {}
        batch = self.batches.micro_batch(self.version, set(self.ended))
        batch = replace(batch, source="push", oldest=max(batch.oldest, self._oldest))
        placed = {number: self._placed(number, value) for number, value in waiting.items()}
        moving = self.executor.enter(placed, hot_in(batch.state_versions))
        moving += self.batches.literal_blobs() if self.version == 0 else []
        moving = self._run_natives(0, moving)
        for place, stage in enumerate(self.batches.plan.stages):
            here = {each.number for each in stage.inputs}
            shares: list[list[Blob]] = [[] for _ in range(self.batches.tasks)]
            for blob in moving:
                if blob.delivery in here:
                    shares[blob.shard % self.batches.tasks].append(blob)
            later = [blob for blob in moving if blob.delivery not in here]
            self._raise_errors(later)
            moving = self._run_natives(place + 1, later + self.executor.run_stage(place, batch, shares))
        ended = time.monotonic()
        taken = {self.input_names[each]: value.size() for each, value in waiting.items() if each in self.input_names}
        reports = [*self._raise_errors(moving), {"taken": taken}]
        outcome = self.batches.summarize(self.version, reports, ended - started)
        if self.began is not None:
            outcome.figures.spend(INPUTS, started - self.began)
            self.began = ended
        self.version += 1
        return outcome, moving

    def _placed(self, number: int, value: Value) -> Value:
        """The value with the positions of its rows, if they are ordered."""
        is_log = isinstance(value, KeyedRows)
        if not is_log and not (isinstance(value, Rows) and is_ordered(value.of)):
            return value
        assert isinstance(value, (Rows, KeyedRows))
        start, rows = self.counts.get(number, 0), value.table.num_rows
        self.counts = {**self.counts, number: start + rows}
        positions = pa.array(np.arange(start, start + rows))
        return replace(value, table=value.table.append_column(POSITION, positions))

    def _run_natives(self, level: int, moving: list[Blob]) -> list[Blob]:
        """The blobs of a level, with the results of segments in place of those that are for them.

        A segment asks the session of Spark that planned the query, which only this process has."""
        for native in self.batches.plan.natives_after(level):
            mine = [blob for blob in moving if blob.delivery == native.delivery.number]
            moving = [blob for blob in moving if blob.delivery != native.delivery.number]
            tables = [blob.rows() for blob in self.executor.read(mine) if blob.has_content]
            if not tables:
                continue
            given = pa.concat_tables(tables)
            rows, places = native.segment.flattened(given.select(list(native.segment.input.names)))
            weights = given[WEIGHT].combine_chunks().take(pa.array(places, pa.int64()))
            code = LoadedCode((native.output, elements_of(native.type), self.batches.deliveries([native.output])))
            moving += PackTask(code, self.batches.shards).run(0, [rows.append_column(BESIDE, weights)])
        return moving

    def _raise_errors(self, blobs: list[Blob]) -> list[Any]:
        """The reports among blobs. Raises the error that one of them holds."""
        reported = self.executor.read(blob for blob in blobs if blob.delivery == REPORT)
        return raise_reported([unpickle(blob.data) for blob in reported])

    def snapshot(self) -> ShardedMoment:
        return ShardedMoment(self.version, dict(self._waiting), self.counts, self._finished, self.outputs, self.ended)

    def roll_back(self, to: ShardedMoment) -> None:
        self.version, self._waiting, self.counts = to.version, dict(to.waiting), to.counts
        self._finished, self.outputs, self.ended = to.finished, to.outputs, to.ended

    def state_size(self) -> tuple[int, int]:
        return self.executor.state_size()


class WorkersLoop(ShardedLoop):
    """The event loop of a program whose states are in the memory of workers.

    Outputs without order stay in the workers until they are pulled, which consolidate them. The others come back here.
    """

    executor: Workers

    def __init__(self, dag: Dag, plan: Plan, workers: int) -> None:
        streams = list(zip(plan.outputs, dag.output_types, strict=True))
        unsent = {place for place, (_, kind) in enumerate(streams) if _stays_in_workers(kind)}
        outputs = [Output(str(place), *streams[place], UNSENT) for place in sorted(unsent)]
        results = [place for place in range(len(streams)) if place not in unsent]
        self.results = {
            place: _result(plan, len(plan.deliveries) + more, streams[place][0]) for more, place in enumerate(results)
        }
        """By output, the delivery of what comes back here."""
        plan.deliveries += self.results.values()
        self._unread: set[int] = set()
        """The outputs of which workers may have rows."""
        self._lock = RLock()
        """Held while workers are asked: outputs may be read by another thread than the one that pushes."""
        super().__init__(dag, MicroBatches(plan, outputs, "", workers, workers))

    def start_executor(self) -> Workers:
        workers = Workers(Tasks(self.batches, in_memory=True), self.batches.tasks)
        weakref.finalize(self, workers.stop)
        return workers

    def run(self) -> None:
        """Run a micro-batch, if something was pushed or nothing has run yet."""
        if self.version and not self._waiting:
            return
        with self._lock:
            self._run_now()

    def _run_now(self) -> None:
        outcome, moving = self.run_micro_batch()
        self._take_results(moving)
        for output in self.batches.outputs:
            if outcome.rows[output.name]:
                self._unread.add(int(output.name))
            if outcome.ended.get(output.name):
                self._end_output(int(output.name))
        self.executor.finish()

    def _end_output(self, place: int) -> None:
        if place not in self._finished:
            self._finished |= {place}
            self._replace_output(place, self.outputs[place].fix())

    def _replace_output(self, place: int, value: Value) -> None:
        self.outputs = (*self.outputs[:place], value, *self.outputs[place + 1 :])

    def peek(self, index: int) -> Value:
        self._fetch(index)
        return super().peek(index)

    def pull(self, index: int, at_most: int | None = None) -> Value:
        self._fetch(index)
        return super().pull(index, at_most)

    def state_size(self) -> tuple[int, int]:
        with self._lock:
            return super().state_size()

    def _fetch(self, place: int) -> None:
        """Get the rows of an output that workers have."""
        with self._lock:
            if place in self._unread:
                self._fetch_now(place)

    def _fetch_now(self, place: int) -> None:
        value = self.outputs[place]
        assert isinstance(value, Rows)
        rows = value.with_end(End.OPEN)
        for table in self.executor.take_unsent(str(place), self.version - 1):
            rows = rows.concat(Rows(rows.of, table))
        self._replace_output(place, merge_value(rows.with_end(value.end)))
        self._unread.discard(place)

    def _take_results(self, moving: list[Blob]) -> None:
        outputs = list(self.outputs)
        for place, delivery in self.results.items():
            mine = [blob for blob in moving if blob.delivery == delivery.number]
            delta = read_delivery(delivery, self.executor.read(blob for blob in mine if not blob.ended), ShardRecord())
            if delta is not None:
                outputs[place] = outputs[place].concat(delta)
            senders = {blob.origin for blob in mine if blob.ended}
            if place not in self._finished and len(senders) == (1 if delivery.alone else self.batches.tasks):
                self._finished |= {place}
                outputs[place] = outputs[place].concat(delivery.type.collection.bottom().fix())
        self.outputs = tuple(outputs)

    def settle(self) -> None:
        self._oldest = self.version - 1
        self.batches.forget_before(self._oldest)


def _stays_in_workers(kind: StreamType) -> bool:
    """Whether the rows of an output have no order, so that each worker can keep its own."""
    return isinstance(kind.collection, Columns) and is_consolidated(kind.collection.base)


def _result(plan: Plan, number: int, stream: int) -> Delivery:
    """The delivery of an output of the program to the process that runs it."""
    stage = next(each for each in plan.stages if stream in each.outputs)
    kind = stage.types[stage.outputs.index(stream)]
    level = plan.stages[-1].level + 1
    return Delivery(number, stream, kind, level, ONE, alone=stream in plan.alone)
