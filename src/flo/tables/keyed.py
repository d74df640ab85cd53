"""Keyed streams as one table: the columns of the key, and then those of the element.

What runs for every key runs for all of them at once, by adding the columns of the key to its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns import row_types
from flo.columns.indices import take_rows
from flo.columns.layout import Layout
from flo.core.collection import Collection, End, Form, Value, call
from flo.core.term import Lowering, Term
from flo.tables.state.trace import group_equal_rows
from flo.tables.values import WEIGHT, TableValue, is_ordered, layout_of, schema_of
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed, KeyedValue

KEY = "key."
"""What the names of key columns begin with."""
ENDED = row_types.ENDED
"""The column with whether the stream of a key has ended."""


class OfKeys(TableValue):
    """The content of all keys. `keys` says which keys exist, even without content, and which of their streams have
    ended before the others. A key with content need not be in it."""

    of: Keyed[Any, Any]
    keys: pa.Table


@dataclass(frozen=True, eq=False)
class KeyedRows(OfKeys):
    """The rows of all keys."""

    of: Keyed[Any, Any]
    table: pa.Table
    keys: pa.Table
    end: End = End.OPEN

    kind = "keyed_rows"

    def concat(self, delta: KeyedRows) -> KeyedRows:
        if self.end is not End.OPEN:
            return self
        return KeyedRows(self.of, joined(self.table, delta.table), joined(self.keys, delta.keys), delta.end)

    def empty(self) -> KeyedRows:
        return KeyedRows(self.of, self.table.slice(0, 0), self.keys.slice(0, 0))

    def send(self, at_most: int | None = None) -> tuple[KeyedRows, KeyedRows]:
        """Sends rows first, and then the ends of their streams."""
        if at_most is None or at_most >= self.table.num_rows + self.keys.num_rows:
            return self.take()
        rows, more = min(at_most, self.table.num_rows), max(0, at_most - self.table.num_rows)
        rest = replace(self, table=self.table.slice(rows), keys=self.keys.slice(more))
        return rest, KeyedRows(self.of, self.table.slice(0, rows), self.keys.slice(0, more))

    def size(self) -> int:
        return int(self.table.num_rows + self.keys.num_rows) + (self.end is End.ARRIVED)

    @property
    def inner(self) -> ElementCollection[Any]:
        return inner_of(self.of)

    def value(self) -> KeyedValue:
        inner = self.inner
        layout, names = key_layout(self.of), list(key_names(self.of))
        entries = {key: inner.bottom() for key in layout.to_elements(_unprefixed(self.keys))}
        order, firsts = group_equal_rows(self.table.select(names))
        rows = take_rows(self.table, order)
        elements = layout_of(inner).to_elements(rows)
        units = elements if is_ordered(inner) else list(zip(elements, rows[WEIGHT].to_pylist(), strict=True))
        keys = layout.to_elements(_unprefixed(take_rows(rows.select(names), firsts)))
        for key, (low, high) in zip(keys, itertools.pairwise([*firsts, len(units)]), strict=True):
            entries[key] = inner.value_class.of(units[low:high])
        for key in layout.to_elements(_unprefixed(self.keys.filter(self.keys[ENDED]))):
            entries[key] = entries[key].fix()
        return KeyedValue.of(entries, self.end)

    def lower(self, lower: Lowering) -> Term:
        """The value, and the keys beside it that are said to be there though they have rows: operators count these."""
        layout = key_layout(self.of)
        there = set(layout.to_elements(keys_in(self.of, self.table)))
        said = layout.to_elements(_unprefixed(self.keys.filter(pc.invert(self.keys[ENDED]))))
        beside = tuple(dict.fromkeys(key for key in said if key in there))
        return call(self.kind, self.of, self.value(), *([beside] if beside else []), lower=lower)

    @classmethod
    def lift(cls, *parts: Any) -> KeyedRows:
        of, value, *keys = parts
        rows = keyed_rows_of(of, value)
        more = [announce_keys(key_layout(of).to_table(list(each)).rename_columns(key_names(of))) for each in keys]
        return replace(rows, keys=pa.concat_tables([*more, rows.keys]))


def joined(table: pa.Table, more: pa.Table) -> pa.Table:
    if not more.num_rows:
        return table
    return pa.concat_tables([table, more]) if table.num_rows else more


def _unprefixed(keys: pa.Table) -> pa.Table:
    """The key columns under the names that the key's layout has for them."""
    return keys.rename_columns([name.removeprefix(KEY) for name in keys.column_names])


