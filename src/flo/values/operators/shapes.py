"""Base classes of operators, and how they call user functions.

`Unary` consumes one input unit by unit, `Sides` two inputs. A subclass defines once, in `consume`, what happens to some
units: a step gives it one of them, `advance` all that have arrived. The helpers copy mutable states before a function
may change them, check results against the declared type, and attach the offending element to errors.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias, TypeVar, Union, get_args, get_origin
from uuid import UUID

from flo.core.collection import End
from flo.core.elements import find_misfit, find_mismatch, returned_type
from flo.core.errors import brief, note_given
from flo.core.operator import Delta, Deltas, Operator, Step, Values, replaced, run
from flo.core.term import ATOMS
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, Element, TypeForm, Unit
from flo.values.element_value import ElementValue
from flo.values.exact import IntSum, is_wide_int, plain_type
from flo.values.weighted import BagValue, SetValue

_LASTING = (*ATOMS, bytes, frozenset, Decimal, Fraction, complex, UUID, date, time, timedelta, Enum)


_PLAIN = frozenset({int, float, str, bool, bytes, type(None)})


def is_immutable(item: Any) -> bool:
    """Return whether the item is immutable, all the way down."""
    if type(item) in _PLAIN:
        return True
    if isinstance(item, tuple):
        return all(map(is_immutable, item))
    parameters = getattr(type(item), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        return all(is_immutable(getattr(item, field.name)) for field in dataclasses.fields(item))
    return isinstance(item, _LASTING)


def copy_if_mutable(item: object) -> Any:
    """Return the item, or a copy if a function could change it: other versions may share an operator's state."""
    return item if is_immutable(item) else copy.deepcopy(item)


def evaluate_ahead(f: Any, *arguments: list[Element]) -> None:
    """Let a column expression evaluate all these elements at once; the calls that follow find their results."""
    prepare = getattr(f, "prepare", None)
    if prepare is not None and len(arguments[0]) > 1:
        prepare(*arguments)


def evaluate_all_ahead(operator: Any, elements: list[Element]) -> None:
    """Do the same for every one-argument expression that an operator holds, itself or in an aggregator."""
    for field in dataclasses.fields(operator):
        held = getattr(operator, field.name)
        if getattr(held, "takes", None) == 1:
            evaluate_ahead(held, elements)
        elif dataclasses.is_dataclass(held) and hasattr(held, "result_type"):
            evaluate_all_ahead(held, elements)


def expect_declared(f: AnyFunction, results: list[Element]) -> None:
    """Raise unless the results have the function's declared return type."""
    expect_all_of_type(f, results, returned_type(f))


def expect_all_of_type(f: AnyFunction, results: list[Element], kind: TypeForm) -> None:
    """Raise unless the results have this type."""
    wrong = find_mismatch(results, kind)
    if wrong is not None:
        said = type_name(returned_type(f))
        derived = getattr(f, "derived", False)
        how = "derived from its source; annotate it if that is wrong" if derived else "its declared return type"
        raise TypeError(f"the function must return {said}, {how}; got {brief(results[wrong])}")
    exact = hasattr(f, "returns") and not hasattr(f, "derived")  # made of columns
    misfit = None if exact else find_misfit(results, kind)
    if misfit is not None:
        wanted = f"`{misfit.field}` of the function's results must be {type_name(misfit.kind)}"
        raise TypeError(f"{wanted}; got {brief(results[misfit.position])}")


ElementKind: TypeAlias = type[ElementValue]
"""The class of a value. (Inside an operator, `type` is its typing rule.)"""


class HasRule(Operator):
    """An operator with a rule: by default, the one that bears its name."""

    rule: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "rule") and hasattr(cls, "name"):
            cls.rule = cls.name.replace("_", "-")


