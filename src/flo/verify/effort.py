"""The budget of a check: input sizes, number of random inputs, seed, work, and the constants to try.

Also the caveats of an operator: what its code mentions and no check can settle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from flo.core.operator import Operator
from flo.verify.data.constants import LARGEST, beside, constants, impure_calls, integers
from flo.verify.data.given import Given

WORK = 200_000
"""About ten seconds for a typical operator on a typical machine."""
LEAST_WORK = 5_000
"""The minimum for a phase that has not run when the budget is used up."""
SECONDS = 5.0
SMALL_SHARE = 0.6
"""The share of the work for small inputs; the rest is for larger ones."""


@dataclass
class Meter:
    """Counts what was done: a state that was looked at, steps that were computed, an `advance`, an equation.

    That is the same on every machine, however busy: what a check finds does not depend on a clock.
    """

    done: int = 0

    def progress(self) -> int:
        return self.done


@dataclass(frozen=True)
class Effort:
    given: Given = field(default_factory=Given)
    most: int = 3
    """Elements of a small input."""
    tries: int = 200
    """Random inputs."""
    seed: int = 0
    work: int = WORK
    """The budget, in units of the meter."""
    seconds: float = SECONDS
    """The processor time after which one call of a function is aborted."""
    meter: Meter = field(default_factory=Meter)

    def over(self) -> bool:
        """Whether the budget is used up."""
        return self.left() <= 0

    def left(self) -> int:
        return self.work - self.meter.done

    def rest(self) -> Effort:
        """The remaining budget, but at least the minimum."""
        return replace(self, work=max(LEAST_WORK, self.left()), meter=Meter())

    def with_constants_of(self, function: Any) -> Effort:
        """With the constants that the function mentions."""
        return replace(self, given=self.given.with_constants_of(function))

    def with_constants_in(self, operators: Iterable[Operator]) -> Effort:
        """Also with the values that these operators mention in their fields, functions and methods."""
        found = list(operators)
        mentioned = dict.fromkeys(value for operator in found for value in constants_in(operator))
        numbers = dict.fromkeys(value for operator in found for item in code_of(operator) for value in integers(item))
        given = Given(self.given.values, (*self.given.constants, *mentioned), (*self.given.integers, *numbers))
        return replace(self, given=given)

    def small_over(self) -> bool:
        """Whether the share for small inputs is used up."""
        return self.left() <= (1 - SMALL_SHARE) * self.work


def is_shipped(kind: type) -> bool:
    """Whether the class comes with Flo; the seeded ones stand for those of users."""
    return kind.__module__.startswith(("flo.core.", "flo.values.", "flo.columns.", "flo.tables."))


def code_of(operator: Operator) -> list[Any]:
    """Where an operator may mention constants: the values of its fields, and what the user wrote into its class."""
    names: list[str] = [each.name for each in fields(operator)] if is_dataclass(operator) else []
    return [*(getattr(operator, name) for name in names), *_written(type(operator))]


def _written(kind: type) -> Iterator[Any]:
    """The attributes and methods of those of its classes that Flo does not ship."""
    for owner in kind.__mro__:
        if not is_shipped(owner) and owner.__module__ not in ("abc", "builtins", "typing"):
            yield from (item for name, item in vars(owner).items() if name not in ("name", "arity", "__firstlineno__"))


def integers_in(kind: type) -> list[int]:
    """The integers that the user wrote into a class."""
    return [number for item in _written(kind) for number in integers(item)]


def constants_in(operator: Operator) -> Iterator[Any]:
    """Numbers and strings in an operator."""
    names: list[str] = [each.name for each in fields(operator)] if is_dataclass(operator) else []
    for part in (getattr(operator, name) for name in names):
        yield from constants(part)
        for value in part if isinstance(part, tuple) else (part,):
            yield from beside(value)
    for item in _written(type(operator)):
        yield from constants(item) or beside(item if not isinstance(item, str) else None)


def caveats(operators: Iterable[Operator]) -> tuple[str, ...]:
    """What no check can settle: calls that depend on more than their arguments, and sizes that are never reached.

    Sizes count only in classes of the user: those that Flo ships are tested with it.
    """
    found = list(operators)
    parts = [(operator, part) for operator in found for part in code_of(operator)]
    calls = (
        f"`{operator.name}` calls {call}, which gives another result later"
        for operator, part in parts
        for call in impure_calls(part)
    )
    numbers = {number for operator in found for number in integers_in(type(operator))}
    large = sorted(number for number in numbers if number > LARGEST)
    sizes = [f"no input of {' or '.join(f'{size:,}' for size in large)} elements was tried"] if large else []
    return (*dict.fromkeys(calls), *sizes)
