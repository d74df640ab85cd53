"""Verbs that cut a stream into windows of event time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from flo.api.arguments import expect_no_argument, explain_call
from flo.api.clock_verbs import read_clock
from flo.api.columns import Asked
from flo.api.event_times import expect_durations_of, expect_time
from flo.api.scope import StreamBase
from flo.api.type_variables import B, B_co, C_co, T
from flo.api.window_column_verbs import session_columns
from flo.core.errors import TypeMismatch
from flo.values.event_time import Duration
from flo.values.operators.windows import Session, Sliding, TimeWindows, Tumbling
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, ZSet

if TYPE_CHECKING:
    from flo.api.stream import BoundedBags, BoundedWindows, Clock, Stream, Windowed, WindowedBags
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
        self: WindowVerbs[Sequence[T], B],
        size: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> Windowed[T, B]: ...
    @overload
    def tumbling(
        self: WindowVerbs[Sequence[T], B],
        size: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedWindows[T, B]: ...
    @overload
    def tumbling(
        self: WindowVerbs[Partitioned[T] | Bag[T], B],
        size: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> WindowedBags[T, B]: ...
    @overload
    def tumbling(
        self: WindowVerbs[Partitioned[T] | Bag[T], B],
        size: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedBags[T, B]: ...
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
        self: WindowVerbs[Sequence[T], B],
        size: Duration,
        slide: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> Windowed[T, B]: ...
    @overload
    def sliding(
        self: WindowVerbs[Sequence[T], B],
        size: Duration,
        slide: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedWindows[T, B]: ...
    @overload
    def sliding(
        self: WindowVerbs[Partitioned[T] | Bag[T], B],
        size: Duration,
        slide: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> WindowedBags[T, B]: ...
    @overload
    def sliding(
        self: WindowVerbs[Partitioned[T] | Bag[T], B],
        size: Duration,
        slide: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedBags[T, B]: ...
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
        self: WindowVerbs[Sequence[T], B],
        gap: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> Windowed[T, B]: ...
    @overload
    def session(
        self: WindowVerbs[Sequence[T], B],
        gap: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedWindows[T, B]: ...
    @overload
    def session(
        self: WindowVerbs[Partitioned[T] | Bag[T], B],
        gap: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
    ) -> WindowedBags[T, B]: ...
    @overload
    def session(
        self: WindowVerbs[Partitioned[T] | Bag[T], B],
        gap: Duration,
        time: Asked[T] | None = None,
        lateness: Duration | None = None,
        *,
        clock: AnyClock | None = None,
        bounds: Literal[True],
    ) -> BoundedBags[T, B]: ...
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
