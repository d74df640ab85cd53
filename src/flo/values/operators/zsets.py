"""Operators on z-sets (§6.3): the paper's map over weights, plus, minus and negate, distinct, and conversions.

An element is *present* if its weight is positive. Operators that depend on this keep the weights of everything they
consumed and emit how the answer changes, so that their outputs add up to the right result in any order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.errors import ElementError, LawError
from flo.core.facts import Demand, PrimaryKey, Reads, Timing, first_key
from flo.core.operator import Bound, Delta, Deltas, Operator, expect_bounded, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, TypeForm, Unit
from flo.values.canonical import canonical_element
from flo.values.operators.joins import CONVERSIONS, Union, element_of
from flo.values.operators.sets import Counted
from flo.values.operators.shapes import ElementKind, Unary, evaluate_ahead
from flo.values.row_functions import passed_by
from flo.values.weighted import Bag, Set, WeightedValue, Weights, ZSet, ZSetValue


def expect_zset(operator: Operator, given: StreamType, index: int = 0) -> Any:
    """Raise unless the input is a z-set; return its element type."""
    return expect_collection(operator, given, ZSet, index=index, instead=CONVERSIONS[ZSet]).element


def make_delta(units: Iterable[tuple[object, int]]) -> Deltas:
    """Return the output delta of these elements and weights; ∅ if they cancel."""
    delta = ZSetValue.of(units)
    return (delta if delta.weights else None,)


def negate_weights(units: Iterable[tuple[object, int]]) -> list[tuple[Element, int]]:
    return [(element, -weight) for element, weight in units]


def group_units(
    by: ElementFunction | None, units: Iterable[tuple[object, int]]
) -> dict[Element, list[tuple[Element, int]]]:
    """Return the elements and weights of each group; without a function there is one group."""
    groups: dict[Element, list[tuple[Element, int]]] = {}
    for unit in units:
        groups.setdefault(None if by is None else canonical_element(by(unit[0])), []).append(unit)
    return groups


TRIED = (2, -1, 0, 1000)
"""The weights that a function of weights is tested with, including a large one, because it may have a limit."""


class OnZSet(Unary):
    """(ZSet, X) ↪ (ZSet, X), by default of the same rows."""

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        return inputs


class PerGroup(OnZSet):
    """An operator that keeps something for each group until the end."""

    groups: PersistentMap[Element, Any]

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, groups=PersistentMap()), (source.terminator(),)


class GroupColumns(PerGroup):
    """Every row of a z-set with columns that the rows of its group determine: into(row, columns), or (row, *columns).

    When a group changes, what its old rows gave is retracted. `groups` has the rows of each group.
    """

    by: ElementFunction | None
    into: Callable[[Element, Any], Any] | None

    keeps = Bound.ROWS

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return passed_by(self.into, keys[0])

    @abstractmethod
    def column_types(self, element: TypeForm) -> tuple[TypeForm, ...]:
        """Return the types of the columns that rows of this type get."""

    @abstractmethod
    def evaluate(self, rows: list[Element]) -> None:
        """Let column expressions evaluate all these rows at once."""

    @abstractmethod
    def rows_of(self, weights: dict[Element, int]) -> list[tuple[Element, int]]:
        """Return the output rows of a group, with their weights."""

    def type(self, inputs: StreamTypes) -> StreamTypes:
        element = expect_zset(self, inputs[0])
        parts = (element, *self.column_types(element))
        row = tuple[parts] if self.into is None else returned_type(self.into)  # type: ignore[valid-type]
        return (StreamType(ZSet(row), inputs[0].bounded),)

    def row(self, row: object, columns: tuple[object, ...]) -> Element:
        """Return a row with its columns."""
        return (row, *columns) if self.into is None else self.into(row, columns)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        groups, changes = {}, []
        for group, members in group_units(self.by, units).items():
            before: Weights = self.groups.get(group, PersistentMap())
            old = before.to_dict()
            groups[group] = after = before.added(dict(members))
            changes.append((old, after.to_dict()))
        self.evaluate([row for old, new in changes for row in {**old, **new}])
        delta: list[tuple[Element, int]] = []
        for old, new in changes:
            delta += negate_weights(self.rows_of(old)) + self.rows_of(new)
        return replace(self, groups=self.groups.updated(groups, drop=PersistentMap())), make_delta(delta)


@dataclass(frozen=True)
class MapWeights(OnZSet):
    """map_weights(f), the paper's map(f) on z-sets: f(k, v) ⇓ v'; (ZSet, X) ↪ (ZSet, X).

    The weight of an element may arrive in parts, so f must be additive in it: f(k, v) = v · f(k, 1), which is what the
    operator emits. For an arbitrary f the rule is not eager (docs/deviations.md, 4). f is tested on every element with
    the same few weights, so that the parts in which it arrives do not matter. The first violation is reported as a
    counterexample.
    """

    f: Callable[[Element, int], int]

    name = "map_weights"
    keeps = Bound.NOTHING
    rule = "map"

    def demands(self, inputs: StreamTypes) -> Iterator[Demand]:
        yield Demand(self.f, "additive", (element_of(inputs[0]), int))

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        tried = [(element, weight) for element, _ in units for weight in (1, *TRIED)]
        evaluate_ahead(self.f, [element for element, _ in tried], [weight for _, weight in tried])
        return self, make_delta((element, weight * self._one(element)) for element, weight in units)

    def _one(self, element: object) -> int:
        """Return f(element, 1), if f is additive as far as it is tested."""
        one = self._weight(element, 1)
        for weight in TRIED:
            mapped = self._weight(element, weight)
            if mapped != weight * one:
                raise LawError(
                    "the function of `map_weights` must be additive in the weight",
                    facts=(
                        ("element", repr(element)[:80]),
                        ("f(element, 1)", str(one)),
                        (f"f(element, {weight})", f"{mapped}, but {weight} · f(element, 1) is {weight * one}"),
                    ),
                    instead=(
                        ("lambda element, weight: weight * n", "n may depend on the element"),
                        ("{input}.distinct()", "weight 1 for every element with a positive weight"),
                    ),
                )
        return one

    def _weight(self, element: object, weight: int) -> int:
        result = self.f(element, weight)
        if type(result) is not int:
            raise ElementError(f"`map_weights` must return an integer; got {result!r} for {element!r}"[:200])
        return result


@dataclass(frozen=True)
class Negate(OnZSet):
    """negate(): (ZSet, X) ↪ (ZSet, X), every weight times -1."""

    name = "negate"
    keeps = Bound.NOTHING
    reads = Reads(passes=(0,))

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        return self, make_delta(negate_weights(units))


@dataclass(frozen=True)
class OfWeights(OnZSet):
    """Gives every element a weight that depends on its total weight alone, and emits how that changes."""

    weights: Weights = PersistentMap()  # noqa: RUF009

    keeps = Bound.ROWS
    retracts = False

    @staticmethod
    @abstractmethod
    def weight_of(total: object) -> Any:
        """Return the weight that an element gets; for an integer, or for an array of them."""

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        changes = []
        for element, weight in units:
            before = self.weights.get(element, 0)
            changes.append((element, self.weight_of(before + weight) - self.weight_of(before)))
        return replace(self, weights=self.weights.added(dict(units))), make_delta(changes)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, weights=PersistentMap()), (source.terminator(),)


@dataclass(frozen=True)
class Distinct(OfWeights):
    """distinct(M): (ZSet, X) ↪ (ZSet, X), weight 1 for every element with a positive weight."""

    name = "distinct"

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return keys[0] if keys[0] is not None else columns or None

    @staticmethod
    def weight_of(total: Any) -> Any:
        return (total > 0) * 1


@dataclass(frozen=True)
class Positive(OfWeights):
    """positive(M): (ZSet, X) ↪ (ZSet, X), the elements with a positive weight, which they keep."""

    name = "positive"
    output_key = first_key

    @staticmethod
    def weight_of(total: Any) -> Any:
        return (total > 0) * total


class ZSetUnion(Union):
    """A union of z-sets. Linear, so each side is passed on without state."""

    keeps = Bound.NOTHING
    reads = Reads(passes=(0, 1))
    kind = ZSet
    side_rules = ("", "")


@dataclass(frozen=True)
class Plus(ZSetUnion):
    """plus(): the union of two z-sets: weights are added."""

    name = "plus"
    retracts = False
    timing = Timing.PASSES


@dataclass(frozen=True)
class Minus(ZSetUnion):
    """minus(): the left z-set minus the right one: weights are subtracted."""

    name = "minus"
    rule = "minus"

    def consume(self, side: int, units: list[Unit], source: type[WeightedValue]) -> tuple[Operator, Delta]:
        return super().consume(side, negate_weights(units) if side == 1 else units, source)


@dataclass(frozen=True)
class ToZSet(Counted):
    """to_zset(seen): (S<T> | Bag<T> | Set<T>, X) ↪ (ZSet<T>, X)."""

    name = "to_zset"
    keeps = Bound.NOTHING
    retracts = False
    timing = Timing.PASSES
    output_key = first_key
    target = ZSet


@dataclass(frozen=True)
class FromZSet(Unary):
    """Waits for the end, because weights may change until then, and rejects negative weights."""

    weights: Weights = PersistentMap()  # noqa: RUF009

    keeps = Bound.ROWS
    retracts = False
    target: ClassVar[type[Bag[Element] | Set[Element]]]
    waits = "waits for the end of its input, because weights may change until then"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        element = expect_zset(self, inputs[0])
        expect_bounded(
            self,
            inputs[0],
            instead=(
                ("{input}.distinct()", "still a z-set: emits which elements appear and disappear"),
                ("{input}.group_by(…).agg(…)", "still a z-set: a running result, retracted when it changes"),
            ),
        )
        return (StreamType(self.target(element), bounded=True),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, weights=self.weights.added(dict(units))), (None,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        units = self.weights.to_dict()
        below = sorted(repr(element)[:40] for element, weight in units.items() if weight < 0)
        if below:
            kind = self.target.name
            raise ElementError(
                f"{{input}} ended with negative weights, which a {kind} cannot have: {', '.join(below[:5])}"
                + (f" and {len(below) - 5} more" if len(below) > 5 else ""),
                facts=(("{input}", "retracted elements that it never had"), (self.name, f"returns a {kind}")),
                instead=(("{input}.distinct()", "drops elements without a positive weight"),),
            )
        output = self.target.value_class.of(units.items(), End.ARRIVED)
        return replace(self, weights=PersistentMap()), (output,)


@dataclass(frozen=True)
class ZSetToBag(FromZSet):
    """zset_to_bag(M): (ZSet, B) ↪ (Bag, B), at the end: weights become counts."""

    name = "zset_to_bag"
    rule = "to-bag"
    target = Bag


@dataclass(frozen=True)
class ZSetToSet(FromZSet):
    """zset_to_set(M): (ZSet, B) ↪ (Set, B), at the end: the elements with positive weight; none may be negative."""

    name = "zset_to_set"
    rule = "to-set"
    target = Set
