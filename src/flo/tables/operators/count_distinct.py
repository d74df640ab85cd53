"""How many different values there are in each group of a z-set on tables: the weight of every value, and the counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import taken
from flo.columns.layout import VALUE
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import KEY, beside, group_keys, result_layout, result_rows, results, row_by_row
from flo.tables.operators.by_group import ByGroup
from flo.tables.operators.weights import NOTHING, flips, totals, weights_in, weights_of
from flo.tables.state.python_order import code_of
from flo.tables.state.trace import Trace, weighing
from flo.tables.values import WEIGHT
from flo.values.operators.zset_aggregates import Aggregate


@final
@dataclass(frozen=True)
class CountDistinctTables(ByGroup):
    """A delta is looked up by value and by group, however many values a group has."""

    values: Trace = field(default=NOTHING)
    counts: Trace = field(default=NOTHING)

    name = "count_distinct_tables"
    rule = "aggregate"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        like: Any = self.like
        of = self.inputs[0]
        keys = beside(group_keys(like.by, of, table), table.select(list(self.keys)))
        found = self._different(table)
        both = beside(keys, found.rename_columns([f"{KEY}{KEY}{name}" for name in found.column_names]))
        values = totals(weighing(both, table[WEIGHT].to_numpy()), tuple(both.column_names))
        come = weighing(values.table.select(keys.column_names), flips(self.values, values))
        moved = totals(come, tuple(keys.column_names))
        before = weights_in(self.counts, moved)
        after = before + weights_of(moved)
        old, new = np.flatnonzero(before), np.flatnonzero(after)
        groups = taken(moved.table.select(keys.column_names), np.concatenate([old, new]))
        rows = result_rows(like.by, self.outputs[0], groups, pa.array(np.concatenate([before[old], after[new]])))
        rows = beside(rows, groups.select(list(self.keys)))
        grown = replace(self, values=self.values.extended(values), counts=self.counts.extended(moved))
        return grown, (self.emitted(weighing(rows, np.repeat([-1, 1], [len(old), len(new)]))),)

    def _different(self, table: pa.Table) -> pa.Table:
        """The values, or bytes that are equal where values of a type nobody declared are."""
        f, of = self.like.aggregator.value, self.inputs[0]  # type: ignore[attr-defined]
        if result_layout(f, of) is not None:
            return results(f, of, table)
        values = row_by_row(f, (of,), table)
        set(values)  # refuses what has no hash
        return pa.table({VALUE: pa.array([code_of(value) for value in values], pa.binary())})


def count_distinct(like: Aggregate, inputs: StreamTypes) -> Operator | None:
    aggregator: Any = like.aggregator
    layout = result_layout(aggregator.value, inputs[0].collection)  # type: ignore[arg-type]
    return CountDistinctTables(like) if layout is None or layout.hashable else None
