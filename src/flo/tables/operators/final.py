"""`final` on tables: a group of a window is emitted once, when a clock has reached the end of the window.

Groups by key and window, with the sum of n. The clock moves from 15 to 20:

    key  end  n  weight      emitted: key  end  sum  weight
    a    20   3  +1    ┐              a    20   7    +1         a clock at 20 has reached the end
    a    20   4  +1    ┘
    b    30   5  +1                   (waits)

Invariant: an emitted group is complete, and no row changes it any more. A row whose window has ended is *behind*, which
is an error unless such rows cancel out before the clock moves again.

Where all aggregates are computed from sums, as counts and averages are, the sums of each open group are kept, and no
rows (`FinalSums`). Otherwise the rows wait, and are aggregated when the clock is at their end (`FinalTables`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Numbers, one_chunk, take_rows
from flo.columns.layout import VALUE
from flo.columns.windowing import TimeNumbers, time_kind
from flo.core.operator import Delta, Deltas, Operator, Step, Values
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import TimeValue
from flo.tables.functions import apply_function
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept, register_in, to_table_type, to_value_type
from flo.tables.operators.clocked_windows import clocked_steps
from flo.tables.operators.group_by import GroupByTables, group_by
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.expiring import LAST, TIME, Expiring, Interval, is_before
from flo.tables.state.run import run_of
from flo.tables.state.totals import Totals, normalize, run_of_sums
from flo.tables.state.trace import add_checked, with_weights
from flo.tables.translate import CHOICES
from flo.tables.values import WEIGHT, layout_of
from flo.values.operators.final import FinalGroups, came_behind
from flo.values.operators.retain import to_number


@dataclass(frozen=True)
class Ending(OnTables[FinalGroups]):
    """The groups whose end the clock has reached."""

    placement = Placement.BY_KEY
    grouping = Grouping.NONE

    waiting: Expiring = kept(Expiring(()), Cut.BY_GROUP)
    """What waits, by the ends of windows that are open. It is cut by the columns of the group."""
    mark: TimeValue = kept(None, Cut.LATEST)
    """How far the clock has come, as a number."""
    behind: Expiring = kept(Expiring(()), Cut.BY_GROUP)
    """What came for windows that have ended. It must cancel out before the clock moves again."""

    @abstractmethod
    def add(self, table: pa.Table) -> tuple[Self, pa.Table]:
        """Adds the rows of a delta: returns the operator, and what is to wait, rows or groups."""

    @abstractmethod
    def take_groups(self, waited: pa.Table) -> tuple[Self, pa.Table]:
        """Takes what has waited: returns the operator without it, and the rows of its groups, which are complete."""

    @cached_property
    def groups(self) -> GroupByTables:
        """The aggregation, without state."""
        return _aggregation(self.like, StreamType(self.inputs[0], bounded=True))  # type: ignore[return-value]

    @property
    def group(self) -> tuple[str, ...]:
        return layout_of(self.inputs[0]).names[: self.like.groups.keys]

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        return self.group if place == 0 else None

    @property
    def sums_early(self) -> bool:
        return True

    def sum_early(
        self, table: pa.Table, few: Callable[[int, int], bool], *, reduce: bool = False
    ) -> tuple[pa.Table, Numbers]:
        return self.groups.sum_early(table, few)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns if set(columns) <= set(self.group) else None

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after, rows = self.add(table.combine_chunks())
        if not rows.num_rows:
            return after, (None,)
        ends = apply_function(self.like.end, (self.inputs[0],), rows)[VALUE]
        numbers = TimeNumbers.of(self.like.name, one_chunk(ends)).numbers
        if self.mark is None:
            return replace(after, waiting=self.waiting.add(rows, numbers)), (None,)
        is_behind = is_before(numbers, self._beyond(self.mark))
        if not is_behind.any():
            return replace(after, waiting=self.waiting.add(rows, numbers)), (None,)
        behind = self.behind.add(rows.filter(pa.array(is_behind)), numbers[is_behind]).consolidate()
        waits = rows.filter(pa.array(~is_behind))
        waiting = self.waiting.add(waits, numbers[~is_behind]) if waits.num_rows else self.waiting
        return replace(after, waiting=waiting, behind=behind if behind.runs else Expiring(())), (None,)

    def steps(self, inputs: Values) -> Iterator[Step]:
        return clocked_steps(self, inputs)

    def at(self, moment: TimeValue) -> tuple[Operator, Deltas]:
        """Moves the clock to a moment: returns the operator, and the groups that are final now."""
        mark = to_number(moment)
        if self.mark is not None and mark <= self.mark:
            return self, (None,)
        after, groups = self._release(self._beyond(mark))
        return replace(after, mark=mark), (groups,)

    def finished(self) -> tuple[Operator, Deltas]:
        _, last = self._release(math.inf if self._has_floats else LAST + 1) if self.like.flush else (self, None)
        return self.reset(), (self.ended() if last is None else last.fix(),)

    def _release(self, until: TimeValue) -> tuple[Self, Delta]:
        """Releases the windows that end before this number: returns the operator without them, and their groups."""
        behind = self.behind.table()
        if behind is not None:
            raise came_behind(str(behind.drop_columns([TIME, WEIGHT]).to_pylist()[0]))
        since = None if self.mark is None else self._beyond(self.mark)
        waited, waiting = self.waiting.take(Interval(since, until))
        after = replace(self, waiting=waiting)
        if waited is None:
            return after, None
        after, rows = after.take_groups(waited)
        return after, self.emitted(rows)

    @property
    def _has_floats(self) -> bool:
        return time_kind(self.like.end.layout.cells[0].arrow) is float  # type: ignore[attr-defined]

    def _beyond(self, mark: TimeValue) -> TimeValue:
        """The first number behind a mark."""
        return math.nextafter(mark, math.inf) if self._has_floats else math.floor(mark) + 1


@final
@dataclass(frozen=True)
class FinalTables(Ending):
    """Final groups, where the rows of open windows wait."""

    name = "final_tables"

    def add(self, table: pa.Table) -> tuple[Self, pa.Table]:
        return self, consolidate_table(table)

    def take_groups(self, waited: pa.Table) -> tuple[Self, pa.Table]:
        (groups,) = self.groups.consume(waited)[1]
        return self, groups.table if groups is not None else waited.slice(0, 0)  # type: ignore[attr-defined]


@final
@dataclass(frozen=True)
class FinalSums(Ending):
    """Final groups, where the groups of open windows wait, and their sums are kept beside them."""

    totals: Totals = kept(Totals(()), Cut.BY_KEY)
    """The weight of each open group, and its sums."""

    name = "final_sums"

    def add(self, table: pa.Table) -> tuple[Self, pa.Table]:
        _, groups, sums = self.groups.sum_rows(table)
        totals = self.totals if self.totals.runs else Totals(groups.columns)
        before = totals.look_up(groups)[WEIGHT]
        changes = (add_checked(before, sums[WEIGHT]) != 0).astype(np.int64) - (before != 0)
        changed = np.flatnonzero(changes)
        after = replace(self, totals=totals.extend(run_of_sums(groups.table, groups.keys, sums)))
        return after, with_weights(take_rows(groups.table, changed), changes[changed])

    def take_groups(self, waited: pa.Table) -> tuple[Self, pa.Table]:
        groups = run_of(waited.select(list(self.group)), self.group)
        sums = self.totals.look_up(groups)
        gone = run_of_sums(groups.table, groups.keys, normalize({name: -column for name, column in sums.items()}))
        return replace(self, totals=self.totals.extend(gone)), self.groups.results_of(groups, sums)


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
