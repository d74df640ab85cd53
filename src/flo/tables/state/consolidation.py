"""Consolidating tables that are not runs: deltas, and outputs that are pulled.

    row   item  weight        result: b stays where it is, and a follows
    0     a     1             b     1
    1     b     1             a     3
    2     a     2

Most rows of a large table equal no other. They are found first, by numbers of few columns, and not moved.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, expand_ranges, has_all, one_chunk, sort_numbers, take_rows
from flo.tables.state.keys import has_fixed_width, keys_of
from flo.tables.state.trace import gather_equal_rows, group_equal_rows, sum_ranges, with_weights
from flo.tables.values import WEIGHT

MANY = 1000
"""A table with so many rows is first searched for rows that could be equal to others."""


def consolidate_table(table: pa.Table) -> pa.Table:
    """Consolidate equal rows of a table: add their weights, and drop rows whose sum is zero. Rows may change places."""
    if table.num_rows < MANY:
        return table if _is_consolidated(table) else _consolidate_rows(table)
    doubtful = _maybe_equal(table)
    return _consolidate_rows(table) if doubtful is None else _consolidate_some(table, doubtful)


def _consolidate_some(table: pa.Table, doubtful: Indices) -> pa.Table:
    """Consolidate a table of which only these rows may be equal to others. The other rows are not moved."""
    alone = table[WEIGHT].to_numpy() != 0
    alone[doubtful] = False
    if alone.all():
        return table
    rest = table.filter(pa.array(alone))
    return pa.concat_tables([rest, _consolidate_rows(take_rows(table, doubtful))]) if len(doubtful) else rest


def _is_consolidated(table: pa.Table) -> bool:
    """Return whether no row is to be dropped, and no two can be equal, as when a count has grown."""
    if table.num_rows < 2:
        return not table.num_rows or bool(table[WEIGHT].to_numpy()[0])
    if not has_all(table[WEIGHT].to_numpy()):
        return False
    return any(_increases(table[name]) for name in table.schema.names if name != WEIGHT)


def _maybe_equal(table: pa.Table) -> Indices | None:
    """Return the rows that agree with another row in the columns of fixed width; None if all are to be compared.

    Texts and nested values are not looked at: to hash and to move them takes most of the time.
    """
    every = [table[name] for name in table.column_names if name != WEIGHT]
    columns = [column for column in every if has_fixed_width(column.type)]
    if any(map(_increases, columns)):
        return np.zeros(0, np.int64)
    if len(columns) in (0, len(every)):
        return None
    order, numbers = sort_numbers(keys_of(columns).numbers)
    again = numbers[1:] == numbers[:-1]
    if 4 * np.count_nonzero(again) > len(order):
        return None
    alike = np.zeros(len(order), bool)
    alike[order[1:][again]] = alike[order[:-1][again]] = True
    return np.flatnonzero(alike)


def _increases(column: pa.ChunkedArray) -> bool:
    """Return whether each number or time is greater than the one before. Then no two are the same."""
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type)):
        return False
    numbers = one_chunk(column).to_numpy(zero_copy_only=False)
    return all(has_all(some[1:] > some[:-1]) for some in (numbers[:MANY], numbers[MANY - 1 :]))


def _consolidate_rows(table: pa.Table) -> pa.Table:
    """Consolidate a table by comparing all rows."""
    rows, weights = table.drop_columns([WEIGHT]), table[WEIGHT].to_numpy()
    order, firsts = group_equal_rows(rows) if table.num_rows < MANY else gather_equal_rows(rows)
    if len(firsts) == len(order) and has_all(weights):
        return table
    if table.num_rows >= MANY and 4 * (len(order) - len(firsts)) < len(order):
        counts = np.diff(firsts, append=len(order))
        several = np.flatnonzero(counts > 1)
        return _consolidate_some(table, order[expand_ranges(firsts[several], counts[several])])
    weights = sum_ranges(weights[order], firsts)
    kept = weights != 0
    return with_weights(take_rows(table, order[firsts[kept]]), weights[kept])


def net_changes(table: pa.Table) -> pa.Table:
    """Return a delta without rows that cancel out. A delta without retractions is unchanged."""
    retracts = table.num_rows and table[WEIGHT].to_numpy().min() <= 0
    return consolidate_table(table) if retracts else table
