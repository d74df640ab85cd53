"""Tumbling windows spread over shards: each shard has the rows of its own windows, and the clock of all rows.

Windows of 10 on 2 shards. Window 0 is in shard 0, and window 1 in shard 1:

    position  time  window    shard 0                    shard 1
    0         3     0         own                        moves the clock: the first row of the task
    1         5     0         own
    2         14    1         moves the clock past 10    own
    3         8     0         own, and late              moves the clock: the last row of the task

Invariant: all shards have the same watermark at a row as one shard with all rows would have. So they close the same
windows, and find the same rows late.

The clock travels as data: a task sends to all shards the rows that move the clock past the end of a window, and its
first and last row (`route_rows`). The column `own/` says which rows a shard takes in, and which only move its clock.
Where rows have partitions, each partition has its clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Numbers
from flo.core.operator import Deltas, Operator
from flo.shards.plan.stages import POSITION
from flo.tables.groups import ONE, Groups
from flo.tables.operator import Cut, Placement
from flo.tables.operators.clocks import PARTITION, Times, new_clock
from flo.tables.operators.windowers import Closing, Grid
from flo.tables.operators.windows import WindowTables
from flo.tables.state.keys import keys_of
from flo.tables.streams import Streams
from flo.values.operators.windows import Tumbling

OWN, PANE = "own/", "pane/"
"""Columns: whether a row belongs to a window of this shard, or only moves the clock; and for waiting rows the number of
their window. No field of a Python class can have these names."""


@dataclass(frozen=True)
class SpreadWindows(WindowTables):
    """tumbling(…) for the windows of one shard. Rows have positions, and late rows keep theirs."""

    name = "spread_windows"
    placement = Placement.BY_WINDOW
    cut = Cut.BY_WINDOW

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        own = table[OWN].to_numpy() if OWN in table.column_names else None
        after, closed, late = self.add(Groups.of(table, ()), own)
        if late is not None:
            beside = [OWN] if self.partitions is None else [OWN, POSITION]  # which a bag has no use for
            late = late.drop_columns([name for name in beside if name in late.column_names])
        return after, self._deltas(closed, late)

    def _kept(self, rows: pa.Table, times: Times) -> pa.Table:
        return super()._kept(rows, times).append_column(PANE, pa.array(self._panes(times)))

    def _panes(self, times: Times) -> Indices:
        """The number of the window of each time."""
        grid = self._grid
        return grid.last(grid.axis.exact(times)).astype(np.int64)  # type: ignore[no-any-return]

    def _streams(self, rows: pa.Table, streams: Indices, closing: Closing, windows: Indices) -> Streams:
        starts = closing.bounds(windows).start
        return replace(super()._streams(rows, streams, closing, windows), positions=np.asarray(starts))

    @property
    def _grid(self) -> Grid:
        assert isinstance(self.windower, Grid)
        return self.windower

    def route_rows(self, table: pa.Table) -> tuple[Numbers, Any]:
        """Returns, for rows in order, the key numbers of their windows, and which rows go to all shards.

        The first and the last row of each partition do, so that every shard knows the range of positions.
        """
        grid, groups = self._grid, Groups.of(table, ())
        clock = new_clock((), None if self.partitions is None else 0)
        before = clock.read(ONE, grid.axis.kind)
        _, times = grid.axis.times(groups, before)
        opened = grid.after(grid.axis.watermark(clock.reach(groups, times, before).at_rows))
        last = np.zeros(len(times), bool)
        last[-1] = True
        if self.partitions is not None:
            partitions = table[PARTITION].to_numpy()
            last[:-1] = partitions[1:] != partitions[:-1]
        for_all = np.append(True, (opened[1:] > opened[:-1]) | last[:-1]) | last
        return keys_of([pa.chunked_array([pa.array(self._panes(times))])]).numbers, for_all

    @property
    def order(self) -> list[str]:
        """The columns by whose order `route_rows` needs the rows."""
        return [POSITION] if self.partitions is None else [PARTITION, POSITION]


def spread_of(operator: Operator) -> Operator:
    """Returns the windows as they run spread over shards, if each row is in one window; else the operator itself."""
    if isinstance(operator, WindowTables) and isinstance(operator.like, Tumbling):
        return SpreadWindows(operator.like, inputs=operator.inputs, outputs=operator.outputs)
    return operator
