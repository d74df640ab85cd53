"""Blobs: Arrow data on its way between tasks, in rows that carry the address.

Task 2 sends 40 kB of delivery 0 to shard 1, and its report to the driver. A blob is cut into pieces of 16 kB:

    shard  delivery  origin  part  ended  piece  data
    1      0         2       0     no     0      16 kB
    1      0         2       0     no     1      16 kB
    1      0         2       0     no     2      8 kB
    2      -1        2       0     no     0      the report: rows, files, seconds, or an error

Invariant: (shard, delivery, origin, part) identifies a blob, and its pieces in order are its data. So pieces and blobs
may arrive in any order.

A shuffle moves a few rows that each hold many bytes. Its cost therefore follows the number of bytes and not the number
of user rows, and Spark never decodes the data.

If all tasks run on one machine, a large blob is written to a file, and its only row has the path in place of the data:

    0      0         2       0     no     -1     /tmp/spark-…/3f2a…

The receiver maps the file. A task that passes the blob on passes on the path.
"""

from __future__ import annotations

import pickle
import struct
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.ones import is_ones, ones
from flo.core.errors import FloError
from flo.tables.values import WEIGHT, WEIGHT_FIELD

MOST_BYTES = 1 << 25
"""Approximate upper limit for the size of a blob."""
PIECE, ROWS = 1 << 14, 1 << 12
"""Bytes of a blob per row, and rows per batch. Spark limits a batch by its number of rows only."""
IN_FILE = -1
"""The number of the piece whose data is the path of a file with the whole blob."""
LARGE = 1 << 17
"""A blob of so many bytes is written to a file, if it can be: for a smaller one that takes as long as to send it."""
GROWN = 1 << 17
"""A table of at most so many bytes is packed into memory that grows. For a larger one the size is computed first, which
takes less time than to copy what is there."""
ALIGNED = 8
"""Alignment of columns of numbers, in bytes."""
FEW = 8
"""A blob is copied if it is smaller than the buffer it arrived in by more than this factor."""
NOTHING = pa.py_buffer(b"")
REPORT = -1
"""The delivery number of task reports, which go to the driver."""
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


