"""Many whole streams as one table: a nested stream whose inner streams are complete, as windows and batches are.

A column says which inner stream a row belongs to. What runs on every inner stream runs on all of them at once, by
adding that column to its key.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices
from flo.columns.layout import Layout
from flo.core.collection import Collection, End, Form, Value
from flo.core.nested import Nested, NestedValue
from flo.core.stream_type import StreamType
from flo.tables.keyed import (
    ENDED,
    KeyedColumns,
    OfKeys,
    announce_keys,
    has_key_columns,
    joined,
    key_layout,
    key_names,
    key_schema,
    keys_in,
)
from flo.tables.values import Rows, TableValue, schema_of, to_rows
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lvar import LVar

STREAM = "#"
"""The column of the inner stream's number, counted from the first of the value; the first column of a table."""
NUMBER = pa.field(STREAM, pa.int64(), nullable=False)


@dataclass(frozen=True, eq=False)
class Streams(TableValue):
    """Complete inner streams, or tuples of them: one table for each component of the tuple, with rows by stream."""

    of: Nested[*tuple[Any, ...]]
    count: int
    tables: tuple[pa.Table, ...]
    end: End = End.OPEN
    positions: Any = None
    """The position of each in the nested stream, if others are in other shards."""
    owners: pa.Table | None = None
    """The key of each, where an operator runs for every key at once: see `OnTables.keys`."""

    kind = "streams"

    def concat(self, delta: Streams) -> Streams:
        if self.end is not End.OPEN:
            return self
        if not self.count:
            return delta
        if not delta.count:
            return replace(self, end=delta.end)
        tables = [
            pa.concat_tables([mine, shift_stream_numbers(theirs, self.count)]) if theirs.num_rows else mine
            for mine, theirs in zip(self.tables, delta.tables, strict=True)
        ]
        positions = None if delta.positions is None else np.concatenate([self.positions, delta.positions])
        owners = None if delta.owners is None else pa.concat_tables([self.owners, delta.owners])
        return Streams(self.of, self.count + delta.count, tuple(tables), delta.end, positions, owners)

    def in_positions(self) -> Streams:
        """All inner streams that have arrived, in the order of their positions."""
        if self.positions is None:
            return self
        ranks = np.empty(self.count, np.int64)
        ranks[np.argsort(self.positions, kind="stable")] = np.arange(self.count)
        tables = [table.set_column(0, NUMBER, pa.array(ranks[numbers(table)])) for table in self.tables]
        by_stream = tuple(table.take(pa.array(np.argsort(numbers(table), kind="stable"))) for table in tables)
        return Streams(self.of, self.count, by_stream, self.end)

    def empty(self) -> Streams:
        return Streams(self.of, 0, tuple(table.slice(0, 0) for table in self.tables))

    def send(self, at_most: int | None = None) -> tuple[Streams, Streams]:
        if at_most is None or at_most >= self.count:
            return self.take()
        indices = [int(np.searchsorted(numbers(table), at_most)) for table in self.tables]
        cut = list(zip(self.tables, indices, strict=True))
        rest = tuple(shift_stream_numbers(table.slice(index), -at_most) for table, index in cut)
        sent = tuple(table.slice(0, index) for table, index in cut)
        there = (None, None) if self.positions is None else (self.positions[:at_most], self.positions[at_most:])
        left = Streams(self.of, self.count - at_most, rest, self.end, there[1])
        return left, Streams(self.of, at_most, sent, positions=there[0])

    def size(self) -> int:
        return self.count + (self.end is End.ARRIVED)

    def value(self) -> NestedValue:
        """The same value as Python values."""
        return self._inside(lambda rows: rows.value())

    def one_by_one(self) -> NestedValue:
        """A table for each inner stream."""
        return self._inside(lambda rows: rows)

    def _inside(self, turned: Callable[[Rows], Value]) -> NestedValue:
        inner = [
            [turned(Rows(of, part, End.ARRIVED)) for part in self.split(table)]
            for of, table in zip(inner_of(self.of), self.tables, strict=True)
        ]
        return replace(NestedValue.pushing(*zip(*inner, strict=True)), end=self.end)

    def split(self, table: pa.Table) -> list[pa.Table]:
        """The rows of every inner stream."""
        bounds = np.searchsorted(numbers(table), np.arange(self.count + 1))
        rows = table.drop_columns([STREAM])
        return [rows.slice(int(low), int(high - low)) for low, high in itertools.pairwise(bounds)]

    @classmethod
    def lift(cls, *parts: Any) -> Streams:
        return streams_of(*parts)


