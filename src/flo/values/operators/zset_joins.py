"""Joins of z-sets (figure "operational semantics for the join operator"), and those that ask for a partner.

All keep both z-sets that came, by key, so that a step costs what arrived and what it makes. A row of one side
has a *partner* if the other side holds a row of the same key whose weight is above zero; how far above, and
weights of zero and below, do not matter. So the output is a function of the two z-sets that came, and, on all
weights,

    semi_join + anti_join = the left z-set
    left_join = join + anti_join with None on the right
    full_join = left_join + the anti_join of the right z-set with None on the left
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional, TypeAlias, final

from flo.core.elements import returned_type
from flo.core.operator import Operator, Step
from flo.core.persistent import PersistentMap
from flo.values.operators.zsets import BinaryZSet, changes
from flo.values.weighted import ZSetValue

Key: TypeAlias = Callable[[Any], Any] | None
Into: TypeAlias = Callable[[Any, Any], Any] | None
Units: TypeAlias = Iterator[tuple[Any, int]]
Group: TypeAlias = tuple[PersistentMap[Any, int], int]
"""The rows of one key with their weights, and how many of these are above zero."""
Index: TypeAlias = PersistentMap[Any, Group]

NO_ROWS: Group = (PersistentMap(), 0)


class Side(NamedTuple):
    """What a step sees of one key on one side: the rows that were there, and what arrived."""

    rows: PersistentMap[Any, int]
    delta: dict[Any, int]
    before: int
    after: int
    """How many rows had a weight above zero, and how many have it with the delta."""


class ZSetJoin(BinaryZSet):
    """⋈(M₁, M₂): consumes all that arrived on both sides at once.

    Only if something did: the printed rule has no such premise, and steps for ever (docs/deviations.md, 1).
    """

    on: Key
    other_on: Key
    left: Index
    right: Index

    @abstractmethod
    def joined(self, left: Side, right: Side) -> Units:
        """How the output changes by what arrived under one key."""

    def arrived(self, left: ZSetValue, right: ZSetValue) -> Iterator[Step]:
        if not left.weights and not right.weights:
            return
        lefts, rights = by_key(self.on, left), by_key(self.other_on, right)
        new_left: dict[Any, Group] = {}
        new_right: dict[Any, Group] = {}
        units: list[tuple[Any, int]] = []
        for key in lefts | rights:
            one, other = side(self.left, key, lefts), side(self.right, key, rights)
            units += self.joined(one, other)
            if one.delta:
                new_left[key] = (one.rows.added(one.delta), one.after)
            if other.delta:
                new_right[key] = (other.rows.added(other.delta), other.after)
        joined = replace(  # type: ignore[type-var]
            self,
            left=self.left.updated(new_left, drop=NO_ROWS),
            right=self.right.updated(new_right, drop=NO_ROWS),
        )
        yield Step(self.rule, (left.drained(), right.drained()), joined, changes(units))

    def ended(self) -> Operator:
        return replace(self, left=PersistentMap(), right=PersistentMap())  # type: ignore[type-var]


def by_key(on: Key, value: ZSetValue) -> dict[Any, dict[Any, int]]:
    """What arrived, under its keys. Without a function, the element is the key."""
    found: dict[Any, dict[Any, int]] = {}
    for element, weight in value.all_units():
        try:
            found.setdefault(element if on is None else on(element), {})[element] = weight
        except Exception as error:
            error.add_note(repr(element)[:120])
            raise
    return found


def side(index: Index, key: Any, arrived: dict[Any, dict[Any, int]]) -> Side:
    rows, before = index.get(key, NO_ROWS)
    delta = arrived.get(key, {})
    after = before
    for element, weight in delta.items():
        old = rows.get(element, 0)
        after += (old + weight > 0) - (old > 0)
    return Side(rows, delta, before, after)


def pairs(into: Callable[[Any, Any], Any], left: Side, right: Side) -> Units:
    """M₁ ⋈ M₂' + M₁' ⋈ M₂ + M₁' ⋈ M₂', under one key."""
    old_left = left.rows.to_dict() if right.delta else {}
    old_right = right.rows.to_dict() if left.delta else {}
    for some, others in ((old_left, right.delta), (left.delta, old_right), (left.delta, right.delta)):
        for x, weight in some.items():
            for y, other in others.items():
                yield applied(into, x, y), weight * other


def shown(some: Side, before: bool, after: bool) -> Units:
    """How an output changes that holds the rows of this side while a condition does: `before` and `after`."""
    if before and after:
        yield from some.delta.items()
    elif after:
        yield from some.rows.to_dict().items()
        yield from some.delta.items()
    elif before:
        yield from ((row, -weight) for row, weight in some.rows.to_dict().items())


def unmatched(some: Side, other: Side) -> Units:
    """How the rows of this side that have no partner change."""
    return shown(some, other.before == 0, other.after == 0)


def applied(into: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    try:
        return into(x, y)
    except Exception as error:
        error.add_note(repr((x, y))[:120])
        raise


def default(given: Any, otherwise: Any) -> Any:
    return otherwise if given is None else given


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    return (x, y)


def same(x: Any, y: Any) -> Any:
    return x


@final
@dataclass(frozen=True)
class Join(ZSetJoin):
    """join(on, other_on, into, M₁, M₂): into(x, y) for x and y of the same key, weighted by the product.

    Without `on` or `other_on` an element is its own key, and without `into` the results are pairs. Without any of
    them it is the paper's natural join: (M₁ ⋈ M₂)[k] = M₁[k] · M₂[k].
    """

    on: Key = None
    other_on: Key = None
    into: Into = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    name = "join_zsets"
    rule = "join-zset"

    def _natural(self) -> bool:
        return self.on is None and self.other_on is None

    def element(self, left: Any, right: Any) -> Any:
        if self.into is not None:
            return returned_type(self.into)
        return left if self._natural() else tuple[left, right]

    def joined(self, left: Side, right: Side) -> Units:
        return pairs(default(self.into, same if self._natural() else pair), left, right)


@final
@dataclass(frozen=True)
class SemiJoin(ZSetJoin):
    """semi_join(on, other_on, M₁, M₂): the left rows that have a partner, with their own weights."""

    on: Key = None
    other_on: Key = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    name = "semi_join"
    rule = "semi-join-zset"

    def element(self, left: Any, right: Any) -> Any:
        return left

    def joined(self, left: Side, right: Side) -> Units:
        return shown(left, right.before > 0, right.after > 0)


@final
@dataclass(frozen=True)
class AntiJoin(ZSetJoin):
    """anti_join(on, other_on, M₁, M₂): the left rows that have no partner, with their own weights."""

    on: Key = None
    other_on: Key = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    name = "anti_join"
    rule = "anti-join-zset"

    def element(self, left: Any, right: Any) -> Any:
        return left

    def joined(self, left: Side, right: Side) -> Units:
        return unmatched(left, right)


@final
@dataclass(frozen=True)
class LeftJoin(ZSetJoin):
    """left_join(on, other_on, into, M₁, M₂): join, and into(x, None) for each left row x with no partner."""

    on: Key = None
    other_on: Key = None
    into: Into = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    name = "left_join"
    rule = "left-join-zset"

    def element(self, left: Any, right: Any) -> Any:
        if self.into is not None:
            return returned_type(self.into)
        return tuple[left, Optional[right]]  # noqa: UP045

    def joined(self, left: Side, right: Side) -> Units:
        into = default(self.into, pair)
        yield from pairs(into, left, right)
        yield from ((applied(into, x, None), weight) for x, weight in unmatched(left, right))


@final
@dataclass(frozen=True)
class FullJoin(ZSetJoin):
    """full_join(on, other_on, into, M₁, M₂): left_join, and into(None, y) for each right y with no partner."""

    on: Key = None
    other_on: Key = None
    into: Into = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    name = "full_join"
    rule = "full-join-zset"

    def element(self, left: Any, right: Any) -> Any:
        if self.into is not None:
            return returned_type(self.into)
        return tuple[Optional[left], Optional[right]]  # noqa: UP045

    def joined(self, left: Side, right: Side) -> Units:
        into = default(self.into, pair)
        yield from pairs(into, left, right)
        yield from ((applied(into, x, None), weight) for x, weight in unmatched(left, right))
        yield from ((applied(into, None, y), weight) for y, weight in unmatched(right, left))
