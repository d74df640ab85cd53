"""One form for equal elements, so that dicts and comparisons of Python treat them as columns do.

Python and databases disagree on three kinds of values:

- NaN differs from itself, so a row that holds one could not be found again. Flo has one NaN.
- 0.0 and -0.0 are equal, so which of them came first would show. Flo keeps 0.0.
- Two times of one zone are compared by their wall clocks, so the two 02:30 of the hour that is repeated when daylight
  saving time ends are equal, though they are an hour apart. Flo compares instants: such a time gets its UTC offset in
  place of its zone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from datetime import datetime, timezone
from operator import is_
from typing import Any, TypeAlias

Form: TypeAlias = Callable[[Any], Any]


def _canonical_float(number: float) -> float:
    return (number or 0.0) if number == number else math.nan


def _with_offset(moment: datetime) -> datetime:
    """The same instant, with its UTC offset in place of a zone in which the wall clock does not tell the instant."""
    if moment.tzinfo is None or isinstance(moment.tzinfo, timezone):
        return moment
    offset = moment.utcoffset()
    if offset is None or offset == moment.replace(fold=1 - moment.fold).utcoffset():
        return moment
    return moment.replace(tzinfo=timezone(offset), fold=0)


class Forms(dict[type, Form | None]):
    """How to bring the values of a class into their canonical form; None for a class that has only one form.

    Looks into tuples, frozensets and frozen dataclasses.
    """

    def __init__(self, leaves: dict[type, Form]) -> None:
        super().__init__(leaves)
        self._unchanged: set[type] = set()
        """The classes that have only one form."""

    def __call__(self, element: Any) -> Any:
        form = self[type(element)]
        return element if form is None else form(element)

    def __missing__(self, kind: type) -> Form | None:
        form: Form | None = None
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

    def _tuple(self, element: Any) -> Any:
        if self._unchanged.issuperset(map(type, element)):
            return element
        parts = tuple([self(part) for part in element])
        if all(map(is_, parts, element)):
            return element
        return element._make(parts) if hasattr(element, "_make") else parts

    def _frozenset(self, element: frozenset[Any]) -> frozenset[Any]:
        if self._unchanged.issuperset(map(type, element)):
            return element
        return frozenset(map(self, element))

    def _dataclass(self, names: list[str]) -> Form:
        def form(element: Any) -> Any:
            parts = {name: getattr(element, name) for name in names}
            changed = {name: made for name, part in parts.items() if (made := self(part)) is not part}
            return dataclasses.replace(element, **changed) if changed else element

        return form


canonical_element = Forms({float: _canonical_float, datetime: _with_offset})
"""The element in the form that bags, sets, z-sets, keys and groups know it by."""
instant_element = Forms({datetime: _with_offset})
"""The element with times that Python compares as instants, and everything else as it is: what a sequence holds."""
