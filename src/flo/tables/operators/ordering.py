"""Operators on tables that order rows: the first rows of each group, and sort.

The first 2 rows of each group by price, descending. All rows are kept in order, and so are the heads of groups:

    group  price  weight                  a row (a, 8) arrives       the row (a, 9) is retracted
    a      9      +1     ┐ head of a      - (a, 7)  + (a, 8)         - (a, 9)  + (a, 7)
    a      7      +1     ┘
    a      4      +1       below it

Invariant: the sum of the output is the head of each group: its first rows with a positive weight, as often as they
count. From the old head and the delta follows where in the order the head can change; rows before that are not read.

`sort` keeps rows in order as they arrive (`Arranged`), so that little is left to do when the stream ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Indices, Numbers, one_chunk, take_rows
from flo.columns.projection import Widened
from flo.core.collection import Collection
from flo.core.operator import Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamTypes
from flo.tables.functions import (
    KEY,
    beside,
    elements_of,
    group_numbers,
    own_columns,
    plain_columns,
    result_layout,
    results,
    with_group,
)
from flo.tables.groups import keys_by, rows_of
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept
from flo.tables.operators.weights import select_rows, weights_of
from flo.tables.state.comparison import comparisons
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.matching import match_keys
from flo.tables.state.order import Order, have_equal_texts
from flo.tables.state.ranked import DeltaWithHeads, Leading, Ranked, find_leading, groups_in, heads_of, ranked_run
from flo.tables.state.run import Run, run_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, group_equal_rows, sum_ranges, text_of, with_weights
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, is_ordered, layout_of, of_elements
from flo.values.canonical import canonical_element
from flo.values.operators.bags import Sort
from flo.values.operators.over import Over
from flo.values.operators.session_columns import SessionColumns
from flo.values.operators.zset_ranking import Ranking, RankOrder, TopK
from flo.values.weighted import Set

G = TypeVar("G", bound=TopK | Over | SessionColumns, covariant=True)


class InGroups(OnTables[G]):
    """The base of operators that keep the rows of each group in order."""

    placement = Placement.BY_KEY
    grouping = Grouping.ANY

    def key_numbers(self, index: int, table: pa.Table) -> Numbers:
        return group_numbers(self.like.by, self.inputs[0], table)

    def key_columns(self, index: int) -> tuple[str, ...] | None:
        return () if self.like.by is None else own_columns(self.like.by)


def widen(rows: pa.Table, columns: Iterable[pa.Array], of: Collection, output: Collection, into: Any) -> pa.Table:
    """Returns the rows of an output: those of the input `of` with more columns, which `into` puts beside them."""
    layout = layout_of(output)
    if isinstance(into, Widened):
        computed = dict(zip(into.more, columns, strict=True))
        arrays = [computed[name] if name in computed else one_chunk(rows[name]) for name in layout.names]
    else:
        arrays = [layout_of(of).as_array(rows), *columns]
    pairs = zip(arrays, layout.schema, strict=True)
    cast = [each if each.type == field.type else each.cast(field.type) for each, field in pairs]
    return pa.Table.from_arrays(cast, schema=layout.schema)


@form_of(TopK)
@final
@dataclass(frozen=True)
class TopKTables(InGroups[TopK]):
    """The first k rows of each group. It emits how the heads of groups change."""

    rows: Ranked = kept(Ranked(()), Cut.BY_KEY, holds=0)
    """All rows, by group and in order."""
    heads: Trace = kept(Trace(()), Cut.BY_KEY)
    """The rows at the heads of groups, as often as they count."""

    name = "top_k_tables"

    @classmethod
    def fits(cls, like: TopK, inputs: StreamTypes) -> bool:
        of = inputs[0].collection
        if not comparisons(result_layout(like.key, of)):
            return False
        layout = layout_of(of)
        return set(layout.names) <= set(ordering_columns(of, like.key)) or have_equal_texts(layout)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        delta, order = sort_rows(table.combine_chunks(), self.inputs[0], self.like, self.keys)
        kept = replace(self.rows, columns=delta.columns, order=order)
        groups = groups_in(delta)
        old = heads_of(self.heads, groups)
        known = DeltaWithHeads.of(delta, old, groups, order)
        for group in order.find_incomparable(*known):
            like, to_elements = self.like, layout_of(self.inputs[0]).to_elements
            ranking = RankOrder(like.key, like.descending, like.name, like.ties)
            rank_on_values(group, groups, self.rows, delta, old, to_elements, like.count, ranking)
        new = find_leading([*kept.runs, delta], groups, self.like.count, order, known.begin(order), self.like.ties)
        parts = [
            with_weights(head.table, np.multiply(head.times, sign))
            for head, sign in ((old, -1), (new, 1))
            if head is not None
        ]
        changed = run_of(consolidate_table(pa.concat_tables(parts or [delta.table.slice(0, 0)])), delta.columns)
        heads = replace(self.heads, columns=delta.columns).extend(changed)
        rows = changed.table.select([*layout_of(self.outputs[0]).names, *self.keys])
        rows = with_weights(rows, numbers_in(changed.table, WEIGHT))
        return replace(self, rows=kept.extend(delta), heads=heads), (self.emitted(consolidate_table(rows)),)


def rank_on_values(
    group: int,
    groups: Run,
    rows: Iterable[Run],
    delta: Run,
    old: Leading | None,
    to_elements: Callable[[pa.Table], list[Any]],
    count: int,
    order: RankOrder,
) -> None:
    """Raises what the operator on values raises when it compares rows of this group that cannot be compared."""
    one = select_rows(groups, np.array([group]))

    def read(table: pa.Table, indices: Indices, weights: Indices) -> list[tuple[Any, int]]:
        elements = map(canonical_element, to_elements(take_rows(table, indices)))
        return list(zip(elements, weights[indices].tolist(), strict=True))

    def units(runs: Iterable[Run]) -> dict[Any, int]:
        counted: Counter[Any] = Counter()
        for run in runs:
            for element, weight in read(run.table, match_keys(one, run)[1], weights_of(run)):
                counted[element] += weight
        return {element: weight for element, weight in counted.items() if weight}

    top = [] if old is None else read(old.table, np.flatnonzero(old.groups == group), old.times)
    Ranking(PersistentMap(units(rows)), tuple(top)).changed(list(units([delta]).items()), count, order)


def sort_rows(table: pa.Table, of: Collection, like: TopK, apart: tuple[str, ...]) -> tuple[Run, Order]:
    """Sorts rows by group and in the order of the key. Adds columns for both where the rows have none.

    Returns the order, too. The columns `apart` are part of the group.
    """
    table, groups = with_group(table, like.by, of)
    groups = (*groups, *apart)
    table, columns = with_key_columns(table, of, like.key)
    keys = keys_of([table[name] for name in groups])
    layout = layout_of(of)
    tells = {name for name in groups if keys.exact and not table.schema.field(name).nullable} | set(columns)
    decisive = set(layout.names) <= tells
    order = Order(columns, like.descending, layout, by_text=True, key=result_layout(like.key, of), decisive=decisive)
    return ranked_run(table, groups, keys, order), order


def with_key_columns(table: pa.Table, of: Collection, key: Any) -> tuple[pa.Table, tuple[str, ...]]:
    """Adds the columns of an ordering key to rows that have none. Returns the names of the key's columns, too."""
    columns = ordering_columns(of, key)
    own = layout_of(of).names
    missing = [name for name in columns if name not in own]
    if missing:
        keys = results(key, of, table.select(list(own))).rename_columns(list(columns))
        table = beside(table, keys.select(missing))
    return table, columns


