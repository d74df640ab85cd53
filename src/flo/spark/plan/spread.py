"""Tumbling windows in several shards: each has the rows of its own windows, and the clock of all.

The clock travels as data. Of what a task has, every shard gets the rows that move the clock past another window; so all
shards close the same windows, and call the same rows late, as one place with all rows would.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers, taken
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.operator import Deltas, Operator
from flo.spark.plan.stages import POSITION, shard_of
from flo.tables.operator import Cut, Placement
from flo.tables.operators.window_times import Times
from flo.tables.operators.windows import WindowTables
from flo.tables.state.keys import keys_of
from flo.tables.streams import Streams
from flo.values.operators.windows import Tumbling


@final
@dataclass(frozen=True)
class SpreadWindows(WindowTables):
    """tumbling(…), for the windows of one shard. Its rows have their positions, and late ones keep them."""

    shard: tuple[int, int] = field(default=(0, 1), compare=False, kw_only=True)
    """Which one, of how many."""

    name = "spread_windows"
    placement = Placement.BY_WINDOW
    cut = Cut.BY_WINDOW

    def with_origins(self, like: Self) -> Self:
        found: Self = super().with_origins(like)  # type: ignore[arg-type]
        return replace(found, shard=like.shard)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, windows, late = self.placed(table.drop_columns([POSITION]))
        return after, (windows, self.emitted(taken(table, late), 1) if len(late) else None)

    def own(self, windows: Any) -> Any:
        number, shards = self.shard
        return shard_of(numbers_of(windows), shards) == number

    def closed(self, rows: pa.Table, streams: Any, starts: Times, ends: Times) -> Streams:
        return replace(super().closed(rows, streams, starts, ends), places=np.asarray(starts))

    def sent(self, table: pa.Table) -> tuple[Numbers, Any]:
        """For rows in their order: the numbers of their windows, and which rows are for all shards.

        The first and the last are among these, so that every shard sees how far the positions reach.
        """
        _, moments = self.times(table)
        times = self._exact(moments)
        _, windows = self.grid.holding(times)
        opened = self.grid.after(self.marks(times))
        for_all = np.append(True, opened[1:] > opened[:-1])
        for_all[-1] = True
        return numbers_of(windows), for_all


def numbers_of(windows: Any) -> Numbers:
    return keys_of([pa.chunked_array([pa.array(windows.astype(np.int64))])]).numbers


def spread_of(operator: Operator) -> Operator:
    """Windows as they run in several shards, if each row is in one of them only."""
    if isinstance(operator, WindowTables) and isinstance(operator.like, Tumbling):
        return SpreadWindows(operator.like, inputs=operator.inputs, outputs=operator.outputs)
    return operator


def in_shard(graph: Graph, number: int, shards: int) -> Graph:
    """The program of a stage, for one of so many shards."""
    match graph:
        case Sequential(left, right):
            return Sequential(in_shard(left, number, shards), in_shard(right, number, shards))
        case Parallel(left, right):
            return Parallel(in_shard(left, number, shards), in_shard(right, number, shards))
        case Node(_, SpreadWindows() as operator):
            return replace(graph, operator=replace(operator, shard=(number, shards)))
    return graph
