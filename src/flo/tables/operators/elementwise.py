"""Operators on tables that keep nothing: map, filter, flat_map, map_weights, negate, unions, ways between collections.

    delta            filter(n > 1)    map(n * 10)      negate           plus of the delta and (2, +1)
    n  weight        n  weight        n   weight       n  weight        n  weight
    1  +1            2  -1            10  +1           1  -1            1  +1
    2  -1                             20  -1           2  +1

Invariant: an output delta depends on the input delta alone. A result has the weight and the key columns of the row that
it was computed from. So the output of a sum of deltas is the sum of the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.expression import Expression
from flo.columns.indices import one_chunk
from flo.columns.layout import Layout
from flo.columns.projection import Flattening
from flo.core.errors import ElementError
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.functions import apply_function, called, elements_of, written
from flo.tables.io.changes import negate_weights
from flo.tables.operator import Grouping, OnTables, Op, Placement
from flo.tables.operators.weights import multiply_weights
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.trace import with_weights
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, is_ordered, layout_of, of_elements
from flo.values.operators.bags import BagUnion
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.sets import ToBag, ToSet, UnionSets
from flo.values.operators.shapes import expect_all_of_type
from flo.values.operators.zsets import TRIED, MapWeights, Minus, Negate, Plus, ToZSet
from flo.values.row_functions import passed_by
from flo.values.weighted import Set


def like_rows(table: pa.Table, rows: pa.Table, keys: tuple[str, ...] = ()) -> pa.Table:
    """Adds the key columns and weights of the rows that these results were computed from, if they have any."""
    schema = rows.schema
    for name in (*keys, *([WEIGHT] if schema.get_field_index(WEIGHT) >= 0 else [])):
        table = table.append_column(schema.field(name), rows[name])
    return table


def can_hold(stream: StreamType) -> bool:
    """Whether tables can hold the stream: its elements have columns, and a hash unless it is a sequence."""
    layout = Layout.of(of_elements(stream.collection).element)
    return layout is not None and (layout.hashable or is_ordered(stream.collection))


def _apply_to_changes(f: Any, collections: Any, table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Returns the results of a function, and the rows that they are of.

    An error on rows that cancel each other out does not count: no state had them.
    """
    try:
        return apply_function(f, collections, table), table
    except ElementError:
        changes = consolidate_table(table) if WEIGHT in table.column_names else table
        if changes.num_rows == table.num_rows:
            raise
        return apply_function(f, collections, changes), changes


@dataclass(frozen=True)
class Stateless(OnTables[Op]):
    """Keeps no state: the output depends on the delta alone."""

    placement = Placement.ANYWHERE
    grouping = Grouping.ANY
    keeps_positions = True

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns  # the rows of most are those that came


@form_of(Map)
@final
@dataclass(frozen=True)
class MapTables(Stateless[Map]):
    """map(f): a result for each row, with its weight."""

    name = "map_tables"

    @classmethod
    def fits(cls, like: Map, inputs: StreamTypes) -> bool:
        return can_hold(*like.type(inputs))

    @cached_property
    def computes(self) -> bool:
        return not (isinstance(self.like.f, Expression) and self.like.f.selects)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        results, table = _apply_to_changes(self.like.f, self.inputs, table)
        return self, (self.emitted(like_rows(self.output_layout.fitted(results), table, self.keys)),)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return passed_by(self.like.f, columns)


@form_of(Filter)
@final
@dataclass(frozen=True)
class FilterTables(Stateless[Filter]):
    """filter(keep): the rows for which the condition is true, not those for which it is null."""

    name = "filter_tables"
    computes = False

    @classmethod
    def fits(cls, like: Filter, inputs: StreamTypes) -> bool:
        return not isinstance(like.keep, Expression) or like.keep.schema.types == [pa.bool_()]

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        keep: Any = self.like.keep
        if isinstance(keep, Expression):
            answers, table = _apply_to_changes(keep, self.inputs, table)
            kept = one_chunk(answers.column(0))  # null is not true
        else:
            kept = pa.array(called(bool, called(keep, elements_of(self.inputs[0], table))), pa.bool_())
        return self, (self.emitted(table if kept.true_count == len(kept) else table.filter(kept)),)


