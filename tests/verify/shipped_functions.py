"""Functions such as users fold with: laws that the solver proves of them, and laws that they break."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flo
from flo.verify.laws import ADDITIVE, ASSOCIATIVE, COMMUTATIVE, IDEMPOTENT, Law
from flo.verify.report import Report
from tests.verify.shipped import NO_LIMIT


def total(a: int, x: int) -> int:
    return a + x


def greatest(a: int, x: int) -> int:
    return max(a, x)


def least(a: int, x: int) -> int:
    return x if x < a else a


def united(a: frozenset[int], x: frozenset[int]) -> frozenset[int]:
    return a | x


def weighted(a: int, x: tuple[int, int]) -> int:
    """A weighted counter: so many of what counts so much."""
    return a + x[0] * x[1]


def up_and_down(a: tuple[int, int], x: int) -> tuple[int, int]:
    return (a[0] + x, a[1]) if x > 0 else (a[0], a[1] - x)


def sum_and_count(a: tuple[int, int], x: int) -> tuple[int, int]:
    """What an average should be kept as."""
    return (a[0] + x, a[1] + 1)


def tripled(element: str, weight: int) -> int:
    return 3 * weight


def average(a: float, x: float) -> float:
    """An average of averages."""
    return (a + x) / 2


def last(a: int, x: int) -> int:
    return x


def doubling(a: int, x: int) -> int:
    return 2 * a + x


def float_total(a: float, x: float) -> float:
    return a + x


def at_most_ten(element: str, weight: int) -> int:
    return min(weight, 10)


@dataclass(frozen=True)
class Function:
    f: Callable[..., Any]
    proved: tuple[Law, ...] = ()
    broken: tuple[Law, ...] = ()

    def reports(self) -> list[Report]:
        """One for each law."""
        return [flo.verify.check(self.f, laws=[law], work=NO_LIMIT) for law in (*self.proved, *self.broken)]

    def __str__(self) -> str:
        return self.f.__name__


FUNCTIONS = (
    Function(total, proved=(COMMUTATIVE, ASSOCIATIVE), broken=(IDEMPOTENT,)),
    Function(greatest, proved=(COMMUTATIVE, ASSOCIATIVE, IDEMPOTENT)),
    Function(least, proved=(COMMUTATIVE, ASSOCIATIVE, IDEMPOTENT)),
    Function(united, proved=(COMMUTATIVE, ASSOCIATIVE, IDEMPOTENT)),
    Function(weighted, proved=(COMMUTATIVE,)),
    Function(up_and_down, proved=(COMMUTATIVE,)),
    Function(sum_and_count, proved=(COMMUTATIVE,)),
    Function(tripled, proved=(ADDITIVE,)),
    Function(average, broken=(COMMUTATIVE, ASSOCIATIVE)),
    Function(last, proved=(ASSOCIATIVE, IDEMPOTENT), broken=(COMMUTATIVE,)),
    Function(doubling, broken=(COMMUTATIVE, ASSOCIATIVE)),
    Function(float_total, broken=(COMMUTATIVE, ASSOCIATIVE)),
    Function(at_most_ten, broken=(ADDITIVE,)),
)
