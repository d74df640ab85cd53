"""Verbs that follow a clock: `retain` keeps the rows of a z-set as long as a clock allows, so that all state behind it
is bounded, and `final` gives each group of windows once, when a clock has passed its end.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from flo.api.arguments import expect_kind, expect_zset
from flo.api.clock_verbs import CLOCKS, clocks_in, expect_clock
from flo.api.columns import bind_columns
from flo.api.event_times import bind_time, expect_column_duration, expect_same_kind, times_of
from flo.api.scope import B2, AnyBase, B, B_co, C_co, StreamBase, T, Vertex
from flo.core.errors import FloError, TypeMismatch
from flo.core.explained_calls import explain_call
from flo.core.labels import label
from flo.core.type_names import type_name
from flo.program.dag import BuiltVertex
from flo.program.on_time import END, NotOnTime, OnTime, trace_times
from flo.values.event_time import Duration, has_zone
from flo.values.exact import plain_type
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar
from flo.values.operators.final import FinalGroups
from flo.values.operators.group_by import GroupBy
from flo.values.operators.retain import Retain
from flo.values.weighted import Bag, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Clock, Retained, Stream
    from flo.columns.expression import Column, Expression

KINDS: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), timedelta: (date, datetime)}
"""The types of the clocks of times, by what the times are counted in."""


class ClockedVerbs(StreamBase[C_co, B_co]):
    @explain_call(clock='retain("at", stream.clock(time, lateness))')
    def retain(
        self: ClockedVerbs[ZSet[T], B], time: Column, clock: Stream[LVar[Any], B2], keep: Duration | None = None
    ) -> Retained[T, B | B2]:
        """Return the rows whose time is not more than `keep` before the clock.

        When the clock passes a row, it is retracted here, and appears in the side output `.expired`. A row that comes
        behind the clock goes there at once, and so does one without a time. So operators on the rows that are left
        only keep what the clock and `keep` allow.
        """
        from flo.api.stream import Retained

        expect_zset("retain", self)
        self.scope.expect_here(clock, "retain")
        bound, kind = bind_time("retain", time, self)
        _expect_clock(self, bound, kind, clock, keep)
        kept, expired = self.scope.apply(Retain(bound, keep), self, clock, verb="retain")
        result: Retained[T, B | B2] = kept._as(Retained)
        result.expired = expired
        return result

    @explain_call(clock="final(stream.clock(time, lateness))")
    def final(self: ClockedVerbs[ZSet[T], B], clock: Clock[Any, B2]) -> Stream[Bag[T], B | B2]:
        """Return each group of windows once, when the clock has come to the end of its window. Nothing is kept of it
        then. If rows and clock are bounded, the other groups come at the end.

        The stream is a `group_by(…).agg(…)` of the `.rows` of the clock, by `window_end` or `window_start` and perhaps
        other columns. Between the two are `tumble`, `hop` or `session`, by the time of the clock, and verbs that treat
        each row alone. So once the clock is at the end of a window, its rows do not change: rows before that time are
        late, and in `.late` of the clock.
        """
        expect_kind(VERB, self, ZSet)
        expect_clock(VERB, clock)
        vertex, groups = _expect_groups(self)
        if not groups.keys:
            raise _without_window(self)
        rows = vertex.inputs[0]
        end = _end_of(self, rows, groups, _expect_on_time(rows, clock), clock)
        (final_rows,) = self.scope.apply(FinalGroups(groups, end), rows, clock, verb=VERB)
        return final_rows


def _expect_clock(stream: AnyBase, time: Expression, kind: type, clock: AnyBase, keep: object) -> None:
    """Raise unless the clock is of the times of the rows, and `keep` a span of them."""
    from flo.api.stream import Clock

    cell, row_kind = time.layout.cells[0], type_name(time.layout.element)
    lattice = getattr(clock.collection, "lattice", None)
    if not isinstance(lattice, Max):
        raise TypeMismatch(
            "`clock` of `retain` must be a clock, an LVar of Max; {input} is not one",
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


VERB = "final"


def _expect_groups(stream: AnyBase) -> tuple[Vertex, GroupBy]:
    """Return the aggregation that has made a stream, with its groups."""
    vertex = stream.source
    if vertex is None or not isinstance(vertex.operator, GroupBy):
        raise TypeMismatch(
            "`final` must directly follow `group_by(…).agg(…)`; {input} is something else",
            facts=(("{input}", stream.type.described()),),
            instead=(
                ("group_by(…).agg(…).final(clock).filter(…)", "other verbs behind it"),
                ('group_by("window_end").agg(…)', "not `rollup`, `cube` or `grouping_sets`"),
            ),
        ).at_users_line(stream)
    return vertex, vertex.operator


def _expect_on_time(rows: AnyBase, clock: AnyBase) -> OnTime:
    """Return what is known of the times of rows. Raises unless the clock has seen each of them."""
    try:
        seen = trace_times(rows)
    except NotOnTime as error:
        stream, vertex = error.stream, error.stream.source
        if vertex is None or not vertex.inputs or isinstance(vertex.operator, CLOCKS):
            assert isinstance(stream, StreamBase)
            raise _behind(stream, clock) from None
        raise _not_alone(vertex, clock) from None
    if not seen.clocks <= set(clocks_in(clock)):
        raise _behind(rows, clock)
    return seen


def _example(clock: AnyBase) -> tuple[str, str]:
    name = clock.name if clock.assigned else "clock"
    return f'{name}.rows.to_zset().tumble(60, "at").group_by("{END}").agg(…)', "windows of the rows on time"


def _behind(rows: AnyBase, clock: AnyBase) -> FloError:
    return TypeMismatch(
        f"`final` follows {clock.described_name}, and the rows of {{input}} may come behind it",
        facts=(("{input}", rows.type.described()), ("clock", "must have seen each row")),
        instead=(_example(clock), ("flo.min_clock(…)", "the clock that is behind, for rows of several")),
    ).at_users_line(rows)


def _not_alone(vertex: BuiltVertex, clock: AnyBase) -> FloError:
    verb = _verb_of(vertex)
    return TypeMismatch(
        f"`final` needs rows of {clock.described_name}, through verbs that treat each row alone; `{verb}` does not",
        facts=((verb, f"made {vertex.outputs[0].type.described()}   ({vertex.origin})"),),
        instead=(
            (f"group_by(…).agg(…).final(…).to_zset().{verb}(…)", "behind it"),
            ("filter, select, with_columns, rename, drop, explode, union, to_bag, to_zset", "treat each row alone"),
        ),
    ).at_users_line()


def _end_of(stream: AnyBase, rows: AnyBase, groups: GroupBy, seen: OnTime, clock: AnyBase) -> Any:
    """Return the end of the window of each row, as a function of the columns of its group."""
    from flo.columns.functions import call
    from flo.columns.layout import Layout

    layout = Layout.of(rows.collection.element)
    names = [name for name in layout.names[: groups.keys] if name in seen.ends] if layout is not None else []
    if not names:
        raise _other_time(seen.other_windows[0], clock) if seen.other_windows else _without_window(stream)
    name = min(names, key=lambda name: seen.ends[name].size is not None)
    windows = seen.ends[name]
    given = name if windows.size is None else call(END, (name,), size=windows.size, every=windows.every)
    end = bind_columns(VERB, END, given, (rows,))
    if end.layout.cells[0].nullable:
        raise TypeMismatch(
            f"`final` needs a window for every row; `{name}` of {{input}} may be null, because the time may be",
            facts=(("{input}", stream.type.described()),),
            instead=(('with_columns(at=nw.col("at").fill_null(0)).clock("at")', "a time that is never null"),),
        ).at_users_line(stream)
    return end


def _without_window(stream: AnyBase) -> FloError:
    return TypeMismatch(
        "the groups of `final` must be those of windows; {input} is not grouped by `window_end`, or by `window_start` "
        "of `tumble` or `hop`, as the windows have them",
        facts=(("{input}", stream.type.described()),),
        instead=(
            (f'tumble(60, "at").group_by("{END}", …).agg(…)', "a group does not change when its window has ended"),
        ),
    ).at_users_line(stream)


def _other_time(vertex: BuiltVertex, clock: AnyBase) -> FloError:
    windows, verb = vertex.windows, _verb_of(vertex)
    assert windows is not None
    by = "a computed time" if windows.time is None else f"`{windows.time}`"
    times = ", ".join(label(each.operator.time) for each in clocks_in(clock) if isinstance(each.operator, CLOCKS))
    return TypeMismatch(
        f"`final` needs windows of the time that {clock.described_name} has seen; `{verb}` is by {by}",
        facts=(("clock", f"is by {times}"), (verb, f"is at {vertex.origin}")),
        instead=((f'clock("at"), and {verb}(…, "at")', "the same column, which is passed on unchanged"),),
    ).at_users_line()


def _verb_of(vertex: BuiltVertex) -> str:
    return (vertex.origin and vertex.origin.verb) or vertex.operator.name
