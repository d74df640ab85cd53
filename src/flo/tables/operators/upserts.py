"""`upsert` on tables: the table that changes amount to. The latest change of each key is kept in a trace by key.

    change                 trace              emitted
    key  rest              key  rest          row      weight
    a    {n: 1}            a    {n: 1}        (a, 1)   +1
    a    {n: 2}            a    {n: 2}        (a, 1)   -1
                                              (a, 2)   +1
    a    null: deleted     a    null          (a, 2)   -1

Invariant: the output has one row for each key whose latest change is not a deletion.

Of a sequence the change that came last is the latest (`UpsertTables`). A deleted key leaves the trace when no older run
is left that has a row of it. Of a bag the change with the largest value of the order column is the latest
(`OrderedUpsertTables`). There, deleted keys stay: an older change may still arrive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.changes import REST
from flo.columns.indices import Indices, one_chunk, take_rows
from flo.core.collection import Collection
from flo.core.errors import ElementError
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept, register_in
from flo.tables.state.comparison import order_numbers
from flo.tables.state.run import Run, run_of
from flo.tables.state.trace import Latest, group_equal_rows, text_of, with_weights
from flo.tables.translate import FORMS
from flo.tables.values import is_ordered, layout_of, of_elements
from flo.values.changes import TableShape, shape_of
from flo.values.operators.upserts import Upsert


@dataclass(frozen=True, eq=False)
class Current(Latest):
    """The latest change of each key, by the order in which they came. A deletion is dropped when its run merges with
    the oldest one: nothing older is left that it must hide."""

    term = "current"

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        whole = super().join(runs, fully=fully)
        if not oldest:
            return whole
        there = np.flatnonzero(np.asarray(one_chunk(whole.table[REST]).is_valid()))
        return whole if len(there) == whole.rows else whole.take(there)

    def _content(self) -> dict[str, Any]:
        table = self.table()
        rows = [] if table is None else table.filter(pc.is_valid(table[REST])).to_pylist()
        return {text_of({name: row[name] for name in self.columns}): text_of(row) for row in rows}

    def __eq__(self, other: object) -> bool:
        return type(other) is Current and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(Current)


@dataclass(frozen=True)
class OfChanges(OnTables[Upsert]):
    """The base of upserts. The old row of a key is retracted, and the new one inserted."""

    placement = Placement.BY_KEY
    grouping = Grouping.ANY
    cancels = True

    @property
    def shape(self) -> TableShape:
        """The key and the order column of the table."""
        shape = shape_of(of_elements(self.inputs[0]).element)
        assert shape is not None
        return shape

    def key_columns(self, place: int) -> tuple[str, ...] | None:
        return self.shape.key

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return columns if set(columns) <= set(self.shape.leading) else None

    def by_key(self, table: pa.Table) -> Run:
        """The changes by key, in their order, without weights."""
        names = layout_of(self.inputs[0]).names
        rows = table.select([*self.keys, *names]).combine_chunks()
        return run_of(rows, (*self.keys, *self.shape.key))

    def replace_rows(self, old: pa.Table | None, new: pa.Table) -> pa.Table:
        """Returns the output when new changes replace old ones: old rows retracted, and new ones inserted."""
        parts = [self._rows(new, 1)] if old is None else [self._rows(old, -1), self._rows(new, 1)]
        return pa.concat_tables(parts)

    def _rows(self, changes: pa.Table, weight: int) -> pa.Table:
        """The rows of changes that are not deletions, with this weight."""
        changes = changes.filter(pc.is_valid(changes[REST])).combine_chunks()
        layout, rest = layout_of(self.outputs[0]), one_chunk(changes[REST])
        parts = _parts(rest)
        arrays = [parts[name] if name in parts else one_chunk(changes[name]) for name in layout.names]
        table = pa.Table.from_arrays(arrays, schema=layout.schema)
        for name in self.keys:
            table = table.append_column(changes.schema.field(name), changes[name])
        return with_weights(table, np.full(changes.num_rows, weight, np.int64))


@final
@dataclass(frozen=True)
class UpsertTables(OfChanges):
    """upsert of a sequence: the change that came last counts."""

    rows: Current = kept(Current(()), Cut.BY_KEY)

    name = "upsert_tables"
    rule = "upsert"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        arrived = self.by_key(table)
        rows = replace(self.rows, columns=arrived.columns)
        latest = rows.join([arrived])
        _, old = rows.look_up(latest)
        changes = self.replace_rows(old, latest.table)
        return replace(self, rows=rows.extend(latest)), (self.emitted(changes),)


@final
@dataclass(frozen=True)
class OrderedUpsertTables(OfChanges):
    """upsert of a bag: the change that is the latest in the order of the table counts. Deleted keys are kept."""

    rows: Latest = kept(Latest(()), Cut.BY_KEY)

    name = "ordered_upsert_tables"
    rule = "upsert"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        arrived = self.by_key(table)
        rows = replace(self.rows, columns=arrived.columns)
        groups = group_equal_rows(arrived.table.select(list(arrived.columns)), arrived.keys).numbers()
        latest = arrived.take(np.sort(self._find_latest(arrived.table, groups)))
        places, old = rows.look_up(latest)
        if old is not None:
            both = pa.concat_tables([latest.table, old.select(latest.table.column_names)]).combine_chunks()
            winners = self._find_latest(both, np.concatenate([np.arange(latest.rows), places]))
            later = np.sort(winners[winners < latest.rows])
            old = old.filter(pa.array(np.isin(places, later)))
            latest = latest.take(later)
        changes = self.replace_rows(old, latest.table)
        return replace(self, rows=rows.extend(latest)), (self.emitted(changes),)

    def _find_latest(self, table: pa.Table, groups: Indices) -> Indices:
        """The index of the latest change of each group: by the order column, then a row after a deletion, then by row.
        Of equal changes, the one that stands last."""
        rest, columns = one_chunk(table[REST]), layout_of(self.outputs[0]).names
        parts = _parts(rest)
        order = self.shape.order
        assert order is not None
        numbers = [order_numbers(table[order]), np.asarray(rest.is_valid()).astype(np.uint64)]
        numbers += [order_numbers(parts[name]) for name in columns if name in parts]
        sequence = np.lexsort((*numbers[::-1], groups))
        owners = groups[sequence]
        last = np.flatnonzero(np.append(owners[1:] != owners[:-1], True)) if len(owners) else np.zeros(0, np.int64)
        return sequence[last]


def _parts(rest: pa.Array) -> dict[str, pa.Array]:
    """The columns that the rest of a row consists of, by their names; none if it is not a struct."""
    if not pa.types.is_struct(rest.type):
        return {}
    return dict(zip([field.name for field in rest.type], rest.flatten(), strict=True))


def expect_once(of: Collection, table: pa.Table) -> None:
    """Raises if changes without an order have two that differ for one key: which of them is the last is not known."""
    shape = shape_of(of_elements(of).element)
    assert shape is not None
    rows = take_rows(table.select(list(layout_of(of).names)), np.arange(table.num_rows))
    order, firsts = group_equal_rows(rows)
    distinct = take_rows(rows, order[firsts])
    order, firsts = group_equal_rows(distinct.select(list(shape.key)))
    if len(firsts) == distinct.num_rows:
        return
    first = firsts[np.flatnonzero(np.diff(firsts, append=len(order)) > 1)[0]]
    (key,) = take_rows(distinct.select(list(shape.key)), order[first : first + 1]).to_pylist()
    text = ", ".join(f"{name}={value!r}" for name, value in key.items())
    error = ElementError(
        f"two changes of {{input}} with the key {text[:120]} came in one micro-batch, whose rows have no order",
        facts=(("key", ", ".join(shape.key)),),
        instead=(
            (f'flow.table("{shape.name}", …, order_by="at")', "the change with the largest value wins"),
            (f'order={{"{shape.name}": "at"}}', "a column that increases from change to change"),
        ),
    )
    error.input_name = f"`{shape.name}`"
    raise error


@register_in(FORMS, Upsert)
def upsert(like: Upsert, inputs: StreamTypes) -> Operator | None:
    """Returns the form of `upsert`: by arrival for a sequence, by the order column for a bag."""
    return UpsertTables(like) if is_ordered(inputs[0].collection) else OrderedUpsertTables(like)
