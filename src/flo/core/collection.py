"""L^C, collection languages (§3.2): values, `++`, the empty delta, fix and fixed, types, lifting and lowering.

A `Value` is a c ∈ C and implements `++`. As in the paper, `++ : C × C → C` is one function on all of C, so a delta, its
right operand, is a value too. A `Collection` is a τ ∈ T^C: it decides which values belong to it. A `Form` is the same
collection in another representation, such as Arrow tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin

from flo.core.errors import CollectionError, brief
from flo.core.term import PASSED, Call, Lowerable, Lowering, Named, Term, register
from flo.core.type_names import type_name
from flo.core.untyped import TypeForm


class End(Lowerable, Enum):
    """State of the terminator ⊗ of a value.

    The paper writes `[⊗, …]` for "the end has arrived" and a bare `⊗` for "a step has passed it on". The two must
    differ: otherwise `map-terminator` stays enabled forever (docs/deviations.md, 9).
    """

    OPEN = 0
    ARRIVED = 1
    PASSED = 2

    def lower(self, lower: Lowering) -> Term:
        return PASSED if self is End.PASSED else self is End.ARRIVED

    @staticmethod
    def lift(term: object) -> End:
        return term if isinstance(term, End) else End.ARRIVED if term else End.OPEN


register(PASSED.name, lambda: End.PASSED)


class Value(Lowerable, ABC):
    """c ∈ C: a concrete, finite collection value. Immutable: methods return new values."""

    __slots__ = ()

    kind: ClassVar[str]
    """The name of the constructor that the value lowers to."""
    end: End

    @abstractmethod
    def concat(self, delta: Self) -> Self:
        """`self ++ delta`."""

    @abstractmethod
    def empty(self) -> Self:
        """∅, the right identity of `++`."""

    @abstractmethod
    def fix(self) -> Self:
        """The equivalent value that is fixed."""

    def fixed(self) -> bool:
        """∀c'. self ++ c' = self."""
        return self.end is not End.OPEN

    @abstractmethod
    def take(self) -> tuple[Self, Self]:
        """Split into (the rest, the delta to pass on). The delta has all content, and the end if it has arrived."""

    @abstractmethod
    def send(self, at_most: int | None = None) -> tuple[Self, Self]:
        """Split an output into (the rest, the part that the event loop sends): `at_most` elements, or all of them."""

    @abstractmethod
    def size(self) -> int:
        """The amount that steps can still consume: the elements, plus an end that was not passed on."""

    @abstractmethod
    def lower(self, lower: Lowering) -> Term:
        """⌊·⌋^C: the expression of this value."""

    @classmethod
    @abstractmethod
    def lift(cls, *parts: object) -> Value:
        """⟦·⟧^C: the value of an expression, given its lifted parts."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            register(cls.kind, cls.lift)


class Collection(Named, ABC):
    """τ ∈ T^C: a set of collection values, closed under `++`."""

    @staticmethod
    def of(annotation: TypeForm) -> Collection:
        """Return the collection that an annotation denotes: `Sequence[int]`, `Sequence` or `Sequence(int)`."""
        if isinstance(annotation, Collection):
            return annotation
        kind = get_origin(annotation) or annotation
        if isinstance(kind, type) and issubclass(kind, Collection):
            return kind.parameterised(*get_args(annotation))
        is_list = kind in (list, set, tuple) and bool(get_args(annotation))
        of = type_name(get_args(annotation)[0] if is_list else annotation) if isinstance(kind, type) else "int"
        raise CollectionError(
            f"{type_name(annotation) if isinstance(kind, type) else brief(annotation)} is not a collection",
            instead=(
                (f"flo.Sequence[{of}]", "elements in an order, which are only added: a log"),
                (f"flo.ZSet[{of}]", "rows that come and go: a table"),
                ("flo.Bag, flo.Set, flo.LVar, flo.Keyed, flo.Nested", "the others"),
            ),
        )

    @classmethod
    def parameterised(cls, *parameters: Any) -> Collection:
        return cls(*parameters)

    @abstractmethod
    def bottom(self) -> Value:
        """⊥: the value of a stream before anything has arrived."""

    @abstractmethod
    def mismatch(self, value: Value) -> str | None:
        """Return why the value does not belong to this type; None if it does."""

    def __contains__(self, value: Value) -> bool:
        return self.mismatch(value) is None

    @abstractmethod
    def accepts(self, other: Collection) -> bool:
        """Return whether every value of `other` belongs to this type, as far as element types are known."""

    @abstractmethod
    def value(self, data: Any) -> Value:
        """Return an open value with this plain Python data. Raises if an element has the wrong type."""

    def pieces(self, data: object) -> list[list[Value]]:
        """Cut plain data into the smallest deltas. The deltas of one list arrive in order; the lists are independent.
        In an unordered collection every element is a list of its own."""
        return [[self.value(data)]]

    @abstractmethod
    def plain(self, value: Any) -> Any:
        """Return the value as plain Python data, oldest element first."""

    def parts(self) -> tuple[Any, ...]:
        """Return what the type is made of: two types of one class are equal if these are."""
        return ()

    def lower(self, lower: Lowering) -> Term:
        """Return the expression of the type."""
        return call(self.name, *self.parts(), lower=lower)

    def in_full(self) -> str:
        """Return the type with all columns of its rows."""
        return str(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.parts() == self.parts()

    def __hash__(self) -> int:
        try:
            return hash((self.name, self.parts()))
        except TypeError:  # a part that has no hash, such as an annotation with a list
            return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return str(self)


def call(kind: str, *parts: object, lower: Lowering) -> Call:
    """Return `kind(parts…)` with every part lowered. Trailing open ends and false flags are left out."""
    while parts and (parts[-1] is False or parts[-1] is End.OPEN):
        parts = parts[:-1]
    return Call(kind, tuple(lower(part) for part in parts))


B = TypeVar("B", bound=Collection)


class FormedValue(Value):
    """A collection value in another representation, such as an Arrow table."""

    @abstractmethod
    def value(self) -> Any:
        """Convert to a value of the base collection."""


class Form(Collection, Generic[B]):
    """A collection in another representation: the same values, as instances of `FormedValue`."""

    def __init__(self, base: B) -> None:
        self.base = base

    @abstractmethod
    def formed(self, value: object) -> Value:
        """Convert a value of the base collection to this representation."""

    def accepts(self, other: Collection) -> bool:
        return isinstance(other, Form) and type(other) is type(self) and self.base.accepts(other.base)

    def value(self, data: Any) -> Value:
        return self.formed(self.base.value(data))

    def pieces(self, data: object) -> list[list[Value]]:
        return [[self.formed(piece) for piece in part] for part in self.base.pieces(data)]

    def plain(self, value: FormedValue) -> Any:
        return self.base.plain(value.value())

    def parts(self) -> tuple[Any, ...]:
        return (self.base,)

    def __str__(self) -> str:
        return str(self.base)

    def in_full(self) -> str:
        return self.base.in_full()
