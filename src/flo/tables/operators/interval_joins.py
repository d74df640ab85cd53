"""join_interval on tables: rows of one key whose times are close, in traces by key and time.

A left row at time t meets the right rows of its key in [t + low, t + high]. With low = 0 and high = 5:

    left             right             pairs
    key  time        key  time
    a    10          a    12           (10, 12)      12 is in [10, 15]
                     a    17           none          17 is not
    b    11          b    11           (11, 11)

Invariant: a row is kept as long as a row on time of the other side may meet it. When the clock of the right side is at
16, the left row at 10 has met all that it will, and leaves. When the clock of the left side is at 18, the right rows
before 18 + low do.

A delta is searched for in the runs of the other side by key and interval of times, and then added to its own side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import one_chunk
from flo.columns.layout import VALUE
from flo.columns.windowing import TimeNumbers, time_kind
from flo.core.collection import End
from flo.core.operator import Deltas, Operator, Step, Values
from flo.core.stream_type import StreamTypes
from flo.core.untyped import TimeValue
from flo.tables.functions import apply_function
from flo.tables.operator import (
    Cut,
    Grouping,
    kept,
    register_in,
    to_output_type,
    to_table_type,
    to_value_type,
)
from flo.tables.operators.joins import SidesByKey
from flo.tables.operators.meetings import Joined, Meeting, pair_rows
from flo.tables.state.run import Run
from flo.tables.state.timed import Timed, add_span, match_times, timed_run, times_in
from flo.tables.translate import CHOICES
from flo.values.event_time import span_of
from flo.values.operators.interval_joins import IntervalJoin
from flo.values.operators.retain import to_number
from flo.values.operators.shapes import SIDES
from flo.values.row_functions import passed_by

NO_ROWS = Timed(())


@final
@dataclass(frozen=True, eq=False)
class IntervalTables(SidesByKey[IntervalJoin]):
    """The rows of both sides that the clock of the other has not passed."""

    grouping = Grouping.NONE

    left: Timed = kept(NO_ROWS, Cut.BY_KEY)
    right: Timed = kept(NO_ROWS, Cut.BY_KEY)
    left_mark: TimeValue = kept(None, Cut.LATEST)
    """How far the clock of the left side has come, as a number."""
    right_mark: TimeValue = kept(None, Cut.LATEST)
    left_over: bool = kept(False, Cut.SAME)
    """Whether the left side has ended."""
    right_over: bool = kept(False, Cut.SAME)

    name = "interval_tables"
    rule = "join-interval"

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return passed_by(self.like.into, columns)

    def kept_rows(self, side: int) -> Timed:
        """The rows of a side, with the time before which they have met all of the other side, and leave."""
        if side == 0:
            return replace(self.left, mark=self.right_mark, span=span_of(self.like.high))
        mark = None if self.left_mark is None else self.left_mark + span_of(self.like.low)
        return replace(self.right, mark=mark)

    def _sort(self, side: int, table: pa.Table) -> Run:
        rows, columns = self.with_key(side, table.combine_chunks())
        time = self.like.time if side == 0 else self.like.other_time
        times = TimeNumbers.of(self.like.name, one_chunk(apply_function(time, (self.inputs[side],), table)[VALUE]))
        return timed_run(rows, columns, times.numbers)

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self._sort(0, left), self._sort(1, right)
        lefts, rights = self.kept_rows(0), self.kept_rows(1)
        low, high = span_of(self.like.low), span_of(self.like.high)
        meetings: list[Meeting] = []
        times = times_in(one)
        since, until = add_span(times, low), add_span(times, high)
        for each in (*rights.runs, other):
            ours, theirs = match_times(one, each, since, until)
            meetings += [Meeting(one, each, ours, theirs)] if len(ours) else []
        times = times_in(other)
        since, until = add_span(times, -high, down=True), add_span(times, -low, up=True)
        for each in lefts.runs:
            theirs, ours = match_times(other, each, since, until)
            if times.dtype == np.float64:  # sums are compared, as on values, and not differences
                at = times_in(each)[ours]
                close = (at + low <= times[theirs]) & (times[theirs] <= at + high)
                ours, theirs = ours[close], theirs[close]
            meetings += [Meeting(each, other, ours, theirs)] if len(ours) else []
        inputs = self.inputs[:2]
        pairs = pair_rows(Joined(self.like, inputs, self.outputs[0]), meetings)  # type: ignore[arg-type]
        after = replace(
            self,
            left=self.left if self.right_over else lefts.extend(one),
            right=self.right if self.left_over else rights.extend(other),
        )
        return after, (self.emitted(pairs),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        rows: Any = inputs[:2]
        clocks: Any = inputs[2:]
        if any(each.has_content() for each in rows):
            step = self.consume_step(rows)
            yield replace(step, inputs=(*step.inputs, *clocks))
            return
        for side in range(2):
            passed = [*inputs]
            if not clocks[side].is_bottom():
                passed[2 + side] = clocks[side].drained()
                after = self._move_clock(side, to_number(clocks[side].value))
                yield Step(f"join-interval-clock{SIDES[side]}", tuple(passed), after, (None,), settled=True)
                return
            if rows[side].end is End.ARRIVED and clocks[side].end is End.ARRIVED:
                passed[side], passed[2 + side] = rows[side].passed(), clocks[side].passed()
                yield self._end_side(side, tuple(passed))
                return

    def _end_side(self, side: int, rests: Values) -> Step:
        """The step at the end of a side: rows of the other are not kept any more, or the join ends, too."""
        if self.right_over if side == 0 else self.left_over:
            return Step("join-interval-terminated", rests, self.reset(), (self.ended(),))
        own, other = SIDES[side][1:], SIDES[1 - side][1:]
        changes: dict[str, Any] = {f"{own}_over": True, other: NO_ROWS}
        return Step(f"join-interval{SIDES[side]}-ended", rests, replace(self, **changes), (None,))

    def _move_clock(self, side: int, mark: TimeValue) -> Operator:
        """Moves the clock of a side to a mark, and drops the rows of the other side that have met all of this one."""
        before = self.left_mark if side == 0 else self.right_mark
        if before is not None and mark <= before:
            return self
        changes: dict[str, Any] = {f"{SIDES[side][1:]}_mark": mark}
        after = replace(self, **changes)
        changes = {SIDES[1 - side][1:]: after.kept_rows(1 - side).drop_gone_runs()}
        return replace(after, **changes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IntervalTables):
            return NotImplemented
        mine, theirs = (
            (each.like, each.left_mark, each.right_mark, each.left_over, each.right_over) for each in (self, other)
        )
        return mine == theirs and all(self.kept_rows(side) == other.kept_rows(side) for side in range(2))

    def __hash__(self) -> int:
        return hash((self.like, self.left_mark, self.right_mark))


@register_in(CHOICES, IntervalJoin)
def interval_join(like: IntervalJoin, inputs: StreamTypes) -> tuple[StreamTypes, Operator] | None:
    """Returns the form on tables, if the times of both sides are columns of one kind; clocks stay values."""
    tables: list[Any] = [to_table_type(stream) for stream in inputs[:2]]
    values = tuple(map(to_value_type, inputs))
    if None in tables or any(to_output_type(out) is None for out in like.type(values)):
        return None
    kinds = []
    for time in (like.time, like.other_time):
        if not isinstance(time, Expression) or time.layout.form != "value":
            return None
        kinds.append(time_kind(time.layout.cells[0].arrow))
    spans = (timedelta,) if kinds[0] is timedelta else (int,) if kinds[0] is int else (int, float)
    if kinds[0] is None or kinds[0] != kinds[1] or not all(type(span) in spans for span in (like.low, like.high)):
        return None
    return (*tables, *inputs[2:]), IntervalTables(like)
