"""How hard a check tries: how many elements, how many random inputs, from which seed, and for how long."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from flo.core.operator import Operator
from flo.verify.data.examples import constants
from flo.verify.data.given import Given

SMALL_SHARE = 0.6
"""The part of the time that is for small inputs; what they leave is for random ones."""


@dataclass(frozen=True)
class Effort:
    given: Given = field(default_factory=Given)
    most: int = 3
    """Elements of a small input."""
    tries: int = 200
    """Random inputs."""
    seed: int = 0
    seconds: float = 10.0
    began: float = field(default_factory=time.monotonic)

    def over(self) -> bool:
        """Whether the time is."""
        return self.left() <= 0

    def left(self) -> float:
        return self.began + self.seconds - time.monotonic()

    def around(self, operators: Iterable[Operator]) -> Effort:
        """Also with the values that these operators speak of, in their fields and their functions."""
        near = dict.fromkeys(value for operator in operators for value in spoken_of(operator))
        return replace(self, given=Given(self.given.values, (*self.given.near, *near)))

    def small_over(self) -> bool:
        """Whether that for small inputs is."""
        return self.left() <= (1 - SMALL_SHARE) * self.seconds


def spoken_of(operator: Operator) -> Iterator[Any]:
    """Numbers and strings in the fields of an operator and in its functions, and what is next to them."""
    names: list[str] = [each.name for each in fields(operator)] if is_dataclass(operator) else []
    for part in (getattr(operator, name) for name in names):
        if callable(part):
            yield from constants(part)
        for value in part if isinstance(part, tuple) else (part,):
            if type(value) in (int, float):
                yield from (value, value - 1, value + 1)
            elif isinstance(value, str):
                yield value
