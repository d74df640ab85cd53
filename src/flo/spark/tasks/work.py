"""The tasks of shards: a turn of the event loop for each, from its state and what it was sent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

import flo.tables.operators  # noqa: F401  # what a state may name
from flo.core.collection import Value
from flo.core.errors import EngineError, FloError
from flo.core.event_loop import EventLoop
from flo.core.graph import with_origins
from flo.core.operator import Delta
from flo.spark.plan.stages import ONE, POSITION, WINDOW, Delivery, Stage
from flo.spark.tasks import context
from flo.spark.tasks.arriving import InnerRows, one_stream
from flo.spark.tasks.blobs import NOTE, Blob, blobs, note, noted, unpacked
from flo.spark.tasks.context import Code, Turn
from flo.spark.tasks.kept import PARTS, Kept, remove_stale
from flo.spark.tasks.sending import Sending, ends, opened
from flo.spark.tasks.state import BLANK, Shard, Standing
from flo.tables.keyed import ENDED, KeyedColumns, KeyedRows
from flo.tables.state.trace import net_changes
from flo.tables.streams import Streams
from flo.tables.values import Columns, Rows
from flo.values.weighted import ZSet

REMEMBERED = 32
"""For how many turns a process remembers a shard that others work on: Spark gives a task to any process that is idle,
and who has had the shard before reads only what is new."""
_shards: dict[tuple[str, int, int], tuple[str, Shard, int, Any]] = {}
"""The shards that this process has worked on, by checkpoint: for which start of the query, and how far they came."""


@dataclass(frozen=True)
class InTurns:
    """The task of a stage, in all turns of a query. It is planned once; who begins a turn says which."""

    code: Code
    turn: Turn
    passes: bool
    """Whether the first turn is for others, which have more rows than those of the stream."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        turn = replace(self.turn, version=context.version(), standing=context.standing())
        return iter(batches) if turn.first and self.passes else Work(self.code, turn)(batches)


