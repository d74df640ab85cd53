"""The merge of two sorted sequences of rows, with work for the rows that leave and not for those that wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import Numbers, Places, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.core.operator import Operator, Step, Values
from flo.core.stream_type import StreamTypes
from flo.tables.faults import expect_of_a_row
from flo.tables.functions import elements_of, result_layout, results
from flo.tables.operators.pairs import PairTables, Sides, both, ending, rest
from flo.tables.state.python_order import Comparison, comparisons, dense
from flo.tables.translate import form_of
from flo.tables.values import Rows, layout_of
from flo.values.operators.pairs import Keys, MergeSorted
from flo.values.sequence import SequenceValue

AT_ONCE = 1024
"""Rows of a side that are looked at together, at least."""


@form_of(MergeSorted)
@final
@dataclass(frozen=True)
class MergeTables(PairTables[MergeSorted]):
    """merge_sorted(key). `last` has the key of the last row of each side that was consumed.

    A step looks at no more rows of the longer side than of the shorter, but for a few: the others may wait for long.
    """

    last: tuple[Keys, Keys] = ((), ())

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
                counts, after, found = self._merged((_first(left, most), _first(right, most)))
            except Exception as error:  # go up to the row that is at fault
                expect_of_a_row(self, error)
                if most == 1:
                    raise
                most //= 2
                continue
            if any(counts):
                waiting = tuple(map(rest, sides, counts))
                yield Step(self.rule, waiting, after, (self.emitted(found),))
            return

    @staticmethod
    def _most(left: Rows, right: Rows) -> int:
        """How many rows of each side to look at."""
        (fewer, ended), (more, _) = sorted((int(side.table.num_rows), side.fixed()) for side in (left, right))
        if fewer:
            return max(AT_ONCE, fewer)
        return more if ended else min(more, 1)  # whatever waits, the first row must be in its place

    def _merged(self, sides: Sides) -> tuple[tuple[int, int], Operator, pa.Table]:
        """How many rows of each side, the operator after them, and them in their order."""
        like = self.like
        keys = [results(like.key, of, side.table) for of, side in zip(self.inputs, sides, strict=True)]
        if any(map(self._odd, [*keys, self._table(*self.last)])):
            return self._merged_in_python(sides)
        ranks = self._ranks(keys, sides)
        order = np.argsort(np.concatenate(ranks), kind="stable")
        length = len(ranks[0])
        # behind the last row of a side that is open, a smaller one may come
        until = [
            _behind(order, where)
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
        return counts, replace(self, last=(one, other)), take_rows(table, order)

    def _ranks(self, keys: list[pa.Table], sides: Sides) -> list[Numbers]:
        """Numbers of the keys in their order; refuses a side that is not sorted."""
        before = [self._table(last) for last in self.last]
        tables = [table for side in zip(before, keys, strict=True) for table in side]
        columns = pa.concat_tables(tables).columns
        numbers = dense([of.numbers(one_chunk(column)) for of, column in zip(self._compared, columns, strict=True)])
        cuts = np.cumsum([len(before[0]) + len(keys[0])])
        found = []
        for place, (mine, known) in enumerate(zip(np.split(numbers, cuts), before, strict=True)):
            falls = np.flatnonzero(mine[1:] < mine[:-1])
            if len(falls):
                self._refuse(place, sides[place], int(falls[0]) + 1 - len(known), keys[place])
            found.append(mine[len(known) :])
        return found

    def _refuse(self, place: int, side: Rows, row: int, keys: pa.Table) -> None:
        """Says that the row is smaller than the one before it."""
        like = self.like
        (element,) = elements_of(side.of, side.table.slice(row, 1))
        like._key(place, element, tuple(self._layout.to_elements(keys.slice(row - 1, 1))) if row else self.last[place])

    def _merged_in_python(self, sides: Sides) -> tuple[tuple[int, int], Operator, pa.Table]:
        """Where a key is nan or None, only Python can say which comes first, if any."""
        like = self.like
        left, right = (SequenceValue.of(elements_of(side.of, side.table), side.end) for side in sides)
        most = sum(side.table.num_rows for side in sides)
        merged, counts, last = replace(like, last=self.last)._merge(left, right, most)
        return counts, replace(self, last=last), layout_of(self.outputs[0]).to_table(merged)

    def _odd(self, keys: pa.Table) -> bool:
        """Whether there is a nan or a null."""
        columns = [one_chunk(column) for column in keys.columns]
        return any(c.null_count or (pa.types.is_floating(c.type) and pc.any(pc.is_nan(c)).as_py()) for c in columns)

    @property
    def _compared(self) -> tuple[Comparison, ...]:
        found = comparisons(self._layout)
        assert found is not None
        return found

    @property
    def _layout(self) -> Layout:
        """Of the keys."""
        layout = result_layout(self.like.key, self.inputs[0])
        assert layout is not None
        return layout

    def _table(self, *keys: Keys) -> pa.Table:
        return self._layout.to_table([key for some in keys for key in some])


def _first(value: Rows, most: int) -> Rows:
    """The oldest rows; it ends behind them if nothing else does."""
    if value.table.num_rows <= most:
        return value
    return Rows(value.of, value.table.slice(0, most))


def _behind(order: Places, where: Any) -> int:
    found = np.flatnonzero(where)
    return int(found[-1]) + 1 if len(found) else 0
