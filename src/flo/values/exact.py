"""Exact sums, independent of the order of summation (docs/deviations.md, 11).

Every finite number is a ratio of integers and is added as such. Nothing is rounded before the result is read, and
retracted numbers cancel exactly. Infinities and NaN are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Annotated, Any, get_args, get_origin

from flo.core.errors import ElementError
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.core.type_relations import without_none
from flo.core.untyped import TypeForm

KINDS = ("int", "Decimal", "Fraction", "float")
"""The kinds of numbers; a sum has the last of the kinds of its terms."""
ORDER = {name: place for place, name in enumerate((*KINDS, "inf", "-inf", "nan"))}

NAN = math.nan
DECIMAL_NAN = Decimal("NaN")

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
PLACES = 18
"""The decimal places of a quotient of decimals, unless the dividend has more; the same as in columns."""


@dataclass(frozen=True)
class Digits:
    """The width of a column of decimals: `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    def __repr__(self) -> str:
        return f"{self.precision} digits" + (f", {self.scale} places" if self.scale else "")

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


WIDEST = 38
"""The number of decimal digits that fit into 128 bits."""
IntSum = Annotated[int, Digits(WIDEST, 0)]
"""The type of integer sums: 128 bits on tables and on Spark, and 64 where a result leaves the program."""
ALL_DIGITS = "all digits"
Int128 = Annotated[int, Digits(WIDEST, 0), ALL_DIGITS]
"""An `int` with a 128-bit column, also where a result leaves the program."""


def is_wide_int(kind: TypeForm) -> bool:
    """Return whether it is an integer of 128 bits."""
    return kind in (IntSum, Int128)


def plain_type(kind: TypeForm) -> TypeForm:
    """Return the Python type without annotations."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def sum_type(kind: TypeForm) -> TypeForm:
    """Return the type of a sum: 128 bits for integers; 38 digits for decimals, with unchanged scale."""
    plain, digits = plain_type(kind), digits_of(kind)
    if plain in (int, bool):
        return IntSum
    if plain is Decimal and digits is not None:
        return _decimals(digits.precision, digits.scale)
    return plain if plain in (float, Decimal, Fraction) else Any


def mean_type(kind: TypeForm) -> TypeForm:
    """Return the type of an average: float for integers and floats; for decimals, 38 digits with as many before the
    point as the column has, and up to 18 after it."""
    plain, digits = plain_type(kind), digits_of(kind)
    if plain in (int, bool):
        return float
    if plain is Decimal and digits is not None:
        return _decimals(digits.precision, mean_places(kind))
    return plain if plain in (float, Decimal, Fraction) else Any


def mean_places(kind: TypeForm) -> int:
    """Return the number of decimal places of an average."""
    digits = digits_of(kind)
    if digits is None:
        return PLACES
    room = max(WIDEST, digits.precision) - (digits.precision - digits.scale)
    return max(digits.scale, min(PLACES, room))


def digits_of(kind: TypeForm) -> Digits | None:
    """Return the digits annotated on `Decimal`, by Arrow's type or ours; None if there are none."""
    notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    sized = [note for note in notes if hasattr(note, "precision") and hasattr(note, "scale")]
    return Digits(sized[0].precision, sized[0].scale) if sized else None


def width_of(kind: TypeForm) -> Digits | None:
    """Return the digits of a column of this type, with or without None; None if it does not have decimals.

    A plain `Decimal` has the width that it has on tables.
    """
    kind = without_none(kind)[1]
    return Digits(WIDEST, PLACES) if kind is Decimal else digits_of(kind)


def expect_width(number: object, width: Digits, group: object) -> None:
    """Raise if a sum or an average has more digits than its column. `group` is named in the error."""
    size = number.copy_abs() if isinstance(number, Decimal) else abs(number) if isinstance(number, int) else 0
    if number == number and size != math.inf and size >= 10 ** (width.precision - width.scale):
        raise too_large(number, f"{width.precision} digits", group)


def too_large(number: object, limit: str, group: Any) -> ElementError:
    """Return the error for a result that does not fit its column."""
    return ElementError(
        f"a sum or average of {{input}} does not fit the {limit} of its column",
        facts=(("group", group), ("result", str(number))),
        instead=(("a function that returns floats", "whose sums are rounded"),),
        index=0,
    )


def _decimals(precision: int, scale: int) -> Any:
    return Annotated[Decimal, Digits(max(WIDEST, precision), scale)]


@dataclass(frozen=True, slots=True)
class Exact(Lowerable):
    """Σ weight · number, as (kind, total, weight) for every kind of number that did not cancel.

    Infinities and NaN are counted under `inf`, `-inf` and `nan`. All parts are linear, so the order has no effect.
    """

    parts: tuple[tuple[str, int | Fraction, int], ...] = ()

    def added(self, numbers: Iterable[tuple[Any, int]]) -> Exact:
        """Add these numbers, each multiplied by its weight."""
        totals: dict[str, int | Fraction] = {}
        weights: dict[str, int] = {}
        for kind, total, weight in self.parts:
            totals[kind], weights[kind] = total, weight
        for number, weight in numbers:
            kind, exact, special = terms(number)
            totals[kind] = totals.get(kind, 0) + exact * weight
            weights[kind] = weights.get(kind, 0) + weight
            if special:
                totals[special], weights[special] = 0, weights.get(special, 0) + weight
        kept = [kind for kind in sorted(totals, key=ORDER.__getitem__) if totals[kind] or weights[kind]]
        return Exact(tuple((kind, totals[kind], weights[kind]) for kind in kept))

    def value(self) -> Any:
        """Return the sum, rounded once: an int for ints, a Decimal for decimals, a float if any term is one."""
        return self.over(None)

    def mean(self, weight: int, places: int = PLACES) -> Any:
        """Return the sum divided by a weight, rounded once: a float, a Decimal with `places` places, or a Fraction."""
        return self.over(weight, places)

    def over(self, weight: int | None, places: int = PLACES) -> Any:
        """Return the sum divided by a weight; the sum itself if the weight is None."""
        kind = next((name for name, _, _ in reversed(self.parts) if name in KINDS), "int")
        special = self._special(-1 if weight is not None and weight < 0 else 1)
        if special is not None:
            if kind == "Decimal":
                return DECIMAL_NAN if math.isnan(special) else Decimal(special)
            return special
        total = sum(total for _, total, _ in self.parts)
        if weight is None:
            return _FINISH[kind](total)
        if kind == "Decimal":
            return divided_decimal(total, weight, places)
        return _DIVIDE[kind](Fraction(total) / weight)

    def _special(self, sign: int) -> float | None:
        """Return the infinity or NaN that the sum is; None if the sum is finite."""
        weights = {kind: weight for kind, _, weight in self.parts}
        up, down = weights.get("inf", 0) * sign, -weights.get("-inf", 0) * sign
        if "nan" in weights or up * down < 0:
            return NAN
        return math.copysign(math.inf, up or down) if up or down else None

    def lower(self, lower: Lowering) -> Term:
        return Call("exact", (lower(self.parts),))


register("exact", Exact)


def terms(number: object) -> tuple[str, int | Fraction, str]:
    """Return (kind, exact value, name under which a non-finite number is counted)."""
    if isinstance(number, int):
        return "int", int(number), ""
    if isinstance(number, float):
        if math.isfinite(number):
            return "float", Fraction(number), ""
        return "float", Fraction(0), "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
    if isinstance(number, Decimal):
        if number.is_finite():
            return "Decimal", Fraction(number), ""
        return "Decimal", Fraction(0), "nan" if number.is_nan() else "inf" if number > 0 else "-inf"
    if isinstance(number, Integral):
        return "int", int(number), ""
    if isinstance(number, Rational):
        return "Fraction", Fraction(number), ""
    raise TypeError(f"exact sums take int, float, Decimal and Fraction; got {number!r}")


def to_float(ratio: int | Fraction) -> float:
    """Return the nearest float; an infinity if out of range."""
    return divided_float(ratio.numerator, ratio.denominator)


def divided_float(number: int, divisor: int) -> float:
    """Return the float nearest to the quotient; an infinity if out of range."""
    try:
        return number / divisor  # of integers, rounded once
    except OverflowError:
        return math.inf if (number > 0) == (divisor > 0) else -math.inf


def root_of(square: Fraction) -> float:
    """Return the float nearest to the square root, rounded once from 60 binary digits more than a float has."""
    if square <= 0:
        return 0.0
    shift = max(0, 240 - (square.numerator.bit_length() - square.denominator.bit_length()))
    shift += shift % 2
    return to_float(Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << shift // 2))


def to_decimal(ratio: int | Fraction) -> Decimal:
    """Convert to an equal Decimal. It exists because the denominator of a sum of decimals only has factors 2 and 5."""
    ratio = Fraction(ratio)
    places = decimal_places(ratio)
    digits = ratio.numerator * (10**places // ratio.denominator)
    return Decimal(digits).scaleb(-places, _EXACT)


def decimal_places(ratio: int | Fraction) -> int:
    """Return the number of decimal places needed to write the ratio exactly."""
    rest, places = ratio.denominator, 0
    while rest > 1:
        rest //= math.gcd(rest, 10)
        places += 1
    return places


def divided_decimal(total: int | Fraction, weight: int, places: int = PLACES) -> Decimal:
    """Return the nearest decimal with `places` places; ties go to the even one."""
    unit = 10 ** max(places, decimal_places(total))
    return to_decimal(Fraction(round(Fraction(total) / weight * unit), unit))


_FINISH: dict[str, Any] = {"int": int, "Decimal": to_decimal, "Fraction": Fraction, "float": to_float}
_DIVIDE: dict[str, Any] = {
    "int": to_float,
    "Fraction": Fraction,
    "float": to_float,
}
