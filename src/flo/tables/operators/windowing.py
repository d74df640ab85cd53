"""What windows of event time on tables have in common: times, rows that wait, whole windows, and what is late.

The watermark at each row is the largest time up to it, less the lateness; so a running maximum tells, for every row of
a delta, what element by element would have told.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Places
from flo.core.collection import End
from flo.core.errors import ElementError
from flo.core.operator import Delta, Deltas, Operator
from flo.tables.functions import elements_of
from flo.tables.operator import Grouping, OnTables, Placement
from flo.tables.operators.waiting import ARRIVAL, Waiting, waiting_run
from flo.tables.operators.window_times import (
    NoTime,
    Times,
    key_of,
    keys_of_times,
    kind_of,
    number,
    times_of,
    times_of_keys,
)
from flo.tables.state.packing import arranged
from flo.tables.streams import StreamColumns, Streams, inner_of, numbered
from flo.tables.values import layout_of
from flo.values.operators.windows import TimeWindows
from flo.values.sequence import SequenceValue

W = TypeVar("W", bound=TimeWindows, covariant=True)


@dataclass(frozen=True)
class TimeWindowTables(OnTables[W]):
    """`opened` has the rows of open windows, each once, whatever the number of windows that it is in."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    origin: Any = None
    latest: Any = None
    """The largest time seen, as a number."""
    count: int = 0
    """How many rows have come."""
    opened: Waiting = Waiting()  # noqa: RUF009

    @property
    def rule(self) -> str:
        return self.like.name

    @property
    def kind(self) -> type:
        """What times are counted in."""
        like: Any = self.like
        found = kind_of(like.time, durations(like))
        assert found is not None
        return found

    @property
    def lateness(self) -> Any:
        like: Any = self.like
        return number(like.lateness)

    @abstractmethod
    def remaining(self) -> Delta:
        """The open windows, in order."""

    def times(self, table: pa.Table) -> tuple[Any, Times]:
        """(the origin, the times of the rows)."""
        like: Any = self.like
        try:
            return times_of(like.time, self.inputs, table, self.origin)
        except NoTime:
            if table.num_rows == 1:  # else the row at fault is searched for
                latest = timedelta(microseconds=self.latest or 0) if self.kind is timedelta else self.latest
                before = replace(like, origin=self.origin, latest=None if self.latest is None else latest)
                before.consume(elements_of(self.inputs[0], table), SequenceValue)
            raise

    def marks(self, times: Times) -> Times:
        """The watermark at each row."""
        marks: Times = np.maximum.accumulate(times)
        if self.latest is not None and self.latest > times[0]:
            np.maximum(marks, self.latest, out=marks)
        marks -= self.lateness
        return marks

    def waiting(self, table: pa.Table, times: Times, places: Places) -> Waiting:
        """What waits, and these rows of a delta."""
        if not len(places):
            return self.opened
        return self.opened.extended(waiting_run(table, places, keys_of_times(times[places]), self.count))

    def after(self, table: pa.Table, origin: Any, times: Times, opened: Waiting, **more: Any) -> Self:
        """After these rows."""
        latest = times.max().item()
        latest = latest if self.latest is None else max(latest, self.latest)
        count = self.count + table.num_rows
        return replace(self, origin=origin, latest=latest, count=count, opened=opened, **more)

    def oldest(self, bound: Any = None) -> tuple[pa.Table | None, Places, Times]:
        """(the rows that wait with times below this one, their places as they came, their times in that order)."""
        runs = list(self.opened.below(1 << 64 if bound is None else key_of(bound, self.kind)))
        if not runs:
            return None, np.zeros(0, np.int64), np.zeros(0, np.float64 if self.kind is float else np.int64)
        table = pa.concat_tables([run.table for run in runs])
        order = arranged(table[ARRIVAL].to_numpy())
        times = times_of_keys(np.concatenate([run.keys.numbers for run in runs]), self.kind)
        return table.drop_columns([ARRIVAL]), order, times[order]

    def closed(self, rows: pa.Table, streams: Places, starts: Times, ends: Times) -> Streams:
        """Whole windows: their rows, which window each is in, and their bounds."""
        tables = [numbered(rows, streams)]
        like: Any = self.like
        of: Any = self.outputs[0]
        if like.bounds:
            fields = layout_of(inner_of(of)[1]).schema
            columns = [_bounds(each, field.type) for each, field in zip((starts, ends), fields, strict=True)]
            tables.append(numbered(pa.Table.from_arrays(columns, schema=fields), np.arange(len(starts))))
        return Streams(of, len(starts), tuple(tables))

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        like: Any = self.like
        left = self.remaining() if like.flush else None
        nothing = StreamColumns(self.outputs[0]).bottom()  # type: ignore[arg-type]
        windows = nothing.concat(left).fix() if isinstance(left, Streams) else nothing.fix()
        return self.cleared(), (windows, self.ended(1))

    def cleared(self) -> Operator:
        return replace(self, opened=Waiting())


def _bounds(moments: Times, kind: pa.DataType) -> pa.Array:
    """Moments as a column: of datetimes they are microseconds from the epoch."""
    try:
        return pa.array(np.asarray(moments, np.float64 if pa.types.is_floating(kind) else np.int64)).cast(kind)
    except OverflowError:
        raise ElementError("the bounds of a window do not fit the 64 bits of their columns") from None


def durations(like: Any) -> list[Any]:
    """The durations that windows of this operator are made of."""
    return [*like.durations().values(), *([like.lateness] if like.lateness else [])]


def counted(like: Any) -> bool:
    """Whether the times are numbers of one kind. Bounds of datetimes have a column if it is known whether there is a
    zone, which a Python function does not say."""
    kind = kind_of(like.time, durations(like))
    return kind is not None and not (like.bounds and kind is timedelta and not isinstance(like.time, Expression))
