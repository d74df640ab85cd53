"""Operators on two sequences of rows: zip, one after the other, and the merge of two sorted ones.

    zip                union_sequences           merge_sorted
    left   a b c       left   1 2 ⊗              left   1 4 7
    right  x y         right  3 4                right  2 3
    out    ax by       out    1 2 3 4            out    1 2 3
    c waits for the    the right side waits      4 waits: the right side is open, and its next row
    right side         for the end of the left   may be a 3 again

Invariant: a row is consumed when its place in the output is decided. Until then it waits in the buffer of its side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Indices, Numbers, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.core.collection import End
from flo.core.operator import Deltas, Operator, Step, Values
from flo.core.stream_type import StreamTypes
from flo.tables.faults import expect_row_fault
from flo.tables.functions import elements_of, result_layout, results
from flo.tables.groups import Groups, with_keys
from flo.tables.operator import Grouping, OnTables, Op, Placement, add_deltas
from flo.tables.operators.sequences import side_by_side
from flo.tables.state.comparison import Comparison, comparisons, rank_densely
from flo.tables.state.matching import match_keys
from flo.tables.translate import form_of
from flo.tables.values import Rows, layout_of, of_elements
from flo.values.operators.pairs import LastKey, MergeSorted, UnionSequences, Zip
from flo.values.operators.sets import Difference
from flo.values.sequence import SequenceValue

Sides: TypeAlias = tuple[Rows, Rows]
SIDES = ("-left", "-right")
T = TypeVar("T", bound=UnionSequences | Difference, covariant=True)


@dataclass(frozen=True)
class PairTables(OnTables[Op]):
    """The base of operators that read two sequences, and consume the rows whose place in the output is decided."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE


def both(inputs: Values) -> Sides:
    left, right = inputs
    assert isinstance(left, Rows)
    assert isinstance(right, Rows)
    return left, right


def rest(value: Rows, count: int) -> Rows:
    """The value without its oldest `count` rows."""
    return replace(value, table=value.table.slice(count))


def ending(value: Rows) -> bool:
    """Whether only an end is left that was not passed on."""
    return value.end is End.ARRIVED and not value.table.num_rows


@form_of(Zip)
@final
@dataclass(frozen=True)
class ZipTables(PairTables[Zip]):
    """zip()."""

    grouping = Grouping.WHOLE

    done: bool = False
    """Whether one side has ended: rows of the other are dropped then."""

    name = "zip_tables"

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = sides = both(inputs)
        count = min(left.table.num_rows, right.table.num_rows)
        if self.done:
            if left.size() or right.size():
                yield Step(f"{self.rule}-drain", (left.take()[0], right.take()[0]), self, (None,))
        elif count:
            _, outputs = self.consume(*(side.table.slice(0, count) for side in sides))
            yield Step(self.rule, (rest(left, count), rest(right, count)), self, outputs)
        elif ending(left) or ending(right):
            after = tuple(side.passed() if ending(side) else side for side in sides)
            yield Step(f"{self.rule}-terminator", after, replace(self, done=True), (self.ended(),))

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        """Pairs the rows of each group, as many as both sides have."""
        sides = [Groups.of(side, self.keys) for side in (left, right)]
        met = match_keys(*(side.keys for side in sides))
        shortest = np.minimum(*(side.counts[indices] for side, indices in zip(sides, met, strict=True)))
        rows = [_first_rows(side, indices, shortest) for side, indices in zip(sides, met, strict=True)]
        columns = [layout_of(of).as_array(table) for of, table in zip(self.inputs, rows, strict=True)]
        pairs = side_by_side(self.outputs[0], *columns)
        return self, (self.emitted(with_keys(pairs, rows[0], self.keys)),)


def _first_rows(side: Groups, indices: Indices, counts: Indices) -> pa.Table:
    """The first rows of these groups: `counts` of each."""
    most = np.zeros(side.keys.rows, np.int64)
    most[indices] = counts
    if (most == side.counts).all():
        return side.rows
    return side.rows.filter(pa.array(side.positions() < np.repeat(most, side.counts)))


