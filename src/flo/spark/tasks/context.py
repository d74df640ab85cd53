"""What every task is told: its code, its turn, and which of the tasks of its stage it is."""

from __future__ import annotations

import gc
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyspark import TaskContext, cloudpickle

from flo.spark.tasks.state import Standing

VERSION, STANDING = "flo.version", "flo.standing"
"""The properties that tell a task which turn it is, and where the states are that it goes on from."""


@dataclass(frozen=True)
class Code:
    """Something pickled."""

    data: bytes

    @classmethod
    def of(cls, item: Any) -> Code:
        return cls(cloudpickle.dumps(item))  # type: ignore[no-untyped-call]

    def load(self) -> Any:
        return _unpickled(self.data)


@lru_cache(maxsize=64)
def _unpickled(data: bytes) -> Any:
    """Once in each process, for as long as it is in use."""
    code = pickle.loads(data)
    if TaskContext.get() is not None:
        settle()
    return code


def settle() -> None:
    """After each task Spark looks for garbage among all objects of the process, and the next one waits for that, as
    long as a turn of few rows takes. What is there now is here to stay, and need not be looked at again."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@dataclass(frozen=True)
class Turn:
    """One turn of the loop: a micro-batch, or all of a batch job."""

    version: int
    run: str
    """Names this start of the query: what a process remembers of another is not for it."""
    folder: str
    shards: int
    tasks: int
    """How many tasks a stage has. Each works on the shards whose numbers leave its own as the remainder."""
    ended: frozenset[int]
    """The streams of level 0 that have ended."""
    standing: Mapping[int, Standing] = field(default_factory=dict)
    """Where the states are that it goes on from, by the level of their stage."""

    @property
    def first(self) -> bool:
        """Whether there is no state yet."""
        return self.version == 0


def task() -> int:
    """The number of this task among those of its stage."""
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def version() -> int:
    """Of the turn, where a task is the same in all turns."""
    return int(_said(VERSION))


def standing() -> dict[int, Standing]:
    """The same for where states are."""
    return {int(level): Standing.of_json(each) for level, each in json.loads(_said(STANDING)).items()}


def as_property(standing: Mapping[int, Standing]) -> str:
    """What tasks are told of where states are."""
    return json.dumps({level: each.as_json() for level, each in standing.items()})


def _said(name: str) -> str:
    context = TaskContext.get()
    said: str | None = context.getLocalProperty(name) if context is not None else None
    assert said is not None, "nobody has said which turn it is"
    return said
