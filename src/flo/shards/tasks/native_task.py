"""The tasks around a segment that Catalyst runs between two stages: blobs become rows, and rows become blobs again.

    stage 1 ─ blobs ─> UnpackTask ─ rows, weight ─> Catalyst ─ rows, weight ─> PackTask ─ blobs ─> stage 2

Invariant: a row keeps its weight through the segment. The results are consolidated before they are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

import flo.tables.operators  # noqa: F401  # registers the operators that a pickled program names
from flo.core.collection import Collection
from flo.core.errors import FloError
from flo.core.stream_type import StreamType
from flo.shards.tasks import context
from flo.shards.tasks.blobs import Blob, read_blobs, report_blob
from flo.shards.tasks.context import Code, LoadedCode
from flo.shards.tasks.input_task import combine_batches
from flo.shards.tasks.sending import Sender
from flo.shards.tasks.stage_task import consolidate
from flo.tables.io.fitting import cast_columns
from flo.tables.values import WEIGHT, WEIGHT_FIELD, Columns, Rows, layout_of


@dataclass(frozen=True)
class UnpackTask:
    """Gives the rows of a delivery to Catalyst, with their weights."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for blob in read_blobs(batches):
            if blob.has_content:
                table = blob.rows()
                rows = table.select([*(name for name in table.column_names if name != WEIGHT), WEIGHT])
                yield from cast_columns(rows.rename_columns(self.schema.names), self.schema).to_batches()


@dataclass(frozen=True)
class PackTask:
    """Takes the results of Catalyst, the weight in the last column, and sends them to their shards."""

    code: Code | LoadedCode
    """The number of the stream, the collection of its elements, and its deliveries."""
    shards: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (blob.batch() for blob in self.run(context.task_number(), combine_batches(batches)))

    def run(self, origin: int, tables: Iterable[pa.Table]) -> Iterator[Blob]:
        """Yields the blobs for the shards, or the report of an error."""
        stream, of, deliveries = self.code.load()
        layout, sender = layout_of(of), Sender(deliveries, self.shards, origin)
        try:
            for table in tables:
                *_, weights = table.columns
                rows = layout.fitted(table).append_column(WEIGHT_FIELD, weights)
                sender.add(sender.address(stream, consolidate(Rows(of, rows))))
            yield from sender.blobs()
        except FloError as error:
            yield report_blob(0, origin, error)


def elements_of(stream: StreamType) -> Collection:
    """The collection of a stream of rows."""
    assert isinstance(stream.collection, Columns)
    return stream.collection.base
