"""Joins on tables: a delta meets the trace of the other side, and the traces grow by the deltas."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.cell import Cell
from flo.columns.expression import Expression
from flo.columns.indices import Numbers, Places, taken
from flo.columns.layout import Layout
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import key_layout, keyed, plain_columns, with_key
from flo.tables.operator import OnTables, Placement
from flo.tables.operators.joins_into import Joined
from flo.tables.operators.weights import NOTHING, matching, multiplied, new_rows
from flo.tables.state.keys import comparable, keys_of
from flo.tables.state.run import Run, pairs
from flo.tables.state.trace import Trace, consolidated
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of
from flo.values.element_value import ElementCollection
from flo.values.operators.bags import BagJoin
from flo.values.operators.sets import SetJoin
from flo.values.operators.zset_joins import Join

Meeting = tuple[Run, Run, Places, Places]
"""Two runs, and the rows of each whose keys are equal."""


@dataclass(frozen=True)
class JoinedByKey(OnTables):
    """What all joins share: both sides by key, and an end when both have ended."""

    @property
    def rule(self) -> str:  # type: ignore[override]
        return self.like.rule  # type: ignore[attr-defined,no-any-return]

    placement = Placement.BY_KEY
    cancels = True

    @property
    @abstractmethod
    def ended_side(self) -> int | None:
        """The side that has ended before the other. A field that comes last: states know fields by their places."""

    def key_numbers(self, place: int, table: pa.Table) -> Numbers:
        ons = key_functions(self.like, self.inputs)
        coded = must_be_coded(*ons, *self.inputs)
        rows, columns = with_key(table, ons[place], self.inputs[place], coded=coded)
        return keys_of([rows[name] for name in columns]).numbers

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        ons = key_functions(self.like, self.inputs)
        return None if must_be_coded(*ons, *self.inputs) else plain_columns(ons[place], self.inputs[place])

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return Joined.of(self).passed(columns)

    def by_key(self, *tables: pa.Table) -> list[Run]:
        """What arrived on each side, without rows that cancel out: every row is paired with all of its key."""
        return [consolidated(self.side(place, table)) for place, table in enumerate(tables)]

    def side(self, place: int, table: pa.Table) -> Run:
        """Rows of one side by key."""
        ons = key_functions(self.like, self.inputs)
        coded = must_be_coded(*ons, *self.inputs)
        return keyed(table, ons[place], self.inputs[place], coded=coded, beside=self.keys)

    def relevant(self, delta: Run, place: int, other: Trace) -> Run:
        """The rows of a side that may ever have a partner: when the other has ended, those of its keys."""
        return matching(delta, other) if self.ended_side == 1 - place else delta

    def grown(self, trace: Trace, place: int, delta: Run) -> Trace:
        """What is kept of a side with a delta: nothing more is, when the other has ended."""
        return trace if self.ended_side == 1 - place else trace.extended(delta)

    def unit(self, of: ElementCollection[Any], part: pa.Table) -> str:
        return repr(layout_of(of).to_elements(part)[0])


def key_functions(like: Any, inputs: tuple[ElementCollection[Any], ...]) -> tuple[Any, Any]:
    """What gives the keys of both sides; the edges of a set join have theirs in their first column."""
    if isinstance(like, SetJoin) and like.other_on is None:
        return like.on, _first_column(inputs[1])
    return like.on, like.other_on


@lru_cache(maxsize=256)
def _first_column(of: ElementCollection[Any]) -> Expression:
    layout = layout_of(of)
    return Expression(layout.names[0], (layout,))


@lru_cache(maxsize=1024)
def must_be_coded(on: Any, other_on: Any, left: ElementCollection[Any], right: ElementCollection[Any]) -> bool:
    """Whether the keys of both sides are of types that only Python can compare."""
    one, other = key_layout(on, left), key_layout(other_on, right)
    if one is None or other is None or one.form != other.form or len(one.cells) != len(other.cells):
        return True
    return not all(map(_comparable, one.cells, other.cells))


def _comparable(one: Cell, other: Cell) -> bool:
    return comparable(one.arrow, other.arrow) and (one.kind == other.kind or (one.read is None and other.read is None))


def meeting(left: Run, right: Run, lefts: Trace, rights: Trace) -> Iterator[Meeting]:
    """M₁ ⋈ M₂' + M₁' ⋈ M₂ + M₁' ⋈ M₂'."""
    both = [(left, run) for run in rights] + [(run, right) for run in lefts] + [(left, right)]
    for some, others in both:
        if some.rows and others.rows:
            ours, theirs = pairs(some, others)
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
        weights = multiplied(left[WEIGHT], right[WEIGHT])
    found = joined.results(left, right)
    for name in keys:
        found = found.append_column(left.schema.field(name), left[name])
    return found.append_column(pa.field(WEIGHT, pa.int64(), nullable=False), weights)


def _gathered(meetings: list[Meeting], side: int, names: list[str]) -> pa.Table:
    sides = [(left, ours) if side == 0 else (right, theirs) for left, right, ours, theirs in meetings]
    return pa.concat_tables([taken(run.table.select(names), places) for run, places in sides])


@final
@dataclass(frozen=True)
class JoinTables(JoinedByKey):
    """join(on, other_on, into) of z-sets and of bags."""

    left: Trace = field(default=NOTHING)
    right: Trace = field(default=NOTHING)
    ended_side: int | None = None

    name = "join_tables"

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        one, other = self.by_key(left, right)
        found = paired(Joined.of(self), list(meeting(one, other, self.left, self.right)), self.keys)
        grown = replace(self, left=self.grown(self.left, 0, one), right=self.grown(self.right, 1, other))
        return grown, (self.emitted(found),)

    def side_ended(self, place: int) -> Self:
        kept = replace(self, right=NOTHING) if place == 0 else replace(self, left=NOTHING)
        return replace(kept, ended_side=place)


@final
@dataclass(frozen=True)
class SetJoinTables(JoinedByKey):
    """The same of sets. Each side remembers its rows: what was consumed may come again. It need not when the other has
    ended: a set may emit a row again."""

    left: Trace = field(default=NOTHING)
    right: Trace = field(default=NOTHING)
    seen: Trace = field(default=NOTHING)
    other_seen: Trace = field(default=NOTHING)
    ended_side: int | None = None

    name = "join_set_tables"

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        names = [(*self.keys, *layout_of(of).names) for of in self.inputs]
        some = [new_rows(seen, table, n) for seen, table, n in zip(self._seen(), (left, right), names, strict=True)]
        one, other = self.by_key(*(rows.table for rows in some))
        found = paired(Joined.of(self), list(meeting(one, other, self.left, self.right)), self.keys)
        seen, other_seen = (self.grown(each, place, some[place]) for place, each in enumerate(self._seen()))
        grown = replace(self, left=self.grown(self.left, 0, one), right=self.grown(self.right, 1, other))
        return replace(grown, seen=seen, other_seen=other_seen), (self.emitted(found),)

    def side_ended(self, place: int) -> Self:
        kept = replace(self, right=NOTHING) if place == 0 else replace(self, left=NOTHING)
        return replace(kept, seen=NOTHING, other_seen=NOTHING, ended_side=place)

    def _seen(self) -> tuple[Trace, Trace]:
        return self.seen, self.other_seen


@form_of(Join, BagJoin)
def join(like: Join | BagJoin, inputs: StreamTypes) -> Operator | None:
    return JoinTables(like)


@form_of(SetJoin)
def join_sets(like: SetJoin, inputs: StreamTypes) -> Operator | None:
    right = Layout.of(inputs[1].collection.element)  # type: ignore[attr-defined]
    edges = right is not None and right.form != "value" and len(right.names) > 1
    return SetJoinTables(like) if like.other_on is not None or edges else None
