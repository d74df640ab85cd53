"""Lowering state to terms in which runs are names, and lifting it back. A store keeps the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from flo.core.collection import Collection, End, Form, Value
from flo.core.nested import Nested
from flo.core.stream_type import Derivation
from flo.core.term import Call, Lifting, Lowering, Term
from flo.tables.keyed import KeyedColumns, KeyedRows
from flo.tables.state.keys import Keys
from flo.tables.state.run import Run
from flo.tables.values import Columns, Rows
from flo.values.keyed import Keyed


class Runs(Protocol):
    """A store of runs by name."""

    def put(self, run: Run) -> int:
        """Stores a run; returns the number of bytes written."""

    def get(self, columns: tuple[str, ...], name: str) -> Run: ...


class Storing(Lowering):
    """Lowers runs to names, and puts the runs into a store. A collection is named by its index in the program."""

    def __init__(self, store: Runs, known: list[Collection]) -> None:
        super().__init__()
        self.store = store
        self.known = known
        self.held: set[str] = set()
        self.written = self.bytes = 0
        self._in_value = 0

    def naming(self, program: Lowering) -> Storing:
        """Uses the names of a program for its functions and types."""
        self.names, self._name_of = program.names, program._name_of
        return self

    def __call__(self, item: Any) -> Term:
        if isinstance(item, Run):
            return Call("stored", (item.columns, self.put(item)))
        if isinstance(item, Rows):
            return Call("stored_rows", (self._type(item.of), self._rows(item.table), item.end.lower(self)))
        if isinstance(item, KeyedRows):
            parts = (self._type(item.of), self._rows(item.table), self._rows(item.keys), item.end.lower(self))
            return Call("stored_keyed_rows", parts)
        if isinstance(item, Collection) and self._in_value and item in self.known:
            return self._type(item)
        if not isinstance(item, Value):
            return super().__call__(item)
        self._in_value += 1
        try:
            return super().__call__(item)
        finally:
            self._in_value -= 1

    def _type(self, of: Collection) -> Term:
        return Call("type_of_program", (self.known.index(of),))

    def _rows(self, table: pa.Table) -> str | None:
        return self.put(run_of_rows(table)) if table.num_rows else None

    def put(self, run: Run) -> str:
        """Stores a run; returns its name."""
        size = self.store.put(run)
        self.held.add(run.name)
        self.written += size > 0
        self.bytes += size
        return run.name


class Loading(Lifting):
    """Lifts names of runs to memory-mapped runs from a store."""

    def __init__(self, names: Mapping[str, Any], store: Runs, known: list[Collection]) -> None:
        super().__init__(names)
        self.store = store
        self.known = known

    def __call__(self, term: Term) -> Any:
        match term:
            case Call("stored", (tuple(columns), str(name))):
                return self.store.get(tuple(map(str, columns)), name)
            case Call("stored_rows", (of, name, end)):
                rows = Columns(self(of)).bottom().with_end(End.lift(self(end)))
                return replace(rows, table=self._table(name, rows.table))
            case Call("stored_keyed_rows", (of, name, keys, end)):
                keyed = KeyedColumns(self(of)).bottom()
                tables = self._table(name, keyed.table), self._table(keys, keyed.keys)
                return KeyedRows(keyed.of, *tables, End.lift(self(end)))
            case Call("type_of_program", (int(place),)):
                return self.known[place]
            case _:
                return super().__call__(term)

    def _table(self, name: Any, empty: pa.Table) -> pa.Table:
        return self.store.get((), name).table if isinstance(name, str) else empty


def collections_in(derivation: Derivation) -> list[Collection]:
    """All collections of the streams of a program, in a fixed order."""
    found: dict[Collection, None] = {}
    waiting = [derivation]
    while waiting:
        each = waiting.pop()
        waiting += each.premises
        for stream in (*each.inputs, *each.outputs):
            for collection in _within(stream.collection):
                found.setdefault(collection)
    return list(found)


def _within(collection: Collection) -> Iterator[Collection]:
    yield collection
    if isinstance(collection, Form):
        of: Any = collection.base
        yield from _within(of)
    if isinstance(collection, Nested):
        for stream in collection.inner:
            yield from _within(stream.collection)
    if isinstance(collection, Keyed):
        yield from _within(collection.inner)


def run_of_rows(table: pa.Table) -> Run:
    """A table as a run without a key, in its order."""
    return Run((), Keys(np.zeros(table.num_rows, np.uint64), False), table)
