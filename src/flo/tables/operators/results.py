"""One result for each group of rows, when its stream ends: how many there were, their sum, a fold, the last one.

    rows by group    kept: count   sum   last       at the end of group a: count 2, sum 7, last 4
    a    3           a     1       3     3
    a    4           a     2       7     4
    b    5           b     1       5     5          (b is open)

Invariant: what is kept of a group follows from its rows so far, and nothing is emitted before its stream ends.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import calling
from flo.columns.indices import Indices, one_chunk, take_rows
from flo.columns.layout import VALUE, Layout
from flo.core.elements import returned_type
from flo.core.operator import Deltas, Operator
from flo.tables.functions import beside, elements_of, written
from flo.tables.groups import Counts, Groups, group_name, key_by_groups, with_keys
from flo.tables.operator import Grouping, OnTables, Op, Placement
from flo.tables.operators.weights import NOTHING, new_rows
from flo.tables.state.grouping import AdjacentRows
from flo.tables.state.products import Addends
from flo.tables.state.run import Run
from flo.tables.state.totals import Totals, as_array, numbers_in, run_of_sums, sums_of
from flo.tables.state.trace import Latest, Trace, sum_ranges
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, is_ordered, layout_of, of_elements, schema_of
from flo.values.operators.bags import Count, FoldUnordered, Sum
from flo.values.operators.sequences import Fold, Last, Scan
from flo.values.operators.shapes import expect_declared
from flo.values.weighted import Set

F = TypeVar("F", bound=Fold | FoldUnordered | Scan, covariant=True)
NO_ROWS = Latest(())


@dataclass(frozen=True)
class ResultTables(OnTables[Op]):
    """The base of operators with one result for each group."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY

    seen: Trace = field(default=NOTHING)
    """The elements of sets so far, which may come again."""

    @abstractmethod
    def add(self, groups: Groups) -> Self:
        """Adds rows to what is kept of their groups."""

    @abstractmethod
    def results(self, groups: Run) -> pa.Table | None:
        """The results of these groups, with the key columns."""

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        after = self
        if isinstance(self.inputs[0], Set):
            new = new_rows(self.seen, table, (*self.keys, *layout_of(self.inputs[0]).names))
            after, table = replace(self, seen=self.seen.extend(new)), new.table
        return (after.add(Groups.of(table, self.keys)) if table.num_rows else after), (None,)

    def close(self, groups: Run) -> tuple[Operator, Deltas]:
        return self, (self.emitted(self.results(groups)),)


def weights_beside(table: pa.Table) -> Indices:
    """How often each row is there: in a sequence once."""
    return numbers_in(table, WEIGHT) if WEIGHT in table.column_names else np.ones(table.num_rows, np.int64)


@form_of(Count)
@final
@dataclass(frozen=True)
class CountTables(ResultTables[Count]):
    """Counts elements."""

    counts: Counts = field(default=Counts())

    name = "count_tables"

    def add(self, groups: Groups) -> Self:
        counts = groups.counts
        if not is_ordered(self.inputs[0]):
            counts = sum_ranges(numbers_in(groups.rows, WEIGHT), groups.firsts)
        return replace(self, counts=self.counts.added(groups.keys, counts))

    def results(self, groups: Run) -> pa.Table:
        counts = pa.array(self.counts.known(groups))
        return with_keys(pa.Table.from_arrays([counts], schema=layout_of(self.outputs[0]).schema), groups, self.keys)


@form_of(Sum)
@final
@dataclass(frozen=True)
class SumTables(ResultTables[Sum]):
    """The sum of all elements, rounded once."""

    totals: Totals = field(default=Totals(()))

    name = "sum_tables"

    def add(self, groups: Groups) -> Self:
        rows = groups.rows
        equal, values = AdjacentRows(groups.firsts, rows.num_rows), {0: Addends(one_chunk(rows[VALUE]))}
        delta = run_of_sums(groups.keys.table, groups.keys.keys, sums_of(weights_beside(rows), values, equal))
        return replace(self, totals=key_by_groups(self.totals, groups.keys).extend(delta))

    def results(self, groups: Run) -> pa.Table:
        sums, layout = key_by_groups(self.totals, groups).look_up(groups), layout_of(self.outputs[0])
        totals = as_array(sums, 0, layout.cells[0].arrow, lambda index: group_name(groups, self.keys, index))
        return with_keys(pa.Table.from_arrays([totals], schema=layout.schema), groups, self.keys)


