"""Operators that make, combine and read nested streams: zip, last, flatten, repeat and nest_once.

`nest`, which runs a graph on every inner stream, is in flo.core.nest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flo.core.collection import End, Value
from flo.core.errors import CollectionError, ElementError, TypeMismatch
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Bound, Measure, Operator, Step, Values, expect_bounded, expect_collection, replaced
from flo.core.persistent import Elements
from flo.core.stream_type import StreamType, StreamTypes
from flo.values.lvar import LVar
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, Set, ZSet

TO_NESTED = (
    ("{input}.batch(n)", "one inner stream for every n elements"),
    ("{input}.repeat_nested(k)", "the whole stream, k times"),
)


def expect_nested(operator: Operator, given: StreamType, index: int = 0) -> Nested[*tuple[Any, ...]]:
    return expect_collection(operator, given, Nested, index=index, instead=TO_NESTED)


def as_nested(value: Value) -> NestedValue:
    assert isinstance(value, NestedValue)
    return value


def without_tuples(value: NestedValue) -> NestedValue:
    """Return only the end. Later extensions of the newest tuple arrive as a value that continues."""
    return NestedValue(Elements(), end=value.end)


def leftovers(values: Values) -> Measure:
    """A measure for operators that drop what they have seen of a tuple: remaining size, and number of tuples."""
    return (sum(value.size() for value in values), sum(map(len, map(as_nested, values))))


@dataclass(frozen=True)
class NestedZip(Operator):
    """zip_nested(n): ([I₁], X), …, ([Iₙ], X) ↪ ([I₁ · … · Iₙ], X), inner streams side by side.

    A tuple is opened when all inputs have their part of it; what arrives in it is passed on at once. The front of an
    input that `continues` is a part of the open tuple that may still grow. The first input to end ends the output.
    """

    count: int = 2
    bottoms: tuple[Values, ...] = ()
    done: bool = False

    name = "zip_nested"
    keeps = Bound.WAITING
    retracts = False
    signature = "(Nested[C], X), (Nested[D], X) -> (Nested[C, D], X)"
    shares_flag = True

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return self.count, 1

    def type(self, inputs: StreamTypes) -> StreamTypes:
        kinds = [expect_nested(self, given, index) for index, given in enumerate(inputs)]
        inner = [stream for kind in kinds for stream in kind.inner]
        return (StreamType(Nested(*inner), all(given.bounded for given in inputs)),)

    def typed(self, inputs: StreamTypes) -> NestedZip:
        kinds = [expect_nested(self, given, index) for index, given in enumerate(inputs)]
        return replace(self, bottoms=tuple(tuple(s.collection.bottom() for s in kind.inner) for kind in kinds))

    def steps(self, inputs: Values) -> Iterator[Step]:
        values = tuple(map(as_nested, inputs))
        if self.done:
            yield from self._drain(values)
            return
        for index, value in enumerate(values):
            if value.continues and self._moves(value):
                rest, part = take_front(value)
                grown = NestedValue.extending(sum(replaced(self.bottoms, index, part), ()))
                yield Step("zip-nested-extend", replaced(values, index, rest), self, (grown,))
        if any(value.continues for value in values):
            if any(map(is_exhausted, values)) and all(self._closed(value) for value in values):
                yield self._end(values)
        elif all(len(value) for value in values):
            fronts = [take_front(value) for value in values]
            opened = NestedValue.pushing(sum((part for _, part in fronts), ()))
            yield Step("zip-nested", tuple(rest for rest, _ in fronts), self, (opened,))
        elif any(map(is_exhausted, values)):
            yield self._end(values)

    @staticmethod
    def _moves(value: NestedValue) -> bool:
        """Return whether more of the open tuple has arrived, or it can no longer grow."""
        front = value.oldest() or ()
        return value.has_next() or value.end is End.ARRIVED or any(stream.size() for stream in front)

    @staticmethod
    def _closed(value: NestedValue) -> bool:
        """Return whether this input has passed on all of its part of the open tuple."""
        return not value.continues or all(not s.size() and s.fixed() for s in value.oldest() or ())

    def _end(self, values: tuple[NestedValue, ...]) -> Step:
        ended = NestedValue.pushing().fix()
        return Step("zip-nested-terminated", tuple(map(drop_all, values)), replace(self, done=True), (ended,))

    def _drain(self, values: tuple[NestedValue, ...]) -> Iterator[Step]:
        for index, value in enumerate(values):
            if len(value) or value.end is End.ARRIVED:
                yield Step("zip-nested-drain", replaced(values, index, drop_all(value)), self, (None,))

    def measure(self, inputs: Values) -> Measure:
        return leftovers(inputs)


def is_exhausted(value: NestedValue) -> bool:
    return value.end is End.ARRIVED and not len(value)


def drop_all(value: NestedValue) -> NestedValue:
    """Return the value without anything that has arrived."""
    return value.passed() if value.fixed() else without_tuples(value)


def take_front(value: NestedValue) -> tuple[NestedValue, Values]:
    """Take everything that has arrived in the oldest tuple; return (the rest, that). A tuple that may grow stays."""
    taken = [stream.take() for stream in value.oldest() or ()]
    part = tuple(content for _, content in taken)
    if value.has_next():
        return value.without_oldest(), part
    if value.fixed():
        return without_tuples(value), part
    return NestedValue.extending(tuple(rest for rest, _ in taken)), part


@dataclass(frozen=True)
class NestedLast(Operator):
    """last_nested(n): ([(C₁, X₁), …], B) ↪ (C₁, B), …, the n inner streams of the last tuple; ⊥ if there is none."""

    count: int = 1
    bottoms: Values = ()

    name = "last_nested"
    keeps = Bound.VALUE
    retracts = False
    signature = "(Nested[C], bounded) -> (C, bounded)"
    waits = "waits for the end to know which inner stream is the last"

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return 1, self.count

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner = expect_nested(self, inputs[0]).inner
        expect_bounded(self, inputs[0], instead=(("{input}.nest(…)", "processes the inner streams one by one"),))
        if len(inner) != self.count:
            raise TypeMismatch(
                f"`last_nested({self.count})` requires {self.count} inner streams; {{input}} has {len(inner)}",
                facts=(("{input}", inputs[0].described()),),
                index=0,
            )
        return tuple(StreamType(stream.collection, bounded=True) for stream in inner)

    def typed(self, inputs: StreamTypes) -> NestedLast:
        return replace(self, bottoms=tuple(output.collection.bottom() for output in self.type(inputs)))

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = as_nested(inputs[0])
        if value.has_next():
            yield Step("last-nested", (value.without_oldest(),), self, (None,) * self.count)
        elif value.end is End.ARRIVED:
            last = self.bottoms if value.newest is None else value.newest
            yield Step("last-nested-terminated", (value.passed(),), self, tuple(stream.fix() for stream in last))

    def advance(self, inputs: Values) -> Iterator[Step]:
        value = as_nested(inputs[0])
        if value.has_next():
            value = NestedValue(Elements(), value.newest, end=value.end)
            yield Step("last-nested", (value,), self, (None,) * self.count)
        yield from self.steps((value,))


@dataclass(frozen=True)
class Flatten(Operator):
    """flatten(): ([(C, Y)], X) ↪ (C, X): concatenates inner sequences; other collections are united."""

    bottom: Value | None = None

    name = "flatten"
    keeps = Bound.NOTHING
    retracts = False
    signature = "(Nested[C], X) -> (C, X)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner = expect_nested(self, inputs[0]).inner
        if len(inner) != 1 or not isinstance(inner[0].collection, (Sequence, Bag, Set, ZSet, LVar)):
            raise CollectionError(
                "`flatten` requires one inner stream, a Sequence, Bag, Set, ZSet or LVar; {input} has others",
                facts=(("{input}", inputs[0].described()),),
                instead=(("{input}.nest(…).flatten()", "makes one inner stream of these"),),
                index=0,
            )
        return (StreamType(inner[0].collection, inputs[0].bounded),)

    def typed(self, inputs: StreamTypes) -> Flatten:
        (output,) = self.type(inputs)
        return Flatten(output.collection.bottom())

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = as_nested(inputs[0])
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


def repeat_value(value: Value, count: int) -> NestedValue:
    """Return `count` inner streams with the value, and the end."""
    return NestedValue.pushing(*[(value,)] * count).fix()


@dataclass(frozen=True)
class RepeatNested(Operator):
    """repeat_nested(k): (C, B) ↪ ([(C, B)], B), k inner streams, each with the whole input."""

    times: int

    name = "repeat_nested"
    keeps = Bound.ROWS
    retracts = False
    signature = "(C, bounded) -> (Nested[C], bounded)"
    waits = "repeats its whole input"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_bounded(self, inputs[0], instead=TO_NESTED[:1])
        if self.times < 0:
            raise TypeMismatch(f"`repeat_nested` must get an integer ≥ 0; got {self.times}")
        return (StreamType(Nested(inputs[0]), bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        if value.fixed() and value.size():
            rest, whole = value.take()
            yield Step("repeat-nested", (rest,), self, (repeat_value(whole, self.times),))


@dataclass(frozen=True)
class RepeatNestedBy(Operator):
    """repeat_nested_by(): (C, B), (Sequence<int>, B) ↪ ([(C, B)], B), as often as the second input's number says."""

    name = "repeat_nested_by"
    keeps = Bound.ROWS
    retracts = False
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
            instead=(("{input}.batch(1).nest(lambda n: …)", "one bounded inner stream per number"),),
        )
        if not Sequence(int).accepts(times.collection):
            raise CollectionError(
                "the count of `repeat_nested` must be a Sequence[int]; {input} has other elements",
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
                    "the count of `repeat_nested` must be exactly one integer ≥ 0",
                    facts=(("given", repr(numbers)[:80]),),
                )
            rest, whole = value.take()
            yield Step("repeat-nested-by", (rest, times.passed()), self, (repeat_value(whole, numbers[0]),))


