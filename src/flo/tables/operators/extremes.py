"""The least and the greatest of each group of a z-set on tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa

from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import group_array, result_layout
from flo.tables.operators.topk import InOrder, in_order
from flo.tables.state.order import Order
from flo.tables.state.python_order import comparisons
from flo.tables.state.run import Run
from flo.tables.values import layout_of
from flo.values.operators.zset_aggregates import Aggregate
from flo.values.operators.zset_ranking import Order as ValueOrder


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
        like: Any = self.like
        return ValueOrder(like.aggregator.value, like.aggregator.descending, like.aggregator.name)

    def delta(self, table: pa.Table) -> tuple[Run, Order]:
        like: Any = self.like
        extreme = like.aggregator
        value, down = extreme.value, extreme.descending
        return in_order(table, self.inputs[0], like.by, value, down, by_text=False, apart=self.keys)

    def shown(self, heads: Run, order: Order) -> pa.Table:
        like: Any = self.like
        layout = result_layout(like.aggregator.value, self.inputs[0])
        assert layout is not None
        values = heads.table.select(list(order.columns)).rename_columns(list(layout.names))
        if like.by is None:
            return values
        keys = group_array(like.by, heads.table.select(list(heads.columns)))
        return pa.Table.from_arrays([keys, layout.as_array(values)], schema=layout_of(self.outputs[0]).schema)


def extreme(like: Aggregate, inputs: StreamTypes) -> Operator | None:
    """The columnar form, where columns have the order that Python gives the values."""
    aggregator: Any = like.aggregator
    return ExtremeTables(like) if comparisons(result_layout(aggregator.value, inputs[0].collection)) else None
