"""The first rows of each group of a z-set on tables: rows are kept in order, and taken back without a search."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columnar.functions import KEY
from flo.columnar.groups import beside, group_keys, plain_columns, result_layout, results
from flo.columnar.keys import keys_of
from flo.columnar.operator import OnTables
from flo.columnar.order import Order, orderable, shown_alike
from flo.columnar.ranked import Ranked, beginnings, groups_in, heads_of, leading, ranked_run
from flo.columnar.rows import WEIGHT, layout_of
from flo.columnar.run import Run, run_of
from flo.columnar.totals import numbers_in
from flo.columnar.trace import Trace, added_up, weighing
from flo.columnar.translate import form_of
from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.operator import Deltas, Operator
from flo.values.element_value import ElementCollection
from flo.values.operators.zset_topk import TopK


@dataclass(frozen=True)
class InOrder(OnTables):
    """Keeps rows by group and in order, and emits how the heads of groups change."""

    rows: Ranked = field(default=Ranked(()))
    heads: Trace = field(default=Trace(()))
    """The rows at the heads of groups, as often as they count."""

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        delta, order = self.delta(table.combine_chunks())
        kept = replace(self.rows, columns=delta.columns, order=order)
        groups = groups_in(delta)
        old = heads_of(self.heads, groups)
        new = leading([*kept.runs, delta], groups, self.count, order, beginnings(delta, old, groups, order))
        parts = [
            weighing(head.table, np.multiply(head.times, sign))
            for head, sign in ((old, -1), (new, 1))
            if head is not None
        ]
        changed = run_of(added_up(pa.concat_tables(parts or [delta.table.slice(0, 0)])), delta.columns)
        heads = replace(self.heads, columns=delta.columns).extended(changed)
        shown = weighing(self.shown(changed, order), numbers_in(changed.table, WEIGHT))
        return replace(self, rows=kept.extended(delta), heads=heads), (self.emitted(added_up(shown)),)

    @property
    def count(self) -> int:
        raise NotImplementedError

    def delta(self, table: pa.Table) -> tuple[Run, Order]:
        """The rows by group and in order, and that order."""
        raise NotImplementedError

    def shown(self, heads: Run, order: Order) -> pa.Table:
        """The output rows of rows at the heads of groups."""
        raise NotImplementedError

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        done = super().finish(*ends)
        return done and (replace(self, rows=Ranked(()), heads=Trace(())), done[1])


def in_order(
    table: pa.Table, of: ElementCollection[Any], by: Any, key: Any, descending: bool, by_text: bool
) -> tuple[Run, Order]:
    """The rows by group and in the order of a key, with columns for both where the rows have none."""
    groups = plain_columns(by, of) if by is not None else None
    if groups is None:
        keys = group_keys(by, of, table)
        groups, table = tuple(keys.column_names), beside(table, keys)
    columns = plain_columns(key, of)
    if columns is None:
        found = results(key, of, table.select(list(layout_of(of).names)))
        columns = tuple(f"{KEY}{KEY}{name}" for name in found.column_names)
        table = beside(table, found.rename_columns(list(columns)))
    order = Order(columns, descending, layout_of(of), by_text)
    return ranked_run(table, groups, keys_of([table[name] for name in groups]), order), order


@final
@dataclass(frozen=True)
class TopKTables(InOrder):
    """The first k rows of each group."""

    name = "top_k_tables"
    rule = "top-k"

    @property
    def count(self) -> int:
        like: Any = self.like
        return int(like.count)

    def delta(self, table: pa.Table) -> tuple[Run, Order]:
        like: Any = self.like
        return in_order(table, self.inputs[0], like.by, like.key, like.descending, by_text=True)

    def shown(self, heads: Run, order: Order) -> pa.Table:
        return heads.table.select(list(layout_of(self.outputs[0]).names))


@form_of(TopK)
def top_k(like: TopK, inputs: StreamTypes) -> Operator | None:
    of: Any = inputs[0].collection
    return TopKTables(like) if orderable(result_layout(like.key, of)) and shown_alike(layout_of(of)) else None
