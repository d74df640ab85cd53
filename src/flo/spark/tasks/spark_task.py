"""A task on Spark: its name, which Spark's pages show, and its context, which Spark gives."""

from __future__ import annotations

import gc
import os
import pickle
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from zipimport import zipimporter

import pyarrow as pa
from pyspark import TaskContext, cloudpickle
from pyspark.sql.pandas.types import from_arrow_schema

from flo.shards.tasks import pickling
from flo.shards.tasks.blobs import SCHEMA
from flo.shards.tasks.context import MicroBatch, enter_task

BLOBS = from_arrow_schema(SCHEMA)
"""The schema of blobs, as Spark has it."""
MICRO_BATCH = "flo.microBatch"
"""The property of a job that describes its micro-batch."""


@dataclass(frozen=True)
class SparkTask:
    """A task under a name of ours. Spark shows the name of the function that it runs."""

    name: str
    task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        pickle_with_spark()
        enter_task(context.partitionId(), _micro_batch, _settle_process)
        return self.task(batches)


def pickle_with_spark() -> None:
    """Let tasks travel as Spark pickles them: every process of Spark can read that."""
    pickling.use(cloudpickle.dumps)


def describe_micro_batch(batch: MicroBatch) -> str:
    """A micro-batch as a text, which the driver gives to a job as the property `MICRO_BATCH`."""
    return b64encode(pickle.dumps(batch)).decode()


def _micro_batch() -> MicroBatch:
    context = TaskContext.get()
    assert context is not None
    batch = pickle.loads(b64decode(context.getLocalProperty(MICRO_BATCH) or ""))
    assert isinstance(batch, MicroBatch)
    return batch


def _settle_process(has_forgotten: bool) -> None:
    keep_file_lists()
    exempt_from_gc(again=has_forgotten)


def keep_file_lists() -> None:
    """Keeps what is known of the zip files that modules are imported from, until one of them changes.

    Spark makes Python forget it before each task. Python 3.11 then lists the files of `pyspark.zip` again, which takes
    longer than a small micro-batch.
    """
    for importer in sys.path_importer_cache.values():
        if isinstance(importer, zipimporter) and "invalidate_caches" not in vars(importer):
            vars(importer)["invalidate_caches"] = _IfChanged(importer.archive, importer.invalidate_caches)


@dataclass
class _IfChanged:
    """Calls a function if a file has changed since the last call."""

    file: str
    act: Callable[[], None]

    def __post_init__(self) -> None:
        self._seen = self._state()

    def __call__(self) -> None:
        state = self._state()
        if state != self._seen:
            self._seen = state
            self.act()

    def _state(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.file)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size


def exempt_from_gc(*, again: bool = False) -> None:
    """Exempts all current objects from garbage collection.

    Spark runs a full collection after each task, and the next task waits for it. With few rows that takes as long as
    the micro-batch itself. The objects that exist now live as long as the process, so scanning them is pointless. What
    is exempt already is looked at only if that is asked for, `again`: most of it are modules, which stay.
    """
    if again:
        gc.unfreeze()
    gc.collect()
    gc.freeze()