@dataclass(frozen=True)
class Work:
    """The task of a stage: works on its shards, one after the other. A shard that is sent nothing stays as it is."""

    code: Code
    """A stage, the deliveries from it, and its outputs."""
    turn: Turn

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = context.task()
        received = list(blobs(batches))
        onwards = [blob for blob in received if blob.delivery == NOTE]
        yield from (blob.batch() for blob in onwards)
        if onwards and any(isinstance(noted(blob.data), FloError) for blob in onwards):
            return
        try:
            for blob in self._worked(task, received):
                yield blob.batch()
        except FloError as error:
            yield note(task, task, error).batch()

    def _worked(self, task: int, received: list[Blob]) -> Iterator[Blob]:
        stage, deliveries, outputs = self.code.load()
        self._forget()
        here = {each.number for each in stage.inputs}
        yield from (blob for blob in received if blob.delivery not in here and blob.delivery != NOTE)
        sent: dict[int, list[Blob]] = {}
        for blob in received:
            if blob.delivery in here and blob.data is not None:
                sent.setdefault(blob.shard, []).append(blob)
        ended = self._ended(stage, received)
        received.clear()  # each shard lets go of what it was sent
        shards = self._touched(stage, task, sent, ended)
        done = Done(self.turn.version, stage.level, [shard for shard in shards if self._writes(task, shard)])
        for shard in shards:
            yield from self._turn(stage, shard, sent.pop(shard, []), ended, (deliveries, outputs), done)
        for stream, count in done.streams.items():
            if (count == 1 and stream in stage.alone) or count == len(shards):
                yield from ends(deliveries, stream, task, self.turn.tasks)
            else:
                raise EngineError(f"the stream {stream} has ended in {count} of {len(shards)} shards")
        for output in outputs:
            if output.how == PARTS and output.stream in stage.outputs:
                remove_stale(output, self.turn, task, done.files.get(output.name, ()))
        yield note(task, task, done.said())

    def _ended(self, stage: Stage, received: list[Blob]) -> set[int]:
        """The deliveries of which nothing more will come: every sender has said so, now or before."""
        senders: dict[int, set[int]] = {}
        for blob in received:
            if blob.ended:
                senders.setdefault(blob.delivery, set()).add(blob.origin)
        return {
            each.number
            for each in stage.inputs
            if each.stream in self.turn.ended
            or len(senders.get(each.number, ())) == (1 if each.alone else self.turn.tasks)
        }

    def _touched(self, stage: Stage, task: int, sent: Mapping[int, list[Blob]], ended: set[int]) -> list[int]:
        """The shards of this task that have something to do: those that were sent something, and shard 0. When a
        delivery ends, and in the first turn, all have, those that were sent nothing yet as one."""
        turn, standing = self.turn, self.turn.standing.get(stage.level, Standing())
        found = {shard for shard in (0, *sent) if shard % turn.tasks == task}
        ends_now = {each.number for each in stage.inputs if each.how != ONE and each.number in ended} - standing.ended
        if turn.first or ends_now:
            found |= {shard for shard in standing.shards if shard % turn.tasks == task}
            if turn.shards > 1 and (turn.first or standing.blank >= 0):
                found.add(BLANK)
        return sorted(found)

    def _writes(self, task: int, shard: int) -> bool:
        """The state that shards share is the same in every task, and the first writes it."""
        return shard != BLANK or task == 0

    def _turn(
        self, stage: Stage, number: int, sent: list[Blob], ended: set[int], onwards: tuple[Any, Any], done: Done
    ) -> Iterator[Blob]:
        """A turn of the event loop for one shard."""
        deliveries, outputs = onwards
        shard, graph, kept = self._state(stage, number)
        loop = EventLoop(stage.graph, tuple(each.type for each in stage.inputs))
        loop.graph = graph
        loop.push(tuple(self._arrived(each, sent, kept) for each in stage.inputs))
        self._end(stage, number, ended, loop, kept)
        loop.run()
        sending = Sending(deliveries, self.turn.shards, number)
        here = [output for output in outputs if output.stream in stage.outputs]
        for place, stream in enumerate(stage.outputs):
            before = stream in kept.done
            finished = kept.has_ended(stream, loop.outputs[place])
            value = net(opened(loop.pull(place)))
            if number != BLANK:  # what is given without any rows, shard 0 gives
                sending.gather(sending.addressed(stream, value, own=number))
            if finished and not before and (number == 0 or stream not in stage.alone):
                done.streams[stream] = done.streams.get(stream, 0) + 1
            for output in here:
                if output.stream == stream:
                    done.take(output.name, number, finished, *kept.take(output, value, self.turn, number))
        if number == 0:
            done.ended = sorted(kept.ended)
        if number in done.shards:
            done.written += shard.save(self.turn.version, loop.graph, kept.parts(here), kept.more(here)).bytes
        _shards[self._key(stage, number)] = (self.turn.run, shard, self.turn.version, (loop.graph, kept))
        yield from sending.blobs()

    def _forget(self) -> None:
        """Shards that nobody here will go on with: of earlier starts, long elsewhere, or of jobs that have ended."""
        turn = self.turn
        gone = {where for where, _, _ in list(_shards) if "://" not in where and not os.path.exists(where)}
        for key, (run, _, version, _) in list(_shards.items()):
            old = run != turn.run or version < turn.version - REMEMBERED
            if key[0] in gone or (key[0] == turn.folder and old):
                _shards.pop(key, None)

    def _key(self, stage: Stage, number: int) -> tuple[str, int, int]:
        return self.turn.folder, stage.level, number

    def _state(self, stage: Stage, number: int) -> tuple[Shard, Any, Kept]:
        """The state of the turn before: remembered, or read."""
        turn, key = self.turn, self._key(stage, number)
        found = _shards.get(key)
        if found is None or found[0] != turn.run:
            types = tuple(each.type for each in stage.inputs)
            shard = Shard(turn.folder, turn.shards, stage.level, number, stage.graph, types)
            found = (turn.run, shard, -1, (stage.graph, Kept()))
        _, shard, version, (graph, kept) = found
        if turn.first:
            return shard, shard.graph, Kept()
        standing = turn.standing[stage.level]
        if number != BLANK and number not in standing.shards:
            _, graph, kept = self._state(stage, BLANK)
            return shard, with_origins(graph, shard.graph), kept
        if version != standing.version(number):
            graph, parts, more = shard.load(standing.version(number), turn.version)
            kept = Kept.read(parts, more)
            _shards[key] = (turn.run, shard, standing.version(number), (graph, kept))
        return shard, graph, kept.copy()

    def _arrived(self, delivery: Delivery, received: list[Blob], kept: Kept) -> Delta:
        """What was sent, in one order, whichever task was first."""
        mine = [blob for blob in received if blob.delivery == delivery.number and blob.data is not None]
        mine.sort(key=lambda blob: (blob.origin, blob.part))
        if not mine:
            return None
        of = delivery.type.collection
        if isinstance(of, (Columns, KeyedColumns)):
            tables = [unpacked(blob.data) for blob in mine]
            keys = [table for table in tables if ENDED in table.column_names]
            rows = [table for table in tables if ENDED not in table.column_names]
            table = pa.concat_tables(rows) if rows else of.bottom().table
            if POSITION in table.column_names:
                table = kept.in_order(delivery, table, POSITION)
                if delivery.how != WINDOW:
                    table = table.drop_columns([POSITION])
            if isinstance(of, Columns):
                return Rows(of.base, table)
            return KeyedRows(of.base, table, pa.concat_tables([of.bottom().keys, *keys]))
        values = [noted(blob.data) for blob in mine]
        if isinstance(values[0], InnerRows):
            return one_stream(of, values, lambda table: kept.in_order(delivery, table, POSITION))  # type: ignore[arg-type]
        value: Value = of.bottom()
        for each in values:
            value = value.concat(each)
        return value.in_place() if isinstance(value, Streams) else value

    def _end(self, stage: Stage, number: int, ended: set[int], loop: EventLoop, kept: Kept) -> None:
        for place, delivery in enumerate(stage.inputs):
            if delivery.number in kept.ended or (delivery.how == ONE and number != 0):
                continue
            if delivery.number in ended:
                kept.ended.add(delivery.number)
                deltas: list[Delta] = [None] * len(stage.inputs)
                deltas[place] = delivery.type.collection.bottom().fix()
                loop.push(tuple(deltas))


