"""Operators on two collections of one kind, and the union of both."""

from __future__ import annotations

from typing import Any, ClassVar

from flo.core.derivation import StreamTypes
from flo.core.operator import Delta, Operator, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType
from flo.values.element_value import ElementCollection
from flo.values.operators.sides import Sides, either
from flo.values.weighted import Bag, Set, WeightedValue, ZSet

CONVERSIONS = {
    Bag: (("{input}.to_bag()", "its elements without their order"),),
    Set: (("{input}.to_set()", "its distinct elements"),),
    ZSet: (("{input}.to_zset()", "a z-set of its elements"),),
}
"""How to make the collection that is expected."""


def element_of(given: StreamType) -> Any:
    assert isinstance(given.collection, ElementCollection)
    return given.collection.element


class Alike(Operator):
    """((C<T>, X), (C<U>, X)) ↪ (C<V>, X), where C is of a kind that has no order."""

    arity = (2, 1)
    shares_flag = True
    kind: ClassVar[type[Bag[Any] | Set[Any] | ZSet[Any]]]

    def element(self, left: Any, right: Any) -> Any:
        """The type of output elements."""
        return either(left, right)

    def expect_kind(self, inputs: StreamTypes) -> None:
        for index, given in enumerate(inputs):
            expect_collection(self, given, self.kind, index=index, instead=CONVERSIONS[self.kind])

    def type(self, inputs: StreamTypes) -> StreamTypes:
        self.expect_kind(inputs)
        element = self.element(*map(element_of, inputs))
        return (StreamType(self.kind(element), all(given.bounded for given in inputs)),)


class Union(Alike, Sides):
    """What arrives on either side, as it is."""

    rule = "union"

    def consume(self, side: int, units: list[Any], source: type[WeightedValue]) -> tuple[Operator, Delta]:
        return self, source(PersistentMap(units))
