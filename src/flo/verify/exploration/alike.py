"""Equal, for what a program can see: nan is nan, wherever two results, states or outputs are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from flo.core.forms import FormedValue
from flo.core.persistent import Elements
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
