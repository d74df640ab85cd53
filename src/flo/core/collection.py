"""L^C, collection languages (§3.2): values, `++`, the empty delta, fix and fixed, types, lifting and lowering.

A `Value` is a c ∈ C and knows its own `++`, as in the paper, where `++ : C × C → C` is one function on all of C: what
stands on its right, a delta, is a value too. A `Collection` is a τ ∈ T^C: it says which values belong to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin

from flo.core.errors import CollectionError
from flo.core.term import PASSED, Call, Lowerable, Lowering, Term, register


class End(Lowerable, Enum):
    """How far the terminator ⊗ of a value has come.

    The paper writes `[⊗, …]` for "the end has arrived" and a bare `⊗` for "a step has passed it on". These must
    differ, or `map-terminator` is enabled for ever (docs/deviations.md, 9).
    """

    OPEN = 0
    ARRIVED = 1
    PASSED = 2

    def lower(self, lower: Lowering) -> Term:
        return PASSED if self is End.PASSED else self is End.ARRIVED

    @staticmethod
    def lift(term: Any) -> End:
        return term if isinstance(term, End) else End.ARRIVED if term else End.OPEN


register(PASSED.name, lambda: End.PASSED)


class Value(Lowerable, ABC):
    """c ∈ C: a concrete, finite collection value. Immutable: every method gives another value."""

    __slots__ = ()

    kind: ClassVar[str]
    """The name of the expression that the value lowers to."""

    @abstractmethod
    def concat(self, delta: Self) -> Self:
        """`self ++ delta`."""

    @abstractmethod
    def empty(self) -> Self:
        """∅, the identity on the right of `++`."""

    @abstractmethod
    def fix(self) -> Self:
        """The equivalent value that is fixed."""

    @abstractmethod
    def fixed(self) -> bool:
        """∀c'. self ++ c' = self."""

    @abstractmethod
    def take(self) -> tuple[Self, Self]:
        """(what stays behind, what can be sent on): the second holds all content, and the end if it has arrived."""

    @abstractmethod
    def send(self, at_most: int | None = None) -> tuple[Self, Self]:
        """(what stays, what is sent) when the event loop sends a part of an output: so many elements, or all."""

    @abstractmethod
    def size(self) -> int:
        """How much steps can still consume: elements, and an end that was not passed on."""

    @abstractmethod
    def lower(self, lower: Lowering) -> Term:
        """⌊·⌋^C: the expression of this value."""

    @classmethod
    @abstractmethod
    def lift(cls, *parts: Any) -> Value:
        """⟦·⟧^C: the value of an expression, given its lifted parts."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            register(cls.kind, cls.lift)


class Collection(Lowerable, ABC):
    """τ ∈ T^C: a set of collection values, closed under `++`."""

    name: ClassVar[str]

    @staticmethod
    def of(annotation: Any) -> Collection:
        """The collection that `Sequence[int]`, `Sequence` or `Sequence(int)` stands for."""
        if isinstance(annotation, Collection):
            return annotation
        kind = get_origin(annotation) or annotation
        if isinstance(kind, type) and issubclass(kind, Collection):
            return kind.parameterised(*get_args(annotation))
        raise CollectionError(
            f"{annotation!r} is not a collection",
            instead=(("flo.Sequence[int]", "or Bag, Set, LVar, ZSet, Keyed, Nested of something"),),
        )

    @classmethod
    def parameterised(cls, *parameters: Any) -> Collection:
        return cls(*parameters)

    @abstractmethod
    def bottom(self) -> Value:
        """⊥: the value of a stream that nothing has reached yet."""

    @abstractmethod
    def mismatch(self, value: Value) -> str | None:
        """Why the value does not belong to this type; None if it does."""

    def __contains__(self, value: Value) -> bool:
        return self.mismatch(value) is None

    @abstractmethod
    def accepts(self, other: Collection) -> bool:
        """Whether every value of `other` belongs to this type, as far as element types are known."""

    @abstractmethod
    def value(self, data: Any) -> Value:
        """An open value that holds this plain Python data; refuses what is not of the element type."""

    def pieces(self, data: Any) -> list[list[Value]]:
        """The smallest deltas that plain data can be cut into: lists of deltas that arrive in order, each list at its
        own pace. Where there is no order, every element is a list of its own."""
        return [[self.value(data)]]

    @abstractmethod
    def plain(self, value: Any) -> Any:
        """The value as plain Python data, oldest element first."""

    @abstractmethod
    def lower(self, lower: Lowering) -> Term:
        """The expression of the type."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            register(cls.name, cls)


def call(kind: str, *parts: Any, lower: Lowering) -> Call:
    """`kind(parts…)`, every part lowered, but for ends that have not come and flags that are false behind the rest."""
    while parts and (parts[-1] is False or parts[-1] is End.OPEN):
        parts = parts[:-1]
    return Call(kind, tuple(lower(part) for part in parts))


B = TypeVar("B", bound=Collection)


class FormedValue(Value):
    """A value in another form."""

    @abstractmethod
    def value(self) -> Any:
        """The same value of the collection that this is a form of."""


class Form(Collection, Generic[B]):
    """The form of a collection."""

    def __init__(self, base: B) -> None:
        self.base = base

    @abstractmethod
    def formed(self, value: Any) -> Value:
        """The value of this form for one of the collection."""

    def accepts(self, other: Collection) -> bool:
        return isinstance(other, Form) and type(other) is type(self) and self.base.accepts(other.base)

    def value(self, data: Any) -> Value:
        return self.formed(self.base.value(data))

    def pieces(self, data: Any) -> list[list[Value]]:
        return [[self.formed(piece) for piece in part] for part in self.base.pieces(data)]

    def plain(self, value: FormedValue) -> Any:
        return self.base.plain(value.value())

    def lower(self, lower: Lowering) -> Term:
        return Call(self.name, (lower(self.base),))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and type(other) is type(self) and bool(other.base == self.base)

    def __hash__(self) -> int:
        return hash((type(self), self.base))

    def __str__(self) -> str:
        return str(self.base)

    __repr__ = __str__