@form_of(FlatMap)
@final
@dataclass(frozen=True)
class FlatMapTables(Stateless[FlatMap]):
    """flat_map. A function of the user is called row by row; a `Flattening` takes whole tables."""

    name = "flat_map_tables"
    keeps_positions = False
    cancels = True

    @classmethod
    def fits(cls, like: FlatMap, inputs: StreamTypes) -> bool:
        return can_hold(*like.type(inputs))

    @property
    def by_row(self) -> bool:
        return not isinstance(self.like.f, Flattening)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        if isinstance(self.like.f, Flattening):
            flattened, places = self.like.f.flattened(table)
            return self, (self.emitted(like_rows(flattened, table.take(pa.array(places)), self.keys)),)
        lists = called(list, called(self.like.f, elements_of(self.inputs[0], table)))
        results = [result for each in lists for result in each]
        kind = of_elements(self.outputs[0]).element
        expect_all_of_type(self.like.f, results, kind)
        flattened = written(results, kind)
        rows = table.take(pa.array(np.repeat(np.arange(len(lists)), list(map(len, lists)))))
        return self, (self.emitted(like_rows(flattened, rows, self.keys)),)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return passed_by(self.like.f, columns)


@form_of(Negate)
@final
@dataclass(frozen=True)
class NegateTables(Stateless[Negate]):
    """negate(): every row with the opposite weight."""

    name = "negate_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        return self, (self.emitted(negate_weights(table)),)


@form_of(MapWeights)
@final
@dataclass(frozen=True)
class MapWeightsTables(Stateless[MapWeights]):
    """Tries every row with some weights. The operator on values raises for the first row that breaks the law."""

    name = "map_weights_tables"

    @classmethod
    def fits(cls, like: MapWeights, inputs: StreamTypes) -> bool:
        return not isinstance(like.f, Expression) or like.f.schema.types == [pa.int64()]

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        like = self.like
        if isinstance(like.f, Expression):
            one = self._factors(like.f, table)
        else:
            one = pa.array([like._one(element) for element in elements_of(self.inputs[0], table)], pa.int64())
        weights = multiply_weights(table[WEIGHT], one)
        weighted = with_weights(table, weights.to_numpy())
        return self, (self.emitted(weighted.filter(pc.not_equal(weights, 0))),)

    def _factors(self, f: Expression, table: pa.Table) -> pa.Array:
        """Returns f(row, 1) of each row. Raises if f(row, weight) is not the weight times that."""
        one = self._of_weight(f, table, 1)
        for weight in TRIED:
            alike = pc.equal(self._of_weight(f, table, weight), pc.multiply(one, weight))
            if not pc.all(pc.fill_null(alike, False)).as_py():
                index = np.flatnonzero(~np.asarray(pc.fill_null(alike, False)))[0]
                (element,) = elements_of(self.inputs[0], table.slice(index, 1))
                self.like._one(element)  # says what is wrong with it
        return one

    def _of_weight(self, f: Expression, table: pa.Table, weight: int) -> Any:
        weights = pa.table({f.inputs[1].names[0]: pa.array(np.full(table.num_rows, weight))})
        return f.results(table, weights).column(0)


@form_of(Plus, Minus, BagUnion, UnionSets)
@final
@dataclass(frozen=True)
class UnionTables(Stateless[Plus | Minus | BagUnion | UnionSets]):
    """plus, minus and the unions: the rows of both sides; `minus` negates those of the right one.

    If both sides have rows, they are consolidated: a stream that is added to itself again and again would otherwise
    have twice as many rows each time."""

    name = "union_tables"
    keeps_positions = False

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        layout = layout_of(self.outputs[0])
        right = negate_weights(right) if isinstance(self.like, Minus) else right
        parts = [like_rows(layout.fitted(side), side, self.keys) for side in (left, right) if side.num_rows]
        both = pa.concat_tables(parts)
        counts = len(parts) > 1 and not isinstance(self.outputs[0], Set)
        return self, (self.emitted(consolidate_table(both) if counts else both),)


@form_of(ToSet)
@final
@dataclass(frozen=True)
class CountedTables(Stateless[ToSet | ToBag | ToZSet]):
    """to_set, and to_bag and to_zset of sequences and bags: the same rows, with weights."""

    name = "counted_tables"
    keeps_positions = False

    @classmethod
    def fits(cls, like: ToSet | ToBag | ToZSet, inputs: StreamTypes) -> bool:
        return layout_of(inputs[0].collection).hashable

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        if is_ordered(self.inputs[0]) or isinstance(self.outputs[0], Set):
            rows = table.select([*layout_of(self.inputs[0]).names, *self.keys])
            table = with_weights(rows, np.ones(table.num_rows, np.int64))
        return self, (self.emitted(table),)
