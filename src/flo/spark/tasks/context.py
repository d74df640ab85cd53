"""The context of a task: its pickled code, its micro-batch, and its number within the stage."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyspark import TaskContext, cloudpickle

from flo.spark.tasks.state import StateVersions


@dataclass(frozen=True)
class Code:
    """A pickled object that tasks load, once per process."""

    data: bytes

    @classmethod
    def of(cls, item: Any) -> Code:
        return cls(cloudpickle.dumps(item))  # type: ignore[no-untyped-call]

    def load(self) -> Any:
        return _load(self.data)


@lru_cache(maxsize=64)
def _load(data: bytes) -> Any:
    code = pickle.loads(data)
    if TaskContext.get() is not None:
        exempt_from_gc()
    return code


def exempt_from_gc() -> None:
    """Exempts all current objects from garbage collection.

    Spark runs a full collection after each task, and the next task waits for it. With few rows that takes as long as
    the micro-batch itself. The objects that exist now live as long as the process, so scanning them is pointless.
    """
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


def task_number() -> int:
    """The number of this task within its stage."""
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()