class Unary(HasRule):
    """An operator with one input, defined by what happens to some units, oldest first."""

    rule: ClassVar[str]
    """The name of the rule on sequences, by default that of the operator. Other collections add their suffix."""
    end_rule: ClassVar[str | None] = None

    def rule_for(self, unit: Unit) -> str:
        """Return the rule that consumes this unit."""
        return self.rule

    def rule_on(self, rule: str, source: ElementKind) -> str:
        """Return the name of the rule on this collection."""
        return rule + source.suffix

    @abstractmethod
    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs after these units."""

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs when the end of the input is passed on."""
        return self, (source.terminator(),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, ElementValue)
        source = type(value)
        units = ((unit, argument_of(unit, source), rest) for unit, rest in value.units())
        for (unit, _, rest), (operator, outputs) in consume_each(
            units, lambda it: self.consume([it[0]], source), lambda it: repr(it[1]), lambda it: it[1]
        ):
            yield Step(self.rule_on(self.rule_for(unit), source), (rest,), operator, outputs)
        if value.ending():
            yield self._end(value)

    def _end(self, value: ElementValue) -> Step:
        source = type(value)
        operator, outputs = self.finish(source)
        rule = self.end_rule or self.rule_on(self.rule, source) + source.end_suffix
        return Step(rule, (value.passed(),), operator, outputs)

    def advance(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, ElementValue)
        operator: Operator = self
        units = value.all_units()
        if units:
            evaluate_all_ahead(self, value.elements_list())
            try:
                operator, outputs = self.consume(units, type(value))
            except Exception:  # run step by step up to the faulty unit, and keep the results before it
                yield from run(self, inputs)
                return
            value = value.drained()
            yield Step(self.rule_on(self.rule, type(value)), (value,), operator, outputs)
        if value.ending():
            assert isinstance(operator, Unary)
            yield operator._end(value)


def argument_of(unit: Unit, source: ElementKind) -> Element:
    """Return what the function of an operator gets of a unit. For bags and sets it is the element without its count."""
    return unit[0] if source in (BagValue, SetValue) else unit


def annotate_error(error: Exception, given: str, item: object = None) -> Exception:
    """Attach the argument to an error of a user's function. Generators cannot raise StopIteration, so it is wrapped."""
    if isinstance(error, StopIteration):
        wrapped = RuntimeError("StopIteration, which would end a loop silently")
        wrapped.__cause__ = error
        for note in getattr(error, "__notes__", ()):
            wrapped.add_note(note)
        error = wrapped
    note_given(error, given)
    error.given = item  # type: ignore[attr-defined]  # the argument itself, for error handlers that report its type
    return error


E = TypeVar("E", bound=Exception)


def find_faults(
    attempt: Callable[[int, int], object], count: int, kind: type[E] | tuple[type[E], ...]
) -> Iterator[tuple[int, E]]:
    """Yield the rows among `count` that `attempt` raises such an error on, from first to last, each with its error.

    `attempt(start, stop)` takes some rows at once. Where it raises, it gets them again in halves, down to one row, and
    always in their order. If it keeps what it has taken, a row at fault is one that it raises on after those before it.
    """
    waiting = [(0, count)]
    while waiting:
        start, stop = waiting.pop()
        try:
            attempt(start, stop)
        except kind as error:
            if stop - start == 1:
                yield start, error
            elif stop > start:
                half = (start + stop) // 2
                waiting += [(half, stop), (start, half)]


P = TypeVar("P")
R = TypeVar("R")

Portions: TypeAlias = Iterator[tuple[Any, Any]]
"""Units that a step may consume together, and the rest of the value after that."""


SIDES = ("-left", "-right")


def all_ending(sides: Sequence[Any]) -> bool:
    """Return whether only ends are left, and at least one of them was not passed on."""
    ended = all(value.end is End.PASSED or value.ending() for value in sides)
    return ended and any(value.ending() for value in sides)


def pass_end(sides: Sequence[Any], side: int) -> Values:
    """Return the sides with the end of this one passed on."""
    return replaced(tuple(sides), side, sides[side].passed())  # type: ignore[no-any-return]


class ByPortions(HasRule):
    """An operator that consumes its inputs portion by portion: a step takes one unit or key, `advance` all of them."""

    @abstractmethod
    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        """Yield the steps. With `every`, each consumes all that has arrived of an input."""

    def steps(self, inputs: Values) -> Iterator[Step]:
        return self.portion_steps(inputs, every=False)

    def advance(self, inputs: Values) -> Iterator[Step]:
        return run_leaps(self, inputs, lambda operator, values: operator.portion_steps(values, every=True))


