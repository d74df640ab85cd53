"""Verbs that combine two streams, or work on elements and on inner streams alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Never, TypeAlias, overload

from flo.api.aligning import align_rows
from flo.api.arguments import expect_kind, expect_known_arguments, expect_no_argument, expect_optional, expect_zset
from flo.api.columns import AnyColumn, Asked, Columns
from flo.api.joins import expect_how, expect_plain_join, is_column_join, is_conditional, join_pairs, join_rows
from flo.api.scope import B2, AnyBase, B, B_co, C, C_co, D, E, K, R, StreamBase, T, U, Wider
from flo.core.collection import Collection
from flo.core.nested import Nested
from flo.core.operator import Operator
from flo.core.stream_type import Bounded
from flo.core.structural import Wire
from flo.core.untyped import PairFunction
from flo.values.keyed import Keyed
from flo.values.lvar import LVar
from flo.values.operators.bags import BagUnion
from flo.values.operators.keyed_streams import KeyedJoin
from flo.values.operators.lvars import LVarUnion
from flo.values.operators.nested_streams import NestedLast, NestedZip
from flo.values.operators.pairs import UnionSequences, Zip
from flo.values.operators.sequences import Last
from flo.values.operators.sets import Difference, Intersection, UnionSets
from flo.values.operators.zset_joins import AntiJoin, SemiJoin
from flo.values.operators.zsets import Distinct, Minus, Plus, Positive
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream


JoinKeys: TypeAlias = "Columns | list[Any]"
"""The columns that rows are joined on."""
Unordered: TypeAlias = Bag[Any] | Set[Any] | ZSet[Any] | LVar[Any]

RE_KEY = (("stream.entries().key_by(…).join(…)", "joins on another key"),)


def joinable(collection: Collection) -> tuple[tuple[str, str], ...]:
    """Return how to convert a sequence to something that can be joined."""
    if not isinstance(collection, Sequence):
        return ()
    return (
        ("{input}.to_bag()", "drops the order, keeps duplicates"),
        ("{input}.to_zset()", "the same, with retractions"),
    )


def _sides(verb: str, left: AnyBase, right: AnyBase) -> tuple[AnyBase, AnyBase]:
    expect_zset(verb, left)
    return align_rows(verb, left, right)


class CombineVerbs(StreamBase[C_co, B_co]):
    @overload
    def union(self: CombineVerbs[Sequence[Any], Bounded], other: Stream[C_co, B]) -> Stream[C_co, B]: ...
    @overload
    def union(self: CombineVerbs[Sequence[Any], Bounded], other: Wider[C_co, D, B]) -> Stream[D, B]: ...
    @overload
    def union(self: CombineVerbs[Unordered, B], other: Stream[C_co, B2]) -> Stream[C_co, B | B2]: ...
    @overload
    def union(self: CombineVerbs[Unordered, B], other: Wider[C_co, D, B2]) -> Stream[D, B | B2]: ...
    def union(self, other: Any) -> Any:
        """Combine both streams. For sequences, all of this one comes first, so it must be bounded."""
        expect_kind("union", self, Sequence, Bag, Set, ZSet, LVar)
        this, other = align_rows("union", self, other)
        unions: dict[type[Collection], Callable[[], Operator]]
        unions = {Sequence: UnionSequences, Bag: BagUnion, Set: UnionSets, ZSet: Plus, LVar: LVarUnion}
        union = next(each for kind, each in unions.items() if isinstance(self.collection, kind))
        return this._then(union(), other)

    def union_distinct(self: CombineVerbs[ZSet[T], B], other: Stream[ZSet[Any], B2]) -> Stream[ZSet[T], B | B2]:
        """Return the rows of both, each once. `union` keeps duplicates."""
        left, right = _sides("union_distinct", self, other)
        return left._then(Plus(), right)._then_named("union_distinct", Distinct())

    def except_(
        self: CombineVerbs[ZSet[T], B], other: Stream[ZSet[Any], B2], *, all: bool = False
    ) -> Stream[ZSet[T], B | B2]:
        """Return the different rows that the other does not have; with `all`, each as often as it is there more often
        than in the other."""
        left, right = _sides("except_", self, other)
        if all:
            return left._then(Minus(), right)._then_named("except_", Positive())
        return left._then(Distinct())._then_named("except_", AntiJoin(None, None), right)

    def intersect(
        self: CombineVerbs[ZSet[T], B], other: Stream[ZSet[Any], B2], *, all: bool = False
    ) -> Stream[ZSet[T], B | B2]:
        """Return the different rows that both have; with `all`, each as often as it is in both."""
        left, right = _sides("intersect", self, other)
        if all:
            more = left._then(Minus(), right)._then_named("intersect", Positive())
            return left._then(Minus(), more)
        return left._then(Distinct())._then_named("intersect", SemiJoin(None, None), right)

    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: JoinKeys,
        other_on: JoinKeys | None = None,
        *,
        how: Literal["inner", "left", "right", "full"] = "inner",
        where: AnyColumn | None = None,
        suffix: str = "_right",
        nulls_equal: bool = False,
    ) -> Stream[ZSet[Any], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T] | JoinKeys | None = None,
        other_on: Asked[U] | JoinKeys | None = None,
        *,
        how: Literal["semi", "anti"],
        where: AnyColumn | None = None,
        suffix: str = "_right",
        nulls_equal: bool = False,
    ) -> Stream[ZSet[T], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        *,
        how: Literal["cross"],
        where: AnyColumn | None = None,
        suffix: str = "_right",
    ) -> Stream[ZSet[Any], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        *,
        how: Literal["left", "right", "full"],
        where: AnyColumn,
        suffix: str = "_right",
    ) -> Stream[ZSet[Any], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B], other: Stream[C_co, B2] | Wider[C_co, Any, B2]
    ) -> Stream[ZSet[T], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        *,
        how: Literal["inner"] = "inner",
    ) -> Stream[ZSet[tuple[T, U]], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Callable[[T, U], R],
        *,
        how: Literal["inner"] = "inner",
    ) -> Stream[ZSet[R], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Callable[[T, U | None], R],
        *,
        how: Literal["left"],
    ) -> Stream[ZSet[R], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Callable[[T | None, U], R],
        *,
        how: Literal["right"],
    ) -> Stream[ZSet[R], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Callable[[T | None, U | None], R],
        *,
        how: Literal["full"],
    ) -> Stream[ZSet[R], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Asked[T],
        other_on: Asked[U],
        into: Columns | None = None,
        *,
        how: Literal["inner", "left", "right", "full"] = "inner",
    ) -> Stream[ZSet[Any], B | B2]: ...
    @overload
    def join(self: CombineVerbs[Set[T], B], other: Stream[Set[tuple[T, U]], B2]) -> Stream[Set[U], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[Set[Any], B],
        other: Stream[Set[Any], B2],
        on: AnyColumn | JoinKeys,
        other_on: AnyColumn | JoinKeys | None = None,
        into: PairFunction | Columns | None = None,
        *,
        where: AnyColumn | None = None,
        suffix: str = "_right",
        nulls_equal: bool = False,
    ) -> Stream[Set[Any], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[Bag[Any], B],
        other: Stream[Bag[Any], B2],
        on: AnyColumn | JoinKeys,
        other_on: AnyColumn | JoinKeys | None = None,
        into: PairFunction | Columns | None = None,
        *,
        where: AnyColumn | None = None,
        suffix: str = "_right",
        nulls_equal: bool = False,
    ) -> Stream[Bag[Any], B | B2]: ...
    @overload
    def join(
        self: CombineVerbs[Keyed[K, Any], B],
        other: Stream[Keyed[K, Any], B2],
        *,
        into: PairFunction | None = None,
    ) -> Stream[Keyed[K, Any], B | B2]: ...
    def join(
        self,
        other: Any,
        on: Any = None,
        other_on: Any = None,
        into: Any = None,
        *,
        how: str = "inner",
        where: Any = None,
        suffix: str = "_right",
        nulls_equal: bool = False,
        **unknown: Never,
    ) -> Any:
        """Return pairs with equal keys: `on` is the key of this stream, and of the other unless `other_on` is given.

        Rows that are joined on columns give rows with the columns of both; see docs/relational.md for `how` (inner,
        left, right, full, semi, anti, cross), more conditions, suffixes and nulls. Otherwise `on` and `other_on` are
        functions, and results are pairs, with None for a missing partner, or what `into` makes of the two; None as a
        key equals None. Without keys: a set of nodes and a set of edges give the edges' destinations; z-sets join on
        whole elements; keyed streams join on their keys.
        """
        meant = {"left_on": "on=…", "right_on": "other_on=…", "lsuffix": "suffix=…", "type": 'how="left"'}
        expect_known_arguments("join", unknown, locals(), meant)
        expect_kind("join", self, Set, Bag, ZSet, Keyed, instead=joinable(self.collection))
        self.scope.expect_here(other, "join")
        no_keys = on is None and other_on is None and into is None and is_conditional(how, where)
        if expect_how(how) == "cross" or no_keys or (into is None and is_column_join(on, other_on)):
            return join_rows(self, other, on, other_on, how, where, suffix, nulls_equal)
        expect_plain_join(how, where, suffix, nulls_equal, self)
        if isinstance(self.collection, Keyed):
            into = expect_optional("join", "into", into, self, other, columns=False)
            for parameter, key in (("on", on), ("other_on", other_on)):
                expect_no_argument("join", parameter, key, "keyed streams join on their keys", RE_KEY)
            return self._then(KeyedJoin(into), other)
        return join_pairs(self, other, on, other_on, into, how)

    def tee(self: CombineVerbs[C, B]) -> tuple[Stream[C, B], Stream[C, B]]:
        """Return the stream twice. Using a stream in two places has the same effect."""
        first, second = self.apply(Wire(1, (0, 0)))
        return first, second

    def intersection(
        self: CombineVerbs[Set[T], B], other: Stream[C_co, B2] | Wider[C_co, Any, B2]
    ) -> Stream[Set[T], B | B2]:
        """Return the elements of both sets."""
        return self._then(Intersection(), other)

    def difference(
        self: CombineVerbs[Set[T], B], other: Stream[C_co, Bounded] | Wider[C_co, Any, Bounded]
    ) -> Stream[Set[T], B]:
        """Return the elements that the other set does not have. The other set must be bounded."""
        return self._then(Difference(), other)

    @overload
    def minus(self: CombineVerbs[ZSet[Any], B], other: Stream[C_co, B2]) -> Stream[C_co, B | B2]: ...
    @overload
    def minus(self: CombineVerbs[ZSet[Any], B], other: Wider[C_co, D, B2]) -> Stream[D, B | B2]: ...
    def minus(self, other: Any) -> Any:
        """Subtract the weights. Neither side must end: results that were too early are retracted."""
        this, other = align_rows("minus", self, other)
        return this._then(Minus(), other)

    @overload
    def zip(
        self: CombineVerbs[Sequence[T], B], other: Stream[Sequence[U], B2]
    ) -> Stream[Sequence[tuple[T, U]], B | B2]: ...
    @overload
    def zip(self: CombineVerbs[Nested[C], B], other: Stream[Nested[D], B2]) -> Stream[Nested[C, D], B | B2]: ...
    @overload
    def zip(
        self: CombineVerbs[Nested[Any, Any], B], other: Stream[Nested[D], B2]
    ) -> Stream[Nested[Any, Any, D], B | B2]: ...
    def zip(self, other: Any) -> Any:
        """Pair elements; pair inner streams, for a `nest` over both."""
        return self._then(NestedZip() if isinstance(self.collection, Nested) else Zip(), other)

    @overload
    def last(self: CombineVerbs[Sequence[T], Bounded]) -> Stream[Sequence[T], Bounded]: ...
    @overload
    def last(self: CombineVerbs[Nested[C], Bounded]) -> Stream[C, Bounded]: ...
    @overload
    def last(self: CombineVerbs[Nested[C, D], Bounded]) -> tuple[Stream[C, Bounded], Stream[D, Bounded]]: ...
    @overload
    def last(
        self: CombineVerbs[Nested[C, D, E], Bounded],
    ) -> tuple[Stream[C, Bounded], Stream[D, Bounded], Stream[E, Bounded]]: ...
    def last(self) -> Any:
        """Return the last element, or the last inner streams, when the stream has ended."""
        if not isinstance(self.collection, Nested):
            return self._then(Last())
        streams = self.scope.apply(NestedLast(len(self.collection.inner)), self, verb="last")
        return streams[0] if len(streams) == 1 else streams
