"""What a task sends to the shards of later stages: rows by their keys, values as they are, and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle

from flo.columns.indices import Numbers
from flo.core.collection import End, Value
from flo.core.graph import Node
from flo.core.semantics import attempt
from flo.spark.plan.spread import OWN, SpreadWindows
from flo.spark.plan.stages import ONE, POSITION, STAY, WINDOW, Delivery, shard_of
from flo.spark.tasks.blobs import Blob, packed, parts
from flo.tables.keyed import ENDED, KeyedRows
from flo.tables.keyed import KEY as OF_KEY
from flo.tables.state.keys import keys_of
from flo.tables.values import Columns, Rows, of_elements

T = TypeVar("T")


class Parcel(NamedTuple):
    """Some of a stream, and where it goes: rows, or what is no table."""

    delivery: Delivery
    shard: int
    content: Any


class Sending:
    """What a task sends: gathered by delivery and shard."""

    def __init__(self, deliveries: tuple[Delivery, ...], shards: int, origin: int) -> None:
        self.deliveries = deliveries
        self.shards = shards
        self.origin = origin
        self.tables: dict[tuple[int, int, bool], list[pa.Table]] = {}
        """By delivery and shard; rows apart from keys that are announced."""
        self.values: list[Blob] = []

    def addressed(self, stream: int, value: Value, own: int | None = None) -> list[Parcel]:
        """A value of a stream, to all that wait for it; raises what a function says of a key. `own` is the shard that
        it comes from."""
        here = self.origin % self.shards if own is None else own
        waiting = [delivery for delivery in self.deliveries if delivery.stream == stream]
        return [parcel for delivery in waiting for parcel in self._parcels(delivery, value, here)]

    def _parcels(self, delivery: Delivery, value: Value, own: int) -> Iterator[Parcel]:
        if isinstance(value, KeyedRows):
            yield from self._tables(delivery, value.keys, own)
        if isinstance(value, (Rows, KeyedRows)):
            yield from self._tables(delivery, value.table, own)
        elif value.size():
            yield Parcel(delivery, 0 if delivery.how == ONE else own, value)

    def _tables(self, delivery: Delivery, table: pa.Table, own: int) -> Iterator[Parcel]:
        if not table.num_rows:
            return
        if delivery.how in (ONE, STAY):
            yield Parcel(delivery, 0 if delivery.how == ONE else own, table)
        elif delivery.how == WINDOW:
            yield from self._windows(delivery, table.sort_by(POSITION))
        else:
            shards = shard_of(_asked(delivery, table, _key_numbers), self.shards)
            order = np.argsort(shards.astype(np.uint16), kind="stable")
            table = table.take(pa.array(order))
            present, starts = np.unique(shards[order], return_index=True)
            bounds = pairwise([*starts.tolist(), table.num_rows])
            for shard, (low, high) in zip(present.tolist(), bounds, strict=True):
                yield Parcel(delivery, shard, table.slice(low, high - low))

    def _windows(self, delivery: Delivery, table: pa.Table) -> Iterator[Parcel]:
        """The rows of a window to its shard, and those that move the clock to all."""
        numbers, for_all = _asked(delivery, table, _windows_of)
        shards = shard_of(numbers, self.shards)
        for shard in range(self.shards):
            own = shards == shard
            rows = np.flatnonzero(for_all | own)
            yield Parcel(delivery, shard, table.take(pa.array(rows)).append_column(OWN, pa.array(own[rows])))

    def gather(self, parcels: Iterable[Parcel]) -> None:
        for delivery, shard, content in parcels:
            if isinstance(content, pa.Table):
                ended = ENDED in content.column_names
                self.tables.setdefault((delivery.number, shard, ended), []).append(content)
            else:
                data = pa.py_buffer(cloudpickle.dumps(content))  # type: ignore[no-untyped-call]
                self.values.append(Blob(shard, delivery.number, self.origin, len(self.values), data=data))

    def blobs(self) -> Iterator[Blob]:
        numbers = count()
        for (delivery, shard, _), tables in self.tables.items():
            for table in parts(pa.concat_tables(tables)):
                yield Blob(shard, delivery, self.origin, next(numbers), data=packed(table.combine_chunks()))
        yield from self.values


def ends(deliveries: tuple[Delivery, ...], stream: int, task: int, tasks: int) -> Iterator[Blob]:
    """What a task says to every other when a stream has ended in its shards: nothing more will come."""
    for delivery in deliveries:
        if delivery.stream == stream:
            for other in range(1 if delivery.how == ONE else tasks):
                yield Blob(other, delivery.number, task, ended=True)


def _asked(delivery: Delivery, table: pa.Table, asked: Callable[[Delivery, pa.Table], T]) -> T:
    """What the operator that rows go to says of them; what its function raises is told as it would tell it."""
    try:
        return asked(delivery, table)
    except Exception:
        by = delivery.by
        if by is None:
            raise
        values: list[Value] = [Columns(of_elements(of)).bottom() for of in by.inputs]
        values[delivery.place] = Rows(of_elements(by.inputs[delivery.place]), table)
        _, _, fault = attempt(Node(tuple(values), by, delivery.line))
        if fault is None:
            raise
        raise fault from fault.__cause__


def _key_numbers(delivery: Delivery, table: pa.Table) -> Numbers:
    if delivery.by is not None:
        return delivery.by.key_numbers(delivery.place, table)
    return keys_of([table[name] for name in table.column_names if name.startswith(OF_KEY)]).numbers


def _windows_of(delivery: Delivery, table: pa.Table) -> tuple[Numbers, Any]:
    assert isinstance(delivery.by, SpreadWindows)
    return delivery.by.sent(table)


def opened(value: Any) -> Any:
    """The value without its end, which would absorb what others send: ends are told apart from what they end."""
    return replace(value, end=End.OPEN) if value.fixed() else value
