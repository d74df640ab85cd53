"""Joins of z-sets (figure "operational semantics for the join operator"): inner, semi, anti, left, right and full join.

They store both z-sets by key, so that a step costs as much as its input and output. When one side has ended, they only
keep of the other what may still correct results.

A row has a *partner* if the other side has a row with the same key and a positive weight; the weight itself does not
matter. So the output is a function of the two z-sets, and for all weights,

    semi_join + anti_join = the left z-set
    left_join = join + anti_join with None on the right
    right_join = join + the anti_join of the right z-set with None on the left
    full_join = left_join + right_join - join
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Optional, Self, TypeAlias

from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.facts import PrimaryKey, Reads, first_key
from flo.core.operator import Bound, Operator, Step, Values, run
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamTypes
from flo.core.untyped import Element, PairFunction, TypeForm, Unit
from flo.values.canonical import canonical_element
from flo.values.operators.joins import (
    Into,
    KeyFunction,
    SameKind,
    WeightedElements,
    combine_ahead,
    combine_pairs,
    element_of,
    expect_equal_keys,
    key_type,
    pair,
    pair_units,
)
from flo.values.operators.shapes import SIDES, all_ending, annotate_error, evaluate_ahead, pass_end
from flo.values.operators.zsets import make_delta, negate_weights
from flo.values.row_functions import pair_key
from flo.values.weighted import Weights, ZSet, ZSetValue

Group: TypeAlias = tuple[Weights, int]
"""The rows of one key with their weights, and the number of positive ones."""
GroupsByKey: TypeAlias = PersistentMap[Element, Group]

NO_ROWS: Group = (PersistentMap(), 0)
NO_PARTNER = ((None, 1),)


class Side(NamedTuple):
    """One key on one side, as a step sees it: the stored rows and the arriving delta."""

    rows: Weights
    delta: dict[Element, int]
    before: int
    after: int
    """The numbers of rows with a positive weight, before and after the delta."""


class ZSetJoin(SameKind):
    """⋈(M₁, M₂): consumes everything that has arrived on both sides at once.

    It only steps if something has arrived: the printed rule lacks this premise and steps forever (docs/deviations.md,
    1). If a function raises, rows are consumed one by one, so that a faulty row only holds up itself.
    Without `on` or `other_on` an element is its own key.
    """

    kind = ZSet
    keeps = Bound.ROWS
    forgets_after: ClassVar[tuple[int, ...]] = (0, 1)
    rule: ClassVar[str]
    counted: ClassVar[tuple[bool, bool]] = (False, True)
    """Whether results depend on which rows of each side are present. If so, their weights are kept, under the keys of
    the other side, when that has ended."""
    on: KeyFunction
    other_on: KeyFunction
    left: GroupsByKey
    right: GroupsByKey

    def expect_elements(self, inputs: StreamTypes) -> None:
        left, right = map(element_of, inputs)
        expect_equal_keys(self, inputs, key_type(self.on, left), key_type(self.other_on, right))

    @abstractmethod
    def joined(self, left: Side, right: Side) -> WeightedElements:
        """Return how the output changes by the deltas of one key."""

    def combined(self, units: list[Unit]) -> list[Element]:
        """Return the results of the units from `joined`."""
        return units

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = inputs
        assert isinstance(left, ZSetValue)
        assert isinstance(right, ZSetValue)
        if left.weights or right.weights:
            yield from self._consumed(left, right, onwards=False)
        elif all_ending(inputs):
            ended = replace(self, left=PersistentMap(), right=PersistentMap())
            yield Step(f"{self.rule}-terminated", (left.passed(), right.passed()), ended, (ZSetValue.terminator(),))
        elif left.ending() or right.ending():
            side = 0 if left.ending() else 1
            yield Step(f"{self.rule}{SIDES[side]}-ended", pass_end(inputs, side), self.side_ended(side), (None,))

    def side_ended(self, side: int) -> Self:
        """Return the operator with what it still needs when only this side has ended."""
        sides, other = [self.left, self.right], 1 - side
        gone = {key: NO_ROWS for key in sides[other] if not (self.counted[other] and key in sides[side])}
        sides[other] = sides[other].updated(gone, drop=NO_ROWS)
        return replace(self, left=sides[0], right=sides[1])

    def advance(self, inputs: Values) -> Iterator[Step]:
        left, right = inputs
        assert isinstance(left, ZSetValue)
        assert isinstance(right, ZSetValue)
        operator: Operator = self
        if left.weights or right.weights:
            for step in self._consumed(left, right, onwards=True):
                yield step
                operator, inputs = step.operator, step.inputs
        yield from run(operator, inputs)

    def _consumed(self, left: ZSetValue, right: ZSetValue, *, onwards: bool) -> Iterator[Step]:
        try:
            step = self._joined(left, right)
        except Exception:
            yield from self._rows(left, right, onwards=onwards)
        else:
            yield step

    def _rows(self, left: ZSetValue, right: ZSetValue, *, onwards: bool) -> Iterator[Step]:
        """Yield steps that consume one row, each from here or `onwards` from the previous one; raise errors last."""
        operator, fault = self, None
        none = [ZSetValue(PersistentMap(), value.end) for value in (left, right)]
        rows = [(side, unit) for side, value in enumerate((left, right)) for unit in value.all_units()]
        for side, (row, weight) in rows:
            one = ZSetValue(PersistentMap({row: weight}))
            try:
                step = operator._joined(*((one, none[1]) if side == 0 else (none[0], one)))
            except Exception as error:
                fault = fault or annotate_error(error, repr(row))
                continue
            rest = [left, right]
            rest[side] = ZSetValue(rest[side].weights.without(row), rest[side].end)
            yield replace(step, inputs=tuple(rest))
            if onwards:
                assert isinstance(step.operator, type(self))
                (left, right), operator = rest, step.operator
        if fault is not None:
            raise fault

    def _joined(self, left: ZSetValue, right: ZSetValue) -> Step:
        lefts, rights = by_key(self.on, left), by_key(self.other_on, right)
        new_left: dict[Element, Group] = {}
        new_right: dict[Element, Group] = {}
        units: list[tuple[Unit, int]] = []
        for key in lefts | rights:
            one, other = side_of(self.left, key, lefts), side_of(self.right, key, rights)
            units += self.joined(one, other)
            if one.delta and (right.end is not End.PASSED or (self.counted[0] and key in self.right)):
                new_left[key] = (one.rows.added(one.delta), one.after)
            if other.delta and (left.end is not End.PASSED or (self.counted[1] and key in self.left)):
                new_right[key] = (other.rows.added(other.delta), other.after)
        kept = (self.left.updated(new_left, drop=NO_ROWS), self.right.updated(new_right, drop=NO_ROWS))
        joined = replace(self, left=kept[0], right=kept[1])
        return Step(self.rule, (left.drained(), right.drained()), joined, make_delta(self.combined(units)))


def by_key(on: KeyFunction, value: ZSetValue) -> dict[Element, dict[Element, int]]:
    """Group a delta by key. Without a function, the element is the key."""
    grouped: dict[Element, dict[Element, int]] = {}
    evaluate_ahead(on, value.elements_list())
    for element, weight in value.all_units():
        grouped.setdefault(element if on is None else canonical_element(on(element)), {})[element] = weight
    return grouped


def side_of(index: GroupsByKey, key: object, arrived: dict[Element, dict[Element, int]]) -> Side:
    rows, before = index.get(key, NO_ROWS)
    delta = arrived.get(key, {})
    after = before
    for element, weight in delta.items():
        old = rows.get(element, 0)
        after += (old + weight > 0) - (old > 0)
    return Side(rows, delta, before, after)


def pairs(left: Side, right: Side) -> WeightedElements:
    """Return M₁ ⋈ M₂' + M₁' ⋈ M₂ + M₁' ⋈ M₂' for one key."""
    paired: list[tuple[Element, int]] = []
    if right.delta:
        paired += pair_units(left.rows.to_dict().items(), right.delta.items())
    if left.delta:
        paired += pair_units(left.delta.items(), right.rows.to_dict().items())
        paired += pair_units(left.delta.items(), right.delta.items())
    return paired


def rows_while(some: Side, before: bool, after: bool) -> WeightedElements:
    """Return the change of an output that has the rows of this side while a condition holds: `before` and `after`."""
    if not after:
        return negate_weights(some.rows.to_dict().items()) if before else ()
    return some.delta.items() if before else chain(some.rows.to_dict().items(), some.delta.items())


def unmatched(some: Side, other: Side) -> WeightedElements:
    """Return how the rows of this side without a partner change."""
    return rows_while(some, other.before == 0, other.after == 0)


def take_left(x: object, y: object) -> Element:
    return x


@dataclass(frozen=True)
class Filtering(ZSetJoin):
    """Some of the left rows, with their own weights. Of a right side that has ended, only the keys are kept."""

    on: KeyFunction = None
    other_on: KeyFunction = None
    left: GroupsByKey = PersistentMap()  # noqa: RUF009
    right: GroupsByKey = PersistentMap()  # noqa: RUF009

    output_key = first_key
    reads = Reads(passes=(0,), functions={"on": (0,)})

    def element(self, left: object, right: object) -> Any:
        return left

    def side_ended(self, side: int) -> Self:
        ended = super().side_ended(side)
        if side == 0:
            return ended
        keys = {key: (NO_ROWS[0], min(count, 1)) for key, (_, count) in self.right.to_dict().items()}
        return replace(ended, right=PersistentMap().updated(keys, drop=NO_ROWS))


@dataclass(frozen=True)
class SemiJoin(Filtering):
    """semi_join(on, other_on, M₁, M₂): the left rows with a partner."""

    name = "semi_join"
    retracts = False
    rule = "semi-join-zset"

    def joined(self, left: Side, right: Side) -> WeightedElements:
        return rows_while(left, right.before > 0, right.after > 0)


@dataclass(frozen=True)
class AntiJoin(Filtering):
    """anti_join(on, other_on, M₁, M₂): the left rows without a partner."""

    name = "anti_join"
    rule = "anti-join-zset"

    def joined(self, left: Side, right: Side) -> WeightedElements:
        return unmatched(left, right)


@dataclass(frozen=True)
class PairingJoin(ZSetJoin):
    """into(x, y) for x and y with equal keys, weighted by the product. Without `into` the results are pairs."""

    on: KeyFunction = None
    other_on: KeyFunction = None
    into: Into = None
    left: GroupsByKey = PersistentMap()  # noqa: RUF009
    right: GroupsByKey = PersistentMap()  # noqa: RUF009

    def element(self, left: TypeForm, right: TypeForm) -> TypeForm:
        return self.pair_type(left, right) if self.into is None else returned_type(self.into)

    @abstractmethod
    def pair_type(self, left: object, right: object) -> TypeForm:
        """Return the type of results without `into`."""

    def combine(self) -> PairFunction:
        """Return the function that combines a pair."""
        return self.into or pair

    def combined(self, units: list[Unit]) -> list[Element]:
        combine_ahead(self.into, units)
        return combine_pairs(self.combine(), units)


@dataclass(frozen=True)
class Join(PairingJoin):
    """join(on, other_on, into, M₁, M₂): without functions it is the paper's, (M₁ ⋈ M₂)[k] = M₁[k] · M₂[k]."""

    name = "join_zsets"
    retracts = False
    reads = Reads(functions={"on": (0,), "other_on": (1,), "into": (0, 1)}, makes="into")
    rule = "join-zset"
    counted = (False, False)

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return pair_key(self.on, self.other_on, self.into, *keys)

    def _natural(self) -> bool:
        return self.on is None and self.other_on is None

    def pair_type(self, left: Any, right: Any) -> TypeForm:
        return left if self._natural() else tuple[left, right]

    def joined(self, left: Side, right: Side) -> WeightedElements:
        return pairs(left, right)

    def combine(self) -> PairFunction:
        return take_left if self.into is None and self._natural() else super().combine()