def expect_keyed(of: Collection) -> Keyed[Any, Any]:
    """The same collection, which must be a keyed stream."""
    assert isinstance(of, Keyed), f"{of} has no keys"
    return of


def inner_of(of: Keyed[Any, Any]) -> ElementCollection[Any]:
    assert isinstance(of.inner, ElementCollection), f"{of} has no elements under its keys"
    return of.inner


def key_layout(of: Collection) -> Layout:
    layout = Layout.of(expect_keyed(of).key)
    assert layout is not None, f"the keys of {of} have no columns"
    return layout


def key_names(of: Collection) -> tuple[str, ...]:
    return tuple(f"{KEY}{name}" for name in key_layout(of).names)


def key_schema(of: Collection) -> pa.Schema:
    return pa.schema([field.with_name(f"{KEY}{field.name}") for field in key_layout(of).schema])


def keys_in(of: Keyed[Any, Any], table: pa.Table) -> pa.Table:
    """The keys of the rows, as a table of elements that are keys."""
    return _unprefixed(table.select(list(key_names(of))))


def announce_keys(keys: pa.Table, *, ended: bool = False) -> pa.Table:
    """A table which says that these keys exist, or that their streams have ended."""
    return keys.append_column(_ENDED, pa.array(np.full(keys.num_rows, ended)))


_ENDED = pa.field(ENDED, pa.bool_(), nullable=False)


def has_key_columns(of: Collection) -> TypeGuard[Keyed[Any, Any]]:
    """Whether a keyed stream can be one table: keys and elements have columns, and names that cannot be confused."""
    if not isinstance(of, Keyed) or not isinstance(of.inner, ElementCollection):
        return False
    key, inner = Layout.of(of.key), Layout.of(of.inner.element)
    if key is None or inner is None or not key.hashable or not (inner.hashable or is_ordered(of.inner)):
        return False
    return not any(name.startswith((KEY, ENDED)) for name in inner.names)


def keyed_rows_of(of: Keyed[Any, Any], value: KeyedValue) -> KeyedRows:
    """The columnar value of a keyed value."""
    entries: Mapping[Any, Any] = value.entries.to_dict()
    layout, names = key_layout(of), list(key_names(of))
    keys = layout.to_table(list(entries)).rename_columns(names)
    counts = [len(inner.all_units()) for inner in entries.values()]
    together = _all_units(inner_of(of), [unit for inner in entries.values() for unit in inner.all_units()])
    rows = take_rows(keys, np.repeat(np.arange(len(counts)), counts))
    table = pa.Table.from_arrays([*rows.columns, *together.columns], schema=KeyedColumns(of).schema)
    ended = np.array([inner.fixed() and not value.fixed() for inner in entries.values()], bool)
    said = keys.append_column(_ENDED, pa.array(ended)).filter(pa.array(ended | (np.array(counts) == 0)))
    return KeyedRows(of, table, said, value.end)


def _all_units(inner: ElementCollection[Any], units: list[Any]) -> pa.Table:
    """The units of many values, as they stand."""
    if is_ordered(inner):
        return layout_of(inner).to_table(units)
    table = layout_of(inner).to_table([element for element, _ in units])
    return table.append_column(schema_of(inner).field(WEIGHT), pa.array([weight for _, weight in units], pa.int64()))


class KeyedColumns(Form[Keyed[Any, Any]]):
    """The columnar form of a keyed collection."""

    name = "KeyedColumns"

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([*key_schema(self.base), *schema_of(inner_of(self.base))])

    def bottom(self) -> KeyedRows:
        keys = key_schema(self.base).append(_ENDED).empty_table()
        return KeyedRows(self.base, self.schema.empty_table(), keys)

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, KeyedRows):
            return f"expected a table of {self.base}; got a {value.kind}"
        if not value.table.schema.equals(self.schema):
            return f"the columns are {value.table.schema.names}, and {self.base} has {self.schema.names}"
        return None

    def formed(self, value: Any) -> KeyedRows:
        return keyed_rows_of(self.base, value)
