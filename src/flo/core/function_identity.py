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

A value that is not data, such as a connection, counts by its class. So does one that the code itself changes, such as a
cache. Of an object of the program, the attributes count that the code reads and does not assign.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import functools
import hashlib
import re
import sys
from argparse import Namespace
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Set
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
    NoneType,
    SimpleNamespace,
)
from typing import Any, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from flo.core.errors import is_of_python, is_users
from flo.core.labels import Uses, label, source_of, uses_of
from flo.core.tracebacks import PACKAGE

SOURCE, BYTECODE = "source", "bytecode"
DEEP = 8
"""How deep values within values are looked at."""
MANY = 1000
"""How many values within a value are looked at for their classes."""
_SHOWN = (type(None), bool, int, float, complex, Decimal, Fraction, date, datetime, time, timedelta)
"""The types of values that are recorded as they are. Others may be long or secret: of them, a digest is recorded."""
_TEXTS = (*_SHOWN, str, bytes, range, UUID, PurePath, ZoneInfo)
_PLAIN = frozenset({bool, int, float, str, bytes, type(None)})
"""The types that most values within values have: these are looked at first."""
_IGNORED_FIELDS = frozenset({"ctx", "type_comment", "kind", "annotation", "returns", "decorator_list", "type_params"})

ValueTexts: TypeAlias = tuple[tuple[str, str], ...]
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
    captured: ValueTexts
    """The values that belong to it: those that a lambda or a local function captures."""
    reads: ValueTexts
    """The other values and functions that its code uses."""

    def is_called(self, names: Collection[str]) -> bool:
        """Return whether one of these is its name, with or without the module and the class."""
        return bool(self.name) and (self.name in names or self.name.rpartition(".")[2] in names)


def identify(function: Any) -> Identity:
    """Return the identity of a function: the user's, not one of Flo that stands for it."""
    return _read(_unwrap(function))


def has_other_code(one: str, other: str) -> bool:
    """Return whether two digests of code show a difference. Digests of two kinds, or no digest, do not."""
    kinds = [digest.rpartition(":")[0] for digest in (one, other)]
    return one != other and kinds[0] == kinds[1]


def changed_values(before: ValueTexts, after: ValueTexts) -> Iterator[tuple[str, str, str]]:
    """Yield each value that is different, or is only in one of them: its name, what it was, and what it is."""
    old, new = dict(before), dict(after)
    for name in dict.fromkeys((*old, *new)):
        was, now = old.get(name, "nothing"), new.get(name, "nothing")
        if "nothing" in (was, now) and _is_of_other(name):  # it is not always known which functions are the program's
            continue
        both_code = all(text.startswith((f"{SOURCE}:", f"{BYTECODE}:")) for text in (was, now))
        if has_other_code(was, now) if both_code else was != now:
            yield name, was, now


def _is_of_other(name: str) -> bool:
    """Return whether a value is of a named function that is called, of a module, of a class or of an instance."""
    return bool(re.search(r"\(…\)$| in |\.", name)) and not name.startswith("lambda")


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
    """Return the instructions as a text that does not depend on docstrings, lines and the process."""
    steps = [f"{step.opname} {_const_text(step.argval)}" for step in dis.get_instructions(code)]
    return f"{code.co_varnames} {steps}"


def _const_text(const: object) -> str:
    if isinstance(const, CodeType):
        return _bytecode_text(const)
    if isinstance(const, tuple):
        return f"({','.join(map(_const_text, const))})"
    if isinstance(const, frozenset):  # `x in {…}`: its order depends on the process
        return f"{{{','.join(sorted(map(_const_text, const)))}}}"
    return repr(const)


