"""Aggregates of the sums of values and of their products: variance, covariance and correlation."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flo.values.exact import Exact, root_of, to_float
from flo.values.operators.group_aggregates import Linear


@dataclass(frozen=True)
class Moments(Linear):
    """An aggregate of the sums of x, y, x², xy and y²; products are exact, and the result is rounded once.

    An infinity or a NaN among the values makes it NaN.
    """

    def numbers(self, *arguments: object) -> tuple[Any, ...]:
        exact = [_ratio(argument) for argument in arguments]
        if None in exact:
            return (math.nan,) * (len(exact) * (len(exact) + 3) // 2)
        products = [one * other for place, one in enumerate(exact) for other in exact[place:]]  # type: ignore[operator]
        return (*exact, *products)

    def finished(self, count: int, sums: tuple[Exact, ...]) -> Any:
        totals = [each.value() for each in sums]
        if any(isinstance(total, float) for total in totals):
            return math.nan
        return self.of_moments(count, *map(Fraction, totals))

    @abstractmethod
    def of_moments(self, count: int, *sums: Fraction) -> float | None:
        """Return the result from the sums of the values and of their products."""


def _ratio(number: Any) -> Fraction | None:
    """Return the number as a ratio; None if it is not finite."""
    finite = number.is_finite() if isinstance(number, Decimal) else math.isfinite(number)
    return Fraction(number) if finite else None


@dataclass(frozen=True)
class Variance(Moments):
    """variance(x), or its square root: of a sample (`less` is 1) or of all values (`less` is 0)."""

    less: int = 1
    root: bool = False

    name = "variance"

    def of_moments(self, count: int, *sums: Fraction) -> float | None:
        total, squares = sums
        if count <= self.less:
            return None
        variance = (squares - total * total / count) / (count - self.less)
        return root_of(variance) if self.root else to_float(variance)


@dataclass(frozen=True)
class Covariance(Moments):
    """covar(x, y): of a sample (`less` is 1) or of all values (`less` is 0)."""

    less: int = 1

    name = "covariance"

    def of_moments(self, count: int, *sums: Fraction) -> float | None:
        x, y, _, xy, _ = sums
        return None if count <= self.less else to_float((xy - x * y / count) / (count - self.less))


@dataclass(frozen=True)
class Correlation(Moments):
    """corr(x, y): Pearson's coefficient; NaN if x or y does not vary."""

    name = "correlation"

    def of_moments(self, count: int, *sums: Fraction) -> float | None:
        x, y, xx, xy, yy = sums
        both, one, other = count * xy - x * y, count * xx - x * x, count * yy - y * y
        return correlated(both, one, other)


def correlated(both: Fraction, one: Fraction, other: Fraction) -> float:
    """Return the correlation from the covariance and both variances, in any common unit."""
    if one <= 0 or other <= 0:
        return math.nan
    return math.copysign(root_of(both * both / (one * other)), 1 if both >= 0 else -1)
