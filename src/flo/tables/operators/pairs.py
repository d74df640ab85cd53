"""Operators on two sequences of rows: zip, and one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places
from flo.columns.layout import Layout
from flo.core.collection import End
from flo.core.operator import Deltas, Operator, Step, Values
from flo.core.stream_type import StreamTypes
from flo.tables.groups import Groups, with_keys
from flo.tables.operator import Grouping, OnTables, Op, Placement, add_deltas
from flo.tables.operators.sequences import side_by_side
from flo.tables.state.run import pairs
from flo.tables.translate import form_of
from flo.tables.values import Rows, layout_of, of_elements
from flo.values.operators.pairs import UnionSequences, Zip
from flo.values.operators.sets import Difference

Sides: TypeAlias = tuple[Rows, Rows]
SIDES = ("-left", "-right")
T = TypeVar("T", bound=UnionSequences | Difference, covariant=True)


@dataclass(frozen=True)
class PairTables(OnTables[Op]):
    """Takes as many rows of each side as it can tell what to do with."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False


def both(inputs: Values) -> Sides:
    left, right = inputs
    assert isinstance(left, Rows)
    assert isinstance(right, Rows)
    return left, right


def rest(value: Rows, count: int) -> Rows:
    """What is left when the oldest `count` rows are consumed."""
    return replace(value, table=value.table.slice(count))


def ending(value: Rows) -> bool:
    """Nothing is left but an end that was not passed on."""
    return value.end is End.ARRIVED and not value.table.num_rows


@form_of(Zip)
@final
@dataclass(frozen=True)
class ZipTables(PairTables[Zip]):
    """`done` is true when one side has ended: what comes on the other is consumed."""

    grouping = Grouping.WHOLE

    done: bool = False

    name = "zip_tables"

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = sides = both(inputs)
        count = min(left.table.num_rows, right.table.num_rows)
        if self.done:
            if left.size() or right.size():
                yield Step(f"{self.rule}-drain", (left.take()[0], right.take()[0]), self, (None,))
        elif count:
            _, found = self.consume(*(side.table.slice(0, count) for side in sides))
            yield Step(self.rule, (rest(left, count), rest(right, count)), self, found)
        elif ending(left) or ending(right):
            after = tuple(side.passed() if ending(side) else side for side in sides)
            yield Step(f"{self.rule}-terminator", after, replace(self, done=True), (self.ended(),))

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        """Pairs the rows of each group, as many as both sides have."""
        sides = [Groups.of(side, self.keys) for side in (left, right)]
        met = pairs(*(side.keys for side in sides))
        shortest = np.minimum(*(side.counts[places] for side, places in zip(sides, met, strict=True)))
        rows = [_first(side, places, shortest) for side, places in zip(sides, met, strict=True)]
        columns = [layout_of(of).as_array(table) for of, table in zip(self.inputs, rows, strict=True)]
        found = side_by_side(self.outputs[0], *columns)
        return self, (self.emitted(with_keys(found, rows[0], self.keys)),)


def _first(side: Groups, places: Places, counts: Places) -> pa.Table:
    """The first rows of these groups, so many of each."""
    most = np.zeros(side.keys.rows, np.int64)
    most[places] = counts
    if (most == side.counts).all():
        return side.rows
    return side.rows.filter(pa.array(side.positions() < np.repeat(most, side.counts)))


@dataclass(frozen=True)
class InTurn(OnTables[T]):
    """One side waits in its buffer for the end of the other."""

    def steps(self, inputs: Values) -> Iterator[Step]:
        sides, first = both(inputs), self.like.awaited
        waiting = sides[first].end is not End.PASSED
        turn = first if waiting else 1 - first
        value, other = sides[turn], sides[1 - turn]
        if value.table.num_rows:
            after = self.consume(*_placed(turn, value.table, other.table.slice(0, 0)))
            yield Step(f"{self.rule}{SIDES[turn]}", _placed(turn, value.drained(), other), *after)
        elif value.end is End.ARRIVED:
            done = (self, (None,)) if waiting else self.finish(End.ARRIVED, End.ARRIVED)
            assert done is not None
            end = "turn" if waiting else "terminated"
            yield Step(f"{self.rule}-{end}", _placed(turn, value.passed(), other), *done)

    def consume_all(self, *tables: pa.Table) -> tuple[Operator, Deltas]:
        first, nothing = self.like.awaited, [table.slice(0, 0) for table in tables]
        after: Any = self
        found: Deltas = (None,)
        for turn in (first, 1 - first):
            if tables[turn].num_rows:
                after, more = after.consume(*_placed(turn, tables[turn], nothing[1 - turn]))
                found = tuple(map(add_deltas, found, more))
        return after, found


def _placed(place: int, item: Any, other: Any) -> tuple[Any, Any]:
    """The item in its place, and the other one beside it."""
    return (other, item) if place else (item, other)


@form_of(UnionSequences)
@final
@dataclass(frozen=True)
class OneThenOtherTables(InTurn[UnionSequences]):
    """union_sequences(): all of the left and then all of the right."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.WHOLE
    keeps_positions = False
    name = "one_then_other_tables"

    @classmethod
    def fits(cls, like: UnionSequences, inputs: StreamTypes) -> bool:
        """Both sides must have the columns of the result."""
        layouts = [Layout.of(of_elements(each.collection).element) for each in (*inputs, *like.type(inputs))]
        return len({layout and layout.names for layout in layouts}) == 1

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        rows = left if left.num_rows else right
        return self, (self.emitted(with_keys(layout_of(self.outputs[0]).fitted(rows), rows, self.keys)),)
