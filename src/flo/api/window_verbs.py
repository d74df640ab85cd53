"""Verbs that cut a stream into windows of event time, and verbs that add the windows that a row is in as columns,
`window_start` and `window_end`.

`tumble` and `hop` look at one row at a time. The sessions of `session` follow from the rows that are there: they merge
when a row comes between them, and split when it goes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from flo.api.arguments import expect_no_argument, expect_zset
from flo.api.clock_verbs import read_clock
from flo.api.columns import Asked, bind_columns, expect_columns, row_layout
from flo.api.event_times import bind_time, expect_column_duration, expect_durations_of, expect_time
from flo.api.projections import columns_of
from flo.api.row_verbs import project_rows
from flo.api.scope import AnyBase, AnyStream, B, B_co, C, C_co, D, StreamBase, T
from flo.core.errors import TypeMismatch
from flo.core.explained_calls import explain_call
from flo.program.dag import WindowColumns
from flo.program.on_time import END, START
from flo.values.element_value import ElementKind, Windowable
from flo.values.event_time import Duration
from flo.values.operators.elementwise import FlatMap
from flo.values.operators.session_columns import SessionColumns
from flo.values.operators.windows import Session, Sliding, TimeWindows, Tumbling
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import BoundedWindows, Clock, Stream, Windowed
    from flo.columns.expression import Column

AnyClock: TypeAlias = "Clock[Any, Any]"


class WindowVerbs(StreamBase[C_co, B_co]):
    """A window closes when an element arrives that is `lateness` or more beyond its end. Later elements of that window
    go to the side output `.late`. In a partitioned stream the elements of a window have no order; an element is late by
    the clock of its own partition, and a window closes when all partitions have come beyond its end. A bounded stream
    also emits its open windows at the end. With `bounds=True` each window has a second inner stream with its
    `TimeWindow(start, end)`. With `clock=` the windows follow that clock, and their time is the one that it has."""

    @overload
    def tumbling(
        self: WindowVerbs[Windowable[T, C], B],
        size: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> Windowed[C, B]: ...
    @overload
    def tumbling(
        self: WindowVerbs[Windowable[T, C], B],
        size: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedWindows[C, B]: ...
    @explain_call(size="tumbling(60, time=…)")
    def tumbling(
        self,
        size: Duration,
        time: Any = None,
        lateness: Duration | None = None,
        *,
        bounds: bool = False,
        clock: AnyClock | None = None,
    ) -> Any:
        """Cut into adjacent windows of one size."""
        return self._windows(Tumbling(size, time, lateness, bounds=bounds), clock)

    @overload
    def sliding(
        self: WindowVerbs[Windowable[T, C], B],
        size: Duration,
        slide: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> Windowed[C, B]: ...
    @overload
    def sliding(
        self: WindowVerbs[Windowable[T, C], B],
        size: Duration,
        slide: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedWindows[C, B]: ...
    @explain_call(slide="sliding(60, 10, time=…)")
    def sliding(
        self,
        size: Duration,
        slide: Duration,
        time: Any = None,
        lateness: Duration | None = None,
        *,
        bounds: bool = False,
        clock: AnyClock | None = None,
    ) -> Any:
        """Cut into windows of one size that start every `slide`: an element may be in several."""
        return self._windows(Sliding(size, slide, time, lateness, bounds=bounds), clock)

    @overload
    def session(
        self: WindowVerbs[Windowable[T, C], B],
        gap: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> Windowed[C, B]: ...
    @overload
    def session(
        self: WindowVerbs[Windowable[T, C], B],
        gap: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedWindows[C, B]: ...
    @overload
    def session(
        self: WindowVerbs[ZSet[T], B], gap: Duration, time: Column, *, by: Column | list[Column] | None = None
    ) -> Stream[ZSet[Any], B]: ...
    @explain_call(gap="session(60, time=…)")
    def session(
        self,
        gap: Duration,
        time: Any = None,
        lateness: Duration | None = None,
        *,
        bounds: bool = False,
        clock: AnyClock | None = None,
        by: Any = None,
    ) -> Any:
        """Cut a sequence into windows that end when nothing arrives for `gap`.

        Of a z-set of rows, add the bounds of the session that a row is in, as `window_start` and `window_end`: rows
        with equal `by` that are less than `gap` apart are in one session. A row without a time has null in both.
        """
        if isinstance(self.collection, ZSet) or by is not None:
            for name, given in (("lateness", lateness), ("clock", clock)):
                expect_no_argument("session", name, given, "the sessions of a z-set are corrected when rows come late")
            expect_no_argument("session", "bounds", bounds or None, "the bounds of a z-set's sessions are columns")
            return session_columns(self, gap, time, by)
        return self._windows(Session(gap, time, lateness, bounds=bounds), clock)

    def _windows(self, operator: TimeWindows, clock: AnyClock | None) -> Windowed[Any, Any]:
        from flo.api.stream import Windowed  # here, because it is a stream and has the verbs of this module

        given: Any = operator
        if clock is None:
            time = expect_time(operator.name, operator.time, self, operator.lateness, **operator.durations())
            windows, late = self.apply(replace(given, time=time))
        else:
            if operator.time is not None or operator.lateness is not None:
                raise TypeMismatch(
                    f"`{operator.name}` with a clock has the time and the lateness of the clock",
                    instead=((f"{operator.name}(…, clock=…)", "without `time` and `lateness`"),),
                ).at_users_line()
            seen, follows = read_clock(operator.name, self, clock)
            expect_durations_of(operator.name, seen.time, self, **operator.durations())
            windows, late = self.apply(replace(given, time=seen.time, by_clock=True), follows)
        result = windows._as(Windowed)
        result.late = late
        result.vertex.late = late if clock is None else None
        return result

    @explain_call(time='tumble(60, "at")')
    def tumble(self: WindowVerbs[ElementKind[T, C, D], B], size: Duration, time: Column) -> Stream[D, B]:
        """Add the bounds of the window that a row is in, of adjacent windows of one size, as `window_start` and
        `window_end`. A row without a time has null in both."""
        own, _ = _expect_windows(self, "tumble", time, size=size)
        from flo.columns.functions import call

        start = call(START, (time,), every=size)
        result = project_rows(self, "tumble", {**own, START: start, END: call(END, (start,), size=size, every=size)})
        return _with_windows(result, self, time, size, size)

    @explain_call(every='hop(60, 10, "at")', time='hop(60, 10, "at")')
    def hop(self: WindowVerbs[ElementKind[T, C, D], B], size: Duration, every: Duration, time: Column) -> Stream[D, B]:
        """Give a row once for each window that it is in, of windows of one size that start `every` so much, with the
        bounds `window_start` and `window_end`. A row without a time is there once, with null in both."""
        own, nullable = _expect_windows(self, "hop", time, size=size, every=every)
        from flo.columns.functions import call
        from flo.columns.projection import Exploding

        if every > size:  # type: ignore[operator]  # they fit one column of times
            raise TypeMismatch(
                f"`every` of `hop` must be ≤ `size`, or rows between windows are lost; got {every!r} > {size!r}"
            ).at_users_line()
        listed = project_rows(self, "hop", {**own, START: call("window_starts", (time,), size=size, every=every)})
        explode = Exploding.of(START, nullable, row_layout("hop", "time", listed))
        assert explode is not None, "a list of windows"
        each = listed._then_named("hop", FlatMap(explode))
        if (key := self.key) is not None:
            each.vertex.key = (*key, START)  # a row is in each of its windows once
        result = project_rows(each, "hop", {**own, START: START, END: call(END, (START,), size=size, every=every)})
        return _with_windows(result, self, time, size, every)


def _with_windows(
    result: Stream[D, B], rows: AnyBase, time: Column, size: Duration | None = None, every: Duration | None = None
) -> Stream[D, B]:
    """Return the stream, which knows the windows that it has as columns."""
    from flo.columns.expression_text import plain_column

    result.vertex.windows = WindowColumns(rows, plain_column(time), size, every)
    return result


def session_columns(rows: AnyBase, gap: Duration, time: Column, by: object) -> AnyStream:
    """Return the rows with the bounds of their sessions."""
    expect_zset("session", rows)
    _expect_windows(rows, "session", time, gap=gap)
    from flo.columns.functions import call
    from flo.columns.projection import Widened

    key = None if by is None else bind_columns("session", "by", expect_columns("session", "by", by), (rows,))
    bound = bind_columns("session", "time", call(START, (time,)), (rows,)).layout.cells[0].annotation
    into = Widened(row_layout("session", "time", rows), {START: bound, END: bound})
    operator = SessionColumns(gap, bind_columns("session", "time", time, (rows,)), key, into)
    return _with_windows(rows._then_named("session", operator), rows, time)


def _expect_windows(stream: AnyBase, verb: str, time: object, **durations: object) -> tuple[dict[str, str], bool]:
    """Return the columns of the rows, and whether the time may be null. Raises if there are no such windows."""
    own = columns_of(stream, verb)
    bound, kind = bind_time(verb, time, stream)
    for name, given in durations.items():
        expect_column_duration(verb, name, given, kind, bound.layout.element)
    taken = next((name for name in (START, END) if name in own), None)
    if taken is not None:
        raise TypeMismatch(
            f"`{verb}` adds the column `{taken}`, which {{input}} already has",
            facts=(("columns", ", ".join(own)),),
            instead=((f'{{input}}.rename({{"{taken}": "…"}})', "another name"), (f'drop("{taken}")', "without it")),
        ).at_users_line(stream)
    return {name: name for name in own}, bound.layout.cells[0].nullable
