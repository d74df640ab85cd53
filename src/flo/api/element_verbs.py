"""Verbs of sequences, bags, sets and z-sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Never, overload

from flo.api.aggregates import shown_argument
from flo.api.arguments import (
    expect_accumulator,
    expect_function,
    expect_kind,
    expect_no_argument,
    expect_optional,
    expect_reason,
    expect_zset,
)
from flo.api.columns import Asked, Columns
from flo.api.ordering import OrderBy, bind_total_order, one_or_tuple
from flo.api.scope import AnyBase, AnyStream, B, B_co, C, C_co, D, StreamBase, T, U
from flo.core.errors import TypeMismatch
from flo.core.stream_type import Bounded
from flo.core.untyped import AnyFunction
from flo.values.element_value import ElementKind
from flo.values.operators.bags import Count, FoldUnordered, SequenceDistinct, Sort, Sum
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.sequences import Fold
from flo.values.operators.sets import ToBag, ToSet
from flo.values.operators.zset_ranking import TopK
from flo.values.operators.zsets import Distinct as ZSetDistinct
from flo.values.operators.zsets import ToZSet, ZSetToBag, ZSetToSet
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream


class ElementVerbs(StreamBase[C_co, B_co]):
    @overload
    def map(self: ElementVerbs[Sequence[T], B], f: Callable[[T], U]) -> Stream[Sequence[U], B]: ...
    @overload
    def map(self: ElementVerbs[Bag[T], B], f: Callable[[T], U]) -> Stream[Bag[U], B]: ...
    @overload
    def map(self: ElementVerbs[Set[T], B], f: Callable[[T], U]) -> Stream[Set[U], B]: ...
    @overload
    def map(self: ElementVerbs[ZSet[T], B], f: Callable[[T], U]) -> Stream[ZSet[U], B]: ...
    @overload
    def map(self: ElementVerbs[ElementKind[T, C, D], B], f: Columns) -> Stream[D, B]: ...
    def map(self, f: Any) -> Any:
        """Apply `f` to every element; a z-set keeps the weights.

        Here, and in every verb that takes a function of elements, it may also be columns: a name, a Narwhals
        expression, a tuple of these, or a dict, which makes rows.
        """
        return self._then(Map(expect_function("map", "f", f, self)))

    def filter(
        self: ElementVerbs[ElementKind[T, C, D], B], keep: Asked[T] | None = None, *more: Never, **named: Never
    ) -> Stream[C, B]:
        """Keep the elements for which `keep` is true."""
        if more or named or isinstance(keep, (list, tuple, bool)):
            raise TypeMismatch(
                "`filter` must get one condition",
                facts=(
                    (
                        "given",
                        ", ".join([*(shown_argument(each) for each in (keep, *more) if each is not None), *named]),
                    ),
                ),
                instead=(('filter((nw.col("a") > 1) & (nw.col("b") == 2))', "several in one"),),
            ).at_users_line()
        return self._then(Filter(expect_function("filter", "keep", keep, self, gives=bool)))

    @overload
    def flat_map(self: ElementVerbs[Sequence[T], B], f: Callable[[T], Iterable[U]]) -> Stream[Sequence[U], B]: ...
    @overload
    def flat_map(self: ElementVerbs[Bag[T], B], f: Callable[[T], Iterable[U]]) -> Stream[Bag[U], B]: ...
    @overload
    def flat_map(self: ElementVerbs[Set[T], B], f: Callable[[T], Iterable[U]]) -> Stream[Set[U], B]: ...
    @overload
    def flat_map(self: ElementVerbs[ZSet[T], B], f: Callable[[T], Iterable[U]]) -> Stream[ZSet[U], B]: ...
    def flat_map(self, f: AnyFunction) -> Any:
        """Replace every element by the elements that `f` returns for it."""
        return self._then(FlatMap(expect_function("flat_map", "f", f, self, columns=False)))

    @overload
    def fold(
        self: ElementVerbs[Sequence[T], Bounded], initial: U, f: Callable[[U, T], U]
    ) -> Stream[Sequence[U], Bounded]: ...
    @overload
    def fold(
        self: ElementVerbs[Bag[T] | Set[T], Bounded],
        initial: U,
        f: Callable[[U, T], U],
        *,
        commutative: str | None = None,
    ) -> Stream[Sequence[U], Bounded]: ...
    def fold(self, initial: object, f: AnyFunction, *, commutative: str | None = None) -> Any:
        """Return the result of the whole stream, when it has ended.

        On unordered collections `f` must not depend on the order: it is tested on examples, and rejected with the
        smallest counterexample. `commutative="why"` records your reason, which `flo.verify.check` tries to refute.
        """
        expect_accumulator("fold", initial, f, self)
        reason = expect_reason("fold", "commutative", commutative)
        if not isinstance(self.collection, (Bag, Set, ZSet)):
            return self._then(Fold(initial, f))
        return self._then(FoldUnordered(initial, f, reason))

    def count(self: ElementVerbs[Sequence[T] | Bag[T] | Set[T], Bounded]) -> Stream[Sequence[int], Bounded]:
        """Return the number of elements of the whole stream. For a z-set: `agg(n=flo.count())`."""
        _expect_no_zset("count", self, "{input}.agg(n=flo.count())")
        return self._then(Count())

    def sum(
        self: ElementVerbs[Sequence[T] | Bag[T] | Set[T], Bounded], of: None = None
    ) -> Stream[Sequence[T], Bounded]:
        """Return the sum of the whole stream. Floats are added exactly, so that their order does not matter.

        For a z-set: `agg(sum=flo.sum(…))`.
        """
        _expect_no_zset("sum", self, "{input}.agg(sum=flo.sum(…))")
        into_bag = ".to_bag()" if isinstance(self.collection, Set) else ""  # a set would drop equal numbers
        code = f"stream{into_bag}.map(of).sum()"
        expect_no_argument("sum", "of", of, "it adds the elements", ((code, "sums the results of `of`"),))
        return self._then(Sum())

    def sort(
        self: ElementVerbs[Sequence[T] | Bag[T] | Set[T], Bounded], key: Asked[T] | None = None
    ) -> Stream[Sequence[T], Bounded]:
        """Sort the whole stream by `key`. This turns a bag or a set into a sequence."""
        ordered = ("{input}.over(order_by=…).with_columns(n=flo.row_number())", "all rows, with their places")
        expect_kind(
            "sort", self, Sequence, Bag, Set, instead=(("{input}.top(n, order_by=…)", "the first rows"), ordered)
        )
        return self._then(Sort(expect_optional("sort", "key", key, self)))

    @overload
    def distinct(self: ElementVerbs[Sequence[T], B]) -> Stream[Sequence[T], B]: ...
    @overload
    def distinct(
        self: ElementVerbs[ZSet[T], B], *, on: Columns | list[Columns] | None = None, order_by: OrderBy | None = None
    ) -> Stream[ZSet[T], B]: ...
    def distinct(self, *, on: Columns | list[Columns] | None = None, order_by: OrderBy | None = None) -> Any:
        """Return a sequence's first occurrences, or a z-set's elements with positive weight, with weight 1.

        With `on`, return one row for each content of these columns: the first by `order_by`, or else by the whole row.
        """
        expect_kind("distinct", self, Sequence, ZSet, instead=(("{input}.to_set()", "removes duplicates"),))
        if on is not None:
            return first_of_each(self, on, order_by)
        expect_no_argument("distinct", "order_by", order_by, "it chooses one of the rows that are equal `on` columns")
        return self._then(ZSetDistinct() if isinstance(self.collection, ZSet) else SequenceDistinct())

    @overload
    def to_bag(self: ElementVerbs[Sequence[T] | Set[T], B]) -> Stream[Bag[T], B]: ...
    @overload
    def to_bag(self: ElementVerbs[ZSet[T], Bounded]) -> Stream[Bag[T], Bounded]: ...
    def to_bag(self) -> Any:
        """Drop the order. A z-set must have ended, because before that a weight may still become negative."""
        return self._then(ZSetToBag() if isinstance(self.collection, ZSet) else ToBag())

    @overload
    def to_set(self: ElementVerbs[Sequence[T] | Bag[T], B]) -> Stream[Set[T], B]: ...
    @overload
    def to_set(self: ElementVerbs[ZSet[T], Bounded]) -> Stream[Set[T], Bounded]: ...
    def to_set(self) -> Any:
        """Return the distinct elements. A z-set must have ended, because before that an element may be retracted."""
        return self._then(ZSetToSet() if isinstance(self.collection, ZSet) else ToSet())

    def to_zset(self: ElementVerbs[Sequence[T] | Bag[T] | Set[T], B]) -> Stream[ZSet[T], B]:
        """Return the elements with their counts as weights."""
        return self._then(ToZSet())


def _expect_no_zset(verb: str, stream: AnyBase, code: str) -> None:
    """Raise for a z-set, whose aggregates are those of `agg`."""
    if isinstance(stream.collection, ZSet):
        expect_kind(verb, stream, Sequence, Bag, Set, instead=((code, "a row that changes as rows come and go"),))


def first_of_each(stream: AnyBase, on: object, order_by: OrderBy | None) -> AnyStream:
    """Return one row for each content of some columns."""
    expect_zset("distinct", stream)
    by = expect_function("distinct", "on", one_or_tuple(on), stream)
    total = bind_total_order("distinct", order_by, stream)
    return stream._then_named("distinct", TopK(1, total.key, by, total.directions))
