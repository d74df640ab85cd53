"""Set operations of SQL on z-sets: each with duplicates (`all=True`) and without. Null equals null here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from flo.api.aligning import align_rows
from flo.api.arguments import expect_kind
from flo.api.scope import B_co, C_co, StreamBase
from flo.core.stream_type import Unbounded
from flo.values.operators.zset_joins import AntiJoin, SemiJoin
from flo.values.operators.zsets import Distinct, Minus, Plus, Positive
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream

T = TypeVar("T")
B = TypeVar("B", bound=Unbounded)
B2 = TypeVar("B2", bound=Unbounded)
ROWS = (("{input}.to_zset()", "rows that can be retracted"),)


class SetVerbs(StreamBase[C_co, B_co]):
    def union_distinct(self: SetVerbs[ZSet[T], B], other: Stream[ZSet[Any], B2]) -> Stream[ZSet[T], B | B2]:
        """Return the rows of both, each once. `union` keeps duplicates."""
        left, right = _sides("union_distinct", self, other)
        return left._then(Plus(), right)._then_named("union_distinct", Distinct())  # type: ignore[no-any-return]

    def except_(
        self: SetVerbs[ZSet[T], B], other: Stream[ZSet[Any], B2], *, all: bool = False
    ) -> Stream[ZSet[T], B | B2]:
        """Return the different rows that the other does not have; with `all`, each as often as it is there more often
        than in the other."""
        left, right = _sides("except_", self, other)
        if all:
            return left._then(Minus(), right)._then_named("except_", Positive())  # type: ignore[no-any-return]
        return left._then(Distinct())._then_named("except_", AntiJoin(None, None), right)  # type: ignore[no-any-return]

    def intersect(
        self: SetVerbs[ZSet[T], B], other: Stream[ZSet[Any], B2], *, all: bool = False
    ) -> Stream[ZSet[T], B | B2]:
        """Return the different rows that both have; with `all`, each as often as it is in both."""
        left, right = _sides("intersect", self, other)
        if all:
            more = left._then(Minus(), right)._then_named("intersect", Positive())
            return left._then(Minus(), more)  # type: ignore[no-any-return]
        return left._then(Distinct())._then_named("intersect", SemiJoin(None, None), right)  # type: ignore[no-any-return]


def _sides(verb: str, left: Any, right: Any) -> tuple[Any, Any]:
    expect_kind(verb, left, ZSet, instead=ROWS)
    return align_rows(verb, left, right)
