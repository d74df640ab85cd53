"""The values that the code of a function uses: what it captures, constants of modules and of classes, and functions.

A constant is found by its name: `rate` of the function's own module, `settings.rate` of a module of the program that is
a name there, is captured, or is imported in the function's body. What code finds in another way is not known: by
`importlib` or `getattr`, in files, in the environment, or by an import in a function that has no source.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Set
from types import FunctionType, MethodType, ModuleType
from typing import Any

from flo.core.errors import is_users
from flo.core.labels import uses_of

DEEP = 8
"""How deep values within values are looked at."""
PLAIN = frozenset({bool, int, float, str, bytes, type(None)})
"""The types that most values within values have: these are looked at first."""


def unwrap(function: Any) -> Any:
    """Return the user's function that another function stands for: of Flo, or of a cache around it."""
    while True:
        if isinstance(function, functools._lru_cache_wrapper):
            function = function.__wrapped__
        elif getattr(function, "stands_for", None) is not None:
            function = function.stands_for
        else:
            return function


def captured_by(function: FunctionType) -> dict[str, Any]:
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


def globals_of(function: FunctionType) -> dict[str, Any]:
    """Return the values that a function reads from its module, and from modules of the same program."""
    uses, values, modules = uses_of(function.__code__), dict[str, Any](), dict[str, set[str]]()
    for name, attributes in uses.globals.items():
        if name not in function.__globals__:  # built in, or not assigned yet
            continue
        if not isinstance(function.__globals__[name], ModuleType):
            values[name] = function.__globals__[name]
        else:
            modules[name] = attributes
    held = captured_by(function)
    modules |= {name: uses.variables.get(name, set()) for name in held if isinstance(held[name], ModuleType)}
    held = function.__globals__ | held
    for name, attributes in modules.items():
        values |= {f"{name}.{each}": of for each in sorted(attributes) for of in _held_by_module(held[name], each)}
    return values | dict(_imported_by(function, uses.imported))


def _held_by_module(module: ModuleType, path: str, *, importing: bool = False) -> Iterator[object]:
    """Yield the attribute of a module of the program, or of a module in it, such as `settings.rate` of a package."""
    first, _, rest = path.partition(".")
    if importing and first not in vars(module) and hasattr(module, "__path__"):
        _import(f"{module.__name__}.{first}")
    held = vars(module).get(first)
    if rest and isinstance(held, ModuleType):
        yield from _held_by_module(held, rest, importing=importing)
    elif not rest and first in vars(module) and is_users(getattr(module, "__file__", None)):
        yield held


def _imported_by(function: FunctionType, paths: set[str]) -> Iterator[tuple[str, object]]:
    """Yield what a function reads of modules of the program that its body imports, by the whole name.

    Such a module may not be imported yet, for the body has not run. It is imported here, as the body would."""
    package = function.__globals__.get("__package__") or ""
    for path in sorted(paths):
        try:
            whole = importlib.util.resolve_name(path, package)
        except ImportError:  # relative, and the function is not in a package
            continue
        first, _, rest = whole.partition(".")
        module = _import(first) if rest and _is_module_of_user(first) else None
        for held in () if module is None else _held_by_module(module, rest, importing=True):
            yield whole, held


def _is_module_of_user(name: str) -> bool:
    """Return whether a module, or a folder of modules, belongs to the user's program. It is not imported for that."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # `__main__` has none
        return False
    return spec is not None and any(map(is_users, [spec.origin, *(spec.submodule_search_locations or ())]))


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except Exception:  # any that the module raises: the body, if it ever runs, reports it
        return None


def used_objects(function: FunctionType) -> list[Any]:
    """Return the objects that the code of a function refers to, by a name of its module or of an enclosing function."""
    return [*captured_by(function).values(), *globals_of(function).values()]


def attributes_of(item: object) -> dict[str, Any]:
    """Return what an instance holds, by name."""
    slots = (name for kind in type(item).__mro__ for name in _slots_of(kind))
    held = {name: getattr(item, name) for name in slots if hasattr(item, name)}
    return held | getattr(item, "__dict__", {})


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def functions_in(value: object, deep: int = DEEP) -> Iterator[FunctionType]:
    """Yield the functions in Python that a value is, or has in it."""
    value = unwrap(value)
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, FunctionType):
        yield value
    elif deep and isinstance(value, functools.partial):
        yield from functions_in((value.func, *value.args, *value.keywords.values()), deep - 1)
    elif isinstance(value, MethodType):
        yield from functions_in(value.__func__)
    elif deep and isinstance(value, Mapping):
        yield from functions_in(tuple(value.values()), deep)
    elif deep and isinstance(value, (tuple, list, Set)):
        for each in list(value):
            if type(each) not in PLAIN:
                yield from functions_in(each, deep - 1)


def is_users_class(kind: type) -> bool:
    """Return whether a class belongs to the user's program: to a module of it, or to a notebook."""
    module = sys.modules.get(kind.__module__)
    return module is None or kind.__module__ == "__main__" or is_users(getattr(module, "__file__", None))
