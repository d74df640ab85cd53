"""Operators on keyed streams on tables: key_by, map_values, filter_keys, entries, and the join under each key.

A keyed stream is one table for all keys: the columns of the key, whose names begin with `key.`, and then those of the
element. Beside it is a table of keys, which says of keys that they exist, and whether their streams have ended (⊗):

    key_by(shop)                           entries                 keys
    key.value  shop  sale  ±               key  element    ±       key.value  ⊗
    a          a     3     +1              a    (a, 3)     +1      a          false
    b          b     5     +1              b    (b, 5)     +1      b          true

Invariant: the rows of a key are what the stream of this key would have alone, in its order if it has one.

Inside `nest` (the functions at the end), every key of every inner stream is a stream of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Indices, Numbers, take_rows
from flo.core.collection import Collection
from flo.core.operator import Delta, Deltas, Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.functions import apply_function, called, has_results
from flo.tables.keyed import (
    KEY,
    KeyedColumns,
    KeyedRows,
    expect_keyed,
    has_key_columns,
    key_layout,
    key_names,
    key_schema,
    keys_in,
)
from flo.tables.operator import Cut, Grouping, OnTables, Op, Placement, kept
from flo.tables.operators.elementwise import like_rows
from flo.tables.operators.meetings import Joined, find_meetings, pair_rows
from flo.tables.operators.results import weights_beside
from flo.tables.operators.weights import NOTHING, drop_side, select_rows
from flo.tables.state.consolidation import net_changes
from flo.tables.state.keys import keys_of
from flo.tables.state.run import Run, run_of
from flo.tables.state.trace import Latest, Trace, consolidate_runs, gather_equal_rows, group_equal_rows, with_weights
from flo.tables.streams import NUMBER, STREAM, add_stream_numbers, keyed_form
from flo.tables.translate import form_of
from flo.tables.values import WEIGHT, layout_of
from flo.tables.whole import Outputs, Whole, Wholes, run_whole, whole_of, whole_types
from flo.values.keyed import Keyed
from flo.values.operators.keyed_streams import (
    Entries,
    FilterKeys,
    KeyBy,
    KeyedJoin,
    KeyPartitions,
    MapValues,
    two_homes,
)
from flo.values.operators.per_key import PerKey
from flo.values.weighted import ZSet

HOME = "home/"
"""The column with the partition of a key. No field of a Python class can have this name."""


def keyed_delta(of: Keyed[Any, Any], table: pa.Table | None, keys: pa.Table | None = None) -> Delta:
    """Makes an output delta of rows, whose columns may be in any order, and of announced keys; None without either."""
    nothing = KeyedColumns(of).bottom()
    if table is not None and table.num_rows:
        schema = KeyedColumns(of).schema
        nothing = replace(nothing, table=pa.Table.from_arrays(table.select(schema.names).columns, schema=schema))
    if keys is not None and keys.num_rows:
        nothing = replace(nothing, keys=keys)
    return nothing if nothing.has_content() else None


@form_of(KeyBy)
@final
@dataclass(frozen=True)
class KeyByTables(OnTables[KeyBy]):
    """The columns of the key, and then those of the element."""

    name = "key_by_tables"
    placement = Placement.ANYWHERE
    grouping = Grouping.NONE
    keeps_positions = True

    @classmethod
    def fits(cls, like: KeyBy, inputs: StreamTypes) -> bool:
        return has_results(like.f)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        of: Any = self.outputs[0]
        keys = key_layout(of).fitted(apply_function(self.like.f, self.inputs, table))
        columns = [*keys.columns, *table.drop_columns(list(self.keys)).columns]
        rows = pa.Table.from_arrays(columns, schema=KeyedColumns(of).schema)
        rows = like_rows(rows, table.select(self.keys), self.keys)
        return self, (replace(KeyedColumns(of).bottom(), table=rows),)


@dataclass(frozen=True)
class OnKeyed(OnTables[Op]):
    """Reads keyed streams."""

    placement = Placement.BY_KEY  # that of the streams
    grouping = Grouping.NONE
    cut = Cut.BY_STREAM

    shows_keys = False
    """Whether an error of a function shows the key of the row, not the row."""

    def ended(self, index: int = 0) -> Any:
        of: Any = self.outputs[index]
        form = keyed_form(of) if isinstance(of, Keyed) else None
        return super().ended(index) if form is None else form.bottom().fix()

    def unit(self, of: Any, part: pa.Table) -> str:
        """The row, or its key, as an error of a user's function shows it."""
        if self.shows_keys:
            return f"under the key {key_layout(of).to_elements(keys_in(of, part))[0]!r}"
        return super().unit(of, part)


