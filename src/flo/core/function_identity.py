"""What makes two functions of two runs of a program the same: their name or code, and the values that they use.

    identify(function)   ->   Identity(name, label, line, code, captured, reads)

- A **named function** is its qualified name. Its code may change, and the identity says whether it has.
- A **lambda** is its code.
- The values that a lambda or a local function **captures** are a part of it: closures, defaults, the arguments of a
  `functools.partial`, and what a method reads of its instance.
- What the code **reads** besides is recorded, too: constants of its module, and the code of the functions of the same
  program that it calls.

Code is compared as a syntax tree, without positions, comments, docstrings and annotations, so that it does not depend
on the version of Python. Without a source it is compared as bytecode, and only with bytecode of the same version. What
cannot be compared counts as unchanged: an unchanged function is never taken for a changed one.

A value that is not data, such as a connection, counts by its class. A value that the code itself changes, such as a
cache, counts by its class, too.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import functools
import hashlib
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from operator import attrgetter, itemgetter, methodcaller
from pathlib import Path, PurePath
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from flo.core.errors import PACKAGE, is_of_python, is_users
from flo.core.labels import label, source_of

SOURCE, BYTECODE = "source", "bytecode"
DEEP = 8
"""How deep values within values are looked at."""
_SHOWN = (type(None), bool, int, float, complex, Decimal, Fraction, date, datetime, time, timedelta)
"""The types of values that are recorded as they are. Others may be long or secret: of them, a digest is recorded."""
_TEXTS = (*_SHOWN, str, bytes, range, UUID, PurePath, ZoneInfo)
_CHANGING = frozenset(
    {name for kind in (list, set, dict, deque, Counter, bytearray) for name in dir(kind) if not name.startswith("_")}
    - {name for kind in (tuple, frozenset, MappingProxyType, bytes) for name in dir(kind)}
    - {"elements", "most_common", "total", "maxlen"}
    | {"heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "shuffle", "setattr"}
)
"""Names of methods and functions that change their argument."""
_STORES = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "DELETE_ATTR")
_ASSIGNS = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR")
_IGNORED_FIELDS = frozenset({"ctx", "type_comment", "kind", "annotation", "returns", "decorator_list", "type_params"})

Values: TypeAlias = tuple[tuple[str, str], ...]
"""Values by name, as text: a short value itself, or its class and a digest."""


@dataclasses.dataclass(frozen=True)
class Identity:
    """What identifies a function from one run of a program to the next."""

    name: str
    """The qualified name; empty for a lambda."""
    label: str
    """How messages name it: its name, or the text of a lambda."""
    line: str
    """Where it is defined, such as `shops.py:12`."""
    code: str
    """A digest of its code, or nothing."""
    captured: Values
    """The values that belong to it: those that a lambda or a local function captures."""
    reads: Values
    """The other values and functions that its code uses."""


def identify(function: Any) -> Identity:
    """Return the identity of a function: the user's, not one of Flo that stands for it."""
    return _read(_unwrap(function))


def has_other_code(one: str, other: str) -> bool:
    """Return whether two digests of code show a difference. Digests of two kinds, or no digest, do not."""
    kinds = [digest.rpartition(":")[0] for digest in (one, other)]
    return one != other and kinds[0] == kinds[1]


def changed_values(before: Values, after: Values) -> Iterator[tuple[str, str, str]]:
    """Yield each value that is different, or is only in one of them: its name, what it was, and what it is."""
    old, new = dict(before), dict(after)
    for name in dict.fromkeys((*old, *new)):
        was, now = old.get(name, "nothing"), new.get(name, "nothing")
        both_code = all(text.startswith((f"{SOURCE}:", f"{BYTECODE}:")) for text in (was, now))
        if has_other_code(was, now) if both_code else was != now:
            yield name, was, now


