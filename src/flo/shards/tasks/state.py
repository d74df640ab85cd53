"""The state of a shard, by version: each micro-batch reads one version and writes the next.

    state/00008/01/00003/       8 shards, stage 1, shard 3: its states by version, and the runs that they name
    state/00008/01/blank/       the state that all shards share which have received nothing yet

    StateVersions after version 7:    shard 0 at 7, shard 3 at 5, all others blank, at 0

A task is a function from (state v-1, Δ v) to (state v, output v). A task that is retried, runs twice at once, or runs
in a replayed micro-batch therefore writes the same files again.

Invariant: a shard that a micro-batch does not change is not written: its state stays at the version of the last
micro-batch that changed it. Runs never change, and versions share them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import pyarrow as pa

from flo.core.checkpoint import decode, encode
from flo.core.graph import Node
from flo.core.untyped import Json
from flo.program.dag import Dag
from flo.shards.tasks.hot_keys import Hot, hot_as_json, hot_from_json
from flo.tables.checkpoint.folders import Folder, Local, Writes, folder
from flo.tables.checkpoint.store import Loading, Saved, Store, Storing, files_of, run_file
from flo.tables.dataflow import Dataflow
from flo.tables.state.run import Run

READABLE = 2
"""How many committed versions are kept at least. The newest may run again, from the one before it."""
STATE = "state"
BLANK = -1
"""The number of the state that all shards share which have received nothing yet."""


@dataclass(frozen=True)
class StateVersions:
    """The versions at which the states of a stage are stored after a micro-batch."""

    shards: Mapping[int, int] = field(default_factory=dict)
    """For shard 0, and each shard that has received something: the version of the micro-batch that last changed it."""
    blank: int = -1
    """The version of the state that all other shards share; -1 if there is none."""
    ended: frozenset[str] = frozenset()
    """The names of deliveries that have ended. A delivery ends in all shards in the same micro-batch."""
    hot: Hot = field(default_factory=dict)
    """The keys whose rows are spread over all shards."""
    new_hot: Hot = field(default_factory=dict)
    """Those of them that the last micro-batch has found. The next one moves the rows that are there."""

    def version(self, shard: int) -> int:
        """The version of a shard's state, which may be the shared one."""
        return self.shards.get(shard, self.blank)

    def states(self) -> Iterator[tuple[int, int]]:
        """The shard and the version of every stored state."""
        yield from sorted(self.shards.items())
        if self.blank >= 0:
            yield BLANK, self.blank

    def with_changes(self, version: int, shards: list[int], ended: list[str] | None) -> StateVersions:
        """The versions after a task has changed these shards. `ended` comes from the task that has shard 0."""
        blank = version if BLANK in shards else self.blank
        changed = {**self.shards, **{shard: version for shard in shards if shard != BLANK}}
        return replace(self, shards=changed, blank=blank, ended=self.ended if ended is None else frozenset(ended))

    def as_json(self) -> Json:
        """The versions as a commit has them."""
        shards = {str(shard): version for shard, version in self.shards.items()}
        hot = {"hot": hot_as_json(self.hot), "new_hot": hot_as_json(self.new_hot)} if self.hot else {}
        return {"shards": shards, "blank": self.blank, "ended": sorted(self.ended), **hot}

    @classmethod
    def from_json(cls, content: Json) -> StateVersions:
        """The inverse of `as_json`. Raises TypeError, ValueError, KeyError or AttributeError if it has another form."""
        shards = {int(shard): operator.index(version) for shard, version in content["shards"].items()}
        hot, new_hot = (hot_from_json(content.get(name, {})) for name in ("hot", "new_hot"))
        return cls(shards, operator.index(content["blank"]), frozenset(map(str, content["ended"])), hot, new_hot)


def state_folder(where: str, shards: int) -> Folder:
    """The folder of all states for this number of shards. `flo.json` says which number is in use."""
    return folder(where).within(f"{STATE}/{shards:05}")


def shard_path(level: int, shard: int) -> str:
    """The path of a shard's states within the state folder."""
    return f"{level:02}/blank" if shard == BLANK else f"{level:02}/{shard:05}"


def store_of(where: str, shards: int, level: int, shard: int) -> Store:
    """The store of a shard's states."""
    return Store(state_folder(where, shards).within(shard_path(level, shard)))


@lru_cache(maxsize=32)
def program_of(dag: Dag) -> Dataflow:
    """Computed once for all shards, micro-batches and views: for a large program it takes longer than a micro-batch."""
    return Dataflow(dag)


class ShardState(NamedTuple):
    """The state of a shard at a version."""

    nodes: list[Node]
    """The operators with their states."""
    views: Any
    """The views of the shard record."""
    more: Json
    """The rest of the shard record, as JSON."""


