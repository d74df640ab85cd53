"""Joins on tables: a delta meets the trace of the other side, and the traces grow by the deltas.

`semi_join` is the join of the left rows with the keys that the right side has, and `anti_join` has those that it leaves
out. `left_join` is `join`, and what `anti_join` gives beside None; `right_join` has the same of the right side, and
`full_join` of both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self, TypeAlias, TypeVar, final

import numpy as np
import pyarrow as pa

from flo.columns.cell import Cell
from flo.columns.expression import Expression
from flo.columns.indices import Indices, Numbers, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.core.collection import Collection
from flo.core.elements import returned_type
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import called, elements_of, key_layout, plain_columns, sort_by_key, with_key, written
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept
from flo.tables.operators.elementwise import like_rows
from flo.tables.operators.weights import (
    NOTHING,
    Partners,
    drop_side,
    multiply_weights,
    new_rows,
    select_matching,
    select_rows,
    weights_of,
)
from flo.tables.state.keys import are_comparable, keys_of
from flo.tables.state.run import Run, match_keys
from flo.tables.state.trace import Trace, consolidate_runs
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of, of_elements
from flo.values.operators.bags import BagJoin
from flo.values.operators.joins import KeyFunction
from flo.values.operators.keyed_streams import KeyedJoin
from flo.values.operators.sets import SetJoin
from flo.values.operators.shapes import expect_declared
from flo.values.operators.zset_joins import AntiJoin, FullJoin, Join, LeftJoin, Outer, RightJoin, SemiJoin

Pairing: TypeAlias = Join | BagJoin | SetJoin | Outer
"""Joins that make a row of two."""
J = TypeVar("J", bound=Pairing | SemiJoin | AntiJoin, covariant=True)
Meeting: TypeAlias = tuple[Run, Run, Indices, Indices]
"""Two runs, and the rows of each whose keys are equal."""
NO_PARTNERS = Partners()


@dataclass(frozen=True)
class JoinedByKey(OnTables[J]):
    """The base of all joins: both sides by key, and an end when both have ended."""

    placement = Placement.BY_KEY
    grouping = Grouping.ANY
    keeps_positions = False
    cancels = True

    @property
    @abstractmethod
    def ended_side(self) -> int | None:
        """The side that has ended before the other. A field that comes last: states know fields by their places."""

    def key_numbers(self, index: int, table: pa.Table) -> Numbers:
        ons = key_functions(self.like, self.inputs)
        coded = must_be_coded(*ons, *self.inputs)
        rows, columns = with_key(table, ons[index], self.inputs[index], coded=coded)
        return keys_of([rows[name] for name in columns]).numbers

    def key_columns(self, index: int) -> tuple[str, ...] | None:
        ons = key_functions(self.like, self.inputs)
        return None if must_be_coded(*ons, *self.inputs) else plain_columns(ons[index], self.inputs[index])

    def by_key(self, *tables: pa.Table) -> list[Run]:
        """Returns the deltas of both sides by key. Rows that cancel out are dropped: each would be paired with all
        rows of its key."""
        return [consolidate_runs(self.side(index, table)) for index, table in enumerate(tables)]

    def side(self, index: int, table: pa.Table) -> Run:
        """Rows of one side by key."""
        ons = key_functions(self.like, self.inputs)
        coded = must_be_coded(*ons, *self.inputs)
        return sort_by_key(table, ons[index], self.inputs[index], coded=coded, beside=self.keys)

    def relevant(self, delta: Run, index: int, other: Trace) -> Run:
        """The rows of a side that may ever have a partner: when the other has ended, those of its keys."""
        return select_matching(delta, other) if self.ended_side == 1 - index else delta

    def grown(self, trace: Trace, index: int, delta: Run) -> Trace:
        """Returns the trace of a side after a delta. When the other side has ended, nothing more is kept."""
        return trace if self.ended_side == 1 - index else trace.extended(delta)

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
    return are_comparable(one.arrow, other.arrow) and (
        one.kind == other.kind or (one.read is None and other.read is None)
    )


@dataclass(frozen=True)
class Joined:
    """The results for rows that meet, whole tables at once: `into`, pairs, or one of the two."""

    like: Pairing | KeyedJoin
    inputs: tuple[Collection, ...]
    output: Collection

    @classmethod
    def of(cls, join: OnTables[Pairing]) -> Joined:
        return cls(join.like, join.inputs, join.outputs[0])

    @property
    def needed(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each side that are looked at."""
        left, right = (layout_of(of).names for of in self.inputs)
        if isinstance(self.like.into, Expression):
            return self.like.into.reads
        if self._only_left():
            return left, ()
        return ((), (right[1],)) if self._destinations() else (left, right)

    def results(self, left: pa.Table | None, right: pa.Table | None) -> pa.Table:
        """The results for rows side by side; None where there is no partner."""
        into, layout = self.like.into, layout_of(self.output)
        if isinstance(into, Expression):
            return self._computed(into, left, right)
        if into is not None:
            return self._called(into, left, right)
        if self._only_left():
            assert left is not None
            return layout.fitted(left)
        if self._destinations():
            assert right is not None
            return _unpacked(layout, one_chunk(right[layout_of(self.inputs[1]).names[1]]))
        sides = [
            pa.nulls(_count(left, right), cell.arrow) if table is None else layout_of(of).as_array(table)
            for of, table, cell in zip(self.inputs, (left, right), layout.cells, strict=True)
        ]
        return pa.Table.from_arrays(sides, schema=layout.schema)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        """These columns of the left side as columns of the output, if it has them."""
        into = self.like.into
        return into.passed(columns) if isinstance(into, Expression) else columns if self._only_left() else None

    def _only_left(self) -> bool:
        """A z-set's join on whole elements gives these, not pairs of equal ones."""
        like = self.like
        return isinstance(like, Join) and like.into is None and like.on is None and like.other_on is None

    def _destinations(self) -> bool:
        return isinstance(self.like, SetJoin) and self.like.into is None and self.like.other_on is None

    def _computed(self, into: Expression, *tables: pa.Table | None) -> pa.Table:
        count = _count(*tables)
        rows = []
        for table, layout, reads in zip(tables, into.inputs, into.reads, strict=True):
            fields = [layout.schema.field(name) for name in reads]
            empty = [pa.nulls(count, field.type) for field in fields]
            rows.append(pa.Table.from_arrays(empty, schema=pa.schema(fields)) if table is None else table.select(reads))
        return layout_of(self.output).fitted(into.results(*rows))

    def _called(self, into: Callable[[Any, Any], Any], *tables: pa.Table | None) -> pa.Table:
        count = _count(*tables)
        elements = [
            [None] * count if table is None else elements_of(of, table)
            for of, table in zip(self.inputs, tables, strict=True)
        ]
        results = called(into, *elements)
        expect_declared(into, results)
        return written(results, returned_type(into))


