"""Feeding a running program: data of any kind, part by part. Rows that do not fit raise or are diverted.

If a function raises, the part is rolled back and fed again in halves until the row at fault is found. Graphs are
immutable, so the one before the part still exists, and by eager execution the halves give what the whole gives.

Which rows are diverted depends neither on the order of unordered rows nor on how the data is cut into parts. In a
sequence, a row is diverted if a function raises on it after the rows before it. In a bag, a set or a z-set, a row is
diverted if a function raises on it alone, in the state before the rows of its input. If functions raise only on several
such rows together, none of them is at fault by itself, and the error is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, is_typeddict

import numpy as np
import pyarrow as pa

from flo.columns.cell import fields_of
from flo.columns.changes import given_schema
from flo.columns.dicts import row_of
from flo.core.collection import Value
from flo.core.errors import ElementError, FloError, brief
from flo.core.event_loop import ProgramLoop
from flo.tables.io.diverted import Diverted, DivertedRows, OnError
from flo.tables.io.files import (
    WEIGHTS,
    DataPart,
    DataSource,
    Piece,
    PlainData,
    UnreadableRow,
    open_data,
    open_files,
    reject_files,
    to_plain,
)
from flo.tables.io.fitting import Unfit, fit_rows
from flo.tables.keyed import KeyedColumns
from flo.tables.values import WEIGHT, Columns, Rows, layout_of, to_rows
from flo.values.changes import shape_of
from flo.values.element_value import ElementCollection
from flo.values.operators.shapes import find_faults

RowAt = Callable[[int], Diverted]
"""The origin of a row, by its index in a value."""


@dataclass(slots=True)
class ErrorsOf:
    """Names the input in errors that a block raises."""

    name: str

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, FloError):
            error.input_name = f"`{self.name}`"


class Feeder:
    """Pushes data to the inputs of an event loop, and runs it."""

    def __init__(self, loop: ProgramLoop[Any], inputs: Mapping[str, int], on_error: OnError) -> None:
        self.loop = loop
        self.inputs = inputs
        self.on_error = on_error
        self.grown: Mapping[str, Any] = {}
        """The inputs that got more partitions."""
        self.diverted = DivertedRows()
        self._before: Any = None
        """The state before the rows of the current input, if rows are diverted."""
        self._together: list[tuple[str, Any, RowAt]] | None = None
        """Values that wait for those of other inputs."""

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """Takes all data that is fed inside the block, or nothing if the block raises."""
        before, self.diverted = self.diverted, DivertedRows()
        try:
            with self.loop.atomic():
                yield
            before.add_all(self.diverted)
        finally:
            self.diverted = before
            self._before = None

    def open(self, name: str, data: Any) -> DataSource:
        """The data in parts. Plain Python data is one part."""
        collection = self.loop.input_types[self.inputs[name]].collection
        with ErrorsOf(name):
            source = self._source(collection, data)
        return source or DataSource(iter([PlainData(data)]), len(data) if hasattr(data, "__len__") else None)

    def _source(self, collection: Any, data: Any) -> DataSource | None:
        of = collection.base if isinstance(collection, Columns) else collection
        if of is collection:
            if not isinstance(of, ElementCollection):
                return None
            source = open_data(data, of.element, reject_files(of), self.loop.workers)
            return source and DataSource(map(to_plain, source.parts), source.rows)

        def read(path: Path) -> DataSource:
            schema = given_schema(of.element)
            return open_files(path, (*schema.names, WEIGHTS), schema)

        source = open_data(data, of.element, read, self.loop.workers)
        if source is not None and of.unordered and not layout_of(of).hashable:
            raise ElementError(
                f"the elements of {{input}} are not hashable, which elements of a {of.name} must be",
                facts=(("{input}", str(of)),),
                instead=(("tuple[int, ...] for list[int], a frozen dataclass", "are hashable"),),
            )
        return source

    def feed(self, name: str, data: Any) -> Iterator[int]:
        """Feeds the data part by part, and yields the number of rows of each."""
        if self.inputs[name] in self.loop.ended:
            with ErrorsOf(name):
                raise ElementError("{input} has ended and takes no more data", facts=(("given", brief(data)),))
        given = data if isinstance(data, DataSource) else self.open(name, data)
        self._before = self.loop.snapshot() if self.on_error == "divert" else None
        for part in self.read_parts(name, given):
            yield self.feed_part(name, part)

    def read_parts(self, name: str, given: DataSource) -> Iterator[DataPart]:
        """The parts of the data of an input. Errors name the input."""
        with ErrorsOf(name):
            yield from given.parts

    def feed_in_turn(self, given: list[tuple[str, Any]]) -> None:
        """Feeds the data of one input after the other, and runs after each part."""
        for name, data in given:
            for _ in self.feed(name, data):
                pass

    def feed_together(self, given: list[tuple[str, Any]]) -> None:
        """Feeds the data of several inputs, and runs once: no operator sees a state between them.

        If that raises, feeds one after the other, to find the row at fault.
        """
        waiting: list[tuple[str, Any, RowAt]] = []
        self._together = waiting
        try:
            self.feed_in_turn(given)
        finally:
            self._together = None
        try:
            with self.loop.atomic():
                for name, value, _ in waiting:
                    self._push(name, value)
                self.loop.run()
        except FloError:
            for each in waiting:
                self._feed(*each)
            return
        for name, value, _ in waiting:
            self.diverted.count(name, value.size())

    def feed_rows(self, name: str, rows: Rows) -> int:
        """Feeds rows that fit, such as those of a state, and returns their number."""
        self._before = self.loop.snapshot() if self.on_error == "divert" else None
        self._feed(name, rows, lambda index: Diverted(_row_at(rows.table, index), ""))
        return int(rows.table.num_rows)

    def feed_part(self, name: str, part: DataPart) -> int:
        """Feeds a part of the data, and returns the number of its rows."""
        match part:
            case UnreadableRow():
                self._divert(name, Diverted(part.row, part.reason, part.file, part.number))
                return 0
            case Piece():
                return self._feed_piece(name, part)
            case PlainData(data):
                return self._feed_plain(name, data)

    def _divert(self, name: str, row: Diverted) -> None:
        """Diverts a row that does not fit; raises if rows are not diverted."""
        if self.on_error == "raise":
            raise row.to_error(name, self._of(name))
        self.diverted.add(name, row)

    def _of(self, name: str) -> Any:
        collection = self.loop.input_types[self.inputs[name]].collection
        return collection.base if isinstance(collection, Columns) else collection

    def _feed_piece(self, name: str, piece: Piece) -> int:
        try:
            rows, kept, misfits = fit_rows(piece, self._of(name))
        except Unfit as error:
            for index in range(piece.table.num_rows if piece.file is None and self.on_error == "divert" else 0):
                self.diverted.add(name, self._row(piece, index, str(error)))
            if piece.file is not None or self.on_error == "raise":
                self._divert(name, Diverted(None, f"does not fit: {error}", piece.file))
            return int(piece.table.num_rows)
        for misfit in misfits:
            self._divert(name, self._row(piece, misfit.index, misfit.reason))
        self._feed(name, rows, lambda index: self._row(piece, int(kept[index]), ""))
        return int(piece.table.num_rows)

    def _row(self, piece: Piece, index: int, reason: str) -> Diverted:
        row = piece.table.slice(index, 1).to_pylist()[0]
        return Diverted(row, reason, piece.file, piece.number(index))

    def _feed_plain(self, name: str, data: Any) -> int:
        collection = self.loop.input_types[self.inputs[name]].collection
        of = self._of(name)
        if not isinstance(of, ElementCollection):
            return self._feed_value(name, collection, data)
        try:
            if isinstance(data, (Mapping, set, frozenset)):
                items: Any = data
            else:
                items = self._convert_dicts(name, of, of.gathered(data))
            value = of.value(items)
            sent = to_rows(of, value) if isinstance(collection, Columns) else value
        except FloError as error:
            if isinstance(error, ElementError) and self.on_error == "divert" and error.position is not None:
                return self._feed_fitting(name, of, items)
            error.input_name = f"`{name}`"
            raise
        self._feed(name, sent, _row_of(of, value))
        return len(items)

    def _feed_value(self, name: str, collection: Any, data: Any) -> int:
        """Feeds a value that is not a collection of elements, which cannot be split."""
        with ErrorsOf(name):
            if isinstance(collection, KeyedColumns) and isinstance(data, Mapping):
                value = self._partitions(name, collection, data)
            else:
                value = collection.value(data)
        self._push(name, value)
        self.loop.run()
        size = int(value.size())
        self.diverted.count(name, size)
        return size

    def _partitions(self, name: str, collection: KeyedColumns, data: Mapping[Any, Any]) -> Value:
        """The rows of a partitioned log: a table, a frame or plain Python for each partition."""
        of: Any = collection.base.inner
        log = self.grown.get(name, collection.base)
        log.value(dict.fromkeys(data, ()))  # refuses what is no partition
        value = collection.bottom()
        for partition, rows in data.items():
            if hasattr(rows, "__arrow_c_stream__"):
                try:
                    fitted, _, misfits = fit_rows(Piece(pa.table(rows)), of)
                except Unfit as error:
                    raise Diverted(None, f"does not fit: {error}").to_error(name, of) from None
                if misfits:
                    row = pa.table(rows).slice(misfits[0].index, 1).to_pylist()[0]
                    raise Diverted(row, misfits[0].reason).to_error(name, of)
                table = fitted.table
            else:
                items = self._convert_dicts(name, of, of.gathered(rows))
                table = to_rows(of, log.value({partition: items}).entries[partition]).table
            key = pa.array(np.full(table.num_rows, partition, np.int64))
            value = value.concat(replace(value.empty(), table=table.add_column(0, collection.schema.field(0), key)))
        return value

    def _convert_dicts(self, name: str, of: ElementCollection[Any], items: list[Any]) -> list[Any]:
        """Converts dicts to rows, if the elements are rows."""
        if dict not in map(type, items):
            return items
        fields = None if shape_of(of.element) else fields_of(of.element)
        if not fields or is_typeddict(of.element):
            return items
        rows = []
        for index, item in enumerate(items):
            if type(item) is dict and item.keys() >= fields.keys():
                item = row_of(of.element, item)
            elif type(item) is dict:
                missing = next(field for field in fields if field not in item)
                self._divert(name, Diverted(item, f"it has no `{missing}`", None, index + 1))
                continue
            rows.append(item)
        return rows

    def _feed_fitting(self, name: str, of: ElementCollection[Any], items: Any) -> int:
        """Diverts the elements that do not fit, and feeds the others."""
        is_columns = isinstance(self.loop.input_types[self.inputs[name]].collection, Columns)
        listed = list(items)

        def value_of(some: list[Any]) -> tuple[Any, Any]:
            value = of.value({item: items[item] for item in some} if isinstance(items, Mapping) else some)
            return value, to_rows(of, value) if is_columns else value

        misfits = dict(find_faults(lambda start, stop: value_of(listed[start:stop]), len(listed), ElementError))
        for index, error in misfits.items():
            error.input_name = f"`{name}`"
            self.diverted.add(name, Diverted(listed[index], str(error).split("\n")[0], None, index + 1))
        value, sent = value_of([item for index, item in enumerate(listed) if index not in misfits])
        self._feed(name, sent, _row_of(of, value))
        return len(items)

    def _push(self, name: str, value: Value) -> None:
        deltas: list[Value | None] = [None] * len(self.loop.input_types)
        deltas[self.inputs[name]] = value
        self.loop.push(tuple(deltas))

    def _feed(self, name: str, value: Any, row: RowAt) -> None:
        """Pushes a value and runs. If that raises, finds the row at fault."""
        size = value.size()
        if not size:
            return
        if self._together is not None:
            self._together.append((name, value, row))
            return
        if self.on_error == "divert" and self._of(name).unordered:
            at_fault: Iterable[tuple[int, FloError]] = self._feed_others(name, value)
        else:
            at_fault = find_faults(lambda start, stop: self._take(name, _slice(value, start, stop)), size, FloError)
        for index, error in at_fault:
            self._blame(name, row(index), error)
            size -= 1
        self.diverted.count(name, size)

    def _take(self, name: str, value: Any) -> None:
        """Pushes a value and runs; nothing has changed if that raises."""
        with self.loop.atomic():
            self._push(name, value)
            self.loop.run()

    def _feed_others(self, name: str, value: Any) -> list[tuple[int, FloError]]:
        """Feeds the rows on which no function raises alone; returns the others, with the errors."""
        now, before = self.loop.snapshot(), self._before
        assert before is not None

        def take_alone(start: int, stop: int) -> None:
            self.loop.roll_back(before)
            try:
                self._take(name, _slice(value, start, stop))
            finally:
                self.loop.roll_back(now)

        try:
            self._take(name, value)
            return []
        except FloError as error:
            at_fault = list(find_faults(take_alone, value.size(), FloError))
            if not at_fault:
                raise _blame_several(error, name) from error.__cause__
        others = _drop(value, dict(at_fault))
        try:
            if others.size():
                self._take(name, others)
        except FloError as error:
            raise _blame_several(error, name) from error.__cause__
        return at_fault

    def _blame(self, name: str, row: Diverted, error: FloError) -> None:
        if self.on_error == "raise":
            raise row.add_origin(error, name) from error.__cause__
        self.diverted.add(name, replace(row, reason=error.summary.replace("{input}", f"`{name}`")))


def _row_at(table: pa.Table, index: int) -> dict[str, Any]:
    """A row without its weight."""
    row: dict[str, Any] = table.slice(index, 1).to_pylist()[0]
    return {name: value for name, value in row.items() if name != WEIGHT}


def _slice(value: Any, start: int, stop: int) -> Any:
    if stop - start == value.size():
        return value
    if isinstance(value, Rows):
        return replace(value, table=value.table.slice(start, stop - start))
    return value.of(value.all_units()[start:stop])


def _drop(value: Any, indices: Mapping[int, Any]) -> Any:
    if isinstance(value, Rows):
        kept = [index not in indices for index in range(value.table.num_rows)]
        return replace(value, table=value.table.filter(pa.array(kept, pa.bool_())))
    return value.of([unit for index, unit in enumerate(value.all_units()) if index not in indices])


def _blame_several(error: FloError, name: str) -> FloError:
    """The error for rows that raise together, but not alone."""
    error.facts = (*error.facts, ("input", f"{name}: several rows together, none of them alone"))
    return error


def _row_of(of: ElementCollection[Any], value: Any) -> RowAt:
    """The origin of the elements of a plain value. Elements of a set have no row number."""

    def row(index: int) -> Diverted:
        unit = value.all_units()[index]
        return Diverted(unit[0], "") if of.unordered else Diverted(unit, "", None, index + 1)

    return row
