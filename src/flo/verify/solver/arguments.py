"""Makes symbols for the values of a Python type, and turns them back into plain values."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from enum import Enum, Flag
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal, get_args, get_origin

from flo.core.elements import type_name
from flo.core.untyped import TypeForm
from flo.verify.solver.paths import Path, Untraceable
from flo.verify.solver.symbolic import Symbol
from flo.verify.solver.symbolic_types import (
    FloatSymbol,
    FractionSymbol,
    IntSetSymbol,
    IntSymbol,
    StrSetSymbol,
    StrSymbol,
    WordSymbol,
)

DEEPEST = 6
MOST_MEMBERS = 4
MakeArgument = Callable[[Path], Any]

_SYMBOLS: dict[Any, type[Symbol]] = {
    int: IntSymbol,
    float: FloatSymbol,
    Fraction: FractionSymbol,
    str: StrSymbol,
    frozenset[int]: IntSetSymbol,
    frozenset[str]: StrSetSymbol,
}


class RejectedValue(Exception):
    """The class rejects such fields."""


def make_maker(kind: TypeForm, depth: int = DEEPEST) -> MakeArgument:
    """Return a function that makes symbols for all values of the type; a choice among cases forks the path."""
    origin, parts = get_origin(kind), get_args(kind)
    if depth == 0:
        raise Untraceable(f"values of {type_name(kind)} are nested too deeply")
    if origin is typing.Annotated:
        return make_maker(parts[0], depth)
    if kind in _SYMBOLS:
        return _SYMBOLS[kind].any
    cases = _cases(kind)
    if cases:
        return lambda path: path.choose(cases)
    if origin in (typing.Union, types.UnionType):
        makers = [make_maker(part, depth - 1) for part in parts]
        return lambda path: path.choose(makers)(path)
    if origin is tuple and ... not in parts:
        makers = [make_maker(part, depth - 1) for part in parts]
        return lambda path: tuple([make(path) for make in makers])
    if isinstance(kind, type) and (hasattr(kind, "_fields") or dataclasses.is_dataclass(kind)):
        return _object_maker(kind, depth)
    raise Untraceable(f"values of {type_name(kind)} cannot be traced")


def _cases(kind: TypeForm) -> list[Any]:
    """All values of a type that has few; empty for other types."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is bool:
        return [False, True]
    if kind in (None, type(None)):
        return [None]
    if origin is Literal:
        return list(parts)
    if isinstance(kind, type) and issubclass(kind, Enum) and not issubclass(kind, Flag):
        return list(kind)
    if origin is frozenset and len(_cases(parts[0])) in range(1, MOST_MEMBERS + 1):
        members = _cases(parts[0])
        return [frozenset(some) for size in range(len(members) + 1) for some in combinations(members, size)]
    return []


def _object_maker(kind: Any, depth: int) -> MakeArgument:
    if dataclasses.is_dataclass(kind):
        parameters: Any = getattr(kind, "__dataclass_params__", None)
        if not parameters.frozen or not parameters.init:
            raise Untraceable(f"a {type_name(kind)} is mutable or has its own __init__, so it cannot be traced")
        names = [field.name for field in dataclasses.fields(kind) if field.init]
    else:
        names = list(kind._fields)
    try:
        hints = typing.get_type_hints(kind)
    except Exception as error:
        raise Untraceable(f"the annotations of {kind.__name__} cannot be resolved") from error
    makers = {name: make_maker(hints.get(name, Any), depth - 1) for name in names}

    def make(path: Path) -> Any:
        fields = {name: make(path) for name, make in makers.items()}
        try:
            return kind(**fields)
        except Exception as error:
            raise RejectedValue from error

    return make


def fits(value: object, kind: TypeForm) -> bool:
    """Whether the value is of the type for all values of its symbols; False if unknown."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        return fits(value, parts[0])
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if isinstance(value, WordSymbol):
        return kind is str
    if isinstance(value, Symbol):
        return _SYMBOLS.get(kind) is type(value)
    if origin is tuple and ... not in parts:
        return type(value) is tuple and len(value) == len(parts) and all(map(fits, value, parts))
    if isinstance(kind, type) and (hasattr(kind, "_fields") or dataclasses.is_dataclass(kind)):
        hints = typing.get_type_hints(kind)
        return type(value) is kind and all(fits(getattr(value, name), hints[name]) for name in hints)
    if origin is Literal:
        return any(value is part for part in parts)
    if origin is frozenset:
        return type(value) is frozenset and all(fits(member, parts[0]) for member in value)
    return value is None if kind is None else type(value) is kind


def to_plain(value: object, model: object, constants: list[Any]) -> Any:
    """Replace the symbols in a value by the numbers, texts and sets of the model."""
    if isinstance(value, Symbol):
        return value.read(model, value.term, constants)
    if isinstance(value, tuple):
        items = [to_plain(item, model, constants) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return type(value)(**{name: to_plain(getattr(value, name), model, constants) for name in names})
    return value
