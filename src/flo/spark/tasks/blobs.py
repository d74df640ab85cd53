"""What moves between tasks: Arrow data as it is, in rows that say where it goes.

A shuffle moves few rows with much in them, so what it costs follows the bytes and not the number of rows, and Spark
never looks into them.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from flo.tables.values import WEIGHT

MOST_BYTES = 1 << 25
"""How much data a blob has, about."""
PIECE, ROWS = 1 << 14, 1 << 12
"""How much of it a row carries, and how many rows Spark hands over together: it looks at their number alone."""
ALIGNED = 8
"""What the address of a column of numbers is a multiple of."""
FEW = 8
"""The share of what came together below which a blob is copied."""
ONES = pa.field(WEIGHT, pa.int64(), nullable=False)
NOTHING = pa.py_buffer(b"")
NOTE = -1
"""The delivery of what is said to the driver."""
SCHEMA = pa.schema(
    [
        ("shard", pa.int32()),
        ("delivery", pa.int32()),
        ("origin", pa.int32()),
        ("part", pa.int32()),
        ("ended", pa.bool_()),
        ("piece", pa.int32()),
        ("data", pa.binary()),
    ]
)
SPARK = from_arrow_schema(SCHEMA)


@dataclass(frozen=True)
class Blob:
    """Some of the data of a delivery: for which shard, from which task, and the how manieth of these."""

    shard: int
    delivery: int
    origin: int
    part: int = 0
    ended: bool = False
    """Whether the task that sends it will never send more."""
    data: pa.Buffer | None = None

    def batch(self) -> pa.RecordBatch:
        """A row for each piece."""
        size = 0 if self.data is None else self.data.size
        pieces = 1 if self.delivery == NOTE else max(1, -(-size // PIECE))
        plain = (self.shard, self.delivery, self.origin, self.part, self.ended)
        arrays = [pa.repeat(pa.scalar(item, field.type), pieces) for item, field in zip(plain, SCHEMA, strict=False)]
        arrays += [pa.array(range(pieces), pa.int32()), self._data(pieces)]
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    def _data(self, pieces: int) -> pa.Array:
        """The data as it is, without a copy."""
        if self.data is None:
            return pa.nulls(1, pa.binary())
        starts = [piece * PIECE for piece in range(pieces)]
        ends = pa.py_buffer(struct.pack(f"<{pieces + 1}i", *starts, self.data.size))
        return pa.Array.from_buffers(pa.binary(), pieces, [None, ends, self.data])


def blobs(batches: Iterable[pa.RecordBatch]) -> Iterator[Blob]:
    """The blobs in what a task receives, whole again."""
    waiting: dict[Blob, list[tuple[int, pa.Buffer]]] = {}
    for batch in batches:
        *plain, data = batch.columns
        rows = zip(*(column.to_pylist() for column in plain), _mapped(data), strict=True)
        for shard, delivery, origin, part, ended, piece, each in rows:
            blob = Blob(shard, delivery, origin, part, ended)
            if each is None or delivery == NOTE:
                yield replace(blob, data=each)
            else:
                waiting.setdefault(blob, []).append((piece, each))
    for blob in list(waiting):
        pieces = sorted(waiting.pop(blob), key=itemgetter(0))
        yield replace(blob, data=_whole([data for _, data in pieces]))


def _mapped(column: pa.Array) -> list[pa.Buffer | None]:
    """The data of each row where it is: a scalar would copy it."""
    _, ends, content = column.buffers()
    places = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1].tolist()
    rows = zip(pairwise(places), column.is_valid().to_pylist(), strict=True)
    return [(content or NOTHING).slice(start, end - start) if there else None for (start, end), there in rows]


def _whole(pieces: list[pa.Buffer]) -> pa.Buffer:
    """Pieces that came together are still neighbours in memory, and stay there: unless they are few among others, whose
    memory they would hold, or begin where no number may."""
    size, first = sum(piece.size for piece in pieces), pieces[0]
    neighbours = all(one.address + one.size == other.address for one, other in pairwise(pieces))
    if neighbours and size >= first.parent.size // FEW and first.address % ALIGNED == 0:
        return pa.foreign_buffer(first.address, size, base=pieces)
    return pa.py_buffer(b"".join(pieces))


def packed(table: pa.Table) -> pa.Buffer:
    """Weights that are all 1, as they mostly are, stay here."""
    place = table.schema.get_field_index(WEIGHT)
    if place >= 0 and pc.min_max(table[WEIGHT]).as_py() == {"min": 1, "max": 1}:
        table = table.drop_columns([WEIGHT]).replace_schema_metadata({WEIGHT: str(place)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def unpacked(data: pa.Buffer) -> pa.Table:
    table = pa.ipc.open_stream(data).read_all()
    place = (table.schema.metadata or {}).get(WEIGHT.encode())
    if place is None:
        return table
    weights = pa.array(np.ones(table.num_rows, np.int64))
    return table.replace_schema_metadata().add_column(int(place), ONES, weights)


def parts(table: pa.Table) -> Iterator[pa.Table]:
    """The table in parts of about the same size, none too large for a blob."""
    count = max(1, -(-table.nbytes // MOST_BYTES))
    rows = -(-table.num_rows // count)
    for start in range(0, table.num_rows, max(1, rows)):
        yield table.slice(start, rows)


def note(shard: int, origin: int, said: Any) -> Blob:
    """Something that a task says to the driver."""
    return Blob(shard, NOTE, origin, data=pa.py_buffer(pickle.dumps(said)))


def noted(data: Any) -> Any:
    return pickle.loads(data)