def numbers(table: pa.Table) -> Indices:
    streams: Indices = table[STREAM].to_numpy()
    return streams


def shift_stream_numbers(table: pa.Table, by: int) -> pa.Table:
    return table.set_column(0, NUMBER, pa.array(numbers(table) + by))


def add_stream_numbers(table: pa.Table, streams: Indices) -> pa.Table:
    """The rows with the numbers of their streams."""
    return table.add_column(0, NUMBER, pa.array(streams))


def streams_of(of: Nested[*tuple[Any, ...]], value: NestedValue) -> Streams:
    """The columnar value of a nested value whose inner streams are complete."""
    tuples = list(value)
    tables = []
    for index, inner in enumerate(inner_of(of)):
        parts = [to_rows(inner, values[index]).table for values in tuples]
        counts = [part.num_rows for part in parts]
        schema = schema_of(inner)
        whole = pa.concat_tables([schema.empty_table(), *parts])
        tables.append(add_stream_numbers(whole, np.repeat(np.arange(len(parts)), counts)))
    return Streams(of, len(tuples), tuple(tables), value.end)


def expect_nested(of: Collection) -> Nested[*tuple[Any, ...]]:
    """The same collection, which must be a nested stream."""
    assert isinstance(of, Nested), f"{of} is not a nested stream"
    return of


def inner_of(of: Nested[*tuple[Any, ...]]) -> list[ElementCollection[Any]]:
    """The collections of the inner streams, which have columns."""
    return [stream.collection for stream in of.inner if isinstance(stream.collection, ElementCollection)]


def has_columns(of: Collection) -> TypeGuard[Nested[*tuple[Any, ...]]]:
    """Whether a nested stream can be tables: every inner stream is bounded, and its elements have columns."""
    return isinstance(of, Nested) and all(
        s.bounded and isinstance(s.collection, ElementCollection) and Layout.of(s.collection.element) is not None
        for s in of.inner
    )


class StreamColumns(Form[Nested[*tuple[Any, ...]]]):
    """The columnar form of a nested stream."""

    name = "StreamColumns"

    def bottom(self) -> Streams:
        return Streams(self.base, 0, tuple(self._schema(stream).empty_table() for stream in self.base.inner))

    def _schema(self, stream: StreamType) -> pa.Schema:
        return pa.schema([NUMBER, *schema_of(stream.collection)])

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, Streams):
            return f"expected a table of {self.base}; got a {value.kind}"
        for stream, table in zip(self.base.inner, value.tables, strict=True):
            if not table.schema.equals(self._schema(stream)):
                return f"the columns are {table.schema.names}, and {self.base} has {self._schema(stream).names}"
        return None

    def formed(self, value: Any) -> Streams:
        return streams_of(self.base, value)

    def pieces(self, data: Any) -> list[list[Value]]:
        return [[self.value([item]) for item in data]]


