"""Membership of Python values in Python types: whether an element belongs to its stream's declared type."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable
from datetime import date, datetime
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, is_typeddict

from flo.core.type_names import row_fields
from flo.core.type_relations import WIDENED, alternatives, resolve_type
from flo.core.untyped import AnyFunction, TypeForm

Test = Callable[[Any], bool]


def belongs(value: object, kind: TypeForm) -> bool:
    """Return whether the value belongs to the type."""
    return _test(kind)(value)


def find_mismatch(values: Iterable[object], kind: TypeForm) -> int | None:
    """Return the position of the first value that does not belong to the type; None if all belong."""
    if kind is Any or kind is object:
        return None
    values = values if isinstance(values, (list, tuple)) else list(values)
    if isinstance(kind, type) and not get_args(kind) and set(map(type, values)) <= {kind}:
        return None  # fast path without a Python loop
    test = _test(kind)
    return next((position for position, value in enumerate(values) if not test(value)), None)


class Misfit(NamedTuple):
    """A value in a row that does not belong to the type of its field."""

    position: int
    field: str
    """For a row within the row: `who.age`."""
    kind: TypeForm
    value: Any


def find_misfit(rows: Iterable[object], kind: TypeForm) -> Misfit | None:
    """Return the first row that has a value of another type in one of its fields; None if all fit, or are no rows."""
    fields = row_fields(kind) if isinstance(kind, type) else ()
    if not fields:
        return None
    rows = rows if isinstance(rows, (list, tuple)) else list(rows)
    misfit: Misfit | None = None
    for name, part in fields:
        column = list(map(attrgetter(name), rows))
        if set(map(type, column)) <= _exact_types(part):
            continue  # fast path without a Python loop
        test = _test(part)
        position = next((place for place, value in enumerate(column) if not test(value)), None)
        if position is not None and (misfit is None or position < misfit.position):
            misfit = _innermost(Misfit(position, name, part, column[position]))
    return misfit


def _innermost(misfit: Misfit) -> Misfit:
    """Return where in a row within the row the value is that does not fit."""
    inner = find_misfit((misfit.value,), type(misfit.value)) if _has_class(misfit.value, misfit.kind) else None
    return misfit if inner is None else Misfit(misfit.position, f"{misfit.field}.{inner.field}", *inner[2:])


def _has_class(value: object, kind: TypeForm) -> bool:
    """Return whether the value is of the class of a type, or of one in a union, whatever its parts are."""
    return any(isinstance(part, type) and isinstance(value, part) for part in alternatives(kind))


def unhashable_field(kind: TypeForm) -> tuple[str, Any] | None:
    """Return the first field of a row type whose values cannot be hashed, with its type: a list, a dict or a set."""
    for name, part in row_fields(kind) if isinstance(kind, type) else ():
        for each in alternatives(part):
            if (get_origin(each) or each) in (list, dict, set):
                return name, part
    return None


@lru_cache(maxsize=1024)
def _exact_types(kind: Any) -> frozenset[type]:
    """Return classes whose direct instances all belong to a type, as far as that is known at once."""
    kind = resolve_type(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return frozenset().union(*map(_exact_types, get_args(kind)))
    plain = isinstance(kind, type) and not get_args(kind) and kind.__module__ in ("builtins", "datetime", "decimal")
    return frozenset({kind}) if plain else frozenset()


def returned_type(function: Any) -> TypeForm:
    """Return the declared return type of a function; Any if it has none."""
    try:
        return _returned_type(function)
    except TypeError:  # a callable that cannot be hashed
        return Any


@lru_cache(maxsize=4096)
def _returned_type(function: AnyFunction) -> TypeForm:
    if isinstance(function, type):
        return function
    if hasattr(function, "returns"):  # a function made of columns knows its type exactly
        return function.returns
    try:
        return typing.get_type_hints(function, include_extras=True).get("return", Any)
    except Exception:  # unresolvable annotations
        return Any


def _test(kind: TypeForm) -> Test:
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
    if plain is date:  # a column of dates has no place for the time of a datetime
        return lambda value: isinstance(value, date) and not isinstance(value, datetime)
    if not row_fields(plain):
        return lambda value: isinstance(value, plain)
    return lambda value: isinstance(value, plain) and find_misfit((value,), plain) is None


_cached_test = cache(_make_test)


def _tuple_test(parts: tuple[object, ...]) -> Test:
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