def _count(*tables: pa.Table | None) -> int:
    """How many rows there are side by side, where one side may have none."""
    return next(int(table.num_rows) for table in tables if table is not None)


def _unpacked(layout: Layout, array: pa.Array) -> pa.Table:
    """Splits a column of elements into the columns of their layout."""
    arrays = [array] if layout.form == "value" else array.flatten()
    return pa.Table.from_arrays(arrays, schema=layout.schema)


def find_meetings(left: Run, right: Run, lefts: Trace, rights: Trace) -> Iterator[Meeting]:
    """M₁ ⋈ M₂' + M₁' ⋈ M₂ + M₁' ⋈ M₂'."""
    both = [(left, run) for run in rights] + [(run, right) for run in lefts] + [(left, right)]
    for some, others in both:
        if some.rows and others.rows:
            ours, theirs = match_keys(some, others)
            if len(ours):
                yield some, others, ours, theirs


def paired(joined: Joined, meetings: list[Meeting], keys: tuple[str, ...] = ()) -> pa.Table | None:
    """The results of rows that meet, weighted by the product; with columns of the left side beside them."""
    if not meetings:
        return None
    once = all(left.once and right.once for left, right, _, _ in meetings)
    more = [] if once else [WEIGHT]
    needed = zip(joined.needed, (keys, ()), strict=True)
    left, right = (_gathered(meetings, side, [*n, *k, *more]) for side, (n, k) in enumerate(needed))
    if once:
        weights = pa.array(np.ones(sum(len(ours) for _, _, ours, _ in meetings), np.int64))
    else:
        weights = multiply_weights(left[WEIGHT], right[WEIGHT])
    pairs = joined.results(left, right)
    for name in keys:
        pairs = pairs.append_column(left.schema.field(name), left[name])
    return pairs.append_column(pa.field(WEIGHT, pa.int64(), nullable=False), weights)


