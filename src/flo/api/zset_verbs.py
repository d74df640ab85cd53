"""Verbs of z-sets: joins and top-k that retract their results when rows are retracted (§6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from flo.api.arguments import (
    expect_directions,
    expect_function,
    expect_no_argument,
    expect_optional,
)
from flo.api.columns import WEIGHTS, Asked, Columns, Perhaps
from flo.api.ordering import OrderBy, bind_total_order, one_or_tuple
from flo.api.over_verbs import number_rows
from flo.api.scope import B_co, C_co, StreamBase
from flo.core.errors import Origin, TypeMismatch, brief
from flo.core.stream_type import Unbounded
from flo.values.operators.zset_joins import AntiJoin, FullJoin, LeftJoin, SemiJoin
from flo.values.operators.zset_ranking import TopK
from flo.values.operators.zsets import MapWeights, Minus, Negate
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")
B = TypeVar("B", bound=Unbounded)
B2 = TypeVar("B2", bound=Unbounded)


class ZSetVerbs(StreamBase[C_co, B_co]):
    def negate(self: ZSetVerbs[ZSet[T], B]) -> Stream[ZSet[T], B]:
        """Negate every weight."""
        return self._then(Negate())

    def map_weights(self: ZSetVerbs[ZSet[T], B], f: Callable[[T, int], int] | Columns) -> Stream[ZSet[T], B]:
        """The paper's `map`: compute a new weight from the element and its weight. Must be additive in the weight.

        In columns the weight is named `weight`."""
        return self._then(MapWeights(expect_function("map_weights", "f", f, self, WEIGHTS, gives=int)))

    def semi_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
    ) -> Stream[ZSet[T], B | B2]:
        """Return the rows with a partner in the other z-set."""
        return self._then(SemiJoin(*_keys("semi_join", on, other_on, self, other)), other)

    def anti_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
    ) -> Stream[ZSet[T], B | B2]:
        """Return the rows without a partner. Neither side must end: a row is retracted when its partner arrives."""
        return self._then(AntiJoin(*_keys("anti_join", on, other_on, self, other)), other)

    @overload
    def left_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
    ) -> Stream[ZSet[tuple[T, U | None]], B | B2]: ...
    @overload
    def left_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Callable[[T, U | None], R],
    ) -> Stream[ZSet[R], B | B2]: ...
    @overload
    def left_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Columns,
    ) -> Stream[ZSet[Any], B | B2]: ...
    def left_join(self, other: Any, on: Any, other_on: Any, into: Any = None) -> Any:
        """Return all pairs, and every row without a partner paired with None; combined by `into` if given."""
        into = expect_optional("left_join", "into", into, self, Perhaps(other))
        return self._then(LeftJoin(*_keys("left_join", on, other_on, self, other), into), other)

    @overload
    def full_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
    ) -> Stream[ZSet[tuple[T | None, U | None]], B | B2]: ...
    @overload
    def full_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Callable[[T | None, U | None], R],
    ) -> Stream[ZSet[R], B | B2]: ...
    @overload
    def full_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Columns,
    ) -> Stream[ZSet[Any], B | B2]: ...
    def full_join(self, other: Any, on: Any, other_on: Any, into: Any = None) -> Any:
        """Return all pairs, and every row of either side without a partner paired with None; combined by `into`."""
        into = expect_optional("full_join", "into", into, Perhaps(self), Perhaps(other))
        return self._then(FullJoin(*_keys("full_join", on, other_on, self, other), into), other)

    @overload
    def top(
        self: ZSetVerbs[ZSet[T], B],
        count: int,
        key: Asked[T] | None = None,
        by: Asked[T] | list[Any] | None = None,
        *,
        descending: bool | tuple[bool, ...] = True,
        order_by: OrderBy | None = None,
        with_ties: bool = False,
        rank: None = None,
    ) -> Stream[ZSet[T], B]: ...
    @overload
    def top(
        self: ZSetVerbs[ZSet[T], B],
        count: int,
        *,
        by: Asked[T] | list[Any] | None = None,
        order_by: OrderBy,
        with_ties: bool = False,
        rank: str,
    ) -> Stream[ZSet[Any], B]: ...
    def top(
        self,
        count: int,
        key: Any = None,
        by: Any = None,
        *,
        descending: Any = True,
        order_by: Any = None,
        with_ties: bool = False,
        rank: str | None = None,
    ) -> Any:
        """Return the first `count` rows in an order, per group if `by` is given.

        `order_by` is columns, expressions, `flo.asc(…)`, `flo.desc(…)` or a list of these. Rows that are equal in it
        are ordered by the whole row. `with_ties` also returns the rows that are equal to the last one. `rank` is the
        name of a column for the place of each row, from 1; with ties, equal rows share a place.

        `key` orders by a function, by default the largest first. `descending` applies to the whole key, or, as a
        tuple, to each of its columns: `(True, False)`."""
        by = expect_optional("top", "by", one_or_tuple(by), self)
        if order_by is None:
            _expect_order_by(key, with_ties, rank)
            order = expect_function("top", "key", key, self)
            return self._then(TopK(count, order, by, expect_directions("top", descending, order)))
        expect_no_argument("top", "key", key, "the rows are ordered by `order_by`")
        total = bind_total_order("top", order_by, self)
        ties = total.peers if with_ties else None
        first = self._then(TopK(count, total.key, by, total.directions, ties))
        if rank is None:
            return first
        return number_rows(first, by, total, rank, with_ties=with_ties)

    def limit(
        self: ZSetVerbs[ZSet[T], B], count: int, *, offset: int = 0, order_by: OrderBy | None = None
    ) -> Stream[ZSet[T], B]:
        """Return `count` rows in an order, after the first `offset`; without `order_by`, by the whole row."""
        for name, given in (("count", count), ("offset", offset)):
            if type(given) is not int or given < 0:
                raise TypeMismatch(
                    f"`{name}` of `limit` must be an integer ≥ 0; got {brief(given)}", where=Origin.here()
                )
        total = bind_total_order("limit", order_by, self)
        first: Stream[ZSet[T], B] = self._then(TopK(count + offset, total.key, None, total.directions))
        if not offset:
            return first
        (skipped,) = first.scope.apply(TopK(offset, total.key, None, total.directions), first, verb="limit")
        (rest,) = first.scope.apply(Minus(), first, skipped, verb="limit")
        return rest


def _expect_order_by(key: Any, with_ties: bool, rank: Any) -> None:
    """Raise if the order is missing, or must be given by columns."""
    if key is not None and not with_ties and rank is None:
        return
    what = "`with_ties` and `rank` of `top` need `order_by`"
    if key is None:
        what = "`top` must get `order_by`, or a function as `key`; got NoneType"
    raise TypeMismatch(what, instead=(('order_by=flo.desc("price")', "the largest first"),), where=Origin.here())


def _keys(verb: str, on: Any, other_on: Any, stream: Any, other: Any) -> tuple[Any, Any]:
    return expect_function(verb, "on", on, stream), expect_function(verb, "other_on", other_on, other)
