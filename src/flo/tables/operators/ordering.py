"""Sort on tables: rows are kept in order as they come, so that little is left to do at the end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, one_chunk, take_rows
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import elements_of, result_layout
from flo.tables.groups import keys_by, rows_of
from flo.tables.operator import Grouping, OnTables, Placement
from flo.tables.operators.ranking import by_key, ordering_columns
from flo.tables.state.keys import Keys
from flo.tables.state.order import Order, comparisons, shown_alike
from flo.tables.state.run import Run
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, added, alike, text_of, weighing
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of, of_elements, ordered
from flo.values.operators.bags import Sort
from flo.values.weighted import Set


@dataclass(frozen=True, eq=False)
class Arranged(Trace):
    """Rows by group and in order; where they are equal, or there is no order, as they came. Rows with weights are added
    up."""

    order: Order | None = None
    once: bool = False
    """Whether rows that come again add no weight. Both are of the operator that holds it: not part of what is kept."""

    term = "arranged"

    def joined(self, runs: list[Run], fully: bool = False) -> Run:
        return runs[0] if len(runs) == 1 else self.run(pa.concat_tables([run.table for run in runs]), in_parts=True)

    def run(self, table: pa.Table, in_parts: bool = False) -> Run:
        """The rows in order; `in_parts` says that they are made of parts which are."""
        table = table.combine_chunks()
        keys, groups = Keys(np.zeros(table.num_rows, np.uint64), exact=False), np.zeros(table.num_rows, np.int64)
        if self.columns:
            own = table.select(list(self.columns))
            keys = keys_by(own, self.columns)
            places, firsts = alike(own, keys)
            groups[places] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(places)))
        elif self.order is None:
            return Run((), keys, table)
        weights = None
        if self.order is not None:
            places, weights = self.sorted(table, groups, in_parts)
        rows = take_rows(table, places)
        return Run(
            self.columns, Keys(keys.at(places), keys.exact), rows if weights is None else weighing(rows, weights)
        )

    def sorted(self, table: pa.Table, groups: Places, in_parts: bool = False) -> tuple[Places, Places | None]:
        """(the rows by group and in order, each once if they have weights; their weights, if they have)."""
        assert self.order is not None
        if WEIGHT not in table.column_names:
            compared = zip(self.order.comparisons, self.order.columns, strict=True)
            numbers = [of.numbers(one_chunk(table[name])) for of, name in compared]
            return np.lexsort((*numbers[::-1], groups) if groups.any() else numbers[::-1]), None
        places, firsts = self.order.sorted(table, groups, in_parts)
        weights = np.ones(len(firsts), np.int64) if self.once else added(numbers_in(table, WEIGHT)[places], firsts)
        return places[firsts], weights

    def _content(self) -> dict[str, Any]:
        table = self.table()
        if table is None or WEIGHT in table.column_names:
            return super()._content()
        return {str(place): text_of(row) for place, row in enumerate(table.to_pylist())}


@form_of(Sort)
@final
@dataclass(frozen=True)
class SortTables(OnTables[Sort]):
    """sort(key): equal keys stay in the order of a sequence, and are by their text otherwise."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY
    keeps_positions = False

    rows: Arranged = field(default=Arranged(()))

    name = "sort_tables"

    @classmethod
    def fits(cls, like: Sort, inputs: StreamTypes) -> bool:
        """Columns must have the order that Python gives the keys, and elements a text that breaks ties."""
        of = inputs[0].collection
        return bool(comparisons(result_layout(like.key, of))) and (ordered(of) or shown_alike(layout_of(of)))

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        table, _ = by_key(table, self.inputs[0], self.like.key)
        kept = self._kept()
        return replace(self, rows=kept.extended(kept.run(table))), (None,)

    def close(self, groups: Run) -> tuple[Operator, Deltas]:
        table, which = rows_of(self.rows, groups)
        if table is None or not table.num_rows:
            return self, (None,)
        table, kept = table.combine_chunks(), self._kept(by_text=not ordered(self.inputs[0]))
        assert kept.order is not None
        places, weights = np.arange(table.num_rows), None
        one_run = ordered(self.inputs[0]) and len(self.rows.runs) == 1  # and in order
        if not one_run:
            places, weights = kept.sorted(table, which, in_parts=True)
        strange = kept.order.not_compared(table, which, places)
        if len(strange):
            self._refuse(take_rows(table, np.flatnonzero(which == strange[0])))
        rows = table if one_run else take_rows(table, places if weights is None else np.repeat(places, weights))
        return self, (self.emitted(rows.select([*self.keys, *kept.order.layout.names])),)

    def _kept(self, by_text: bool = False) -> Arranged:
        """The rows, with what is known of them."""
        of, layout, by = self.inputs[0], layout_of(self.inputs[0]), self.like.key
        columns, key = ordering_columns(of, by), result_layout(by, of)
        decisive = set(layout.names) <= set(columns)
        order = Order(columns, descending=False, layout=layout, by_text=by_text, key=key, decisive=decisive)
        return replace(self.rows, columns=self.keys, order=order, once=isinstance(of, Set))

    def _refuse(self, table: pa.Table) -> None:
        """What Python raises where it compares keys that cannot be compared."""
        of, elements = of_elements(self.inputs[0]), elements_of(self.inputs[0], table)
        self.like._sorted(of.value_class.of(elements if ordered(of) else [(each, 1) for each in elements]))