class _Code:
    """A function and the functions of the same program that it uses: their code, and the values that they use."""

    def __init__(self, function: FunctionType, instance: object) -> None:
        self.function, self.instance = function, instance
        self.uses = Uses()
        self.functions: dict[int, FunctionType] = {}
        """All of them by their identity in memory, this function first."""
        self.classes: dict[type, None] = {}
        """The classes of the same program that the code uses, or of whose instances it may use something."""
        self._add_classes_of(instance)
        self._follow([function])
        while self._follow([each for value in self._class_values().values() for each in _functions_in(value)]):
            pass  # a method may use other attributes

    def _follow(self, waiting: list[FunctionType]) -> bool:
        """Adds functions of the same program, and those that they use; returns whether one is new."""
        before = len(self.functions)
        while waiting:
            each = waiting.pop()
            if id(each) in self.functions or not (each is self.function or self._is_own(each)):
                continue
            self.functions[id(each)] = each
            self.uses.add(uses_of(each.__code__))
            for value in (*_captured_by(each).values(), *_globals_of(each).values()):
                self._add_classes_of(value)
                waiting += _functions_in(value)
        return len(self.functions) > before

    def _add_classes_of(self, value: object) -> None:
        """Adds the class of an object, and those of the objects that it holds."""
        waiting, seen = [value], set[int]()
        while waiting and len(seen) < MANY:
            each = waiting.pop()
            each = each.__self__ if isinstance(each, MethodType) else each
            kind = each if isinstance(each, type) else type(each)
            if id(each) in seen or issubclass(kind, Enum):
                continue
            seen.add(id(each))
            if is_users_class(kind):
                self.classes |= dict.fromkeys(base for base in kind.__mro__ if is_users_class(base))
                waiting += [] if kind is each else _attributes_of(each).values()
            elif isinstance(each, (dict, list, tuple)):
                waiting += list(each.values() if isinstance(each, dict) else each)[:MANY]

    def _class_values(self) -> dict[str, Any]:
        """Return what the code may read of classes: their methods and constants, by name."""
        read = self.uses.attributes | {"__call__"}
        return {
            f"{kind.__qualname__}.{name}": value
            for kind in self.classes
            for name, value in vars(kind).items()
            if name in read
        }

    def _is_own(self, function: FunctionType) -> bool:
        """Whether it belongs to the same program, not to a library."""
        package, other = (str(each.__module__).partition(".")[0] for each in (self.function, function))
        return package == other or is_users(function.__code__.co_filename)

    def captured(self) -> dict[str, Any]:
        """Return the values that the function captures: closures, defaults, and what it reads of its instance."""
        values = _captured_by(self.function)
        if self.instance is not None:
            held = {} if isinstance(self.instance, type) else self._kept(_attributes_of(self.instance))
            values |= {f"self.{name}": value for name, value in held.items() if name in self.uses.attributes}
        return self._kept(values)

    def globals(self) -> dict[str, Any]:
        """Return the constants of modules and of classes that the function reads."""
        held = self._class_values().items()  # without methods and what gives access to an attribute of an instance
        constants = {name: each for name, each in held if not (callable(each) or hasattr(type(each), "__get__"))}
        return self._kept(_globals_of(self.function) | constants)

    def others(self) -> Iterator[tuple[FunctionType, dict[str, Any], dict[str, Any]]]:
        """Yield the other functions, each with the values that it captures and the constants that it reads."""
        for each in list(self.functions.values())[1:]:
            yield each, self._kept(_captured_by(each)), self._kept(_globals_of(each))

    def _kept(self, values: Mapping[str, object]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name.rpartition(".")[2] not in self.uses.assigned}


def is_users_class(kind: type) -> bool:
    """Return whether a class belongs to the user's program: to a module of it, or to a notebook."""
    module = sys.modules.get(kind.__module__)
    return module is None or kind.__module__ == "__main__" or is_users(getattr(module, "__file__", None))


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
        return Identity(str(name), label(function), "", "", _texts(captured, Uses()), ())
    name, code = _name_of(function, plain), _Code(plain, instance)
    belongs = not name or "<locals>" in name or not isinstance(instance, (type, NoneType))
    captured |= code.captured() if belongs else {}
    reads = dict(_texts(code.globals() if belongs else code.globals() | code.captured(), code.uses))
    lambdas: dict[str, str] = {}
    own = {id(each) for value in captured.values() for each in _functions_in(value)}
    for other, values, constants in code.others():
        called = label(other)
        codes = lambdas if id(other) in own and other.__name__ == "<lambda>" else reads
        codes[f"{called}(…)"] = digest_code(other.__code__)
        named = {f"{each} in {called}": value for each, value in values.items()}
        if belongs and "<locals>" in other.__qualname__:
            captured |= named
        else:
            reads |= _texts(named, code.uses)
        reads |= _texts({f"{each} in {called}": value for each, value in constants.items()}, code.uses)
    line = f"{Path(plain.__code__.co_filename).name}:{plain.__code__.co_firstlineno}"
    texts = tuple(sorted((*_texts(captured, code.uses), *lambdas.items())))
    return Identity(name, label(plain), line, digest_code(plain.__code__), texts, tuple(sorted(reads.items())))


