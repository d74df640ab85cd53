"""Rows that meet in a join, and the results for them.

Run `left` has rows of keys a, a, b, and run `right` of keys a, b. Three pairs of rows meet (`find_meetings`):

    left_rows   right_rows      results: `into` of the two rows, pairs, or one of the two
    0           0               the weight is the product of both weights
    1           0
    2           1

Results are computed for whole tables at once (`pair_rows`). A row and its retraction may be in two runs that are not
merged yet, and meet the same row: then both pairs are computed, and cancel out. If a function raises, pairs that cancel
out are dropped first: it must not see rows that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Indices, one_chunk, take_rows, to_arrow
from flo.columns.layout import Layout
from flo.columns.ones import ones
from flo.core.collection import Collection
from flo.core.elements import returned_type
from flo.tables.functions import called, elements_of, written
from flo.tables.operator import OnTables
from flo.tables.operators.weights import multiply_weights
from flo.tables.state.matching import match_keys
from flo.tables.state.run import Run
from flo.tables.state.trace import group_equal_rows, sum_ranges
from flo.tables.values import WEIGHT, WEIGHT_FIELD, layout_of
from flo.values.operators.bags import BagJoin
from flo.values.operators.keyed_streams import KeyedJoin
from flo.values.operators.sets import SetJoin
from flo.values.operators.shapes import expect_declared
from flo.values.operators.zset_joins import Join, Outer

Pairing: TypeAlias = Join | BagJoin | SetJoin | Outer
"""Joins that make a row of two."""


class Meeting(NamedTuple):
    """Rows of two runs with equal keys: row `left_rows[i]` of the one meets row `right_rows[i]` of the other."""

    left: Run
    right: Run
    left_rows: Indices
    right_rows: Indices


@dataclass(frozen=True)
class Joined:
    """The results for rows that meet, whole tables at once: `into`, pairs, or one of the two."""

    like: Pairing | KeyedJoin
    inputs: tuple[Collection, ...]
    output: Collection

    @classmethod
    def of(cls, join: OnTables[Pairing]) -> Joined:
        return cls(join.like, join.inputs, join.outputs[0])

    @cached_property
    def _layout(self) -> Layout:
        return layout_of(self.output)

    @cached_property
    def needed(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each side that the results are computed from."""
        left, right = (layout_of(of).names for of in self.inputs)
        if isinstance(self.like.into, Expression):
            return self.like.into.reads
        if self._only_left():
            return left, ()
        return ((), (right[1],)) if self._destinations() else (left, right)

    def results(self, left: pa.Table | None, right: pa.Table | None) -> pa.Table:
        """The results for rows side by side; None where there is no partner."""
        into, layout = self.like.into, self._layout
        if isinstance(into, Expression):
            return self._compute(into, left, right)
        if into is not None:
            return self._call(into, left, right)
        if self._only_left():
            assert left is not None
            return layout.fitted(left)
        if self._destinations():
            assert right is not None
            return _unpack(layout, one_chunk(right[layout_of(self.inputs[1]).names[1]]))
        sides = [
            pa.nulls(_count(left, right), cell.arrow) if table is None else layout_of(of).as_array(table)
            for of, table, cell in zip(self.inputs, (left, right), layout.cells, strict=True)
        ]
        return pa.Table.from_arrays(sides, schema=layout.schema)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        """These columns of the left side as columns of the output, if it has them."""
        into = self.like.into
        return into.passed(columns) if isinstance(into, Expression) else columns if self._only_left() else None

    def _only_left(self) -> bool:
        """Whether a result is the left row: a z-set joined on whole elements has these, not pairs of equal ones."""
        like = self.like
        return isinstance(like, Join) and like.into is None and like.on is None and like.other_on is None

    def _destinations(self) -> bool:
        """Whether a result is the second column of the right row: where an edge leads, in a join with edges."""
        return isinstance(self.like, SetJoin) and self.like.into is None and self.like.other_on is None

    def _compute(self, into: Expression, *tables: pa.Table | None) -> pa.Table:
        """The results of an expression."""
        rows = [
            _missing_rows(into.inputs[side], into.reads[side], _count(*tables)) if table is None else table
            for side, table in enumerate(tables)
        ]
        return self._layout.fitted(into.results(*rows))

    def _call(self, into: Callable[[Any, Any], Any], *tables: pa.Table | None) -> pa.Table:
        """The results of a Python function, which is called for each two rows."""
        count = _count(*tables)
        elements = [
            [None] * count if table is None else elements_of(of, table)
            for of, table in zip(self.inputs, tables, strict=True)
        ]
        results = called(into, *elements)
        expect_declared(into, results)
        return written(results, returned_type(into))


