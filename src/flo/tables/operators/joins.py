"""Joins on tables: each side is kept by key, and a delta of one side meets what the other side has.

A join by `key`. The right trace has two rows, and a delta of left rows arrives:

    left delta           right trace           emitted: the weight is the product
    key  item  weight    key  price  weight    item  price  weight
    a    pen   +2        a    3      +1        pen   3      +2
    b    ink   -1        b    7      +1        ink   7      -1
    c    pad   +1                              pad   None   +1      by `left_join` only: c has no partner

Invariant: what was emitted adds up to left ⋈ right, of all rows so far. So a delta of both sides emits three parts
(`find_meetings`), and then the traces grow by the deltas:

    Δleft ⋈ right  +  left ⋈ Δright  +  Δleft ⋈ Δright

`semi_join` emits the left rows whose key the right side has, and `anti_join` the others. Both need to know which keys
are there (`Partners` in weights.py): a key that appears or disappears also changes what stored rows of the other side
amount to (`select_by_partner`). `left_join` is `join`, and what `anti_join` emits beside None; `right_join` has the
same of the right side, and `full_join` of both.

When a side has ended, rows of the other are not kept any more: nothing will meet them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Self, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import Cell
from flo.columns.expression import Expression
from flo.columns.indices import Indices, Mask, Numbers, expand_ranges, one_chunk
from flo.columns.layout import Layout
from flo.core.collection import Collection
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import key_layout, plain_columns, sort_by_key, with_key
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept
from flo.tables.operators.elementwise import like_rows
from flo.tables.operators.meetings import Joined, Pairing, find_meetings, pair_rows
from flo.tables.operators.weights import (
    NOTHING,
    Partners,
    drop_side,
    new_rows,
    select_matching,
    select_rows,
    weights_of,
)
from flo.tables.state.keys import are_comparable, keys_of
from flo.tables.state.matching import match_keys
from flo.tables.state.run import Run
from flo.tables.state.trace import Trace, consolidate_runs
from flo.tables.translate import form_of
from flo.tables.values import COPY, WEIGHT, layout_of, of_elements
from flo.values.operators.bags import BagJoin
from flo.values.operators.interval_joins import IntervalJoin
from flo.values.operators.joins import KeyFunction
from flo.values.operators.sets import SetJoin
from flo.values.operators.zset_asof import AsOfJoin
from flo.values.operators.zset_joins import AntiJoin, FullJoin, Join, LeftJoin, Outer, RightJoin, SemiJoin

J = TypeVar("J", bound=Pairing | SemiJoin | AntiJoin, covariant=True)
S = TypeVar("S", bound=Pairing | SemiJoin | AntiJoin | IntervalJoin | AsOfJoin, covariant=True)
NO_PARTNERS = Partners()


@dataclass(frozen=True)
class SidesByKey(OnTables[S]):
    """The base of operators that read two sides by key."""

    placement = Placement.BY_KEY

    @cached_property
    def ons(self) -> tuple[KeyFunction, KeyFunction]:
        """The key functions of both sides."""
        return self.like.on, self.like.other_on

    @cached_property
    def coded(self) -> bool:
        """Whether only Python can compare the keys of both sides."""
        return must_be_coded(*self.ons, *self.inputs[:2])

    def with_key(self, side: int, table: pa.Table) -> tuple[pa.Table, tuple[str, ...]]:
        """The rows of a side with their key columns, and the names of these."""
        return with_key(table, self.ons[side], self.inputs[side], coded=self.coded)

    def key_numbers(self, index: int, table: pa.Table) -> Numbers:
        rows, columns = self.with_key(index, table)
        return keys_of([rows[name] for name in columns]).numbers

    def key_columns(self, index: int) -> tuple[str, ...] | None:
        return None if index > 1 or self.coded else plain_columns(self.ons[index], self.inputs[index])


@dataclass(frozen=True)
class JoinedByKey(SidesByKey[J]):
    """The base of all joins of z-sets, bags and sets: an end when both sides have ended."""

    grouping = Grouping.ANY
    cancels = True

    @property
    @abstractmethod
    def ended_side(self) -> int | None:
        """The side that has ended before the other. A field that comes last: states know fields by their places."""

    @cached_property
    def ons(self) -> tuple[KeyFunction, KeyFunction]:
        return key_functions(self.like, self.inputs)

    def by_key(self, *tables: pa.Table) -> list[Run]:
        """Sorts the deltas of both sides by key. Drops rows that cancel out: each would be paired with all rows of its
        key."""
        return [consolidate_runs(self.sort_side(index, table)) for index, table in enumerate(tables)]

    def sort_side(self, index: int, table: pa.Table) -> Run:
        """Sorts rows of one side by key."""
        return sort_by_key(table, self.ons[index], self.inputs[index], coded=self.coded, beside=self.keys)

    def select_relevant(self, delta: Run, index: int, other: Trace) -> Run:
        """Selects the rows of a side that may ever have a partner: once the other side has ended, those of its keys."""
        return select_matching(delta, other) if self.ended_side == 1 - index else delta

    def add_to(self, trace: Trace, index: int, *deltas: Run) -> Trace:
        """Adds deltas to the trace of a side. Once the other side has ended, nothing more is kept."""
        return trace if self.ended_side == 1 - index else trace.extend(*deltas)

    def unit(self, of: Collection, part: pa.Table) -> str:
        return repr(layout_of(of).to_elements(part)[0])


def key_functions(
    like: Pairing | SemiJoin | AntiJoin, inputs: tuple[Collection, ...]
) -> tuple[KeyFunction, KeyFunction]:
    """Returns the key functions of both sides; in a join of sets of edges, the key is the first column."""
    if isinstance(like, SetJoin) and like.other_on is None:
        return like.on, _first_column(inputs[1])
    return like.on, like.other_on


@lru_cache(maxsize=256)
def _first_column(of: Collection) -> Expression:
    layout = layout_of(of)
    return Expression(layout.names[0], (layout,))


@lru_cache(maxsize=1024)
def must_be_coded(on: KeyFunction, other_on: KeyFunction, left: Collection, right: Collection) -> bool:
    """Whether the keys of both sides are of types that only Python can compare."""
    one, other = key_layout(on, left), key_layout(other_on, right)
    if one is None or other is None or one.form != other.form or len(one.cells) != len(other.cells):
        return True
    return not all(map(_comparable, one.cells, other.cells))


def _comparable(one: Cell, other: Cell) -> bool:
    """Whether equal values of two columns have equal key numbers."""
    return are_comparable(one.arrow, other.arrow) and (
        one.kind == other.kind or (one.read is None and other.read is None)
    )


P = TypeVar("P", bound=Pairing, covariant=True)


@dataclass(frozen=True)
class Paired(JoinedByKey[P]):
    """The base of joins that make one row of two."""

    @cached_property
    def joined(self) -> Joined:
        """The results for rows that meet."""
        return Joined.of(self)

    @cached_property
    def computes(self) -> bool:
        return not (isinstance(self.like.into, Expression) and self.like.into.selects)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return self.joined.passed(columns)


@form_of(Join, BagJoin)
@final
@dataclass(frozen=True)
class JoinTables(Paired[Join | BagJoin]):
    """join(on, other_on, into) of z-sets and of bags."""

    left: Trace = kept(NOTHING, Cut.BY_KEY, holds=0)
    right: Trace = kept(NOTHING, Cut.BY_KEY, holds=1)
    copies: Trace = kept(NOTHING, Cut.NONE)
    """Rows of one side that another shard has, of hot keys: their rows of the other side are spread over all shards."""
    copied_side: int = kept(1, Cut.NONE)
    ended_side: int | None = kept(None, Cut.SAME)

    name = "join_tables"
    spreads_hot_keys = True

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        if COPY in left.column_names or COPY in right.column_names:
            return self._consume_copies(left, right)
        one, other = self.by_key(left, right)
        traces = self._with_copies()
        pairs = pair_rows(self.joined, list(find_meetings(one, other, *traces)), self.keys)
        outputs = (self.emitted(pairs),)
        return self.with_state(left=self.add_to(self.left, 0, one), right=self.add_to(self.right, 1, other)), outputs

    def _with_copies(self) -> tuple[tuple[Run, ...], ...]:
        """The runs of both sides, with those of copies."""
        sides = [self.left.runs, self.right.runs]
        sides[self.copied_side] += self.copies.runs
        return tuple(sides)

    def _consume_copies(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        """The same for a delta in which some rows of one side are copies: these first, and then the others."""
        side, tables = int(COPY in right.column_names), [left, right]
        plain, is_copy = tables[side].drop_columns([COPY]), one_chunk(tables[side][COPY])
        alone = [table.slice(0, 0) for table in tables]
        alone[side], tables[side] = plain.filter(is_copy), plain.filter(pc.invert(is_copy))
        one, other = self.by_key(*alone)
        pairs = pair_rows(self.joined, list(find_meetings(one, other, self.left, self.right)), self.keys)
        first = self.emitted(pairs)
        after, (then,) = self._add_copies(side, other if side else one).consume(*tables)
        return after, (then if first is None else first if then is None else first.concat(then),)

    def _add_copies(self, side: int, *rows: Run) -> Self:
        """The operator with rows of a side that another shard has."""
        return self.with_state(copies=self.add_to(self.copies, side, *rows), copied_side=side)

    def keep_hot_rows(self, side: int, keys: Numbers, owns: Callable[[pa.Table], Mask]) -> Self:
        """The operator when keys of its shard become hot on a side: of their rows it keeps those that it owns."""
        trace, kept = self._side(side), list[Run]()
        for run in trace:
            stays = np.ones(run.rows, bool)
            rows = rows_of_keys(run, keys)
            stays[rows] = owns(run.take(rows).table)
            kept.append(select_rows(run, np.flatnonzero(stays)))
        return self._with_side(side, Trace(trace.columns, tuple(run for run in kept if run.rows)))

    def take_hot_rows(self, other: JoinTables, side: int, keys: Numbers, owns: Callable[[pa.Table], Mask]) -> Self:
        """The operator when keys of another shard become hot on a side: it takes the rows that it owns, and copies
        those of the other side. What they amount to was emitted there."""
        spread, copied = ([run.take(rows_of_keys(run, keys)) for run in other._side(each)] for each in (side, 1 - side))
        own = (select_rows(run, np.flatnonzero(owns(run.table))) for run in spread)
        return self._with_side(side, self.add_to(self._side(side), side, *own))._add_copies(1 - side, *copied)

    def _side(self, side: int) -> Trace:
        return self.right if side else self.left

    def _with_side(self, side: int, trace: Trace) -> Self:
        return self.with_state(right=trace) if side else self.with_state(left=trace)

    def side_ended(self, index: int) -> Self:
        ended = drop_side(self, index)
        return ended if self.copied_side == index else replace(ended, copies=NOTHING)


def rows_of_keys(run: Run, keys: Numbers) -> Indices:
    """Returns the rows of a run that have one of these key numbers."""
    ranges = run.find(np.sort(keys))
    return expand_ranges(ranges.starts, ranges.counts)


@form_of(SetJoin)
@final
@dataclass(frozen=True)
class SetJoinTables(Paired[SetJoin]):
    """join of sets. Each side remembers its rows in `seen`, because a row of a set may come again, and must not be
    paired again. Once the other side has ended it need not: a set may emit a row twice."""

    left: Trace = kept(NOTHING, Cut.BY_KEY)
    right: Trace = kept(NOTHING, Cut.BY_KEY)
    seen: Trace = kept(NOTHING, Cut.BY_ROW, rows_of="left")
    other_seen: Trace = kept(NOTHING, Cut.BY_ROW, rows_of="right")
    ended_side: int | None = kept(None, Cut.SAME)

    name = "join_set_tables"

    @classmethod
    def fits(cls, like: SetJoin, inputs: StreamTypes) -> bool:
        right = Layout.of(of_elements(inputs[1].collection).element)
        edges = right is not None and right.form != "value" and len(right.names) > 1
        return like.other_on is not None or edges

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        names = [(*self.keys, *layout_of(of).names) for of in self.inputs]
        some = [new_rows(seen, table, n) for seen, table, n in zip(self._seen(), (left, right), names, strict=True)]
        one, other = self.by_key(*(rows.table for rows in some))
        pairs = pair_rows(self.joined, list(find_meetings(one, other, self.left, self.right)), self.keys)
        seen, other_seen = (self.add_to(each, index, some[index]) for index, each in enumerate(self._seen()))
        one_side, other_side = self.add_to(self.left, 0, one), self.add_to(self.right, 1, other)
        grown = self.with_state(left=one_side, right=other_side, seen=seen, other_seen=other_seen)
        return grown, (self.emitted(pairs),)

    def side_ended(self, index: int) -> Self:
        return replace(drop_side(self, index), seen=NOTHING, other_seen=NOTHING)

    def _seen(self) -> tuple[Trace, Trace]:
        return self.seen, self.other_seen


def select_by_partner(delta: Run, trace: Trace, partners: Partners, moved: Run, *, having: bool) -> pa.Table | None:
    """Returns the changes of the rows of a side that have a partner (`having`), or of those that have none.

    `delta` are its new rows, `trace` its stored ones. `moved` are the keys of the other side that appear (1) or
    disappear (-1), and `partners` what the other side has now."""
    which = partners.there(delta) if having else partners.absent(delta)
    parts = [select_rows(delta, which).table]
    for run in trace:
        keys, rows = match_keys(moved, run)
        signs = weights_of(moved)[keys] * (1 if having else -1)
        parts.append(select_rows(run, rows, weights_of(run)[rows] * signs).table)
    parts = [part for part in parts if part.num_rows]
    return pa.concat_tables(parts) if parts else None


@form_of(SemiJoin, AntiJoin)
@final
@dataclass(frozen=True)
class FilteringTables(JoinedByKey[SemiJoin | AntiJoin]):
    """semi_join and anti_join. Of the right side it keeps only which keys are there."""

    left: Trace = kept(NOTHING, Cut.BY_KEY, holds=0)
    right: Partners = kept(NO_PARTNERS, Cut.BY_KEY)
    ended_side: int | None = kept(None, Cut.SAME)

    name = "filtering_tables"

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self.by_key(left, right)
        partners, moved = self.right.add(self.select_relevant(other, 1, self.left), self._right_names())
        rows = select_by_partner(one, self.left, partners, moved, having=isinstance(self.like, SemiJoin))
        grown = self.with_state(left=self.add_to(self.left, 0, one), right=partners)
        names = [*layout_of(self.outputs[0]).names, *self.keys, WEIGHT]
        return grown, (self.emitted(rows and rows.select(names)),)

    def side_ended(self, index: int) -> Self:
        if index == 1:
            return replace(self, left=NOTHING, right=self.right.keys_only(), ended_side=1)
        ended = replace(self, left=self.left.consolidate(), ended_side=0)
        rows = self.right.rows.table()
        if rows is None:
            return replace(ended, right=NO_PARTNERS)
        kept = ended.select_relevant(self.sort_side(1, rows), 1, ended.left)
        return replace(ended, right=NO_PARTNERS.add(kept, self._right_names()).partners)

    def _right_names(self) -> tuple[str, ...]:
        return (*self.keys, *layout_of(self.inputs[1]).names)


@form_of(LeftJoin, RightJoin, FullJoin)
@final
@dataclass(frozen=True)
class OuterTables(Paired[Outer]):
    """left_join, right_join and full_join: both sides by key, and which keys they have."""

    left: Trace = kept(NOTHING, Cut.BY_KEY, holds=0)
    right: Trace = kept(NOTHING, Cut.BY_KEY, holds=1)
    partners: Partners = kept(NO_PARTNERS, Cut.BY_KEY, rows_of="right")
    """The keys of the right side, where rows of the left may stand alone."""
    other_partners: Partners = kept(NO_PARTNERS, Cut.BY_KEY, rows_of="left")
    """Those of the left one, where rows of the right may stand alone."""
    ended_side: int | None = kept(None, Cut.SAME)

    name = "outer_tables"

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return None if self.like.alone[1] else super().passed(columns)  # a row may have no left side

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self.by_key(left, right)
        joined = self.joined
        names, others_names = self._names()
        grown = self.with_state(left=self.add_to(self.left, 0, one), right=self.add_to(self.right, 1, other))
        parts = [pair_rows(joined, list(find_meetings(one, other, self.left, self.right)), self.keys)]
        if self.like.alone[0]:
            partners, moved = self.partners.add(self.select_relevant(other, 1, self.left), others_names)
            alone = select_by_partner(one, self.left, partners, moved, having=False)
            parts.append(self._pair_with_none(joined, alone, None))
            grown = grown.with_state(partners=partners)
        if self.like.alone[1]:
            partners, moved = self.other_partners.add(self.select_relevant(one, 0, self.right), names)
            alone = select_by_partner(other, self.right, partners, moved, having=False)
            parts.append(self._pair_with_none(joined, None, alone))
            grown = grown.with_state(other_partners=partners)
        some = [part for part in parts if part is not None]
        return grown, (self.emitted(pa.concat_tables(some) if some else None),)

    def side_ended(self, index: int) -> Self:
        sides = [self.left.consolidate(), self.right.consolidate()]
        partners = [self.other_partners, self.partners]
        ended, other = replace(self, ended_side=index), 1 - index
        if self.like.alone[index]:
            kept = [ended.select_relevant(run, other, sides[index]) for run in sides[other]]
            partners[other] = NO_PARTNERS.add(kept[0], self._names()[other]).partners if kept else NO_PARTNERS
        partners[index], sides[other] = partners[index].keys_only(), NOTHING
        return replace(ended, left=sides[0], right=sides[1], partners=partners[1], other_partners=partners[0])

    def _names(self) -> tuple[tuple[str, ...], ...]:
        """The columns of the rows of both sides."""
        return tuple((*self.keys, *layout_of(of).names) for of in self.inputs)

    def _pair_with_none(self, joined: Joined, left: pa.Table | None, right: pa.Table | None) -> pa.Table | None:
        """The results of rows of one side that have no partner."""
        rows = left if right is None else right
        return None if rows is None else like_rows(joined.results(left, right), rows, self.keys)
