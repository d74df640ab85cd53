"""One canonical form for equal elements, and one total order, so that Python's dicts and comparisons treat elements as
columns do. The same order on columns is in `flo.tables.state.comparison`.

Python and databases disagree on three kinds of values:

- NaN differs from itself, so a row with a NaN could not be found again. Flo uses one NaN object.
- 0.0 and -0.0 are equal, so the result would depend on which came first. Flo uses 0.0.
- Python compares two times of one zone by their wall clocks. So the two 02:30 of the hour that is repeated at the end
  of daylight saving time are equal, though they are an hour apart. Flo compares instants: it replaces the zone of such
  a time by its UTC offset.
"""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime, timezone
from enum import Enum
from operator import is_
from typing import Any, TypeAlias
from uuid import UUID

from flo.core.untyped import Element, ElementFunction

ToCanonical: TypeAlias = ElementFunction


def _canonical_float(number: float) -> float:
    return (number or 0.0) if number == number else math.nan


def _with_offset(moment: datetime) -> datetime:
    """Replace the zone by the UTC offset if the wall clock is ambiguous in that zone. The instant stays the same."""
    if moment.tzinfo is None or isinstance(moment.tzinfo, timezone):
        return moment
    offset = moment.utcoffset()
    if offset is None or offset == moment.replace(fold=1 - moment.fold).utcoffset():
        return moment
    return moment.replace(tzinfo=timezone(offset), fold=0)


class Forms(dict[type, ToCanonical | None]):
    """Maps a class to a function that brings its values into canonical form; None if they always are.

    Recurses into tuples, frozensets and frozen dataclasses.
    """

    def __init__(self, leaves: dict[type, ToCanonical]) -> None:
        super().__init__(leaves)
        self._unchanged: set[type] = set()
        """The classes whose values are always canonical."""

    def __call__(self, element: object) -> Any:
        form = self[type(element)]
        return element if form is None else form(element)

    def __missing__(self, kind: type) -> ToCanonical | None:
        form: ToCanonical | None = None
        if issubclass(kind, tuple):
            form = self._tuple
        elif kind is frozenset:
            form = self._frozenset
        elif dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            names = [field.name for field in dataclasses.fields(kind) if field.init]
            form = self._dataclass(names) if len(names) == len(dataclasses.fields(kind)) else None
        self[kind] = form
        if form is None:
            self._unchanged.add(kind)
        return form

    def _tuple(self, element: Element) -> Any:
        if self._unchanged.issuperset(map(type, element)):
            return element
        parts = tuple([self(part) for part in element])
        if all(map(is_, parts, element)):
            return element
        return element._make(parts) if hasattr(element, "_make") else parts

    def _frozenset(self, element: frozenset[Element]) -> frozenset[Element]:
        if self._unchanged.issuperset(map(type, element)):
            return element
        return frozenset(map(self, element))

    def _dataclass(self, names: list[str]) -> ToCanonical:
        def form(element: Element) -> Any:
            parts = {name: getattr(element, name) for name in names}
            changed = {name: canonical for name, part in parts.items() if (canonical := self(part)) is not part}
            return dataclasses.replace(element, **changed) if changed else element

        return form


canonical_element = Forms({float: _canonical_float, datetime: _with_offset})
"""Canonical form of elements of bags, sets and z-sets, and of keys and groups."""
instant_element = Forms({datetime: _with_offset})
"""Canonical form of elements of sequences: only times are changed, to those that Python compares as instants."""


def order_key(value: object) -> tuple[Element, ...]:
    """Return a key that orders all values of a column totally. Equal values have equal keys.

    None is the least, NaN the greatest number. Zoned times are compared as instants, enums by name, UUIDs by their
    bytes, rows column by column.
    """
    if value is None:
        return (0,)
    if isinstance(value, Enum):
        return (1, value.name)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (1, value.astimezone(UTC))
    if isinstance(value, UUID):
        return (1, value.bytes)
    if isinstance(value, (tuple, list)):
        return (1, tuple(map(order_key, value)))
    if dataclasses.is_dataclass(value):
        return (1, tuple(order_key(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return (2, 0) if value != value else (1, value)