class Shard:
    """Reads and writes the states of one shard of a stage."""

    def __init__(self, where: str, shards: int, level: int, shard: int, dag: Dag) -> None:
        self.store = CachedStore(state_folder(where, shards).within(shard_path(level, shard)))
        self.program = program_of(dag)
        """The program of the stage, before any input."""
        self.runs: list[Run] = []
        """The runs of the state that was read or written last."""

    def load(self, version: int, next_version: int, begun: int) -> ShardState:
        """Reads a version to continue from it. Removes stray files, and versions that failed micro-batches wrote.

        `begun` is the first micro-batch of this start of the query: files of versions since then are trusted."""
        self.store.trusts_files = self.store.trusts_files or version >= begun
        if not self.store.runs:
            self.store.tidy()
        self.store.forget(version, next_version)
        content = self.read(version)
        self.store.trusts_files = True
        return content

    def read(self, version: int) -> ShardState:
        """The state of a version."""
        state, more = self.store.read(version)
        nodes, views = self.program.states.load(decode(state), lambda scope: Loading(scope, self.store))
        self.runs = self.store.whole_runs()
        return ShardState(nodes, views, more)

    def save(
        self, version: int, nodes: Sequence[Node], views: Any, more: Json, kept: Sequence[int], writes: Writes
    ) -> Saved:
        """Writes a version, and removes what is needed neither by a version that is kept nor by one after the last of
        them.

        Its files are there, and the others are removed, when `writes` are finished. Meanwhile the task goes on."""
        store = self.store
        where, before = store.folder, dict(store.runs)
        store.folder = where.writing_together(writes)
        try:
            storing = Storing(store)
            state = encode(self.program.states.save(nodes, views, storing))
            saved = store.write(version, state, storing, more)
        finally:
            written, store.runs, store.folder = store.runs, before, where

        def use_written() -> None:
            store.runs, self.runs = written, storing.runs

        writes.meanwhile(partial(store.sweep, *kept, writing=version, needed=files_of(state, storing)))
        writes.afterwards(use_written)
        return saved


class CachedStore(Store):
    """A store that keeps the runs of the last version in memory, with their search indexes."""

    def __init__(self, where: Folder) -> None:
        super().__init__(where)
        self.runs: dict[str, Run] = {}
        self.joined: dict[tuple[str, ...], Run] = {}
        """Runs by the names of the parts in which they are stored."""
        self._manifests: dict[int, Json] = {}
        self._newest = 0
        """The version that was written last."""
        self._swept: int | None = None
        """The oldest version at the last sweep of this process."""
        self.trusts_files = False
        """Whether files are read without verifying their checksums: this start of the query has written them."""

    def put(self, run: Run) -> int:
        size = 0 if run.name in self.runs else super().put(run)
        self.runs[run.name] = run  # a part that was merged has its rows in a larger table now
        return size

    def get(self, columns: tuple[str, ...], name: str) -> Run:
        if name not in self.runs:
            self.runs[name] = super().get(columns, name)
        return self.runs[name]

    def get_parts(self, columns: tuple[str, ...], names: tuple[str, ...]) -> Run:
        if names not in self.joined:
            self.joined[names] = super().get_parts(columns, names)
            self.runs.update(zip(names, self.joined[names].files, strict=True))
        return self.joined[names]

    def whole_runs(self) -> list[Run]:
        """The runs that were read, without those that are parts of others."""
        parts = {name for names in self.joined for name in names}
        return [*self.joined.values(), *(run for name, run in self.runs.items() if name not in parts)]

    def _forget_runs(self, held: set[str]) -> None:
        """Drops the runs that a version does not hold."""
        self.runs = {name: run for name, run in self.runs.items() if name in held}
        self.joined = {names: run for names, run in self.joined.items() if held.issuperset(names)}

    def content(self, columns: tuple[str, ...], name: str) -> pa.Buffer:
        """The file of a run. Files that another process of this start has just written are not verified."""
        if self.trusts_files and isinstance(self.folder, Local):
            return self.folder.map_file(run_file(name))
        return super().content(columns, name)

    def read(self, number: int) -> tuple[bytes, Json]:
        """Reads a version, and drops cached runs that it does not name: another process may have removed them."""
        self._manifests.clear()
        self._forget_runs(set(self.manifest(number)["runs"]))
        return super().read(number)

    def manifest(self, number: int) -> Json:
        if number not in self._manifests:
            self._manifests[number] = super().manifest(number)
        return self._manifests[number]

    def write(self, number: int, state: bytes, storing: Storing, more: Json) -> Saved:
        self._manifests.pop(number, None)
        self._newest = number
        saved = super().write(number, state, storing, more)
        self.trusts_files = True
        self._forget_runs(storing.held)
        return saved

    def sweep(self, *kept: int, writing: int | None = None, needed: Set[str] = frozenset()) -> None:
        """If many versions are kept, it removes many at once."""
        oldest = kept[-1]
        step = removal_step(self._newest - oldest)
        if self._swept is None and step > 1:
            self._swept = oldest
        if self._swept is None or oldest - self._swept >= step:
            super().sweep(*kept, writing=writing, needed=needed)
            self._swept = oldest
            self._manifests = {number: each for number, each in self._manifests.items() if number >= oldest}


def removal_step(kept: int) -> int:
    """How many versions are removed at once, if so many are kept: to find what others need takes as long as that."""
    return max(1, kept // 8)