@dataclass(frozen=True)
class NestOnce(Operator):
    """nest_once(): (C, B), ([…], X) ↪ ([(C, B)], X): the first inner stream has the whole input, the others nothing.

    There is one inner stream for each of the second input's; the paper's is infinite (docs/deviations.md, 8).
    """

    begun: bool = False

    name = "nest_once"
    keeps = Bound.WAITING
    retracts = False
    signature = "(C, bounded), (Nested[D], X) -> (Nested[C], X)"
    arity = (2, 1)
    waits = "puts its whole input in one inner stream"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        stream, driver = inputs
        expect_bounded(self, stream)
        expect_nested(self, driver, index=1)
        return (StreamType(Nested(stream), driver.bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value, driver = inputs[0], as_nested(inputs[1])
        if driver.continues:
            yield Step("nest-once-drain", (value, after_oldest(driver)), self, (None,))
        elif len(driver) and (self.begun or value.fixed()):
            rest, whole = (value, value.empty().fix()) if self.begun else value.take()
            rule = "nest-once" if self.begun else "nest-once-first"
            yield Step(rule, (rest, after_oldest(driver)), NestOnce(begun=True), (NestedValue.pushing((whole,)),))
        elif is_exhausted(driver):
            yield Step("nest-once-terminated", (value, driver.passed()), self, (NestedValue.pushing().fix(),))

    def measure(self, inputs: Values) -> Measure:
        return leftovers(inputs[1:])


def after_oldest(value: NestedValue) -> NestedValue:
    """Return the value without the oldest tuple, even if it may grow."""
    return value.without_oldest() if value.has_next() else without_tuples(value)
