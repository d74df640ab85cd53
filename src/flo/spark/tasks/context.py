"""The context of a task: its pickled code, its micro-batch, and its number within the stage."""

from __future__ import annotations

import gc
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyspark import TaskContext, cloudpickle

from flo.spark.tasks.state import StateVersions

VERSION, STATE_VERSIONS, OLDEST = "flo.version", "flo.state_versions", "flo.oldest"
"""Local properties of Spark that give a task its micro-batch id and the versions of the states it starts from."""


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


def current_version() -> int:
    """The micro-batch id, for tasks that are planned once and run in every micro-batch."""
    return int(_read_property(VERSION))


def current_state_versions() -> dict[int, StateVersions]:
    """The state versions that the current micro-batch starts from."""
    content = json.loads(_read_property(STATE_VERSIONS))
    return {int(level): StateVersions.from_json(each) for level, each in content.items()}


def current_oldest() -> int:
    """The oldest version that readers may read."""
    return int(_read_property(OLDEST))


def state_versions_property(versions: Mapping[int, StateVersions]) -> str:
    """State versions as the text of a local property."""
    return json.dumps({level: each.as_json() for level, each in versions.items()})


def _read_property(name: str) -> str:
    context = TaskContext.get()
    value: str | None = context.getLocalProperty(name) if context is not None else None
    assert value is not None, f"the driver did not set the local property {name}"
    return value