@dataclass(frozen=True)
class InTurn(OnTables[T]):
    """The base of operators whose one side waits in its buffer for the end of the other."""

    def steps(self, inputs: Values) -> Iterator[Step]:
        sides, first = both(inputs), self.like.awaited
        waiting = sides[first].end is not End.PASSED
        turn = first if waiting else 1 - first
        value, other = sides[turn], sides[1 - turn]
        if value.table.num_rows:
            after = self.consume(*_put_at(turn, value.table, other.table.slice(0, 0)))
            yield Step(f"{self.rule}{SIDES[turn]}", _put_at(turn, value.drained(), other), *after)
        elif value.end is End.ARRIVED:
            done = (self, (None,)) if waiting else self.finish(End.ARRIVED, End.ARRIVED)
            assert done is not None
            end = "turn" if waiting else "terminated"
            yield Step(f"{self.rule}-{end}", _put_at(turn, value.passed(), other), *done)

    def consume_all(self, *tables: pa.Table) -> tuple[Operator, Deltas]:
        first, nothing = self.like.awaited, [table.slice(0, 0) for table in tables]
        after: Any = self
        deltas: Deltas = (None,)
        for turn in (first, 1 - first):
            if tables[turn].num_rows:
                after, more = after.consume(*_put_at(turn, tables[turn], nothing[1 - turn]))
                deltas = tuple(map(add_deltas, deltas, more))
        return after, deltas


def _put_at(index: int, item: Any, other: Any) -> tuple[Any, Any]:
    """The pair with the item at this index, and the other one beside it."""
    return (other, item) if index else (item, other)