@dataclass(frozen=True, eq=False)
class KeyedStreams(OfKeys):
    """`owners` has the key of each inner stream; those of one key stand in their order."""

    of: Keyed[Any, Any]
    streams: Streams
    owners: pa.Table
    keys: pa.Table
    end: End = End.OPEN

    kind = "keyed_streams"

    def concat(self, delta: KeyedStreams) -> KeyedStreams:
        if self.end is not End.OPEN:
            return self
        owners, keys = joined(self.owners, delta.owners), joined(self.keys, delta.keys)
        return KeyedStreams(self.of, self.streams.concat(delta.streams), owners, keys, delta.end)

    def empty(self) -> KeyedStreams:
        return KeyedStreams(self.of, self.streams.empty(), self.owners.slice(0, 0), self.keys.slice(0, 0))

    def send(self, at_most: int | None = None) -> tuple[KeyedStreams, KeyedStreams]:
        """Sends inner streams first, and then the ends of the streams of keys."""
        if at_most is None or at_most >= self.streams.count + self.keys.num_rows:
            return self.take()
        count, more = min(at_most, self.streams.count), max(0, at_most - self.streams.count)
        rest, sent = self.streams.send(count)
        left = replace(self, streams=rest, owners=self.owners.slice(count), keys=self.keys.slice(more))
        return left, KeyedStreams(self.of, sent, self.owners.slice(0, count), self.keys.slice(0, more))

    def size(self) -> int:
        return int(self.streams.count + self.keys.num_rows) + (self.end is End.ARRIVED)

    def value(self) -> KeyedValue:
        layout = key_layout(self.of)
        inner: dict[Any, list[Any]] = {key: [] for key in layout.to_elements(keys_in(self.of, self.keys))}
        for key, values in zip(layout.to_elements(keys_in(self.of, self.owners)), self.streams.value(), strict=True):
            inner.setdefault(key, []).append(values)
        entries = {key: NestedValue.pushing(*tuples) for key, tuples in inner.items()}
        for key in layout.to_elements(keys_in(self.of, self.keys.filter(self.keys[ENDED]))):
            entries[key] = entries[key].fix()
        return KeyedValue.of(entries, self.end)

    @classmethod
    def lift(cls, *parts: Any) -> KeyedStreams:
        return keyed_streams_of(*parts)


def keyed_streams_of(of: Keyed[Any, Any], value: KeyedValue) -> KeyedStreams:
    """The columnar value of a keyed value whose inner streams are complete."""
    entries: dict[Any, Any] = value.entries.to_dict()
    every = [(key, values) for key, nested in entries.items() for values in nested]
    ended = [key for key, nested in entries.items() if nested.fixed() and not value.fixed()]
    streams = streams_of(expect_nested(of.inner), NestedValue.pushing(*(values for _, values in every)))
    said = pa.concat_tables([announce_keys(_keys(of, list(entries))), announce_keys(_keys(of, ended), ended=True)])
    return KeyedStreams(of, streams, _keys(of, [key for key, _ in every]), said, value.end)


def _keys(of: Keyed[Any, Any], keys: list[Any]) -> pa.Table:
    return key_layout(of).to_table(keys).rename_columns(list(key_names(of)))


def has_stream_columns(of: Collection) -> bool:
    """Whether a keyed stream of streams can be tables: those are complete, and keys and elements have columns."""
    if not isinstance(of, Keyed) or not has_columns(of.inner):
        return False
    layout = Layout.of(of.key)
    return layout is not None and layout.hashable


def keyed_form(of: Keyed[Any, Any]) -> Collection | None:
    """Returns the type that an operator on tables gives a keyed stream; None if it has no columns."""
    if isinstance(of.inner, LVar):
        return of
    if has_key_columns(of):
        return KeyedColumns(of)
    return KeyedStreamColumns(of) if has_stream_columns(of) else None


class KeyedStreamColumns(Form[Keyed[Any, Any]]):
    """The columnar form of a keyed stream of whole streams."""

    name = "KeyedStreamColumns"

    def bottom(self) -> KeyedStreams:
        keys = key_schema(self.base).empty_table()
        streams = StreamColumns(expect_nested(self.base.inner)).bottom()
        return KeyedStreams(self.base, streams, keys, announce_keys(keys))

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, KeyedStreams):
            return f"expected a table of {self.base}; got a {value.kind}"
        return StreamColumns(expect_nested(self.base.inner)).mismatch(value.streams)

    def formed(self, value: Any) -> KeyedStreams:
        return keyed_streams_of(self.base, value)
