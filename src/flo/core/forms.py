"""Other forms of collections: the same data, and the same type to people, in values of another kind."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from flo.core.collection import Collection, Value
from flo.core.term import Call, Lowering, Term

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