@form_of(KeyPartitions)
@final
@dataclass(frozen=True)
class KeyPartitionsTables(OnTables[KeyPartitions]):
    """Rows of partitions under the user's key. A key that comes from two partitions is an error: its rows would have no
    order."""

    name = "key_partitions_tables"
    placement = Placement.BY_KEY
    grouping = Grouping.NONE

    homes: Latest = kept(Latest(()), Cut.BY_KEY)
    """The partition of each key."""

    @classmethod
    def fits(cls, like: KeyPartitions, inputs: StreamTypes) -> bool:
        return has_results(like.f)

    def _keys(self, table: pa.Table) -> pa.Table:
        rows = (expect_keyed(self.inputs[0]).inner,)
        keys = key_layout(self.outputs[0]).fitted(apply_function(self.like.f, rows, table))
        return pa.Table.from_arrays(keys.columns, schema=key_schema(self.outputs[0]))

    def key_numbers(self, index: int, table: pa.Table) -> Numbers:
        return keys_of(self._keys(table).columns).numbers

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        of, homes = expect_keyed(self.outputs[0]), key_names(self.inputs[0])[0]
        keys, partitions = self._keys(table), table[homes].to_numpy()
        order, firsts = group_equal_rows(keys)
        different = partitions[order[firsts]]
        self._expect_partitions(
            keys, order, partitions[order], np.repeat(different, np.diff(firsts, append=len(order)))
        )
        run = run_of(take_rows(keys, order[firsts]).append_column(HOME, pa.array(different)), tuple(keys.column_names))
        state = replace(self.homes, columns=run.columns)
        known, before = state.look_up(run)
        if before is not None:
            self._expect_partitions(run.table, known, run.table[HOME].to_numpy()[known], before[HOME].to_numpy())
        new = select_rows(run, np.setdiff1d(np.arange(run.rows), known))
        columns = [*keys.columns, *table.drop_columns([homes]).columns]
        rows = pa.Table.from_arrays(columns, schema=KeyedColumns(of).schema)
        return replace(self, homes=state.extend(new)), (replace(KeyedColumns(of).bottom(), table=rows),)

    def _expect_partitions(self, keys: pa.Table, indices: Indices, partitions: Any, expected: Any) -> None:
        """Raises if a row of a key is in another partition than expected."""
        wrong = np.flatnonzero(partitions != expected)
        if len(wrong):
            of = expect_keyed(self.outputs[0])
            (key,) = key_layout(of).to_elements(keys_in(of, take_rows(keys, indices[wrong[:1]])))
            raise two_homes(key, int(expected[wrong[0]]), int(partitions[wrong[0]]))


@form_of(MapValues)
@final
@dataclass(frozen=True)
class MapValuesTables(OnKeyed[MapValues]):
    """map_values(f): a result for each row, under its key."""

    name = "map_values_tables"
    shows_keys = True

    @classmethod
    def fits(cls, like: MapValues, inputs: StreamTypes) -> bool:
        return has_results(like.f)

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,), of = values, self.outputs[0]
        results = layout_of(of.inner).fitted(apply_function(self.like.f, (value.inner,), value.table))  # type: ignore[attr-defined]
        return self, (keyed_delta(of, like_rows(results, value.table, key_names(value.of)), value.keys),)  # type: ignore[arg-type]


@form_of(FilterKeys)
@final
@dataclass(frozen=True)
class FilterKeysTables(OnKeyed[FilterKeys]):
    """Calls the condition once for every key of a delta."""

    name = "filter_keys_tables"
    shows_keys = True

    @classmethod
    def fits(cls, like: FilterKeys, inputs: StreamTypes) -> bool:
        is_condition = not isinstance(like.keep, Expression) or like.keep.schema.types == [pa.bool_()]
        return is_condition and has_key_columns(inputs[0].collection)

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,) = values
        tables = [table.filter(self._find_kept(value.of, table)) for table in (value.table, value.keys)]
        return self, (keyed_delta(value.of, *tables),)

    def _find_kept(self, of: Keyed[Any, Any], table: pa.Table) -> pa.Array:
        """Whether the condition holds for the key of each row."""
        keep: Any = self.like.keep
        keys = keys_in(of, table)
        if isinstance(keep, Expression):
            return keep.results(keys).column(0).combine_chunks()
        order, firsts = group_equal_rows(keys)
        answers = called(keep, key_layout(of).to_elements(take_rows(keys, order[firsts])))
        kept = np.zeros(len(order), bool)
        kept[order] = np.repeat(np.array(list(map(bool, answers)), bool), np.diff(firsts, append=len(order)))
        return pa.array(kept)


@form_of(Entries)
@final
@dataclass(frozen=True)
class EntriesTables(OnKeyed[Entries]):
    """(key, element) for every element."""

    name = "entries_tables"

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,) = values
        return self, (self.emitted(pair_with_keys(value.of, value.table, self.outputs[0])),)


