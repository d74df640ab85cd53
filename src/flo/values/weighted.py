"""Bags, sets and z-sets: maps from elements to weights, unordered."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from flo.core.collection import End, call
from flo.core.errors import ElementError
from flo.core.persistent import PersistentMap
from flo.core.term import Lowering, Term
from flo.core.untyped import Element, ElementFunction, Unit
from flo.values.canonical import canonical_element
from flo.values.changes import shape_of
from flo.values.element_value import ElementKind, ElementValue, T_co, Windowable

Weights: TypeAlias = PersistentMap[Element, int]
"""Elements, each with its weight: how often it is there."""


@dataclass(frozen=True, slots=True)
class WeightedValue(ElementValue):
    """({k₁: v₁, …}, fixed): a cardinality map M, and whether the collection has ended. A unit is (k, v)."""

    weights: Weights
    end: End = End.OPEN

    @staticmethod
    @abstractmethod
    def merge(weights: Weights, more: Mapping[Element, int]) -> Weights:
        """Merge the weights of a delta into the existing ones."""

    def concat(self, delta: Self) -> Self:
        if self.end is not End.OPEN:
            return self
        if not self.weights:  # copy: streams that share one map would undo each other's changes
            return type(self)(PersistentMap(delta.weights), delta.end)
        return type(self)(self.merge(self.weights, delta.weights), delta.end)

    @classmethod
    def of(cls, units: Iterable[Unit], end: End = End.OPEN) -> Self:
        total: dict[Element, int] = {}
        for element, weight in units:
            if (form := canonical_element[type(element)]) is not None:
                element = form(element)
            total[element] = total.get(element, 0) + weight
        return cls(cls.merge(PersistentMap(), total), end)

    def units(self) -> Iterator[tuple[Unit, Self]]:
        for element in self.weights:
            yield (element, self.weights[element]), type(self)(self.weights.without(element), self.end)

    def all_units(self) -> list[Unit]:
        return list(self.weights.to_dict().items())

    def elements_list(self) -> list[Element]:
        return list(self.weights)

    @classmethod
    def mapped(cls, f: ElementFunction, units: list[Unit]) -> Self:
        return cls.of((f(element), weight) for element, weight in units)

    @classmethod
    def filtered(cls, keep: ElementFunction, units: list[Unit]) -> Self:
        return cls.of((element, weight) for element, weight in units if keep(element))

    @classmethod
    def flat_mapped(cls, f: Callable[[Element], Iterable[Element]], units: list[Unit]) -> Self:
        return cls.of((result, weight) for element, weight in units for result in f(element))

    def ended(self, end: End) -> Self:
        return type(self)(self.weights, end)

    def size(self) -> int:
        return len(self.weights) + (self.end is End.ARRIVED)

    def lower(self, lower: Lowering) -> Term:
        return call(self.kind, self.weights, self.end, lower=lower)

    @classmethod
    def lift(cls, *parts: Any) -> Self:
        weights, end = (*parts, False)[:2]
        return cls(cls.merge(PersistentMap(), weights), End.lift(end))


class BagValue(WeightedValue):
    """A multiset: the weight of an element is its number of occurrences."""

    __slots__ = ()
    kind = "bag"
    suffix = "-bag"

    @staticmethod
    def merge(weights: Weights, more: Mapping[Element, int]) -> Weights:
        return weights.added({element: count for element, count in more.items() if count > 0})


class SetValue(WeightedValue):
    """A set: every weight is 1."""

    __slots__ = ()
    kind = "elements_of"
    suffix = "-set"

    @staticmethod
    def merge(weights: Weights, more: Mapping[Element, int]) -> Weights:
        return weights.updated({element: 1 for element in more if element not in weights})


class ZSetValue(WeightedValue):
    """A z-set (figure "collection type and concatenation operator for z-sets"): weights are integers, added by `++`.

    A fixed z-set absorbs every delta; the printed `++` has no case for it (docs/deviations.md, 7).
    """

    __slots__ = ()
    kind = "zset"
    suffix = "-zset"

    @staticmethod
    def merge(weights: Weights, more: Mapping[Element, int]) -> Weights:
        return weights.added(more)


def bag_of(elements: Iterable[Element]) -> BagValue:
    """Return the bag of these elements, each as often as it is given."""
    return BagValue.of((element, 1) for element in elements)


class Bag(ElementKind[T_co, "Bag[T_co]", "Bag[Any]"], Windowable[T_co, "Bag[T_co]"]):
    """A multiset: unordered elements with positive weights."""

    name = "Bag"
    value_class = BagValue

    def _value(self, data: Iterable[Element]) -> BagValue:
        if not isinstance(data, Mapping) or shape_of(self.element) is not None:
            data = Counter(self.checked(list(data)))
        self.checked(list(data))
        negative = next((element for element, count in data.items() if not is_positive_count(count)), None)
        if negative is not None:
            raise ElementError(
                f"the count of {negative!r} in {{input}} must be an integer ≥ 1; got {data[negative]!r}",
                instead=(("flo.ZSet", "allows negative weights"),),
            )
        return BagValue.of(data.items())

    def plain(self, value: BagValue) -> Counter[Element]:
        return Counter(value.weights.to_dict())


class Set(ElementKind[T_co, "Set[T_co]", "Set[Any]"]):
    """A set: unordered elements without duplicates."""

    name = "Set"
    value_class = SetValue

    def _value(self, data: Iterable[Element]) -> SetValue:
        return SetValue.of((element, 1) for element in self.checked(list(data)))

    def plain(self, value: SetValue) -> set[Element]:
        return set(value.weights)


class ZSet(ElementKind[T_co, "ZSet[T_co]", "ZSet[Any]"]):
    """A z-set: elements with integer weights; a negative weight retracts an element."""

    name = "ZSet"
    value_class = ZSetValue

    def _value(self, data: Iterable[Element]) -> ZSetValue:
        if not isinstance(data, Mapping):
            data = Counter(self.checked(list(data)))
        self.checked(list(data))
        wrong = next((element for element, weight in data.items() if type(weight) is not int), None)
        if wrong is not None:
            raise ElementError(f"the weight of {wrong!r} in {{input}} must be an integer; got {data[wrong]!r}")
        return ZSetValue.of(data.items())

    def plain(self, value: ZSetValue) -> dict[Element, int]:
        return value.weights.to_dict()


def is_positive_count(count: object) -> bool:
    return type(count) is int and count > 0
