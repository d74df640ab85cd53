"""Operators on z-sets (§6.3): the paper's map over weights, the group of z-sets, distinct, and conversions.

An element is *there* if its weight is above zero. Operators that ask for this keep the weights of all they
consumed and emit how the answer changes, so that their outputs add up to the right result in any order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.errors import ElementError, LawError
from flo.core.operator import Deltas, Operator, Step, Values, expect_bounded, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType
from flo.values.operators.sides import either
from flo.values.operators.unary import ElementKind, Unary
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, Set, ZSet, ZSetValue

TO_ZSET = (("{input}.to_zset()", "a z-set of its elements"),)


def expect_zset(operator: Operator, given: StreamType, index: int = 0) -> Any:
    """The element type of an input that must be a z-set."""
    expect_collection(operator, given, ZSet, index=index, instead=TO_ZSET)
    assert isinstance(given.collection, ZSet)
    return given.collection.element


def changes(units: Iterable[tuple[Any, int]]) -> Deltas:
    """The output delta of these elements and weights; ∅ if they cancel."""
    delta = ZSetValue.of(units)
    return (delta if delta.weights else None,)


@final
@dataclass(frozen=True)
class MapWeights(Unary):
    """map_weights(f), the paper's map(f) on z-sets: f(k, v) ⇓ v'; (ZSet, X) ↪ (ZSet, X).

    The weight of an element may arrive in parts, so f must be additive in it: f(k, v) = v · f(k, 1). With a
    free f the rule is not eager (docs/deviations.md, 4). Every element is tried, and the first that breaks
    the law is refused as the counterexample.
    """

    f: Callable[[Any, int], int]

    name = "map_weights"
    rule = "map"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        return inputs

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        return self, changes((element, self._weight(element, weight)) for element, weight in units)

    def _weight(self, element: Any, weight: int) -> int:
        found, one = self.f(element, weight), self.f(element, 1)
        for result in (found, one):
            if type(result) is not int:
                raise ElementError(
                    f"`map_weights` gave {element!r} the weight {result!r}, and weights are integers"[:200]
                )
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
        return found


@final
@dataclass(frozen=True)
class Negate(Unary):
    """negate(): (ZSet, X) ↪ (ZSet, X), every weight times -1."""

    name = "negate"
    rule = "negate"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        return inputs

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        return self, changes((element, -weight) for element, weight in units)


@final
@dataclass(frozen=True)
class Distinct(Unary):
    """distinct(M): (ZSet, X) ↪ (ZSet, X), weight 1 for every element whose weight is above zero."""

    weights: PersistentMap[Any, int] = PersistentMap()  # noqa: RUF009

    name = "distinct"
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


class BinaryZSet(Operator):
    """((ZSet, X), (ZSet, X)) ↪ (ZSet, X): the output ends when both inputs have ended."""

    arity = (2, 1)
    shares_flag = True
    rule: ClassVar[str]

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = (expect_zset(self, given, index) for index, given in enumerate(inputs))
        return (StreamType(ZSet(self.element(left, right)), all(given.bounded for given in inputs)),)

    @abstractmethod
    def element(self, left: Any, right: Any) -> Any:
        """The type of output elements."""

    @abstractmethod
    def arrived(self, left: ZSetValue, right: ZSetValue) -> Iterator[Step]:
        """The steps that consume elements."""

    def ended(self) -> Operator:
        """What is left of the operator at the end."""
        return self

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = inputs
        assert isinstance(left, ZSetValue)
        assert isinstance(right, ZSetValue)
        yield from self.arrived(left, right)
        if left.ending() and right.ending():
            passed = (left.passed(), right.passed())
            yield Step(f"{self.rule}-terminated", passed, self.ended(), (ZSetValue.terminator(),))


class Combined(BinaryZSet):
    """The left input plus the right one times a sign. Linear: each side goes on its own, with no state."""

    sign: ClassVar[int]

    def element(self, left: Any, right: Any) -> Any:
        return either(left, right)

    def arrived(self, left: ZSetValue, right: ZSetValue) -> Iterator[Step]:
        if left.weights:
            yield Step(self.rule, (left.drained(), right), self, (ZSetValue(left.weights),))
        if right.weights:
            signed = changes((element, self.sign * weight) for element, weight in right.all_units())
            yield Step(self.rule, (left, right.drained()), self, signed)


@final
@dataclass(frozen=True)
class Plus(Combined):
    """plus(): the union of two z-sets, which adds weights."""

    name = "plus"
    rule = "union-zset"
    sign = 1


@final
@dataclass(frozen=True)
class Minus(Combined):
    """minus(): the left z-set without the right one, weight by weight."""

    name = "minus"
    rule = "minus-zset"
    sign = -1


@final
@dataclass(frozen=True)
class ToZSet(Unary):
    """to_zset(seen): (Sequence | Bag | Set, X) ↪ (ZSet, X), the weight is how often an element came.

    From a set it is 1; what was consumed has left the buffer and may come again, so `seen` remembers it.
    """

    seen: PersistentMap[Any, int] = PersistentMap()  # noqa: RUF009

    name = "to_zset"
    rule = "to-zset"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, Bag, Set)
        return (StreamType(ZSet(inputs[0].collection.element), inputs[0].bounded),)  # type: ignore[attr-defined]

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        if source is SequenceValue:
            return self, changes((element, 1) for element in units)
        if source is BagValue:
            return self, changes(units)
        new = {element: 1 for element, _ in units if element not in self.seen}
        return ToZSet(self.seen.updated(new)), changes(new.items())

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return ToZSet(), (ZSetValue.terminator(),)


class FromZSet(Unary):
    """Waits for the end, because weights may change until then, and refuses weights below zero."""

    weights: PersistentMap[Any, int]
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
        return replace(self, weights=self.weights.added(dict(units))), (None,)  # type: ignore[type-var]

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
        return replace(self, weights=PersistentMap()), (output,)  # type: ignore[type-var]


@final
@dataclass(frozen=True)
class ZSetToBag(FromZSet):
    """zset_to_bag(M): (ZSet, B) ↪ (Bag, B), at the end: weights become counts."""

    weights: PersistentMap[Any, int] = PersistentMap()  # noqa: RUF009

    name = "zset_to_bag"
    rule = "to-bag"
    target = Bag


@final
@dataclass(frozen=True)
class ZSetToSet(FromZSet):
    """zset_to_set(M): (ZSet, B) ↪ (Set, B), at the end: the elements, whatever their weights."""

    weights: PersistentMap[Any, int] = PersistentMap()  # noqa: RUF009

    name = "zset_to_set"
    rule = "to-set"
    target = Set
