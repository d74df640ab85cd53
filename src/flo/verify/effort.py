"""The budget of a check: input sizes, number of random inputs, seed, work, and the constants to try.

Also the caveats of an operator: what its code mentions and no check can settle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from flo.core.operator import Operator
from flo.core.untyped import AnyFunction
from flo.verify.data.constants import LARGEST, constants, impure_uses, integers, neighbours
from flo.verify.data.given import Given

QUICK = 4_000
"""The work of `flo check`, unless it is asked for more: less than a second."""
WORK = 15_000
"""About two seconds on a typical machine."""
THOROUGH = 200_000
"""The work of a thorough check."""
LEAST_WORK = 5_000
"""The minimum for a phase that has not run when the budget is used up."""
SMALL_SHARE = 0.6
"""The share of the work for small inputs; the rest is for larger ones."""
SIZED_SHARE = 0.85
"""The share after which inputs of sizes in the code make room for random ones."""


@dataclass
class Meter:
    """Counts work: states visited, steps computed, calls of `advance`, equations tried.

    Unlike time, it is the same on every machine, so the result of a check does not depend on a clock.
    """

    done: int = 0


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
    meter: Meter = field(default_factory=Meter)

    @property
    def seconds(self) -> float:
        """The processor time after which one call of a function is aborted."""
        return self.given.seconds

    def is_used_up(self, share: float = 1.0) -> bool:
        """Whether the budget is used up, or this share of it."""
        return self.remaining() <= (1 - share) * self.work

    def small_share(self, size: int) -> float:
        """The share of the work for all inputs of up to this size: what smaller ones leave, larger ones may use."""
        return SMALL_SHARE * (1 - 0.5 ** (size + 1)) if size < self.most else SMALL_SHARE

    def remaining(self) -> int:
        return self.work - self.meter.done

    def with_new_meter(self) -> Effort:
        """The remaining budget, but at least the minimum."""
        return replace(self, work=max(LEAST_WORK, self.remaining()), meter=Meter())

    def with_constants_of(self, function: AnyFunction) -> Effort:
        """Add the constants that the function mentions."""
        return replace(self, given=self.given.with_constants_of(function))

    def with_constants_in(self, operators: Iterable[Operator]) -> Effort:
        """Add the values that these operators mention in their fields, functions and methods."""
        every = list(operators)
        mentioned = dict.fromkeys(value for operator in every for value in constants_in(operator))
        numbers = dict.fromkeys(value for operator in every for item in code_of(operator) for value in integers(item))
        given = self.given.with_constants((*self.given.constants, *mentioned), (*self.given.integers, *numbers))
        return replace(self, given=given)


def is_shipped(kind: type) -> bool:
    """Whether the class comes with Flo."""
    return kind.__module__.startswith(("flo.core.", "flo.values.", "flo.columns.", "flo.tables."))


def code_of(operator: Operator) -> list[Any]:
    """The places where an operator may mention constants: its fields, and the user's attributes of its class."""
    names: list[str] = [each.name for each in fields(operator)] if is_dataclass(operator) else []
    return [*(getattr(operator, name) for name in names), *_user_attributes(type(operator))]


def _user_attributes(kind: type) -> Iterator[Any]:
    """The attributes and methods of those of its classes that Flo does not ship."""
    for owner in kind.__mro__:
        if not is_shipped(owner) and owner.__module__ not in ("abc", "builtins", "typing"):
            yield from (item for name, item in vars(owner).items() if name not in ("name", "arity", "__firstlineno__"))


def integers_in(kind: type) -> list[int]:
    """The integers that the user wrote into a class."""
    return [number for item in _user_attributes(kind) for number in integers(item)]


def constants_in(operator: Operator) -> Iterator[Any]:
    """Numbers and strings in an operator."""
    names: list[str] = [each.name for each in fields(operator)] if is_dataclass(operator) else []
    for part in (getattr(operator, name) for name in names):
        yield from constants(part)
        for value in part if isinstance(part, tuple) else (part,):
            yield from neighbours(value)
    for item in _user_attributes(type(operator)):
        yield from constants(item) or neighbours(item if not isinstance(item, str) else None)


def find_caveats(operators: Iterable[Operator]) -> tuple[str, ...]:
    """Find what no check can settle: calls that depend on more than their arguments, and sizes that are never reached.

    Sizes count only in classes of the user: those that Flo ships are tested with it.
    """
    every = list(operators)
    numbers = {number for operator in every for number in integers_in(type(operator))}
    large = sorted(number for number in numbers if number > LARGEST)
    sizes = [f"no input of {' or '.join(f'{size:,}' for size in large)} elements was tried"] if large else []
    return (*find_impure_uses(every), *sizes)


def find_impure_uses(operators: Iterable[Operator]) -> tuple[str, ...]:
    """Find what functions and methods use that another run may not repeat, such as a clock."""
    parts = ((operator, part) for operator in operators for part in code_of(operator))
    return tuple(dict.fromkeys(f"`{operator.name}` {use}" for operator, part in parts for use in impure_uses(part)))
