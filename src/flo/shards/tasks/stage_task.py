"""The tasks of a stage: for each shard, one run of the event loop on its state and what it has received.

Task 1 of 4 in a stage with 8 shards has the shards 1 and 5. In version 7 blobs arrive for shard 5 only:

    shard 1    not run: its state stays at the version that it has
    shard 5    state 6 ─┐
               blobs ───┴> event loop ─> state 7, blobs for stage 2, changes of outputs
    report     shards [5], rows and files by output, ends, bytes

Invariant: (state v - 1, blobs of v) gives (state v, blobs, changes), and the same each time. Nothing that other tasks
read is changed: states are new files, and what is cached in this process is replaced when these files are there.

A stream ends in all shards in the same micro-batch. So all shards are run when a delivery to all of them ends, and
those that have received nothing yet share one state, BLANK.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import flo.tables.operators  # noqa: F401  # registers the operators that a state names
from flo.columns.indices import Mask
from flo.core.collection import Collection, Value
from flo.core.errors import EngineError, FloError
from flo.core.graph import Node
from flo.core.operator import Delta
from flo.shards.plan.stages import ONE, POSITION, WINDOW, Delivery, Stage, shard_of
from flo.shards.tasks import context
from flo.shards.tasks.blobs import REPORT, Blob, read_blobs, report_blob, size_of, unpickle
from flo.shards.tasks.context import Code, LoadedCode, MicroBatch
from flo.shards.tasks.figures import OPERATORS, STATE, TaskFigures, add_work
from flo.shards.tasks.hot_keys import HotKeys, hot_in, merge_hot, shards_of_rows
from flo.shards.tasks.input_task import InnerRows, make_inner_stream
from flo.shards.tasks.output_files import UNSENT, Output, remove_stale_files
from flo.shards.tasks.sending import Sender, end_blobs, without_end
from flo.shards.tasks.shard_record import ShardRecord
from flo.shards.tasks.state import BLANK, Shard, StateVersions
from flo.tables.checkpoint.folders import Writes, scratch_folder
from flo.tables.dataflow import Dataflow
from flo.tables.keyed import ENDED, KeyedColumns, KeyedRows
from flo.tables.operators.clocks import PARTITION
from flo.tables.operators.fixpoint import FixpointTables
from flo.tables.operators.joins import JoinTables
from flo.tables.operators.upserts import expect_once
from flo.tables.state.consolidation import net_changes
from flo.tables.state.spilling import limit_memory
from flo.tables.streams import Streams
from flo.tables.values import COPY, SUMMED, Columns, Rows, is_ordered
from flo.values.changes import shape_of
from flo.values.partitioned import Partitioned
from flo.values.weighted import ZSet

REMEMBERED = 32
"""For how many micro-batches a process caches a shard that other processes work on. Spark gives a task to any idle
process, and one that had the shard before reads only what is new."""


class Cached(NamedTuple):
    """A shard that this process has cached, with its state."""

    run: str
    """The start of the query that it belongs to."""
    shard: Shard
    version: int
    """The version of the state; -1 if there is none."""
    nodes: list[Node]
    """The operators with their states."""
    record: ShardRecord


_shards: dict[tuple[str, int, int], Cached] = {}
"""The shards that this process has cached, by (checkpoint, level, shard). A version is cached when its files are
there."""


@dataclass(frozen=True)
class StageTask:
    """The task of a stage in one micro-batch: runs its shards one after the other.

    A shard that receives nothing is not run.
    """

    code: Code | LoadedCode
    """The stage, the deliveries from it, and the outputs of the program."""
    batch: MicroBatch

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.run_alone(context.task_number(), list(read_blobs(batches)))

    def run_alone(self, task: int, received: list[Blob]) -> Iterator[pa.RecordBatch]:
        """Runs the shards of a task, and yields the rows that it sends. When they end, the states are there."""
        writes = Writes()
        try:
            for blob in self.run(task, received, writes):
                yield blob.batch(self.batch.blobs)
            yield finish_writes(writes, task, self.code.load()[0].level, self.batch).batch()
        except FloError as error:
            yield report_blob(0, 0, error).batch()
        finally:
            writes.close()

    def run(self, task: int, received: list[Blob], writes: Writes) -> Iterator[Blob]:
        """Runs the shards of a task. Yields what it sends, what it received for later stages, and the reports.

        The states are there when `writes` are finished."""
        reports = [blob for blob in received if blob.delivery == REPORT]
        yield from reports
        if reports and any(isinstance(unpickle(blob.data), FloError) for blob in reports):
            return
        try:
            yield from self._run_shards(task, received, writes)
        except FloError as error:
            yield report_blob(task, task, error)

    def _run_shards(self, task: int, received: list[Blob], writes: Writes) -> Iterator[Blob]:
        """Runs the shards of a task that have work. Yields what they send, the ends of streams, and the report."""
        stage, deliveries, outputs = self.code.load()
        self._evict_old_shards()
        here = {each.number for each in stage.inputs}
        yield from (blob for blob in received if blob.delivery not in here and blob.delivery != REPORT)
        sent: dict[int, list[Blob]] = {}
        for blob in received:
            if blob.delivery in here and blob.has_content:
                sent.setdefault(blob.shard, []).append(blob)
        ended = self._ended_deliveries(stage, received)
        received_bytes = size_of(received)
        received.clear()  # frees the memory of each shard's blobs when the shard is done
        has_outputs = any(output.stream in stage.outputs for output in outputs)
        shards = self._shards_to_run(stage, task, sent, ended, has_outputs)
        written = [shard for shard in shards if self._writes_state(task, shard)]
        report = TaskReport(self.batch.version, stage.level, written, received_bytes)
        for shard in shards:
            yield from self._run_shard(stage, shard, sent.pop(shard, []), ended, (deliveries, outputs), report, writes)
        for stream, count in report.ended_streams.items():
            if (count == 1 and stream in stage.alone) or count == len(shards):
                for each in (stream, *(output for of, output in stage.natives if of == stream)):
                    yield from end_blobs(deliveries, each, task, self.batch.tasks)
            else:
                raise EngineError(f"stream {stream} ended in {count} of {len(shards)} shards; expected all of them")
        for output in outputs:
            if output.to is not None and output.stream in stage.outputs:
                remove_stale_files(output.to, self.batch, task, report.files.get(output.name, ()))
        yield report_blob(task, task, report.as_dict())

    def _ended_deliveries(self, stage: Stage, received: list[Blob]) -> set[int]:
        """The deliveries that have ended: all senders have said so, now or earlier."""
        senders: dict[int, set[int]] = {}
        for blob in received:
            if blob.ended:
                senders.setdefault(blob.delivery, set()).add(blob.origin)
        return {
            each.number
            for each in stage.inputs
            if each.stream in self.batch.ended
            or len(senders.get(each.number, ())) == (1 if each.alone else self.batch.tasks)
        }

    def _shards_to_run(
        self, stage: Stage, task: int, sent: Mapping[int, list[Blob]], ended: set[int], has_outputs: bool
    ) -> list[int]:
        """The shards of this task that have work: those that received something.

        Shard 0 also has work if a delivery ends, or if the stage has outputs of the program: it says whether they have
        ended. In the first micro-batch, and when a delivery to all shards ends, all shards have work. Those that have
        received nothing yet count as one. If keys have become hot, every shard takes rows of them.
        """
        batch, versions = self.batch, self.batch.state_versions.get(stage.level, StateVersions())
        ends_now = {each.how for each in stage.inputs if each.number in ended and each.name not in versions.ended}
        concerns_all = batch.is_first or bool(ends_now - {ONE})
        shards = {*sent, *(versions.shards if concerns_all else ())}
        if batch.is_first or ends_now or has_outputs:
            shards.add(0)
        if versions.new_hot:
            shards.update(range(batch.shards))
        shards = {shard for shard in shards if shard % batch.tasks == task}
        if concerns_all and batch.shards > 1 and (batch.is_first or versions.blank >= 0):
            shards.add(BLANK)
        return sorted(shards)

    def _writes_state(self, task: int, shard: int) -> bool:
        """Whether this task writes the state of a shard. All tasks compute the shared state; task 0 writes it."""
        return shard != BLANK or task == 0

    def _run_shard(
        self,
        stage: Stage,
        number: int,
        sent: list[Blob],
        ended: set[int],
        onwards: tuple[Any, Any],
        report: TaskReport,
        writes: Writes,
    ) -> Iterator[Blob]:
        """Runs the event loop of one shard: reads its state, pushes what it received, saves, and sends the results."""
        deliveries, outputs = onwards
        figures = report.figures
        with figures.measure(STATE):
            program, nodes, record = self._read_state(stage, number)
        record.read_from(self.batch.source)
        if number != BLANK and nodes is not None:
            nodes = self._take_hot_rows(stage, number, nodes)
        loop = program.metered(nodes)
        before_push = list(loop.nodes)
        deltas = tuple(read_delivery(each, sent, record) for each in stage.inputs)
        if number != BLANK:
            figures.shard_rows[number] = sum(delta.size() for delta in deltas if delta is not None)
        loop.push(deltas)
        self._push_ends(stage, number, ended, loop, record)
        with figures.measure(OPERATORS):
            loop.run()
        add_work(figures.work, loop.work())
        figures.note_clocks(stage.dag, before_push, loop.nodes)
        report.rounds |= {} if number == BLANK else taken_rounds(stage, before_push, loop.nodes)
        sender = Sender(deliveries, self.batch.shards, number, hot_in(self.batch.state_versions))
        here = [output for output in outputs if output.stream in stage.outputs]
        leaves = {each.stream for each in deliveries} | {each.stream for each in here if each.how != UNSENT}
        for index, stream in enumerate(stage.outputs):
            before = stage.names[index] in record.done
            finished = record.note_end(stage.names[index], loop.outputs[index])
            value = without_end(loop.pull(index))
            if stream in leaves:
                value = consolidate(value)
            if number != BLANK:  # shard 0 sends what is produced without any input rows
                sender.add(sender.address(stream, value, own=number))
            if finished and not before and (number == 0 or stream not in stage.alone):
                report.ended_streams[stream] = report.ended_streams.get(stream, 0) + 1
            for output in here:
                if output.stream == stream:
                    rows, file = record.add_changes(output, value, self.batch, number, writes)
                    report.add(output.name, number, finished, rows, file)
        if number == 0:
            report.ended_deliveries = sorted(record.ended)
        with figures.measure(STATE):
            self._keep_state(stage, number, loop, record, here, report, writes)
        report.hot = merge_hot(report.hot, sender.newly_hot)
        yield from sender.blobs()

    def _take_hot_rows(self, stage: Stage, number: int, nodes: list[Node]) -> list[Node]:
        """The operators of a shard, where joins have their part of the rows of keys that have become hot. All shards
        take theirs in the same micro-batch, from the states before it."""
        versions, shards, after = self.batch.state_versions[stage.level], self.batch.shards, list(nodes)
        for place, vertex in enumerate(stage.dag.vertices):
            if vertex.id not in versions.new_hot:
                continue
            hot, join = versions.new_hot[vertex.id], after[place].operator
            assert isinstance(join, JoinTables)
            keys = np.array(hot.numbers, np.uint64)
            homes, of = shard_of(keys, shards), join.inputs[hot.side]

            def owns(table: pa.Table, of: Collection = of) -> Mask:
                mine: Mask = shards_of_rows(table, of, shards) == number
                return mine

            for home in sorted({*homes.tolist()} & versions.shards.keys()):
                own = keys[homes == home]
                if home == number:
                    join = join.keep_hot_rows(hot.side, own, owns)
                else:
                    join = join.take_hot_rows(self._read_operator(stage, home, place), hot.side, own, owns)
            after[place] = replace(after[place], operator=join)
        return after

    def _read_operator(self, stage: Stage, shard: int, place: int) -> Any:
        """An operator of another shard, with its state before this micro-batch."""
        store = Shard(self.batch.folder, self.batch.shards, stage.level, shard, stage.dag)
        return store.read(self.batch.state_versions[stage.level].version(shard)).nodes[place].operator

    def _keep_state(
        self,
        stage: Stage,
        number: int,
        loop: Dataflow,
        record: ShardRecord,
        outputs: list[Output],
        report: TaskReport,
        writes: Writes,
    ) -> None:
        """Writes the state of a shard after the micro-batch, and caches it. `outputs` are those of the stage."""
        batch, shard = self.batch, self._cached(stage, number).shard
        if number in report.shards:
            views, more = record.parts(outputs), record.more(outputs)
            saved = shard.save(batch.version, loop.nodes, views, more, (*batch.tagged, batch.oldest), writes)
            report.written += saved.bytes
        cached = Cached(batch.run, shard, batch.version, loop.nodes, record)
        writes.afterwards(partial(_shards.__setitem__, self._key(stage, number), cached))

    def _evict_old_shards(self) -> None:
        """Drops cached shards that are of no more use: of earlier starts, of finished jobs, or long unused here."""
        batch = self.batch
        folders = {where for where, _, _ in list(_shards) if "://" not in where and where != batch.folder}
        gone = {where for where in folders if not os.path.exists(where)}
        for key, cached in list(_shards.items()):
            old = cached.run != batch.run or cached.version < batch.version - REMEMBERED
            if key[0] in gone or (key[0] == batch.folder and old):
                _shards.pop(key, None)

    def _key(self, stage: Stage, number: int) -> tuple[str, int, int]:
        return self.batch.folder, stage.level, number

    def _cached(self, stage: Stage, number: int) -> Cached:
        """A shard as this process has cached it for this start of the query; without a state if it has not."""
        batch = self.batch
        cached = _shards.get(self._key(stage, number))
        if cached is None or cached.run != batch.run:
            shard = Shard(batch.folder, batch.shards, stage.level, number, stage.dag)
            return Cached(batch.run, shard, -1, shard.program.nodes, ShardRecord())
        return cached

    def _read_state(self, stage: Stage, number: int) -> tuple[Dataflow, list[Node] | None, ShardRecord]:
        """Reads the state of a shard before this micro-batch: from the cache if that is current, or else from files.

        Returns its program, the operators with their states (None in the first micro-batch), and its record."""
        batch, key = self.batch, self._key(stage, number)
        _, shard, version, nodes, record = self._cached(stage, number)
        if batch.is_first:
            return shard.program, None, ShardRecord()
        versions = batch.state_versions[stage.level]
        if number != BLANK and number not in versions.shards:
            _, blank, record = self._read_state(stage, BLANK)
            return shard.program, shard.program.states.adopt(blank or []), record
        if version != versions.version(number):
            nodes, views, more = shard.load(versions.version(number), batch.version, batch.begun)
            record = ShardRecord.read(views, more)
            _shards[key] = Cached(batch.run, shard, versions.version(number), nodes, record)
            spill_shards(batch)
        return shard.program, nodes, record.copy()

    def _push_ends(self, stage: Stage, number: int, ended: set[int], loop: Dataflow, record: ShardRecord) -> None:
        """Pushes the ends of deliveries that have ended in this micro-batch."""
        for index, delivery in enumerate(stage.inputs):
            if delivery.name in record.ended or (delivery.how == ONE and number != 0):
                continue
            if delivery.number in ended:
                record.ended.add(delivery.name)
                deltas: list[Delta] = [None] * len(stage.inputs)
                deltas[index] = delivery.type.collection.bottom().fix()
                loop.push(tuple(deltas))


@dataclass
class TaskReport:
    """A task's report to the driver on one micro-batch, over all of its shards."""

    version: int
    level: int
    shards: list[int]
    """The shards whose state it wrote."""
    received: int = 0
    """Bytes that it received, for its stage or a later one."""
    rows: dict[str, int] = field(default_factory=dict)
    """Rows of changes by output."""
    files: dict[str, list[str]] = field(default_factory=dict)
    """By output, the files of changes that its shards have written."""
    ended_outputs: dict[str, bool] = field(default_factory=dict)
    """By output, whether it has ended. Shard 0 says so for all: a stream ends in all shards in the same micro-batch."""
    ended_streams: dict[int, int] = field(default_factory=dict)
    """By stream, the number of shards in which it ended in this micro-batch."""
    ended_deliveries: list[str] | None = None
    """The deliveries that have ended; None if the task does not have shard 0."""
    written: int = 0
    """Bytes of state."""
    figures: TaskFigures = field(default_factory=TaskFigures)
    rounds: dict[str, Mapping[int, int]] = field(default_factory=dict)
    """By the id of a fixpoint, the rows that changed in each of its rounds."""
    hot: dict[str, HotKeys] = field(default_factory=dict)
    """Keys of joins in later stages that are hot from now on."""
    started: float = field(default_factory=time.monotonic)

    def add(self, output: str, shard: int, finished: bool, rows: int, file: str | None) -> None:
        self.rows[output] = self.rows.get(output, 0) + rows
        if file is not None:
            self.files.setdefault(output, []).append(file)
        if shard == 0:
            self.ended_outputs[output] = finished

    def as_dict(self) -> dict[str, Any]:
        """The report as the driver reads it."""
        state = {"stage": self.level, "shards": self.shards, "deliveries": self.ended_deliveries}
        changes = {"rows": self.rows, "files": self.files, "ended": self.ended_outputs, "rounds": self.rounds}
        figures = {"written": self.written, "received": self.received, "hot": self.hot, **self.figures.as_dict()}
        return {**state, **changes, **figures, "version": self.version, "seconds": time.monotonic() - self.started}


