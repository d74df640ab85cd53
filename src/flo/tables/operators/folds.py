"""One result of a whole input on tables: how many elements there were, and their sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, one_chunk
from flo.columns.layout import VALUE
from flo.core.collection import End
from flo.core.operator import Deltas, Operator, Step, Values, run
from flo.core.stream_type import StreamTypes
from flo.tables.functions import group_keys
from flo.tables.operator import Grouping, OnTables, Op, Placement
from flo.tables.state.keys import keys_of
from flo.tables.state.totals import Totals, as_array, grouped, numbers_in
from flo.tables.state.trace import added, added_up, fitting, weighing
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, Rows, layout_of, of_elements, ordered
from flo.values.operators.bags import Count, Sum
from flo.values.weighted import Set


@dataclass(frozen=True)
class TotalTables(OnTables[Op]):
    """A set is left alone until its end: before, an element may arrive again."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, Rows)
        waits = isinstance(self.inputs[0], Set) and value.end is End.OPEN
        return iter(()) if waits else super().steps(inputs)

    def advance(self, inputs: Values) -> Iterator[Step]:
        return run(self, inputs)

    def weighted(self, table: pa.Table) -> tuple[pa.Table, Places]:
        """The elements and how often each is there."""
        if ordered(self.inputs[0]):
            return table.combine_chunks(), np.ones(table.num_rows, np.int64)
        if isinstance(self.inputs[0], Set):
            table = added_up(weighing(table, np.ones(table.num_rows, np.int64)))
            return table, np.ones(table.num_rows, np.int64)
        table = table.combine_chunks()
        return table, numbers_in(table, WEIGHT)

    def result(self, array: pa.Array) -> Rows:
        table = pa.Table.from_arrays([array], schema=layout_of(self.outputs[0]).schema)
        return Rows(of_elements(self.outputs[0]), table, End.ARRIVED)


@final
@dataclass(frozen=True)
class CountTables(TotalTables[Count]):
    """How many elements there were."""

    total: int = 0

    name = "count_tables"
    rule = "count"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        weights = self.weighted(table)[1]
        total = fitting(np.array([self.total]), added(weights, np.zeros(1, np.int64)))
        return replace(self, total=int(total[0])), (None,)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        return self, (self.result(pa.array([self.total], pa.int64())),)


@final
@dataclass(frozen=True)
class SumTables(TotalTables[Sum]):
    """The sum of all elements, rounded once."""

    totals: Totals = field(default=Totals(()))

    name = "sum_tables"
    rule = "sum"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        table, weights = self.weighted(table)
        keys = group_keys(None, self.inputs[0], table)
        delta, _ = grouped(keys, keys_of(keys.columns), weights, [one_chunk(table[VALUE])])
        totals = self.totals if self.totals.runs else Totals(delta.columns)
        return replace(self, totals=totals.extended(delta)), (None,)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        kind = layout_of(self.outputs[0]).cells[0].arrow
        keys = group_keys(None, self.inputs[0], pa.table({VALUE: [0]}))
        one, _ = grouped(keys, keys_of(keys.columns), np.zeros(1, np.int64), [])
        return self, (self.result(as_array(self.totals.known(one), 0, kind, lambda place: "all elements")),)


@form_of(Count)
def count(like: Count, inputs: StreamTypes) -> Operator | None:
    return CountTables(like)


@form_of(Sum)
def total(like: Sum, inputs: StreamTypes) -> Operator | None:
    return SumTables(like)