@dataclass(frozen=True)
class Accumulating(OnTables[F]):
    """Calls a function of the user with an accumulator and the next element."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY

    one: tuple[Any, ...] = ()
    """The accumulator, as a Python value, if all rows are one group; empty before the first row."""
    reached: Latest = field(default=NO_ROWS)
    """Otherwise the accumulators in columns, by group."""

    def accumulators(self, groups: Run) -> list[Any]:
        """The accumulator of each group; initially that of the operator on values."""
        like = self.like
        if not self.keys:
            return [*self.one] or [like.acc]
        accumulators = [like.acc] * groups.rows
        indices, rows = key_by_groups(self.reached, groups).look_up(groups)
        if rows is not None:
            layout = Layout.of(returned_type(like.f))
            assert layout is not None
            for index, result in zip(indices.tolist(), layout.to_elements(rows), strict=True):
                accumulators[index] = result
        return accumulators

    def keep(self, groups: Run, results: list[Any]) -> Self:
        if not self.keys:
            return replace(self, one=tuple(results))
        like = self.like
        delta = Run(groups.columns, groups.keys, beside(groups.table, written(results, returned_type(like.f))))
        return replace(self, reached=key_by_groups(self.reached, groups).extend(delta))

    @calling
    def call_by_group(self, groups: Groups) -> tuple[Self, list[Any]]:
        """Calls the function: returns the operator after these rows, and the output on values for each group."""
        like = self.like
        of = of_elements(self.inputs[0])
        units = elements_of(of, groups.rows)
        if not is_ordered(of):
            units = list(zip(units, weights_beside(groups.rows).tolist(), strict=True))
        reached, outputs = [], []
        for acc, some in zip(self.accumulators(groups.keys), groups.split(units), strict=True):
            after, (output,) = replace(like, acc=acc).consume(some, of.value_class)
            assert isinstance(after, (Fold, FoldUnordered, Scan))
            reached.append(after.acc)
            outputs.append(output)
        return self.keep(groups.keys, reached), outputs


@form_of(Fold, FoldUnordered)
@final
@dataclass(frozen=True)
class FoldTables(ResultTables[Fold | FoldUnordered], Accumulating[Fold | FoldUnordered]):
    """fold of sequences, and of bags and sets where the order does not matter."""

    name = "fold_tables"

    def add(self, groups: Groups) -> Self:
        return self.call_by_group(groups)[0]

    @calling
    def results(self, groups: Run) -> pa.Table:
        accumulators = self.accumulators(groups)
        expect_declared(self.like.f, accumulators)
        return with_keys(written(accumulators, of_elements(self.outputs[0]).element), groups, self.keys)


@form_of(Last)
@final
@dataclass(frozen=True)
class LastTables(ResultTables[Last]):
    """The last element of each group, if there is one."""

    kept: Latest = field(default=NO_ROWS)

    name = "last_tables"

    def add(self, groups: Groups) -> Self:
        newest = take_rows(groups.rows, np.cumsum(groups.counts) - 1)  # a copy: a slice would hold on to all of them
        table = newest if self.keys else beside(newest, groups.keys.table)
        return replace(self, kept=key_by_groups(self.kept, groups.keys).extend(replace(groups.keys, table=table)))

    def results(self, groups: Run) -> pa.Table | None:
        _, rows = key_by_groups(self.kept, groups).look_up(groups)
        return None if rows is None else rows.select([*self.keys, *schema_of(self.inputs[0]).names])
