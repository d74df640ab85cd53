"""The bytes of state of each stage, from the files that a version names.

    versions of stage 1     shard 0 at 7, shard 3 at 5
    known                   shard 0 at 6: 9 kB, shard 3 at 5: 8 kB
    at(versions)            {1: 18 kB}, after a look at shard 0 only

Invariant: a state does not change under its version, so only shards that have changed are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from flo.shards.tasks.state import StateVersions, store_of
from flo.tables.checkpoint.store import PARTS, STATES, run_file


class StateSizes:
    """The sizes of the states of a checkpoint, as far as they were asked for."""

    def __init__(self, where: str, shards: int) -> None:
        self.where, self.shards = where, shards
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        """By level and shard, the version of the state and its bytes."""

    def at(self, versions: Mapping[int, StateVersions]) -> dict[int, int]:
        """The bytes of state by level."""
        return {level: sum(self._sizes(level, each)) for level, each in sorted(versions.items())}

    def _sizes(self, level: int, versions: StateVersions) -> list[int]:
        """The bytes of each state of a stage."""
        for shard, version in versions.states():
            known, _ = self._known.get((level, shard), (-1, 0))
            if known != version:
                self._known[level, shard] = version, self._size(level, shard, version)
        return [self._known[level, shard][1] for shard, _ in versions.states()]

    def _size(self, level: int, shard: int, version: int) -> int:
        """The bytes of one state: the file of the state, and those of its runs."""
        store = store_of(self.where, self.shards, level, shard)
        manifest = store.manifest(version)
        runs = {f"{PARTS}/{name}": size for name, (size, _) in store.folder.files(PARTS).items()}
        states = {name: size for name, (size, _) in store.folder.files(STATES).items()}
        return states.get(manifest["state"], 0) + sum(runs.get(run_file(name), 0) for name in manifest["runs"])
