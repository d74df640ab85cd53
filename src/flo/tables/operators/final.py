"""Final groups on tables: rows wait by the ends of their windows, and are aggregated when a clock is there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Numbers, one_chunk
from flo.columns.layout import VALUE
from flo.columns.windowing import Times, time_kind
from flo.core.operator import Delta, Deltas, Operator, Step, Values
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.faults import show_row
from flo.tables.functions import apply_function
from flo.tables.operator import Cut, Grouping, Placement, ReadsClocks, kept, register_in, to_table_type, to_value_type
from flo.tables.operators.clocked_windows import clocked_steps
from flo.tables.operators.group_by import GroupByTables, group_by
from flo.tables.state.expiring import LAST, Expiring, is_before
from flo.tables.state.keys import keys_of
from flo.tables.state.trace import consolidate_table
from flo.tables.translate import CHOICES
from flo.tables.values import layout_of
from flo.values.operators.final import FinalGroups, came_behind
from flo.values.operators.retain import to_number


@final
@dataclass(frozen=True)
class FinalTables(ReadsClocks[FinalGroups]):
    """The groups whose end the clock has reached. Of the others the rows are kept, equal ones of a delta as one."""

    placement = Placement.BY_KEY
    grouping = Grouping.NONE
    keeps_positions = False

    waiting: Expiring = kept(Expiring(()), Cut.BY_GROUP)
    """The rows of open windows, by their ends. They are cut by the columns of the group."""
    mark: Any = kept(None, Cut.LATEST)
    """How far the clock has come, as a number."""
    behind: Expiring = kept(Expiring(()), Cut.BY_GROUP)
    """The changes of windows that have ended, which cancel out."""

    name = "final_tables"

    @cached_property
    def _groups(self) -> GroupByTables:
        """The aggregation of rows that are complete."""
        of = StreamType(self.inputs[0], bounded=True)
        found = group_by(self.like.groups, (of,))
        assert isinstance(found, GroupByTables)
        table = to_table_type(of)
        assert table is not None
        return found.typed((table,))

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns that are the group."""
        return layout_of(self.inputs[0]).names[: self.like.groups.keys]

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        return self._columns if place == 0 else None

    def key_numbers(self, place: int, table: pa.Table) -> Numbers:
        return keys_of([table[name] for name in self._columns]).numbers

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns if set(columns) <= set(self._columns) else None

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        rows = consolidate_table(table.combine_chunks())
        if not rows.num_rows:
            return self, (None,)
        ends = apply_function(self.like.end, (self.inputs[0],), rows)[VALUE]
        numbers = Times.of(self.like.name, one_chunk(ends)).numbers
        if self.mark is None:
            return replace(self, waiting=self.waiting.added(rows, numbers)), (None,)
        is_behind = is_before(numbers, self._beyond(self.mark))
        after, open_rows = self._with_behind(rows, numbers, is_behind), ~is_behind
        if open_rows.any():
            waiting = self.waiting.added(rows.filter(pa.array(open_rows)), numbers[open_rows])
            after = replace(after, waiting=waiting)
        return after, (None,)

    def _with_behind(self, rows: pa.Table, numbers: Any, which: Any) -> FinalTables:
        """The operator with more rows of windows that have ended."""
        if not which.any():
            return self
        behind = self.behind.added(rows.filter(pa.array(which)), numbers[which]).consolidated()
        return replace(self, behind=behind if behind.runs else Expiring(()))

    def _expect_none_behind(self) -> None:
        """Raises if a row has come whose window the clock had passed."""
        table = self.behind.table()
        if table is not None:
            raise came_behind(show_row(self.inputs[0], table.slice(0, 1)))

    def steps_by_clock(self, inputs: Values, *, onwards: bool) -> Iterator[Step]:
        yield from clocked_steps(self, inputs, onwards=onwards)

    def at(self, moment: Any) -> tuple[Operator, Deltas]:
        """The operator and the groups that are final when the clock is at this moment."""
        mark = to_number(moment)
        if self.mark is not None and mark <= self.mark:
            return self, (None,)
        self._expect_none_behind()
        rows, waiting = self._until(self._beyond(mark))
        return replace(self, mark=mark, waiting=waiting), (self._grouped(rows),)

    def finished(self) -> tuple[Operator, Deltas]:
        self._expect_none_behind()
        last = self._grouped(self._until(math.inf if self._has_floats else LAST + 1)[0]) if self.like.flush else None
        return self.reset(), (self.ended() if last is None else last.fix(),)

    @property
    def _has_floats(self) -> bool:
        return time_kind(self.like.end.layout.cells[0].arrow) is float  # type: ignore[attr-defined]

    def _beyond(self, mark: Any) -> Any:
        """The first number behind a mark."""
        return math.nextafter(mark, math.inf) if self._has_floats else math.floor(mark) + 1

    def _until(self, until: Any) -> tuple[pa.Table | None, Expiring]:
        """The rows with ends before this number, and those left."""
        return self.waiting.expired(None if self.mark is None else self._beyond(self.mark), until)

    def _grouped(self, rows: pa.Table | None) -> Delta:
        """The groups of these rows, which are all rows that they have."""
        if rows is None:
            return None
        (delta,) = self._groups.consume(rows)[1]
        return None if delta is None else self.emitted(delta.table)  # type: ignore[attr-defined]


@register_in(CHOICES, FinalGroups)
def final_groups(like: FinalGroups, inputs: StreamTypes) -> tuple[StreamTypes, Operator] | None:
    """Returns the form on tables, if the aggregation has one and ends are numbers or times; the clock stays a value."""
    rows, of = to_table_type(inputs[0]), to_value_type(inputs[0])
    if rows is None or not isinstance(like.end, Expression) or like.end.layout.form != "value":
        return None
    if time_kind(like.end.layout.cells[0].arrow) is None or not layout_of(of.collection).hashable:
        return None
    return ((rows, inputs[1]), FinalTables(like)) if group_by(like.groups, (of,)) is not None else None
