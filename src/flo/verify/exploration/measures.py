"""Whether a measure falls in an order in which nothing falls for ever."""

from __future__ import annotations

from typing import Any

from flo.core.errors import brief
from flo.core.operator import Operator

NOT_FALLING = "the measure does not fall"


def why_not_falling(before: Any, after: Any) -> str | None:
    """What is wrong with the measures before and after a step, if anything is."""
    for each in (before, after):
        if not isinstance(each, tuple) or not is_measure(each):
            return f"a measure is a tuple of naturals, or of such tuples, and is {brief(each)}"
    return None if falls(before, after) else NOT_FALLING


def measure_advice(operator: Operator, reason: str) -> str:
    """What to do about it: with the measure that the operator defines, if it defines one."""
    if type(operator).measure is Operator.measure:
        return "consume something of the input at each step, or define a `measure` that falls"
    if reason != NOT_FALLING:
        return "let `measure` give a tuple of whole numbers, 0 or more"
    return "let every step lower what `measure` gives: the first number that changes gets smaller"


def is_measure(place: Any) -> bool:
    if isinstance(place, tuple):
        return all(map(is_measure, place))
    return isinstance(place, int) and place >= 0


def falls(before: Any, after: Any) -> bool:
    """Lexicographically; a tuple does not get longer, as (1,), (0, 1), (0, 0, 1), … would fall for ever."""
    if not (isinstance(before, tuple) and isinstance(after, tuple)):
        return isinstance(before, int) and isinstance(after, int) and after < before
    if len(after) > len(before):
        return False
    pairs = zip(before, after, strict=False)
    return next((falls(one, other) for one, other in pairs if one != other), len(after) < len(before))
