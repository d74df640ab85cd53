"""Syntactic objects: what collections, operators and graphs lower to, and lift from.

A term is an atom (None, bool, int, float, str), a tuple of terms, `Call(name, args)`, or `Name(name)`: the name of
something that the program supplies, such as a function or a Python type. Terms hold no code, so the same lowering
serves for printing and parsing (notation.py) and for checkpoints (encoding.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeAlias, TypeVar

from flo.core.errors import NameTakenError, UnknownNameError

_LITERALS = frozenset({"None", "True", "False", "inf", "nan"})
ATOMS = frozenset({type(None), bool, int, float, str})


@dataclass(frozen=True, slots=True)
class Call:
    """`name(args…)`: one constructor applied to terms."""

    name: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Name:
    """Something that only the program can supply."""

    name: str


Term: TypeAlias = bool | int | float | str | tuple["Term", ...] | Call | Name | None


class Lowerable:
    """Something that knows its own expression."""

    __slots__ = ()

    def lower(self, lower: Lowering) -> Term:
        raise NotImplementedError(type(self).__name__)


PASSED = Call("⊗")
"""The bare terminator: the end was passed on."""

_constructors: dict[str, Callable[..., Any]] = {}
_lowerings: dict[type, Callable[[Any, Lowering], Term]] = {}


def register(name: str, constructor: Callable[..., Any]) -> None:
    """`Call(name, args)` lifts to `constructor(*args)`."""
    taken = _constructors.get(name)
    if taken is not None and _identity(taken) != _identity(constructor):
        raise NameTakenError(
            f"two expressions are called `{name}`",
            facts=(("first", _identity(taken)), ("second", _identity(constructor))),
        )
    _constructors[name] = constructor


def forget(modules: Set[str]) -> None:
    """Takes back what these modules have registered: for tools that load one program after the other."""
    for name in [name for name, constructor in _constructors.items() if constructor.__module__ in modules]:
        del _constructors[name]


def _identity(constructor: Callable[..., Any]) -> str:
    return f"{constructor.__module__}.{constructor.__qualname__}"


def register_data(kind: type, name: str, lower: Callable[[Any, Lowering], Term], lift: Callable[..., Any]) -> None:
    """How a type that cannot have a `lower` method of its own lowers and lifts."""
    _lowerings[kind] = lower
    register(name, lift)


class Lowering:
    """⌊·⌋: from objects to terms. Collects the names it gives to what only the program can supply."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._name_of: dict[int, str] = {}

    def __call__(self, item: Any) -> Term:
        kind = type(item)
        if kind in ATOMS:
            return item  # type: ignore[no-any-return]
        if kind is tuple:
            return self.many(item)
        if isinstance(item, Lowerable):
            return item.lower(self)
        if kind in _lowerings:  # exactly this type: a subclass may hold more than its base lowers
            return _lowerings[kind](item, self)
        if callable(item) or isinstance(item, (UnionType, TypeVar)):
            return self.supplied(item)
        return _lowerings[object](item, self)  # that of flo.core.data

    def many(self, items: tuple[Any, ...] | list[Any]) -> tuple[Term, ...]:
        """All of them; at the speed of C where they are atoms already."""
        if ATOMS.issuperset(map(type, items)):
            return tuple(items)
        return tuple(map(self, items))

    def supplied(self, item: Any) -> Name:
        """A name for something of the program's, the same for the same object."""
        name = self._name_of.get(id(item))
        if name is None:
            name = self._fresh(item)
            self._name_of[id(item)] = name
            self.names[name] = item
        return Name(name)

    def _fresh(self, item: Any) -> str:
        plain = getattr(item, "__name__", None) or type(item).__name__
        if getattr(item, "__args__", None):  # a parameterised type such as tuple[int, str]
            plain = str(item)
        stem = "".join(c if c.isalnum() or c == "_" else "_" for c in plain.replace("<lambda>", "λ")).strip("_")
        if not stem.isidentifier() or stem in _LITERALS:
            stem = f"f{stem}"
        if stem != "λ" and stem not in self.names and stem not in _constructors:
            return stem
        number = 1
        while f"{stem}{number}" in self.names:
            number += 1
        return f"{stem}{number}"


class Lifting:
    """⟦·⟧: from terms to objects, with what the program supplies."""

    def __init__(self, names: Mapping[str, Any] | None = None) -> None:
        self.names: Mapping[str, Any] = {} if names is None else names

    def __call__(self, term: Term) -> Any:
        match term:
            case tuple():
                return self.many(term)
            case Call(name, ()) if isinstance(self.names.get(name), Lowerable):
                return self.names[name]
            case Call(name, args):
                constructor = _constructors.get(name)
                if constructor is None:
                    known = ", ".join(sorted(_constructors))
                    raise UnknownNameError(f"nothing is called `{name}`", facts=(("known", known),))
                return constructor(*map(self, args))
            case Name(name):
                if name not in self.names:
                    known = ", ".join(sorted(self.names)) or "no names"
                    raise UnknownNameError(
                        f"the program supplies nothing called `{name}`", facts=(("supplied", known),)
                    )
                return self.names[name]
            case _:
                return term

    def many(self, terms: tuple[Term, ...]) -> tuple[Any, ...]:
        if ATOMS.issuperset(map(type, terms)):
            return terms
        return tuple(map(self, terms))
