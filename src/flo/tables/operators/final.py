"""Final groups on tables: what wait are rows by the ends of their windows, or groups, whose sums are kept beside them.

Where all aggregates are computed of sums, as counts and averages are, the sums of each open group are kept, and no
rows. Otherwise the rows wait, and are aggregated when the clock is at their end.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import one_chunk, take_rows
from flo.columns.layout import VALUE
from flo.columns.windowing import TimeNumbers, time_kind
from flo.core.operator import Delta, Deltas, Operator, Step, Values
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.functions import apply_function
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept, register_in, to_table_type, to_value_type
from flo.tables.operators.clocked_windows import clocked_steps
from flo.tables.operators.group_by import GroupByTables, group_by
from flo.tables.state.expiring import LAST, TIME, Expiring, is_before
from flo.tables.state.run import run_of
from flo.tables.state.totals import Totals, normalize, run_of_sums
from flo.tables.state.trace import add_checked, consolidate_table, with_weights
from flo.tables.translate import CHOICES
from flo.tables.values import WEIGHT, layout_of
from flo.values.operators.final import FinalGroups, came_behind
from flo.values.operators.retain import to_number


@dataclass(frozen=True)
class Ending(OnTables[FinalGroups]):
    """The groups whose end the clock has reached."""

    placement = Placement.BY_KEY
    grouping = Grouping.NONE
    keeps_positions = False

    waiting: Expiring = kept(Expiring(()), Cut.BY_GROUP)
    """What waits, by the ends of windows that are open. It is cut by the columns of the group."""
    mark: Any = kept(None, Cut.LATEST)
    """How far the clock has come, as a number."""
    behind: Expiring = kept(Expiring(()), Cut.BY_GROUP)
    """The same of windows that have ended. It must cancel out until the clock is read."""

    @abstractmethod
    def arrived(self, table: pa.Table) -> tuple[Self, pa.Table]:
        """The operator with the rows of a delta, and what is to wait."""

    @abstractmethod
    def grouped(self, waited: pa.Table) -> tuple[Self, pa.Table]:
        """The operator without what has waited, and the rows of its groups, which are complete."""

    @cached_property
    def groups(self) -> GroupByTables:
        """The aggregation, without state."""
        return _aggregation(self.like, StreamType(self.inputs[0], bounded=True))  # type: ignore[return-value]

    @property
    def group(self) -> tuple[str, ...]:
        """The columns that are the group."""
        return layout_of(self.inputs[0]).names[: self.like.groups.keys]

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        return self.group if place == 0 else None

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns if set(columns) <= set(self.group) else None

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, rows = self.arrived(table.combine_chunks())
        if not rows.num_rows:
            return after, (None,)
        ends = apply_function(self.like.end, (self.inputs[0],), rows)[VALUE]
        numbers = TimeNumbers.of(self.like.name, one_chunk(ends)).numbers
        if self.mark is None:
            return replace(after, waiting=self.waiting.added(rows, numbers)), (None,)
        is_behind = is_before(numbers, self._beyond(self.mark))
        if not is_behind.any():
            return replace(after, waiting=self.waiting.added(rows, numbers)), (None,)
        behind = self.behind.added(rows.filter(pa.array(is_behind)), numbers[is_behind]).consolidated()
        waits = rows.filter(pa.array(~is_behind))
        waiting = self.waiting.added(waits, numbers[~is_behind]) if waits.num_rows else self.waiting
        return replace(after, waiting=waiting, behind=behind if behind.runs else Expiring(())), (None,)

    def steps(self, inputs: Values) -> Iterator[Step]:
        return clocked_steps(self, inputs)

    def at(self, moment: Any) -> tuple[Operator, Deltas]:
        """The operator and the groups that are final when the clock is at this moment."""
        mark = to_number(moment)
        if self.mark is not None and mark <= self.mark:
            return self, (None,)
        after, groups = self._released(self._beyond(mark))
        return replace(after, mark=mark), (groups,)

    def finished(self) -> tuple[Operator, Deltas]:
        _, last = self._released(math.inf if self._has_floats else LAST + 1) if self.like.flush else (self, None)
        return self.reset(), (self.ended() if last is None else last.fix(),)

    def _released(self, until: Any) -> tuple[Self, Delta]:
        """The operator without windows that end before this number, and their groups."""
        behind = self.behind.table()
        if behind is not None:
            raise came_behind(str(behind.drop_columns([TIME, WEIGHT]).to_pylist()[0]))
        waited, waiting = self.waiting.expired(None if self.mark is None else self._beyond(self.mark), until)
        after = replace(self, waiting=waiting)
        if waited is None:
            return after, None
        after, rows = after.grouped(waited)
        return after, self.emitted(rows)

    @property
    def _has_floats(self) -> bool:
        return time_kind(self.like.end.layout.cells[0].arrow) is float  # type: ignore[attr-defined]

    def _beyond(self, mark: Any) -> Any:
        """The first number behind a mark."""
        return math.nextafter(mark, math.inf) if self._has_floats else math.floor(mark) + 1


@final
@dataclass(frozen=True)
class FinalTables(Ending):
    """The same, where the rows of open windows wait. Equal rows of a delta are one."""

    name = "final_tables"

    def arrived(self, table: pa.Table) -> tuple[Self, pa.Table]:
        return self, consolidate_table(table)

    def grouped(self, waited: pa.Table) -> tuple[Self, pa.Table]:
        (groups,) = self.groups.consume(waited)[1]
        return self, groups.table if groups is not None else waited.slice(0, 0)  # type: ignore[attr-defined]


@final
@dataclass(frozen=True)
class FinalSums(Ending):
    """The same, where the groups of open windows wait, and their sums are kept."""

    totals: Totals = kept(Totals(()), Cut.BY_KEY)
    """The weight of each open group, and its sums."""

    name = "final_sums"

    def arrived(self, table: pa.Table) -> tuple[Self, pa.Table]:
        _, groups, sums = self.groups.summed(table)
        totals = self.totals if self.totals.runs else Totals(groups.columns)
        before = totals.known(groups)[WEIGHT]
        changes = (add_checked(before, sums[WEIGHT]) != 0).astype(np.int64) - (before != 0)
        changed = np.flatnonzero(changes)
        after = replace(self, totals=totals.extended(run_of_sums(groups.table, groups.keys, sums)))
        return after, with_weights(take_rows(groups.table, changed), changes[changed])

    def grouped(self, waited: pa.Table) -> tuple[Self, pa.Table]:
        groups = run_of(waited.select(list(self.group)), self.group)
        sums = self.totals.known(groups)
        gone = run_of_sums(groups.table, groups.keys, normalize({name: -column for name, column in sums.items()}))
        return replace(self, totals=self.totals.extended(gone)), self.groups.results_of(groups, sums)


def _aggregation(like: FinalGroups, of: StreamType) -> GroupByTables | None:
    """The aggregation of a z-set of rows on tables; None if it has no form."""
    form, table = group_by(like.groups, (of,)), to_table_type(of)
    return form.typed((table,)) if isinstance(form, GroupByTables) and table is not None else None


@register_in(CHOICES, FinalGroups)
def final_groups(like: FinalGroups, inputs: StreamTypes) -> tuple[StreamTypes, Operator] | None:
    """Returns the form on tables, if the aggregation has one and ends are numbers or times; the clock stays a value."""
    rows, of = to_table_type(inputs[0]), to_value_type(inputs[0])
    if rows is None or not isinstance(like.end, Expression) or like.end.layout.form != "value":
        return None
    if time_kind(like.end.layout.cells[0].arrow) is None or not layout_of(of.collection).hashable:
        return None
    groups = _aggregation(like, of)
    if groups is None:
        return None
    return (rows, inputs[1]), (FinalSums(like) if groups.keeps_sums else FinalTables(like))