@dataclass(frozen=True)
class Blob:
    """A part of a delivery."""

    shard: int
    """The receiving shard."""
    delivery: int
    """The number of the delivery; REPORT for the driver."""
    origin: int
    """The sending task."""
    part: int = 0
    """The number of the part, among those of one sender."""
    ended: bool = False
    """Whether the sending task will never send more."""
    data: pa.Buffer | None = None
    table: pa.Table | None = None
    """Rows that are not packed: they are packed when they leave the process."""
    file: str | None = None
    """The file that its data is mapped from."""

    @property
    def has_content(self) -> bool:
        """Whether it has rows or a value, and is not only the end of a delivery."""
        return self.data is not None or self.table is not None

    @property
    def size(self) -> int:
        """The bytes of its content."""
        if self.table is not None:
            return int(self.table.nbytes)
        return 0 if self.data is None else int(self.data.size)

    def rows(self) -> pa.Table:
        """Its rows."""
        return unpack_table(self.data) if self.table is None else self.table

    def packed(self) -> Blob:
        """The same with packed rows."""
        return self if self.table is None else replace(self, data=pack_table(self.table), table=None)

    def batch(self, folder: str | None = None) -> pa.RecordBatch:
        """One row for each piece of the data; or one row alone if the data is in a file, or should be, in a folder."""
        if self.file is not None:
            return self._rows([IN_FILE], pa.array([self.file.encode()]))
        if self.table is not None:
            large = folder is not None and self.size >= LARGE
            return (self._written(f"{folder}/{uuid.uuid4().hex}") if large else self.packed()).batch()
        size = 0 if self.data is None else self.data.size
        pieces = 1 if self.delivery == REPORT else max(1, -(-size // PIECE))
        return self._rows(range(pieces), self._data(pieces))

    def _rows(self, pieces: Sequence[int], data: pa.Array) -> pa.RecordBatch:
        """A row for each of some pieces."""
        plain = (self.shard, self.delivery, self.origin, self.part, self.ended)
        count = len(pieces)
        arrays = [pa.repeat(pa.scalar(item, field.type), count) for item, field in zip(plain, SCHEMA, strict=False)]
        return pa.RecordBatch.from_arrays([*arrays, pa.array(pieces, pa.int32()), data], schema=SCHEMA)

    def _written(self, file: str) -> Blob:
        """The same with its rows packed into a file."""
        try:
            with pa.OSFile(file, "wb") as sink:
                write_packed(self.table, sink)
        except OSError as error:
            raise OSError(f"a task cannot write rows to `spark.local.dir`, to {file!r}: {error}") from None
        return replace(self, table=None, file=file)

    def _data(self, pieces: int) -> pa.Array:
        """The data in pieces, without a copy."""
        if self.data is None:
            return pa.nulls(1, pa.binary())
        starts = [piece * PIECE for piece in range(pieces)]
        ends = pa.py_buffer(struct.pack(f"<{pieces + 1}i", *starts, self.data.size))
        return pa.Array.from_buffers(pa.binary(), pieces, [None, ends, self.data])


def read_blobs(batches: Iterable[pa.RecordBatch]) -> Iterator[Blob]:
    """Reassembles the blobs that a task receives."""
    waiting: dict[Blob, list[tuple[int, pa.Buffer]]] = {}
    for batch in batches:
        *plain, data = batch.columns
        rows = zip(*(column.to_pylist() for column in plain), _slice_buffers(data), strict=True)
        for shard, delivery, origin, part, ended, piece, each in rows:
            blob = Blob(shard, delivery, origin, part, ended)
            if each is None or delivery == REPORT:
                yield replace(blob, data=each)
            elif piece == IN_FILE:
                yield _mapped(blob, each.to_pybytes().decode())
            else:
                waiting.setdefault(blob, []).append((piece, each))
    for blob in list(waiting):
        pieces = sorted(waiting.pop(blob), key=itemgetter(0))
        yield replace(blob, data=_join_pieces([data for _, data in pieces]))


def _mapped(blob: Blob, file: str) -> Blob:
    """A blob whose data is in a file."""
    with pa.memory_map(file) as source:
        return replace(blob, data=source.read_buffer(), file=file)


def _slice_buffers(column: pa.Array) -> list[pa.Buffer | None]:
    """The data of each row as a slice of the column's buffer. Reading a scalar would copy it."""
    _, ends, content = column.buffers()
    offsets = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1].tolist()
    rows = zip(pairwise(offsets), column.is_valid().to_pylist(), strict=True)
    return [(content or NOTHING).slice(start, end - start) if valid else None for (start, end), valid in rows]


def _join_pieces(pieces: list[pa.Buffer]) -> pa.Buffer:
    """One buffer for all pieces; without a copy if they are adjacent in memory.

    Adjacent pieces are copied nevertheless if they are unaligned, or a small part of a larger buffer that they would
    keep alive.
    """
    size, first = sum(piece.size for piece in pieces), pieces[0]
    adjacent = all(one.address + one.size == other.address for one, other in pairwise(pieces))
    if adjacent and size >= first.parent.size // FEW and first.address % ALIGNED == 0:
        return pa.foreign_buffer(first.address, size, base=pieces)
    return pa.py_buffer(b"".join(pieces))


def pack_table(table: pa.Table) -> pa.Buffer:
    """A table in Arrow's IPC format."""
    if table.nbytes <= GROWN:
        sink = pa.BufferOutputStream()
        write_packed(table, sink)
        return sink.getvalue()
    size = pa.MockOutputStream()
    write_packed(table, size)
    data = pa.allocate_buffer(size.size())
    write_packed(table, pa.FixedSizeBufferWriter(data))
    return data


def write_packed(table: pa.Table, sink: pa.NativeFile) -> None:
    """Writes what `pack_table` returns. A weight column of ones, the common case, is left out."""
    table, index = _drop_ones(table)
    if index is not None:
        table = table.replace_schema_metadata({WEIGHT: str(index)})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def unpack_table(data: pa.Buffer) -> pa.Table:
    """The inverse of `pack_table`."""
    table = pa.ipc.open_stream(data).read_all()
    index = (table.schema.metadata or {}).get(WEIGHT.encode())
    if index is None:
        return table
    return table.replace_schema_metadata().add_column(int(index), WEIGHT_FIELD, ones(table.num_rows))


def _drop_ones(table: pa.Table) -> tuple[pa.Table, int | None]:
    """The table without its weights if all are 1, and the index of their column; None if there is another weight."""
    index = table.schema.get_field_index(WEIGHT)
    if index < 0 or table.num_columns < 2 or not _all_ones(table[WEIGHT]):
        return table, None
    return table.drop_columns([WEIGHT]), index


def _all_ones(column: pa.ChunkedArray) -> bool:
    return is_ones(column) or pc.min_max(column).as_py() == {"min": 1, "max": 1}


def split_table(table: pa.Table) -> Iterator[pa.Table]:
    """Slices of about equal size, each small enough for one blob."""
    count = max(1, -(-table.nbytes // MOST_BYTES))
    rows = -(-table.num_rows // count)
    for start in range(0, table.num_rows, max(1, rows)):
        yield table.slice(start, rows)


def raise_reported(reports: list[Any]) -> list[Any]:
    """The reports of tasks. Raises the error that one of them holds."""
    for each in reports:
        if isinstance(each, FloError):
            raise each
    return reports


def report_blob(shard: int, origin: int, report: Any) -> Blob:
    """A task's report to the driver: its counts, or the error that it met."""
    return Blob(shard, REPORT, origin, data=pa.py_buffer(pickle.dumps(report)))


def size_of(blobs: Iterable[Blob]) -> int:
    """The bytes of data in blobs, without reports."""
    return sum(blob.size for blob in blobs if blob.delivery != REPORT)


def unpickle(data: Any) -> Any:
    """A task report, or a value without columns."""
    return pickle.loads(data)
