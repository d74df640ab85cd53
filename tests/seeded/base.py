"""What the seeded subjects share: the entry of the library, and an operator in which one thing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from flo.core.collection import Collection, End
from flo.core.operator import Delta, Operator, Step, Values, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.values.element_value import ElementValue
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import ZSetValue
from flo.verify.laws import Law


@dataclass(frozen=True)
class Seeded:
    """Something that breaks a law; `check(subject, *types, **arguments)` must say so."""

    name: str
    subject: Any
    laws: tuple[Law, ...]
    """The law it breaks; more than one where it breaks several, and which comes first is up to the checker."""
    story: str
    """How people come to write it, and what goes wrong then."""
    smallest: str
    """The smallest counterexample that is known."""
    steps: int
    """How many rows its longer column has: what arrives, and the steps that are taken."""
    types: tuple[Any, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    deviation: int | None = None
    """The entry of docs/deviations.md whose printed rule this is."""


INTEGERS: Sequence[int] = Sequence(int)
UNBOUNDED = (StreamType(INTEGERS, bounded=False),)
BOUNDED = (StreamType(INTEGERS, bounded=True),)


def open_stream(*collections: Collection) -> StreamTypes:
    return tuple(StreamType(collection, bounded=False) for collection in collections)


def ended_stream(*collections: Collection) -> StreamTypes:
    return tuple(StreamType(collection, bounded=True) for collection in collections)


def seq(*elements: Any) -> SequenceValue:
    return SequenceValue.of(list(elements))


def last(*elements: Any) -> SequenceValue:
    """These elements and the end."""
    return SequenceValue.of(list(elements), End.ARRIVED)


def zset(*units: tuple[Any, int]) -> ZSetValue:
    return ZSetValue.of(units)


class PassOn(Operator):
    """Passes on every element, and then the end: what a seeded operator does unless it says otherwise."""

    takes: ClassVar[type[Collection]] = Sequence
    gives: ClassVar[Collection] = INTEGERS

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], self.takes)
        return (StreamType(self.gives, inputs[0].bounded),)

    def on_element(self, element: Any) -> tuple[Operator, Delta]:
        """The operator and what it emits after one element; of a weighted collection, an element and its weight."""
        return self, seq(element)

    def at_the_end(self) -> Delta:
        """What it emits with the end."""
        return self.gives.bottom().fix()

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, ElementValue)
        rule = self.name.replace("_", "-")
        for unit, rest in value.units():
            operator, emitted = self.on_element(unit)
            yield Step(rule, (rest,), operator, (emitted,))
        if value.ending():
            yield Step(f"{rule}-terminator", (value.passed(),), self, (self.at_the_end(),))
