"""Rows of z-sets in order on tables: the first of each group, the least and the greatest.

Rows are kept in order, and taken back without a search.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Places, take_rows
from flo.core.collection import Collection
from flo.core.operator import Deltas, Operator
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamTypes
from flo.tables.functions import KEY, beside, group_array, group_keys, plain_columns, result_layout, results
from flo.tables.operator import Cut, kept
from flo.tables.operators.aggregates import ByGroup, G, aggregate_of
from flo.tables.operators.weights import chosen, weights_of
from flo.tables.state.keys import keys_of
from flo.tables.state.order import Order, shown_alike
from flo.tables.state.python_order import comparisons
from flo.tables.state.ranked import Known, Leading, Ranked, groups_in, heads_of, leading, ranked_run
from flo.tables.state.run import Run, pairs, run_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, added_up, weighing
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of
from flo.values.canonical import canonical_element
from flo.values.operators.zset_aggregates import Aggregate
from flo.values.operators.zset_ranking import Extreme, Max, Min, Ranking, TopK
from flo.values.operators.zset_ranking import Order as ValueOrder


@dataclass(frozen=True)
class InOrder(ByGroup[G]):
    """Keeps rows by group and in order, and emits how the heads of groups change."""

    rows: Ranked = kept(Ranked(()), Cut.BY_KEY)
    heads: Trace = kept(Trace(()), Cut.BY_KEY)
    """The rows at the heads of groups, as often as they count."""

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        delta, order = self.delta(table.combine_chunks())
        kept = replace(self.rows, columns=delta.columns, order=order)
        groups = groups_in(delta)
        old = heads_of(self.heads, groups)
        known = Known.of(delta, old, groups, order)
        for group in order.not_compared(*known):
            self._refused(group, groups, delta, old)
        new = leading([*kept.runs, delta], groups, self.count, order, known.begin(order), self.ties)
        parts = [
            weighing(head.table, np.multiply(head.times, sign))
            for head, sign in ((old, -1), (new, 1))
            if head is not None
        ]
        changed = run_of(added_up(pa.concat_tables(parts or [delta.table.slice(0, 0)])), delta.columns)
        heads = replace(self.heads, columns=delta.columns).extended(changed)
        shown = beside(self.shown(changed, order), changed.table.select(list(self.keys)))
        shown = weighing(shown, numbers_in(changed.table, WEIGHT))
        return replace(self, rows=kept.extended(delta), heads=heads), (self.emitted(added_up(shown)),)

    def _refused(self, group: int, groups: Run, delta: Run, old: Leading | None) -> None:
        """What the namesake raises where it compares rows of the group that cannot be compared."""
        one = chosen(groups, np.array([group]))
        before, units = (self._units([(run, pairs(one, run)[1]) for run in runs]) for runs in (self.rows, [delta]))
        top = [] if old is None else self._elements(old.table, np.flatnonzero(old.groups == group), old.times)
        ranking = Ranking(PersistentMap(before), tuple(top))
        ranking.changed(list(units.items()), self.count, self.ranking)

    def _units(self, parts: list[tuple[Run, Places]]) -> dict[Any, int]:
        weights: Counter[Any] = Counter()
        for run, places in parts:
            for element, weight in self._elements(run.table, places, weights_of(run)):
                weights[element] += weight
        return {element: weight for element, weight in weights.items() if weight}

    def _elements(self, table: pa.Table, places: Places, weights: Places) -> list[tuple[Any, int]]:
        elements = layout_of(self.inputs[0]).to_elements(take_rows(table, places))
        return list(zip(map(canonical_element, elements), weights[places].tolist(), strict=True))

    @property
    def count(self) -> int:
        raise NotImplementedError

    @property
    def ties(self) -> int | None:
        """In how many columns of the order rows are equal that share a place; None if they share none."""
        return None

    @property
    def ranking(self) -> ValueOrder:
        """The order of the namesake."""
        raise NotImplementedError

    def delta(self, table: pa.Table) -> tuple[Run, Order]:
        """The rows by group and in order, and that order."""
        raise NotImplementedError

    def shown(self, heads: Run, order: Order) -> pa.Table:
        """The output rows of rows at the heads of groups."""
        raise NotImplementedError


def in_order(
    table: pa.Table,
    of: Collection,
    by: Any,
    key: Any,
    descending: bool | tuple[bool, ...],
    by_text: bool,
    apart: tuple[str, ...] = (),
) -> tuple[Run, Order]:
    """The rows by group and in the order of a key, with columns for both where the rows have none.

    Groups are kept apart by more columns.
    """
    groups = plain_columns(by, of) if by is not None else None
    if groups is None:
        computed = group_keys(by, of, table)
        groups, table = tuple(computed.column_names), beside(table, computed)
    groups = (*groups, *apart)
    table, columns = by_key(table, of, key)
    keys = keys_of([table[name] for name in groups])
    layout = layout_of(of)
    tells = {name for name in groups if keys.exact and not table.schema.field(name).nullable} | set(columns)
    order = Order(columns, descending, layout, by_text, result_layout(key, of), set(layout.names) <= tells)
    return ranked_run(table, groups, keys, order), order


def by_key(table: pa.Table, of: Collection, key: Any) -> tuple[pa.Table, tuple[str, ...]]:
    """The rows with columns for a key, where they have none, and these columns."""
    columns = ordering_columns(of, key)
    own = layout_of(of).names
    missing = [name for name in columns if name not in own]
    if missing:
        found = results(key, of, table.select(list(own))).rename_columns(list(columns))
        table = beside(table, found.select(missing))
    return table, columns


def ordering_columns(of: Collection, key: Any) -> tuple[str, ...]:
    """The columns of a key: the row's own, where they are parts of it."""
    columns, layout = plain_columns(key, of), result_layout(key, of)
    if columns is not None:
        return columns
    assert layout is not None
    computed = tuple(f"{KEY}{KEY}{name}" for name in layout.names)
    if not isinstance(key, Expression) or not isinstance(key.given, tuple):
        return computed
    return tuple(each if isinstance(each, str) else name for each, name in zip(key.given, computed, strict=True))


