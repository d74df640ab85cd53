"""`clock` on tables: how far the event time of a stream has come, as a stream; with the rows on time and those behind.

With a lateness of 2:

    row  time    largest time   clock    goes to
    r    10      10             8        the rows on time
    s    13      13             11       the rows on time
    t    12      13             11       the rows on time: 12 is not before 11
    u    9       13             11       the rows behind

Invariant: the clock never goes back, and a row is behind if its time is before the clock at this row. In a partitioned
stream each row is compared with the clock of its own partition, and the clock that is emitted is the smallest.

The clock is one value, an LVar: a delta of it is emitted when it moves. Windows that follow a clock are in
clocked_windows.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import take_rows
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.groups import Groups
from flo.tables.operator import Grouping, Placement
from flo.tables.operators.clocks import (
    ClockState,
    EventTime,
    ReadsPartitions,
    as_bag,
    durations_of,
    kind_of,
    moment_of,
    new_clock,
)
from flo.tables.operators.keyed import keyed_delta
from flo.tables.translate import form_of
from flo.values.lvar import LVarValue
from flo.values.operators.clocks import ClockOf


@form_of(ClockOf)
@final
@dataclass(frozen=True)
class ClockTables(ReadsPartitions[ClockOf]):
    """The clock of a sequence or a partitioned stream, the rows on time, and those behind it."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE

    clock: ClockState | None = None
    """None before the first row."""

    name = "clock_tables"

    @classmethod
    def fits(cls, like: ClockOf, inputs: StreamTypes) -> bool:
        return kind_of(like.time, durations_of(like)) is not None

    @property
    def partitions(self) -> int | None:
        return self.like.partitions

    @property
    def _axis(self) -> EventTime:
        return EventTime(self.like, self.row_inputs)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        groups, axis, clock = Groups.of(table, ()), self._axis, self.clock or new_clock((), self.partitions)
        before = clock.read(groups.keys, axis.kind)
        zoned, times = axis.times(groups, before)
        reached, latest, clock = clock.reach(groups, times, before)
        behind = axis.exact(times) < axis.watermark(reached)
        after = clock.moved(
            groups.keys, before.moved(before.latest if latest is None else latest, zoned, before.closed)
        )
        moved = None
        if latest is not None and not (before.known[0] and before.latest[0] >= latest[0]):
            mark = axis.watermark(latest)[0]
            mark = mark.item() if isinstance(mark, np.generic) else mark
            moved = LVarValue(self.like.lattice, moment_of(mark, axis, zoned))
        if not behind.any():
            return replace(self, clock=after), (moved, self._rows(table, 1), None, *self._in_order(table))
        on_time, late = (take_rows(table, np.flatnonzero(which)) for which in (~behind, behind))
        outputs = moved, self._rows(on_time, 1), self._rows(late, 2), *self._in_order(on_time)
        return replace(self, clock=after), outputs

    def _in_order(self, table: pa.Table) -> tuple[Any, ...]:
        """Rows by partition, if there is an output of them."""
        return (keyed_delta(self.outputs[3], table),) if self.like.in_order else ()  # type: ignore[arg-type]

    def _rows(self, table: pa.Table, index: int) -> Any:
        """Rows as the output has them; those of partitions become a bag."""
        if self.partitions is not None:
            table = as_bag(table)
        return self.emitted(table, index)
