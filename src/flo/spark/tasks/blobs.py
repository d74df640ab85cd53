"""What moves between tasks: Arrow data as it is, in rows that say where it goes.

A shuffle moves a few rows with much in them, so what it costs follows the bytes and not the number of rows, and Spark
never takes the data apart.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from flo.columnar.rows import WEIGHT

MOST_BYTES = 1 << 25
"""How much data a row carries, about."""
ONES = pa.field(WEIGHT, pa.int64(), nullable=False)
NOTE = -1
"""The delivery of what is said to the driver."""
SCHEMA = pa.schema(
    [
        ("shard", pa.int32()),
        ("delivery", pa.int32()),
        ("origin", pa.int32()),
        ("part", pa.int32()),
        ("ended", pa.bool_()),
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
        plain = (self.shard, self.delivery, self.origin, self.part, self.ended)
        arrays = [pa.array([item], field.type) for item, field in zip(plain, SCHEMA, strict=False)]
        return pa.RecordBatch.from_arrays([*arrays, self._data()], schema=SCHEMA)

    def _data(self) -> pa.Array:
        """The data as it is, without a copy."""
        if self.data is None:
            return pa.nulls(1, pa.binary())
        ends = pa.py_buffer(struct.pack("<ii", 0, self.data.size))
        return pa.Array.from_buffers(pa.binary(), 1, [None, ends, self.data])

    def row(self) -> tuple[Any, ...]:
        data = None if self.data is None else self.data.to_pybytes()
        return self.shard, self.delivery, self.origin, self.part, self.ended, data


def blobs(batches: Iterable[pa.RecordBatch]) -> Iterator[Blob]:
    """The blobs in what a task receives."""
    for batch in batches:
        columns = [batch.column(place) for place in range(len(SCHEMA))]
        for row in range(batch.num_rows):
            *plain, data = (column[row] for column in columns)
            shard, delivery, origin, part, ended = (value.as_py() for value in plain)
            yield Blob(shard, delivery, origin, part, ended, data.as_buffer() if data.is_valid else None)


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
    """The table in pieces of about the same size, none too large for a row."""
    count = max(1, -(-table.nbytes // MOST_BYTES))
    rows = -(-table.num_rows // count)
    for start in range(0, table.num_rows, max(1, rows)):
        yield table.slice(start, rows)


def note(shard: int, origin: int, said: Any) -> Blob:
    """Something that a task says to the driver."""
    return Blob(shard, NOTE, origin, data=pa.py_buffer(pickle.dumps(said)))


def noted(data: Any) -> Any:
    return pickle.loads(data)
