"""Parts of stored views, as tasks read them: the rows of a version, or the changes between two, without the program.

A view in 2 shards, with its runs at two versions, and the 2 parts that tasks read, if key numbers are below 16:

              version 6    version 7         key numbers    part 0: below 8     part 1: from 8 on
    shard 0   r1, r2       r1, r3            of r1          1, 4                9
    shard 1   r4           r4, r5            of r4          2                   8, 11

    rows at 7: from r1, r3, r4 and r5. Changes from 6 to 7: the rows of r3 and r5, less those of r2

Invariant: equal rows have equal key numbers, and are in one part, whichever shards have them. So the parts together
have each row once. Versions share runs: the changes between two are in the runs that only one of them has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.narrowing import to_users, users_schema
from flo.core.errors import ElementError, brief
from flo.shards.tasks.shard_record import PLACE
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import Store
from flo.tables.io.changes import WEIGHTS_FIELD, negate_weights
from flo.tables.io.files import WEIGHTS
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.trace import with_weights
from flo.tables.values import WEIGHT

ALL = 1 << 64
"""The number of key numbers."""
ROWS = 1 << 16
"""The most rows of a batch."""
GROWING = ("Set", "Bag")
"""Collections that have no negative weights."""


@dataclass(frozen=True)
class StoredRun:
    """A run in the store of a shard."""

    folder: str
    name: str


@dataclass(frozen=True)
class ViewPart:
    """The rows of a view whose key numbers are in a range."""

    kind: str
    """The collection: ZSet, Bag, Set or Sequence."""
    columns: tuple[str, ...]
    """The columns that runs are sorted by."""
    schema: pa.Schema
    runs: tuple[StoredRun, ...]
    before: tuple[StoredRun, ...] = ()
    """The runs of an earlier version, whose rows are subtracted."""
    low: int = 0
    high: int = ALL

    def rows(self) -> pa.Table:
        """The rows as users see them: each once, with `_weight` if the collection has weights, in order if ordered."""
        table = self.changes()
        return table.drop_columns([WEIGHTS]) if self.kind in ("Set", "Sequence") else table

    def changes(self) -> pa.Table:
        """The rows that were added or removed, with `_weight`; all rows if there is no earlier version."""
        parts = [self._members(self.runs), negate_weights(self._members(self.before))] if self.before else []
        table = consolidate_table(pa.concat_tables(parts)) if parts else self._members(self.runs)
        if self.kind == "Sequence":
            table = table.sort_by(PLACE)
        schema = change_schema(self.schema)
        table = table.select([*schema.names[:-1], WEIGHT]).rename_columns(schema.names)
        return to_users(table, self.schema).cast(schema)

    def _members(self, runs: tuple[StoredRun, ...]) -> pa.Table:
        """The rows of some runs, each once. An element of a set is in it once, however often it was added."""
        names = [name for name in self.schema.names if name != WEIGHT]
        parts = [self._slice(run).cast(self.schema) for run in runs]
        table = consolidate_table(pa.concat_tables([self.schema.empty_table(), *parts]).select([*names, WEIGHT]))
        if self.kind in GROWING:
            table = table.filter(pc.greater(table[WEIGHT], 0))
        if self.kind == "Set":
            table = with_weights(table, np.ones(table.num_rows, np.int64))
        return table

    def _slice(self, stored: StoredRun) -> pa.Table:
        """The rows of a run whose key numbers are in the range."""
        run = Store(folder(stored.folder)).get(self.columns, stored.name)
        if self.low == 0 and self.high == ALL:
            return run.table
        numbers = run.keys.numbers
        start = int(np.searchsorted(numbers, np.uint64(self.low)))
        end = run.rows if self.high == ALL else int(np.searchsorted(numbers, np.uint64(self.high)))
        return run.table.slice(start, end - start)


def change_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of a view that users see, and `_weight`."""
    fields = [field for field in users_schema(schema) if field.name not in (PLACE, WEIGHT)]
    return pa.schema([*fields, WEIGHTS_FIELD])


def with_nullable_parts(kind: pa.DataType) -> pa.DataType:
    """The type with parts that may be null: a run may say so of a part although its view does not."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, with_nullable_parts(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(with_nullable_parts(kind.value_type))
    return kind


def empty_rows(kind: str, schema: pa.Schema) -> pa.Table:
    """No rows of a view, with the columns that users see."""
    return ViewPart(kind, (), schema, ()).rows()


def repeat_rows(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yields every row as often as its weight says, without weights. Raises if a weight is negative."""
    if WEIGHTS not in table.column_names:
        yield from table.to_batches(ROWS)
        return
    weights = table[WEIGHTS].to_numpy()
    if len(weights) and weights.min() < 0:
        place = int(weights.argmin())
        raise ElementError(
            f"a row of the view has the weight {weights[place]}: it was removed more often than added",
            facts=(("row", brief(table.slice(place, 1).to_pylist()[0], 120)),),
            instead=(('option("changes", "true")', f"reads every row once, with its `{WEIGHTS}`"),),
        )
    table, ends = table.drop_columns([WEIGHTS]), np.cumsum(weights)
    for start in range(0, int(ends[-1]) if len(ends) else 0, ROWS):
        wanted = np.arange(start, min(start + ROWS, int(ends[-1])))
        yield from table.take(pa.array(np.searchsorted(ends, wanted, side="right"))).combine_chunks().to_batches()
