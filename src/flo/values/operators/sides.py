"""Operators that consume two inputs, a unit of either side at each step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeAlias, Union

from flo.core.collection import End
from flo.core.operator import Delta, Operator, Step, Values, run
from flo.values.element_value import ElementValue
from flo.values.operators.unary import ElementKind

Portions: TypeAlias = Iterator[tuple[list[Any], ElementValue]]
"""Units that a step may consume together, and what is left of the value then."""


class Sides(Operator):
    """Says once what happens to some units of one side. The output ends when both sides have ended.

    The end of a side that is `awaited` is passed on by itself, by the rule `…-turn`; the other side is consumed after
    that. So `awaited` must be bounded, and ⊗ in its place is all that the operator needs to remember.
    """

    arity = (2, 1)
    rule: ClassVar[str]
    """The name of the rule on sequences; other collections add their suffix, and each side its name."""
    awaited: ClassVar[int | None] = None

    @abstractmethod
    def consume(self, side: int, units: list[Any], source: ElementKind) -> tuple[Operator, Delta]:
        """The operator and its output after these units of that side (0 or 1)."""

    def finished(self) -> Operator:
        """The operator when the end is passed on: what it kept is not needed any more."""
        return self

    def steps(self, inputs: Values) -> Iterator[Step]:
        return self._steps(inputs, one_unit)

    def _steps(self, inputs: Values, portions: Callable[[ElementValue], Portions]) -> Iterator[Step]:
        left, right = inputs
        assert isinstance(left, ElementValue)
        assert isinstance(right, ElementValue)
        source = type(left)
        rule = self.rule + source.suffix
        sides = (left, right)
        fault: Exception | None = None
        waiting = self.awaited is not None and sides[self.awaited].end is not End.PASSED
        for side, value in enumerate(sides):
            if waiting and side != self.awaited:
                continue
            for units, rest in portions(value):
                try:
                    operator, output = self.consume(side, units, source)
                except Exception as error:  # no rule for these units; others may still have one
                    error.add_note(repr(units[0])[:120])
                    fault = fault or error
                    continue
                after = (rest, right) if side == 0 else (left, rest)
                yield Step(f"{rule}-{('left', 'right')[side]}", after, operator, (output,))
        if waiting:
            if self.awaited is not None and sides[self.awaited].ending():
                after = (left.passed(), right) if self.awaited == 0 else (left, right.passed())
                yield Step(f"{rule}-turn", after, self, (None,))
        elif all(value.ending() for side, value in enumerate(sides) if side != self.awaited):
            after, end = (left.passed(), right.passed()), source.terminator()
            yield Step(rule + source.end_suffix, after, self.finished(), (end,))
        if fault is not None:
            raise fault

    def advance(self, inputs: Values) -> Iterator[Step]:
        return leaps(self, inputs, lambda operator, values: operator._steps(values, all_units))


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


def one_unit(value: ElementValue) -> Portions:
    for unit, rest in value.units():
        yield [unit], rest


def all_units(value: ElementValue) -> Portions:
    units = value.all_units()
    if units:
        yield units, value.drained()


def either(kind: Any, other: Any) -> Any:
    """The type of what is of one type or of the other."""
    if kind is Any or other is Any:
        return Any
    return kind if kind == other else Union[kind, other]  # noqa: UP007
