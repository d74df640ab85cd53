"""The verb that keeps the rows of a z-set as long as a clock allows, so that all state behind it is bounded."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from flo.api.arguments import expect_kind, explain_call
from flo.api.columns import bind_columns, is_expression
from flo.api.event_times import expect_column_duration, expect_same_kind, times_of
from flo.api.scope import AnyBase, StreamBase
from flo.api.type_variables import B2, B, B_co, C_co, T
from flo.core.elements import type_name
from flo.core.errors import TypeMismatch, brief
from flo.values.event_time import Duration, has_zone
from flo.values.exact import plain_type
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar
from flo.values.operators.retain import Retain
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Retained, Stream
    from flo.columns.expression import Column, Expression

KINDS: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), timedelta: (date, datetime)}
"""The types of the clocks of times, by what the times are counted in."""


class RetainVerbs(StreamBase[C_co, B_co]):
    @explain_call(clock='retain("at", stream.clock(time, lateness))')
    def retain(
        self: RetainVerbs[ZSet[T], B], time: Column, clock: Stream[LVar[Any], B2], keep: Duration | None = None
    ) -> Retained[T, B | B2]:
        """Return the rows whose time is not more than `keep` before the clock.

        When the clock passes a row, it is retracted here, and appears in the side output `.expired`. A row that comes
        behind the clock goes there at once, and so does one without a time. So operators on the rows that are left
        only keep what the clock and `keep` allow.
        """
        from flo.api.stream import Retained

        expect_kind("retain", self, ZSet, instead=(("{input}.to_zset()", "rows that can be retracted"),))
        if isinstance(time, tuple) or not is_expression(time):
            raise TypeMismatch(
                f"`time` of `retain` must be a column or an expression; got {brief(time)}"
            ).at_users_line()
        self.scope.expect_here(clock, "retain")
        bound = bind_columns("retain", "time", time, (self,))
        _expect_clock(self, bound, clock, keep)
        kept, expired = self.scope.apply(Retain(bound, keep), self, clock, verb="retain")
        result: Retained[T, B | B2] = kept._as(Retained)
        result.expired = expired
        return result


def _expect_clock(stream: AnyBase, time: Expression, clock: AnyBase, keep: object) -> None:
    """Raise unless the clock is of the times of the rows, and `keep` a span of them."""
    from flo.api.stream import Clock
    from flo.columns.windowing import time_kind

    cell = time.layout.cells[0]
    kind = time_kind(cell.arrow) if time.layout.form == "value" else None
    row_kind = type_name(time.layout.element)
    if kind is None:
        raise TypeMismatch(
            f"`time` of `retain` must be integers, floats, dates or times; {time.__name__} of {{input}} is {row_kind}",
            facts=(("{input}", stream.type.described()),),
        ).at_users_line(stream)
    lattice = getattr(clock.collection, "lattice", None)
    if not isinstance(lattice, Max):
        raise TypeMismatch(
            "`clock` of `retain` must be a clock, an LVar of Max; {input} is none",
            facts=(("{input}", clock.type.described()),),
            instead=(('clicks.fold_lattice(flo.Max(int), "at")', "the largest time so far"),),
        ).at_users_line(clock)
    if isinstance(clock, Clock):
        expect_same_kind("retain", (time, stream), *times_of(clock))
    ordered = plain_type(lattice.ordered)
    if isinstance(ordered, type) and ordered not in (Any, *KINDS[kind]):
        raise TypeMismatch(
            f"`retain` compares the times of rows, {row_kind}, with the clock {{input}}, which is {type_name(ordered)}",
            facts=(("{input}", clock.type.described()),),
        ).at_users_line(clock)
    zone, zoned = getattr(cell.arrow, "tz", None) is not None, has_zone(lattice.ordered)
    if isinstance(clock, Clock) and zoned is not None and zoned is not zone:  # the type of another LVar does not tell
        own, other = (f"{'with' if each else 'without'} a zone" for each in (zone, zoned))
        raise TypeMismatch(
            f"`retain` compares the times of rows, {own}, with the clock {{input}}, whose times are {other}",
            facts=(("{input}", clock.type.described()),),
            instead=(('nw.col("at").dt.replace_time_zone("UTC")', "takes times without a zone as UTC"),),
        ).at_users_line(clock)
    if keep is not None:
        expect_column_duration("retain", "keep", keep, kind, time.layout.element, zero=True)