@final
@dataclass(frozen=True)
class TopKTables(InOrder[TopK]):
    """The first k rows of each group."""

    name = "top_k_tables"
    rule = "top-k"

    @property
    def count(self) -> int:
        return int(self.like.count)

    @property
    def ties(self) -> int | None:
        return self.like.ties

    @property
    def ranking(self) -> ValueOrder:
        like = self.like
        return ValueOrder(like.key, like.descending, like.name, like.ties)

    def delta(self, table: pa.Table) -> tuple[Run, Order]:
        like = self.like
        return in_order(table, self.inputs[0], like.by, like.key, like.descending, by_text=True, apart=self.keys)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns

    def shown(self, heads: Run, order: Order) -> pa.Table:
        return heads.table.select(list(layout_of(self.outputs[0]).names))


@form_of(TopK)
def top_k(like: TopK, inputs: StreamTypes) -> Operator | None:
    of = inputs[0].collection
    if not comparisons(result_layout(like.key, of)):
        return None
    layout = layout_of(of)
    decided = set(layout.names) <= set(ordering_columns(of, like.key))
    return TopKTables(like) if decided or shown_alike(layout) else None


@final
@dataclass(frozen=True)
class ExtremeTables(InOrder[Aggregate]):
    """The value of the first row of each group."""

    name = "extreme_tables"
    rule = "aggregate"

    @property
    def count(self) -> int:
        return 1

    @property
    def ranking(self) -> ValueOrder:
        extreme = _extreme(self.like)
        return ValueOrder(extreme.value, extreme.descending, extreme.name)

    def delta(self, table: pa.Table) -> tuple[Run, Order]:
        extreme, by = _extreme(self.like), self.like.by
        value, down = extreme.value, extreme.descending
        return in_order(table, self.inputs[0], by, value, down, by_text=False, apart=self.keys)

    def shown(self, heads: Run, order: Order) -> pa.Table:
        layout = result_layout(_extreme(self.like).value, self.inputs[0])
        assert layout is not None
        values = heads.table.select(list(order.columns)).rename_columns(list(layout.names))
        if self.like.by is None:
            return values
        keys = group_array(self.like.by, heads.table.select(list(heads.columns)))
        return pa.Table.from_arrays([keys, layout.as_array(values)], schema=layout_of(self.outputs[0]).schema)


def _extreme(like: Aggregate) -> Extreme:
    assert isinstance(like.aggregator, Extreme)
    return like.aggregator


@aggregate_of(Min, Max)
def extreme(like: Aggregate, inputs: StreamTypes) -> Operator | None:
    """Where columns have the order that Python gives the values."""
    layout = result_layout(_extreme(like).value, inputs[0].collection)
    return ExtremeTables(like) if comparisons(layout) else None
