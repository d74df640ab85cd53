"""Joins that ask for a partner: `semi_join` is the join of the left rows with the keys that the right side has.

`anti_join` is what it leaves out. `left_join` is `join`, and what `anti_join` gives beside None; `full_join` has the
same of the right side too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import pyarrow as pa

from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.operators.elementwise import like_rows
from flo.tables.operators.joins import JoinedByKey, meeting, paired
from flo.tables.operators.joins_into import Joined
from flo.tables.operators.weights import NOTHING, Partners, chosen, weights_of
from flo.tables.state.run import Run, pairs
from flo.tables.state.trace import Trace
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of
from flo.values.operators.zset_joins import AntiJoin, FullJoin, LeftJoin, SemiJoin

NO_PARTNERS = Partners()


def shown(delta: Run, trace: Trace, partners: Partners, moved: Run, *, having: bool) -> pa.Table | None:
    """How the rows of a side change that have a partner, or that have none: what arrived, and what was there before
    under keys that come and go."""
    which = partners.there(delta) if having else partners.absent(delta)
    parts = [chosen(delta, which).table]
    for run in trace:
        keys, rows = pairs(moved, run)
        signs = weights_of(moved)[keys] * (1 if having else -1)
        parts.append(chosen(run, rows, weights_of(run)[rows] * signs).table)
    parts = [part for part in parts if part.num_rows]
    return pa.concat_tables(parts) if parts else None


@final
@dataclass(frozen=True)
class FilteringTables(JoinedByKey[SemiJoin | AntiJoin]):
    """semi_join and anti_join: of the right side nothing is kept but what tells which keys it has."""

    left: Trace = field(default=NOTHING)
    right: Partners = field(default=NO_PARTNERS)
    ended_side: int | None = None

    name = "filtering_tables"

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self.by_key(left, right)
        partners, moved = self.right.met(self.relevant(other, 1, self.left), self._right_names())
        found = shown(one, self.left, partners, moved, having=isinstance(self.like, SemiJoin))
        grown = replace(self, left=self.grown(self.left, 0, one), right=partners)
        names = [*layout_of(self.outputs[0]).names, *self.keys, WEIGHT]
        return grown, (self.emitted(found and found.select(names)),)

    def side_ended(self, place: int) -> Self:
        if place == 1:
            return replace(self, left=NOTHING, right=self.right.keys_only(), ended_side=1)
        ended = replace(self, left=self.left.consolidated(), ended_side=0)
        rows = self.right.rows.table()
        if rows is None:
            return replace(ended, right=NO_PARTNERS)
        kept = ended.relevant(self.side(1, rows), 1, ended.left)
        return replace(ended, right=NO_PARTNERS.met(kept, self._right_names())[0])

    def _right_names(self) -> tuple[str, ...]:
        return (*self.keys, *layout_of(self.inputs[1]).names)


@final
@dataclass(frozen=True)
class OuterTables(JoinedByKey[LeftJoin | FullJoin]):
    """left_join and full_join: both sides by key, and which keys they have."""

    left: Trace = field(default=NOTHING)
    right: Trace = field(default=NOTHING)
    partners: Partners = field(default=NO_PARTNERS)
    """The keys of the right side."""
    other_partners: Partners = field(default=NO_PARTNERS)
    """Those of the left one, where rows of the right may stand alone."""
    ended_side: int | None = None

    name = "outer_tables"

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return None if isinstance(self.like, FullJoin) else super().passed(columns)  # a row may have no left side

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self.by_key(left, right)
        joined = Joined.of(self)
        names, others_names = ((*self.keys, *layout_of(of).names) for of in self.inputs)
        partners, moved = self.partners.met(self.relevant(other, 1, self.left), others_names)
        traces = self.grown(self.left, 0, one), self.grown(self.right, 1, other)
        grown = replace(self, left=traces[0], right=traces[1], partners=partners)
        parts = [paired(joined, list(meeting(one, other, self.left, self.right)), self.keys)]
        alone = shown(one, self.left, partners, moved, having=False)
        parts.append(self._beside_none(joined, alone, None))
        if isinstance(self.like, FullJoin):
            others, moved = self.other_partners.met(self.relevant(one, 0, self.right), names)
            alone = shown(other, self.right, others, moved, having=False)
            parts.append(self._beside_none(joined, None, alone))
            grown = replace(grown, other_partners=others)
        some = [part for part in parts if part is not None]
        return grown, (self.emitted(pa.concat_tables(some) if some else None),)

    def side_ended(self, place: int) -> Self:
        names = [(*self.keys, *layout_of(of).names) for of in self.inputs]
        sides = [self.left.consolidated(), self.right.consolidated()]
        partners = [self.other_partners, self.partners]
        ended, other = replace(self, ended_side=place), 1 - place
        if other == 1 or isinstance(self.like, FullJoin):
            kept = [ended.relevant(run, other, sides[place]) for run in sides[other]]
            partners[other] = NO_PARTNERS.met(kept[0], names[other])[0] if kept else NO_PARTNERS
        partners[place], sides[other] = partners[place].keys_only(), NOTHING
        return replace(ended, left=sides[0], right=sides[1], partners=partners[1], other_partners=partners[0])

    def _beside_none(self, joined: Joined, left: pa.Table | None, right: pa.Table | None) -> pa.Table | None:
        rows: Any = left if right is None else right
        return None if rows is None else like_rows(joined.results(left, right), rows, self.keys)


@form_of(SemiJoin, AntiJoin)
def filtering(like: SemiJoin | AntiJoin, inputs: StreamTypes) -> Operator | None:
    return FilteringTables(like)


@form_of(LeftJoin, FullJoin)
def outer(like: LeftJoin | FullJoin, inputs: StreamTypes) -> Operator | None:
    return OuterTables(like)
