"""Verbs of z-sets: aggregates and top-k that retract their results when rows are retracted (§6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from flo.api.arguments import (
    expect_directions,
    expect_function,
    expect_no_argument,
    expect_number,
    expect_optional,
    result_of,
)
from flo.api.columns import WEIGHTS, Asked, Columns
from flo.api.ordering import OrderBy, bind_total_order, one_or_tuple
from flo.api.over_verbs import number_rows
from flo.api.scope import B_co, C_co, StreamBase
from flo.core.errors import Origin, TypeMismatch, brief
from flo.core.stream_type import Unbounded
from flo.values.operators.zset_aggregates import Aggregate, Avg, Count, CountDistinct, Linear, Sum
from flo.values.operators.zset_ranking import Max, Min, TopK
from flo.values.operators.zsets import MapWeights, Minus, Negate
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")
N = TypeVar("N")
R = TypeVar("R")
B = TypeVar("B", bound=Unbounded)
B2 = TypeVar("B2", bound=Unbounded)

UNSAID: Any = object()
"""The default of an argument that only some calls of a verb may have."""


class ZSetVerbs(StreamBase[C_co, B_co]):
    def negate(self: ZSetVerbs[ZSet[T], B]) -> Stream[ZSet[T], B]:
        """Negate every weight."""
        return self._then(Negate())

    def map_weights(self: ZSetVerbs[ZSet[T], B], f: Callable[[T, int], int] | Columns) -> Stream[ZSet[T], B]:
        """The paper's `map`: compute a new weight from the element and its weight. Must be additive in the weight.

        In columns the weight is named `weight`."""
        return self._then(MapWeights(expect_function("map_weights", "f", f, self, WEIGHTS, gives=int)))

    def avg(self: ZSetVerbs[ZSet[T], B], of: Asked[T] | None = None) -> Stream[ZSet[float], B]:
        """Return the mean of the elements, or of `of(element)`; no row while there are none."""
        return self._then(Aggregate(None, Avg(expect_number("avg", expect_optional("avg", "of", of, self), self))))

    def count_distinct(self: ZSetVerbs[ZSet[T], B], of: Asked[T] | None = None) -> Stream[ZSet[int], B]:
        """Return the number of distinct elements, or of distinct `of(element)`; no row while there are none."""
        return self._then(Aggregate(None, CountDistinct(expect_optional("count_distinct", "of", of, self))))

    @overload
    def min(self: ZSetVerbs[ZSet[T], B], of: None = None) -> Stream[ZSet[T], B]: ...
    @overload
    def min(self: ZSetVerbs[ZSet[T], B], of: Callable[[T], N]) -> Stream[ZSet[N], B]: ...
    @overload
    def min(self: ZSetVerbs[ZSet[T], B], of: Columns) -> Stream[ZSet[Any], B]: ...
    def min(self, of: Any = None) -> Any:
        """Return the smallest element, or the smallest `of(element)`; no row while there are none."""
        return self._then(Aggregate(None, Min(expect_optional("min", "of", of, self))))

    @overload
    def max(self: ZSetVerbs[ZSet[T], B], of: None = None) -> Stream[ZSet[T], B]: ...
    @overload
    def max(self: ZSetVerbs[ZSet[T], B], of: Callable[[T], N]) -> Stream[ZSet[N], B]: ...
    @overload
    def max(self: ZSetVerbs[ZSet[T], B], of: Columns) -> Stream[ZSet[Any], B]: ...
    def max(self, of: Any = None) -> Any:
        """Return the largest element, or the largest `of(element)`; no row while there are none."""
        return self._then(Aggregate(None, Max(expect_optional("max", "of", of, self))))

    @overload
    def count_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K]) -> Stream[ZSet[tuple[K, int]], B]: ...
    @overload
    def count_by(self: ZSetVerbs[ZSet[T], B], by: Columns) -> Stream[ZSet[tuple[Any, int]], B]: ...
    def count_by(self, by: Any) -> Any:
        """Return (group, number of rows)."""
        return self._then(Aggregate(expect_function("count_by", "by", by, self), Count()))

    @overload
    def count_distinct_by(
        self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Asked[T]
    ) -> Stream[ZSet[tuple[K, int]], B]: ...
    @overload
    def count_distinct_by(
        self: ZSetVerbs[ZSet[T], B], by: Columns, of: Asked[T]
    ) -> Stream[ZSet[tuple[Any, int]], B]: ...
    def count_distinct_by(self, by: Any, of: Any) -> Any:
        """Return (group, number of distinct `of`)."""
        of = expect_function("count_distinct_by", "of", of, self)
        return self._then(Aggregate(expect_function("count_distinct_by", "by", by, self), CountDistinct(of)))

    @overload
    def sum_by(
        self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Callable[[T], N]
    ) -> Stream[ZSet[tuple[K, N]], B]: ...
    @overload
    def sum_by(self: ZSetVerbs[ZSet[T], B], by: Columns, of: Asked[T]) -> Stream[ZSet[tuple[Any, Any]], B]: ...
    @overload
    def sum_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Columns) -> Stream[ZSet[tuple[K, Any]], B]: ...
    def sum_by(self, by: Any, of: Any) -> Any:
        """Return (group, sum). Floats are added exactly."""
        of = expect_number("sum_by", expect_function("sum_by", "of", of, self), self)
        return self._then(Aggregate(expect_function("sum_by", "by", by, self), Sum(of)))

    @overload
    def avg_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Asked[T]) -> Stream[ZSet[tuple[K, float]], B]: ...
    @overload
    def avg_by(self: ZSetVerbs[ZSet[T], B], by: Columns, of: Asked[T]) -> Stream[ZSet[tuple[Any, float]], B]: ...
    def avg_by(self, by: Any, of: Any) -> Any:
        """Return (group, mean)."""
        of = expect_number("avg_by", expect_function("avg_by", "of", of, self), self)
        return self._then(Aggregate(expect_function("avg_by", "by", by, self), Avg(of)))

    @overload
    def min_by(
        self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Callable[[T], N]
    ) -> Stream[ZSet[tuple[K, N]], B]: ...
    @overload
    def min_by(self: ZSetVerbs[ZSet[T], B], by: Columns, of: Asked[T]) -> Stream[ZSet[tuple[Any, Any]], B]: ...
    @overload
    def min_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Columns) -> Stream[ZSet[tuple[K, Any]], B]: ...
    def min_by(self, by: Any, of: Any) -> Any:
        """Return (group, smallest)."""
        return self._then(
            Aggregate(expect_function("min_by", "by", by, self), Min(expect_function("min_by", "of", of, self)))
        )

    @overload
    def max_by(
        self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Callable[[T], N]
    ) -> Stream[ZSet[tuple[K, N]], B]: ...
    @overload
    def max_by(self: ZSetVerbs[ZSet[T], B], by: Columns, of: Asked[T]) -> Stream[ZSet[tuple[Any, Any]], B]: ...
    @overload
    def max_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Columns) -> Stream[ZSet[tuple[K, Any]], B]: ...
    def max_by(self, by: Any, of: Any) -> Any:
        """Return (group, largest)."""
        return self._then(
            Aggregate(expect_function("max_by", "by", by, self), Max(expect_function("max_by", "of", of, self)))
        )

    @overload
    def aggregate_by(
        self: ZSetVerbs[ZSet[T], B],
        by: Callable[[T], K],
        of: Callable[[T], N],
        finish: Callable[[N], R],
    ) -> Stream[ZSet[tuple[K, R]], B]: ...
    @overload
    def aggregate_by(
        self: ZSetVerbs[ZSet[T], B], by: Columns, of: Asked[T], finish: Callable[[Any], R]
    ) -> Stream[ZSet[tuple[Any, R]], B]: ...
    @overload
    def aggregate_by(
        self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Columns, finish: Callable[[Any], R]
    ) -> Stream[ZSet[tuple[K, R]], B]: ...
    def aggregate_by(self, by: Any, of: Any, finish: Any) -> Any:
        """Return (group, result) of any linear aggregate. `of` returns a number or a tuple of numbers, which are
        weighted and added; `finish` computes the result from the totals."""
        of = expect_function("aggregate_by", "of", of, self)
        finish = expect_function("aggregate_by", "finish", finish, result_of(of, "the totals"), columns=False)
        return self._then(Aggregate(expect_function("aggregate_by", "by", by, self), Linear(of, finish)))

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
        descending: Any = UNSAID,
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
        _expect_count("top", "count", count)
        by = expect_optional("top", "by", one_or_tuple(by), self)
        if order_by is None:
            _expect_order_by(key, with_ties, rank)
            order = expect_function("top", "key", key, self)
            directions = expect_directions("top", True if descending is UNSAID else descending, order)
            return self._then(TopK(count, order, by, directions))
        expect_no_argument("top", "key", key, "the rows are ordered by `order_by`")
        if descending is not UNSAID:
            expect_no_argument("top", "descending", descending, "`flo.desc(…)` in `order_by` says so")
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
        _expect_count("limit", "count", count)
        _expect_count("limit", "offset", offset)
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


def _expect_count(verb: str, name: str, given: Any) -> None:
    if type(given) is not int or given < 0:
        raise TypeMismatch(f"`{name}` of `{verb}` must be an integer ≥ 0; got {brief(given)}", where=Origin.here())