def spill_shards(batch: MicroBatch) -> None:
    """Moves state of the shards of a query that this process has cached to files, if it is more than the limit."""
    if batch.memory is not None:
        own = [cached.shard.runs for (where, _, _), cached in list(_shards.items()) if where == batch.folder]
        limit_memory(chain.from_iterable(own), batch.memory, scratch_folder())


def finish_writes(writes: Writes, task: int, level: int, batch: MicroBatch) -> Blob:
    """Waits until the files of a task are there. Returns a report on how long that took, after the rest of the task."""
    started = time.monotonic()
    writes.finish()
    spill_shards(batch)
    return report_blob(task, task, {"stored": (level, time.monotonic() - started)})


def taken_rounds(stage: Stage, before: list[Node], after: list[Node]) -> dict[str, Mapping[int, int]]:
    """The rounds of each fixpoint that has run between two states of a stage."""
    rounds = {}
    for vertex, old, new in zip(stage.dag.vertices, before, after, strict=True):
        if isinstance(old.operator, FixpointTables) and isinstance(new.operator, FixpointTables):
            if new.operator.rounds is not old.operator.rounds:
                rounds[vertex.id] = new.operator.rounds
    return rounds


def read_delivery(delivery: Delivery, received: list[Blob], record: ShardRecord) -> Delta:
    """The data of a delivery as one delta, in an order that does not depend on which task was first."""
    mine = [blob for blob in received if blob.delivery == delivery.number and blob.has_content]
    mine.sort(key=lambda blob: (blob.origin, blob.part))
    if not mine:
        return None
    of = delivery.type.collection
    if isinstance(of, (Columns, KeyedColumns)):
        tables = [blob.rows() for blob in mine]
        keys = [table for table in tables if ENDED in table.column_names]
        rows = [table for table in tables if ENDED not in table.column_names]
        table = _concat_rows(delivery, rows) if rows else of.bottom().table
        if POSITION in table.column_names:
            if isinstance(of.base, Partitioned):
                table = record.sort_partitions(delivery, table, PARTITION, POSITION)
            else:
                table = record.sort_by_position(delivery, table, POSITION)
            if delivery.how != WINDOW:
                table = table.drop_columns([POSITION])
        elif isinstance(of, Columns) and is_ordered(of.base) and shape_of(of.base.element) is not None:
            expect_once(of.base, table)
        if isinstance(of, Columns):
            return Rows(of.base, table)
        return KeyedRows(of.base, table, pa.concat_tables([of.bottom().keys, *keys]))
    values = [unpickle(blob.data) for blob in mine]
    if isinstance(values[0], InnerRows):
        return make_inner_stream(of, values, lambda table: record.sort_by_position(delivery, table, POSITION))  # type: ignore[arg-type]
    value: Value = of.bottom()
    for each in values:
        value = value.concat(each)
    return value.in_positions() if isinstance(value, Streams) else value


def _concat_rows(delivery: Delivery, tables: list[pa.Table]) -> pa.Table:
    """The rows of all tasks. If some have sent sums in place of rows, those of all; and if some have sent copies, with
    the column that says which."""
    if any(COPY in table.column_names for table in tables):
        table = pa.concat_tables(tables, promote_options="default")
        place = table.column_names.index(COPY)
        return table.set_column(place, COPY, pc.fill_null(table[COPY], False))
    if not any(SUMMED in table.column_names for table in tables):
        return pa.concat_tables(tables)
    by = delivery.by
    assert by is not None
    sums = [
        each if SUMMED in each.column_names else by.sum_early(each, lambda *_: True, reduce=delivery.reduces)[0]
        for each in tables
    ]
    return pa.concat_tables(sums, promote_options="default")


def consolidate(value: Value) -> Value:
    """The changes of a z-set without rows that cancel out, before they are shuffled or written."""
    inner = getattr(value, "inner", getattr(value, "of", None))
    if isinstance(value, (Rows, KeyedRows)) and isinstance(inner, ZSet):
        return replace(value, table=net_changes(value.table))
    return value
