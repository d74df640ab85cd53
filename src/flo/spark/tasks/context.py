"""The context of a task: its pickled code, its micro-batch, and its number within the stage."""

from __future__ import annotations

import gc
import os
import pickle
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from zipimport import zipimporter

from pyspark import TaskContext, cloudpickle

from flo.spark.tasks.state import StateVersions

MICRO_BATCH = "flo.microBatch"
"""The property of a job that describes its micro-batch."""
LOADED = 64
"""So many pickled objects a process keeps loaded."""


@dataclass(frozen=True)
class Code:
    """A pickled object that tasks load, once per process."""

    data: bytes

    @classmethod
    def of(cls, item: Any) -> Code:
        return cls(cloudpickle.dumps(item))  # type: ignore[no-untyped-call]

    def load(self) -> Any:
        return _load(self.data)


@lru_cache(maxsize=LOADED)
def _load(data: bytes) -> Any:
    code = pickle.loads(data)
    if TaskContext.get() is not None:
        keep_file_lists()
        exempt_from_gc(again=_load.cache_info().currsize == LOADED)
    return code


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
            found = os.stat(self.file)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


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


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch of a query, or the whole of a batch job, as tasks know it."""

    version: int
    """Spark's micro-batch id, and the version of the state that it produces."""
    run: str
    """Identifies this start of the query. Processes do not reuse what they cached for another start."""
    folder: str
    shards: int
    tasks: int
    """Tasks per stage. Task t works on the shards s with s % tasks == t."""
    ended: frozenset[int]
    """The streams of level 0 that have ended."""
    state_versions: Mapping[int, StateVersions] = field(default_factory=dict)
    """The state versions that it starts from, by level of the stage."""
    oldest: int = 0
    """The oldest version that readers may read."""

    @property
    def is_first(self) -> bool:
        """Whether there is no state yet."""
        return self.version == 0


def describe_micro_batch(batch: MicroBatch) -> str:
    """A micro-batch as a text, which the driver gives to a job as the property `MICRO_BATCH`."""
    return b64encode(pickle.dumps(batch)).decode()


def micro_batch() -> MicroBatch:
    """The micro-batch of this task's job."""
    context = TaskContext.get()
    assert context is not None
    found = pickle.loads(b64decode(context.getLocalProperty(MICRO_BATCH) or ""))
    assert isinstance(found, MicroBatch)
    return found


def task_number() -> int:
    """The number of this task within its stage."""
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()