class Sides(ByPortions):
    """An operator with two inputs, defined by what happens to some units of one side. It ends when both sides have.

    When one side has ended, an operator may drop what it stored of the other, by the rule `…-ended`: elements that
    arrive there meet a side that no longer changes.

    The end of the `awaited` side is passed on by itself, by the rule `…-turn`; only then is the other side consumed.
    So the awaited side must be bounded, and the ⊗ in its place is all that the operator needs to remember.
    """

    arity = (2, 1)
    rule: ClassVar[str]
    """The name of the rule on sequences, by default that of the operator. Other collections add their suffix."""
    side_rules: ClassVar[tuple[str, str]] = SIDES
    """The suffix of the rule for each side."""
    awaited: ClassVar[int | None] = None

    @abstractmethod
    def consume(self, side: int, units: Unit, source: Any) -> tuple[Operator, Delta]:
        """Return the operator and its output after these units of that side (0 or 1)."""

    def finished(self) -> Operator:
        """Return the operator when the end is passed on, without the state it no longer needs."""
        return self

    def side_ended(self, side: int) -> Operator | None:
        """Return the operator when only this side has ended, with the state it still needs of the other; None if that
        makes no difference."""
        return None

    def rules_on(self, source: Any) -> tuple[str, str]:
        """Return the names of the rule on this collection and of the rule that ends it."""
        return self.rule + source.suffix, self.rule + source.suffix + source.end_suffix

    def portions(self, value: Any, *, every: bool) -> Portions:
        """Yield what a step may consume of a side: one unit, or all of them."""
        if not every:
            for unit, rest in value.units():
                yield [unit], rest
        elif units := value.all_units():
            yield units, value.drained()

    def note(self, units: Unit) -> str:
        """Return the text that an error of the user's function has about these units."""
        return repr(units[0])

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
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
        for (side, _, rest), (operator, output) in consume_each(
            portions, lambda it: self.consume(it[0], it[1], source), lambda it: self.note(it[1])
        ):
            after = (rest, right) if side == 0 else (left, rest)
            if self.awaited is None and sides[1 - side].end is End.PASSED:
                operator = operator.side_ended(1 - side)  # type: ignore[attr-defined]
            yield Step(rule + self.side_rules[side], after, operator, (output,))
        if waiting:
            if self.awaited is not None and sides[self.awaited].ending():
                yield Step(f"{rule}-turn", pass_end(sides, self.awaited), self, (None,))
        elif all_ending(sides):
            yield Step(end_rule, (left.passed(), right.passed()), self.finished(), (source.terminator(),))
        else:
            for side, value in enumerate(sides):
                ended = self.side_ended(side) if value.ending() else None
                if ended is not None:
                    yield Step(f"{rule}{SIDES[side]}-ended", pass_end(sides, side), ended, (None,))


def consume_each(
    portions: Iterable[P],
    consume: Callable[[P], R],
    note: Callable[[P], str],
    argument: Callable[[P], Element] = lambda portion: None,
) -> Iterator[tuple[P, R]]:
    """Consume each portion. A faulty one only holds up itself: its error is raised after the others, with a note and
    the argument of the function."""
    fault: Exception | None = None
    for portion in portions:
        try:
            result = consume(portion)
        except Exception as error:
            fault = fault or annotate_error(error, note(portion), argument(portion))
            continue
        yield portion, result
    if fault is not None:
        raise fault


def run_leaps(operator: Any, inputs: Values, steps: Callable[[Any, Values], Iterator[Step]]) -> Iterator[Step]:
    """Take the first of these longer steps until there is none."""
    while True:
        try:
            step = next(steps(operator, inputs), None)
        except Exception:  # run step by step up to the faulty unit, and keep the results before it
            yield from run(operator, inputs)
            return
        if step is None:
            return
        yield step
        inputs, operator = step.inputs, step.operator


def union_type(kind: TypeForm, other: TypeForm) -> TypeForm:
    """Return the type of values that have one type or the other."""
    if kind is Any or other is Any:
        return Any
    return _wider(kind, other) or Union[kind, other]  # noqa: UP007


def _wider(kind: TypeForm, other: TypeForm) -> TypeForm:
    """Return the type of two, integers or tuples of them, that has the values of both; None if neither has."""
    if kind == other:
        return kind
    if (is_wide_int(kind) or is_wide_int(other)) and plain_type(kind) is plain_type(other) is int:
        return IntSum
    parts, others = get_args(kind), get_args(other)
    if get_origin(kind) is get_origin(other) is tuple and len(parts) == len(others) and ... not in parts + others:
        wider = list(map(_wider, parts, others))
        return None if None in wider else tuple[tuple(wider)]  # type: ignore[misc]
    return None