@form_of(UnionSequences)
@final
@dataclass(frozen=True)
class OneThenOtherTables(InTurn[UnionSequences]):
    """union_sequences(): all of the left and then all of the right."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.WHOLE
    name = "one_then_other_tables"

    @classmethod
    def fits(cls, like: UnionSequences, inputs: StreamTypes) -> bool:
        """Both sides must have the columns of the result."""
        layouts = [Layout.of(of_elements(each.collection).element) for each in (*inputs, *like.type(inputs))]
        return len({layout and layout.names for layout in layouts}) == 1

    def consume(self, left: pa.Table, right: pa.Table) -> tuple[Operator, Deltas]:
        rows = left if left.num_rows else right
        return self, (self.emitted(with_keys(layout_of(self.outputs[0]).fitted(rows), rows, self.keys)),)


class Merged(NamedTuple):
    """The result of merging rows."""

    counts: tuple[int, int]
    """How many rows of each side are consumed."""
    operator: Operator
    """The operator after them."""
    rows: pa.Table
    """These rows, in order."""


AT_ONCE = 1024
"""Rows of a side that are looked at together, at least."""


@form_of(MergeSorted)
@final
@dataclass(frozen=True)
class MergeTables(PairTables[MergeSorted]):
    """merge_sorted(key).

    A step reads only a few more rows of the longer side than of the shorter one: the others may wait for long.
    """

    last: tuple[LastKey, LastKey] = ((), ())
    """The key of the last row of each side that was consumed."""

    name = "merge_tables"

    @classmethod
    def fits(cls, like: MergeSorted, inputs: StreamTypes) -> bool:
        """Columns must have the order that Python gives the keys."""
        left, right = (stream.collection for stream in inputs)
        layout = result_layout(like.key, left)
        flat = layout is not None and not any(pa.types.is_nested(cell.arrow) for cell in layout.cells)
        return flat and left == right and bool(comparisons(layout))

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = sides = both(inputs)
        if ending(left) and ending(right):
            yield Step(f"{self.rule}-terminator", (left.passed(), right.passed()), self, (self.ended(),))
            return
        most = self._most(left, right)
        while most:
            try:
                counts, after, merged = self._merge((_oldest(left, most), _oldest(right, most)))
            except Exception as error:  # go up to the row that is at fault
                expect_row_fault(self, error)
                if most == 1:
                    raise
                most //= 2
                continue
            if any(counts):
                waiting = tuple(map(rest, sides, counts))
                yield Step(self.rule, waiting, after, (self.emitted(merged),))
            return

    @staticmethod
    def _most(left: Rows, right: Rows) -> int:
        """How many rows of each side to look at."""
        (fewer, ended), (more, _) = sorted((int(side.table.num_rows), side.fixed()) for side in (left, right))
        if fewer:
            return max(AT_ONCE, fewer)
        return more if ended else min(more, 1)  # whatever waits, the first row must be in its place

    def _merge(self, sides: Sides) -> Merged:
        """Merges the rows whose place is decided."""
        like = self.like
        keys = [results(like.key, of, side.table) for of, side in zip(self.inputs, sides, strict=True)]
        if any(map(self._odd, [*keys, self._table(*self.last)])):
            return self._merge_in_python(sides)
        ranks = self._ranks(keys, sides)
        order = np.argsort(np.concatenate(ranks), kind="stable")
        length = len(ranks[0])
        # behind the last row of a side that is open, a smaller one may come
        until = [
            _find_end(order, where)
            for where, side in ((order < length, sides[0]), (order >= length, sides[1]))
            if not side.fixed()
        ]
        order = order[: min(until, default=len(order))]
        counts = (int((order < length).sum()), int((order >= length).sum()))
        table = pa.concat_tables([layout_of(self.outputs[0]).fitted(side.table) for side in sides])
        one, other = (
            tuple(self._layout.to_elements(key.slice(count - 1, 1))) if count else before
            for key, count, before in zip(keys, counts, self.last, strict=True)
        )
        return Merged(counts, replace(self, last=(one, other)), take_rows(table, order))

    def _ranks(self, keys: list[pa.Table], sides: Sides) -> list[Numbers]:
        """The ranks of the keys. Raises if a side is not sorted."""
        before = [self._table(last) for last in self.last]
        tables = [table for side in zip(before, keys, strict=True) for table in side]
        columns = pa.concat_tables(tables).columns
        numbers = rank_densely(
            [of.numbers(one_chunk(column)) for of, column in zip(self._compared, columns, strict=True)]
        )
        cuts = np.cumsum([len(before[0]) + len(keys[0])])
        ranks = []
        for index, (mine, known) in enumerate(zip(np.split(numbers, cuts), before, strict=True)):
            falls = np.flatnonzero(mine[1:] < mine[:-1])
            if len(falls):
                self._refuse(index, sides[index], int(falls[0]) + 1 - len(known), keys[index])
            ranks.append(mine[len(known) :])
        return ranks

    def _refuse(self, index: int, side: Rows, row: int, keys: pa.Table) -> None:
        """Raises the error for a row that is smaller than the one before it."""
        like = self.like
        (element,) = elements_of(side.of, side.table.slice(row, 1))
        like._key(index, element, tuple(self._layout.to_elements(keys.slice(row - 1, 1))) if row else self.last[index])

    def _merge_in_python(self, sides: Sides) -> Merged:
        """Merges as on values, because only Python can compare keys that are nan or None."""
        like = self.like
        left, right = (SequenceValue.of(elements_of(side.of, side.table), side.end) for side in sides)
        most = sum(side.table.num_rows for side in sides)
        merged, counts, last = replace(like, last=self.last)._merge(left, right, most)
        return Merged(counts, replace(self, last=last), layout_of(self.outputs[0]).to_table(merged))

    def _odd(self, keys: pa.Table) -> bool:
        """Whether a key is NaN or null."""
        columns = [one_chunk(column) for column in keys.columns]
        return any(c.null_count or (pa.types.is_floating(c.type) and pc.any(pc.is_nan(c)).as_py()) for c in columns)

    @property
    def _compared(self) -> tuple[Comparison, ...]:
        compared = comparisons(self._layout)
        assert compared is not None
        return compared

    @property
    def _layout(self) -> Layout:
        layout = result_layout(self.like.key, self.inputs[0])
        assert layout is not None
        return layout

    def _table(self, *keys: LastKey) -> pa.Table:
        return self._layout.to_table([key for some in keys for key in some])


def _oldest(value: Rows, most: int) -> Rows:
    """The oldest rows. The end is included if these are all rows."""
    if value.table.num_rows <= most:
        return value
    return Rows(value.of, value.table.slice(0, most))


def _find_end(order: Indices, where: Any) -> int:
    """The index behind the last row of a side; `where` says which rows are of that side."""
    places = np.flatnonzero(where)
    return int(places[-1]) + 1 if len(places) else 0