def ordering_columns(of: Collection, key: Any) -> tuple[str, ...]:
    """The columns of an ordering key: columns of the row where it consists of these, and computed ones otherwise."""
    columns, layout = plain_columns(key, of), result_layout(key, of)
    if columns is not None:
        return columns
    assert layout is not None
    computed = tuple(f"{KEY}{KEY}{name}" for name in layout.names)
    if not isinstance(key, Expression) or not isinstance(key.given, tuple):
        return computed
    return tuple(each if isinstance(each, str) else name for each, name in zip(key.given, computed, strict=True))


@dataclass(frozen=True, eq=False)
class Arranged(Trace):
    """Rows by group and in order; where they are equal, or there is no order, as they came.

    Rows with weights occur once: the weights of equal ones are added up. The operator that holds the trace says how it
    is ordered; that is not stored."""

    order: Order | None = None
    once: bool = False
    """Whether a row that comes again adds no weight, as in a set."""

    term = "arranged"

    @property
    def how(self) -> tuple[object, ...]:
        return (*super().how, self.order, self.once)

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        return runs[0] if len(runs) == 1 else self.run(pa.concat_tables([run.table for run in runs]), in_parts=True)

    def cut(self, runs: list[Run], fuel: int) -> list[int] | None:
        return None if self.order is None else self.order.cut([run.table for run in runs], fuel)

    def run(self, table: pa.Table, in_parts: bool = False) -> Run:
        """Sorts rows; `in_parts` says that they consist of parts that are sorted."""
        table = table.combine_chunks()
        keys, groups = Keys(np.zeros(table.num_rows, np.uint64), exact=False), np.zeros(table.num_rows, np.int64)
        if self.columns:
            own = table.select(list(self.columns))
            keys = keys_by(own, self.columns)
            indices, firsts = group_equal_rows(own, keys)
            groups[indices] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(indices)))
        elif self.order is None:
            return Run((), keys, table)
        weights = None
        if self.order is not None:
            indices, weights = self.sorted(table, groups, in_parts)
        rows = take_rows(table, indices)
        return Run(
            self.columns, Keys(keys.at(indices), keys.exact), rows if weights is None else with_weights(rows, weights)
        )

    def sorted(self, table: pa.Table, groups: Indices, in_parts: bool = False) -> tuple[Indices, Indices | None]:
        """Returns the indices of rows by group and in order, and their weights, if they have any: then equal rows occur
        once."""
        assert self.order is not None
        if WEIGHT not in table.column_names:
            compared = zip(self.order.comparisons, self.order.columns, strict=True)
            numbers = [of.numbers(one_chunk(table[name])) for of, name in compared]
            return np.lexsort((*numbers[::-1], groups) if groups.any() else numbers[::-1]), None
        indices, firsts = self.order.sort(table, groups, in_parts)
        if self.once:
            return indices[firsts], np.ones(len(firsts), np.int64)
        return indices[firsts], sum_ranges(numbers_in(table, WEIGHT)[indices], firsts)

    def _content(self) -> dict[str, Any]:
        table = self.table()
        if table is None or WEIGHT in table.column_names:
            return super()._content()
        return {str(index): text_of(row) for index, row in enumerate(table.to_pylist())}


