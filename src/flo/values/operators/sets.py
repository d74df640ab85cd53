"""Operators on sets (§5.2): union, join, intersection, difference, and conversions to sets and bags.

A set's buffer forgets what was consumed, so the same element may arrive again. An operator that must count it once
remembers it, or waits for the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

from flo.core.errors import ElementError
from flo.core.facts import Timing
from flo.core.operator import Bound, Delta, Deltas, Operator, expect_bounded, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, TypeForm, Unit
from flo.values.canonical import canonical_element
from flo.values.element_value import first_unhashable
from flo.values.operators.joins import SameKind, Union, WeightedJoin, element_of, key_type
from flo.values.operators.shapes import ElementKind, Sides, Unary
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, Set, SetValue, Weights, ZSet

UNBOUNDED_DIFFERENCE = (
    ("left.to_zset().minus({input}.to_zset())", "retracts what it emitted too early"),
    ("{input}.difference(left)", "if the left is the bounded one"),
)


def expect_hashable(units: list[Unit], name: str) -> list[Element]:
    """Return the elements of a sequence; raise if they cannot be in an unordered collection."""
    position = first_unhashable(units)
    if position is not None:
        raise ElementError(
            f"an element of {{input}} is not hashable, which elements of a {name} must be",
            facts=(("given", repr(units[position])[:120]),),
            instead=(("{input}.map(tuple)", "or another function that returns something hashable"),),
            index=0,
        )
    return units


def remember(seen: Weights, elements: list[Element]) -> tuple[Weights, list[Element]]:
    """Return (all that was seen, including these elements; the new ones without duplicates, in order)."""
    new: dict[Element, Element] = {}
    for element in elements:
        key = canonical_element(element)
        if key not in seen:
            new.setdefault(key, element)
    return seen.updated(dict.fromkeys(new, 1)), list(new.values())


@dataclass(frozen=True)
class Counted(Unary):
    """Counts the elements. `seen` holds those of a set, because they may arrive again after they were consumed."""

    seen: Weights = PersistentMap()  # noqa: RUF009

    target: ClassVar[type[Bag[Element] | ZSet[Element]]]

    def bound_on(self, inputs: StreamTypes) -> Bound:
        if not isinstance(inputs[0].collection, Set):
            return Bound.NOTHING
        return Bound.END if inputs[0].bounded else Bound.ROWS

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, Bag, Set)
        return (StreamType(self.target(element_of(inputs[0])), inputs[0].bounded),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        seen = self.seen
        if source is SetValue:
            seen, new = remember(seen, [element for element, _ in units])
            units = [(element, 1) for element in new]
        elif source is SequenceValue:
            units = [(element, 1) for element in expect_hashable(units, self.target.name)]
        return replace(self, seen=seen), (self.target.value_class.of(units),)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, seen=PersistentMap()), (self.target.value_class.terminator(),)


@dataclass(frozen=True)
class ToBag(Counted):
    """to_bag(seen): (S<T> | Bag<T> | Set<T>, X) ↪ (Bag<T>, X)."""

    name = "to_bag"
    keeps = Bound.NOTHING
    timing = Timing.PASSES
    target = Bag


@dataclass(frozen=True)
class ToSet(Unary):
    """to_set(): (S<T> | Bag<T> | Set<T>, X) ↪ (Set<T>, X), the distinct elements."""

    name = "to_set"
    keeps = Bound.NOTHING

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, Bag, Set)
        return (StreamType(Set(element_of(inputs[0])), inputs[0].bounded),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        if source is SequenceValue:
            units = [(element, 1) for element in expect_hashable(units, "Set")]
        return self, (SetValue.of(units),)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (SetValue.terminator(),)


@dataclass(frozen=True)
class UnionSets(Union):
    """union_sets(): (Set<T>, X), (Set<T>, X) ↪ (Set<T>, X)."""

    name = "union_sets"
    keeps = Bound.NOTHING
    kind = Set


@dataclass(frozen=True)
class SetJoin(WeightedJoin):
    """join_sets(on, other_on, into): (Set<T>, X), (Set<U>, X) ↪ (Set<R>, X), by default the paper's join (§5.2).

    Without `other_on` the right side is a set of edges: they are joined by their source, and the result has their
    destinations. Without `on` the left elements are the keys. With `other_on` and without `into` the result is a set of
    pairs.
    """

    name = "join_sets"
    keeps = Bound.ROWS
    kind = Set

    def element(self, left: TypeForm, right: TypeForm) -> TypeForm:
        if self.other_on is None and self.into is None:
            parts = get_args(right)
            return parts[1] if len(parts) == 2 and parts[1] is not ... else Any
        return super().element(left, right)

    def key_types(self, left: object, right: object) -> tuple[TypeForm, TypeForm]:
        if self.other_on is None:
            right = (get_args(right) or (Any,))[0]
            return key_type(self.on, left), right
        return super().key_types(left, right)

    def key(self, side: int, element: Element) -> Element:
        if side == 1 and self.other_on is None:
            return element[0]
        return super().key(side, element)

    def combine(self, left: Any, right: Any) -> Any:
        if self.other_on is None and self.into is None:
            return right[1]
        return super().combine(left, right)


@dataclass(frozen=True)
class Intersection(SameKind, Sides):
    """intersection(): (Set<T>, X), (Set<T>, X) ↪ (Set<T>, X). Monotone: an element of both sides stays."""

    left: Weights = PersistentMap()  # noqa: RUF009
    right: Weights = PersistentMap()  # noqa: RUF009

    name = "intersection"
    keeps = Bound.ROWS
    forgets_after = (0, 1)
    kind = Set

    def element(self, left: TypeForm, right: TypeForm) -> TypeForm:
        return right if left is Any else left

    def consume(self, side: int, units: list[Unit], source: ElementKind) -> tuple[Operator, Delta]:
        mine, other = (self.left, self.right) if side == 0 else (self.right, self.left)
        mine, new = remember(mine, [element for element, _ in units])
        both = source.of((element, 1) for element in new if element in other)
        return (replace(self, left=mine) if side == 0 else replace(self, right=mine)), both

    def side_ended(self, side: int) -> Operator:
        """Elements of the other side are now only looked up in this one. A set may emit an element again."""
        return replace(self, right=PersistentMap()) if side == 0 else replace(self, left=PersistentMap())

    def finished(self) -> Operator:
        return Intersection()


@dataclass(frozen=True)
class Difference(SameKind, Sides):
    """difference(): (Set<T>, X), (Set<T>, B) ↪ (Set<T>, X), the elements of the left that are not in the right.

    An element is known to be missing from the right only when the right has ended. The left waits in the buffer.
    """

    gone: Weights = PersistentMap()  # noqa: RUF009

    name = "difference"
    keeps = Bound.SIDE
    signature = "(Set[T], X), (Set[T], bounded) -> (Set[T], X)"
    waits = "waits for the end of the set it subtracts"
    awaited = 1
    kind = Set
    shares_flag = False

    def type(self, inputs: StreamTypes) -> StreamTypes:
        self.expect_kind(inputs)
        self.expect_elements(inputs)
        expect_bounded(self, inputs[1], index=1, instead=UNBOUNDED_DIFFERENCE)
        return (inputs[0],)

    def consume(self, side: int, units: list[Unit], source: ElementKind) -> tuple[Operator, Delta]:
        if side == 1:
            return replace(self, gone=self.gone.updated(dict(units))), None
        return self, source.of(unit for unit in units if unit[0] not in self.gone)

    def finished(self) -> Operator:
        return Difference()
