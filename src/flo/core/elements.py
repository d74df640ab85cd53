"""Membership of Python values in Python types: whether an element belongs to its stream's declared type."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, is_typeddict

from flo.core.type_relations import WIDENED, resolve_type

Test = Callable[[Any], bool]


def type_name(kind: Any) -> str:
    """Return the type as a user would write it."""
    if isinstance(kind, type) and not get_args(kind):
        return kind.__name__
    return str(kind).replace("typing.", "").replace("~", "")


def belongs(value: Any, kind: Any) -> bool:
    """Return whether the value belongs to the type."""
    return _test(kind)(value)


def find_mismatch(values: Iterable[Any], kind: Any) -> int | None:
    """Return the position of the first value that does not belong to the type; None if all belong."""
    if kind is Any or kind is object:
        return None
    values = values if isinstance(values, (list, tuple)) else list(values)
    if isinstance(kind, type) and not get_args(kind) and set(map(type, values)) <= {kind}:
        return None  # fast path without a Python loop
    test = _test(kind)
    return next((position for position, value in enumerate(values) if not test(value)), None)


def find_null(values: Iterable[Any], kind: Any) -> tuple[int, str, Any] | None:
    """Return where a row has None in a field that has none: its position, the field and its type; None if nowhere."""
    required = _required_fields(kind) if isinstance(kind, type) else ()
    if not required:
        return None
    named = issubclass(kind, tuple)
    for position, value in enumerate(values):
        if named and None not in value:
            continue
        for name, part in required:
            if getattr(value, name, 0) is None:
                return position, name, part
    return None


@lru_cache(maxsize=1024)
def _required_fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a row that do not accept None, with their types."""
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else ()
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
        names = names or getattr(kind, "_fields", ())
        return tuple((name, hints[name]) for name in names if name in hints and not belongs(None, hints[name]))
    except Exception:  # unresolvable annotations
        return ()


def returned_type(function: Any) -> Any:
    """Return the declared return type of a function; Any if it has none."""
    try:
        return _returned_type(function)
    except TypeError:  # a callable that cannot be hashed
        return Any


@lru_cache(maxsize=4096)
def _returned_type(function: Any) -> Any:
    if isinstance(function, type):
        return function
    if hasattr(function, "returns"):  # a function made of columns knows its type exactly
        return function.returns
    try:
        return typing.get_type_hints(function, include_extras=True).get("return", Any)
    except Exception:  # unresolvable annotations
        return Any


def _test(kind: Any) -> Test:
    kind = resolve_type(kind)
    try:
        return _cached_test(kind)
    except TypeError:  # an unhashable annotation
        return _make_test(kind)


def _make_test(kind: Any) -> Test:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or kind is object or isinstance(kind, (TypeVar, str)):
        return lambda value: True
    if origin in (Union, types.UnionType):
        tests = [_test(part) for part in parts]
        return lambda value: any(test(value) for test in tests)
    if origin is Literal:
        return lambda value: any(value == part and type(value) is type(part) for part in parts)
    if origin is tuple and parts:
        return _tuple_test(parts)
    if origin in (list, set, frozenset) and parts:
        outer, inner = origin, _test(parts[0])
        return lambda value: isinstance(value, outer) and all(map(inner, value))
    if origin is not None and isinstance(origin, type) and issubclass(origin, dict) and len(parts) == 2:
        keys, values, outer = _test(parts[0]), _test(parts[1]), origin
        return lambda value: isinstance(value, outer) and all(map(keys, value)) and all(map(values, value.values()))
    if is_typeddict(kind):
        fields = {name: _test(part) for name, part in typing.get_type_hints(kind).items()}
        return lambda value: (
            isinstance(value, dict)
            and kind.__required_keys__ <= value.keys() <= fields.keys()
            and all(fields[name](item) for name, item in value.items())
        )
    plain = origin or kind
    if not isinstance(plain, type):
        return lambda value: True
    if getattr(plain, "_is_protocol", False):
        return lambda value: True
    if plain in WIDENED:
        return lambda value: isinstance(value, (plain, *WIDENED[plain]))
    if dataclasses.is_dataclass(plain):
        return _dataclass_test(plain)
    return lambda value: isinstance(value, plain)


_cached_test = cache(_make_test)


def _tuple_test(parts: tuple[Any, ...]) -> Test:
    if len(parts) == 2 and parts[1] is ...:
        every = _test(parts[0])
        return lambda value: isinstance(value, tuple) and all(map(every, value))
    tests = [_test(part) for part in parts]
    count = 0 if parts == ((),) else len(tests)
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == count
        and all(test(item) for test, item in zip(tests, value, strict=False))
    )


def _dataclass_test(plain: type) -> Test:
    """Test for instances whose fields belong to their types. Unresolvable annotations accept anything."""
    try:
        hints = typing.get_type_hints(plain)
    except Exception:
        return lambda value: isinstance(value, plain)
    fields = [(field.name, hints[field.name]) for field in dataclasses.fields(plain)]

    def test(value: Any) -> bool:
        return isinstance(value, plain) and all(belongs(getattr(value, name, None), kind) for name, kind in fields)

    return test
