"""Operators on nested streams (§5.2): last, flatten, repeat_nested and nest_once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

from flo.core.collection import End, Value
from flo.core.derivation import StreamTypes
from flo.core.errors import CollectionError, ElementError, TypeMismatch
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Measure, Operator, Step, Values, expect_bounded, expect_collection
from flo.core.persistent import Elements
from flo.core.stream_type import StreamType
from flo.values.lvar import LVar
from flo.values.operators.nested_zip import (
    TO_NESTED,
    exhausted,
    expect_nested,
    leftovers,
    nested,
    without_tuples,
)
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, Set, ZSet


@final
@dataclass(frozen=True)
class NestedLast(Operator):
    """last_nested(n): ([(C₁, X₁), …], B) ↪ (C₁, B), …, the n inner streams of the last tuple; ⊥ if there is none."""

    count: int = 1
    bottoms: Values = ()

    name = "last_nested"
    signature = "(Nested[C], bounded) -> (C, bounded)"
    waits = "waits for the end, to know which inner stream is the last"

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return 1, self.count

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner = expect_nested(self, inputs[0]).inner
        expect_bounded(self, inputs[0], instead=(("{input}.nest(…)", "to use every inner stream in its turn"),))
        if len(inner) != self.count:
            raise TypeMismatch(
                f"`last_nested({self.count})` gives {self.count} streams, and a tuple of {{input}} has {len(inner)}",
                facts=(("{input}", inputs[0].described()),),
                index=0,
            )
        return tuple(StreamType(stream.collection, bounded=True) for stream in inner)

    def typed(self, inputs: StreamTypes) -> NestedLast:
        return replace(self, bottoms=tuple(output.collection.bottom() for output in self.type(inputs)))

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = nested(inputs[0])
        if value.has_next():
            yield Step("last-nested", (value.without_oldest(),), self, (None,) * self.count)
        elif value.end is End.ARRIVED:
            last = self.bottoms if value.newest is None else value.newest
            yield Step("last-nested-terminated", (value.passed(),), self, tuple(stream.fix() for stream in last))

    def advance(self, inputs: Values) -> Iterator[Step]:
        value = nested(inputs[0])
        if value.has_next():
            value = NestedValue(Elements(), value.newest, end=value.end)
            yield Step("last-nested", (value,), self, (None,) * self.count)
        yield from self.steps((value,))


@final
@dataclass(frozen=True)
class Flatten(Operator):
    """flatten(): ([(C, Y)], X) ↪ (C, X), what all inner streams hold: sequences one after the other, others united."""

    bottom: Value | None = None

    name = "flatten"
    signature = "(Nested[C], X) -> (C, X)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner = expect_nested(self, inputs[0]).inner
        if len(inner) != 1 or not isinstance(inner[0].collection, (Sequence, Bag, Set, ZSet, LVar)):
            raise CollectionError(
                "`flatten` works on inner streams of elements, or of LVars, and {input} has others",
                facts=(("{input}", inputs[0].described()),),
                instead=(("{input}.nest(…).flatten()", "one inner stream, made from these"),),
                index=0,
            )
        return (StreamType(inner[0].collection, inputs[0].bounded),)

    def typed(self, inputs: StreamTypes) -> Flatten:
        (output,) = self.type(inputs)
        return Flatten(output.collection.bottom())

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = nested(inputs[0])
        if not value.size():
            return
        rest, sent = value.take()
        output: Any = self.bottom
        for (stream,) in sent:
            opened: Any = stream
            output = output.concat(replace(opened, end=End.OPEN))
        if value.end is End.ARRIVED:
            yield Step("flatten-terminated", (rest,), self, (output.fix(),))
        else:
            yield Step("flatten", (rest,), self, (output,))


def copies(value: Value, count: int) -> NestedValue:
    """⊗ after so many inner streams that hold the value."""
    return NestedValue.pushing(*[(value,)] * count).fix()


@final
@dataclass(frozen=True)
class RepeatNested(Operator):
    """repeat_nested(k): (C, B) ↪ ([(C, B)], B), k inner streams that each hold all of the input."""

    times: int

    name = "repeat_nested"
    signature = "(C, bounded) -> (Nested[C], bounded)"
    waits = "repeats its whole input"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_bounded(self, inputs[0], instead=TO_NESTED[:1])
        if self.times < 0:
            raise TypeMismatch(f"`repeat_nested({self.times})` cannot repeat a stream less than 0 times")
        return (StreamType(Nested(inputs[0]), bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        if value.fixed() and value.size():
            rest, whole = value.take()
            yield Step("repeat-nested", (rest,), self, (copies(whole, self.times),))


@final
@dataclass(frozen=True)
class RepeatNestedBy(Operator):
    """repeat_nested_by(): (C, B), (Sequence<int>, B) ↪ ([(C, B)], B), as often as the one number of the second says."""

    name = "repeat_nested_by"
    signature = "(C, bounded), (Sequence[int], bounded) -> (Nested[C], bounded)"
    arity = (2, 1)
    waits = "repeats its whole input"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        stream, times = inputs
        expect_bounded(self, stream, instead=TO_NESTED[:1])
        expect_collection(self, times, Sequence, index=1)
        expect_bounded(
            self,
            times,
            index=1,
            instead=(("{input}.batch(1).nest(lambda n: …)", "one bounded inner stream for each number"),),
        )
        if not Sequence(int).accepts(times.collection):
            raise CollectionError(
                "`repeat_nested` is told by an int how often, and {input} has other elements",
                facts=(("{input}", times.described()),),
                index=1,
            )
        return (StreamType(Nested(stream), bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value, times = inputs
        assert isinstance(times, SequenceValue)
        if value.fixed() and times.end is End.ARRIVED:
            numbers = times.all_units()
            if len(numbers) != 1 or numbers[0] < 0:
                raise ElementError(
                    "`repeat_nested` is told how often by one number that is not negative",
                    facts=(("given", repr(numbers)[:80]),),
                )
            rest, whole = value.take()
            yield Step("repeat-nested-by", (rest, times.passed()), self, (copies(whole, numbers[0]),))


@final
@dataclass(frozen=True)
class NestOnce(Operator):
    """nest_once(): (C, B), ([…], X) ↪ ([(C, B)], X): the first inner stream holds all of the input, the rest nothing.

    There is one for each inner stream of the second input; the paper's is infinite (docs/deviations.md, 8).
    """

    begun: bool = False

    name = "nest_once"
    signature = "(C, bounded), (Nested[D], X) -> (Nested[C], X)"
    arity = (2, 1)
    waits = "puts its whole input in one inner stream"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        stream, driver = inputs
        expect_bounded(self, stream)
        expect_nested(self, driver, index=1)
        return (StreamType(Nested(stream), driver.bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value, driver = inputs[0], nested(inputs[1])
        if driver.continues:
            yield Step("nest-once-drain", (value, after_oldest(driver)), self, (None,))
        elif len(driver) and (self.begun or value.fixed()):
            rest, whole = (value, value.empty().fix()) if self.begun else value.take()
            rule = "nest-once" if self.begun else "nest-once-first"
            yield Step(rule, (rest, after_oldest(driver)), NestOnce(begun=True), (NestedValue.pushing((whole,)),))
        elif exhausted(driver):
            yield Step("nest-once-terminated", (value, driver.passed()), self, (NestedValue.pushing().fix(),))

    def measure(self, inputs: Values) -> Measure:
        return leftovers(inputs[1:])


def after_oldest(value: NestedValue) -> NestedValue:
    """Without the oldest tuple, even if it may grow."""
    return value.without_oldest() if value.has_next() else without_tuples(value)
