"""The task that gives a fill the rows that a checkpoint holds: it reads files of the checkpoint, in parts.

    part 0    the join's rows in shard 0  ─> operators before the first shuffle ─> blobs for the shards of the fill
    part 1    the join's rows in shard 1  ─> …

Rows have the types of the program here, and not those of an engine: they never are rows of a DataFrame.

Invariant: all parts together are the stream. A row on which a function raises is diverted, or is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from flo.core.errors import FloError
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.evolution.comparison import Holder
from flo.shards.evolution.snapshots import read_rows
from flo.shards.tasks import context
from flo.shards.tasks.blobs import Blob, report_blob
from flo.shards.tasks.context import Code
from flo.shards.tasks.input_task import RowReader, run_entry
from flo.shards.tasks.sending import Sender
from flo.tables.values import Rows, layout_of


@dataclass(frozen=True)
class HeldRowsTask:
    """Reads parts of the rows that a checkpoint holds, and sends them to shards."""

    code: Code
    """The entry, its deliveries, and the name of the input that diverted rows belong to."""
    checkpoint: str
    version: int
    holder: Holder
    shards: int
    divert_to: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches have the numbers of parts."""
        parts = {number for batch in batches for number in batch.column(0).to_pylist()}
        return (blob.batch() for blob in self.run(context.task_number(), parts))

    def run(self, origin: int, parts: set[int]) -> Iterator[Blob]:
        """Yields what it sends, and the report. `origin` is the number of the task."""
        entry, deliveries, name = self.code.load()
        sender = Sender(deliveries, self.shards, origin)
        reader = RowReader(name, entry, partial(run_entry, sender), divert_to=self.divert_to)
        of, received = reader.of, 0
        try:
            for table in read_rows(Checkpoint(self.checkpoint), self.version, self.holder, layout_of(of).schema, parts):
                received += table.nbytes
                for parcels in reader.read_fitting(Rows(of, table)):
                    sender.add(parcels)
            yield from sender.blobs()
            files = {name: reader.files} if self.divert_to is not None else {}
            yield report_blob(0, origin, {"taken": {name: reader.taken}, "diverted": files, "received": received})
        except FloError as error:
            yield report_blob(0, origin, error)


def send_nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task for a micro-batch without rows. It is here because workers have imported this module: to import that of a
    driver takes them seconds."""
    return iter(())
