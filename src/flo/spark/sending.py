"""What a task sends to the shards of later stages: rows by their keys, values as they are, and ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle

from flo.columnar.keyed import ENDED, KeyedRows
from flo.columnar.keyed import KEY as OF_KEY
from flo.columnar.keys import Numbers, Places, keys_of
from flo.columnar.rows import Rows
from flo.core.collection import Value
from flo.spark.arriving import POSITION
from flo.spark.blobs import Blob, packed, parts
from flo.spark.stages import KEY, KEYS, ONE, Delivery, in_order


def shard_of(numbers: Numbers, shards: int) -> Places:
    """Ranges of key numbers: another number of shards cuts them elsewhere, and no key must be computed again."""
    return ((numbers >> np.uint64(32)) * np.uint64(shards) >> np.uint64(32)).astype(np.int64)


class Sending:
    """What a task sends: gathered by delivery and shard."""

    def __init__(self, deliveries: tuple[Delivery, ...], shards: int, origin: int) -> None:
        self.deliveries = deliveries
        self.shards = shards
        self.origin = origin
        self.tables: dict[tuple[int, int, bool], list[pa.Table]] = {}
        """By delivery and shard; rows apart from keys that are announced."""
        self.values: list[Blob] = []
        self.ends: list[Blob] = []

    def add(self, stream: int, value: Value, positions: Any = None, own: int | None = None) -> None:
        """A value of a stream, to all that wait for it. `own` is the shard that it comes from."""
        for delivery in self.deliveries:
            if delivery.stream == stream:
                places = positions if in_order(delivery) else None
                self._add(delivery, value, places, self.origin % self.shards if own is None else own)

    def _add(self, delivery: Delivery, value: Value, positions: Any, own: int) -> None:
        if not isinstance(value, (Rows, KeyedRows)):
            if value.size():
                shard = 0 if delivery.how == ONE else own
                data = pa.py_buffer(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]
                self.values.append(Blob(shard, delivery.number, self.origin, len(self.values), data=data))
            return
        if isinstance(value, KeyedRows):
            self._add_table(delivery, value.keys, None, own)
        self._add_table(delivery, value.table, positions, own)

    def _add_table(self, delivery: Delivery, table: pa.Table, positions: Any, own: int) -> None:
        if not table.num_rows:
            return
        if delivery.how in (KEY, KEYS) and self.shards > 1:
            shards = shard_of(_key_numbers(delivery, table), self.shards)
            if positions is not None:
                table = table.append_column(POSITION, positions)
            order = np.argsort(shards.astype(np.uint16), kind="stable")
            table = table.take(pa.array(order))
            ends = np.searchsorted(shards[order], np.arange(self.shards + 1))
            for shard in range(self.shards):
                low, high = int(ends[shard]), int(ends[shard + 1])
                if high > low:
                    self._gather(delivery, shard, table.slice(low, high - low))
            return
        if positions is not None:
            table = table.append_column(POSITION, positions)
        shard = 0 if delivery.how == ONE or self.shards == 1 else own
        self._gather(delivery, shard, table)

    def _gather(self, delivery: Delivery, shard: int, table: pa.Table) -> None:
        self.tables.setdefault((delivery.number, shard, ENDED in table.column_names), []).append(table)

    def end(self, stream: int) -> None:
        """Says that nothing more will come."""
        for delivery in self.deliveries:
            if delivery.stream == stream:
                shards = range(1 if delivery.how == ONE else self.shards)
                self.ends += [Blob(shard, delivery.number, self.origin, ended=True) for shard in shards]

    def blobs(self) -> Iterator[Blob]:
        for (delivery, shard, _), tables in self.tables.items():
            whole = pa.concat_tables(tables)
            for part, table in enumerate(parts(whole)):
                yield Blob(shard, delivery, self.origin, part, data=packed(table.combine_chunks()))
        yield from self.values
        yield from self.ends


def _key_numbers(delivery: Delivery, table: pa.Table) -> Numbers:
    if delivery.by is not None:
        return delivery.by.key_numbers(delivery.place, table)
    return keys_of([table[name] for name in table.column_names if name.startswith(OF_KEY)]).numbers
