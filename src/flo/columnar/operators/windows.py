"""Windows of event time on tables: the numbers of all windows of a delta at once, and which of its rows are late.

The watermark before each row is the largest time up to it, less the lateness; so a running maximum tells, for every row
of a delta, what element by element would have told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flo.columnar.expression import Expression
from flo.columnar.functions import applied
from flo.columnar.keys import Places, one_chunk
from flo.columnar.layout import VALUE
from flo.columnar.operator import OnTables
from flo.columnar.rows import Rows
from flo.columnar.run import expanded, taken
from flo.columnar.streams import StreamColumns, Streams, numbered
from flo.columnar.translate import form_of
from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.operator import Delta, Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.values.operators.time_windows import Sliding, Tumbling

Times = npt.NDArray[np.int64]
Parts = tuple[Rows, ...]


@final
@dataclass(frozen=True)
class WindowTables(OnTables):
    """`opened` has the rows of each open window, as the tables that they came in: a checkpoint writes each once."""

    latest: int | None = None
    opened: PersistentMap[int, Parts] = PersistentMap()  # noqa: RUF009

    name = "window_tables"

    @property
    def rule(self) -> str:  # type: ignore[override]
        return self.like.name

    @property
    def _widths(self) -> tuple[int, int, int]:
        like: Any = self.like
        return microseconds(like.size), microseconds(like.slide), microseconds(like.lateness or 0)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        size, slide, lateness = self._widths
        times = self._times(table)
        reached = np.maximum.accumulate(times if self.latest is None else np.maximum(times, self.latest))
        last = times // slide
        first = (times - size) // slide + 1
        counts = last - first + 1
        windows = expanded(first, counts)
        rows = np.repeat(np.arange(len(times)), counts)
        closed = windows * slide + size <= reached[rows] - lateness
        late = np.unique(rows[closed])
        opened, latest = self._added(table, rows[~closed], windows[~closed]), int(reached[-1])
        done = sorted(n for n in opened.to_dict() if n * slide + size <= latest - lateness)
        after = replace(self, latest=latest, opened=opened.updated(dict.fromkeys(done), drop=None))
        return after, (self._emitted(opened, done), self.emitted(taken(table, late), 1) if len(late) else None)

    def _times(self, table: pa.Table) -> Times:
        like: Any = self.like
        column = one_chunk(applied(like.time, self.inputs, table)[VALUE])
        times: Times = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return times

    def _added(self, table: pa.Table, rows: Places, windows: Places) -> PersistentMap[int, Parts]:
        """The open windows with these rows, in the order of their arrival."""
        order = np.argsort(windows, kind="stable")
        windows, parts = windows[order], taken(table, rows[order])
        starts = np.concatenate([[0], np.flatnonzero(np.diff(windows)) + 1, [len(windows)]]) if len(windows) else [0]
        changes = {}
        for low, high in pairwise(starts):
            number = int(windows[low])
            changes[number] = (
                *self.opened.get(number, ()),
                Rows(self.inputs[0], parts.slice(int(low), int(high - low))),
            )
        return self.opened.updated(changes)

    def _emitted(self, opened: PersistentMap[int, Parts], numbers: list[int]) -> Delta:
        if not numbers:
            return None
        parts = [part.table for number in numbers for part in opened[number]]
        counts = [sum(part.table.num_rows for part in opened[number]) for number in numbers]
        whole = numbered(pa.concat_tables(parts), np.repeat(np.arange(len(numbers)), counts))
        return Streams(self.outputs[0], len(numbers), (whole,))  # type: ignore[arg-type]

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        like: Any = self.like
        left = self._emitted(self.opened, sorted(self.opened.to_dict())) if like.flush else None
        nothing = StreamColumns(self.outputs[0]).bottom()  # type: ignore[arg-type]
        windows = nothing.concat(left).fix() if isinstance(left, Streams) else nothing.fix()
        return replace(self, opened=PersistentMap()), (windows, self.ended(1))


def microseconds(duration: Any) -> int:
    """A duration in the unit of the time column: microseconds, or whole numbers as they are."""
    return duration // timedelta(microseconds=1) if isinstance(duration, timedelta) else duration


@form_of(Tumbling, Sliding)
def windows(like: Any, inputs: StreamTypes) -> Operator | None:
    """Where times are whole numbers or timestamps without a zone, and windows do not say their bounds."""
    if like.bounds or not isinstance(like.time, Expression):
        return None
    kind = like.time.schema.field(VALUE).type if like.time.schema.names == [VALUE] else None
    durations = [like.size, like.slide, *([like.lateness] if like.lateness else [])]
    if kind == pa.int64():
        return WindowTables(like) if all(type(each) is int for each in durations) else None
    if kind == pa.timestamp("us"):
        return WindowTables(like) if all(isinstance(each, timedelta) for each in durations) else None
    return None
