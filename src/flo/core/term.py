"""Terms: the expressions that collections, operators and graphs lower to and lift from.

A term is an atom (None, bool, int, float, str), a tuple of terms, `Call(name, args)`, or `Name(name)`, which refers to
something that the program supplies: a function or a Python type. Terms contain no code, so one lowering serves both
printing and parsing (graph.py) and checkpoints (checkpoint.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, fields
from types import GenericAlias, UnionType
from typing import Any, ClassVar, TypeAlias, TypeVar

from flo.core.errors import NameTakenError, UnknownNameError
from flo.core.untyped import AnyFunction

_LITERALS = frozenset({"None", "True", "False", "inf", "nan"})
ATOMS = frozenset({type(None), bool, int, float, str})


@dataclass(frozen=True, slots=True)
class Call:
    """`name(args…)`: a constructor applied to terms."""

    name: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Name:
    """A reference to something that only the program can supply."""

    name: str


Term: TypeAlias = bool | int | float | str | tuple["Term", ...] | Call | Name | None


class Lowerable:
    """An object that can be lowered to a term."""

    __slots__ = ()

    def lower(self, lower: Lowering) -> Term:
        raise NotImplementedError(type(self).__name__)


class Named(Lowerable):
    """A class of expressions `name(…)`: those with a name of their own are lifted by it."""

    __slots__ = ()
    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            register(cls.name, cls)


def given_parts(item: Any) -> list[Any]:
    """Return the fields that make an expression, without trailing ones that have their default value."""
    parts = [(getattr(item, field.name), field.default) for field in fields(item) if field.compare]
    while parts and parts[-1][0] == parts[-1][1]:
        parts.pop()
    return [part for part, _ in parts]


PASSED = Call("⊗")
"""The bare terminator ⊗: the end was passed on."""

_constructors: dict[str, AnyFunction] = {}
_lowerings: dict[type, Callable[[Any, Lowering], Term]] = {}


def register(name: str, constructor: AnyFunction) -> None:
    """Make `Call(name, args)` lift to `constructor(*args)`."""
    taken = _constructors.get(name)
    if taken is not None and _identity(taken) != _identity(constructor):
        raise NameTakenError(
            f"two expressions have the name `{name}`",
            facts=(("first", _identity(taken)), ("second", _identity(constructor))),
        )
    _constructors[name] = constructor


def forget(modules: Set[str]) -> None:
    """Remove the registrations of these modules, for tools that load several programs in one process."""
    for name in [name for name, constructor in _constructors.items() if constructor.__module__ in modules]:
        del _constructors[name]


def _identity(constructor: AnyFunction) -> str:
    return f"{constructor.__module__}.{constructor.__qualname__}"


def register_data(kind: type, name: str, lower: Callable[[Any, Lowering], Term], lift: AnyFunction) -> None:
    """Register how to lower and lift a type that cannot have a `lower` method."""
    _lowerings[kind] = lower
    register(name, lift)


def _is_hashable(kind: GenericAlias) -> bool:
    """Return whether a type can be compared with others: not with an annotation such as a list."""
    try:
        hash(kind)
    except TypeError:
        return False
    return True


class Lowering:
    """⌊·⌋: lowers objects to terms, and collects the names it gives to functions and types of the program."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._name_of: dict[object, str] = {}

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
        """Lower all items. Items that are all atoms are returned as they are, without a Python loop."""
        if ATOMS.issuperset(map(type, items)):
            return tuple(items)
        return tuple(map(self, items))

    def supplied(self, item: object) -> Name:
        """Return a name for an object of the program; the same object always gets the same name. So do equal types:
        each `tuple[int, str]` is an object of its own."""
        same = item if isinstance(item, GenericAlias) and _is_hashable(item) else id(item)
        name = self._name_of.get(same)
        if name is None:
            name = self._fresh(item)
            self._name_of[same] = name
            self.names[name] = item
        return Name(name)

    def _fresh(self, item: object) -> str:
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
    """⟦·⟧: lifts terms to objects. `names` has the functions and types that the program supplies."""

    def __init__(self, names: Mapping[str, object] | None = None) -> None:
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
                    raise UnknownNameError(f"no expression is called `{name}`", facts=(("known", known),))
                return constructor(*map(self, args))
            case Name(name):
                if name not in self.names:
                    known = ", ".join(sorted(self.names)) or "no names"
                    raise UnknownNameError(f"the program supplies no `{name}`", facts=(("supplied", known),))
                return self.names[name]
            case _:
                return term

    def many(self, terms: tuple[Term, ...]) -> tuple[Any, ...]:
        if ATOMS.issuperset(map(type, terms)):
            return terms
        return tuple(map(self, terms))