@form_of(Sort)
@final
@dataclass(frozen=True)
class SortTables(OnTables[Sort]):
    """sort(key): equal keys stay in the order of a sequence, and are by their text otherwise."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY

    rows: Arranged = field(default=Arranged(()))

    name = "sort_tables"

    @classmethod
    def fits(cls, like: Sort, inputs: StreamTypes) -> bool:
        """Columns must have the order that Python gives the keys, and elements a text that breaks ties."""
        of = inputs[0].collection
        return bool(comparisons(result_layout(like.key, of))) and (is_ordered(of) or have_equal_texts(layout_of(of)))

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        table, _ = with_key_columns(table, self.inputs[0], self.like.key)
        kept = self._kept()
        return replace(self, rows=kept.extend(kept.run(table))), (None,)

    def close(self, groups: Run) -> tuple[Operator, Deltas]:
        table, which = rows_of(self.rows, groups)
        if table is None or not table.num_rows:
            return self, (None,)
        table, kept = table.combine_chunks(), self._kept(by_text=not is_ordered(self.inputs[0]))
        assert kept.order is not None
        indices, weights = np.arange(table.num_rows), None
        one_run = is_ordered(self.inputs[0]) and len(self.rows.runs) == 1  # and in order
        if not one_run:
            indices, weights = kept.sorted(table, which, in_parts=True)
        strange = kept.order.find_incomparable(table, which, indices)
        if len(strange):
            self._refuse(take_rows(table, np.flatnonzero(which == strange[0])))
        rows = table if one_run else take_rows(table, indices if weights is None else np.repeat(indices, weights))
        return self, (self.emitted(rows.select([*self.keys, *kept.order.layout.names])),)

    def _kept(self, by_text: bool = False) -> Arranged:
        """The rows that are kept, with their groups and their order."""
        of, layout, by = self.inputs[0], layout_of(self.inputs[0]), self.like.key
        columns, key = ordering_columns(of, by), result_layout(by, of)
        decisive = set(layout.names) <= set(columns)
        order = Order(columns, descending=False, layout=layout, by_text=by_text, key=key, decisive=decisive)
        return replace(self.rows, columns=self.keys, order=order, once=isinstance(of, Set))

    def _refuse(self, table: pa.Table) -> None:
        """Raises as on values, where Python compares keys that cannot be compared."""
        of, elements = of_elements(self.inputs[0]), elements_of(self.inputs[0], table)
        self.like._sorted(of.value_class.of(elements if is_ordered(of) else [(each, 1) for each in elements]))
