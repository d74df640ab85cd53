"""Reads constants from the code of a function or an operator.

Faults often hide behind a number that the code mentions: a buffer that is full at 6 elements, a weight that is capped
at 9. The checks use these constants as elements, as input sizes and as weights.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from itertools import islice
from typing import Any

from flo.core.code_uses import codes_in
from flo.core.errors import is_users

WRAPPERS = (staticmethod, classmethod, property, cached_property)
MOST_CONSTANTS = 24
"""How many constants of one function are used as elements."""
MOST_MEMBERS = 8
"""How many members of a container are read."""
DEPTH = 2
"""How deep calls and containers are followed."""


def constants(function: Any) -> list[Any]:
    """Numbers and strings that the function mentions, and the numbers next to them: where a branch may change."""
    tried: dict[tuple[type, Any], None] = {}
    for value in islice(_mentioned(function, DEPTH), MOST_CONSTANTS):
        tried.update(((type(each), each), None) for each in neighbours(value))
    return [value for _, value in islice(tried, MOST_CONSTANTS)]


def integers(item: object) -> list[int]:
    """All integers that a function mentions, or that a plain value holds."""
    values = [*_mentioned(item, DEPTH), *_members(item, DEPTH)]
    return list(dict.fromkeys(value for value in values if type(value) is int))


LARGEST = 256
"""Inputs of more elements are not made."""
LEAST = 4
"""All smaller inputs are tried anyway."""
LADDER = (32, 128)
"""Sizes that are always tried, whether the code mentions them or not."""
MOST_SIZES = 16
"""How many integers of the code are tried as sizes, with their neighbours and doubles."""


def sizes(mentioned: Iterable[int], ladder: Iterable[int] = LADDER) -> list[int]:
    """Sizes of larger inputs: the integers in the code, those next to them, their doubles, and the ladder."""
    small = sorted({abs(each) for each in mentioned if LEAST - 1 <= abs(each) <= LARGEST})[:MOST_SIZES]
    near = {each + step for each in small for step in (-1, 0, 1)}
    return sorted(size for size in {*near, *(2 * each for each in small), *ladder} if LEAST <= size <= LARGEST)


def neighbours(value: object) -> list[Any]:
    """A number and those next to it, or a string; nothing of other values."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value, value - 1, value + 1] if math.isfinite(value) else []
    return [value] if isinstance(value, str) else []


def _mentioned(function: Any, depth: int) -> Iterator[Any]:
    """The values in its code, its defaults, its closure and its globals; and in the functions that it calls."""
    if isinstance(function, partial):
        yield from (*function.args, *function.keywords.values())
        function = function.func
    function = function_of(function)
    if function is None:
        return
    yield from (value for value in _literals(function.__code__) if value != function.__doc__)
    used = _used_values(function)
    for value in used:
        yield from _members(value, DEPTH)
    for each in _called(used) if depth else ():
        yield from _mentioned(each, depth - 1)


def _members(value: object, depth: int) -> Iterator[Any]:
    """A value; and the values in a container, an enumeration or a dataclass."""
    inside: Any = ()
    if isinstance(value, Enum):
        inside = (value.value,)
    elif isinstance(value, type) and issubclass(value, Enum):
        inside = (member.value for member in value)
    elif isinstance(value, Mapping):
        inside = (each for pair in value.items() for each in pair)
    elif isinstance(value, (tuple, list, set, frozenset)):
        inside = value
    elif is_dataclass(value) and not isinstance(value, type) and not type(value).__module__.startswith("flo."):
        inside = (getattr(value, field.name, None) for field in fields(value))
    yield value
    for each in islice(inside, MOST_MEMBERS) if depth else ():
        yield from _members(each, depth - 1)


def unwrap(item: object) -> Any:
    """The function of a method, a property and the like."""
    if isinstance(item, WRAPPERS):
        wrapped: Any = item
        return getattr(wrapped, "fget", None) or getattr(wrapped, "func", None) or getattr(wrapped, "__func__", None)
    return item


def function_of(item: object) -> Any:
    """The function behind a method, a partial or a decorator; None if there is none, or `@dataclass` wrote it."""
    item = item.func if isinstance(item, partial) else item
    item = unwrap(getattr(item, "__func__", item))
    item = inspect.unwrap(item) if callable(item) else None
    code = getattr(item, "__code__", None)
    return None if code is None or code.co_qualname.startswith("__create_fn__") else item


def inner_values(function: Any) -> list[Any]:
    """The values that a function uses beside its arguments: defaults, closure, and the globals that it names."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    named = [function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__]
    return [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *cells, *named]


def _used_values(function: Any) -> list[Any]:
    """Like `inner_values`, with named attributes of modules and classes, and globals of functions inside."""
    names = dict.fromkeys(name for code in codes_in(function.__code__) for name in code.co_names)
    named = [function.__globals__[name] for name in names if name in function.__globals__]
    spaces = [vars(each) for each in named if isinstance(each, (type, types.ModuleType))]
    values = [*inner_values(function), *named, *(space[name] for space in spaces for name in names if name in space)]
    return [value for place, value in enumerate(values) if not any(value is other for other in values[:place])]


def called_functions(function: Any) -> list[types.FunctionType]:
    """The user's functions that a function refers to."""
    return _called(_used_values(function))


def _called(values: list[Any]) -> list[types.FunctionType]:
    """The functions among them that the user wrote."""
    return [each for each in values if isinstance(each, types.FunctionType) and is_users(each.__code__.co_filename)]


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _literals(code: types.CodeType) -> Iterator[Any]:
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _literals(value)
        elif isinstance(value, (tuple, frozenset)):
            yield from value
        else:
            yield value
