"""A few representative values of every Python type, always the same ones.

`PLAIN` lists those of the built-in types; `examples` combines them for tuples, unions, dataclasses and so on.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import math
import types
import typing
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, is_typeddict
from uuid import UUID

from flo.core import type_relations
from flo.core.untyped import Element, TypeForm

# the first three go into tuples and dataclasses, so they must reveal most: a sum of floats depends on their order
PLAIN: dict[TypeForm, list[Element]] = {
    int: [0, 1, -1, 2, 3],
    float: [0.0, 0.1, 1.0, -0.5, 1e16],
    complex: [0j, 1 + 1j, -1j],
    str: ["", "a", "b", "ab"],
    bool: [False, True],
    bytes: [b"", b"a", b"b"],
    type(None): [None],
    Decimal: [Decimal("0.1"), Decimal("1E+28"), Decimal("-1E+28"), Decimal(0), Decimal("1.00")],
    Fraction: [Fraction(0), Fraction(1, 3), Fraction(-1, 2), Fraction(2)],
    date: [date(2024, 2, 29), date(1999, 12, 31), date(2024, 3, 1)],
    # without zones, as those with cannot be compared to these: a program has one or the other
    datetime: [datetime(2024, 2, 29, 12, 30), datetime(1999, 12, 31, 23, 59, 59, 999_999), datetime(2024, 3, 1)],
    time: [time(0), time(12, 30), time(23, 59, 59, 999_999)],
    timedelta: [timedelta(0), timedelta(seconds=1), timedelta(days=-1), timedelta(days=1, microseconds=1)],
    UUID: [UUID(int=0), UUID(int=1), UUID(int=2**128 - 1)],
    Any: [1, 2, 3],
    object: [1, 2, 3],
}
_ABSTRACT: dict[TypeForm, TypeForm] = {
    collections.abc.Sequence: tuple,
    collections.abc.Iterable: tuple,
    collections.abc.Collection: tuple,
    collections.abc.Set: frozenset,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
    collections.abc.MutableSequence: list,
}
MOST = 27
DEPTH = 4
"""How deep the parameters of types are followed: a type may contain itself."""
KnownExamples = Callable[[TypeForm], list[Element] | None]


def examples(kind: Any, known: KnownExamples = lambda kind: None, depth: int = DEPTH) -> list[Element]:
    """A few values of a type; none if the type does not say how to make them. `known` has those of some types."""
    own = known(kind)
    if own is None:
        own = _plain(kind)
    if own is not None or depth == 0:
        return list(own or [])

    def inside(part: object, most: int | None = None) -> list[Element]:
        return examples(part, known, depth - 1)[:most]

    kind = resolve_type(kind)
    origin, parts = split_type(kind)
    if origin in (Union, types.UnionType):
        return _alternating([inside(part) for part in parts])
    if origin is Literal:
        return list(parts)
    if origin is tuple:
        return _tuples(parts, inside)
    if origin in (list, set, frozenset):
        some = inside(parts[0]) if origin is list else list(filter(is_hashable, inside(parts[0])))
        return _different([origin(part) for part in ([], some[:1], some[1:2], some[:2], some[1:3])])
    if isinstance(origin, type) and issubclass(origin, dict) and len(parts) == 2:
        keys, items = list(filter(is_hashable, inside(parts[0]))), inside(parts[1])
        dicts = [{}, *({key: item} for key in keys[:2] for item in items[:2]), dict(zip(keys, items, strict=False))]
        return _different([each if origin is dict else origin(each) for each in dicts])
    if is_typeddict(kind):
        fields = {name: inside(part, 3) for name, part in typing.get_type_hints(kind).items()}
        whole = [dict(zip(fields, values, strict=True)) for values in combined(list(fields.values()))]
        least = [{name: each[name] for name in fields if name in kind.__required_keys__} for each in whole[:1]]
        return _different(whole + least)
    if isinstance(origin, type) and _plain(origin) is None:
        return _instances(origin, inside)
    return _plain(kind) or []


def _plain(kind: TypeForm) -> list[Element] | None:
    try:
        return PLAIN.get(kind)
    except TypeError:  # an annotation that cannot be hashed
        return None


def _different(values: list[Element]) -> list[Element]:
    return [value for place, value in enumerate(values) if value not in values[:place]]


def resolve_type(kind: TypeForm) -> TypeForm:
    """Return the type itself: of an `Annotated`, a `NewType`, a type variable or None."""
    kind = type_relations.resolve_type(kind)
    if isinstance(kind, typing.NewType):
        return resolve_type(kind.__supertype__)
    if isinstance(kind, TypeVar):
        return resolve_type(kind.__bound__ or (kind.__constraints__[0] if kind.__constraints__ else Any))
    return kind


def split_type(kind: TypeForm) -> tuple[TypeForm, tuple[TypeForm, ...]]:
    """Split a type into its origin and its parameters; missing parameters are Any."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    origin = _ABSTRACT.get(origin, origin) if isinstance(origin, type) else origin
    if origin is tuple and get_origin(kind) is not tuple:
        return tuple, (parts[0] if parts else Any, ...)
    if origin in (list, set, frozenset) and not parts:
        return origin, (Any,)
    if origin is dict and not parts:
        return origin, (Any, Any)
    return origin, parts


def named_fields(kind: type) -> dict[str, Any] | None:
    """The types of the fields that a named tuple or a dataclass is made of; None for other classes."""
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind)
        return {name: hints.get(name, Any) for name in kind._fields}
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}
    return None


def _instances(kind: type, inside: Callable[..., list[Element]]) -> list[Element]:
    if issubclass(kind, Enum):
        return list(kind)
    return make_rows(kind, lambda parts: combined([inside(part, 3) for part in parts]))


def make_rows(kind: type, combine: Callable[[Iterable[TypeForm]], Iterable[tuple[Element, ...]]]) -> list[Element]:
    """Make instances of a named tuple or a dataclass, with the values that `combine` chooses for the types of its
    fields; none of other classes."""
    try:
        fields = named_fields(kind)
    except Exception:  # annotations that cannot be resolved
        return []
    if fields is None:
        return []
    instances = []
    for chosen in combine(fields.values()):
        try:
            instances.append(kind(**dict(zip(fields, chosen, strict=True))))
        except Exception:  # values that the class refuses
            continue
    return instances


def _tuples(parts: tuple[object, ...], inside: Callable[..., list[Element]]) -> list[Element]:
    if parts in ((), ((),)):
        return [()]
    if parts[-1] is ...:
        some = inside(parts[0])
        return _different([(), *((item,) for item in some[:2]), tuple(some[:2]), tuple(some[1::-1])])
    return combined([inside(part, None if len(parts) == 1 else 3) for part in parts])


def combined(parts: list[list[Element]]) -> list[tuple[Element, ...]]:
    """Combine the values of the parts: all combinations, or a random selection if they are many."""
    if math.prod(map(len, parts)) <= MOST:
        return list(product(*parts))
    dice = Random(0)
    return _different([tuple(dice.choice(part) for part in parts) for _ in range(MOST)])


def _alternating(lists: list[list[Element]]) -> list[Element]:
    """The first of each list, then the second of each, and so on: so the first few are of every kind."""
    longest = max(map(len, lists), default=0)
    return [values[place] for place in range(longest) for values in lists if place < len(values)]


def is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return isinstance(value, collections.abc.Hashable)
