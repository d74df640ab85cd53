"""Equality of states: NaN equals NaN, and equal values of different types (1, 1.0, True) are kept apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from flo.core.collection import FormedValue
from flo.core.persistent import Elements, PersistentMap
from flo.verify.functions.equations import same


def alike(one: Any, other: Any) -> bool:
    """Whether two states, or parts of them, are equal up to which nan is which."""
    if one is other:
        return True
    if type(one) is not type(other):
        return bool(one == other)
    if one == other:
        return True
    if isinstance(one, (tuple, list, Elements)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, Mapping):
        return len(one) == len(other) and all(key in other and alike(one[key], other[key]) for key in one)
    if isinstance(one, (set, frozenset)):
        return len(one) == len(other) and all(each != each for each in one ^ other)
    if isinstance(one, FormedValue):
        return alike(one.value(), other.value())
    if is_dataclass(one):
        kind: Any = type(one)
        if not kind.__dataclass_params__.eq and kind.__eq__ is not object.__eq__:
            return False  # it says itself what is equal
        parts = [field.name for field in fields(one) if field.compare]
        return bool(parts) and all(alike(getattr(one, part), getattr(other, part)) for part in parts)
    return bool(one != one and other != other) or same(one, other)


_forms: dict[type, Callable[[Any], Any] | None] = {}
"""How things of a type are told apart; None if the type says all."""


def form(thing: Any) -> Any:
    """Types, as deep as they can be seen. Equal things of one form are the same to every function."""
    kind = type(thing)
    try:
        of = _forms[kind]
    except KeyError:
        of = _forms[kind] = _form_of(kind)
    return kind if of is None else (kind, of(thing))


def _form_of(kind: type) -> Callable[[Any], Any] | None:
    if issubclass(kind, (float, complex, Decimal, datetime, time)):
        return repr  # 0.0 is not -0.0
    if issubclass(kind, (tuple, list, Elements)):
        return _members
    if issubclass(kind, PersistentMap):
        return lambda table: _entries(table.to_dict())
    if issubclass(kind, Mapping):
        return _entries
    if issubclass(kind, (set, frozenset)):
        return lambda items: frozenset((each, form(each)) for each in items)
    if is_dataclass(kind):
        names = [field.name for field in fields(kind) if field.compare]
        return (lambda thing: tuple(form(getattr(thing, name)) for name in names)) if names else None
    return None


_TOLD = frozenset({int, str, bool, bytes, type(None)})
"""Types that say all."""


def _members(items: Any) -> tuple[Any, ...]:
    kinds = tuple(map(type, items))
    return kinds if _TOLD.issuperset(kinds) else tuple(map(form, items))


def _entries(table: Mapping[Any, Any]) -> frozenset[Any]:
    return frozenset((key, form(key), form(each)) for key, each in table.items())
