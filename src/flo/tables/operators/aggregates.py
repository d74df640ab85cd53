"""Linear aggregates of z-sets by group on tables: totals for each group, and nothing of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, final, get_origin

import numpy as np
import pyarrow as pa

from flo.columns.cell import Cell
from flo.columns.expression import Expression
from flo.columns.indices import Places, one_chunk, taken
from flo.columns.layout import VALUE, Layout
from flo.core.elements import returned_type
from flo.core.errors import brief
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import beside, called, group_array, group_keys, result_layout, result_rows, results, written
from flo.tables.operators.by_group import ByGroup
from flo.tables.operators.count_distinct import count_distinct
from flo.tables.operators.extremes import extreme
from flo.tables.state.keys import keys_of, same
from flo.tables.state.limbs import has_digits
from flo.tables.state.run import Run
from flo.tables.state.totals import (
    Sums,
    Totals,
    as_array,
    as_decimals,
    as_floats,
    as_list,
    grouped,
    numbers_in,
    plus,
    taken_sums,
)
from flo.tables.state.trace import weighing
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of
from flo.values.exact import terms, to_decimal
from flo.values.operators.zset_aggregates import Aggregate, Avg, Count, CountDistinct, Linear, Sum
from flo.values.operators.zset_ranking import Extreme


@final
@dataclass(frozen=True)
class AggregateTables(ByGroup):
    """Old rows are taken back and new ones inserted, of the groups whose result changed."""

    groups: Totals = field(default=Totals(()))

    name = "aggregate_tables"
    rule = "aggregate"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        like: Any = self.like
        table = table.combine_chunks()
        keys = beside(group_keys(like.by, self.inputs[0], table), table.select(list(self.keys)))
        delta, sums = grouped(keys, keys_of(keys.columns), numbers_in(table, WEIGHT), self._numbers(table))
        groups = self.groups if self.groups.runs else Totals(delta.columns)
        before = groups.known(delta)
        changed = self._changed(delta, before, plus(before, sums))
        return replace(self, groups=groups.extended(delta)), (self.emitted(changed),)

    def _numbers(self, table: pa.Table) -> list[pa.Array]:
        """The columns that are summed."""
        like: Any = self.like
        if isinstance(like.aggregator, Count):
            return []
        columns = [one_chunk(column) for column in results(_summed(like.aggregator), self.inputs[0], table).columns]
        if any(column.null_count for column in columns):
            terms(None)  # raises what it raises on values
        return columns

    def _changed(self, delta: Run, before: Sums, after: Sums) -> pa.Table:
        """The rows that are no longer right with weight -1, and the new ones."""
        keys = delta.table.select(list(delta.columns))
        old, new = np.flatnonzero(before[WEIGHT]), np.flatnonzero(after[WEIGHT])
        one, other = self._results(keys, before, old), self._results(keys, after, new)
        both, of_old, of_new = np.intersect1d(old, new, assume_unique=True, return_indices=True)
        if len(both):
            equal = same([one.take(pa.array(of_old))], [other.take(pa.array(of_new))])
            old, one = _without(old, one, of_old[equal])
            new, other = _without(new, other, of_new[equal])
        like: Any = self.like
        groups = taken(keys, np.concatenate([old, new]))
        rows = result_rows(like.by, self.outputs[0], groups, pa.concat_arrays([one, other]))
        rows = beside(rows, groups.select(list(self.keys)))
        return weighing(rows, np.repeat([-1, 1], [len(old), len(new)]))

    def _results(self, keys: pa.Table, sums: Sums, places: Places) -> pa.Array:
        """The results of some of the groups."""
        like: Any = self.like
        sums = taken_sums(sums, places)
        name = _namer(like.by, keys, places)
        match like.aggregator:
            case Count():
                return pa.array(sums[WEIGHT])
            case Linear(of, finish):
                return _finished(of, finish, sums, self._cells(of), name)
        kind = layout_of(self.outputs[0]).cells[-1].arrow
        if not isinstance(like.aggregator, Avg):
            return as_array(sums, 0, kind, name)
        if pa.types.is_decimal(kind):
            given = self._cells(like.aggregator.value)[0].arrow
            return as_decimals(sums, 0, given, kind, name, mean=True)
        return pa.array(as_floats(sums, 0, mean=True))

    def _cells(self, f: Any) -> tuple[Cell, ...]:
        layout = result_layout(f, self.inputs[0])
        assert layout is not None
        return layout.cells


def _summed(aggregator: Any) -> Any:
    return aggregator.of if isinstance(aggregator, Linear) else aggregator.value


def _without(places: Places, found: pa.Array, gone: Places) -> tuple[Places, pa.Array]:
    kept = np.ones(len(places), bool)
    kept[gone] = False
    return places[kept], found.filter(pa.array(kept))


def _namer(by: Any, keys: pa.Table, places: Places) -> Callable[[int], str]:
    """How people call the group at a place."""
    return lambda place: brief(group_array(by, keys)[int(places[place])].as_py()) if by is not None else "all rows"


def _finished(of: Any, finish: Any, sums: Sums, cells: tuple[Cell, ...], name: Any) -> pa.Array:
    """finish(totals) of every group."""
    layout = Layout.of(returned_type(finish))
    assert layout is not None
    if isinstance(finish, Expression):
        columns = [as_array(sums, place, cell.arrow, name) for place, cell in enumerate(cells)]
        return layout.as_array(finish.over(pa.Table.from_arrays(columns, names=list(finish.inputs[0].names))))
    lists = [as_list(sums, place, cell.arrow) for place, cell in enumerate(cells)]
    for place, cell in enumerate(cells):
        if pa.types.is_decimal(cell.arrow):
            lists[place] = list(map(int if cell.wide else to_decimal, lists[place]))
    totals = list(zip(*lists, strict=True)) if _several(of) else lists[0]
    return layout.as_array(written(called(finish, totals), layout.element))


def _several(of: Any) -> bool:
    kind = returned_type(of)
    return get_origin(kind) is tuple or (isinstance(kind, type) and issubclass(kind, tuple))


@form_of(Aggregate)
def aggregate(like: Aggregate, inputs: StreamTypes) -> Operator | None:
    if isinstance(like.aggregator, Extreme):
        return extreme(like, inputs)
    if isinstance(like.aggregator, CountDistinct):
        return count_distinct(like, inputs)
    if isinstance(like.aggregator, Count):
        return AggregateTables(like)
    if not isinstance(like.aggregator, (Sum, Avg, Linear)):
        return None
    layout = result_layout(_summed(like.aggregator), inputs[0].collection)  # type: ignore[arg-type]
    if layout is None or not all(_summable(cell.arrow) and not cell.nullable for cell in layout.cells):
        return None
    several = isinstance(like.aggregator, Linear) and _several(like.aggregator.of)
    if layout.names != (VALUE,) and not several:
        return None
    return AggregateTables(like)


def _summable(kind: pa.DataType) -> bool:
    """Whether the numbers of such a column can be summed."""
    return has_digits(kind) and not (pa.types.is_decimal(kind) and kind.scale < 0)
