"""The tasks of shards: a turn of the event loop for each, from its state and what it was sent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import flo.columnar.operators  # noqa: F401  # what a state may name
from flo.columnar.keyed import ENDED, KeyedColumns, KeyedRows
from flo.columnar.rows import Columns, Rows
from flo.columnar.streams import Streams
from flo.columnar.trace import net_changes
from flo.core.collection import Value
from flo.core.errors import FloError
from flo.core.event_loop import EventLoop
from flo.core.operator import Delta
from flo.spark.plan.spread import in_shard
from flo.spark.plan.stages import ONE, POSITION, WINDOW, Delivery, Stage
from flo.spark.tasks import context
from flo.spark.tasks.arriving import InnerRows, one_stream
from flo.spark.tasks.blobs import NOTE, Blob, blobs, note, noted, unpacked
from flo.spark.tasks.context import Code, Turn
from flo.spark.tasks.kept import Kept
from flo.spark.tasks.sending import Sending, opened
from flo.spark.tasks.state import Shard
from flo.values.weighted import ZSet

REMEMBERED = 32
"""For how many turns a process remembers a shard that others work on: Spark gives a task to any process that is idle,
and who has had the shard before reads only what is new."""
_shards: dict[tuple[str, int, int], tuple[str, Shard, int, Any]] = {}
"""The shards that this process has worked on, by checkpoint: for which start of the query, and how far they came."""


@dataclass(frozen=True)
class InTurns:
    """The task of a shard at a stage, in all turns of a query. It is planned once; who begins a turn says which."""

    code: Code
    turn: Turn
    passes: bool
    """Whether the first turn is for others, which have more rows than those of the stream."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        turn = replace(self.turn, version=context.version())
        return iter(batches) if turn.first and self.passes else Work(self.code, turn)(batches)


@dataclass(frozen=True)
class Work:
    """The task of a shard at a stage."""

    code: Code
    """A stage, the deliveries from it, and its outputs."""
    turn: Turn

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = context.task()
        received = list(blobs(batches))
        onwards = [blob for blob in received if blob.delivery == NOTE]
        yield from (blob.batch() for blob in onwards)
        if onwards and any(isinstance(noted(blob.data), FloError) for blob in onwards):
            return
        try:
            for blob in self._worked(number, received):
                yield blob.batch()
        except FloError as error:
            yield note(number, number, error).batch()

    def _worked(self, number: int, received: list[Blob]) -> Iterator[Blob]:
        stage, deliveries, outputs = self.code.load()
        self._forget()
        shard, graph, kept = self._state(stage, number)
        later = [blob for blob in received if blob.delivery >= 0 and blob.delivery not in _numbers(stage)]
        yield from later
        loop = EventLoop(stage.graph, tuple(each.type for each in stage.inputs))
        loop.graph = graph
        loop.push(tuple(self._arrived(each, received, kept) for each in stage.inputs))
        self._end(stage, number, received, loop, kept)
        loop.run()
        sending = Sending(deliveries, self.turn.shards, number)
        here = [output for output in outputs if output.stream in stage.outputs]
        said: dict[str, Any] = {"version": self.turn.version, "stage": stage.level, "shard": number, "rows": {}}
        for place, stream in enumerate(stage.outputs):
            ended = kept.has_ended(stream, loop.outputs[place])
            value = net(opened(loop.pull(place)))
            sending.gather(sending.addressed(stream, value, own=number))
            if ended and (number == 0 or stream not in stage.alone):
                sending.end(stream)
            for output in here:
                if output.stream == stream:
                    said["rows"][output.name] = kept.take(output, value, self.turn, number)
                    said.setdefault("ended", {})[output.name] = ended or (number > 0 and stream in stage.alone)
        saved = shard.save(self.turn.version, loop.graph, kept.parts(here), kept.more(here))
        said["written"] = saved.bytes
        _shards[self._key(stage, number)] = (self.turn.run, shard, self.turn.version, (loop.graph, kept))
        yield from sending.blobs()
        yield note(number, number, said)

    def _forget(self) -> None:
        """Shards that nobody here will go on with: of earlier starts, long elsewhere, or of jobs that have ended."""
        turn = self.turn
        for key, (run, _, version, _) in list(_shards.items()):
            if key[0] != turn.folder:
                useless = "://" not in key[0] and not os.path.exists(key[0])
            else:
                useless = run != turn.run or version < turn.version - REMEMBERED
            if useless:
                _shards.pop(key, None)

    def _key(self, stage: Stage, number: int) -> tuple[str, int, int]:
        return self.turn.folder, stage.level, number

    def _state(self, stage: Stage, number: int) -> tuple[Shard, Any, Kept]:
        """The state of the turn before: remembered, or read."""
        turn, key = self.turn, self._key(stage, number)
        found = _shards.get(key)
        if found is None or found[0] != turn.run:
            types = tuple(each.type for each in stage.inputs)
            program = in_shard(stage.graph, number, turn.shards)
            shard = Shard(turn.folder, turn.shards, stage.level, number, program, types)
            found = (turn.run, shard, -1, (program, Kept()))
        _, shard, version, (graph, kept) = found
        if turn.first:
            return shard, shard.graph, Kept()
        if version != turn.version - 1:
            graph, parts, more = shard.load(turn.version - 1)
            kept = Kept.read(parts, more)
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

    def _end(self, stage: Stage, number: int, received: list[Blob], loop: EventLoop, kept: Kept) -> None:
        for place, delivery in enumerate(stage.inputs):
            if delivery.number in kept.ended or (delivery.how == ONE and number > 0):
                continue
            if delivery.stream in self.turn.ended or kept.all_ended(delivery, received, self.turn.shards):
                kept.ended.add(delivery.number)
                deltas: list[Delta] = [None] * len(stage.inputs)
                deltas[place] = delivery.type.collection.bottom().fix()
                loop.push(tuple(deltas))


def net(value: Value) -> Value:
    """What a stage gives of a z-set, without rows that cancel out: before it is shuffled or written."""
    inner = getattr(value, "inner", getattr(value, "of", None))
    if isinstance(value, (Rows, KeyedRows)) and isinstance(inner, ZSet):
        return replace(value, table=net_changes(value.table))
    return value


def _numbers(stage: Stage) -> set[int]:
    return {each.number for each in stage.inputs}