def _count(*tables: pa.Table | None) -> int:
    """How many rows there are side by side, where one side may have none."""
    return next(int(table.num_rows) for table in tables if table is not None)


def _missing_rows(layout: Layout, names: tuple[str, ...], count: int) -> pa.Table:
    """So many rows that are missing: nulls in these columns."""
    fields = [layout.schema.field(name) for name in names]
    return pa.Table.from_arrays([pa.nulls(count, field.type) for field in fields], schema=pa.schema(fields))


def _unpack(layout: Layout, array: pa.Array) -> pa.Table:
    """Splits a column of elements into the columns of their layout."""
    arrays = [array] if layout.form == "value" else array.flatten()
    return pa.Table.from_arrays(arrays, schema=layout.schema)


def find_meetings(left: Run, right: Run, lefts: Iterable[Run], rights: Iterable[Run]) -> Iterator[Meeting]:
    """Yields the rows that meet when the deltas `left` and `right` arrive: Δleft ⋈ rights, lefts ⋈ Δright, and
    Δleft ⋈ Δright."""
    both = [(left, run) for run in rights] + [(run, right) for run in lefts] + [(left, right)]
    for some, others in both:
        if some.rows and others.rows:
            ours, theirs = match_keys(some, others)
            if len(ours):
                yield Meeting(some, others, ours, theirs)


def pair_rows(joined: Joined, meetings: list[Meeting], keys: tuple[str, ...] = ()) -> pa.Table | None:
    """Returns a result for each two rows that meet, weighted by the product, with the left row's `keys` beside it."""
    if not meetings:
        return None
    once = all(each.left.once and each.right.once for each in meetings)
    more = () if once else (WEIGHT,)
    left = _gather([(each.left, each.left_rows) for each in meetings], (*joined.needed[0], *keys, *more))
    right = _gather([(each.right, each.right_rows) for each in meetings], (*joined.needed[1], *more))
    if once:
        weights = ones(sum([len(each.left_rows) for each in meetings]))
    else:
        weights = multiply_weights(left[WEIGHT], right[WEIGHT])
    try:
        pairs = joined.results(left, right)
    except Exception:
        if once or not (any(joined.needed) or keys):
            raise
        rows, sums = _net_pairs(left, right, weights)
        left, right, weights = take_rows(left, rows), take_rows(right, rows), to_arrow(sums)
        pairs = joined.results(left, right)
    for name in keys:
        pairs = pairs.append_column(left.schema.field(name), left[name])
    return pairs.append_column(WEIGHT_FIELD, weights)


def _net_pairs(left: pa.Table, right: pa.Table, weights: pa.ChunkedArray) -> tuple[Indices, Indices]:
    """Returns one of each group of equal pairs whose weights do not cancel out, and the sums of their weights."""
    columns = [table[name] for table in (left, right) for name in table.column_names if name != WEIGHT]
    order, firsts = group_equal_rows(pa.table(columns, list(map(str, range(len(columns))))))
    sums = sum_ranges(weights.to_numpy()[order], firsts)
    there = np.flatnonzero(sums)
    return order[firsts[there]], sums[there]


def _gather(rows: list[tuple[Run, Indices]], names: tuple[str, ...]) -> pa.Table:
    """The rows of one side that meet others, in the order of the meetings."""
    tables = [take_rows(run.table.select(names), indices) for run, indices in rows]
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
