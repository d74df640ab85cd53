"""The tasks at the inputs: rows to the shards that want them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

import flo.tables.operators  # noqa: F401  # what a state may name
from flo.core.collection import Value
from flo.core.errors import FloError
from flo.core.event_loop import EventLoop
from flo.spark.plan.stages import Entry
from flo.spark.tasks import context
from flo.spark.tasks.arriving import Arriving, InnerRows
from flo.spark.tasks.blobs import note
from flo.spark.tasks.context import Code
from flo.spark.tasks.sending import Parcel, Sending, opened

AT_ONCE = 1 << 18
"""How many rows of an input are taken together."""


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
        origin = context.task()
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