def _numbered(arguments: tuple[object, ...]) -> dict[str, Any]:
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
        return (called if isinstance(called, FunctionType) else None), function.__self__
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
    values = {}
    for name, attributes in uses_of(function.__code__).globals.items():
        if name not in function.__globals__:  # built in, or not assigned yet
            continue
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            values[name] = value
        else:
            values |= {f"{name}.{each}": held for each in sorted(attributes) for held in _held_by_module(value, each)}
    return values


def _held_by_module(module: ModuleType, path: str) -> Iterator[object]:
    """Yield the attribute of a module of the program, or of a module in it, such as `settings.rate` of a package."""
    first, _, rest = path.partition(".")
    held = vars(module).get(first)
    if rest and isinstance(held, ModuleType):
        yield from _held_by_module(held, rest)
    elif not rest and first in vars(module) and is_users(getattr(module, "__file__", None)):
        yield held


def used_objects(function: FunctionType) -> list[Any]:
    """Return the objects that the code of a function refers to, by a name of its module or of an enclosing function."""
    return [*_captured_by(function).values(), *_globals_of(function).values()]


def _attributes_of(item: object) -> dict[str, Any]:
    """Return what an instance holds, by name."""
    slots = (name for kind in type(item).__mro__ for name in _slots_of(kind))
    held = {name: getattr(item, name) for name in slots if hasattr(item, name)}
    return held | getattr(item, "__dict__", {})


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _functions_in(value: object, deep: int = DEEP) -> Iterator[FunctionType]:
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
        yield from _functions_in(tuple(value.values()), deep)
    elif deep and isinstance(value, (tuple, list, Set)):
        for each in list(value):
            if type(each) not in _PLAIN:
                yield from _functions_in(each, deep - 1)


def _texts(values: Mapping[str, object], uses: Uses) -> ValueTexts:
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


def _value_text(value: object, uses: Uses, deep: int) -> str:
    """Return a text that is equal for equal data, in any process. What is not data, or may change, is its class."""
    name = type(value).__qualname__
    if deep and type(value) in _PLAIN:
        return f"{name}:{value!r}"

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
        of = getattr(value, "__self__", None)
        on = "" if isinstance(of, (NoneType, ModuleType, type)) else _value_text(of, uses, deep - 1)
        return f"function:{value.__qualname__}{on}"
    held = _held_by(value, uses)
    if held is not None:
        return f"{name}({','.join(held)};{','.join(texts_of(held.values()))})"
    return f"<{name}>" if uses.changes else _changeable_text(value, texts_of) or f"<{name}>"


def _held_by(value: object, uses: Uses) -> dict[str, Any] | None:
    """Return the attributes of an object that belong to its value, and that the code does not assign."""
    if dataclasses.is_dataclass(value):
        names = {field.name for field in dataclasses.fields(value) if field.compare}
    elif is_users_class(type(value)) or isinstance(value, (SimpleNamespace, Namespace)):
        names = uses.attributes
    else:
        return None
    if "setattr" in uses.globals or "__dict__" in uses.attributes:  # it may assign any
        return None
    held = _attributes_of(value)
    return {name: held[name] for name in sorted(names - uses.assigned) if name in held}


def _changeable_text(value: Any, texts_of: Callable[[Any], list[str]]) -> str | None:
    """Return the text of an object that can change, and that the code does not change; None if it is not data."""
    name, kind = type(value).__qualname__, type(value)
    if isinstance(value, defaultdict):  # to read it may change it
        return None
    if isinstance(value, (list, bytearray, deque)):
        return f"{name}[{','.join(texts_of(value))}]"
    if isinstance(value, set):
        return f"{name}{{{','.join(sorted(texts_of(value)))}}}"
    if isinstance(value, (dict, MappingProxyType)):
        pairs = zip(texts_of(value), texts_of(value.values()), strict=True)
        return f"{name}{{{','.join(sorted(f'{key}:{each}' for key, each in pairs))}}}"
    if kind.__module__ == "numpy" and hasattr(value, "tobytes"):
        if value.dtype.hasobject:  # its bytes are addresses
            return f"{name}({value.shape},{','.join(texts_of(value.ravel().tolist()))})"
        return f"{name}({value.dtype},{value.shape},{value.tobytes().hex()})"
    return None
