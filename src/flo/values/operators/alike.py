"""Base classes of operators on two collections of the same kind, checks of their types, and the union."""

from __future__ import annotations

from typing import Any, ClassVar

from flo.core.elements import type_name
from flo.core.errors import TypeMismatch
from flo.core.operator import Delta, Operator, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.type_relations import are_related, may_be_equal
from flo.core.untyped import TypeForm, Unit
from flo.values.element_value import ElementCollection
from flo.values.operators.shapes import Sides, union_type
from flo.values.weighted import Bag, Set, WeightedValue, ZSet

CONVERSIONS = {
    Bag: (("{input}.to_bag()", "its elements without their order"),),
    Set: (("{input}.to_set()", "its distinct elements"),),
    ZSet: (("{input}.to_zset()", "a z-set of its elements"),),
}
"""How to convert to the collection that is expected."""


def element_of(given: StreamType) -> Any:
    assert isinstance(given.collection, ElementCollection)
    return given.collection.element


def expect_related(operator: Operator, inputs: StreamTypes) -> None:
    """Raise if the element types of two inputs have nothing in common."""
    left, right = map(element_of, inputs)
    if not are_related(left, right):
        both = f"{type_name(left)} | {type_name(right)}"
        raise TypeMismatch(
            f"`{operator.name}` needs two streams with the same element type: expected {type_name(left)}, got "
            f"{type_name(right)} from {{input}}",
            facts=(("first", inputs[0].described()), ("{input}", inputs[1].described())),
            instead=(
                ("{input}.map(f)", f"where f returns {type_name(left)}"),
                (f"flo.{inputs[0].collection.name}[{both}]", "as the type of both inputs, to mix them"),
            ),
            index=1,
        )


ONE_KEY_TYPE = (("on=…, other_on=…", "two functions or columns with the same key type"),)


def expect_equal_keys(
    operator: Operator,
    inputs: StreamTypes,
    left: object,
    right: object,
    instead: tuple[tuple[str, str], ...] = ONE_KEY_TYPE,
) -> None:
    """Raise if no key of one side can be equal to a key of the other."""
    if not may_be_equal(left, right):
        raise TypeMismatch(
            f"`{operator.name}` joins rows with equal keys, but keys of type {type_name(left)} never equal keys of "
            f"type {type_name(right)}",
            facts=(("left", inputs[0].described()), ("right", inputs[1].described())),
            instead=instead,
            index=1,
        )


class SameKind(Operator):
    """((C<T>, X), (C<U>, X)) ↪ (C<V>, X), for an unordered collection C."""

    arity = (2, 1)
    shares_flag = True
    kind: ClassVar[type[Bag[Any] | Set[Any] | ZSet[Any]]]

    def element(self, left: TypeForm, right: TypeForm) -> TypeForm:
        """Return the type of the output elements."""
        return union_type(left, right)

    def expect_kind(self, inputs: StreamTypes) -> None:
        for index, given in enumerate(inputs):
            expect_collection(self, given, self.kind, index=index, instead=CONVERSIONS[self.kind])

    def expect_elements(self, inputs: StreamTypes) -> None:
        """Raise unless the element types of the inputs fit together."""
        expect_related(self, inputs)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        self.expect_kind(inputs)
        self.expect_elements(inputs)
        element = self.element(*map(element_of, inputs))
        return (StreamType(self.kind(element), all(given.bounded for given in inputs)),)


class Union(SameKind, Sides):
    """Passes on what arrives on either side."""

    rule = "union"

    def consume(self, side: int, units: list[Unit], source: type[WeightedValue]) -> tuple[Operator, Delta]:
        return self, source(PersistentMap(units))
