"""Equality in checks: NaN equals NaN, and equal values of different types (1, 1.0, True) can be told apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, time
from decimal import Decimal
from functools import partial
from types import CellType, FunctionType
from typing import Any

from flo.core.collection import FormedValue
from flo.core.persistent import Elements, PersistentMap
from flo.core.untyped import TypeForm


class NoJoin(Exception):
    """The result of a join of two values of a lattice that exclude each other."""

    def __repr__(self) -> str:
        return "no join"


def are_equal(one: Any, other: Any) -> bool:
    """Whether no program can tell two values or states apart: NaN equals NaN, also inside of other values.

    Objects whose class does not define equality are compared by their fields, and functions by their code and the
    values that it uses.
    """
    if one is other:
        return True
    if isinstance(one, NoJoin) or isinstance(other, NoJoin):
        return isinstance(one, NoJoin) and isinstance(other, NoJoin)
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    kind: Any = type(one)
    if kind is not type(other):
        return bool(one == other)
    if kind in (tuple, list):
        return len(one) == len(other) and all(map(are_equal, one, other))
    if kind is FunctionType:
        return _are_equal_functions(one, other)
    if kind is partial:
        return are_equal((one.func, one.args, one.keywords), (other.func, other.args, other.keywords))
    if all("__eq__" not in vars(each) for each in kind.__mro__[:-1]) and hasattr(one, "__dict__"):
        return _are_equal_mappings(vars(one), vars(other))
    return bool(one == other) or _are_equal_but_for_nan(one, other)


def _are_equal_but_for_nan(one: Any, other: Any) -> bool:
    """Whether two unequal values of one type differ only in NaNs: a NaN makes everything that holds it unequal."""
    kind: Any = type(one)
    classes = frozenset(kind.__mro__)  # `isinstance` would call code of abstract classes, which the solver traces
    if classes & {tuple, list, Elements}:
        return len(one) == len(other) and all(map(are_equal, one, other))
    if classes & {dict, Mapping, PersistentMap}:
        return _are_equal_mappings(one, other)
    if classes & {set, frozenset}:
        return len(one) == len(other) and all(each != each for each in one ^ other)
    if FormedValue in classes:
        return are_equal(one.value(), other.value())
    if is_dataclass(one):
        if not kind.__dataclass_params__.eq and kind.__eq__ is not object.__eq__:
            return False  # the class defines equality itself
        names = [field.name for field in fields(one) if field.compare]
        return bool(names) and all(are_equal(getattr(one, name), getattr(other, name)) for name in names)
    return bool(classes & {float, Decimal, complex}) and bool(one != one and other != other)


def _are_equal_functions(one: FunctionType, other: FunctionType) -> bool:
    """Whether two functions have equal code, defaults and closures; functions inside need only have equal code."""
    if one.__code__ != other.__code__:
        return False
    mine, others = _bound_values(one), _bound_values(other)
    return len(mine) == len(others) and all(
        a.__code__ == b.__code__ if type(a) is type(b) is FunctionType else are_equal(a, b)
        for a, b in zip(mine, others, strict=True)
    )


def _bound_values(function: FunctionType) -> list[Any]:
    """The values that two functions of equal code may differ in."""
    cells = function.__closure__ or ()
    held = [cell.cell_contents for cell in cells if cell != CellType()]  # an empty cell: a name without a value yet
    return [function.__defaults__, function.__kwdefaults__, function.__dict__, *held]


def _are_equal_mappings(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    return len(one) == len(other) and all(key in other and are_equal(one[key], other[key]) for key in one)


_detailed: dict[type, Callable[[Any], Any] | None] = {}
"""For each type, the function that adds detail to it; None if the type says all."""


def deep_type(value: object) -> TypeForm:
    """The types of a value and of the values inside. Equal values of one deep type are the same to every function."""
    kind = type(value)
    try:
        detail = _detailed[kind]
    except KeyError:
        detail = _detailed[kind] = _detail_of(kind)
    return kind if detail is None else (kind, detail(value))


def _detail_of(kind: type) -> Callable[[Any], Any] | None:
    if issubclass(kind, (float, complex, Decimal, datetime, time)):
        return repr  # 0.0 is not -0.0
    if issubclass(kind, (tuple, list, Elements)):
        return _item_types
    if issubclass(kind, PersistentMap):
        return lambda table: _entry_types(table.to_dict())
    if issubclass(kind, Mapping):
        return _entry_types
    if issubclass(kind, (set, frozenset)):
        return lambda items: frozenset((each, deep_type(each)) for each in items)
    if is_dataclass(kind):
        names = [field.name for field in fields(kind) if field.compare]
        return (lambda value: tuple(deep_type(getattr(value, name)) for name in names)) if names else None
    return None


_SIMPLE = frozenset({int, str, bool, bytes, type(None)})
"""Common types that need no detail."""


def _item_types(items: Any) -> tuple[TypeForm, ...]:
    kinds = tuple(map(type, items))
    return kinds if _SIMPLE.issuperset(kinds) else tuple(map(deep_type, items))


def _entry_types(table: Mapping[Any, object]) -> frozenset[TypeForm]:
    return frozenset((key, deep_type(key), deep_type(each)) for key, each in table.items())