@dataclass
class Done:
    """What a task has done in a turn, in all of its shards: for the driver."""

    version: int
    level: int
    shards: list[int]
    """Those whose state it has changed."""
    rows: dict[str, int] = field(default_factory=dict)
    """By output, and so is the rest."""
    files: dict[str, list[int]] = field(default_factory=dict)
    """The shards that have written a file."""
    finished: dict[str, bool] = field(default_factory=dict)
    """Whether it has ended. Shard 0 knows: a stream ends in all shards in the same turn."""
    streams: dict[int, int] = field(default_factory=dict)
    """In how many shards a stream has ended now."""
    ended: list[int] | None = None
    """The deliveries that have ended, if shard 0 is of this task."""
    written: int = 0

    def take(self, output: str, shard: int, finished: bool, rows: int, file: bool) -> None:
        self.rows[output] = self.rows.get(output, 0) + rows
        if file:
            self.files.setdefault(output, []).append(shard)
        if shard == 0:
            self.finished[output] = finished

    def said(self) -> dict[str, Any]:
        standing = {"stage": self.level, "shards": self.shards, "deliveries": self.ended}
        gave = {"rows": self.rows, "files": self.files, "ended": self.finished}
        return {**standing, **gave, "version": self.version, "written": self.written}


def net(value: Value) -> Value:
    """What a stage gives of a z-set, without rows that cancel out: before it is shuffled or written."""
    inner = getattr(value, "inner", getattr(value, "of", None))
    if isinstance(value, (Rows, KeyedRows)) and isinstance(inner, ZSet):
        return replace(value, table=net_changes(value.table))
    return value
