"""What makes two functions of two runs of a program the same: their name or code, and the values that they use.

    identify(function)   ->   Identity(name, label, line, code, captured, reads)

- A **named function** is its qualified name. Its code may change, and the identity says whether it has.
- A **lambda** is its code.
- The values that a lambda or a local function **captures** are a part of it: closures, defaults, the arguments of a
  `functools.partial`, and what a method reads of its instance.
- What the code **reads** besides is recorded, too: constants of its module and of modules of the program that it
  imports, and the code of the functions of the same program that it calls (`core/used_values.py`).

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
from collections.abc import Callable, Collection, Iterator, Mapping
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
from flo.core.untyped import AnyFunction
from flo.core.used_values import (
    DEEP,
    PLAIN,
    attributes_of,
    captured_by,
    functions_in,
    globals_of,
    is_users_class,
    unwrap,
)

SOURCE, BYTECODE = "source", "bytecode"
MANY = 1000
"""How many values within a value are looked at for their classes."""
_SHOWN = (type(None), bool, int, float, complex, Decimal, Fraction, date, datetime, time, timedelta)
"""The types of values that are recorded as they are. Others may be long or secret: of them, a digest is recorded."""
_TEXTS = (*_SHOWN, str, bytes, range, UUID, PurePath, ZoneInfo)
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


def identify(function: AnyFunction) -> Identity:
    """Return the identity of a function: the user's, not one of Flo that stands for it."""
    return _read(unwrap(function))


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
        while self._follow([each for value in self._class_values().values() for each in functions_in(value)]):
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
            for value in (*captured_by(each).values(), *globals_of(each).values()):
                self._add_classes_of(value)
                waiting += functions_in(value)
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
                waiting += [] if kind is each else attributes_of(each).values()
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
        values = captured_by(self.function)
        if self.instance is not None:
            held = {} if isinstance(self.instance, type) else self._kept(attributes_of(self.instance))
            values |= {f"self.{name}": value for name, value in held.items() if name in self.uses.attributes}
        return self._kept(values)

    def globals(self) -> dict[str, Any]:
        """Return the constants of modules and of classes that the function reads."""
        held = self._class_values().items()  # without methods and what gives access to an attribute of an instance
        constants = {name: each for name, each in held if not (callable(each) or hasattr(type(each), "__get__"))}
        return self._kept(globals_of(self.function) | constants)

    def others(self) -> Iterator[tuple[FunctionType, dict[str, Any], dict[str, Any]]]:
        """Yield the other functions, each with the values that it captures and the constants that it reads."""
        for each in list(self.functions.values())[1:]:
            yield each, self._kept(captured_by(each)), self._kept(globals_of(each))

    def _kept(self, values: Mapping[str, object]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name.rpartition(".")[2] not in self.uses.assigned}


def _read(function: AnyFunction) -> Identity:
    captured: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        captured = {**_numbered(function.args), **function.keywords, **captured}
        function = unwrap(function.func)
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
    own = {id(each) for value in captured.values() for each in functions_in(value)}
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


def _plain_function(function: AnyFunction) -> tuple[FunctionType | None, Any]:
    """Return the function in Python that is called, if there is one, and the instance that it is called on."""
    if isinstance(function, FunctionType):
        return function, None
    if isinstance(function, MethodType):
        called = unwrap(function.__func__)
        return (called if isinstance(called, FunctionType) else None), function.__self__
    if isinstance(function, BuiltinFunctionType):
        of = getattr(function, "__self__", None)
        return None, None if isinstance(of, (ModuleType, type)) else of
    called = None if isinstance(function, type) else unwrap(type(function).__call__)
    users = isinstance(called, FunctionType) and not _is_flos(type(function))
    return (called, function) if users else (None, None)


def _name_of(function: AnyFunction, plain: FunctionType) -> str:
    """Return the qualified name; nothing for a lambda."""
    if not isinstance(function, (FunctionType, MethodType)):
        return str(type(function).__qualname__)
    return "" if plain.__qualname__.endswith("<lambda>") else plain.__qualname__


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
    if deep and type(value) in PLAIN:
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
    held = attributes_of(value)
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
