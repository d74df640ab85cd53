"""Operators that break a law, each in the way that users do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import flo
from flo.core.collection import End
from flo.core.operator import Values, expect_collection
from flo.values.lvar import LVar, LVarValue
from flo.values.sequence import SequenceValue

Types = tuple[flo.StreamType, ...]


@final
@dataclass(frozen=True)
class CurrentValue(flo.Operator):
    """The first illegal `to_sequence` of §6.2: emits the value of an LVar that may still grow."""

    name = "current_value"

    def type(self, inputs: Types) -> Types:
        expect_collection(self, inputs[0], LVar)
        return (flo.StreamType(flo.Sequence(int), inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        value = inputs[0]
        assert isinstance(value, LVarValue)
        if value.value is not flo.BOTTOM:
            rest = LVarValue(value.lattice, flo.BOTTOM, value.end)
            yield flo.Step("current-value", (rest,), self, (SequenceValue.of([value.value]),))
        elif value.end is End.ARRIVED:
            yield flo.Step("current-value-terminated", (value.take()[0],), self, (SequenceValue.terminator(),))


class OnSequences(flo.Operator):
    """(S<int>, X) ↪ (S<int>, X)."""

    def type(self, inputs: Types) -> Types:
        expect_collection(self, inputs[0], flo.Sequence)
        return (flo.StreamType(flo.Sequence(int), inputs[0].bounded),)


@final
@dataclass(frozen=True)
class Hanging(OnSequences):
    """A fold that takes unbounded streams: emits only at the end."""

    total: int = 0

    name = "hanging"

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        for _, rest in value.units():
            yield flo.Step("hanging", (rest,), replace(self, total=self.total + 1), (None,))
        if value.ending():
            yield flo.Step(
                "hanging-terminator", (value.passed(),), self, (SequenceValue.of([self.total], End.ARRIVED),)
            )


@final
@dataclass(frozen=True)
class Endless(OnSequences):
    """Steps without consuming anything."""

    name = "endless"

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        yield flo.Step("endless", inputs, self, (None,))


@final
@dataclass(frozen=True)
class Racing(OnSequences):
    """Two rules for one element, with two results."""

    name = "racing"

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        for _, rest in value.units():
            yield flo.Step("racing-up", (rest,), self, (SequenceValue.of([1]),))
            yield flo.Step("racing-down", (rest,), self, (SequenceValue.of([2]),))
        if value.ending():
            yield flo.Step("racing-terminator", (value.passed(),), self, (SequenceValue.terminator(),))


@final
@dataclass(frozen=True)
class Mistyped(OnSequences):
    """Emits strings where its type says int."""

    name = "mistyped"

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        for element, rest in value.units():
            yield flo.Step("mistyped", (rest,), self, (SequenceValue.of([str(element)]),))
        if value.ending():
            yield flo.Step("mistyped-terminator", (value.passed(),), self, (SequenceValue.terminator(),))


@final
@dataclass(frozen=True)
class Unending(OnSequences):
    """Consumes everything and never passes the end on."""

    name = "unending"

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        for element, rest in value.units():
            yield flo.Step("unending", (rest,), self, (SequenceValue.of([element]),))


@final
@dataclass(frozen=True)
class Hasty(OnSequences):
    """Its steps are right, and its `advance` forgets all but the last element."""

    name = "hasty"

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        for element, rest in value.units():
            yield flo.Step("hasty", (rest,), self, (SequenceValue.of([element]),))
        if value.ending():
            yield flo.Step("hasty-terminator", (value.passed(),), self, (SequenceValue.terminator(),))

    def advance(self, inputs: Values) -> Iterator[flo.Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.elements:
            value, last = value.drained(), value.elements[-1]
            yield flo.Step("hasty", (value,), self, (SequenceValue.of([last]),))
        yield from self.steps((value,))