@dataclass(frozen=True)
class Outer(PairingJoin):
    """join, and the rows without a partner beside None."""

    recomputes = ("into",)
    alone: ClassVar[tuple[bool, bool]]
    """Whether rows of each side may be without a partner."""

    def pair_type(self, left: object, right: object) -> TypeForm:
        return tuple[self.sides(left, right)]  # type: ignore[misc]

    @classmethod
    def sides(cls, left: object, right: object) -> tuple[TypeForm, TypeForm]:
        """Return the types of the rows that `into` is called with."""
        return (Optional[left] if cls.alone[1] else left), (Optional[right] if cls.alone[0] else right)  # noqa: UP045

    def joined(self, left: Side, right: Side) -> WeightedElements:
        return chain(
            pairs(left, right),
            pair_units(unmatched(left, right), NO_PARTNER) if self.alone[0] else (),
            pair_units(NO_PARTNER, unmatched(right, left)) if self.alone[1] else (),
        )


@dataclass(frozen=True)
class LeftJoin(Outer):
    """left_join(on, other_on, into, M₁, M₂): join, and into(x, None) for each left row x without a partner."""

    name = "left_join"
    rule = "left-join-zset"
    alone = (True, False)
    counted = (False, True)

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return pair_key(self.on, self.other_on, self.into, *keys, left_alone=True)


@dataclass(frozen=True)
class RightJoin(Outer):
    """right_join(on, other_on, into, M₁, M₂): join, and into(None, y) for each right row y without a partner."""

    name = "right_join"
    rule = "right-join-zset"
    alone = (False, True)
    counted = (True, False)


@dataclass(frozen=True)
class FullJoin(Outer):
    """full_join(on, other_on, into, M₁, M₂): the rows of both without a partner."""

    name = "full_join"
    rule = "full-join-zset"
    alone = (True, True)
    counted = (True, True)
