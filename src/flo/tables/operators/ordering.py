"""Sort on tables: rows are kept in order as they come, so that little is left to do at the end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import one_chunk, taken
from flo.core.collection import End
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.core.term import Call, Lowering, Term, register
from flo.tables.functions import elements_of, result_layout
from flo.tables.operator import Grouping, OnTables, Placement
from flo.tables.operators.ranking import by_key
from flo.tables.state.keys import Keys
from flo.tables.state.order import Order, shown_alike
from flo.tables.state.python_order import comparisons
from flo.tables.state.run import Run
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, added, text_of, weighing
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, Rows, layout_of, of_elements, ordered
from flo.values.operators.bags import Sort
from flo.values.weighted import Set


@dataclass(frozen=True, eq=False)
class Arranged(Trace):
    """Rows by these columns; where they are equal, or there are none, as they came. Rows with weights are added up."""

    order: Order | None = None
    once: bool = False
    """Whether rows that come again add no weight. Both are of the operator that holds it: not part of what is kept."""

    def joined(self, runs: list[Run], fully: bool = False) -> Run:
        return runs[0] if len(runs) == 1 else self.run(pa.concat_tables([run.table for run in runs]), in_parts=True)

    def run(self, table: pa.Table, in_parts: bool = False) -> Run:
        """The rows in order; `in_parts` says that they are made of parts which are."""
        table = table.combine_chunks()
        if WEIGHT in table.column_names:
            table = self._added_up(table, in_parts)
        elif self.order is not None:
            compared = zip(self.order.comparisons, self.columns, strict=True)
            table = taken(table, np.lexsort([of.numbers(one_chunk(table[name])) for of, name in compared][::-1]))
        return Run(self.columns, Keys(np.zeros(table.num_rows, np.uint64), exact=False), table)

    def _added_up(self, table: pa.Table, in_parts: bool) -> pa.Table:
        assert self.order is not None
        places, firsts = self.order.sorted(table, np.zeros(table.num_rows, np.int64), in_parts)
        weights = np.ones(len(firsts), np.int64) if self.once else added(numbers_in(table, WEIGHT)[places], firsts)
        return weighing(taken(table, places[firsts]), weights)

    def _content(self) -> dict[str, Any]:
        table = self.table()
        if table is None or WEIGHT in table.column_names:
            return super()._content()
        return {str(place): text_of(row) for place, row in enumerate(table.to_pylist())}

    def lower(self, lower: Lowering) -> Term:
        return Call("arranged", (self.columns, tuple(lower(run) for run in self.runs)))


register("arranged", lambda columns=(), runs=(): Arranged(tuple(columns), tuple(runs)))


@final
@dataclass(frozen=True)
class SortTables(OnTables[Sort]):
    """sort(key): equal keys stay in the order of a sequence, and are by their text otherwise."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    rows: Arranged = field(default=Arranged(()))

    name = "sort_tables"
    rule = "sort"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        table, columns = by_key(table, self.inputs[0], self.like.key)
        kept = self._kept(columns)
        return replace(self, rows=kept.extended(kept.run(table))), (None,)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        ended, kept = replace(self, rows=Arranged(())), self._kept(self.rows.columns)
        table, order = kept.table(), kept.order
        if table is None or order is None:
            return ended, (self.ended(),)
        together, places = np.zeros(table.num_rows, np.int64), np.arange(table.num_rows)
        if not ordered(self.inputs[0]):
            places, _ = replace(order, by_text=True).sorted(table, together, in_parts=True)
        if len(order.not_compared(table, together, places)):
            self._refuse(table)
        if not ordered(self.inputs[0]):
            places = np.repeat(places, numbers_in(table, WEIGHT)[places])
        found = taken(table.select(list(order.layout.names)), places)
        return ended, (Rows(of_elements(self.outputs[0]), found, End.ARRIVED),)

    def _kept(self, columns: tuple[str, ...]) -> Arranged:
        """The rows, with what is known of them."""
        of, layout = self.inputs[0], layout_of(self.inputs[0])
        key = result_layout(self.like.key, of)
        decisive = set(layout.names) <= set(columns)
        order = Order(columns, descending=False, layout=layout, by_text=False, key=key, decisive=decisive)
        return replace(self.rows, columns=columns, order=order, once=isinstance(of, Set))

    def _refuse(self, table: pa.Table) -> None:
        """What Python raises where it compares keys that cannot be compared."""
        of, elements = of_elements(self.inputs[0]), elements_of(self.inputs[0], table)
        self.like._sorted(of.value_class.of(elements if ordered(of) else [(each, 1) for each in elements]))


@form_of(Sort)
def sort(like: Sort, inputs: StreamTypes) -> Operator | None:
    """Where columns have the order that Python gives the keys, and the elements a text to tell ties apart."""
    of: Any = inputs[0].collection
    fits = comparisons(result_layout(like.key, of)) and (ordered(of) or shown_alike(layout_of(of)))
    return SortTables(like) if fits else None
