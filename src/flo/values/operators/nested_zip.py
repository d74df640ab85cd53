"""zip_nested, and what operators on nested streams share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

from flo.core.collection import End, Value
from flo.core.derivation import StreamTypes
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Measure, Operator, Step, Values, expect_collection
from flo.core.persistent import Elements
from flo.core.stream_type import StreamType

TO_NESTED = (
    ("{input}.batch(n)", "one inner stream for every n elements"),
    ("{input}.repeat_nested(k)", "the whole stream k times"),
)


def expect_nested(operator: Operator, given: StreamType, index: int = 0) -> Nested[*tuple[Any, ...]]:
    expect_collection(operator, given, Nested, index=index, instead=TO_NESTED)
    assert isinstance(given.collection, Nested)
    return given.collection


def nested(value: Value) -> NestedValue:
    assert isinstance(value, NestedValue)
    return value


def without_tuples(value: NestedValue) -> NestedValue:
    """Only the end. What may still extend the newest tuple arrives as a value that continues."""
    return NestedValue(Elements(), end=value.end)


def leftovers(values: Values) -> Measure:
    """A measure for operators that drop what they have seen of a tuple: what is left, and the tuples it is in."""
    return (sum(value.size() for value in values), sum(map(len, map(nested, values))))


@final
@dataclass(frozen=True)
class NestedZip(Operator):
    """zip_nested(n): ([I₁], X), …, ([Iₙ], X) ↪ ([I₁ · … · Iₙ], X), inner streams side by side.

    A tuple is opened when all inputs have their part of it, and what arrives in it is passed on as it comes. An input
    that `continues` has at its front a part of the open tuple that may grow. The first input that ends, ends it all.
    """

    count: int = 2
    bottoms: tuple[Values, ...] = ()
    done: bool = False

    name = "zip_nested"
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
        values = tuple(map(nested, inputs))
        if self.done:
            yield from self._drain(values)
            return
        for index, value in enumerate(values):
            if value.continues and self._moves(value):
                rest, part = front(value)
                parts = [*self.bottoms]
                parts[index] = part
                after = (*values[:index], rest, *values[index + 1 :])
                yield Step("zip-nested-extend", after, self, (NestedValue.extending(sum(parts, ())),))
        if any(value.continues for value in values):
            if any(map(exhausted, values)) and all(self._closed(value) for value in values):
                yield self._end(values)
        elif all(len(value) for value in values):
            fronts = [front(value) for value in values]
            opened = NestedValue.pushing(sum((part for _, part in fronts), ()))
            yield Step("zip-nested", tuple(rest for rest, _ in fronts), self, (opened,))
        elif any(map(exhausted, values)):
            yield self._end(values)

    @staticmethod
    def _moves(value: NestedValue) -> bool:
        """Whether there is more of the open tuple, or it can no longer grow."""
        front = value.oldest() or ()
        return value.has_next() or value.end is End.ARRIVED or any(stream.size() for stream in front)

    @staticmethod
    def _closed(value: NestedValue) -> bool:
        """Whether the open tuple has all that it gets from this input."""
        return not value.continues or all(not s.size() and s.fixed() for s in value.oldest() or ())

    def _end(self, values: tuple[NestedValue, ...]) -> Step:
        ended = NestedValue.pushing().fix()
        return Step("zip-nested-terminated", tuple(map(dropped, values)), replace(self, done=True), (ended,))

    def _drain(self, values: tuple[NestedValue, ...]) -> Iterator[Step]:
        for index, value in enumerate(values):
            if len(value) or value.end is End.ARRIVED:
                after = (*values[:index], dropped(value), *values[index + 1 :])
                yield Step("zip-nested-drain", after, self, (None,))

    def measure(self, inputs: Values) -> Measure:
        return leftovers(inputs)


def exhausted(value: NestedValue) -> bool:
    return value.end is End.ARRIVED and not len(value)


def dropped(value: NestedValue) -> NestedValue:
    """Without all that has arrived."""
    return value.passed() if value.fixed() else without_tuples(value)


def front(value: NestedValue) -> tuple[NestedValue, Values]:
    """What is left when all that arrived in the oldest tuple was taken, and that. It stays if it may grow."""
    taken = [stream.take() for stream in value.oldest() or ()]
    part = tuple(content for _, content in taken)
    if value.has_next():
        return value.without_oldest(), part
    if value.fixed():
        return without_tuples(value), part
    return NestedValue.extending(tuple(rest for rest, _ in taken)), part
