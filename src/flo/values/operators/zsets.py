"""Operators on z-sets (§6.3): the paper's map over weights, the group of z-sets, and distinct.

An element is *there* if its weight is above zero. Operators that ask for this keep the weights of all they
consumed and emit how the answer changes, so that their outputs add up to the right result in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from flo.core.collection import End
from flo.core.errors import ElementError, LawError
from flo.core.operator import Delta, Deltas, Operator, expect_bounded, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.values.canonical import canonical_element
from flo.values.operators.alike import CONVERSIONS, Union
from flo.values.operators.sets import Counted
from flo.values.operators.shapes import ElementKind, Unary, evaluate_ahead
from flo.values.weighted import Bag, Set, WeightedValue, ZSet, ZSetValue


def expect_zset(operator: Operator, given: StreamType, index: int = 0) -> Any:
    """The element type of an input that must be a z-set."""
    expect_collection(operator, given, ZSet, index=index, instead=CONVERSIONS[ZSet])
    assert isinstance(given.collection, ZSet)
    return given.collection.element


def changes(units: Iterable[tuple[Any, int]]) -> Deltas:
    """The output delta of these elements and weights; ∅ if they cancel."""
    delta = ZSetValue.of(units)
    return (delta if delta.weights else None,)


def negated(units: Iterable[tuple[Any, int]]) -> list[tuple[Any, int]]:
    return [(element, -weight) for element, weight in units]


def grouped(by: Callable[[Any], Any] | None, units: Iterable[tuple[Any, int]]) -> dict[Any, list[tuple[Any, int]]]:
    """The elements and weights of each group; without a function there is one."""
    groups: dict[Any, list[tuple[Any, int]]] = {}
    for unit in units:
        groups.setdefault(None if by is None else canonical_element(by(unit[0])), []).append(unit)
    return groups


TRIED = (2, -1, 0, 1000)
"""The weights that a function of weights is tried with; a large one, as it may have a limit."""


@final
@dataclass(frozen=True)
class MapWeights(Unary):
    """map_weights(f), the paper's map(f) on z-sets: f(k, v) ⇓ v'; (ZSet, X) ↪ (ZSet, X).

    The weight of an element may arrive in parts, so f must be additive in it: f(k, v) = v · f(k, 1), which is what
    goes out. With a free f the rule is not eager (docs/deviations.md, 4). Every element is tried with some weights,
    always the same, so that the parts in which it comes do not matter, and the first that breaks the law is refused
    as the counterexample.
    """

    f: Callable[[Any, int], int]

    name = "map_weights"
    retracts = True
    rule = "map"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        return inputs

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        tried = [(element, weight) for element, _ in units for weight in (1, *TRIED)]
        evaluate_ahead(self.f, [element for element, _ in tried], [weight for _, weight in tried])
        return self, changes((element, weight * self._one(element)) for element, weight in units)

    def _one(self, element: Any) -> int:
        """f(element, 1), if f is additive as far as it is tried."""
        one = self._weight(element, 1)
        for weight in TRIED:
            found = self._weight(element, weight)
            if found != weight * one:
                raise LawError(
                    "`map_weights` takes a function that is additive in the weight, and this one is not",
                    facts=(
                        ("element", repr(element)[:80]),
                        ("f(element, 1)", str(one)),
                        (f"f(element, {weight})", f"{found}, and {weight} · f(element, 1) is {weight * one}"),
                    ),
                    instead=(
                        ("lambda element, weight: weight * n", "n may depend on the element"),
                        ("{input}.distinct()", "weight 1 where the weight is above zero"),
                    ),
                )
        return one

    def _weight(self, element: Any, weight: int) -> int:
        result = self.f(element, weight)
        if type(result) is not int:
            raise ElementError(f"`map_weights` gave {element!r} the weight {result!r}, and weights are integers"[:200])
        return result


@final
@dataclass(frozen=True)
class Negate(Unary):
    """negate(): (ZSet, X) ↪ (ZSet, X), every weight times -1."""

    name = "negate"
    retracts = True
    rule = "negate"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        return inputs

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        return self, changes(negated(units))


@final
@dataclass(frozen=True)
class Distinct(Unary):
    """distinct(M): (ZSet, X) ↪ (ZSet, X), weight 1 for every element whose weight is above zero."""

    weights: PersistentMap[Any, int] = PersistentMap()  # noqa: RUF009

    name = "distinct"
    retracts = False
    rule = "distinct"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        return inputs

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        flips = []
        for element, weight in units:
            before = self.weights.get(element, 0)
            flips.append((element, (before + weight > 0) - (before > 0)))
        return Distinct(self.weights.added(dict(units))), changes(flips)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return Distinct(), (source.terminator(),)


@final
@dataclass(frozen=True)
class Plus(Union):
    """plus(): the union of two z-sets, which adds weights. Linear: each side goes on its own, with no state."""

    name = "plus"
    retracts = False
    kind = ZSet
    side_rules = ("", "")


@final
@dataclass(frozen=True)
class Minus(Union):
    """minus(): the left z-set without the right one, weight by weight. Linear, as `plus`."""

    name = "minus"
    retracts = True
    rule = "minus"
    kind = ZSet
    side_rules = ("", "")

    def consume(self, side: int, units: list[Any], source: type[WeightedValue]) -> tuple[Operator, Delta]:
        return super().consume(side, negated(units) if side == 1 else units, source)


@final
@dataclass(frozen=True)
class ToZSet(Counted):
    """to_zset(seen): (S<T> | Bag<T> | Set<T>, X) ↪ (ZSet<T>, X)."""

    name = "to_zset"
    retracts = False
    rule = "to-zset"
    target = ZSet


@dataclass(frozen=True)
class FromZSet(Unary):
    """Waits for the end, because weights may change until then, and refuses weights below zero."""

    weights: PersistentMap[Any, int] = PersistentMap()  # noqa: RUF009

    target: ClassVar[type[Bag[Any] | Set[Any]]]
    waits = "waits for the end of its input, because weights may change until then"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        element = expect_zset(self, inputs[0])
        expect_bounded(
            self,
            inputs[0],
            instead=(
                ("{input}.distinct()", "still a z-set: tells which elements come and go"),
                ("{input}.count_by(…)", "still a z-set: a running result, taken back when it changes"),
            ),
        )
        return (StreamType(self.target(element), bounded=True),)

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, weights=self.weights.added(dict(units))), (None,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        units = self.weights.to_dict()
        below = sorted(repr(element)[:40] for element, weight in units.items() if weight < 0)
        if below:
            kind = self.target.name
            raise ElementError(
                f"{{input}} ended with weights below zero, and a {kind} has none: {', '.join(below[:5])}"
                + (f" and {len(below) - 5} more" if len(below) > 5 else ""),
                facts=(("{input}", "took back what never came"), (self.name, f"gives a {kind}")),
                instead=(("{input}.distinct()", "drops elements whose weight is not above zero"),),
            )
        output = self.target.value_class.of(units.items(), End.ARRIVED)
        return replace(self, weights=PersistentMap()), (output,)


@final
@dataclass(frozen=True)
class ZSetToBag(FromZSet):
    """zset_to_bag(M): (ZSet, B) ↪ (Bag, B), at the end: weights become counts."""

    name = "zset_to_bag"
    retracts = False
    rule = "to-bag"
    target = Bag


@final
@dataclass(frozen=True)
class ZSetToSet(FromZSet):
    """zset_to_set(M): (ZSet, B) ↪ (Set, B), at the end: the elements whose weight is above zero; none may be below."""

    name = "zset_to_set"
    retracts = False
    rule = "to-set"
    target = Set
