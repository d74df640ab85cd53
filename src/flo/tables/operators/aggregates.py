"""Aggregates of z-sets by group on tables. They keep totals for each group, or the weight of every distinct value.

The least and the greatest of a group, which need its rows in order, are in ordering.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, final, get_origin

import numpy as np
import pyarrow as pa

from flo.columns.cell import Cell
from flo.columns.expression import Expression, calling
from flo.columns.indices import Indices, Numbers, one_chunk, take_rows
from flo.columns.layout import VALUE, Layout
from flo.core.elements import returned_type
from flo.core.errors import brief
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import (
    KEY,
    beside,
    called,
    group_array,
    group_keys,
    group_numbers,
    own_columns,
    result_layout,
    result_rows,
    results,
    row_by_row,
    written,
)
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept, register_in
from flo.tables.operators.weights import NOTHING, find_flips, totals, weights_in, weights_of
from flo.tables.state.keys import keys_of, same
from flo.tables.state.limbs import has_digits
from flo.tables.state.order import code_of
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
    take_sums,
)
from flo.tables.state.trace import Trace, with_weights
from flo.tables.translate import FORMS
from flo.tables.values import WEIGHT, layout_of
from flo.values.exact import terms, to_decimal
from flo.values.operators.zset_aggregates import (
    Aggregate,
    Aggregator,
    Avg,
    Count,
    CountDistinct,
    Linear,
    Of,
    Sum,
    Summing,
)
from flo.values.operators.zset_ranking import TopK

G = TypeVar("G", bound=Aggregate | TopK, covariant=True)


@dataclass(frozen=True)
class ByGroup(OnTables[G]):
    """Goes by the groups of `like.by`, which must be in one place each. The output has the group first, beside its
    result."""

    placement = Placement.BY_KEY
    grouping = Grouping.ANY
    keeps_positions = False

    def key_numbers(self, index: int, table: pa.Table) -> Numbers:
        return group_numbers(self.like.by, self.inputs[0], table)

    def key_columns(self, index: int) -> tuple[str, ...] | None:
        return () if self.like.by is None else own_columns(self.like.by)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        one = len(columns) == 1 and columns == self.key_columns(0)
        return (layout_of(self.outputs[0]).names[0],) if one else None


F = TypeVar("F", bound=type[ByGroup[Aggregate]])
AGGREGATES: dict[type[Aggregator], type[ByGroup[Aggregate]]] = {}
"""For a class of aggregators, the operator on tables."""


def aggregate_of(*kinds: type[Aggregator]) -> Callable[[F], F]:
    """Registers a class as the operator on tables of aggregates by these, where it `fits` them."""
    return register_in(AGGREGATES, *kinds)  # type: ignore[return-value]


@register_in(FORMS, Aggregate)
def aggregate(like: Aggregate, inputs: StreamTypes) -> Operator | None:
    form = AGGREGATES.get(type(like.aggregator))
    return form(like) if form is not None and form.fits(like, inputs) else None


@aggregate_of(Count, Sum, Avg, Linear)
@final
@dataclass(frozen=True)
class AggregateTables(ByGroup[Aggregate]):
    """Retracts the old result and inserts the new one, for the groups whose result changed."""

    groups: Totals = kept(Totals(()), Cut.BY_KEY)

    name = "aggregate_tables"

    @classmethod
    def fits(cls, like: Aggregate, inputs: StreamTypes) -> bool:
        """The numbers must have columns that can be summed."""
        if isinstance(like.aggregator, Count):
            return True
        layout = result_layout(_summed(like.aggregator), inputs[0].collection)
        if layout is None or not all(_summable(cell.arrow) and not cell.nullable for cell in layout.cells):
            return False
        several = isinstance(like.aggregator, Linear) and _several(like.aggregator.of)
        return several or layout.names == (VALUE,)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        table = table.combine_chunks()
        keys = beside(group_keys(self.like.by, self.inputs[0], table), table.select(list(self.keys)))
        columns = dict(enumerate(self._numbers(table)))
        delta, sums = grouped(keys, keys_of(keys.columns), numbers_in(table, WEIGHT), columns)
        groups = self.groups if self.groups.runs else Totals(delta.columns)
        before = groups.known(delta)
        changed = self._changed(delta, before, plus(before, sums))
        return replace(self, groups=groups.extended(delta)), (self.emitted(changed),)

    def _numbers(self, table: pa.Table) -> list[pa.Array]:
        """The columns that are summed."""
        aggregator = self.like.aggregator
        if isinstance(aggregator, Count):
            return []
        columns = [one_chunk(column) for column in results(_summed(aggregator), self.inputs[0], table).columns]
        if any(column.null_count for column in columns):
            terms(None)  # raises what it raises on values
        return columns

    def _changed(self, delta: Run, before: Sums, after: Sums) -> pa.Table:
        """The old results with weight -1, and the new ones with weight 1."""
        keys = delta.table.select(list(delta.columns))
        old, new = np.flatnonzero(before[WEIGHT]), np.flatnonzero(after[WEIGHT])
        one, other = self._results(keys, before, old), self._results(keys, after, new)
        both, of_old, of_new = np.intersect1d(old, new, assume_unique=True, return_indices=True)
        if len(both):
            equal = same([one.take(pa.array(of_old))], [other.take(pa.array(of_new))])
            old, one = _without(old, one, of_old[equal])
            new, other = _without(new, other, of_new[equal])
        groups = take_rows(keys, np.concatenate([old, new]))
        rows = result_rows(self.like.by, self.outputs[0], groups, pa.concat_arrays([one, other]))
        rows = beside(rows, groups.select(list(self.keys)))
        return with_weights(rows, np.repeat([-1, 1], [len(old), len(new)]))

    def _results(self, keys: pa.Table, sums: Sums, indices: Indices) -> pa.Array:
        """The results of some of the groups."""
        sums = take_sums(sums, indices)
        name = _namer(self.like.by, keys, indices)
        kind = layout_of(self.outputs[0]).cells[-1].arrow
        match self.like.aggregator:
            case Count():
                return pa.array(sums[WEIGHT])
            case Linear(of, finish):
                return _finished(of, finish, sums, self._cells(of), name)
            case Avg(value) if pa.types.is_decimal(kind):
                return as_decimals(sums, 0, self._cells(value)[0].arrow, kind, name, mean=True)
            case Avg():
                return pa.array(as_floats(sums, 0, mean=True))
        return as_array(sums, 0, kind, name)

    def _cells(self, f: Of) -> tuple[Cell, ...]:
        layout = result_layout(f, self.inputs[0])
        assert layout is not None
        return layout.cells


def _summed(aggregator: Aggregator) -> Of:
    """What gives the numbers that are summed."""
    if isinstance(aggregator, Linear):
        return aggregator.of
    assert isinstance(aggregator, Summing)
    return aggregator.value


def _without(indices: Indices, found: pa.Array, gone: Indices) -> tuple[Indices, pa.Array]:
    kept = np.ones(len(indices), bool)
    kept[gone] = False
    return indices[kept], found.filter(pa.array(kept))


def _namer(by: Any, keys: pa.Table, indices: Indices) -> Callable[[int], str]:
    """Returns a function that names the group at an index, for errors."""
    return lambda index: brief(group_array(by, keys)[int(indices[index])].as_py()) if by is not None else "all rows"


def _finished(of: Any, finish: Any, sums: Sums, cells: tuple[Cell, ...], name: Any) -> pa.Array:
    """finish(totals) of every group."""
    layout = Layout.of(returned_type(finish))
    assert layout is not None
    if isinstance(finish, Expression):
        columns = [as_array(sums, index, cell.arrow, name) for index, cell in enumerate(cells)]
        return layout.as_array(finish.over(pa.Table.from_arrays(columns, names=list(finish.inputs[0].names))))
    lists = [as_list(sums, index, cell.arrow) for index, cell in enumerate(cells)]
    for index, cell in enumerate(cells):
        if pa.types.is_decimal(cell.arrow):
            lists[index] = list(map(int if cell.wide else to_decimal, lists[index]))
    totals = list(zip(*lists, strict=True)) if _several(of) else lists[0]
    return layout.as_array(written(called(finish, totals), layout.element))


def _several(of: Any) -> bool:
    kind = returned_type(of)
    return get_origin(kind) is tuple or (isinstance(kind, type) and issubclass(kind, tuple))


def _summable(kind: pa.DataType) -> bool:
    """Whether the numbers of such a column can be summed."""
    return has_digits(kind) and not (pa.types.is_decimal(kind) and kind.scale < 0)


@aggregate_of(CountDistinct)
@final
@dataclass(frozen=True)
class CountDistinctTables(ByGroup[Aggregate]):
    """How many different values there are. A delta is looked up by value and by group, however many there are."""

    values: Trace = kept(NOTHING, Cut.BY_GROUP)
    counts: Trace = kept(NOTHING, Cut.BY_KEY)

    name = "count_distinct_tables"

    @classmethod
    def fits(cls, like: Aggregate, inputs: StreamTypes) -> bool:
        layout = result_layout(_counted(like), inputs[0].collection)
        return layout is None or layout.hashable

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        of = self.inputs[0]
        keys = beside(group_keys(self.like.by, of, table), table.select(list(self.keys)))
        found = self._different(table)
        both = beside(keys, found.rename_columns([f"{KEY}{KEY}{name}" for name in found.column_names]))
        values = totals(with_weights(both, table[WEIGHT].to_numpy()), tuple(both.column_names))
        come = with_weights(values.table.select(keys.column_names), find_flips(self.values, values))
        moved = totals(come, tuple(keys.column_names))
        before = weights_in(self.counts, moved)
        after = before + weights_of(moved)
        old, new = np.flatnonzero(before), np.flatnonzero(after)
        groups = take_rows(moved.table.select(keys.column_names), np.concatenate([old, new]))
        rows = result_rows(self.like.by, self.outputs[0], groups, pa.array(np.concatenate([before[old], after[new]])))
        rows = beside(rows, groups.select(list(self.keys)))
        grown = replace(self, values=self.values.extended(values), counts=self.counts.extended(moved))
        return grown, (self.emitted(with_weights(rows, np.repeat([-1, 1], [len(old), len(new)]))),)

    @calling
    def _different(self, table: pa.Table) -> pa.Table:
        """The values, or bytes that are equal where values of a type nobody declared are."""
        f, of = _counted(self.like), self.inputs[0]
        if result_layout(f, of) is not None:
            return results(f, of, table)
        assert f is not None, "elements have columns"
        values = row_by_row(f, (of,), table)
        set(values)  # refuses what has no hash
        return pa.table({VALUE: pa.array([code_of(value) for value in values], pa.binary())})


def _counted(like: Aggregate) -> Of:
    """What gives the values that are counted."""
    assert isinstance(like.aggregator, CountDistinct)
    return like.aggregator.value
