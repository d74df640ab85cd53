"""The objects that functions capture and may change: closures, defaults, globals, attributes of bound objects.

A function that changes what it captures may depend on what it was called with before. It is run from the same captured
state again, so that a difference is real, and can be repeated in a new process.
"""

from __future__ import annotations

import copy
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSet
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from flo.core.collection import Collection, Value
from flo.core.labels import codes_in
from flo.core.operator import Operator
from flo.core.term import Lowering
from flo.core.used_values import is_users_class
from flo.values.lattice import Lattice
from flo.verify.data.constants import called_functions, function_of, unwrap
from flo.verify.effort import code_of
from flo.verify.equality import are_equal

DEPTH = 3
"""How deep calls of the user's functions are followed."""
LARGEST = 10_000
"""Larger containers are not copied, so changes of them are not seen."""
LEFT_OUT = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, Operator, Collection, Value, Lattice)


@dataclass
class _Place:
    """Where a function holds an object."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    before: Any
    """A copy of the object."""

    def has_changed(self) -> bool:
        try:
            return not are_equal(self.before, self.read())
        except Exception:  # not comparable any more
            return False

    def put(self, content: Any) -> None:
        """Set the object to a copy of the content; in place where others may hold it, too."""
        held, fresh = self.read(), copy.deepcopy(content)
        if type(held) is not type(fresh):
            self.write(fresh)
        elif isinstance(held, (list, bytearray)):
            held[:] = fresh
        elif isinstance(held, MutableMapping):
            held.clear()
            held.update(fresh)
        elif isinstance(held, MutableSet):
            held.clear()
            for each in fresh:
                held.add(each)
        elif isinstance(held, deque):
            held.clear()
            held.extend(fresh)
        elif getattr(held, "__dict__", None) is not None:
            vars(held).clear()
            vars(held).update(vars(fresh))
        else:
            self.write(fresh)


class Captured:
    """A snapshot of everything that some functions capture, to see what changes, and to start again from it."""

    def __init__(self, functions: Iterable[object]) -> None:
        self.places: list[_Place] = []
        seen: set[int] = set()
        for function in functions:
            self._add(function, DEPTH, seen)

    def changed(self) -> list[str]:
        """The names of the objects that are not as they were."""
        return list(dict.fromkeys(place.name for place in self.places if place.has_changed()))

    def restore(self) -> None:
        """Set all objects to what they were."""
        for place in self.places:
            if place.has_changed():
                place.put(place.before)

    def as_they_are(self) -> Captured:
        """A snapshot of the same objects, as they are now."""
        now = Captured(())
        for each in self.places:
            with suppress(Exception):  # it holds something now that cannot be copied
                now.places.append(_Place(each.name, each.read, each.write, copy.deepcopy(each.read())))
        return now

    def _add(self, item: object, depth: int, seen: set[int]) -> None:
        if id(item) in seen:
            return
        seen.add(id(item))
        if isinstance(item, partial):
            for value in (*item.args, *item.keywords.values()):
                self._add_object("an argument", value, seen)
        bound = getattr(item, "__self__", None)
        if bound is not None:
            self._add_object(type(bound).__name__, bound, seen)
        elif callable(item) and not isinstance(item, LEFT_OUT) and is_users_class(type(item)):
            self._add_object(type(item).__name__, item, seen)
            item = type(item).__call__
        function = function_of(item)
        if not isinstance(function, types.FunctionType):
            return
        self._add_object(f"{function.__name__}.__dict__", function.__dict__, seen)
        code = function.__code__
        arguments = code.co_varnames[: code.co_argcount][-len(function.__defaults__ or ()) :]
        named = [*zip(arguments, function.__defaults__ or (), strict=False), *(function.__kwdefaults__ or {}).items()]
        for name, value in named:
            self._add_object(name, value, seen)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            with suppress(ValueError):  # an empty cell
                self._add_place(name, *_of_cell(cell), seen)
        for name in dict.fromkeys(name for each in codes_in(code) for name in each.co_names):
            if name in function.__globals__:
                self._add_place(name, *_of_global(function.__globals__, name), seen)
        for each in called_functions(function) if depth else ():
            self._add(each, depth - 1, seen)

    def _add_object(self, name: str, held: object, seen: set[int]) -> None:
        """An object that is held where nothing else can be put."""
        if isinstance(held, (list, dict, set, bytearray, deque)) or getattr(held, "__dict__", None) is not None:
            self._add_place(name, lambda: held, lambda fresh: None, seen)

    def _add_place(self, name: str, read: Callable[[], Any], write: Callable[[Any], None], seen: set[int]) -> None:
        held = read()
        if isinstance(held, LEFT_OUT) or (hasattr(held, "__len__") and _length(held) > LARGEST):
            return
        if isinstance(unwrap(held), types.MethodType) or (id(held) in seen and _is_mutable(held)):
            return
        if not isinstance(held, (int, str, float, bytes, tuple, frozenset, type(None))):
            seen.add(id(held))
            if not is_users_class(type(held)) and not _is_mutable(held):
                return  # a lock, a file, a generator: it cannot be compared
        with suppress(Exception), warnings.catch_warnings():  # an object that cannot be copied or compared
            warnings.simplefilter("ignore")
            before = copy.deepcopy(held)
            if are_equal(before, held):
                self.places.append(_Place(name, read, write, before))


def functions_of(operator: Operator) -> Iterator[Any]:
    """The user's functions in an operator, and the methods of its class if it is the user's."""
    lowering = Lowering()
    with suppress(Exception):  # a state that cannot be written down
        lowering(operator)
    yield from (item for item in lowering.names.values() if callable(item) and not isinstance(item, LEFT_OUT[3:]))
    yield from (item for item in code_of(operator) if callable(unwrap(item)) and not isinstance(item, LEFT_OUT[3:]))


def _is_mutable(held: object) -> bool:
    return isinstance(held, (list, dict, set, bytearray, deque))


def _length(held: Any) -> int:
    try:
        return len(held)
    except Exception:  # a class, or a length that is not known
        return 0


def _of_cell(cell: types.CellType) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    def write(fresh: object) -> None:
        cell.cell_contents = fresh

    return lambda: cell.cell_contents, write


def _of_global(space: dict[str, Any], name: str) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    def write(fresh: object) -> None:
        space[name] = fresh

    return lambda: space.get(name), write
