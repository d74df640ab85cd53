"""Operators that consume one input unit by unit: the shape of nearly every rule in §6."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias

from flo.core.operator import Deltas, Operator, Step, Values, run
from flo.values.element_value import ElementValue
from flo.values.operators.functions import evaluate_all_ahead
from flo.values.weighted import BagValue, SetValue

ElementKind: TypeAlias = type[ElementValue]
"""The class of a value; inside an operator `type` is its typing rule."""


class Unary(Operator):
    """Says once what happens to some units, oldest first: a step consumes one of them, `advance` all that arrived."""

    rule: ClassVar[str]
    """The name of the rule on sequences; other collections add their suffix."""
    end_rule: ClassVar[str | None] = None

    def rule_for(self, unit: Any) -> str:
        """The rule that consumes this unit."""
        return self.rule

    def rule_on(self, rule: str, source: ElementKind) -> str:
        """The name of the rule on this collection."""
        return rule + source.suffix

    @abstractmethod
    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        """The operator and its outputs after these units."""

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        """The operator and its outputs when the end of the input is passed on."""
        return self, (source.terminator(),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, ElementValue)
        source = type(value)
        fault: Exception | None = None
        for unit, rest in value.units():
            try:
                operator, outputs = self.consume([unit], source)
            except Exception as error:  # holds up this unit only
                fault = fault or noted(error, *_shown(unit, source))
                continue
            yield Step(self.rule_on(self.rule_for(unit), source), (rest,), operator, outputs)
        if fault is not None:
            raise fault
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
            except Exception:  # go up to the unit that is at fault, and keep what comes before it
                yield from run(self, inputs)
                return
            value = value.drained()
            yield Step(self.rule_on(self.rule, type(value)), (value,), operator, outputs)
        if value.ending():
            assert isinstance(operator, Unary)
            yield operator._end(value)


def _shown(unit: Any, source: ElementKind) -> tuple[str, Any]:
    """What the function was given, as text and as it is: of bags and sets the element without its count."""
    given = unit[0] if source in (BagValue, SetValue) else unit
    return repr(given), given


def noted(error: Exception, given: str, item: Any = None) -> Exception:
    """The error of a user's function with what it was given; one that a generator cannot raise, as another error."""
    if isinstance(error, StopIteration):
        wrapped = RuntimeError("StopIteration, which would end a loop silently")
        wrapped.__cause__ = error
        for note in getattr(error, "__notes__", ()):
            wrapped.add_note(note)
        error = wrapped
    error.add_note(given[:120])
    error.given = item  # type: ignore[attr-defined]  # for who wants to know its type
    return error
