"""Feeding a running program: data of every kind, part by part; what does not fit is refused or put aside.

If a function raises, the part that made it raise is taken back and fed again in halves, until the row is found.
Nothing is lost by that: a graph never changes, so the one before the part is still there, and by eager execution halves
give what the whole gives.

Which rows are put aside does not depend on the order of rows that have none, nor on how the data is cut into parts. Of
a sequence it is every row that a function raises on after those before it. Of a bag, a set or a z-set it is every row
that a function raises on by itself, in the state before the rows of its input. If functions raise only on several of
these rows together, none of them is to blame more than the others, and the error is raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, is_typeddict

import pyarrow as pa

from flo.columns.cell import fields_of
from flo.columns.dicts import row_of
from flo.core.collection import Value
from flo.core.errors import ElementError, FloError, brief
from flo.core.event_loop import EventLoop, Snapshot
from flo.tables.io.diverted import Aside, Diverted, OnError
from flo.tables.io.files import WEIGHTS, Fault, Part, Piece, Plain, Source, no_files, opened, plainly, source
from flo.tables.io.fitting import Unfit, fitted
from flo.tables.values import Columns, Rows, layout_of, written
from flo.values.element_value import ElementCollection

Place = Callable[[int], Diverted]
"""What is known of a unit of a value, by its place."""


class Feeding:
    """Pushes data to the inputs of a loop and runs it."""

    def __init__(self, loop: EventLoop, inputs: Mapping[str, int], on_error: OnError) -> None:
        self.loop = loop
        self.inputs = inputs
        self.on_error = on_error
        self.aside = Aside()
        self._before: Snapshot | None = None
        """The state before the rows of an input, where rows are put aside."""

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """All of what is taken in the block, or nothing if it raises."""
        kept, self.aside = self.aside, Aside()
        try:
            with self.loop.atomic():
                yield
            kept.add_all(self.aside)
        finally:
            self.aside = kept
            self._before = None

    def opened(self, name: str, data: Any) -> Source:
        """The parts of the data. What is no table is one part."""
        collection = self.loop.input_types[self.inputs[name]].collection
        try:
            found = self._source(collection, data)
        except FloError as error:
            error.input_name = f"`{name}`"
            raise
        return found or Source(iter([Plain(data)]), len(data) if hasattr(data, "__len__") else None)

    def _source(self, collection: Any, data: Any) -> Source | None:
        of = collection.base if isinstance(collection, Columns) else collection
        if not isinstance(of, ElementCollection):
            return None
        if not isinstance(collection, Columns):
            found = source(data, of.element, (), no_files(of))
            return found and Source(map(plainly, found.parts), found.rows)
        layout = layout_of(of)

        def read(path: Path, names: tuple[str, ...]) -> Source:
            return opened(path, names, layout.schema)

        found = source(data, of.element, (*layout.names, WEIGHTS), read)
        if found is not None and of.unordered and not layout.hashable:
            raise ElementError(
                f"the elements of {{input}} are not hashable, which elements of a {of.name} must be",
                facts=(("{input}", str(of)),),
                instead=(("tuple[int, ...] for list[int], a frozen dataclass", "have a hash"),),
            )
        return found

    def taking(self, name: str, data: Any) -> Iterator[int]:
        """Takes the data in, part by part; says how many rows after each."""
        if self.inputs[name] in self.loop.ended:
            error = ElementError("{input} has ended and takes no more data", facts=(("given", brief(data)),))
            error.input_name = f"`{name}`"
            raise error
        given = data if isinstance(data, Source) else self.opened(name, data)
        self._before = self.loop.snapshot() if self.on_error == "divert" else None
        while True:
            try:
                part = next(given.parts, None)
            except FloError as error:
                error.input_name = f"`{name}`"
                raise
            if part is None:
                return
            yield self._take(name, part)

    def _take(self, name: str, part: Part) -> int:
        match part:
            case Fault():
                self._refuse(name, Diverted(part.row, part.reason, part.file, part.number))
                return 0
            case Piece():
                return self._take_piece(name, part)
            case Plain(data):
                return self._take_plain(name, data)

    def _refuse(self, name: str, row: Diverted) -> None:
        if self.on_error == "raise":
            raise row.refused(name, self._of(name))
        self.aside.add(name, row)

    def _of(self, name: str) -> Any:
        collection = self.loop.input_types[self.inputs[name]].collection
        return collection.base if isinstance(collection, Columns) else collection

    def _take_piece(self, name: str, piece: Piece) -> int:
        try:
            rows, kept, misfits = fitted(piece, self._of(name))
        except Unfit as error:
            for place in range(piece.table.num_rows if piece.file is None and self.on_error == "divert" else 0):
                self.aside.add(name, self._row(piece, place, str(error)))
            if piece.file is not None or self.on_error == "raise":
                self._refuse(name, Diverted(None, f"does not fit: {error}", piece.file))
            return int(piece.table.num_rows)
        for misfit in misfits:
            self._refuse(name, self._row(piece, misfit.place, misfit.reason))
        self._feed(name, rows, lambda place: self._row(piece, int(kept[place]), ""))
        return int(piece.table.num_rows)

    def _row(self, piece: Piece, place: int, reason: str) -> Diverted:
        row = piece.table.slice(place, 1).to_pylist()[0]
        return Diverted(row, reason, piece.file, piece.number(place))

    def _take_plain(self, name: str, data: Any) -> int:
        collection = self.loop.input_types[self.inputs[name]].collection
        of = self._of(name)
        if not isinstance(of, ElementCollection):
            return self._take_whole(name, collection, data)
        try:
            if isinstance(data, (Mapping, set, frozenset)):
                items: Any = data
            else:
                items = self._rows(name, of, of.gathered(data))
            value = of.value(items)
            sent = written(of, value) if isinstance(collection, Columns) else value
        except FloError as error:
            if isinstance(error, ElementError) and self.on_error == "divert" and error.position is not None:
                return self._take_one_by_one(name, of, items)
            error.input_name = f"`{name}`"
            raise
        self._feed(name, sent, _unit(of, value))
        return len(items)

    def _take_whole(self, name: str, collection: Any, data: Any) -> int:
        """What is no collection of elements cannot be taken in parts."""
        try:
            value = collection.value(data)
        except FloError as error:
            error.input_name = f"`{name}`"
            raise
        self._push(name, value)
        self.loop.run()
        size = int(value.size())
        self.aside.count(name, size)
        return size

    def _rows(self, name: str, of: ElementCollection[Any], items: list[Any]) -> list[Any]:
        """Dicts as rows, where the elements are rows."""
        fields = fields_of(of.element)
        if not fields or is_typeddict(of.element) or not any(type(item) is dict for item in items):
            return items
        made = []
        for place, item in enumerate(items):
            if type(item) is dict and item.keys() >= fields.keys():
                item = row_of(of.element, item)
            elif type(item) is dict:
                missing = next(field for field in fields if field not in item)
                self._refuse(name, Diverted(item, f"it has no `{missing}`", None, place + 1))
                continue
            made.append(item)
        return made

    def _take_one_by_one(self, name: str, of: ElementCollection[Any], items: Any) -> int:
        """Each element by itself: those that do not fit are put aside."""
        collection = self.loop.input_types[self.inputs[name]].collection
        good: Any = Counter() if isinstance(items, Mapping) else []
        for place, item in enumerate(items):
            one: Any = {item: items[item]} if isinstance(items, Mapping) else [item]
            try:
                value = of.value(one)
                if isinstance(collection, Columns):
                    written(of, value)
            except ElementError as error:
                error.input_name = f"`{name}`"
                reason = str(error).split("\n")[0]
                self.aside.add(name, Diverted(item, reason, None, place + 1))
                continue
            good.update(one) if isinstance(items, Mapping) else good.append(item)
        value = of.value(dict(good) if isinstance(items, Mapping) else good)
        self._feed(name, written(of, value) if isinstance(collection, Columns) else value, _unit(of, value))
        return len(items)

    def _push(self, name: str, value: Value) -> None:
        place = self.inputs[name]
        self.loop.push(tuple(value if place == each else None for each in range(len(self.inputs))))

    def _feed(self, name: str, value: Any, row: Place) -> None:
        """Pushes a value and runs; if that raises, finds the row."""
        size = value.size()
        if not size:
            return
        error = self._raised(name, value)
        if error is None:
            self.aside.count(name, size)
        elif self.on_error == "divert" and self._of(name).unordered:
            self._feed_others(name, value, row, error)
        elif size == 1:
            self._blame(name, row(0), error)
        else:
            half = size // 2
            self._feed(name, _part(value, 0, half), row)
            self._feed(name, _part(value, half, size), lambda place: row(half + place))

    def _raised(self, name: str, value: Any) -> FloError | None:
        """Pushes a value and runs, or gives what that raised, with everything as it was before."""
        try:
            with self.loop.atomic():
                self._push(name, value)
                self.loop.run()
        except FloError as error:
            return error
        return None

    def _feed_others(self, name: str, value: Any, row: Place, error: FloError) -> None:
        """Puts the rows aside that functions raise on by themselves, and feeds the others."""
        at_fault = dict(self._at_fault(name, value))
        others = _without(value, at_fault)
        together = self._raised(name, others) if at_fault and others.size() else None
        if not at_fault or together is not None:
            raise _of_many(together or error, name)
        self.aside.count(name, others.size())
        for place, fault in at_fault.items():
            self._blame(name, row(place), fault)

    def _at_fault(self, name: str, value: Any) -> Iterator[tuple[int, FloError]]:
        """The places of rows that functions raise on by themselves, before the rows of their input; what is raised."""
        now, waiting = self.loop.snapshot(), [(0, value.size())]
        while waiting:
            start, stop = waiting.pop()
            assert self._before is not None
            self.loop.roll_back(self._before)
            error = self._raised(name, _part(value, start, stop))
            self.loop.roll_back(now)
            if error is None:
                continue
            if stop - start == 1:
                yield start, error
            else:
                half = (start + stop) // 2
                waiting += [(half, stop), (start, half)]

    def _blame(self, name: str, row: Diverted, error: FloError) -> None:
        if self.on_error == "raise":
            raise row.blamed(error, name) from error.__cause__
        self.aside.add(name, replace(row, reason=error.summary.replace("{input}", f"`{name}`")))


def _part(value: Any, start: int, stop: int) -> Any:
    if isinstance(value, Rows):
        return replace(value, table=value.table.slice(start, stop - start))
    return value.of(value.all_units()[start:stop])


def _without(value: Any, places: Mapping[int, Any]) -> Any:
    if isinstance(value, Rows):
        kept = [place not in places for place in range(value.table.num_rows)]
        return replace(value, table=value.table.filter(pa.array(kept, pa.bool_())))
    return value.of([unit for place, unit in enumerate(value.all_units()) if place not in places])


def _of_many(error: FloError, name: str) -> FloError:
    """The error of rows of which none is to blame by itself."""
    error.facts = (*error.facts, ("input", f"{name}: several rows together, and none of them by itself"))
    return error


def _unit(of: ElementCollection[Any], value: Any) -> Place:
    """The element of a plain value; in what order the elements of a set came is not known."""

    def row(place: int) -> Diverted:
        unit = value.all_units()[place]
        return Diverted(unit[0], "") if of.unordered else Diverted(unit, "", None, place + 1)

    return row
