"""Clocks as streams: `bids.clock("at")` says how far the event time of a stream has come."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, overload

from flo.api.arguments import expect_kind, expect_no_argument
from flo.api.columns import Asked
from flo.api.event_times import expect_same_kind, expect_time, times_of
from flo.api.scope import AnyBase, AnyStream, B, B_co, C_co, Scope, StreamBase, T, Vertex
from flo.core.errors import ScopeError, TypeMismatch, brief
from flo.core.explained_calls import explain_call
from flo.core.facts import Timing
from flo.values.event_time import Duration
from flo.values.operators.active_clocks import ActiveClock, LimitAhead
from flo.values.operators.clocks import ClockOf, MinClock
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Clock, Limited


CLOCKS = (ClockOf, ActiveClock)
"""Operators that give a clock, the rows on time, and those behind it."""


class ClockVerbs(StreamBase[C_co, B_co]):
    @overload
    def clock(
        self: ClockVerbs[Sequence[T], B], time: Asked[T], lateness: Duration | None = None
    ) -> Clock[Sequence[T], B]: ...
    @overload
    def clock(
        self: ClockVerbs[Partitioned[T], B],
        time: Asked[T],
        lateness: Duration | None = None,
        *,
        idle_after: timedelta | None = None,
        because: str | None = None,
    ) -> Clock[Bag[T], B]: ...
    @explain_call(time="clock(lambda row: row.at)")
    def clock(
        self, time: object, lateness: Duration | None = None, *, idle_after: object = None, because: object = None
    ) -> Any:
        """Return the clock of the stream: the largest time seen, minus the lateness; of a partitioned stream the
        minimum over its partitions.

        `.rows` has the elements on time, `.late` those that came behind the clock of their partition. Once the clock
        is at t, no element of `.rows` with a time before t follows. Those of a partitioned stream have no order in
        `.rows`; `.partitions` has them by partition, in order.

        A partition that has sent nothing for `idle_after`, by the time of the outside world, does not hold the clock
        back. When it comes back, its rows before the clock are late. That depends on when rows arrive, so it needs a
        reason, `because`. The time is recorded with the data: see `Flow.now`.
        """
        from flo.api.stream import Clock  # here, because it is a stream and has the verbs of this module

        function = expect_time("clock", time, self, lateness)
        if idle_after is None:
            expect_no_argument("clock", "because", because, "only `idle_after` needs a reason")
            operator: Any = ClockOf(function, lateness, in_order=isinstance(self.collection, Partitioned))
            clock, rows, late, *more = self.scope.apply(operator, self, verb="clock")
        else:
            if not isinstance(idle_after, timedelta) or idle_after <= timedelta(0):
                raise TypeMismatch(
                    f"`idle_after` of `clock` must be a timedelta above 0; got {brief(idle_after)}",
                    instead=(("idle_after=timedelta(minutes=1)", "by the time of the outside world"),),
                ).at_users_line()
            expect_kind("clock", self, Partitioned)
            now = self.scope.add_now(because, "idle_after")
            operator = ActiveClock(function, lateness, idle_after, str(because))
            clock, rows, late, *more = self.scope.apply(operator, self, now, verb="clock")
        result = clock._as(Clock)
        result.rows, result.late, result.vertex.late = rows, late, late
        rows.name, late.name = f"{clock.name}.rows", clock.name
        for in_order in more:
            result.partitions, in_order.name = in_order, f"{clock.name}.partitions"
        return result

    @overload
    def limit_ahead(
        self: ClockVerbs[Sequence[T], B], time: Asked[T], most: Duration, *, believe: int = 10
    ) -> Limited[Sequence[T], B]: ...
    @overload
    def limit_ahead(
        self: ClockVerbs[Partitioned[T], B], time: Asked[T], most: Duration, *, believe: int = 10
    ) -> Limited[Partitioned[T], B]: ...
    @explain_call(most='limit_ahead("at", 60)', time='limit_ahead("at", 60)')
    def limit_ahead(self, time: Any, most: Duration, *, believe: int = 10) -> Any:
        """Keep the rows whose time is at most `most` after the largest time of the rows kept before; in a partitioned
        stream, before it in its partition. The others are in `.ahead`. So one row with a wrong time in the future does
        not make all later rows late.

        The first row is kept. After a gap in the data, `believe` rows ahead, one after the other, each at most `most`
        from the one before, are believed: the last of them is kept, and so are the rows after it.
        """
        from flo.api.stream import Limited  # here, because it is a stream and has the verbs of this module

        if isinstance(self.collection, Partitioned):

            def body(rows: AnyStream) -> tuple[AnyStream, AnyStream]:
                limited = rows.limit_ahead(time, most, believe=believe)
                return limited, limited.ahead

            kept, ahead = self.per_key(body)  # type: ignore[attr-defined]
        else:
            function = expect_time("limit_ahead", time, self, most=most)
            kept, ahead = self.scope.apply(LimitAhead(function, most, believe), self, verb="limit_ahead")
        result = kept._as(Limited)
        result.ahead = result.vertex.late = ahead
        return result


@explain_call(first="flo.min_clock(one, other)")
def min_clock(first: Clock[Any, B], *others: Clock[Any, B]) -> Clock[Any, B]:
    """Return the clock that is as far as the one of these that is behind."""
    from flo.api.stream import Clock

    result = first
    for clock in (first, *others):
        expect_clock("min_clock", clock)
    expect_same_kind("min_clock", *(each for clock in (first, *others) for each in times_of(clock)))
    for clock in others:
        (stream,) = result.scope.apply(MinClock(), result, clock, verb="min_clock")
        result = stream._as(Clock)
    return result


def expect_clock(verb: str, given: object) -> None:
    from flo.api.stream import Clock

    if not isinstance(given, Clock):
        raise TypeMismatch(
            f"`clock` of `{verb}` must be a clock; got {brief(given)}",
            instead=(("stream.clock(time, lateness)", "the clock of a stream"),),
        ).at_users_line()


def read_clock(verb: str, stream: AnyBase, clock: AnyBase) -> tuple[ClockOf | ActiveClock, AnyBase]:
    """Return the operator of the clock that the rows of a stream have passed, and the clock as the scope of the stream
    reads it. Raises unless the rows are on time by this clock."""
    expect_clock(verb, clock)
    vertex = _passed(stream)
    if vertex is None or vertex not in clocks_in(clock):
        name = clock.name if clock.assigned else "clock"
        error = TypeMismatch(
            f"`{verb}` follows {clock.described_name}, and the elements of {{input}} may come behind it",
            facts=(("{input}", stream.type.described()), ("clock", "must have seen each element, as it is")),
            instead=(
                (f"{name}.rows.{verb}(…, clock={name})", "the elements on time"),
                (f"{name}.rows.filter(…).key_by(…)", "elements may be left out and keyed; map them behind the windows"),
            ),
        )
        error.input_name = stream.described_name
        raise error.at_users_line()
    assert isinstance(vertex.operator, CLOCKS)
    return vertex.operator, share_clock(verb, stream.scope, clock)


def find_clock(verb: str, stream: AnyBase) -> tuple[ClockOf | ActiveClock, AnyStream]:
    """Return the clock whose rows a stream is made of, with its operator. Raises if there is none."""
    vertex = _passed(stream)
    if vertex is None:
        error = TypeMismatch(
            f"`{verb}` needs the clock of {{input}}, which says when no earlier rows follow",
            facts=(("{input}", stream.type.described()),),
            instead=(
                ("stream.clock(time, lateness).rows", "the elements on time by a clock; late ones are in `.late`"),
                ("clock.rows.filter(…)", "elements may be left out; map them before the clock or behind the join"),
            ),
        )
        error.input_name = stream.described_name
        raise error.at_users_line()
    assert isinstance(vertex.operator, CLOCKS)
    return vertex.operator, vertex.outputs[0]


def _passed(stream: AnyBase) -> Vertex | None:
    """Return the clock whose `rows` a stream is made of, with elements left out."""
    vertex = stream.source
    if vertex is None:  # an input of a body
        place = next((place for place, each in enumerate(stream.scope.inputs) if each is stream), 0)
        return _passed(stream.scope.outer[place]) if place < len(stream.scope.outer) else None
    timing = vertex.operator.timing
    if timing is Timing.SEES:
        return vertex if stream in (vertex.outputs[1], *vertex.outputs[3:]) else None
    if timing is not Timing.PASSES or isinstance(stream.collection, ZSet):
        return None
    first, *others = map(_passed, vertex.inputs)
    return first if all(other is first for other in others) else None


def clocks_in(clock: AnyBase) -> list[Vertex]:
    """Return the clocks that a clock is the minimum of."""
    vertex = clock.vertex
    if isinstance(vertex.operator, MinClock):
        return [each for part in vertex.inputs for each in clocks_in(part)]
    return [vertex]


def share_clock(verb: str, scope: Scope, clock: AnyBase) -> AnyBase:
    """Return the clock as this scope reads it: a body of `per_key` gets the clock from around it as an input."""
    if clock.scope is scope:
        return clock
    if not scope.outer or scope.parent is not clock.scope:
        raise ScopeError(
            f"`{verb}` cannot follow {clock.described_name} here",
            facts=((clock.name, f"belongs to {clock.scope.description}"), (verb, f"is in {scope.description}")),
            instead=(("keyed.per_key(lambda s: …)", "may follow a clock from directly around it"),),
        ).at_users_line()
    if clock not in scope.shared:
        scope.shared[clock] = scope.add_input(f"{clock.name} around", clock.type, clock.origin)
    return scope.shared[clock]
