"""Verbs of z-sets: joins, aggregates and top-k that take back what they gave when a row is taken back (§6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from flo.api.base import B_co, C_co, StreamBase
from flo.core.stream_type import Unbounded
from flo.values.operators.zset_aggregates import Aggregate, Avg, Count, Linear, Sum
from flo.values.operators.zset_extremes import Max, Min
from flo.values.operators.zset_joins import AntiJoin, FullJoin, LeftJoin, SemiJoin
from flo.values.operators.zset_topk import TopK
from flo.values.operators.zsets import MapWeights, Negate
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


class ZSetVerbs(StreamBase[C_co, B_co]):
    def negate(self: ZSetVerbs[ZSet[T], B]) -> Stream[ZSet[T], B]:
        """Every weight with its sign changed."""
        return self._then(Negate())

    def map_weights(self: ZSetVerbs[ZSet[T], B], f: Callable[[T, int], int]) -> Stream[ZSet[T], B]:
        """The paper's `map`: a new weight from the element and its weight. Must be additive in the weight."""
        return self._then(MapWeights(f))

    def semi_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Callable[[T], Any],
        other_on: Callable[[U], Any],
    ) -> Stream[ZSet[T], B | B2]:
        """The rows that have a partner in the other z-set."""
        return self._then(SemiJoin(on, other_on), other)

    def anti_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Callable[[T], Any],
        other_on: Callable[[U], Any],
    ) -> Stream[ZSet[T], B | B2]:
        """The rows that have none. Needs no end: a row is taken back when its partner comes."""
        return self._then(AntiJoin(on, other_on), other)

    def left_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Callable[[T], Any],
        other_on: Callable[[U], Any],
    ) -> Stream[ZSet[tuple[T, U | None]], B | B2]:
        """All pairs, and every row without a partner beside None."""
        return self._then(LeftJoin(on, other_on), other)

    def full_join(
        self: ZSetVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Callable[[T], Any],
        other_on: Callable[[U], Any],
    ) -> Stream[ZSet[tuple[T | None, U | None]], B | B2]:
        """All pairs, and every row of either side without a partner beside None."""
        return self._then(FullJoin(on, other_on), other)

    def count_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K]) -> Stream[ZSet[tuple[K, int]], B]:
        """(group, number of rows)."""
        return self._then(Aggregate(by, Count()))

    def sum_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Callable[[T], N]) -> Stream[ZSet[tuple[K, N]], B]:
        """(group, sum). Floats are added exactly."""
        return self._then(Aggregate(by, Sum(of)))

    def avg_by(
        self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Callable[[T], Any]
    ) -> Stream[ZSet[tuple[K, float]], B]:
        """(group, mean)."""
        return self._then(Aggregate(by, Avg(of)))

    def min_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Callable[[T], N]) -> Stream[ZSet[tuple[K, N]], B]:
        """(group, smallest)."""
        return self._then(Aggregate(by, Min(of)))

    def max_by(self: ZSetVerbs[ZSet[T], B], by: Callable[[T], K], of: Callable[[T], N]) -> Stream[ZSet[tuple[K, N]], B]:
        """(group, largest)."""
        return self._then(Aggregate(by, Max(of)))

    def aggregate_by(
        self: ZSetVerbs[ZSet[T], B],
        by: Callable[[T], K],
        of: Callable[[T], N],
        finish: Callable[[N], R],
    ) -> Stream[ZSet[tuple[K, R]], B]:
        """(group, result): any linear aggregate. `of` gives a number or a tuple of them, which are weighted and added;
        `finish` makes the result of the totals."""
        return self._then(Aggregate(by, Linear(of, finish)))

    def top(
        self: ZSetVerbs[ZSet[T], B],
        count: int,
        key: Callable[[T], Any],
        by: Callable[[T], Any] | None = None,
        *,
        descending: bool = True,
    ) -> Stream[ZSet[T], B]:
        """The `count` first rows by `key`, of every group if `by` is given; the largest first unless said otherwise."""
        return self._then(TopK(count, key, by, descending))
