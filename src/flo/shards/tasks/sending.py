"""Sending data from a task to the shards of later stages: rows by key, values whole, and ends of streams.

A delta of 4 rows on 2 shards, by how its delivery distributes rows:

    shop  key number → shard       by key                    to one place     stays where it is (the task has shard 1)
    a     0                        shard 0: a, a             shard 0: all     shard 1: all
    b     1                        shard 1: b, c
    a     0
    c     1

Invariant: rows with equal keys go to one shard, whichever task sends them. The end of a stream is sent apart from its
data, to every task that may wait for it: a delivery has ended when all of its senders have said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Numbers, combine_chunks, has_any, sort_rows, take_rows
from flo.core.collection import Collection, End, Value
from flo.core.graph import Node
from flo.core.semantics import attempt
from flo.shards.plan.spread import OWN, SpreadWindows
from flo.shards.plan.stages import ALL, NATIVE, ONE, STAY, WINDOW, Delivery, shard_of
from flo.shards.tasks import pickling
from flo.shards.tasks.blobs import Blob, split_table
from flo.shards.tasks.hot_keys import Hot, HotKeys, find_hot, merge_hot, shards_of_rows
from flo.tables.keyed import ENDED, KeyedColumns, KeyedRows
from flo.tables.keyed import KEY as OF_KEY
from flo.tables.state.keys import keys_of
from flo.tables.values import COPY, SUMMED, Columns, Rows, of_elements
from flo.values.keyed import Keyed

T = TypeVar("T")
FEWEST_ROWS, ROWS_PER_KEY = 1 << 10, 3
"""Rows are added up by key before they are sent if there are so many, and so many for each key."""
FEW = 8
"""With at most this many shards, searching for the rows of each is faster than sorting."""


class Parcel(NamedTuple):
    """A part of a stream, addressed to a shard. The content is a table, or a value without columns."""

    delivery: Delivery
    shard: int
    content: Any


class Sender:
    """Addresses the data that a task sends, and groups it by delivery and shard."""

    def __init__(
        self, deliveries: tuple[Delivery, ...], shards: int, origin: int, hot: Hot = MappingProxyType({})
    ) -> None:
        self.deliveries = deliveries
        self.shards = shards
        self.origin = origin
        self.hot = hot
        """The keys of joins whose rows are spread over shards, or copied to all."""
        self.newly_hot: dict[str, HotKeys] = {}
        """Keys that are hot from now on."""
        self.tables: dict[tuple[int, int, str], list[pa.Table]] = {}
        """By delivery and shard. Tables that announce keys, those of rows, of sums and with copies are apart."""
        self.values: list[Blob] = []

    def address(self, stream: int, value: Value, own: int | None = None) -> list[Parcel]:
        """Addresses a value to all deliveries of its stream. `own` is the shard that produced it.

        Raises what a key function of the user raises.
        """
        here = self.origin % self.shards if own is None else own
        deliveries = [delivery for delivery in self.deliveries if delivery.stream == stream]
        return [parcel for delivery in deliveries for parcel in self._address_to(delivery, value, here)]

    def _address_to(self, delivery: Delivery, value: Value, own: int) -> Iterator[Parcel]:
        """Addresses a value to one delivery."""
        if isinstance(value, KeyedRows):
            yield from self._split_by_shard(delivery, value.keys, own)
        if isinstance(value, (Rows, KeyedRows)):
            yield from self._split_by_shard(delivery, value.table, own)
        elif value.size() and delivery.how == ALL:
            yield from (Parcel(delivery, shard, value) for shard in range(self.shards))
        elif value.size():
            yield Parcel(delivery, 0 if delivery.how == ONE else own, value)

    def _split_by_shard(self, delivery: Delivery, table: pa.Table, own: int) -> Iterator[Parcel]:
        """Splits rows by the shards that a delivery sends them to."""
        if not table.num_rows:
            return
        if delivery.how in (ONE, STAY, NATIVE):
            yield Parcel(delivery, 0 if delivery.how == ONE else own, table)
        elif delivery.how == WINDOW:
            assert isinstance(delivery.by, SpreadWindows)
            yield from self._split_by_window(delivery, sort_rows(table, delivery.by.order))
        else:
            table = combine_chunks(table)
            if delivery.sums_early:
                assert delivery.by is not None
                table, numbers = delivery.by.sum_early(table, has_few_keys, reduce=delivery.reduces)
            else:
                numbers = _ask_operator(delivery, table, _key_numbers)
            shards = shard_of(numbers, self.shards)
            if delivery.join:
                table, shards = self._spread_hot(delivery, table, numbers, shards)
            for shard, rows in _split_rows(table, shards, self.shards):
                yield Parcel(delivery, shard, rows)

    def _spread_hot(
        self, delivery: Delivery, table: pa.Table, numbers: Numbers, shards: Indices
    ) -> tuple[pa.Table, Indices]:
        """The rows and their shards, where those of hot keys are in other shards, or also copied to them."""
        by, hot = delivery.by, self.hot.get(delivery.join)
        assert by is not None
        if hot is None or hot.side == delivery.place:
            hot_keys = find_hot(numbers, self.shards)
            if hot_keys:
                self.newly_hot = merge_hot(self.newly_hot, {delivery.join: HotKeys(delivery.place, tuple(hot_keys))})
        if hot is None or not has_any(is_hot := hot.select(numbers)):
            return table, shards
        rows: Indices = is_hot.nonzero()[0]
        if delivery.place == hot.side:
            shards[rows] = shards_of_rows(take_rows(table, rows), by.inputs[delivery.place], self.shards)
            return table, shards
        others = np.arange(self.shards * len(rows)) % self.shards
        which = np.repeat(rows, self.shards)
        away = others != shards[which]
        every = np.concatenate([np.arange(table.num_rows), which[away]])
        is_copy = np.concatenate([np.zeros(table.num_rows, bool), np.ones(int(away.sum()), bool)])
        return take_rows(table, every).append_column(COPY, pa.array(is_copy)), np.concatenate([shards, others[away]])

    def _split_by_window(self, delivery: Delivery, table: pa.Table) -> Iterator[Parcel]:
        """Rows go to the shard of their window; rows that advance the watermark go to all shards."""
        numbers, for_all = _ask_operator(delivery, table, _window_numbers)
        shards = shard_of(numbers, self.shards)
        for shard in range(self.shards):
            own = shards == shard
            rows = np.flatnonzero(for_all | own)
            yield Parcel(delivery, shard, table.take(pa.array(rows)).append_column(OWN, pa.array(own[rows])))

    def add(self, parcels: Iterable[Parcel]) -> None:
        """Keeps parcels until they are sent."""
        for delivery, shard, content in parcels:
            if isinstance(content, pa.Table):
                kind = next((name for name in (ENDED, SUMMED, COPY) if name in content.column_names), "")
                self.tables.setdefault((delivery.number, shard, kind), []).append(content)
            else:
                data = pa.py_buffer(pickling.dumps(content))
                self.values.append(Blob(shard, delivery.number, self.origin, len(self.values), data=data))

    def blobs(self) -> Iterator[Blob]:
        """All that was added."""
        numbers = count()
        for (delivery, shard, _), tables in self.tables.items():
            for table in split_table(pa.concat_tables(tables, promote_options="default")):
                yield Blob(shard, delivery, self.origin, next(numbers), table=combine_chunks(table))
        yield from self.values


def end_blobs(deliveries: tuple[Delivery, ...], stream: int, task: int, tasks: int) -> Iterator[Blob]:
    """Tells every receiving task that this one will send nothing more of a stream."""
    for delivery in deliveries:
        if delivery.stream == stream and delivery.how != NATIVE:
            for other in range(1 if delivery.how == ONE else tasks):
                yield Blob(other, delivery.number, task, ended=True)


def _ask_operator(delivery: Delivery, table: pa.Table, question: Callable[[Delivery, pa.Table], T]) -> T:
    """Asks the receiving operator about rows. An error of its function is reported as the operator would report it."""
    try:
        return question(delivery, table)
    except Exception:
        by = delivery.by
        if by is None:
            raise
        values = [_as_value(of, None) for of in by.inputs]
        values[delivery.place] = _as_value(by.inputs[delivery.place], table)
        _, _, fault = attempt(Node(tuple(values), by, delivery.line))
        if fault is None:
            raise
        raise fault from fault.__cause__


def has_few_keys(rows: int, keys: int) -> bool:
    """Whether sums by key are far fewer than the rows."""
    return rows >= FEWEST_ROWS and keys * ROWS_PER_KEY <= rows


def _split_rows(table: pa.Table, shards: Indices, count: int) -> Iterator[tuple[int, pa.Table]]:
    """The shards that rows go to, each with its rows, in their order."""
    if count <= FEW:
        for shard in range(count):
            rows = np.flatnonzero(shards == shard)
            if len(rows):
                yield shard, take_rows(table, rows)
        return
    table = table.take(pa.array(np.argsort(shards.astype(np.uint16), kind="stable")))  # a radix sort for 16 bits
    bounds = np.concatenate([[0], np.cumsum(np.bincount(shards, minlength=count))])
    for shard in np.flatnonzero(np.diff(bounds)).tolist():
        yield shard, table.slice(bounds[shard], bounds[shard + 1] - bounds[shard])


def _as_value(of: Collection, table: pa.Table | None) -> Value:
    """Rows as their operator reads them; or none."""
    if isinstance(of, Keyed):
        nothing = KeyedColumns(of).bottom()
        return nothing if table is None else replace(nothing, table=table.select(nothing.table.column_names))
    return Columns(of_elements(of)).bottom() if table is None else Rows(of_elements(of), table)


def _key_numbers(delivery: Delivery, table: pa.Table) -> Numbers:
    """The key number of each row."""
    if delivery.by is not None:
        return delivery.by.key_numbers(delivery.place, table)
    if delivery.columns is not None:
        return keys_of([table[name] for name in delivery.columns]).numbers
    return keys_of([table[name] for name in table.column_names if name.startswith(OF_KEY)]).numbers


def _window_numbers(delivery: Delivery, table: pa.Table) -> tuple[Numbers, Any]:
    """The key number of the window of each row, and which rows go to all shards."""
    assert isinstance(delivery.by, SpreadWindows)
    return delivery.by.route_rows(table)


def without_end(value: Any) -> Any:
    """The value without its end. Ends travel separately: a fixed value would absorb what other tasks send."""
    return replace(value, end=End.OPEN) if value.fixed() else value
