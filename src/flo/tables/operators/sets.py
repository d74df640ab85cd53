"""Operators on tables that remember rows: distinct, intersection, difference, and ways out of sets and z-sets.

`distinct` of a z-set. The trace has the weight of each row so far:

    rows             delta             weight          emitted
    row  weight      row  weight       before  after   row  weight
    x    1           x    +1           1       2                        it was present, and is
    y    1           y    -1           1       0       y    -1
                     z    +2           0       2       z    +1

Invariant: the output has every row whose weight is positive once. In sets a row may arrive again, so an operator that
emits each row once (`NewTables`) remembers those that it has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers
from flo.core.operator import Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamTypes
from flo.tables.groups import rows_of, run_by
from flo.tables.operator import Cut, Grouping, Op, Placement, kept, register_in
from flo.tables.operators.elementwise import CountedTables, Stateless, like_rows
from flo.tables.operators.pairs import InTurn
from flo.tables.operators.weights import (
    NOTHING,
    drop_side,
    new_rows,
    select_rows,
    sum_equal_rows,
    totals,
    weights_in,
    weights_of,
)
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.keys import are_comparable, keys_of
from flo.tables.state.run import Run
from flo.tables.state.trace import Trace, add_checked, with_weights
from flo.tables.translate import FORMS, form_of
from flo.tables.values import WEIGHT, Rows, layout_of, of_elements
from flo.values.operators.bags import SequenceDistinct
from flo.values.operators.sets import Difference, Intersection, ToBag
from flo.values.operators.zsets import Distinct, Positive, ToZSet, ZSetToBag, ZSetToSet
from flo.values.weighted import Set, ZSet, ZSetValue


@dataclass(frozen=True)
class Remembering(Stateless[Op]):
    """The base of operators that keep rows, by all of their columns, until the end."""

    placement = Placement.BY_KEY
    keeps_positions = False

    def key_columns(self, index: int) -> tuple[str, ...] | None:
        return self.names(index)

    def names(self, side: int = 0) -> tuple[str, ...]:
        """The columns by which rows of a side are compared."""
        return (*self.keys, *layout_of(self.inputs[side]).names)

    @property
    def sums_early(self) -> bool:
        return not self.keys and isinstance(self.inputs[0], ZSet)

    def sum_early(
        self, table: pa.Table, few: Callable[[int, int], bool], *, reduce: bool = False
    ) -> tuple[pa.Table, Numbers]:
        return sum_equal_rows(self, table, keys_of([table[name] for name in self.names()]), few)


@form_of(Distinct, Positive)
@final
@dataclass(frozen=True)
class DistinctTables(Remembering[Distinct | Positive]):
    """distinct of z-sets, and their positive part. A row is emitted when its weight in the output changes."""

    rows: Trace = kept(NOTHING, Cut.BY_KEY, holds=0)
    """The weight of each row."""

    name = "distinct_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        delta = totals(table, self.names())
        before = weights_in(self.rows, delta)
        changed = self.like.weight_of(add_checked(before, weights_of(delta))) - self.like.weight_of(before)
        moved = np.flatnonzero(changed)
        grown = replace(self, rows=self.rows.extend(delta))
        return grown, (self.emitted(select_rows(delta, moved, changed[moved]).table),)


@form_of(SequenceDistinct)
@final
@dataclass(frozen=True)
class NewTables(Remembering[ToBag | ToZSet | SequenceDistinct]):
    """to_bag and to_zset of sets, and distinct of sequences: emits rows when they first arrive, in order."""

    seen: Trace = kept(NOTHING, Cut.BY_KEY)

    name = "new_tables"

    @classmethod
    def fits(cls, like: ToBag | ToZSet | SequenceDistinct, inputs: StreamTypes) -> bool:
        return layout_of(inputs[0].collection).hashable

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        index = "="
        numbered = table.append_column(index, pa.array(np.arange(table.num_rows)))
        if WEIGHT not in table.column_names:
            numbered = with_weights(numbered, np.ones(table.num_rows, np.int64))
        new = new_rows(self.seen, numbered, self.names())
        order = np.sort(new.table[index].to_numpy())
        kept = Run(new.columns, new.keys, new.table.drop_columns([index]))
        rows = table.take(pa.array(order))
        if WEIGHT in rows.column_names:
            rows = with_weights(rows, np.ones(len(order), np.int64))
        return replace(self, seen=self.seen.extend(kept)), (self.emitted(rows),)


@form_of(ZSetToBag, ZSetToSet)
@final
@dataclass(frozen=True)
class FromZSetTables(Remembering[ZSetToBag | ZSetToSet]):
    """zset_to_bag and zset_to_set: emits rows at the end; negative weights are an error."""

    rows: Trace = kept(NOTHING, Cut.BY_KEY, holds=0)

    name = "from_zset_tables"
    grouping = Grouping.ANY

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        delta = totals(table, self.names())
        if self.keys:  # rows are looked for by group
            delta = run_by(delta.table, self.keys)
        return replace(self, rows=self.rows.extend(delta)), (None,)

    def close(self, groups: Run) -> tuple[Operator, Deltas]:
        rows, _ = rows_of(self.rows, groups)
        present = None if rows is None else consolidate_table(rows)
        if present is None or not present.num_rows:
            return self, (None,)
        weights = present[WEIGHT].to_numpy()
        if (weights < 0).any():
            below = layout_of(self.inputs[0]).to_elements(present.filter(pa.array(weights < 0)))
            replace(self.like, weights=PersistentMap(dict.fromkeys(below, -1))).finish(ZSetValue)  # says what is wrong
        if isinstance(self.outputs[0], Set):
            present = with_weights(present, np.ones(present.num_rows, np.int64))
        return self, (Rows(of_elements(self.outputs[0]), present),)


@form_of(Intersection)
@final
@dataclass(frozen=True)
class IntersectionTables(Remembering[Intersection]):
    """intersection: emits rows that are new on one side and present on the other. When a side has ended, rows of the
    other are no longer kept."""

    left: Trace = kept(NOTHING, Cut.BY_KEY)
    right: Trace = kept(NOTHING, Cut.BY_KEY)
    ended_side: int | None = kept(None, Cut.SAME)

    name = "intersection_tables"

    @classmethod
    def fits(cls, like: Intersection, inputs: StreamTypes) -> bool:
        return _have_comparable_columns(inputs)

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = new_rows(self.left, left, self.names(0)), new_rows(self.right, right, self.names(1))
        left_trace = self.left if self.ended_side == 1 else self.left.extend(one)
        right_trace = self.right if self.ended_side == 0 else self.right.extend(other)
        grown = replace(self, left=left_trace, right=right_trace)
        parts = [
            select_rows(one, np.flatnonzero(weights_in(grown.right, one))).table,
            select_rows(other, np.flatnonzero(weights_in(self.left, other))).table,
        ]
        layout = layout_of(self.outputs[0])
        common = [like_rows(layout.fitted(part), part, self.keys) for part in parts]
        return grown, (self.emitted(pa.concat_tables(common)),)

    def side_ended(self, index: int) -> Self:
        return drop_side(self, index)


@form_of(Difference)
@final
@dataclass(frozen=True)
class DifferenceTables(InTurn[Difference], Remembering[Difference]):
    """difference: the left side waits in its buffer for the end of the right one."""

    gone: Trace = kept(NOTHING, Cut.BY_KEY)
    """The rows of the right side, which are not in the output."""

    name = "difference_tables"
    grouping = Grouping.WHOLE
    rows_wait = True

    @classmethod
    def fits(cls, like: Difference, inputs: StreamTypes) -> bool:
        return _have_comparable_columns(inputs)

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        if right.num_rows:
            return replace(self, gone=self.gone.extend(new_rows(self.gone, right, self.names(1)))), (None,)
        rows = totals(left, self.names(0))
        return self, (self.emitted(select_rows(rows, np.flatnonzero(weights_in(self.gone, rows) == 0)).table),)


@register_in(FORMS, ToBag, ToZSet)
def to_bag(like: ToBag | ToZSet, inputs: StreamTypes) -> Operator | None:
    """Rows of a set may arrive again, and must be remembered."""
    if isinstance(inputs[0].collection, Set):
        return NewTables(like)
    return CountedTables(like) if CountedTables.fits(like, inputs) else None


def _have_comparable_columns(inputs: StreamTypes) -> bool:
    """Whether equal elements of both sets have equal columns. Elements of other types, only Python can compare."""
    one, other = (layout_of(stream.collection) for stream in inputs)
    if one.form != other.form or len(one.cells) != len(other.cells):
        return False
    return all(
        a.kind == b.kind and are_comparable(a.arrow, b.arrow) for a, b in zip(one.cells, other.cells, strict=True)
    )
