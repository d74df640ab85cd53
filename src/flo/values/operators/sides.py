"""Operators that consume two inputs, a unit of either side at each step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar, Union, get_args, get_origin

from flo.core.collection import End
from flo.core.operator import Delta, Operator, Step, Values, run
from flo.values.exact import Int128, plain_type
from flo.values.operators.unary import noted

P = TypeVar("P")
R = TypeVar("R")

Portions: TypeAlias = Iterator[tuple[Any, Any]]
"""Units that a step may consume together, and what is left of the value then."""


SIDES = ("-left", "-right")


def all_ending(sides: Sequence[Any]) -> bool:
    """Nothing is left but ends, and one of them was not passed on."""
    ended = all(value.end is End.PASSED or value.ending() for value in sides)
    return ended and any(value.ending() for value in sides)


def one_passed(sides: Sequence[Any], side: int) -> Values:
    """The end of this side was passed on."""
    return tuple(value.passed() if place == side else value for place, value in enumerate(sides))


class Sides(Operator):
    """Says once what happens to some units of one side. The output ends when both sides have ended.

    When one side has ended, an operator may let go of what it kept of the other, by the rule `…-ended`: what arrives
    there meets a side that does not change any more.

    The end of a side that is `awaited` is passed on by itself, by the rule `…-turn`; the other side is consumed after
    that. So `awaited` must be bounded, and ⊗ in its place is all that the operator needs to remember.
    """

    arity = (2, 1)
    rule: ClassVar[str]
    """The name of the rule on sequences; other collections add their suffix."""
    side_rules: ClassVar[tuple[str, str]] = SIDES
    """What the rule adds to that for each side."""
    awaited: ClassVar[int | None] = None

    @abstractmethod
    def consume(self, side: int, units: Any, source: Any) -> tuple[Operator, Delta]:
        """The operator and its output after these units of that side (0 or 1)."""

    def finished(self) -> Operator:
        """The operator when the end is passed on: what it kept is not needed any more."""
        return self

    def side_ended(self, side: int) -> Operator | None:
        """The operator when this side has ended and the other has not, with what it still needs of the other; None if
        the end of one side makes no difference to it."""
        return None

    def rules_on(self, source: Any) -> tuple[str, str]:
        """The names of the rule on this collection, and of the rule that ends it."""
        return self.rule + source.suffix, self.rule + source.suffix + source.end_suffix

    def portions(self, value: Any, *, every: bool) -> Portions:
        """What a step may consume of a side: one unit, or every one at once."""
        if not every:
            for unit, rest in value.units():
                yield [unit], rest
        elif units := value.all_units():
            yield units, value.drained()

    def note(self, units: Any) -> str:
        """What an error of the user's function says of these units."""
        return repr(units[0])

    def steps(self, inputs: Values) -> Iterator[Step]:
        return self._steps(inputs, every=False)

    def _steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        sides: tuple[Any, ...] = inputs
        left, right = sides
        source = type(left)
        rule, end_rule = self.rules_on(source)
        waiting = self.awaited is not None and sides[self.awaited].end is not End.PASSED
        portions = (
            (side, units, rest)
            for side, value in enumerate(sides)
            if not waiting or side == self.awaited
            for units, rest in self.portions(value, every=every)
        )
        for (side, _, rest), (operator, output) in attempted(
            portions, lambda it: self.consume(it[0], it[1], source), lambda it: self.note(it[1])
        ):
            after = (rest, right) if side == 0 else (left, rest)
            if self.awaited is None and sides[1 - side].end is End.PASSED:
                operator = operator.side_ended(1 - side)  # type: ignore[attr-defined]
            yield Step(rule + self.side_rules[side], after, operator, (output,))
        if waiting:
            if self.awaited is not None and sides[self.awaited].ending():
                yield Step(f"{rule}-turn", one_passed(sides, self.awaited), self, (None,))
        elif all_ending(sides):
            yield Step(end_rule, (left.passed(), right.passed()), self.finished(), (source.terminator(),))
        else:
            for side, value in enumerate(sides):
                ended = self.side_ended(side) if value.ending() else None
                if ended is not None:
                    yield Step(f"{rule}{SIDES[side]}-ended", one_passed(sides, side), ended, (None,))

    def advance(self, inputs: Values) -> Iterator[Step]:
        return leaps(self, inputs, lambda operator, values: operator._steps(values, every=True))


def attempted(portions: Iterable[P], consume: Callable[[P], R], note: Callable[[P], str]) -> Iterator[tuple[P, R]]:
    """What comes of each portion. One that is at fault holds up itself only: its error is raised after the others."""
    fault: Exception | None = None
    for portion in portions:
        try:
            result = consume(portion)
        except Exception as error:
            fault = fault or noted(error, note(portion))
            continue
        yield portion, result
    if fault is not None:
        raise fault


def leaps(operator: Any, inputs: Values, steps: Callable[[Any, Values], Iterator[Step]]) -> Iterator[Step]:
    """Takes the first of these longer steps until there is none."""
    while True:
        try:
            step = next(steps(operator, inputs), None)
        except Exception:  # go up to the unit that is at fault, and keep what comes before it
            yield from run(operator, inputs)
            return
        if step is None:
            return
        yield step
        inputs, operator = step.inputs, step.operator


def either(kind: Any, other: Any) -> Any:
    """The type of what is of one type or of the other."""
    if kind is Any or other is Any:
        return Any
    return _wider(kind, other) or Union[kind, other]  # noqa: UP007


def _wider(kind: Any, other: Any) -> Any:
    """One of two types of integers, or of tuples of them, that has the values of both; None if there is none."""
    if kind == other:
        return kind
    if Int128 in (kind, other) and plain_type(kind) is plain_type(other) is int:
        return Int128
    parts, others = get_args(kind), get_args(other)
    if get_origin(kind) is get_origin(other) is tuple and len(parts) == len(others) and ... not in parts + others:
        found = list(map(_wider, parts, others))
        return None if None in found else tuple[tuple(found)]  # type: ignore[misc]
    return None
