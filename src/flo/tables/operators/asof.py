"""asof_join on tables: each left row with the nearest right row of its key, by a column that is compared.

Trades are the left side, quotes the right one. A backward join gives a trade the last quote at or before it:

    left (trades)       right (quotes)     out
    key  at  weight     key  at  bid       key  at  bid   weight
    a    5   +1         a    2   10        a    5   10    +1
    a    9   +1         a    7   11        a    9   11    +1
    b    4   +1                            b    4   None  +1       not emitted if the join is inner

A quote (a, 4, 12) that arrives now is a nearer match for the trade at 5 alone, and replaces (5, 10) by (5, 12).

Invariant: every left row is in the output with the right row that is nearest to it now. Left rows with a null key, or
with nothing to compare, never have a match, and are not kept.

Both sides are traces by key and by the compared column, in opposite directions: in a backward join, left rows ascend
and right ones descend. So the match of a left row is the first right row from its place on, and a right row that comes
or goes concerns the left rows from its place on, up to the first whose match is nearer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, Mask, expand_ranges, one_chunk, take_rows
from flo.core.collection import Collection
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import ALL, AT, apply_function, key_layout, plain_columns
from flo.tables.io.changes import negate_weights
from flo.tables.operator import Cut, Grouping, kept, register_in
from flo.tables.operators.elementwise import like_rows
from flo.tables.operators.joins import SidesByKey, must_be_coded
from flo.tables.operators.meetings import Joined
from flo.tables.operators.weights import select_matching
from flo.tables.state.comparison import row_numbers
from flo.tables.state.keys import find_equal, keys_of
from flo.tables.state.order import Order
from flo.tables.state.ranked import Ranked, Span, find_nearest, ranked_run
from flo.tables.state.run import Run
from flo.tables.translate import FORMS
from flo.tables.values import layout_of
from flo.values.operators.zset_asof import AsOfJoin
from flo.values.row_functions import passed_by

NO_ROWS = Ranked(())
AT_FIRST = 16
"""How many left rows after a changed right row are looked at first."""


@dataclass(frozen=True)
class LargestFirst(Order):
    """An order by columns. Of rows with equal columns, the largest comes first."""

    def _ties(self, rows: pa.Table) -> Indices:
        return ~row_numbers(rows, self.layout.names)  # type: ignore[return-value]


class SortedSide(NamedTuple):
    """The rows of one side of a delta."""

    rows: Run
    """By key and in the order of the side."""
    alone: pa.Table
    """Those that cannot have a match: the key or the compared value is null."""


@final
@dataclass(frozen=True)
class AsOfTables(SidesByKey[AsOfJoin]):
    """Each left row with the nearest right row."""

    grouping = Grouping.ANY
    cancels = True

    left: Ranked = kept(NO_ROWS, Cut.BY_KEY)
    right: Ranked = kept(NO_ROWS, Cut.BY_KEY)
    ended_side: int | None = kept(None, Cut.SAME)

    name = "asof_tables"

    @property
    def ats(self) -> tuple[Any, Any]:
        """The functions of both sides that give the compared value."""
        return self.like.at, self.like.other_at

    @property
    def has_key(self) -> bool:
        """Whether there are key functions. Without, all rows have one key."""
        return self.like.on is not None

    def key_columns(self, index: int) -> tuple[str, ...] | None:
        return super().key_columns(index) if self.has_key else ()

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return passed_by(self.like.into, columns)

    def with_key(self, side: int, table: pa.Table) -> tuple[pa.Table, tuple[str, ...]]:
        if self.has_key:
            return super().with_key(side, table)
        return table.append_column(ALL, pa.array(np.zeros(table.num_rows, np.int8))), (ALL,)

    def _order(self, place: int) -> Order:
        columns = (_at_column(self.ats[place], self.inputs[place]),)
        layout = layout_of(self.inputs[place])
        if place == 0:
            return Order(columns, self.like.forward, layout, by_text=False)
        return LargestFirst(columns, not self.like.forward, layout, by_text=False)

    def _sort(self, place: int, table: pa.Table) -> SortedSide:
        order = self._order(place)
        rows, columns = self.with_key(place, table.combine_chunks())
        (at,) = order.columns
        if at not in rows.column_names:
            times = apply_function(self.ats[place], (self.inputs[place],), table)
            rows = rows.append_column(times.schema.field(0).with_name(at), times.column(0))
        nothing = np.zeros(rows.num_rows, bool)
        for name in (*columns, at):
            nothing |= np.asarray(one_chunk(rows[name]).is_null())
        alone = take_rows(rows, np.flatnonzero(nothing)) if nothing.any() else rows.slice(0, 0)
        rows = take_rows(rows, np.flatnonzero(~nothing)) if nothing.any() else rows.combine_chunks()
        groups = (*self.keys, *columns)
        return SortedSide(ranked_run(rows, groups, keys_of([rows[name] for name in groups]), order), alone)

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        (arrived, alone), (changed, _) = self._sort(0, left), self._sort(1, right)
        if self.ended_side == 0:
            changed = select_matching(changed, self.left)
        before = replace(self.right, columns=changed.columns, order=self._order(1))
        after = [*before.runs, *([changed] if changed.rows else [])]
        parts = [self._pair_with_none(alone)]
        for run, places in self._find_touched(changed, after):
            rows = run.take(places)
            parts += [*self._match(rows, list(before.runs), -1), *self._match(rows, after, 1)]
        parts += self._match(arrived, after, 1)
        stored = replace(self.left, columns=arrived.columns, order=self._order(0))
        grown = replace(
            self, left=self.left if self.ended_side == 1 else stored.extend(arrived), right=before.extend(changed)
        )
        some = [part for part in parts if part is not None and part.num_rows]
        return grown, (self.emitted(pa.concat_tables(some) if some else None),)

    def side_ended(self, place: int) -> Self:
        if place == 1:
            return replace(self, left=NO_ROWS, ended_side=1)
        runs = tuple(part for run in self.right.runs if (part := select_matching(run, self.left)).rows)
        return replace(self, right=replace(self.right, runs=runs), ended_side=0)

    def _find_touched(self, changed: Run, after: list[Run]) -> Iterator[tuple[Run, Indices]]:
        """Yields the stored left rows that may have another match now, by run.

        These are the rows from each changed right row on, in the order of the left side, up to the first whose match is
        nearer than the changed row, or up to the next changed row of the group, which looks at the rest. The search
        reads `AT_FIRST` rows, then twice as many, and so on. `after` are the right runs with the changed rows, which
        are in the opposite of the order of the left side."""
        if not changed.rows:
            return
        order, others = self._order(0), self._order(1)
        begin = one_chunk(changed.table[others.columns[0]])
        follows = _same_group_as_before(changed)
        for run in self.left.runs:
            span = Span.of(run, changed).since(begin, order)
            queries, low, high = span.groups, span.starts, span.ends
            high[1:] = np.where(follows[queries[1:]], np.minimum(high[1:], low[:-1]), high[1:])
            touched, window = [np.zeros(0, np.int64)], AT_FIRST
            while len(queries):
                counts = np.minimum(high - low, window)
                places, owners = expand_ranges(low, counts), np.repeat(np.arange(len(queries)), counts)
                known = self._have_key_of(run, places, changed, queries[owners])
                beyond = known & self._match_nearer_than(
                    run, places, after, begin.take(pa.array(queries[owners])), others
                )
                touched.append(places[known & ~beyond])
                done = low + counts >= high
                done[owners[beyond]] = True
                low, window = low + counts, 2 * window
                queries, low, high = queries[~done], low[~done], high[~done]
            yield run, np.unique(np.concatenate(touched))

    def _have_key_of(self, run: Run, places: Indices, changed: Run, owners: Indices) -> Any:
        """Returns which of these rows have the key of a changed row, and not only the same key number."""
        if run.keys.exact and changed.keys.exact:
            return np.ones(len(places), bool)
        ours = take_rows(run.table.select(list(run.columns)), places)
        theirs = take_rows(changed.table.select(list(changed.columns)), owners)
        return find_equal(list(ours.columns), list(theirs.columns))

    def _match_nearer_than(self, run: Run, places: Indices, after: list[Run], begin: pa.Array, order: Order) -> Any:
        """Returns which of these rows have a match nearer than a value: before it in the order of the right side."""
        rows = run.take(places)
        nearest = find_nearest(after, rows, one_chunk(rows.table[self._order(0).columns[0]]), order)
        beyond = np.zeros(len(places), bool)
        if nearest is not None:
            at = one_chunk(nearest.table[order.columns[0]])
            beyond[nearest.groups] = order.before(at, begin.take(pa.array(nearest.groups)))
        return beyond

    def _match(self, rows: Run, rights: list[Run], sign: int) -> list[pa.Table | None]:
        """Returns the results of left rows and their matches, with the weights of the left rows times `sign`."""
        if not rows.rows:
            return []
        table = rows.table if sign > 0 else negate_weights(rows.table)
        nearest = find_nearest(rights, rows, one_chunk(table[self._order(0).columns[0]]), self._order(1))
        if nearest is None:
            return [self._pair_with_none(table)]
        matched = np.zeros(rows.rows, bool)
        matched[nearest.groups] = True
        left, right = take_rows(table, nearest.groups), nearest.table
        joined = Joined(self.like, self.inputs, self.outputs[0])  # type: ignore[arg-type]
        results = like_rows(joined.results(left, right), left, self.keys)
        return [results, self._pair_with_none(take_rows(table, np.flatnonzero(~matched)))]

    def _pair_with_none(self, table: pa.Table) -> pa.Table | None:
        """The results of left rows without a match."""
        if self.like.inner or not table.num_rows:
            return None
        joined = Joined(self.like, self.inputs, self.outputs[0])  # type: ignore[arg-type]
        return like_rows(joined.results(table, None), table, self.keys)


def _same_group_as_before(run: Run) -> Mask:
    """Returns which rows of a run have the key of the row before them."""
    same = np.zeros(run.rows, bool)
    numbers = run.keys.numbers
    same[1:] = numbers[1:] == numbers[:-1]
    if not run.keys.exact and same.any():
        keys = run.table.select(list(run.columns))
        same[1:] &= find_equal(list(keys.slice(1).columns), list(keys.slice(0, run.rows - 1).columns))
    return same


def _at_column(at: Any, of: Collection) -> str:
    """The name of the compared column, which may have to be computed."""
    columns = plain_columns(at, of)
    return columns[0] if columns is not None and len(columns) == 1 else AT


@register_in(FORMS, AsOfJoin)
def asof_join(like: AsOfJoin, inputs: StreamTypes) -> Operator | None:
    """Returns the form of an as-of join, if keys and compared columns have the same types on both sides."""
    left, right = (stream.collection for stream in inputs)
    if (like.on is None) is not (like.other_on is None):
        return None
    if like.on is not None and must_be_coded(like.on, like.other_on, left, right):
        return None
    ats = [key_layout(at, of) for at, of in ((like.at, left), (like.other_at, right))]
    one, other = ats
    if one is None or other is None or one.form != "value" or other.form != "value":
        return None
    return AsOfTables(like) if _are_compared(one.cells[0].arrow, other.cells[0].arrow) else None


def _are_compared(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether the values of two types have numbers in one order."""
    t = pa.types
    if t.is_timestamp(one) and t.is_timestamp(other):
        return bool(one.unit == other.unit) and (one.tz is None) == (other.tz is None)
    return bool(one == other) or any(test(one) and test(other) for test in (t.is_signed_integer, t.is_floating))
