"""Operators on tables that keep nothing: map, filter, map_weights, negate, unions, and ways between collections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.exploding import Exploding
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.functions import applied, called, elements_of, written
from flo.tables.operator import Grouping, OnTables, Op, Placement
from flo.tables.operators.weights import multiplied
from flo.tables.state.trace import added_up, weighing
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of, of_elements, ordered
from flo.values.operators.bags import BagUnion
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.sets import SetUnion, ToBag, ToSet
from flo.values.operators.shapes import expect_all_of_type
from flo.values.operators.zsets import TRIED, MapWeights, Minus, Negate, Plus, ToZSet
from flo.values.weighted import Set


def like_rows(table: pa.Table, rows: pa.Table, keys: tuple[str, ...] = ()) -> pa.Table:
    """Results with the keys and weights of the rows they came from, if these have any."""
    for name in (*keys, *([WEIGHT] if WEIGHT in rows.column_names else [])):
        table = table.append_column(rows.schema.field(name), rows[name])
    return table


@dataclass(frozen=True)
class Stateless(OnTables[Op]):
    """Goes by what arrived alone."""

    placement = Placement.ANYWHERE
    grouping = Grouping.ANY
    keeps_positions = True

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns  # the rows of most are those that came


@final
@dataclass(frozen=True)
class MapTables(Stateless[Map]):
    name = "map_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        found = applied(self.like.f, self.inputs, table)
        return self, (self.emitted(like_rows(layout_of(self.outputs[0]).fitted(found), table, self.keys)),)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        f = self.like.f
        return f.passed(columns) if isinstance(f, Expression) else None


@final
@dataclass(frozen=True)
class FilterTables(Stateless[Filter]):
    name = "filter_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        keep: Any = self.like.keep
        if isinstance(keep, Expression):
            kept = applied(keep, self.inputs, table).column(0)  # null is not true
        else:
            kept = pa.array(called(bool, called(keep, elements_of(self.inputs[0], table))), pa.bool_())
        return self, (self.emitted(table.filter(kept)),)


@final
@dataclass(frozen=True)
class FlatMapTables(Stateless[FlatMap]):
    """Row by row, as how many results a row has is for Python to say; except for lists, which are flattened."""

    name = "flat_map_tables"
    keeps_positions = False
    cancels = True

    @property
    def by_row(self) -> bool:
        return not isinstance(self.like.f, Exploding)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        if isinstance(self.like.f, Exploding):
            found, places = self.like.f.flattened(table)
            return self, (self.emitted(like_rows(found, table.take(pa.array(places)), self.keys)),)
        lists = called(list, called(self.like.f, elements_of(self.inputs[0], table)))
        results = [result for each in lists for result in each]
        kind = of_elements(self.outputs[0]).element
        expect_all_of_type(self.like.f, results, kind)
        found = written(results, kind)
        rows = table.take(pa.array(np.repeat(np.arange(len(lists)), list(map(len, lists)))))
        return self, (self.emitted(like_rows(found, rows, self.keys)),)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return self.like.f.passed(columns) if isinstance(self.like.f, Exploding) else None


@final
@dataclass(frozen=True)
class NegateTables(Stateless[Negate]):
    name = "negate_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        return self, (self.emitted(negated(table)),)


def negated(table: pa.Table) -> pa.Table:
    place = table.schema.get_field_index(WEIGHT)
    return table.set_column(place, table.schema.field(WEIGHT), multiplied(table[WEIGHT], pa.scalar(-1)))


@final
@dataclass(frozen=True)
class MapWeightsTables(Stateless[MapWeights]):
    """Every row is tried with some weights, as on values; the first that breaks the law is refused there."""

    name = "map_weights_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        like = self.like
        if isinstance(like.f, Expression):
            one = self._factors(like.f, table)
        else:
            one = pa.array([like._one(element) for element in elements_of(self.inputs[0], table)], pa.int64())
        weights = multiplied(table[WEIGHT], one)
        found = weighing(table, weights.to_numpy())
        return self, (self.emitted(found.filter(pc.not_equal(weights, 0))),)

    def _factors(self, f: Expression, table: pa.Table) -> pa.Array:
        """f(row, 1) of each row."""
        one = self._of_weight(f, table, 1)
        for weight in TRIED:
            alike = pc.equal(self._of_weight(f, table, weight), pc.multiply(one, weight))
            if not pc.all(pc.fill_null(alike, False)).as_py():
                place = np.flatnonzero(~np.asarray(pc.fill_null(alike, False)))[0]
                (element,) = elements_of(self.inputs[0], table.slice(place, 1))
                self.like._one(element)  # says what is wrong with it
        return one

    def _of_weight(self, f: Expression, table: pa.Table, weight: int) -> Any:
        weights = pa.table({f.inputs[1].names[0]: pa.array(np.full(table.num_rows, weight))})
        rows, beside = f.reads
        return f.results(table.select(rows), weights.select(beside)).column(0)


@final
@dataclass(frozen=True)
class UnionTables(Stateless[Plus | Minus | BagUnion | SetUnion]):
    """Both sides as they are; `minus` takes the right one back. Where both have rows, equal ones become one: a stream
    that is added to itself again and again must not double each time."""

    name = "union_tables"
    keeps_positions = False

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        layout = layout_of(self.outputs[0])
        right = negated(right) if isinstance(self.like, Minus) else right
        parts = [like_rows(layout.fitted(side), side, self.keys) for side in (left, right) if side.num_rows]
        found = pa.concat_tables(parts)
        counts = len(parts) > 1 and not isinstance(self.outputs[0], Set)
        return self, (self.emitted(added_up(found) if counts else found),)


@final
@dataclass(frozen=True)
class CountedTables(Stateless[ToSet | ToBag | ToZSet]):
    """to_set, and to_bag and to_zset of sequences and bags: the rows with weights."""

    name = "counted_tables"
    keeps_positions = False

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        if ordered(self.inputs[0]) or isinstance(self.outputs[0], Set):
            rows = table.select([*layout_of(self.inputs[0]).names, *self.keys])
            table = weighing(rows, np.ones(table.num_rows, np.int64))
        return self, (self.emitted(table),)


def has_place(stream: StreamType) -> bool:
    """Whether its elements have columns and can be in the collection: only a sequence takes what has no hash."""
    layout = Layout.of(of_elements(stream.collection).element)
    return layout is not None and (layout.hashable or ordered(stream.collection))


@form_of(Map)
def map_tables(like: Map, inputs: StreamTypes) -> Operator | None:
    (output,) = like.type(inputs)
    return MapTables(like) if has_place(output) else None


@form_of(FlatMap)
def flat_map_tables(like: FlatMap, inputs: StreamTypes) -> Operator | None:
    (output,) = like.type(inputs)
    return FlatMapTables(like) if has_place(output) else None


@form_of(Filter)
def filter_tables(like: Filter, inputs: StreamTypes) -> Operator | None:
    asks = not isinstance(like.keep, Expression) or like.keep.schema.types == [pa.bool_()]
    return FilterTables(like) if asks else None


@form_of(Negate)
def negate_tables(like: Negate, inputs: StreamTypes) -> Operator | None:
    return NegateTables(like)


@form_of(MapWeights)
def map_weights_tables(like: MapWeights, inputs: StreamTypes) -> Operator | None:
    whole = not isinstance(like.f, Expression) or like.f.schema.types == [pa.int64()]
    return MapWeightsTables(like) if whole else None


@form_of(Plus, Minus, BagUnion, SetUnion)
def union_tables(like: Plus | Minus | BagUnion | SetUnion, inputs: StreamTypes) -> Operator | None:
    return UnionTables(like)


@form_of(ToSet)
def to_set(like: ToSet, inputs: StreamTypes) -> Operator | None:
    return CountedTables(like) if layout_of(inputs[0].collection).hashable else None


def counted(like: ToBag | ToZSet, inputs: StreamTypes) -> Operator | None:
    """Of sequences and bags; a set's rows may come again, and must be remembered."""
    assert not isinstance(inputs[0].collection, Set)
    return CountedTables(like) if layout_of(inputs[0].collection).hashable else None