def _gathered(meetings: list[Meeting], side: int, names: list[str]) -> pa.Table:
    sides = [(left, ours) if side == 0 else (right, theirs) for left, right, ours, theirs in meetings]
    return pa.concat_tables([take_rows(run.table.select(names), indices) for run, indices in sides])


P = TypeVar("P", bound=Pairing, covariant=True)


@dataclass(frozen=True)
class Paired(JoinedByKey[P]):
    """The base of joins that make one row of two."""

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return Joined.of(self).passed(columns)


@form_of(Join, BagJoin)
@final
@dataclass(frozen=True)
class JoinTables(Paired[Join | BagJoin]):
    """join(on, other_on, into) of z-sets and of bags."""

    left: Trace = kept(NOTHING, Cut.BY_KEY)
    right: Trace = kept(NOTHING, Cut.BY_KEY)
    ended_side: int | None = kept(None, Cut.SAME)

    name = "join_tables"

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self.by_key(left, right)
        pairs = paired(Joined.of(self), list(find_meetings(one, other, self.left, self.right)), self.keys)
        grown = replace(self, left=self.grown(self.left, 0, one), right=self.grown(self.right, 1, other))
        return grown, (self.emitted(pairs),)

    def side_ended(self, index: int) -> Self:
        return drop_side(self, index)


@form_of(SetJoin)
@final
@dataclass(frozen=True)
class SetJoinTables(Paired[SetJoin]):
    """The same of sets. Each side remembers its rows: what was consumed may come again. It need not when the other has
    ended: a set may emit a row again."""

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
        pairs = paired(Joined.of(self), list(find_meetings(one, other, self.left, self.right)), self.keys)
        seen, other_seen = (self.grown(each, index, some[index]) for index, each in enumerate(self._seen()))
        grown = replace(self, left=self.grown(self.left, 0, one), right=self.grown(self.right, 1, other))
        return replace(grown, seen=seen, other_seen=other_seen), (self.emitted(pairs),)

    def side_ended(self, index: int) -> Self:
        return replace(drop_side(self, index), seen=NOTHING, other_seen=NOTHING)

    def _seen(self) -> tuple[Trace, Trace]:
        return self.seen, self.other_seen


