"""Verbs of z-sets: weights, the first rows in an order, which are retracted as rows change (§6.3), and window
functions: `sales.over(partition_by="shop", order_by="at").with_columns(previous=flo.lag("price"))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Never, overload

from flo.api.aggregates import AggregateSpec, shown_argument
from flo.api.arguments import (
    expect_directions,
    expect_function,
    expect_kind,
    expect_no_argument,
    expect_number,
    expect_optional,
)
from flo.api.columns import WEIGHTS, AnyColumn, Asked, Columns, bind_columns, is_expression
from flo.api.ordering import OrderBy, TotalOrder, bind_total_order, one_or_tuple, sort_keys
from flo.api.projections import columns_of, expect_new_name
from flo.api.scope import AnyBase, AnyStream, B, B_co, C_co, StreamBase, T
from flo.api.window_functions import WindowSpec, expect_count
from flo.core.elements import belongs, returned_type
from flo.core.errors import HasVerbs, TypeMismatch, UnknownVerbError, brief
from flo.core.type_names import type_name
from flo.core.type_relations import without_none
from flo.core.untyped import AnyFunction, TypeForm
from flo.values.exact import plain_type
from flo.values.operators.over import AGGREGATES, WHOLE, Frame, FrameBound, Over, WindowFunction
from flo.values.operators.zset_ranking import TopK
from flo.values.operators.zsets import MapWeights, Minus, Negate
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream
    from flo.columns.expression import Expression

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
        expect_count("top", "count", count, 0)
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
        expect_count("limit", "count", count, 0)
        expect_count("limit", "offset", offset, 0)
        total = bind_total_order("limit", order_by, self)
        first: Stream[ZSet[T], B] = self._then(TopK(count + offset, total.key, None, total.directions))
        if not offset:
            return first
        (skipped,) = first.scope.apply(TopK(offset, total.key, None, total.directions), first, verb="limit")
        (rest,) = first.scope.apply(Minus(), first, skipped, verb="limit")
        return rest

    def over(
        self: ZSetVerbs[ZSet[T], B],
        partition_by: Columns | list[Columns] | None = None,
        order_by: OrderBy | None = None,
    ) -> RowsOver[B]:
        """Look at rows among those of their partition, in order: `over(…).with_columns(rank=flo.rank())`.

        Without `partition_by` all rows are one partition. Rows that are equal in `order_by` are peers. Where a function
        needs a total order, peers are ordered by the whole row."""
        expect_kind("over", self, ZSet, instead=(("{input}.to_zset()", "rows with weights, which can change"),))
        by = one_or_tuple(partition_by)
        keys = [] if order_by is None else sort_keys("over", order_by)
        order = bind_total_order("over", order_by, self)
        return RowsOver(self, expect_optional("over", "partition_by", by, self), order, len(keys))


def _expect_order_by(key: object, with_ties: bool, rank: object) -> None:
    """Raise if the order is missing, or must be given by columns."""
    if key is not None and not with_ties and rank is None:
        return
    what = "`with_ties` and `rank` of `top` need `order_by`"
    if key is None:
        what = "`top` must get `order_by`, or a function as `key`; got None"
    raise TypeMismatch(what, instead=(('order_by=flo.desc("price")', "the largest first"),)).at_users_line()


def number_rows(
    stream: AnyBase, by: AnyFunction | None, order: TotalOrder, name: object, *, with_ties: bool
) -> AnyStream:
    """Return the rows with the place of each in its group as a column; equal rows share one if there are ties."""
    if not isinstance(name, str):
        raise TypeMismatch(f"`rank` of `top` must be the name of a column; got {brief(name)}").at_users_line()
    expect_new_name("top", name, dict.fromkeys(columns_of(stream, "top")))
    function = WindowFunction("rank" if with_ties else "row_number")
    return RowsOver(stream, by, order, 1)._added({name: function}, verb="top")


@dataclass(frozen=True)
class RowsOver(HasVerbs, Generic[B]):
    """The rows of a stream among those of their partitions. Made by `over`."""

    stream: AnyBase
    by: AnyFunction | None
    order: TotalOrder
    asked: int
    """How many sort keys the user gave."""

    def __repr__(self) -> str:
        return f"<over(…) of {self.stream!r}>"

    def _unknown(self, verb: str) -> UnknownVerbError:
        return UnknownVerbError(
            f"`over` has no verb `{verb}`",
            instead=(("over(…).with_columns(name=flo.rank())", "adds columns; select(…) may follow"),),
        )

    def with_columns(self, *unnamed: Never, **functions: WindowSpec | AggregateSpec) -> Stream[ZSet[Any], B]:
        """Add the results of window functions as columns. One with the name of an old column replaces it."""
        if unnamed:
            raise TypeMismatch(
                f"`with_columns` must get window functions by name; got {brief(unnamed[0])}",
                instead=(("with_columns(place=flo.rank())", "name=function"),),
            ).at_users_line()
        if not functions:
            raise TypeMismatch("`with_columns` must get at least one window function").at_users_line()
        bound = {name: self._function(name, given) for name, given in functions.items()}
        return self._added(bound)

    def _added(self, functions: dict[str, WindowFunction], verb: str = "over") -> Stream[ZSet[Any], B]:
        from flo.columns.projection import Widened

        layout = self.order.key.inputs[0]
        into = Widened(layout, {name: each.result_type(layout.element) for name, each in functions.items()})
        order, columns = self.order, tuple(functions.values())
        operator = Over(columns, self.by, order.key, order.directions, order.peers, into)
        (output,) = self.stream.scope.apply(operator, self.stream, verb=verb)
        return output

    def _function(self, name: str, given: object) -> WindowFunction:
        if not isinstance(given, (WindowSpec, AggregateSpec)) or given.kind == "grouping_id":
            raise TypeMismatch(
                f"`{name}` of `with_columns` must be a window function; got {shown_argument(given)}",
                instead=(
                    (f"{name}=flo.rank()", "or row_number, lag, lead and the like"),
                    (f'{name}=flo.sum("…")', "or another aggregate of a frame"),
                ),
            ).at_users_line()
        given_of = given.of if isinstance(given, WindowSpec) else next(iter(given.arguments), None)
        of = None if given_of is None else self._bound(name, given_of)
        if of is None and given.kind in ("sum", "avg", "min", "max", "first", "last", "lag", "lead"):
            raise TypeMismatch(f"`{given.kind}` must get a column or an expression").at_users_line()
        if getattr(given, "order_by", None) is not None:
            raise TypeMismatch(
                f"`{name}` of `with_columns` must not have `order_by`: the rows have the order of `over`",
                instead=((f"over(order_by=…).with_columns({name}=flo.{given.kind}(…))", "the order of the rows"),),
            ).at_users_line()
        where = getattr(given, "where", None)
        where = None if where is None else bind_columns("over", f"{name}, where", where, (self.stream,), bool)
        if isinstance(given, AggregateSpec) and (given.kind not in AGGREGATES or any(given.options)):
            return self._aggregate(name, given, of, where)
        if given.kind in ("sum", "avg"):
            expect_number("over", of, self.stream)
        if given.kind in ("lag", "lead"):
            self._expect_default(name, given, of)
        function = WindowFunction(given.kind, of, where, given.options)
        return replace(function, frame=self._frame(name, given)) if function.has_frame else function

    def _aggregate(
        self, name: str, given: AggregateSpec, of: AnyFunction | None, where: AnyFunction | None
    ) -> WindowFunction:
        """Return an aggregate of the rows of a frame, by the aggregator that groups have."""
        from flo.columns.aggregate_types import aggregate_of

        others = tuple(self._bound(name, each) for each in given.arguments[1:])
        kinds = tuple(returned_type(each) for each in (of, *others))
        in_order = given.kind in ("collect", "string_agg") and given.options[-1] is not True
        try:
            aggregate = aggregate_of(given.kind, given.options, kinds, (False,) if in_order else ())
        except TypeError as error:
            raise TypeMismatch(
                f"`{name}={given!r}` of `with_columns` cannot be computed: {error}",
                facts=(("{input}", self.stream.type.described()),),
            ).at_users_line(self.stream) from None
        kind = f"{given.kind}_distinct" if given.kind in AGGREGATES else given.kind
        frame = self._frame(name, given)
        return WindowFunction(kind, of, where, (), frame, others, aggregate.aggregator, aggregate.kind)

    def _bound(self, name: str, of: object) -> Expression:
        if isinstance(of, tuple) or not is_expression(of):
            raise TypeMismatch(
                f"`{name}` of `with_columns` must read one column or expression; got {brief(of)}"
            ).at_users_line()
        return bind_columns("over", name, of, (self.stream,))

    def _expect_default(self, name: str, given: WindowSpec | AggregateSpec, of: AnyFunction | None) -> None:
        default, kind = given.options[1], returned_type(of)
        if default is not None and not belongs(default, kind):
            raise TypeMismatch(
                f"`default` of `{given.kind}` must be {type_name(kind)}, as its column; got {brief(default)}",
                facts=(("column", name),),
            ).at_users_line()

    def _frame(self, name: str, given: WindowSpec | AggregateSpec) -> Frame:
        """Return the frame of a function: as asked for, or as in SQL."""
        if given.rows is not None and given.range is not None:
            raise TypeMismatch(f"`{name}` must have `rows` or `range`, not both").at_users_line()
        if given.rows is not None:
            return self._checked(name, "rows", given.rows)
        if given.range is not None:
            return self._checked(name, "range", given.range)
        return ("range", None, 0) if self.order.peers else WHOLE

    def _checked(self, name: str, mode: str, given: object) -> Frame:
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise _not_a_frame(name, mode, given, "a pair (from, to)")
        start, end = given
        if isinstance(start, FrameBound) or isinstance(end, FrameBound):
            start, end = (each.place if isinstance(each, FrameBound) else each for each in (start, end))
            return ("bounds", start, end)
        for bound in (start, end):
            if mode == "rows" and bound is not None and type(bound) is not int:
                raise _not_a_frame(name, mode, given, "integers or None")
        if mode == "range":
            start, end = (self._offset(name, given, bound) for bound in (start, end))
        if start is not None and end is not None and _span(start) > _span(end):
            raise _not_a_frame(name, mode, given, "a pair whose first is not behind its second")
        return (mode, start, end)

    def _offset(self, name: str, given: object, bound: Any) -> Any:
        """Return an offset of a range, if the order is one column that it can be added to."""
        if bound is None or (bound == 0 and type(bound) is int):
            return bound
        if self.asked != 1:
            raise _not_a_frame(name, "range", given, "None or 0, unless `order_by` is one column")
        kind = plain_type(without_none(self.order.key.layout.cells[self.order.peers - 1].kind)[1])
        if not _can_add(kind, bound):
            expected = "whole days" if kind is date else "timedeltas" if kind in (datetime, timedelta) else "numbers"
            error = _not_a_frame(name, "range", given, f"{expected}, which can be added to {type_name(kind)}")
            raise error.name_input(self.stream)
        return bound


def _can_add(kind: TypeForm, bound: object) -> bool:
    if isinstance(bound, bool):
        return False
    if kind is date:
        return isinstance(bound, timedelta) and bound == timedelta(days=bound.days)
    if kind in (datetime, timedelta):
        return isinstance(bound, timedelta)
    if kind is float:
        return isinstance(bound, (int, float)) and bound == bound
    if kind is Decimal:
        return isinstance(bound, int) or (isinstance(bound, Decimal) and bound.is_finite())
    return kind is int and isinstance(bound, int)


def _span(bound: Any) -> Any:
    return bound.total_seconds() if isinstance(bound, timedelta) else bound


def _not_a_frame(name: str, mode: str, given: object, expected: str) -> TypeMismatch:
    return TypeMismatch(
        f"`{mode}` of `{name}` must be {expected}; got {brief(given)}",
        facts=(("a frame", "(from, to): None is unbounded, 0 the current row, a negative number before it"),),
        instead=((f"{mode}=(None, 0)", "all rows up to the current one"),),
    ).at_users_line()
