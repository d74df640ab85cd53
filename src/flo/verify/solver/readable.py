"""What traced functions may read and call: constants, functions that are seen when called, and a few built-in ones."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import operator
import types
import typing
from enum import Enum
from fractions import Fraction
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeVar

from flo.verify.data.examples import unwrapped
from flo.verify.solver.paths import Path
from flo.verify.solver.symbolic import Symbol

_OPERATORS = (
    "add sub mul truediv floordiv mod neg pos abs pow and_ or_ xor eq ne lt le gt ge not_ truth contains getitem"
)
_FUNCTIONS = [max, min, abs, sum, any, all, len, pow, callable, functools.reduce, tuple.__new__]
_FUNCTIONS += [getattr(operator, name) for name in _OPERATORS.split()]
_CLASSES = [bool, int, float, str, tuple, list, frozenset, zip, map, enumerate, range, reversed, Fraction]
_CLASSES += [operator.itemgetter, object, type(None), Any]
_PLAIN = (int, bool, float, str, bytes, Fraction, type(None), type(...), type(NotImplemented))
_DESCRIPTORS: tuple[Any, ...] = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.DynamicClassAttribute,
    type(vars(collections.namedtuple("_Pair", "one other"))["one"]),
)
_STANDARD = ("builtins", "abc", "enum", "typing")


class Readable:
    """What was found harmless on one path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fine: dict[int, Any] = {}

    def check(self, value: Any, shown: str) -> None:
        """Refuses what a function may read or call, if it is no constant and not known to be harmless."""
        kind = type(value)
        if kind in _PLAIN or isinstance(value, Symbol) or id(value) in self.fine:
            return
        self.fine[id(value)] = value  # kept, so that no other gets its place
        for part in self._parts(value, kind, shown):
            self.check(part, shown)

    def _parts(self, value: Any, kind: type, shown: str) -> list[Any]:
        """What must be harmless for the value to be so."""
        if isinstance(value, BuiltinFunctionType) or kind is types.MethodWrapperType:
            if value not in _FUNCTIONS and getattr(value, "__self__", None) is not math:
                self.path.refuse(f"it calls {_named(value)}, which cannot be traced")
            if getattr(value, "__name__", "") in ("sum", "sumprod") and self.path.question.floats:
                self.path.refuse("a sum of floats cannot be traced: newer Pythons round it otherwise than +")
            return []
        if isinstance(value, type):
            return self._class_parts(value)
        if isinstance(value, Enum):
            return [kind]
        if kind in (tuple, frozenset):
            return list(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return [kind, *value]
        if kind is FunctionType:
            return list(vars(value).values())
        if kind is MethodType:
            return [value.__self__, value.__func__]
        if kind is functools.partial:
            return [value.func, *value.args, *value.keywords.values()]
        if dataclasses.is_dataclass(value):
            return [kind, *self._fields(value)]
        if typing.get_origin(value) is None and kind not in (operator.itemgetter, TypeVar):
            self.path.refuse(f"`{shown}`, a {kind.__name__}, may change or cannot be traced")
        return []

    def _fields(self, value: Any) -> list[Any]:
        if not value.__dataclass_params__.frozen or isinstance(value, (list, dict, set, bytearray)):
            self.path.refuse(f"a {type(value).__name__} can change: it is no frozen data class")
        names = [field.name for field in dataclasses.fields(value)]
        return [*(getattr(value, name, None) for name in names), *getattr(value, "__dict__", {}).values()]

    def _class_parts(self, kind: type) -> list[Any]:
        """What the class holds for its objects: methods are seen when they are called, other objects are not."""
        if kind in _CLASSES:
            return []
        if not issubclass(kind, (Enum, BaseException)) and not _has_fields(kind):
            self.path.refuse(f"it uses {_named(kind)}, which cannot be traced")
        parts = []
        for field in getattr(kind, "__dataclass_fields__", {}).values():
            parts += [each for each in (field.default, field.default_factory) if each is not dataclasses.MISSING]
        for each in kind.__mro__:
            if each.__module__ not in _STANDARD:
                parts += [item for name, item in vars(each).items() if not _internal(name)]
        return [part for part in map(unwrapped, parts) if not isinstance(part, _DESCRIPTORS)]


def _has_fields(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _internal(name: str) -> bool:
    """Names that Python itself puts into classes; traced functions do not read those with two underscores."""
    return name.startswith("__") or (name[0] == name[-1] == "_") or name in ("_abc_impl", "_field_defaults")


def _named(value: Any) -> str:
    return f"{value.__module__ or 'builtins'}.{value.__qualname__}".removeprefix("builtins.")
