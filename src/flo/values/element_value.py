"""Base classes of sequences, bags, sets and z-sets: elements that are consumed unit by unit, and an end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar, Generic, Self, TypeVar

from flo.core.collection import Collection, End, Value
from flo.core.elements import Misfit, find_misfit, find_mismatch
from flo.core.errors import ElementError, brief
from flo.core.type_names import row_columns, type_in_full, type_name
from flo.core.type_relations import accepts
from flo.core.untyped import Element, ElementFunction, TypeForm, Unit
from flo.values.canonical import instant_element
from flo.values.changes import shape_of

T_co = TypeVar("T_co", covariant=True)
Same_co = TypeVar("Same_co", bound=Collection, covariant=True)
Untyped_co = TypeVar("Untyped_co", bound=Collection, covariant=True)


class ElementValue(Value):
    """A value made of units. A unit is an element, or an element with its weight."""

    __slots__ = ()

    suffix: ClassVar[str]
    """The suffix of rule names on this collection: `map` on sequences, `map-bag` on bags."""
    end_suffix: ClassVar[str] = "-terminated"

    @abstractmethod
    def units(self) -> Iterator[tuple[Unit, Self]]:
        """Yield every unit that a step may consume next, with the rest that remains."""

    @abstractmethod
    def all_units(self) -> list[Unit]:
        """Return all units, in an order in which they may be consumed."""

    @abstractmethod
    def elements_list(self) -> list[Element]:
        """Return the distinct elements."""

    @classmethod
    @abstractmethod
    def of(cls, units: Iterable[Unit], end: End = End.OPEN) -> Self:
        """Return the value of these units."""

    @classmethod
    @abstractmethod
    def mapped(cls, f: ElementFunction, units: list[Unit]) -> Self: ...

    @classmethod
    @abstractmethod
    def filtered(cls, keep: ElementFunction, units: list[Unit]) -> Self: ...

    @classmethod
    @abstractmethod
    def flat_mapped(cls, f: Callable[[Element], Iterable[Element]], units: list[Unit]) -> Self: ...

    @abstractmethod
    def ended(self, end: End) -> Self:
        """Return the same elements with this end."""

    @classmethod
    def terminator(cls) -> Self:
        """Return ⊗ as a delta."""
        return cls.of((), End.ARRIVED)

    def empty(self) -> Self:
        return self.of(())

    def fix(self) -> Self:
        return self if self.fixed() else self.ended(End.ARRIVED)

    def drained(self) -> Self:
        """Return the value without its elements: `[⊗]` if the end has arrived, else `[]`."""
        return self.of((), self.end)

    def passed(self) -> Self:
        """Return ⊗: the end was passed on."""
        return self.of((), End.PASSED)

    def ending(self) -> bool:
        """Return whether it is `[⊗]`: only the end is left to pass on."""
        return self.end is End.ARRIVED and not self.size() > 1

    def send(self, at_most: int | None = None) -> tuple[Self, Self]:
        if at_most is None or at_most >= self.size() - (self.end is End.ARRIVED):
            return self.take()
        units = self.all_units()
        return self.of(units[at_most:], self.end), self.of(units[:at_most])

    def take(self) -> tuple[Self, Self]:
        return (self.passed() if self.end is End.ARRIVED else self.drained()), self


class ElementCollection(Collection, Generic[T_co]):
    """A collection of elements of one Python type."""

    value_class: ClassVar[type[Element]]
    unordered: ClassVar[bool] = True

    def __init__(self, element: Element = Any) -> None:
        self.element = element

    def bottom(self) -> Element:
        return self.value_class.of(())

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, self.value_class):
            return f"a {value.kind} is not a {self}"
        elements = value.elements_list()
        wrong = find_mismatch(elements, self.element)
        return None if wrong is None else f"{elements[wrong]!r} is not of type {type_name(self.element)}"

    def accepts(self, other: Collection) -> bool:
        return type(other) is type(self) and accepts(self.element, other.element)

    def checked(self, elements: list[Element]) -> list[Element]:
        """Return the elements in canonical form. Raises at the first one that does not belong to the type."""
        shape = shape_of(self.element)
        elements = elements if shape is None else shape.changes(self.element, elements)
        position = find_mismatch(elements, self.element)
        reason = f"not of type {type_name(self.element)}"
        if position is None and self.unordered:
            position = first_unhashable(elements)
            reason = f"not hashable, which elements of a {self.name} must be"
        if position is None and (misfit := find_misfit(elements, self.element)) is not None:
            raise self._misfit_error(elements, misfit)
        if position is not None:
            given = elements[position]
            error = ElementError(
                f"element {position} of {{input}} is {reason}",
                facts=(
                    ("given", brief(given, 120)),
                    ("type", type_name(type(given))),
                    *_differences(given, self.element),
                    ("{input}", str(self)),
                ),
            )
            error.position = position
            raise error
        if any(instant_element[kind] is not None for kind in set(map(type, elements))):
            return list(map(instant_element, elements))
        return elements

    def _misfit_error(self, elements: list[Element], misfit: Misfit) -> ElementError:
        position, name, kind, value = misfit
        wanted = type_name(kind)
        instead = (
            []
            if value is not None
            else [(f"{name}: {wanted} | None", f"in {type_name(self.element)}, if it may be null")]
        )
        error = ElementError(
            f"`{name}` of element {position} of {{input}} is {brief(value)}; expected {wanted}",
            facts=(
                ("given", brief(elements[position], 120)),
                *([("type", type_name(type(value)))] if value is not None else []),
                ("{input}", str(self)),
            ),
            instead=tuple(instead),
        )
        error.position = position
        return error

    def value(self, data: Any) -> Any:
        return self._value(data if isinstance(data, Mapping) else self.gathered(data))

    def gathered(self, data: object) -> list[Element]:
        """Return the elements of an iterable. An exception of the iterable becomes an error about the input."""
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__"):
            raise ElementError(
                f"{{input}} must be an iterable of elements on values; got a {type(data).__name__}",
                facts=(("{input}", str(self)),),
                instead=(("flow.on(flo.here).run(…), or .loop()", "on tables, which takes tables and frames"),),
            )
        is_row = type(data) is self.element and hasattr(data, "_fields")
        if is_row or isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
            is_file = isinstance(data, (str, PurePath)) and self.element is not str
            raise ElementError(
                f"{{input}} must be an iterable of elements; got one {type(data).__name__}",
                facts=(("given", brief(data)), ("{input}", str(self))),
                instead=(
                    ("flow.on(flo.here).run(…), or .loop()", "on tables, which reads files")
                    if is_file
                    else (f"[{brief(data, 30)}]", "a list with one element"),
                ),
            )
        items: list[Element] = []
        try:
            items.extend(data)
        except Exception as fault:
            raised = f"raised {type(fault).__name__} after {len(items)} elements: {fault}"
            raise ElementError(f"the data of {{input}} {raised}") from fault
        return items

    def pieces(self, data: object) -> list[list[Value]]:
        return [[self.value_class.of([unit])] for unit in self.value(data).all_units()]

    @abstractmethod
    def _value(self, data: Any) -> Any:
        """Return the open value of a list of elements, or of a mapping to weights."""

    def parts(self) -> tuple[Any, ...]:
        return (self.element,)

    def __str__(self) -> str:
        return self.name if self.element is Any else f"{self.name}[{type_name(self.element)}]"

    def in_full(self) -> str:
        return self.name if self.element is Any else f"{self.name}[{type_in_full(self.element)}]"


def _differences(given: object, kind: TypeForm) -> tuple[tuple[str, str], ...]:
    """Return the columns that a dict lacks to be a row, and those that it has besides."""
    columns = [name for name, _ in row_columns(kind)] if isinstance(given, Mapping) else []
    missing = [name for name in columns if name not in given]  # type: ignore[operator]  # it is a mapping
    others = [str(name) for name in given if name not in columns] if columns else []  # type: ignore[attr-defined]
    named = (("missing", ", ".join(missing)), ("unknown", ", ".join(others)))
    return tuple((label, names) for label, names in named if names)


class ElementKind(ElementCollection[T_co], Generic[T_co, Same_co, Untyped_co]):
    """A collection of elements that tells type checkers its own type, and its type with elements of any type.

    So a verb of sequences, bags, sets and z-sets needs one signature: `filter` returns the same type, and `select` rows
    of a type that only Flo knows.
    """


class Windowable(Collection, Generic[T_co, Same_co]):
    """A collection that tells type checkers what its windows are: sequences, or bags if it has no order."""


def first_unhashable(elements: list[Any]) -> int | None:
    """Return the position of the first element that cannot be hashed; None if all can."""
    try:
        set(elements)
    except TypeError:
        for position, element in enumerate(elements):
            try:
                hash(element)
            except TypeError:
                return position
    return None
