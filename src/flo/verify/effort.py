"""How hard a check tries: how many elements, how many random inputs, from which seed, and for how long."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from flo.core.operator import Operator
from flo.verify.data.examples import beside, constants
from flo.verify.data.given import Given

LEAST_SECONDS = 1.0
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

    def rest(self) -> Effort:
        """The time that is left, or a moment for what has not been tried at all."""
        return replace(self, seconds=max(LEAST_SECONDS, self.left()), began=time.monotonic())

    def with_constants_of(self, function: Any) -> Effort:
        """With the values that the function speaks of."""
        return replace(self, given=self.given.with_constants_of(function))

    def around(self, operators: Iterable[Operator]) -> Effort:
        """Also with the values that these operators speak of, in their fields, functions and methods."""
        spoken = dict.fromkeys(value for operator in operators for value in spoken_of(operator))
        return replace(self, given=Given(self.given.values, (*self.given.constants, *spoken)))

    def small_over(self) -> bool:
        """Whether that for small inputs is."""
        return self.left() <= (1 - SMALL_SHARE) * self.seconds


def spoken_of(operator: Operator) -> Iterator[Any]:
    """Numbers and strings in an operator: its fields and their functions, and what the user wrote into its class."""
    names: list[str] = [each.name for each in fields(operator)] if is_dataclass(operator) else []
    for part in (getattr(operator, name) for name in names):
        yield from constants(part)
        for value in part if isinstance(part, tuple) else (part,):
            yield from beside(value)
    for kind in type(operator).__mro__:
        if kind.__module__.partition(".")[0] not in ("flo", "abc", "builtins", "typing"):
            for item in vars(kind).values():
                yield from constants(item) or beside(item if not isinstance(item, str) else None)
