"""Ordered sequences (figure "collection type and concatenation operator for ordered sequences").

The paper writes the newest element on the left; in memory the oldest comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flo.core.collection import End, Value
from flo.core.errors import OrderError, brief
from flo.core.persistent import Elements
from flo.core.term import Call, Lowering, Term
from flo.core.untyped import Element, ElementFunction, Unit
from flo.values.element_value import ElementKind, ElementValue, T_co, Windowable


@dataclass(frozen=True, slots=True)
class SequenceValue(ElementValue):
    """[v₁, …, vₙ] or [⊗, v₁, …, vₙ]."""

    elements: Elements[Element]
    end: End = End.OPEN

    kind = "sequence"
    suffix = ""
    end_suffix = "-terminator"

    def concat(self, delta: SequenceValue) -> SequenceValue:
        if self.end is not End.OPEN:
            return self
        return SequenceValue(self.elements.extended(delta.elements), delta.end)

    @classmethod
    def of(cls, units: Iterable[object], end: End = End.OPEN) -> SequenceValue:
        return cls(Elements.owning(units) if type(units) is list else Elements(units), end)

    def units(self) -> Iterator[tuple[Unit, SequenceValue]]:
        if self.elements:
            yield self.elements[0], SequenceValue(self.elements.dropped(1), self.end)

    def all_units(self) -> list[Unit]:
        return self.elements.to_list()

    elements_list = all_units

    @classmethod
    def mapped(cls, f: ElementFunction, units: list[Unit]) -> SequenceValue:
        return cls.of([f(element) for element in units])

    @classmethod
    def filtered(cls, keep: ElementFunction, units: list[Unit]) -> SequenceValue:
        return cls.of([element for element in units if keep(element)])

    @classmethod
    def flat_mapped(cls, f: Callable[[Element], Iterable[Element]], units: list[Unit]) -> SequenceValue:
        return cls.of([result for element in units for result in f(element)])

    def ended(self, end: End) -> SequenceValue:
        return SequenceValue(self.elements, end)

    def size(self) -> int:
        return len(self.elements) + (self.end is End.ARRIVED)

    def lower(self, lower: Lowering) -> Term:
        return Call(self.kind, (lower.many(self.elements.to_list()), self.end.lower(lower)))

    @classmethod
    def lift(cls, *parts: Any) -> SequenceValue:
        return cls(Elements(parts[0]), End.lift(parts[1]))


class Sequence(ElementKind[T_co, "Sequence[T_co]", "Sequence[Any]"], Windowable[T_co, "Sequence[T_co]"]):
    """S<V>: totally ordered; new elements are appended at the end."""

    name = "Sequence"
    value_class = SequenceValue
    unordered = False

    def value(self, data: Any) -> SequenceValue:
        if isinstance(data, (set, frozenset, dict)):
            raise OrderError(
                f"{{input}} is a Sequence, but a {type(data).__name__} has no defined order",
                facts=(("given", brief(data)),),
                instead=((f"sorted({brief(data, 30)})", "put it in order"),),
            )
        value: SequenceValue = super().value(data)
        return value

    def _value(self, data: list[Element]) -> SequenceValue:
        return SequenceValue.of(self.checked(list(data)))

    def pieces(self, data: object) -> list[list[Value]]:
        return [[SequenceValue.of([element]) for element in self.value(data).elements]]

    def plain(self, value: SequenceValue) -> list[Element]:
        return value.elements.to_list()
