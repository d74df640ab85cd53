"""What tasks do: rows of an input to the shards that want them, and a turn of the event loop for each shard."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

import flo.columnar.operators  # noqa: F401  # what a state may name
from flo.columnar.keyed import ENDED, KeyedColumns, KeyedRows
from flo.columnar.rows import Columns, Rows
from flo.columnar.streams import Streams
from flo.core.collection import End, Value
from flo.core.errors import FloError
from flo.core.event_loop import EventLoop
from flo.core.operator import Delta
from flo.spark.arriving import Arriving, InnerRows, one_stream
from flo.spark.blobs import NOTE, POSITION, Blob, blobs, note, noted, unpacked
from flo.spark.kept import Kept
from flo.spark.sending import Parcel, Sending
from flo.spark.spread import in_shard
from flo.spark.stages import ONE, WINDOW, Delivery, Entry, Stage
from flo.spark.state import Shard

AT_ONCE = 1 << 18
"""How many rows of an input are taken together."""
VERSION = "flo.version"
"""The property that tells a task which turn it is."""
REMEMBERED = 32
"""For how many turns a process remembers a shard that others work on: Spark gives a task to any process that is idle,
and who has had the shard before reads only what is new."""
_shards: dict[tuple[str, int, int], tuple[str, Shard, int, Any]] = {}
"""The shards that this process has worked on, by checkpoint: for which start of the query, and how far they came."""


@dataclass(frozen=True)
class Code:
    """Something pickled."""

    data: bytes

    @classmethod
    def of(cls, item: Any) -> Code:
        return cls(cloudpickle.dumps(item))  # type: ignore[no-untyped-call]

    def load(self) -> Any:
        return _unpickled(self.data)


@lru_cache(maxsize=64)
def _unpickled(data: bytes) -> Any:
    """Once in each process, for as long as it is in use."""
    return pickle.loads(data)


@dataclass(frozen=True)
class Turn:
    """One turn of the loop: a micro-batch, or all of a batch job."""

    version: int
    run: str
    """Names this start of the query: what a process remembers of another is not for it."""
    folder: str
    shards: int
    ended: frozenset[int]
    """The streams of level 0 that have ended."""

    @property
    def first(self) -> bool:
        """Whether there is no state yet."""
        return self.version == 0


def task() -> int:
    """The number of this task among those of its stage."""
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


@dataclass(frozen=True)
class Enter:
    """The task at an input: fits the rows, does what can be done to them here, and sends them."""

    code: Code
    """An entry, its deliveries, and its name."""
    shards: int
    position: str | None = None
    aside: str | None = None
    """Where rows are put that cannot be taken; None if they are refused."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        entry, deliveries, name = self.code.load()
        origin = task()
        try:
            sending = Sending(deliveries, self.shards, origin)
            arriving = Arriving(name, entry, partial(leaving, sending), self.position, self.aside)
            for table in _together(batches):
                for parcels in arriving.take(table):
                    sending.gather(parcels)
            for blob in sending.blobs():
                yield blob.batch()
            yield note(0, origin, arriving.said()).batch()
        except FloError as error:
            yield note(0, origin, error).batch()


def leaving(sending: Sending, entry: Entry, value: Any) -> list[Parcel]:
    """What an entry makes of some rows, on its way."""
    inner = isinstance(value, InnerRows)
    made = (value,) * len(entry.outputs) if inner else _entered(entry, value)
    streams = zip(entry.outputs, made, strict=True)
    return [parcel for stream, each in streams for parcel in sending.addressed(stream, each)]


def _entered(entry: Entry, value: Value) -> tuple[Value, ...]:
    loop = EventLoop(entry.graph, (entry.type,))
    loop.push((value,))
    loop.run()
    return tuple(opened(loop.pull(place)) for place in range(len(entry.outputs)))


def opened(value: Any) -> Any:
    """The value without its end, which would absorb what others send: ends are told apart from what they end."""
    return replace(value, end=End.OPEN) if value.fixed() else value


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= AT_ONCE:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting).combine_chunks()


@dataclass(frozen=True)
class InTurns:
    """The task of a shard at a stage, in all turns of a query. It is planned once; who begins a turn says which."""

    code: Code
    turn: Turn
    passes: bool
    """Whether the first turn is for others, which have more rows than those of the stream."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        version = context.getLocalProperty(VERSION) if context is not None else None
        assert version is not None, "nobody has said which turn it is"
        turn = replace(self.turn, version=int(version))
        return iter(batches) if turn.first and self.passes else Work(self.code, turn)(batches)


@dataclass(frozen=True)
class Work:
    """The task of a shard at a stage."""

    code: Code
    """A stage, the deliveries from it, and its outputs."""
    turn: Turn

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = task()
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
            value = opened(loop.pull(place))
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


def _numbers(stage: Stage) -> set[int]:
    return {each.number for each in stage.inputs}
