"""The context of a task: its pickled code, its micro-batch, and its number within the stage.

    MicroBatch(version=7, shards=8, tasks=4, …)        the same for all tasks of a micro-batch
    task 1 of 4                                        works on the shards 1 and 5: those with shard % tasks == 1

Invariant: a process loads a piece of code once, by its bytes, whatever the number of tasks that it runs.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from flo.shards.tasks import pickling
from flo.shards.tasks.state import StateVersions

LOADED = 64
"""So many pickled objects a process keeps loaded."""
FORGOTTEN = 16
"""A full process looks for what it has forgotten once for so many objects that it loads: it scans all of Python's
objects for that, which takes longer than a small task."""


@dataclass(frozen=True)
class Code:
    """A pickled object that tasks load, once per process."""

    data: bytes

    @classmethod
    def of(cls, item: object) -> Code:
        return cls(pickling.dumps(item))

    def load(self) -> Any:
        return _load(self.data)


@dataclass(frozen=True)
class LoadedCode:
    """An object for a task that runs in the same process: it need not be pickled."""

    item: Any

    def load(self) -> Any:
        return self.item


@lru_cache(maxsize=LOADED)
def _load(data: bytes) -> Any:
    """Loads pickled code, once per process."""
    code = pickle.loads(data)
    loads = _load.cache_info()
    _current.after_loading(loads.currsize == LOADED and loads.misses % FORGOTTEN == 0)
    return code


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch of a query, or the whole of a batch job, as tasks know it."""

    version: int
    """The number of the micro-batch, and the version of the state that it produces."""
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
    source: str = "spark"
    """Who numbers the rows of ordered inputs. The numbers of another source begin anew."""
    tagged: tuple[int, ...] = ()
    """Versions before the oldest that are kept, because they have tags."""
    memory: int | None = None
    """How many bytes of state a process keeps in memory; None if all."""
    blobs: str | None = None
    """A folder for large blobs, if all tasks run on one machine; None if all travel with the engine."""
    begun: int = field(kw_only=True)
    """The first micro-batch of this start of the query. Files of states since then are not verified again: this start
    has written them, has verified them when it read them, or has found them where it would have written them."""

    @property
    def is_first(self) -> bool:
        """Whether there is no state yet."""
        return self.version == 0


class _Current(threading.local):
    """The task that this thread runs."""

    number: int
    micro_batch: Callable[[], MicroBatch]
    after_loading: Callable[[bool], None] = staticmethod(lambda is_full: None)


_current = _Current()


def enter_task(
    number: int, micro_batch: Callable[[], MicroBatch], after_loading: Callable[[bool], None] = lambda is_full: None
) -> None:
    """Say which task this thread runs from now on. `after_loading` is called when it has loaded code, and told whether
    to look for code that was forgotten."""
    _current.number, _current.micro_batch, _current.after_loading = number, micro_batch, after_loading


def task_number() -> int:
    """The number of this task within its stage."""
    return _current.number


def micro_batch() -> MicroBatch:
    """The micro-batch of this task."""
    return _current.micro_batch()
