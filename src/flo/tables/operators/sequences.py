"""Operators on sequences of rows: running results, positions, the first rows, alerts, and windows of near rows.

    rows by group    scan: sum    enumerate    take(1)
    a    3           3            (0, 3)       3, and then the end of a
    a    4           7            (1, 4)
    b    5           5            (0, 5)       5, and then the end of b

Invariant: what an operator emits for a row follows from the rows of its group up to this row. `counts` has how many
there were.

`window(5)` of values and times: a window has the rows that are at most 5 later than its first.

    time   0  3 │ 9  7  14 │ 15         9 is more than 5 later than 0, and 15 more than 5 later than 9
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Generic, NamedTuple, Self, TypeVar, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Indices, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.core.collection import Collection
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import row_by_row, written
from flo.tables.groups import ONE, Counts, Groups, with_keys
from flo.tables.operator import Grouping, OnTables, Op, Placement
from flo.tables.operators.ordering import Arranged
from flo.tables.operators.results import Accumulating
from flo.tables.state.run import Run
from flo.tables.streams import Streams, add_stream_numbers, expect_nested, inner_of
from flo.tables.translate import form_of
from flo.tables.values import layout_of, of_elements, schema_of
from flo.values.event_time import span_of
from flo.values.operators.sequences import Alert, Enumerate, Scan, Take, Window


@form_of(Scan)
@final
@dataclass(frozen=True)
class ScanTables(Accumulating[Scan]):
    """The running result of each group."""

    name = "scan_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        groups = Groups.of(table, self.keys)
        after, outputs = self.call_by_group(groups)
        results = written(
            [result for output in outputs for result in output.all_units()], of_elements(self.outputs[0]).element
        )
        return after, (self.emitted(with_keys(results, groups.rows, self.keys)),)


P = TypeVar("P", bound=OnTables[Any])


class Numbered(NamedTuple, Generic[P]):
    """Rows with their positions."""

    operator: P
    """The operator after these rows."""
    groups: Groups
    positions: Indices
    """The position of each row in its group, earlier deltas included."""


@dataclass(frozen=True)
class PositionTables(OnTables[Op]):
    """The base of operators that depend on the position of an element in its group."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY

    counts: Counts = field(default=Counts())
    """How many elements each group has had."""

    def number_rows(self, table: pa.Table) -> Numbered[Self]:
        """Groups rows, and gives each its position in its group."""
        groups = Groups.of(table, self.keys)
        before = groups.beside(self.counts.known(groups.keys))
        after = replace(self, counts=self.counts.added(groups.keys, groups.counts))
        return Numbered(after, groups, groups.positions() + before)


@form_of(Enumerate)
@final
@dataclass(frozen=True)
class EnumerateTables(PositionTables[Enumerate]):
    """Every element with its position."""

    name = "enumerate_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, groups, positions = self.number_rows(table)
        numbers = pa.array(positions + self.like.position)
        pairs = side_by_side(self.outputs[0], numbers, layout_of(self.inputs[0]).as_array(groups.rows))
        return after, (self.emitted(with_keys(pairs, groups.rows, self.keys)),)


def side_by_side(pairs: Collection, one: pa.Array, other: pa.Array) -> pa.Table:
    """Pairs of two columns, as a collection of pairs has them."""
    return pa.Table.from_arrays([one, other], schema=layout_of(pairs).schema)


@form_of(Take)
@final
@dataclass(frozen=True)
class TakeTables(PositionTables[Take]):
    """The first elements of each group, and then the end of its stream."""

    name = "take_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, groups, positions = self.number_rows(table)
        first = self.emitted(groups.rows.filter(pa.array(positions < self.like.count)))
        if not self.keys and after.has_ended(ONE)[0]:
            return after, (self.ended() if first is None else first.fix(),)
        return after, (first,)

    def has_ended(self, groups: Run) -> Any:
        return self.counts.known(groups) >= max(1, self.like.count)  # the end of nothing too