def digest_code(code: CodeType) -> str:
    """Return a digest of the code of a function, as `source:…` or `bytecode:3.12:…`; nothing for Flo's and Python's."""
    if code.co_filename.startswith(PACKAGE) or is_of_python(code.co_filename):
        return ""
    tree = source_of(code)
    if tree is not None:
        return f"{SOURCE}:{_digest(_tree_text(tree, outermost=True))}"
    version = ".".join(map(str, sys.version_info[:2]))
    return f"{BYTECODE}:{version}:{_digest(_bytecode_text(code))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _tree_text(node: Any, *, outermost: bool = False) -> str:
    """Return the syntax tree as a text that is the same in all versions of Python."""
    if isinstance(node, list):
        return f"[{','.join(map(_tree_text, node))}]"
    if not isinstance(node, ast.AST):
        return f"{type(node).__name__}:{node!r}"
    parts = []
    for name, value in ast.iter_fields(node):
        if name in _IGNORED_FIELDS or value is None or value == []:
            continue
        if name == "name" and outermost:  # that of a function is compared apart
            continue
        if name == "body" and isinstance(value, list):
            value = _without_docstring(node, value)
        parts.append(f"{name}={_tree_text(value)}")
    return f"{type(node).__name__}({','.join(parts)})"


def _without_docstring(node: ast.AST, body: list[Any]) -> list[Any]:
    documented = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    match body:
        case [ast.Expr(ast.Constant(str())), *rest] if documented:
            return rest
    return body


