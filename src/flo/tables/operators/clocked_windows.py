"""Tumbling and sliding windows that follow a clock, on tables: for all rows, or for every key.

Windows of 10. The rows of all keys wait together, sorted by time, and the clock moves from 8 to 20:

    time  key
    11    b    ┐ [10, 20) has ended: these rows leave, as an inner stream for a and one for b
    13    a    ┘
    24    a      waits

Invariant: the rows of windows that end at the clock or before it have left. All rows are on time by the clock, so none
is late.

When the clock moves, the rows that leave are the first ones in the order of time; only then they are grouped by key. So
a clock that does not end a window costs nothing, however many keys there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Indices, sort_numbers, take_rows
from flo.core.collection import End
from flo.core.operator import Deltas, Operator, Step, Values
from flo.core.stream_type import StreamTypes
from flo.core.untyped import TimeValue
from flo.tables.groups import ONE, Groups, distinct_keys
from flo.tables.keyed import ENDED, KeyedColumns, expect_keyed
from flo.tables.operator import Grouping, Placement, register_in, to_table_type, to_value_type
from flo.tables.operators.clocks import ClockOfAll, Times, has_numbers
from flo.tables.operators.per_key import CLOCKED, WithForm, output_of
from flo.tables.operators.windowers import AlignedClosing, Assigned, Grid
from flo.tables.operators.windows import EmitsWindows, can_wait
from flo.tables.state.expiring import FIRST, LAST, in_order
from flo.tables.state.keys import Keys
from flo.tables.state.panes import ARRIVAL
from flo.tables.state.panes import TIME as PANE_TIME
from flo.tables.state.run import Run
from flo.tables.state.timed import TIME, Timed, times_in
from flo.tables.streams import Streams
from flo.tables.translate import CHOICES
from flo.tables.values import WEIGHT
from flo.values.operators.retain import to_number
from flo.values.operators.windows import Sliding, TimeWindows, Tumbling

NOTHING: Indices = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class ClockedWindows(EmitsWindows):
    """The windows that a clock has not passed."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE

    waiting: Timed = Timed(())  # noqa: RUF009
    """The rows of open windows, by time."""
    mark: TimeValue = None
    """How far the clock has come, as a number."""
    count: int = 0
    """How many rows have come."""

    name = "clocked_windows"

    @property
    def grid(self) -> Grid:
        windower = self.windower
        assert isinstance(windower, Grid)
        return windower

    def _moment(self, mark: TimeValue) -> Times:
        """The clock as an array of one time, with which windows are compared."""
        if self.grid.axis.kind is float:
            exact: Times = self.grid.axis.exact(np.array([mark], np.float64))
            return exact
        whole = math.floor(mark)  # no window of integers ends between the two
        if not FIRST <= whole <= LAST:
            return np.array([whole], object)
        return self.grid.axis.exact(np.array([whole], np.int64))

    @property
    def held(self) -> Timed:
        """The rows that wait, with the time before which they are only in windows that have closed."""
        gone = None
        if self.mark is not None:
            grid = self.grid
            gone = grid.axis.bounds(grid.start(grid.after(self._moment(self.mark))))[0].item()
        return replace(self.waiting, columns=(TIME,), mark=gone)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        if WEIGHT in table.column_names and pc.max(table[WEIGHT]).as_py() > 1:
            table = take_rows(table, np.repeat(np.arange(table.num_rows), table[WEIGHT].to_numpy()))
        axis = self.grid.axis
        zoned, times = axis.times(Groups.of(table, ()), ClockOfAll().read(ONE, axis.kind))
        self.expect_bounds(times, zoned=zoned)
        if (exact := axis.exact(times)).dtype == object:
            self.grid.last(exact)  # refuses a time that is too large for its window
        order, numbers = sort_numbers(in_order(times))
        rows = take_rows(table.select([*self.keys, *self._names]), order)
        rows = rows.append_column(pa.field(ARRIVAL, pa.int64(), nullable=False), pa.array(self.count + order))
        rows = rows.append_column(pa.field(TIME, pa.array(times[:0]).type, nullable=False), pa.array(times[order]))
        waiting = self.held.extend(Run((TIME,), Keys(numbers, exact=False), rows))
        return replace(self, waiting=waiting, count=self.count + table.num_rows), (None, None)

    def at(self, moment: TimeValue) -> tuple[Self, Deltas]:
        """Moves the clock to a moment: returns the operator, and the windows that close."""
        mark = to_number(moment)
        if self.mark is not None and mark <= self.mark:
            return self, (None, None)
        stops = self.grid.after(self._moment(mark))
        closed = self._close_between(self._first_open(), stops)
        after = replace(self, mark=mark)
        return replace(after, waiting=after.held.drop_gone_runs()), (closed, None)

    def _first_open(self) -> Any:
        """The first window that is open; None if all are."""
        return None if self.mark is None else self.grid.after(self._moment(self.mark))

    def _close_between(self, begin: Any, stops: Any) -> Streams | None:
        """Closes the windows from the number `begin` on and before `stops`; None stands for no bound."""
        grid = self.grid
        since = None if begin is None else grid.axis.bounds(grid.start(begin))
        until = None if stops is None else grid.axis.bounds(grid.end(stops - 1))
        parts = []
        for each in self.waiting.runs:
            times = times_in(each)
            low = 0 if since is None else int(np.searchsorted(times, since[0]))
            high = len(times) if until is None else int(np.searchsorted(times, until[0]))
            parts += [each.table.slice(low, high - low)] if low < high else []
        if not parts:
            return None
        rows = pa.concat_tables(parts).combine_chunks()
        rows = rows.rename_columns([PANE_TIME if name == TIME else name for name in rows.column_names])
        keys, owners = ONE, NOTHING
        if self.keys:
            keys, equal = distinct_keys(rows, self.keys)
            owners = equal.numbers()
        every = np.arange(keys.rows)
        begins, ends = (None if each is None else np.repeat(each, keys.rows) for each in (begin, stops))
        none: Times = np.zeros(0)
        closing = AlignedClosing(grid, every, none, None, none, begins, ends)
        assigned = Assigned(NOTHING, NOTHING, NOTHING, None, NOTHING, closing, None, None)
        return self._close(Groups(pa.table({}), keys, NOTHING), assigned, owners, rows)

    def last(self) -> Deltas:
        """The windows that are open when rows and clock have ended, if they are to be flushed."""
        return (self._close_between(self._first_open(), None) if self.like.flush else None), None

    def steps(self, inputs: Values) -> Iterator[Step]:
        return clocked_steps(self, inputs)

    def finished(self) -> tuple[Operator, Deltas]:
        deltas = self.last()
        return self.reset(), tuple(
            self.ended(index) if delta is None else delta.fix() for index, delta in enumerate(deltas)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClockedWindows):
            return NotImplemented
        mine, theirs = ((each.like, each.mark, each.count) for each in (self, other))
        return mine == theirs and self.held == other.held

    def __hash__(self) -> int:
        return hash((self.like, self.mark, self.count))