@form_of(Alert)
@final
@dataclass(frozen=True)
class AlertTables(OnTables[Alert]):
    """The rows at which a condition becomes true, in each group.

    A row sets the alert, resets it, or leaves it as it was after the row before. So the alert after a row is that of
    the last row up to it that sets or resets it, or that of the group before these rows.
    """

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY

    active: Counts = field(default=Counts())
    """1 for each group with an alert."""

    name = "alert_tables"

    @classmethod
    def fits(cls, like: Alert, inputs: StreamTypes) -> bool:
        conditions = [like.when, *([] if like.recovered is None else [like.recovered])]
        return all(not isinstance(each, Expression) or each.schema.types == [pa.bool_()] for each in conditions)

    @property
    def computes(self) -> bool:
        return False

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        groups = Groups.of(table, self.keys)
        sets = self._holds(self.like.when, groups.rows)
        resets = ~sets if self.like.recovered is None else self._holds(self.like.recovered, groups.rows) & ~sets
        rows, firsts = np.arange(len(sets)), groups.firsts
        last = np.maximum.accumulate(np.where(sets | resets, rows, -1))
        known = self.active.known(groups.keys)
        after = np.where(last >= groups.beside(firsts), sets[last], groups.beside(known))
        before = np.concatenate([[0], after[:-1]])
        before[firsts] = known
        active = self.active.added(groups.keys, after[np.cumsum(groups.counts) - 1] - known)
        alerts = take_rows(groups.rows, np.flatnonzero(sets & (before == 0)))
        return replace(self, active=active), (self.emitted(alerts),)

    def _holds(self, condition: Any, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Returns for which rows a condition is true."""
        if not isinstance(condition, Expression):
            return np.array(list(map(bool, row_by_row(condition, self.inputs, rows))), bool)
        column = one_chunk(condition.results(rows).column(0))
        return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False), bool)


NOTHING = Arranged(())


@form_of(Window)
@final
@dataclass(frozen=True)
class SpanTables(OnTables[Window]):
    """window(interval) of values and their times, which may go back.

    The first row of a window is later than all rows before it, or it would be in the window before. So the row that
    ends a window is the first one whose largest time so far is too late for it. These largest times ascend, and are
    searched by halves.
    """

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE

    opened: Arranged = field(default=NOTHING)
    """The rows of the window that is open."""

    name = "span_tables"

    @classmethod
    def fits(cls, like: Window, inputs: StreamTypes) -> bool:
        """Times must be numbers, or timestamps without a zone."""
        layout = Layout.of(of_elements(inputs[0].collection).element)
        if layout is None or layout.names != ("0", "1") or layout.cells[1].nullable:
            return False
        kind = layout.cells[1].arrow
        spans = timedelta if kind == pa.timestamp("us") else (int, float) if kind in (pa.int64(), pa.float64()) else ()
        is_span = isinstance(like.interval, spans)
        return is_span and not like.interval < like.interval * 0

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        ends = self.find_ends(table)
        if not ends:
            return replace(self, opened=self.opened.extend(self.opened.run(table))), (None,)
        rest = take_rows(table, np.arange(ends[-1], table.num_rows))
        counts = np.diff(ends, prepend=-self.opened.rows)
        after = replace(self, opened=NOTHING.extend(NOTHING.run(rest)))
        return after, (self._streams([table.slice(0, ends[-1])], counts),)

    def close(self, groups: Run) -> tuple[Operator, Deltas]:
        due = self.opened.rows if self.like.flush else 0
        return replace(self, opened=NOTHING), (self._streams([], [due]) if due else None,)

    def _streams(self, more: list[pa.Table], counts: Any) -> Streams:
        """Makes inner streams with these numbers of rows, of the open rows and of more."""
        of: Any = self.outputs[0]
        opened = self.opened.table()
        table = pa.concat_tables(more if opened is None else [opened, *more])
        return Streams(
            of, len(counts), (add_stream_numbers(self.inner(table), np.repeat(np.arange(len(counts)), counts)),)
        )

    def find_ends(self, table: pa.Table) -> list[int]:
        """Returns for each window that ends in these rows, how many of them come before its end."""
        interval = span_of(self.like.interval)
        times = _times(table)
        reached = np.fmax.accumulate(times).tolist()
        ends: list[int] = []
        at, first = (
            (0, _times(self.opened.runs[0].table.slice(0, 1))[0].item()) if self.opened.runs else (1, reached[0])
        )
        while True:
            at = bisect_left(reached, True, lo=at, key=lambda time: time - first > interval)
            if at == len(reached):
                return ends
            ends.append(at)
            first = reached[at]

    def inner(self, table: pa.Table) -> pa.Table:
        """The rows as inner streams have them."""
        (of,) = inner_of(expect_nested(self.outputs[0]))
        values = one_chunk(table["0"])
        columns = [values] if layout_of(of).form == "value" else values.flatten()
        return pa.Table.from_arrays(columns, schema=schema_of(of))


def _times(table: pa.Table) -> npt.NDArray[Any]:
    column = one_chunk(table["1"])
    numbers = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    times: npt.NDArray[Any] = numbers.to_numpy(zero_copy_only=False)
    return times