def _bytecode_text(code: CodeType) -> str:
    consts = [_bytecode_text(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_varnames} {code.co_freevars} {code.co_names} {consts} {code.co_code.hex()}"


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those within it: of comprehensions, lambdas and local functions."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


@dataclasses.dataclass
class _Uses:
    """The names that the code of a function uses."""

    globals: dict[str, set[str]] = dataclasses.field(default_factory=dict)
    """Names of the module that are read, each with the attributes that are read of it."""
    attributes: set[str] = dataclasses.field(default_factory=set)
    """All attributes that are read."""
    assigned: set[str] = dataclasses.field(default_factory=set)
    """Names of the module and of enclosing functions, and attributes, that the code assigns."""
    changes: bool = False
    """Whether the code may change an object that it was not given."""

    def add(self, code: CodeType) -> None:
        for each in _codes(code):
            last = None
            for step in dis.get_instructions(each):
                if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    last = self.globals.setdefault(str(step.argval), set())
                    self.changes |= step.argval in _CHANGING
                    continue
                if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                    self.attributes.add(str(step.argval))
                    self.changes |= step.argval in _CHANGING
                    if last is not None:
                        last.add(str(step.argval))
                elif step.opname in _ASSIGNS:
                    self.assigned.add(str(step.argval))
                self.changes |= step.opname in _STORES
                last = None


class _Code:
    """A function and the functions of the same program that it uses: their code, and the values that they use."""

    def __init__(self, function: FunctionType, instance: Any) -> None:
        self.function, self.instance = function, instance
        self.uses = _Uses()
        self.functions: dict[int, FunctionType] = {}
        """All of them by their identity in memory, this function first."""
        waiting = [function]
        while waiting:
            each = waiting.pop()
            if id(each) in self.functions:
                continue
            self.functions[id(each)] = each
            self.uses.add(each.__code__)
            for value in (*_captured_by(each).values(), *_globals_of(each).values(), *self._methods()):
                waiting += [found for found in _functions_in(value) if self._is_own(found)]

    def _is_own(self, function: FunctionType) -> bool:
        """Whether it belongs to the same program, not to a library."""
        package, other = (str(each.__module__).partition(".")[0] for each in (self.function, function))
        return package == other or is_users(function.__code__.co_filename)

    def _methods(self) -> Iterator[Any]:
        """Yield the methods of the instance whose names the code uses."""
        for name in self.uses.attributes if self.instance is not None else ():
            for kind in type(self.instance).__mro__:
                yield vars(kind).get(name)

    def captured(self) -> dict[str, Any]:
        """Return the values that the function captures: closures, defaults, and what it reads of its instance."""
        values = _captured_by(self.function)
        if self.instance is not None:
            held = self._kept(_attributes_of(self.instance))
            values |= {f"self.{name}": value for name, value in held.items() if name in self.uses.attributes}
        return self._kept(values)

    def globals(self) -> dict[str, Any]:
        """Return the constants of modules that the function reads."""
        return self._kept(_globals_of(self.function))

    def others(self) -> Iterator[tuple[FunctionType, dict[str, Any], dict[str, Any]]]:
        """Yield the other functions, each with the values that it captures and the constants that it reads."""
        for each in list(self.functions.values())[1:]:
            yield each, self._kept(_captured_by(each)), self._kept(_globals_of(each))

    def _kept(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name not in self.uses.assigned}


def _read(function: Any) -> Identity:
    captured: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        captured = {**_numbered(function.args), **function.keywords, **captured}
        function = _unwrap(function.func)
    plain, instance = _plain_function(function)
    if plain is None:
        text = getattr(function, "text", None) if _is_flos(type(function)) else None  # of a column expression
        name = text or getattr(function, "__qualname__", None) or type(function).__qualname__
        if isinstance(function, (itemgetter, attrgetter, methodcaller)):
            captured |= _numbered(tuple(function.__reduce__()[1]))
        elif instance is not None:
            captured["self"] = instance
        return Identity(str(name), label(function), "", "", _texts(captured, _Uses()), ())
    name, code = _name_of(function, plain), _Code(plain, instance)
    belongs = not name or "<locals>" in name or instance is not None
    captured |= code.captured() if belongs else {}
    reads = dict(_texts(code.globals() if belongs else code.globals() | code.captured(), code.uses))
    for other, values, constants in code.others():
        called = label(other)
        reads[f"{called}(…)"] = digest_code(other.__code__)
        named = {f"{each} in {called}": value for each, value in values.items()}
        if belongs and "<locals>" in other.__qualname__:
            captured |= named
        else:
            reads |= _texts(named, code.uses)
        reads |= _texts({f"{each} in {called}": value for each, value in constants.items()}, code.uses)
    line = f"{Path(plain.__code__.co_filename).name}:{plain.__code__.co_firstlineno}"
    texts = _texts(captured, code.uses)
    return Identity(name, label(plain), line, digest_code(plain.__code__), texts, tuple(sorted(reads.items())))


def _numbered(arguments: tuple[Any, ...]) -> dict[str, Any]:
    return {f"argument {number}": each for number, each in enumerate(arguments, 1)}


def _is_flos(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "flo"


def _unwrap(function: Any) -> Any:
    """Return the user's function that another function stands for: of Flo, or of a cache around it."""
    while True:
        if isinstance(function, functools._lru_cache_wrapper):
            function = function.__wrapped__
        elif getattr(function, "stands_for", None) is not None:
            function = function.stands_for
        else:
            return function


def _plain_function(function: Any) -> tuple[FunctionType | None, Any]:
    """Return the function in Python that is called, if there is one, and the instance that it is called on."""
    if isinstance(function, FunctionType):
        return function, None
    if isinstance(function, MethodType):
        called = _unwrap(function.__func__)
        on = None if isinstance(function.__self__, type) else function.__self__
        return (called if isinstance(called, FunctionType) else None), on
    if isinstance(function, BuiltinFunctionType):
        of = getattr(function, "__self__", None)
        return None, None if isinstance(of, (ModuleType, type)) else of
    called = None if isinstance(function, type) else _unwrap(type(function).__call__)
    users = isinstance(called, FunctionType) and not _is_flos(type(function))
    return (called, function) if users else (None, None)


def _name_of(function: Any, plain: FunctionType) -> str:
    """Return the qualified name; nothing for a lambda."""
    if not isinstance(function, (FunctionType, MethodType)):
        return str(type(function).__qualname__)
    return "" if plain.__qualname__.endswith("<lambda>") else plain.__qualname__


def _captured_by(function: FunctionType) -> dict[str, Any]:
    """Return the closure and the defaults of a function."""
    code, captured = function.__code__, {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            captured[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    defaults = function.__defaults__ or ()
    parameters = code.co_varnames[: code.co_argcount]
    captured |= dict(zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True))
    return captured | (function.__kwdefaults__ or {})


def _globals_of(function: FunctionType) -> dict[str, Any]:
    """Return the values that a function reads from its module, and from modules of the same program."""
    uses, values = _Uses(), {}
    uses.add(function.__code__)
    for name, attributes in uses.globals.items():
        if name not in function.__globals__:  # built in, or not assigned yet
            continue
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            values[name] = value
        elif is_users(getattr(value, "__file__", None)):
            known = vars(value)
            values |= {f"{name}.{each}": known[each] for each in sorted(attributes) if each in known}
    return values


def used_objects(function: FunctionType) -> list[Any]:
    """Return the objects that the code of a function refers to, by a name of its module or of an enclosing function."""
    return [*_captured_by(function).values(), *_globals_of(function).values()]


def _attributes_of(item: Any) -> dict[str, Any]:
    """Return what an instance holds, by name."""
    slots = (name for kind in type(item).__mro__ for name in _slots_of(kind))
    held = {name: getattr(item, name) for name in slots if hasattr(item, name)}
    return held | getattr(item, "__dict__", {})


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _functions_in(value: Any, deep: int = DEEP) -> Iterator[FunctionType]:
    """Yield the functions in Python that a value is, or has in it."""
    value = _unwrap(value)
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, FunctionType):
        yield value
    elif deep and isinstance(value, functools.partial):
        yield from _functions_in((value.func, *value.args, *value.keywords.values()), deep - 1)
    elif isinstance(value, MethodType):
        yield from _functions_in(value.__func__)
    elif deep and isinstance(value, Mapping):
        for each in list(value.values()):
            yield from _functions_in(each, deep - 1)
    elif deep and isinstance(value, (tuple, list, Set)):
        for each in list(value):
            yield from _functions_in(each, deep - 1)


def _texts(values: Mapping[str, Any], uses: _Uses) -> Values:
    """Return values as texts, in the order of their names: a short one itself, of others the class and a digest."""
    texts = []
    for name, value in sorted(values.items()):
        kind, text = type(value).__qualname__, _value_text(value, uses, DEEP)
        if isinstance(value, _SHOWN) and not isinstance(value, Enum):
            text = repr(value)
        elif text == f"<{kind}>":
            text = kind
        else:
            text = f"{kind} {_digest(text)}"
        texts.append((name, text))
    return tuple(texts)


def _value_text(value: Any, uses: _Uses, deep: int) -> str:
    """Return a text that is equal for equal data, in any process. What is not data, or may change, is its class."""
    kind = type(value)
    name = kind.__qualname__

    def texts_of(items: Any) -> list[str]:
        return [_value_text(each, uses, deep - 1) for each in items]

    if not deep:
        return f"<{name}>"
    if isinstance(value, Enum):
        return f"{name}.{value.name}"
    if isinstance(value, _TEXTS):
        return f"{name}:{value!r}"
    if isinstance(value, tuple):
        return f"{name}({','.join(texts_of(value))})"
    if isinstance(value, frozenset):
        return f"{name}({','.join(sorted(texts_of(value)))})"
    if isinstance(value, re.Pattern):
        return f"{name}({value.pattern!r},{value.flags})"
    if isinstance(value, (type, ModuleType)):
        return f"{name}:{getattr(value, '__qualname__', value.__name__)}"
    if isinstance(value, functools.partial):
        return f"{name}({','.join(texts_of((value.func, value.args, tuple(sorted(value.keywords.items())))))})"
    if isinstance(value, (FunctionType, MethodType, BuiltinFunctionType, functools._lru_cache_wrapper)):
        return f"function:{value.__qualname__}"
    if dataclasses.is_dataclass(value) and (kind.__dataclass_params__.frozen or not uses.changes):
        return f"{name}({','.join(texts_of(getattr(value, field.name, None) for field in dataclasses.fields(value)))})"
    return f"<{name}>" if uses.changes else _changeable_text(value, uses, texts_of) or f"<{name}>"


def _changeable_text(value: Any, uses: _Uses, texts_of: Callable[[Any], list[str]]) -> str | None:
    """Return the text of an object that can change, and that the code does not change; None if it is not data."""
    name, kind = type(value).__qualname__, type(value)
    if isinstance(value, (list, bytearray)):
        return f"{name}[{','.join(texts_of(value))}]"
    if isinstance(value, set):
        return f"{name}{{{','.join(sorted(texts_of(value)))}}}"
    if isinstance(value, dict):
        pairs = zip(texts_of(value), texts_of(value.values()), strict=True)
        return f"{name}{{{','.join(sorted(f'{key}:{each}' for key, each in pairs))}}}"
    if kind.__module__ == "numpy" and hasattr(value, "tobytes"):
        return f"{name}({value.dtype},{value.shape},{value.tobytes().hex()})"
    if is_users(getattr(sys.modules.get(kind.__module__), "__file__", None)):  # what the code reads of an instance
        held = sorted((each, item) for each, item in _attributes_of(value).items() if each in uses.attributes)
        return f"{name}({','.join(each for each, _ in held)};{','.join(texts_of(item for _, item in held))})"
    return None