def clocked_steps(operator: Any, inputs: Values) -> Iterator[Step]:
    """The steps of an operator on rows and a clock: rows come first, then the clock, and then the ends."""
    rows: Any = inputs[0]
    clock: Any = inputs[1]
    if rows.has_content():
        step = operator.consume_step((rows,))
        yield replace(step, rule=f"{operator.rule}-row", inputs=(*step.inputs, clock))
    elif not clock.is_bottom():
        after, outputs = operator.at(clock.value)
        yield Step(f"{operator.rule}-clock", (rows, clock.drained()), after, outputs, settled=True)
    elif rows.end is not End.OPEN and clock.end is not End.OPEN and End.ARRIVED in (rows.end, clock.end):
        yield Step(f"{operator.rule}-terminated", (rows.passed(), clock.passed()), *operator.finished())


@final
@dataclass(frozen=True)
class ClockedOfEveryKey(WithForm[TimeWindows]):
    """Windows that follow a clock, of every key of a keyed stream."""

    name = "clocked_of_every_key"

    def take_in(self, value: Any) -> tuple[Operator, Deltas]:
        form = self.form.consume(value.table)[0] if value.table.num_rows else self.form
        said = value.keys.filter(pc.invert(value.keys[ENDED]))  # a key ends with all others, and the clock
        return replace(self, form=form), tuple(output_of(of, None, said) for of in self.outputs)

    def at(self, moment: TimeValue) -> tuple[Operator, Deltas]:
        form, deltas = self.form.at(moment)
        return replace(self, form=form), self._outputs(deltas)

    def _outputs(self, deltas: Deltas) -> Deltas:
        return tuple(
            None if delta is None else output_of(of, delta, self.nothing_said)
            for of, delta in zip(self.outputs, deltas, strict=True)
        )

    @property
    def nothing_said(self) -> pa.Table:
        return KeyedColumns(expect_keyed(self.inputs[0])).bottom().keys

    def steps(self, inputs: Values) -> Iterator[Step]:
        return clocked_steps(self, inputs)

    def finished(self) -> tuple[Operator, Deltas]:
        deltas = self._outputs(self.form.last())
        after = replace(self.reset(), form=self.form.reset())
        return after, tuple(self.ended(index) if delta is None else delta.fix() for index, delta in enumerate(deltas))


def fits(like: TimeWindows) -> bool:
    """Whether windows that follow a clock have a form: those at regular places, of times that are numbers."""
    return like.by_clock and isinstance(like, (Tumbling, Sliding)) and has_numbers(like)


@register_in(CLOCKED, Tumbling, Sliding)
def windows_of_every_key(like: TimeWindows, inputs: StreamTypes) -> Operator | None:
    """Returns the form for all keys of windows that follow a clock, if they have one."""
    return ClockedOfEveryKey(like, ClockedWindows(like)) if fits(like) else None


@register_in(CHOICES, Tumbling, Sliding)
def windows_by_clock(like: TimeWindows, inputs: StreamTypes) -> tuple[StreamTypes, Operator] | None:
    """Returns the form of windows that follow a clock, which stays one value; None for other windows."""
    rows, values = to_table_type(inputs[0]), tuple(map(to_value_type, inputs))
    if rows is None or not fits(like) or any(out is None for out in like.type(values)):
        return None
    if not can_wait(values[0].collection):
        return None
    return (rows, inputs[1]), ClockedWindows(like)
