"""Lattices of single values: maximum, minimum, and, or, growing sums, and values that must agree."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, TypeVar

from flo.core.elements import belongs
from flo.core.type_names import type_name
from flo.core.untyped import Element, ElementFunction, TypeForm
from flo.values.exact import terms, to_decimal, to_float
from flo.values.lattice import ANYTHING, BOTTOM, TOP, Lattice, Top, with_mark

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class WithBottom(Lattice[T_co]):
    """A lattice of values of a type, with BOTTOM below them."""

    name = "_WithBottom"

    def bottom(self) -> Element:
        return BOTTOM

    def is_bottom(self, value: object) -> bool:
        return value is BOTTOM


@dataclass(frozen=True)
class _Chain(WithBottom[T_co]):
    """A total order with BOTTOM below it."""

    ordered: type[T_co] = ANYTHING

    @abstractmethod
    def _leq(self, a: object, b: object) -> bool:
        """⊑ on values other than BOTTOM."""

    def leq(self, a: object, b: object) -> bool:
        return a is BOTTOM or (b is not BOTTOM and bool(self._leq(a, b)))

    def join(self, a: Element, b: Element) -> T_co:
        if self.leq(b, a):
            return a  # type: ignore[no-any-return]
        if self.leq(a, b):
            return b  # type: ignore[no-any-return]
        raise ValueError(f"{self.name} needs a total order: neither of {a!r} and {b!r} is larger or equal")

    def mismatch(self, value: Element) -> str | None:
        if value is BOTTOM:
            return None
        if not belongs(value, self.ordered):
            return f"{value!r} is not of type {type_name(self.ordered)}"
        try:
            return None if value <= value else f"{value!r} is not equal to itself"
        except TypeError:
            return f"{value!r} has no order"

    @property
    def element(self) -> TypeForm:
        return self.ordered


@dataclass(frozen=True)
class Max(_Chain[T_co]):
    """The largest value so far, of any ordered type."""

    def _leq(self, a: Element, b: Element) -> bool:
        return a <= b  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Min(_Chain[T_co]):
    """The smallest value so far, of any ordered type."""

    def _leq(self, a: Element, b: Element) -> bool:
        return b <= a  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Truth(Lattice[bool]):
    def conflict(self, value: object) -> bool:
        return False  # ⊤ is an ordinary value

    def mismatch(self, value: object) -> str | None:
        return None if isinstance(value, bool) else f"{value!r} is not of type bool"

    @property
    def element(self) -> TypeForm:
        return bool


@dataclass(frozen=True)
class Or(_Truth):
    """False until it becomes true."""

    def bottom(self) -> bool:
        return False

    def top(self) -> bool:
        return True

    def join(self, a: object, b: object) -> bool:
        return bool(a or b)


@dataclass(frozen=True)
class And(_Truth):
    """True until it becomes false."""

    def bottom(self) -> bool:
        return True

    def top(self) -> bool:
        return False

    def join(self, a: object, b: object) -> bool:
        return bool(a and b)


_PLAIN: dict[TypeForm, ElementFunction] = {
    int: int,
    float: to_float,
    Decimal: to_decimal,
    Fraction: Fraction,
    Any: lambda number: number if isinstance(number, int) else to_float(number),
}


@dataclass(frozen=True)
class NaturalSum(Lattice[float]):
    """Numbers ≥ 0 under max: the lattice of `sum_lattice`.

    Values are exact, ints or Fractions; `plain` rounds them once, to the type of the summed numbers.
    """

    number: Any = Any

    def bottom(self) -> float:
        return 0

    def join(self, a: Element, b: Element) -> Element:
        return a if a >= b else b

    def leq(self, a: Element, b: Element) -> bool:
        return bool(a <= b)

    def mismatch(self, value: object) -> str | None:
        kinds = (int,) if self.number is int else (int, Fraction)
        if not isinstance(value, kinds) or isinstance(value, bool):
            return f"{value!r} is not a finite number of type {type_name(self.number)}"
        return f"{self.plain(value)!r} is below 0" if value < 0 else None

    @property
    def element(self) -> TypeForm:
        return int | float if self.number is Any else self.number

    def value(self, data: Element) -> Element:
        """Return the exact number. Anything that is not a number is returned unchanged."""
        try:
            _, exact, special = terms(data)
        except TypeError:
            return data
        return data if special else canonical(exact)

    def plain(self, value: Element) -> Element:
        return _PLAIN.get(self.number, _PLAIN[Any])(value)


def canonical(number: int | Fraction) -> int | Fraction:
    """Return an int if the number is integral."""
    return number.numerator if number.denominator == 1 else number


@dataclass(frozen=True)
class Flat(WithBottom[T_co | Top], Generic[T_co]):
    """⊥ ⊑ any value ⊑ ⊤: all deltas must agree on one value; ⊤ means that they do not."""

    agreed: type[T_co] = ANYTHING

    def top(self) -> T_co | Top:
        return TOP

    def join(self, a: Element, b: Element) -> T_co | Top:
        if b is BOTTOM or a == b:
            return a  # type: ignore[no-any-return]
        return b if a is BOTTOM else TOP

    def mismatch(self, value: object) -> str | None:
        if value is BOTTOM or value is TOP:
            return None
        if not belongs(value, self.agreed):
            return f"{value!r} is not of type {type_name(self.agreed)}"
        return None if value == value else f"{value!r} is not equal to itself"

    @property
    def element(self) -> TypeForm:
        return with_mark(self.agreed, Top)

    @property
    def ordinary(self) -> Element:
        return self.agreed
