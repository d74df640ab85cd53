"""Lowering and lifting of plain Python data, the content of elements and operator states.

A term has the name of a class, never the class. Lifting only finds classes that the running program has already loaded,
and only dataclasses, named tuples and enums. It builds their instances without calling any of their code.

The module of a class may differ from one process to the next: a script is `__main__` when it is run, has its own name
when it is imported, and a task of Spark gets its classes with the program. So the classes that a program uses are
remembered (`remember_classes`), and are found without the name of their module, too.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID
from zoneinfo import ZoneInfo

from flo.core.errors import CheckpointError
from flo.core.term import Call, Lowering, Term, register, register_data
from flo.core.untyped import TypeForm
from flo.core.used_values import used_objects

_known: dict[str, type] = {}
"""Classes that this program has named in a type or has lowered. They need not be importable."""
_without_module: dict[str, type | None] = {}
"""The same by their names alone; None if two modules have a class of that name."""
_own_classes: ContextVar[Mapping[str, type | None]] = ContextVar("_own_classes", default=MappingProxyType({}))
"""The classes of the part of a program whose state is being lifted."""
NAME = "_name_in_states"
"""The attribute with the name of a class that Flo makes. A task of Spark gets the class without its qualified name."""


def canonical_text(item: object) -> str:
    """Return a text that is equal for equal data, regardless of the insertion order of sets and maps."""
    return repr(Lowering()(item))


def _sorted(terms: tuple[object, ...]) -> tuple[Any, ...]:
    return tuple(sorted(terms, key=repr))


def class_name(kind: type) -> str:
    """Return `module:qualname`, and remember the class for `find_class`."""
    name = f"{kind.__module__}:{vars(kind).get(NAME, kind.__qualname__)}"
    if _known.get(name) is not kind:
        remember_class(kind, name)
    return name


def remember_class(kind: type, name: str) -> None:
    """Let states call a class by this name, in any module."""
    _known[name] = kind
    own = _own_name(name)
    other = _without_module.get(own, kind)
    _without_module[own] = kind if other is not None and other.__module__ == kind.__module__ else None


def _own_name(name: str) -> str:
    """Return the name of a class without its module, and without the class or function that it is defined in."""
    return name.rpartition(":")[2].rpartition(".")[2]


@contextmanager
def within_classes(classes: Mapping[str, type | None]) -> Iterator[None]:
    """Within this context, `find_class` takes these classes first: those of the part that a state belongs to."""
    token = _own_classes.set(classes)
    try:
        yield
    finally:
        _own_classes.reset(token)


def remember_classes(items: Iterable[Any]) -> dict[str, type | None]:
    """Remember the classes in types, collections, operators and functions of a program, for `find_class`.

    Return them by the names that they have in any module; None for a name that two of them have.
    """
    waiting, seen = list(items), set()
    own: dict[str, type | None] = {}
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (str, bytes, int, float)) or item is None:
            continue
        seen.add(id(item))
        if isinstance(item, (tuple, list, frozenset)):
            waiting += item
        elif isinstance(item, FunctionType):
            waiting += [each for each in used_objects(item) if isinstance(each, (type, FunctionType))]
        elif isinstance(item, type) and not get_args(item):
            if issubclass(item, Enum) or hasattr(item, "_fields") or dataclasses.is_dataclass(item):
                name = _own_name(class_name(item))
                own[name] = item if own.get(name, item) is item else None
                waiting += _field_types(item)
        elif get_args(item):
            waiting += [get_origin(item), *get_args(item)]
        elif dataclasses.is_dataclass(item):
            waiting += [getattr(item, field.name, None) for field in dataclasses.fields(item)]
        elif type(item).__module__.partition(".")[0] == "flo":  # a collection, or a function made of columns
            waiting += getattr(item, "__dict__", {}).values()
    return own


def _field_types(kind: type) -> list[TypeForm]:
    try:
        return list(get_type_hints(kind).values())
    except Exception:  # a name that cannot be resolved: its class is not known by its type
        return list(getattr(kind, "__annotations__", {}).values())


def find_class(name: str) -> Any:
    """Return the class of that name if the program has loaded it. Imports nothing."""
    own = _own_classes.get().get(_own_name(name))
    if own is not None:
        return own
    module, _, path = name.partition(":")
    item: Any = sys.modules.get(module)
    for part in path.split("."):
        item = vars(item).get(part) if isinstance(item, (ModuleType, type)) else None
    item = item if isinstance(item, type) else _known.get(name) or _without_module.get(_own_name(name))
    if item is None:
        raise CheckpointError(
            f"the state has values of the class `{name}`, which this program has not loaded",
            instead=(("import the module that defines it", "before lifting the state"),),
        )
    return item


def _lower_object(item: Any, lower: Lowering) -> Term:
    kind = type(item)
    if isinstance(item, Enum) and item.name in kind.__members__:  # a combination of flags is not a member
        return Call("enum", (class_name(kind), item.name))
    if isinstance(item, tuple) and hasattr(kind, "_fields"):
        return Call("namedtuple", (class_name(kind), lower.many(tuple(item))))
    if dataclasses.is_dataclass(item):
        parts = tuple(lower(getattr(item, field.name)) for field in dataclasses.fields(item))
        return Call("data", (class_name(kind), parts))
    raise CheckpointError(
        f"cannot serialize a value of type {kind.__name__}",
        facts=(("value", repr(item)[:80]),),
        instead=(("a dataclass, NamedTuple, Enum or built-in type", "all of whose fields can be serialized"),),
    )


def _lift_enum(name: str, member: str) -> Any:
    members = vars(find_class(name)).get("_member_map_", {})
    if member not in members:
        raise CheckpointError(f"`{name}` has no member {member!r}")
    return members[member]


def _lift_namedtuple(name: str, parts: tuple[object, ...]) -> Any:
    kind = find_class(name)
    if not issubclass(kind, tuple) or len(getattr(kind, "_fields", ())) != len(parts):
        raise CheckpointError(f"`{name}` is not a named tuple with {len(parts)} fields")
    return tuple.__new__(kind, parts)


def _lift_dataclass(name: str, parts: tuple[object, ...]) -> Any:
    kind: TypeForm = find_class(name)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    if not dataclasses.is_dataclass(kind) or len(fields) != len(parts):
        raise CheckpointError(f"`{name}` is not a dataclass with {len(parts)} fields")
    item: Any = object.__new__(kind)  # type: ignore[arg-type]
    for field, part in zip(fields, parts, strict=True):
        object.__setattr__(item, field.name, part)
    return item


def _lower_map(item: Any, lower: Lowering) -> Term:
    return Call(type(item).__name__, (tuple((lower(key), lower(value)) for key, value in item.items()),))


def _lower_moment(item: datetime | time, lower: Lowering) -> Term:
    """Lower a datetime or a time together with its zone name or its offset."""
    if not (item.tzinfo is None or isinstance(item.tzinfo, (ZoneInfo, timezone))):
        raise CheckpointError(
            f"cannot serialize a time zone of type {type(item.tzinfo).__name__}",
            instead=(("zoneinfo.ZoneInfo or datetime.timezone", ""),),
        )
    zone = item.tzinfo.key if isinstance(item.tzinfo, ZoneInfo) else None
    text = item.replace(tzinfo=None).isoformat() if zone else item.isoformat()
    return Call(type(item).__name__, (text, zone, item.fold))


def _lift_time(text: str, zone: str | None, fold: int) -> time:
    moment = time.fromisoformat(text).replace(fold=fold)
    return moment.replace(tzinfo=ZoneInfo(zone)) if zone else moment


def _lift_datetime(text: str, zone: str | None, fold: int) -> datetime:
    moment = datetime.fromisoformat(text).replace(fold=fold)
    return moment.replace(tzinfo=ZoneInfo(zone)) if zone else moment


register_data(object, "data", _lower_object, _lift_dataclass)
register("enum", _lift_enum)
register("namedtuple", _lift_namedtuple)
register_data(list, "list", lambda item, lower: Call("list", (lower.many(item),)), list)
register_data(set, "set", lambda item, lower: Call("set", (_sorted(lower.many(tuple(item))),)), set)
register_data(
    frozenset, "frozenset", lambda item, lower: Call("frozenset", (_sorted(lower.many(tuple(item))),)), frozenset
)
register_data(dict, "dict", _lower_map, dict)
register_data(Counter, "Counter", _lower_map, lambda items: Counter(dict(items)))
register_data(bytes, "bytes", lambda item, lower: Call("bytes", (item.hex(),)), bytes.fromhex)
register_data(Decimal, "Decimal", lambda item, lower: Call("Decimal", (str(item),)), Decimal)
register_data(Fraction, "Fraction", lambda item, lower: Call("Fraction", (item.numerator, item.denominator)), Fraction)
register_data(complex, "complex", lambda item, lower: Call("complex", (item.real, item.imag)), complex)
register_data(UUID, "UUID", lambda item, lower: Call("UUID", (str(item),)), UUID)
register_data(date, "date", lambda item, lower: Call("date", (item.isoformat(),)), date.fromisoformat)
register_data(time, "time", _lower_moment, _lift_time)
register_data(datetime, "datetime", _lower_moment, _lift_datetime)
register_data(
    timedelta,
    "timedelta",
    lambda item, lower: Call("timedelta", (item.days, item.seconds, item.microseconds)),
    timedelta,
)
register_data(timezone, "timezone", lambda item, lower: Call("timezone", (lower(item.utcoffset(None)),)), timezone)
