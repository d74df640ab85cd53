"""Lattices (§6.2): values with a least one ⊥ and a join ⊔ that is associative, commutative and idempotent."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar, Final, Generic, TypeVar, get_args, get_origin, overload

from flo.core.errors import CollectionError
from flo.core.term import Call, Lowerable, Lowering, Term, given_parts, register
from flo.core.type_names import type_name
from flo.core.type_relations import accepts
from flo.core.untyped import Element, PairFunction, TypeForm

ANYTHING: Any = Any
"""The default parameter of a lattice."""
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class _Mark(Lowerable, Enum):
    """A value of its own, with a sign."""

    def lower(self, lower: Lowering) -> Term:
        return Call(self.name)

    def __repr__(self) -> str:
        return str(self.value)

    __str__ = __repr__


class Bottom(_Mark):
    """⊥, for types without a least value: nothing has arrived yet."""

    BOTTOM = "⊥"


class Top(_Mark):
    """⊤, for types without a greatest value."""

    TOP = "⊤"


BOTTOM: Final = Bottom.BOTTOM
TOP: Final = Top.TOP
register("BOTTOM", lambda: BOTTOM)
register("TOP", lambda: TOP)


@dataclass(frozen=True, repr=False)
class Lattice(Lowerable, ABC, Generic[V_co]):
    """(L, ⊥, ⊔). Subclasses are frozen dataclasses; name and fields make the expression: `Max(int)`."""

    name: ClassVar[str]

    @abstractmethod
    def bottom(self) -> V_co:
        """⊥, the identity of the join."""

    @abstractmethod
    def join(self, a: Element, b: Element) -> V_co:
        """a ⊔ b; raises ValueError if it does not exist."""

    def join_all(self, values: list[Element]) -> Element:
        """v₁ ⊔ … ⊔ vₙ, joined in a balanced tree, so that no value is copied more than log n times."""
        while len(values) > 1:
            odd = values[-1:] if len(values) % 2 else []
            values = [self.join(a, b) for a, b in zip(values[::2], values[1::2], strict=False)] + odd
        return values[0] if values else self.bottom()

    def leq(self, a: Element, b: Element) -> bool:
        """a ⊑ b, which is a ⊔ b = b."""
        try:
            return bool(self.join(a, b) == b)
        except ValueError:
            return False

    def top(self) -> V_co | None:
        """⊤, if there is a greatest value; otherwise None."""
        return None

    def conflict(self, value: Element) -> bool:
        """Return whether only contradicting deltas lead to the value, and thus to all values above it.

        This is ⊤, as in LVars, unless the lattice treats its ⊤ as an ordinary value.
        """
        top = self.top()
        return top is not None and bool(value == top)

    def incompatible(self, a: Element, b: Element) -> bool:
        """Return whether every value above both is a conflict."""
        try:
            joined: Element = self.join(a, b)
        except ValueError:
            return True
        return self.conflict(joined) and joined != a and joined != b

    def is_bottom(self, value: Element) -> bool:
        return bool(value == self.bottom())

    def mismatch(self, value: Element) -> str | None:
        """Return why the value is not in the lattice; None if it is."""
        try:
            if self.join(self.bottom(), value) == value:
                return None
        except Exception as error:
            return f"{value!r} has no join with ⊥: {error}"
        return f"{value!r} is not above ⊥"

    @property
    def element(self) -> TypeForm:
        """The Python type of the values that `plain` returns, without BOTTOM."""
        return Any

    @property
    def ordinary(self) -> Element:
        """Like `element`, without TOP."""
        return self.element

    @property
    def whole(self) -> Any:
        """Like `element`, with BOTTOM if that is the least value."""
        return with_mark(self.element, Bottom) if self.bottom() is BOTTOM else self.element

    def value(self, data: Element) -> Element:
        """Return the lattice value of plain Python data."""
        return data

    def plain(self, value: Element) -> Element:
        """Return the lattice value as plain Python data."""
        return value

    def accepts(self, other: Lattice[Element]) -> bool:
        """Return whether every value of `other` is in this lattice, with the same join."""
        return type(other) is type(self) and all(
            accepts_parameter(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    @staticmethod
    def from_annotation(annotation: TypeForm) -> Lattice[Element]:
        """Return the lattice that an annotation denotes: `Max[int]`, `Max` or `Max(int)`."""
        if isinstance(annotation, Lattice):
            return annotation
        kind = get_origin(annotation) or annotation
        if isinstance(kind, type) and issubclass(kind, Lattice) and not inspect.isabstract(kind):
            return kind.parameterised(*get_args(annotation))
        raise CollectionError(
            f"{type_name(annotation)} is not a lattice",
            instead=(
                ("flo.Max[int]", "or Min, And, Or, SetUnion, MapUnion, Product, Versioned, Flat, …"),
                ("flo.Lattice.of(bottom, join)", "a lattice of your own"),
            ),
        )

    @classmethod
    def parameterised(cls, *parameters: Any) -> Lattice[Element]:
        return cls(*parameters)

    @overload
    @staticmethod
    def of(bottom: Callable[[], V], join: Callable[[V, V], V], top: V | None = None) -> Lattice[V]: ...
    @overload
    @staticmethod
    def of(bottom: V, join: Callable[[V, V], V], top: V | None = None) -> Lattice[V]: ...
    @staticmethod
    def of(bottom: Any, join: PairFunction, top: Any = None) -> Lattice[Element]:
        """Make a lattice from ⊥ (or a function that returns it), a join, and ⊤ if there is a conflict value."""
        return Custom(bottom, join, top)

    def lower(self, lower: Lowering) -> Term:
        return Call(self.name, tuple(map(lower, self._parameters())))

    def _parameters(self) -> list[Any]:
        """The fields, without trailing ones that have their default value."""
        return given_parts(self)

    def __str__(self) -> str:
        parameters = ", ".join(str(p) if isinstance(p, Lattice) else type_name(p) for p in self._parameters())
        return f"{self.name}[{parameters}]" if parameters else self.name

    def __repr__(self) -> str:
        return str(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Lattice.__repr__  # type: ignore[method-assign]  # instead of the dataclass's
        if not cls.name.startswith("_"):
            register(cls.name, cls)


L_co = TypeVar("L_co", bound=Lattice[Any], covariant=True)


def accepts_parameter(part: Any, other: Any) -> bool:
    """Return whether a parameter of one lattice accepts that of another."""
    if isinstance(part, Lattice):
        return part.accepts(other)
    if isinstance(part, tuple):
        return len(part) == len(other) and all(map(accepts_parameter, part, other))
    if part is Any or other is Any or isinstance(part, type) or get_origin(part) is not None:
        return accepts(part, other)
    return bool(part == other)


def with_mark(kind: TypeForm, mark: type[Enum]) -> Any:
    """Return the type `kind | mark`, if `kind` is a type."""
    return kind if kind is Any or isinstance(kind, str) else kind | mark


@dataclass(frozen=True)
class Custom(Lattice[V_co]):
    """A lattice made of a user's functions. `least` is ⊥ or a function that returns it."""

    least: Any
    joining: PairFunction
    greatest: Any = None

    name = "lattice"

    def bottom(self) -> Element:
        return self.least() if callable(self.least) else self.least

    def join(self, a: Element, b: Element) -> Element:
        return self.joining(a, b)

    def top(self) -> Element:
        return self.greatest

    def accepts(self, other: Lattice[Element]) -> bool:
        return self == other

    def __str__(self) -> str:
        return f"Lattice[{getattr(self.joining, '__name__', 'join')}]"
