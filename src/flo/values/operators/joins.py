"""Operators on two collections of the same kind: checks of their types, the union, and the incremental join of
unordered collections, like the paper's ⋈ on z-sets.

Both sides are stored by key until one of them ends. From then on only that side is stored: elements of the other are
joined when they arrive, and forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, TypeAlias

from flo.core.elements import returned_type
from flo.core.errors import TypeMismatch, note_given
from flo.core.operator import Delta, Operator, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.type_names import type_name
from flo.core.type_relations import are_related, may_be_equal
from flo.core.untyped import Element, ElementFunction, PairFunction, TypeForm, Unit
from flo.values.canonical import canonical_element
from flo.values.element_value import ElementCollection
from flo.values.operators.shapes import ElementKind, Sides, evaluate_ahead, union_type
from flo.values.weighted import Bag, Set, SetValue, WeightedValue, Weights, ZSet

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


KeyFunction: TypeAlias = ElementFunction | None
Into: TypeAlias = PairFunction | None
WeightedElements: TypeAlias = Iterable[tuple[Element, int]]
Index: TypeAlias = PersistentMap[Element, Weights]
"""The elements under each key, with their weights."""

NONE: Weights = PersistentMap()


def key_type(on: KeyFunction, element: object) -> TypeForm:
    """Return the type of the keys; without a key function, an element is its own key."""
    return element if on is None else returned_type(on)


def pair(x: object, y: object) -> tuple[Element, Element]:
    return (x, y)


def pair_units(some: WeightedElements, others: WeightedElements) -> list[tuple[tuple[Element, Element], int]]:
    """Return (x, y) for all x and y, weighted by the product."""
    return [((x, y), weight * other) for x, weight in some for y, other in others]


def combine_pairs(into: PairFunction, pairs: WeightedElements) -> list[tuple[Element, int]]:
    """Return into(x, y) for each pair, with its weight."""
    combined = []
    x = y = None
    try:
        for (x, y), weight in pairs:
            combined.append((into(x, y), weight))
    except Exception as error:
        note_given(error, repr((x, y)))
        raise
    return combined


def combine_ahead(into: object, pairs: Iterable[tuple[tuple[object, object], int]]) -> None:
    if hasattr(into, "prepare"):
        both = [pair for pair, _ in pairs]
        evaluate_ahead(into, [x for x, _ in both], [y for _, y in both])


class KeptJoin(Sides):
    """Consumes one side per step, and joins it with what is stored of the other. Without `into` results are pairs."""

    forgets_after = (0, 1)
    into: Into
    left: Index
    right: Index

    def combine(self, left: object, right: object) -> Any:
        return (left, right) if self.into is None else self.into(left, right)

    def combined_type(self, left: Any, right: Any) -> TypeForm:
        return tuple[left, right] if self.into is None else returned_type(self.into)

    def join_arrived(
        self, side: int, arrived: dict[Element, dict[Element, int]]
    ) -> tuple[Operator, dict[Element, list[Element]]]:
        """Return the operator after these elements of that side, and the results under each key."""
        mine, others = (self.left, self.right) if side == 0 else (self.right, self.left)
        results: dict[Element, list[Element]] = {}
        for key in arrived:
            if key in others:
                both = arrived[key].items(), others[key].to_dict().items()
                results[key] = pair_units(*(both if side == 0 else both[::-1]))
        combine_ahead(self.into, chain.from_iterable(results.values()))
        results = {key: combine_pairs(self.combine, pairs) for key, pairs in results.items()}
        grown = {key: mine.get(key, NONE).added(elements) for key, elements in arrived.items()}
        mine = mine.updated(grown, drop=NONE)
        return replace(self, **{("left", "right")[side]: mine}), results

    def side_ended(self, side: int) -> Operator:
        """Elements of the other side only meet what is stored of this one, so they need not be stored."""
        return replace(self, **{("right", "left")[side]: PersistentMap()})

    def finished(self) -> Operator:
        return replace(self, left=PersistentMap(), right=PersistentMap())


@dataclass(frozen=True)
class WeightedJoin(KeptJoin, SameKind):
    """join(on, other_on, into): `into(left, right)` for all pairs with equal keys; weights are multiplied.

    Without `on` or `other_on` an element is its own key.
    """

    on: KeyFunction = None
    other_on: KeyFunction = None
    into: Into = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    rule = "join"

    def element(self, left: TypeForm, right: TypeForm) -> TypeForm:
        return self.combined_type(left, right)

    def key_types(self, left: object, right: object) -> tuple[TypeForm, TypeForm]:
        """Return the key types of both sides."""
        return key_type(self.on, left), key_type(self.other_on, right)

    def expect_elements(self, inputs: StreamTypes) -> None:
        expect_equal_keys(self, inputs, *self.key_types(*map(element_of, inputs)))

    def key(self, side: int, element: object) -> Element:
        on = self.on if side == 0 else self.other_on
        return element if on is None else canonical_element(on(element))

    def consume(self, side: int, units: list[Unit], source: ElementKind) -> tuple[Operator, Delta]:
        mine = self.left if side == 0 else self.right
        arrived: dict[Element, dict[Element, int]] = {}
        evaluate_ahead(self.on if side == 0 else self.other_on, [element for element, _ in units])
        for element, weight in units:
            key = self.key(side, element)
            if source is not SetValue or element not in mine.get(key, ()):  # a set has no duplicates
                arrived.setdefault(key, {})[element] = weight
        operator, results = self.join_arrived(side, arrived)
        return operator, source.of(chain.from_iterable(results.values()))
