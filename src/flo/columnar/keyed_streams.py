"""Keyed streams of whole streams, such as the windows of every key: the whole streams of all keys are one `Streams`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import pyarrow as pa

from flo.columnar.keyed import (
    ENDED,
    KeyedColumns,
    OfKeys,
    has_key_columns,
    joined,
    key_layout,
    key_names,
    key_schema,
    keys_in,
    noticed,
)
from flo.columnar.layout import Layout
from flo.columnar.streams import StreamColumns, Streams, has_columns, streams_of
from flo.core.collection import Collection, End, Value
from flo.core.forms import Form
from flo.core.nested import NestedValue
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lvar import LVar


@final
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
        """Inner streams first: that the stream of a key has ended is said behind them."""
        if at_most is None or at_most >= self.streams.count + self.keys.num_rows:
            return self.take()
        count, more = min(at_most, self.streams.count), max(0, at_most - self.streams.count)
        rest, sent = self.streams.send(count)
        left = replace(self, streams=rest, owners=self.owners.slice(count), keys=self.keys.slice(more))
        return left, KeyedStreams(self.of, sent, self.owners.slice(0, count), self.keys.slice(0, more))

    def size(self) -> int:
        return int(self.streams.count + self.keys.num_rows) + (self.end is End.ARRIVED)

    def has_content(self) -> bool:
        return bool(self.streams.count or self.keys.num_rows)

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
    streams = streams_of(of.inner, NestedValue.pushing(*(values for _, values in every)))  # type: ignore[arg-type]
    said = pa.concat_tables([noticed(_keys(of, list(entries))), noticed(_keys(of, ended), ended=True)])
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
    """What an operator on tables gives a keyed stream; None if there are no columns. An LVar stays one value."""
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
        return KeyedStreams(self.base, StreamColumns(self.base.inner).bottom(), keys, noticed(keys))  # type: ignore[arg-type]

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, KeyedStreams):
            return f"a {value.kind} is no table of {self.base}"
        return StreamColumns(self.base.inner).mismatch(value.streams)  # type: ignore[arg-type]

    def formed(self, value: Any) -> KeyedStreams:
        return keyed_streams_of(self.base, value)
