"""Outputs that were not pulled: few chunks, in which equal rows are consolidated.

A push appends chunks to an output. A few chunks of a few rows stay as they are: an output that is pulled after every
few pushes is consolidated once, when it is pulled. More are merged as the runs of a trace are, so that each is more
than twice as large as the next. If there are chunks of 20, 4 and 1 rows, and a push appends one row:

    20 4 1 1   a chunk that is at most twice as large as what follows it is merged with that: 1, and then 4
    20 6       20 is more than twice 6, and stays

There are not many more chunks than the number of rows has binary digits, and a row is moved as often. Rows of a bag or
z-set that meet in a merge add their weights; those that come to zero are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from flo.core.collection import Collection, Value
from flo.core.operator import Values
from flo.tables.keyed import KeyedRows
from flo.tables.state.consolidation import consolidate_table
from flo.tables.values import Rows
from flo.values.weighted import Bag, ZSet

FEW_CHUNKS, FEW_ROWS = 16, 1 << 20
"""Up to so many chunks, with up to so many rows in all, are not merged."""


def merge_outputs(outputs: Values, before: Values) -> Values:
    """The outputs with the chunks merged of those that are not the same as before."""
    return tuple(value if value is old else merge_value(value) for value, old in zip(outputs, before, strict=True))


def merge_value(value: Value) -> Value:
    """An output with its chunks merged."""
    if isinstance(value, Rows):
        merged = merge_chunks(value.table, _merging(value.of))
        return value if merged is value.table else replace(value, table=merged)
    if isinstance(value, KeyedRows):
        # rows are not consolidated: a key without rows would no longer be there
        table, keys = (merge_chunks(each, pa.Table.combine_chunks) for each in (value.table, value.keys))
        return replace(value, table=table, keys=keys)
    return value


def consolidate_value(value: Value) -> Value:
    """An output of which a part is pulled: equal rows are consolidated, so that no row is in it that is gone."""
    if isinstance(value, Rows) and is_consolidated(value.of) and value.table.column(0).num_chunks > 1:
        return replace(value, table=consolidate_table(value.table).combine_chunks())
    return value


def _merging(of: Collection) -> Callable[[pa.Table], pa.Table]:
    """What makes one chunk of several."""
    return consolidate_table if is_consolidated(of) else pa.Table.combine_chunks


def is_consolidated(of: Collection) -> bool:
    """Whether equal rows of an output are consolidated, so that the order of rows does not matter."""
    return isinstance(of, (ZSet, Bag))


def merge_chunks(table: pa.Table, merge: Callable[[pa.Table], pa.Table]) -> pa.Table:
    """The table with chunks merged, if there are many, so that each is more than twice as large as the next."""
    if table.num_rows <= FEW_ROWS and max(column.num_chunks for column in table.columns) <= FEW_CHUNKS:
        return table
    chunks = [chunk for chunk in table.to_batches() if chunk.num_rows]
    merges: list[tuple[int, int]] = []  # how many chunks are merged into one, and how many rows they have
    for chunk in chunks:
        count, size = 1, chunk.num_rows
        while merges and merges[-1][1] <= 2 * size:
            more, rows = merges.pop()
            count, size = count + more, size + rows
        merges.append((count, size))
    if len(merges) == len(chunks):
        return table
    tables, start = [], 0
    for count, _ in merges:
        some = pa.Table.from_batches(chunks[start : start + count], table.schema)
        tables.append(merge(some).combine_chunks() if count > 1 else some)
        start += count
    return pa.concat_tables(tables)
