"""`retain` on tables: rows that a clock has passed are retracted. Those that it has not passed are kept by their times.

`keep` is 10, and the clock moves from 15 to 20, so rows before 10 expire:

    row  time  weight     retained        expired
    r    8     +1         - r             + r
    s    12    +1         (stays)
    t    9     +1         (arrives when the clock is at 20)
                                          + t

Invariant: the sum of the first output has the rows that are not before the clock less `keep`, and the second one all
others. A row that is before it when it arrives, or that has no time, goes to the second output at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, final

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
from flo.tables.io.changes import negate_weights
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept, register_in, to_table_type, to_value_type
from flo.tables.state.expiring import Expiring, Interval, is_before
from flo.tables.translate import CHOICES
from flo.tables.values import layout_of
from flo.values.operators.retain import Retain


@final
@dataclass(frozen=True)
class RetainTables(OnTables[Retain]):
    """The rows that the clock has not passed, and beside them those that it has."""

    placement = Placement.BY_KEY
    grouping = Grouping.NONE
    cancels = True

    waiting: Expiring = kept(Expiring(()), Cut.BY_GROUP)
    """The rows that have not expired."""
    mark: TimeValue = kept(None, Cut.LATEST)
    """The time before which rows have expired, as a number."""
    is_over: bool = kept(False, Cut.LATEST)
    """Whether the clock has ended: then nothing more expires."""

    name = "retain_tables"
    rule = "retain-rows"

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        return layout_of(self.inputs[0]).names if place == 0 else None

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        column = apply_function(self.like.time, (self.inputs[0],), table)[VALUE]
        times = TimeNumbers.of(self.like.name, one_chunk(column))
        gone = times.null if self.mark is None else times.null | is_before(times.numbers, self.mark)
        late, rows = table.filter(pa.array(gone)), table.filter(pa.array(~gone))
        after = self
        if rows.num_rows and not self.is_over:
            after = replace(self, waiting=self.waiting.add(rows, times.numbers[~gone]))
        return after, (self.emitted(rows), self.emitted(late, 1))

    def steps(self, inputs: Values) -> Iterator[Step]:
        rows: Any = inputs[0]
        clock: Any = inputs[1]
        if rows.has_content():
            step = self.consume_step((rows,))
            yield replace(step, inputs=(*step.inputs, clock))
        elif not clock.is_bottom():
            yield Step("retain-clock", (rows, clock.drained()), *self._move_clock(clock.value))
        elif clock.ending() and rows.end is not End.OPEN:
            ends = self.ended(0), self.ended(1)
            yield Step("retain-terminated", (rows.passed(), clock.passed()), self.reset(), ends)
        elif rows.end is End.ARRIVED and clock.end is End.PASSED:
            yield Step("retain-terminated", (rows.passed(), clock), self.reset(), (self.ended(0), self.ended(1)))
        elif clock.ending():
            after = replace(self, waiting=Expiring(()), is_over=True)
            yield Step("retain-clock-ended", (rows, clock.passed()), after, (None, None))

    def _move_clock(self, moment: TimeValue) -> tuple[Operator, Deltas]:
        """Moves the clock to a moment: returns the operator, and the rows that expire."""
        mark = self.like.mark_of(moment)
        if self.mark is not None and mark <= self.mark:
            return self, (None, None)
        rows, waiting = self.waiting.take(Interval(self.mark, mark))
        after = replace(self, mark=mark, waiting=waiting)
        if rows is None:
            return after, (None, None)
        return after, (self.emitted(negate_weights(rows)), self.emitted(rows, 1))


@register_in(CHOICES, Retain)
def retain(like: Retain, inputs: StreamTypes) -> tuple[StreamTypes, Operator] | None:
    """Returns the form on tables, if the time is a column of numbers or times; the clock stays one value."""
    rows, of = to_table_type(inputs[0]), to_value_type(inputs[0]).collection
    if rows is None or not isinstance(like.time, Expression) or like.time.layout.form != "value":
        return None
    kind = time_kind(like.time.layout.cells[0].arrow)
    if kind is None or not layout_of(of).hashable:
        return None
    if like.keep and isinstance(like.keep, timedelta) != (kind is timedelta):
        return None
    return (rows, inputs[1]), RetainTables(like)