def select_by_partner(delta: Run, trace: Trace, partners: Partners, moved: Run, *, having: bool) -> pa.Table | None:
    """How the rows of a side change that have a partner, or that have none: what arrived, and what was there before
    under keys that come and go."""
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
    """semi_join and anti_join. Of the right side, only what is needed to know its keys is kept."""

    left: Trace = kept(NOTHING, Cut.BY_KEY)
    right: Partners = kept(NO_PARTNERS, Cut.BY_KEY)
    ended_side: int | None = kept(None, Cut.SAME)

    name = "filtering_tables"

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self.by_key(left, right)
        partners, moved = self.right.met(self.relevant(other, 1, self.left), self._right_names())
        rows = select_by_partner(one, self.left, partners, moved, having=isinstance(self.like, SemiJoin))
        grown = replace(self, left=self.grown(self.left, 0, one), right=partners)
        names = [*layout_of(self.outputs[0]).names, *self.keys, WEIGHT]
        return grown, (self.emitted(rows and rows.select(names)),)

    def side_ended(self, index: int) -> Self:
        if index == 1:
            return replace(self, left=NOTHING, right=self.right.keys_only(), ended_side=1)
        ended = replace(self, left=self.left.consolidated(), ended_side=0)
        rows = self.right.rows.table()
        if rows is None:
            return replace(ended, right=NO_PARTNERS)
        kept = ended.relevant(self.side(1, rows), 1, ended.left)
        return replace(ended, right=NO_PARTNERS.met(kept, self._right_names())[0])

    def _right_names(self) -> tuple[str, ...]:
        return (*self.keys, *layout_of(self.inputs[1]).names)


@form_of(LeftJoin, RightJoin, FullJoin)
@final
@dataclass(frozen=True)
class OuterTables(Paired[Outer]):
    """left_join, right_join and full_join: both sides by key, and which keys they have."""

    left: Trace = kept(NOTHING, Cut.BY_KEY)
    right: Trace = kept(NOTHING, Cut.BY_KEY)
    partners: Partners = kept(NO_PARTNERS, Cut.BY_KEY)
    """The keys of the right side, where rows of the left may stand alone."""
    other_partners: Partners = kept(NO_PARTNERS, Cut.BY_KEY)
    """Those of the left one, where rows of the right may stand alone."""
    ended_side: int | None = kept(None, Cut.SAME)

    name = "outer_tables"

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return None if self.like.alone[1] else super().passed(columns)  # a row may have no left side

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self.by_key(left, right)
        joined = Joined.of(self)
        names, others_names = self._names()
        grown = replace(self, left=self.grown(self.left, 0, one), right=self.grown(self.right, 1, other))
        parts = [paired(joined, list(find_meetings(one, other, self.left, self.right)), self.keys)]
        if self.like.alone[0]:
            partners, moved = self.partners.met(self.relevant(other, 1, self.left), others_names)
            alone = select_by_partner(one, self.left, partners, moved, having=False)
            parts.append(self._beside_none(joined, alone, None))
            grown = replace(grown, partners=partners)
        if self.like.alone[1]:
            partners, moved = self.other_partners.met(self.relevant(one, 0, self.right), names)
            alone = select_by_partner(other, self.right, partners, moved, having=False)
            parts.append(self._beside_none(joined, None, alone))
            grown = replace(grown, other_partners=partners)
        some = [part for part in parts if part is not None]
        return grown, (self.emitted(pa.concat_tables(some) if some else None),)

    def side_ended(self, index: int) -> Self:
        sides = [self.left.consolidated(), self.right.consolidated()]
        partners = [self.other_partners, self.partners]
        ended, other = replace(self, ended_side=index), 1 - index
        if self.like.alone[index]:
            kept = [ended.relevant(run, other, sides[index]) for run in sides[other]]
            partners[other] = NO_PARTNERS.met(kept[0], self._names()[other])[0] if kept else NO_PARTNERS
        partners[index], sides[other] = partners[index].keys_only(), NOTHING
        return replace(ended, left=sides[0], right=sides[1], partners=partners[1], other_partners=partners[0])

    def _names(self) -> tuple[tuple[str, ...], ...]:
        """The columns of the rows of both sides."""
        return tuple((*self.keys, *layout_of(of).names) for of in self.inputs)

    def _beside_none(self, joined: Joined, left: pa.Table | None, right: pa.Table | None) -> pa.Table | None:
        rows = left if right is None else right
        return None if rows is None else like_rows(joined.results(left, right), rows, self.keys)
