"""Verbs of z-sets: weights, and the first rows in an order, which are retracted as rows change (§6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from flo.api.arguments import (
    expect_directions,
    expect_function,
    expect_no_argument,
    expect_optional,
)
from flo.api.columns import WEIGHTS, AnyColumn, Asked, Columns
from flo.api.ordering import OrderBy, bind_total_order, one_or_tuple
from flo.api.over_verbs import number_rows
from flo.api.scope import StreamBase
from flo.api.type_variables import B, B_co, C_co, T
from flo.core.errors import TypeMismatch, brief
from flo.values.operators.zset_ranking import TopK
from flo.values.operators.zsets import MapWeights, Minus, Negate
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream


UNSAID = object()
"""The default of an argument that only some calls of a verb may have."""


class ZSetVerbs(StreamBase[C_co, B_co]):
    def negate(self: ZSetVerbs[ZSet[T], B]) -> Stream[ZSet[T], B]:
        """Negate every weight."""
        return self._then(Negate())

    def map_weights(self: ZSetVerbs[ZSet[T], B], f: Callable[[T, int], int] | Columns) -> Stream[ZSet[T], B]:
        """The paper's `map`: compute a new weight from the element and its weight. Must be additive in the weight.

        In columns the weight is named `weight`."""
        return self._then(MapWeights(expect_function("map_weights", "f", f, self, WEIGHTS, gives=int)))

    @overload
    def top(
        self: ZSetVerbs[ZSet[T], B],
        count: int,
        key: Asked[T] | None = None,
        by: Asked[T] | list[AnyColumn] | None = None,
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
        by: Asked[T] | list[AnyColumn] | None = None,
        order_by: OrderBy,
        with_ties: bool = False,
        rank: str,
    ) -> Stream[ZSet[Any], B]: ...
    def top(
        self,
        count: int,
        key: object = None,
        by: object = None,
        *,
        descending: object = UNSAID,
        order_by: OrderBy | None = None,
        with_ties: bool = False,
        rank: str | None = None,
    ) -> Any:
        """Return the first `count` rows in an order, per group if `by` is given.

        `order_by` is columns, expressions, `flo.asc(…)`, `flo.desc(…)` or a list of these. Rows that are equal in it
        are ordered by the whole row. `with_ties` also returns the rows that are equal to the last one. `rank` is the
        name of a column for the place of each row, from 1; with ties, equal rows share a place.

        `key` orders by a function, by default the largest first. `descending` applies to the whole key, or, as a
        tuple, to each of its columns: `(True, False)`."""
        _expect_count("top", "count", count)
        group = expect_optional("top", "by", one_or_tuple(by), self)
        if order_by is None:
            _expect_order_by(key, with_ties, rank)
            order = expect_function("top", "key", key, self)
            directions = expect_directions("top", True if descending is UNSAID else descending, order)
            return self._then(TopK(count, order, group, directions))
        expect_no_argument("top", "key", key, "the rows are ordered by `order_by`")
        if descending is not UNSAID:
            expect_no_argument("top", "descending", descending, "`flo.desc(…)` in `order_by` says so")
        total = bind_total_order("top", order_by, self)
        ties = total.peers if with_ties else None
        first = self._then(TopK(count, total.key, group, total.directions, ties))
        if rank is None:
            return first
        return number_rows(first, group, total, rank, with_ties=with_ties)

    def limit(
        self: ZSetVerbs[ZSet[T], B], count: int, *, offset: int = 0, order_by: OrderBy | None = None
    ) -> Stream[ZSet[T], B]:
        """Return `count` rows in an order, after the first `offset`; without `order_by`, by the whole row."""
        _expect_count("limit", "count", count)
        _expect_count("limit", "offset", offset)
        total = bind_total_order("limit", order_by, self)
        first: Stream[ZSet[T], B] = self._then(TopK(count + offset, total.key, None, total.directions))
        if not offset:
            return first
        (skipped,) = first.scope.apply(TopK(offset, total.key, None, total.directions), first, verb="limit")
        (rest,) = first.scope.apply(Minus(), first, skipped, verb="limit")
        return rest


def _expect_order_by(key: object, with_ties: bool, rank: object) -> None:
    """Raise if the order is missing, or must be given by columns."""
    if key is not None and not with_ties and rank is None:
        return
    what = "`with_ties` and `rank` of `top` need `order_by`"
    if key is None:
        what = "`top` must get `order_by`, or a function as `key`; got NoneType"
    raise TypeMismatch(what, instead=(('order_by=flo.desc("price")', "the largest first"),)).at_users_line()


def _expect_count(verb: str, name: str, given: object) -> None:
    if type(given) is not int or given < 0:
        raise TypeMismatch(f"`{name}` of `{verb}` must be an integer ≥ 0; got {brief(given)}").at_users_line()
