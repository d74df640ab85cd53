"""Hot keys of joins: a key with more rows than a shard should have is spread over all shards.

`orders` are joined with `shops` in 3 shards, and most orders are of shop 7, whose key number is in shard 1:

    rows of                shard 0           shard 1           shard 2
    shop 7 in orders       some orders       some orders       some orders      by the whole row, not by the shop
    shop 7 in shops        a copy            the row           a copy

Each order meets its shop once, wherever it is, so the results add up to the same join. This needs a join that is linear
in both sides (`OnTables.spreads_hot_keys`), and nothing behind it in its stage that reads the rows of a key together.

1. The tasks that send rows of a join look at a sample of their keys (`find_hot`), and report those that are hot.
2. The commit of the micro-batch has them, with the states (`StateVersions.new_hot`).
3. In the next micro-batch all shards run. Each takes the rows that belong to it from the state that the shard of the
   key had before (`StageTask`), and copies those of the other side. From now on rows are sent like this.

Invariant: of a hot key, each row of the spread side is in the shard of the whole row, so a row and its retraction are
together. Every shard has all rows of the other side, own ones or copies. Copies are a part of the state of their own,
which is dropped when the number of shards changes. Then no key is hot, and every row is in the shard of its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Mask, Numbers
from flo.core.collection import Collection
from flo.core.untyped import Json
from flo.shards.plan.stages import shard_of
from flo.tables.state.keys import keys_of
from flo.tables.values import layout_of

if TYPE_CHECKING:
    from flo.shards.tasks.state import StateVersions

SAMPLE, LEAST = 4096, 64
"""A key is hot if it has its share of so many rows: as many as a shard would have of them, and at least so many."""
MOST = 64
"""How many hot keys a join has at most."""


@dataclass(frozen=True)
class HotKeys:
    """The hot keys of a join: their rows on one side are spread over all shards, and those on the other side copied."""

    side: int
    numbers: tuple[int, ...]
    """The key numbers."""

    @cached_property
    def _sorted(self) -> Numbers:
        return np.sort(np.array(self.numbers, np.uint64))

    def select(self, numbers: Numbers) -> Mask:
        """Return which of these key numbers are hot."""
        return np.isin(numbers, self._sorted)

    def add(self, other: HotKeys) -> HotKeys:
        """Return these and others. Those of the other side do not become hot: only one side is spread."""
        more = [each for each in other.numbers if each not in self.numbers] if other.side == self.side else []
        return HotKeys(self.side, (*self.numbers, *more)[:MOST])


Hot = Mapping[str, HotKeys]
"""By the id of a join, its hot keys."""


def find_hot(numbers: Numbers, shards: int) -> list[int]:
    """Return the key numbers that many of these rows have, judged by a sample."""
    if shards == 1 or len(numbers) < SAMPLE:
        return []
    some = np.random.default_rng(0).integers(0, len(numbers), SAMPLE)  # the same if the task runs again
    keys, counts = np.unique(numbers[some], return_counts=True)
    return keys[counts >= max(LEAST, SAMPLE // shards)].tolist()  # type: ignore[no-any-return]


def merge_hot(*parts: Hot) -> dict[str, HotKeys]:
    """Return the hot keys of all of these, which come in the order in which they were found."""
    merged: dict[str, HotKeys] = {}
    for part in parts:
        for join, keys in part.items():
            merged[join] = merged[join].add(keys) if join in merged else keys
    return merged


def new_in(hot: Hot, before: Hot) -> dict[str, HotKeys]:
    """Return the hot keys that were not before."""
    known = {join: before[join].numbers if join in before else () for join in hot}
    new = {join: tuple(each for each in keys.numbers if each not in known[join]) for join, keys in hot.items()}
    return {join: HotKeys(hot[join].side, numbers) for join, numbers in new.items() if numbers}


def shards_of_rows(table: pa.Table, of: Collection, shards: int) -> Indices:
    """Return the shard of each row whose key is hot: by the whole row."""
    return shard_of(keys_of([table[name] for name in layout_of(of).names]).numbers, shards)


def hot_in(versions: Mapping[int, StateVersions]) -> dict[str, HotKeys]:
    """Return the hot keys of all stages."""
    return merge_hot(*(each.hot for each in versions.values()))


def hot_as_json(hot: Hot) -> Json:
    return {join: [keys.side, list(keys.numbers)] for join, keys in hot.items()}


def hot_from_json(content: Json) -> dict[str, HotKeys]:
    return {str(join): HotKeys(int(side), tuple(map(int, numbers))) for join, (side, numbers) in content.items()}