def pair_with_keys(of: Keyed[Any, Any], table: pa.Table, output: Collection) -> pa.Table:
    """Pairs of the key and the element of each row, with its weight."""
    pair = [key_layout(of).as_array(keys_in(of, table)), layout_of(of.inner).as_array(table)]
    return with_weights(pa.Table.from_arrays(pair, schema=layout_of(output).schema), weights_beside(table))


@form_of(KeyedJoin)
@final
@dataclass(frozen=True)
class KeyedJoinTables(OnKeyed[KeyedJoin]):
    """join_keyed(into): both sides by key."""

    left: Trace = field(default=NOTHING)
    right: Trace = field(default=NOTHING)
    ended_side: int | None = None
    """The side that has ended before the other: nothing more of that one is kept."""

    name = "join_keyed_tables"
    shows_keys = True

    @classmethod
    def fits(cls, like: KeyedJoin, inputs: StreamTypes) -> bool:
        """The keys of both sides must have the same columns."""
        left, right = (key_schema(stream.collection).remove_metadata() for stream in inputs)
        return (like.into is None or has_results(like.into)) and left == right

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        of: Any = self.outputs[0]
        one, other = (consolidate_runs(_sort_by_key(value)) for value in values)
        joined = Joined(self.like, tuple(value.inner for value in values), of.inner)
        meetings = list(find_meetings(one, other, self.left, self.right))
        pairs = pair_rows(joined, meetings, key_names(of))
        if pairs is not None and isinstance(of.inner, ZSet):
            pairs = net_changes(pairs)
        left = self.left if self.ended_side == 1 else self.left.extend(one)
        right = self.right if self.ended_side == 0 else self.right.extend(other)
        return replace(self, left=left, right=right), (keyed_delta(of, pairs),)

    def side_ended(self, index: int) -> Self:
        return drop_side(self, index)


def _sort_by_key(value: KeyedRows) -> Run:
    """Sorts rows by key. Those of sequences get a weight of 1."""
    table = value.table.combine_chunks()
    if WEIGHT not in table.column_names:
        table = with_weights(table, np.ones(table.num_rows, np.int64))
    return run_of(table, key_names(value.of))


@whole_of(KeyBy, when=lambda operator, inputs: has_results(operator.f))
def key_rows(operator: KeyBy, given: Wholes, outputs: Outputs) -> Wholes:
    """Adds the columns of the key, after the number of the stream and before the columns of the element."""
    (whole,) = given
    keys = apply_function(operator.f, (whole.of,), whole.table)
    table = whole.table
    for index, name in enumerate(keys.column_names, start=1):
        table = table.add_column(index, f"{KEY}{name}", keys[name])
    return (Whole(outputs[0], whole.count, table),)


def _for_every_key(operator: PerKey, inputs: StreamTypes) -> bool:
    """Whether the body of a `per_key` can run on whole streams."""
    types = tuple(StreamType(expect_keyed(stream.collection).inner, bounded=True) for stream in inputs)
    return len(inputs) == 1 and whole_types(operator.graph, types) is not None  # type: ignore[arg-type]


@whole_of(PerKey, when=_for_every_key)
def per_key(operator: PerKey, given: Wholes, outputs: Outputs) -> Wholes:
    """Runs the body on every key of every stream as a stream of its own."""
    (whole,) = given
    of = whole.of
    assert isinstance(of, Keyed)
    prefix = [name for name in whole.table.column_names if name == STREAM or name.startswith(KEY)]
    order, firsts = gather_equal_rows(whole.table.select(prefix))
    rows = take_rows(whole.table.drop_columns(prefix), order)
    ids = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(order)))
    inner = Whole(of.inner, len(firsts), add_stream_numbers(rows, ids))
    keys = take_rows(whole.table.select(prefix), order[firsts])
    results = run_whole(operator.graph, (inner,))  # type: ignore[arg-type]
    return tuple(_restore_keys(each, keys, whole.count, of) for each, of in zip(results, outputs, strict=True))


def _restore_keys(result: Whole, keys: pa.Table, count: int, of: Collection) -> Whole:
    """Gives the rows of each key's stream their key again, and the number of the inner stream that the key is in."""
    prefix = take_rows(keys, result.streams)
    columns = [*prefix.columns, *result.rows().columns]
    fields = [NUMBER, *list(prefix.schema)[1:], *list(result.rows().schema)]
    return Whole(of, count, pa.Table.from_arrays(columns, schema=pa.schema(fields)))


@whole_of(Entries)
def entries(operator: Entries, given: Wholes, outputs: Outputs) -> Wholes:
    """(key, element) for every element."""
    (whole,), (of,) = given, outputs
    table = pair_with_keys(expect_keyed(whole.of), whole.table, of)
    return (Whole(of, whole.count, add_stream_numbers(table, whole.streams)),)
