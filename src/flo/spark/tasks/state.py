"""The state of a shard, by version: what a task reads of the turn before, and writes for the next.

A task is a function from (state v-1, Δ v) to (state v, output v). So a task that is tried again, or twice at once, or
in a turn that is replayed, writes the same once more. A shard that a turn does not change is not written: its state is
that of the last turn that did change it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from flo.core.checkpoint import decode, encode
from flo.core.collection import Collection
from flo.core.graph import Graph, names, with_origins
from flo.core.stream_type import StreamType
from flo.core.term import Lowering
from flo.core.typing import program
from flo.tables.checkpoint.folders import Folder, Local, folder
from flo.tables.checkpoint.store import Saved, Store, run_file
from flo.tables.checkpoint.storing import Mapped, Storing, collections
from flo.tables.state.run import Run

VERSIONS = 3
"""How many versions are kept: of the last turn, of the one before, which a replay begins with, and one for readers."""
STATE = "state"
BLANK = -1
"""Stands for all shards that were sent nothing yet. They are alike, and share one state."""


@dataclass(frozen=True)
class Standing:
    """Where the states of a stage are after a turn."""

    shards: Mapping[int, int] = field(default_factory=dict)
    """For each shard that was sent something, and for shard 0, the version of the turn that last changed it."""
    blank: int = -1
    """The same for the state that the others share."""
    ended: frozenset[int] = frozenset()
    """The deliveries that have ended. They end in all shards in the same turn."""

    def version(self, shard: int) -> int:
        """Of the state of a shard, which may be the shared one."""
        return self.shards.get(shard, self.blank)

    def states(self) -> Iterator[tuple[int, int]]:
        """Every state, by its shard, with its version."""
        yield from sorted(self.shards.items())
        if self.blank >= 0:
            yield BLANK, self.blank

    def changed(self, version: int, shards: list[int], ended: list[int] | None) -> Standing:
        """After a task of this turn, which has changed these shards. `ended` is what shard 0 says, if it is among
        them."""
        blank = version if BLANK in shards else self.blank
        mine = {shard: version for shard in shards if shard != BLANK}
        return Standing({**self.shards, **mine}, blank, self.ended if ended is None else frozenset(ended))

    def as_json(self) -> Any:
        shards = {str(shard): version for shard, version in self.shards.items()}
        return {"shards": shards, "blank": self.blank, "ended": sorted(self.ended)}

    @classmethod
    def of_json(cls, said: Any) -> Standing:
        shards = {int(shard): version for shard, version in said["shards"].items()}
        return cls(shards, said["blank"], frozenset(said["ended"]))


def state_of(where: str, shards: int) -> Folder:
    """The states of so many shards: a folder for each level, with one for each shard. Another number of shards has
    another folder, and `flo.json` says which one counts."""
    return folder(where).within(f"{STATE}/{shards:05}")


def place_of(level: int, shard: int) -> str:
    return f"{level:02}/blank" if shard == BLANK else f"{level:02}/{shard:05}"


class Shard:
    """The versions of one shard of a stage."""

    def __init__(
        self, where: str, shards: int, level: int, shard: int, graph: Graph, types: tuple[StreamType, ...]
    ) -> None:
        self.store = Cached(state_of(where, shards).within(place_of(level, shard)))
        self.graph = graph
        self.lowering = Lowering()
        self.lowering(graph)
        self.names: Mapping[str, Any] = names(graph)
        self.known: list[Collection] = collections(program(graph, types))

    def load(self, version: int, turn: int) -> tuple[Graph, Any, Any]:
        """For the turn that goes on from there: what was left behind before is removed, and what turns in between have
        written that were broken off."""
        if not self.store.runs:
            self.store.tidy()
        self.store.forget(version, turn)
        found = self.read(version)
        self.store.going_on = True
        return found

    def read(self, version: int) -> tuple[Graph, Any, Any]:
        """(the graph as it stood, what was kept beside it, what was noted)."""
        state, more = self.store.read(version)
        graph, kept = Mapped(self.names, self.store, self.known)(decode(state))
        return with_origins(graph, self.graph), kept, more

    def save(self, version: int, graph: Graph, kept: Any, more: Any) -> Saved:
        storing = Storing(self.store, self.known).naming(self.lowering)
        state = encode(storing((graph, kept)))
        return self.store.write(version, state, storing, more, VERSIONS)

    def initial(self) -> bytes:
        """The state before the first turn: for who cuts states anew, without the program."""
        return encode(Storing(_Nowhere(), self.known).naming(self.lowering)((self.graph, ())))


class _Nowhere:
    """Where runs are named and not kept."""

    def put(self, run: Run) -> int:
        return 0

    def get(self, columns: tuple[str, ...], name: str) -> Run:
        raise NotImplementedError("nothing is read from an initial state")


class Cached(Store):
    """Keeps the runs of the last version in memory, with what was built to search them."""

    def __init__(self, where: Folder) -> None:
        super().__init__(where)
        self.runs: dict[str, Run] = {}
        self._manifests: dict[int, Any] = {}
        self.going_on = False
        """Whether this process has had the shard before, in this start of the query."""

    def put(self, run: Run) -> int:
        if run.name in self.runs:
            return 0
        size = super().put(run)
        self.runs[run.name] = run
        return size

    def get(self, columns: tuple[str, ...], name: str) -> Run:
        if name not in self.runs:
            self.runs[name] = super().get(columns, name)
        return self.runs[name]

    def content(self, columns: tuple[str, ...], name: str) -> pa.Buffer:
        """What another process has written a moment ago is not read through to see whether it is as it was written."""
        if self.going_on and isinstance(self.folder, Local):
            return self.folder.kept(run_file(name))
        return super().content(columns, name)

    def read(self, number: int) -> tuple[bytes, Any]:
        """Others may have gone on meanwhile: what this version does not name may be gone."""
        self._manifests.clear()
        held = set(self.manifest(number)["runs"])
        self.runs = {name: run for name, run in self.runs.items() if name in held}
        return super().read(number)

    def manifest(self, number: int) -> Any:
        if number not in self._manifests:
            self._manifests[number] = super().manifest(number)
        return self._manifests[number]

    def write(self, number: int, state: bytes, storing: Storing, more: Any, keep: int) -> Saved:
        self._manifests.pop(number, None)
        saved = super().write(number, state, storing, more, keep)
        self.going_on = True
        self.runs = {name: run for name, run in self.runs.items() if name in storing.held}
        self._manifests = {version: each for version, each in self._manifests.items() if version > number - keep}
        return saved
