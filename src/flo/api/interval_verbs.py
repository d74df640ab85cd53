"""The verb that joins the rows of two streams whose times are close, and forgets rows by the clocks of both."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from flo.api.arguments import explain_call
from flo.api.clock_verbs import find_clock, share_clock
from flo.api.columns import AnyFunction
from flo.api.event_times import TimesOf, expect_same_kind, time_type, times_of
from flo.api.joins import RIGHT, sides_of, without_null_keys
from flo.api.scope import AnyBase, StreamBase
from flo.api.type_variables import B2, B, B_co, C_co, T, U
from flo.core.elements import returned_type, type_name
from flo.core.errors import TypeMismatch, brief
from flo.values.event_time import Duration, is_duration_of, time_types
from flo.values.operators.interval_joins import IntervalJoin, span_of
from flo.values.operators.sets import ToBag
from flo.values.sequence import Sequence
from flo.values.weighted import Bag

if TYPE_CHECKING:
    from flo.api.stream import Stream
    from flo.columns.expression import Column

VERB = "join_interval"


class IntervalVerbs(StreamBase[C_co, B_co]):
    @explain_call(between="join_interval(other, on=…, between=(0, 30))")
    def join_interval(
        self: IntervalVerbs[Sequence[T] | Bag[T], B],
        other: Stream[Sequence[U] | Bag[U], B2],
        on: Column | list[Column] | tuple[Column, ...],
        between: tuple[Duration, Duration],
        *,
        other_on: Column | list[Column] | tuple[Column, ...] | None = None,
        suffix: str = RIGHT,
    ) -> Stream[Bag[Any], B | B2]:
        """Return pairs of rows with equal `on` whose times are close: with `between=(low, high)`, the time of the other
        row less the time of this one is from `low` to `high`, both included.

        Both streams are the `.rows` of clocks, perhaps with rows left out, and their times are those of the clocks. A
        row is forgotten when the clock of the other side has passed all that it could be paired with. Rows that are
        late go to `.late` of their clock. Null keys match nothing.
        """
        self.scope.expect_here(other, VERB)
        streams: list[AnyBase] = [self, other]
        operators, clocks = zip(*(find_clock(VERB, stream) for stream in streams), strict=True)
        streams = [each if isinstance(each.collection, Bag) else each._then_named(VERB, ToBag()) for each in streams]
        times = [operator.time for operator in operators]
        _expect_same_times(other, *times)
        expect_same_kind(VERB, *(each for clock in clocks for each in times_of(clock)))
        low, high = _expect_interval(between, *zip(times, streams, strict=True))
        sides = sides_of(VERB, streams[0], streams[1], on, other_on, suffix)
        left = without_null_keys(streams[0], sides.on, sides.may_be_null())
        operator = IntervalJoin(low, high, times[0], times[1], *sides.keys(), sides.into("inner"))
        follows = [share_clock(VERB, left.scope, clock) for clock in clocks]
        return left._then_named(VERB, operator, streams[1], *follows)


def _expect_interval(between: object, *times: TimesOf) -> tuple[Any, Any]:
    """Return the bounds of an interval. Raises unless they are two spans of the times."""
    if not isinstance(between, tuple) or len(between) != 2:
        raise TypeMismatch(
            f"`between` of `{VERB}` must be two spans of time; got {brief(between)}",
            instead=(("between=(0, 30)", "the other row is at most 30 later"),),
        ).at_users_line()
    kinds = {each for pair in times for each in time_types(time_type(*pair)) if each is not None}
    exact = kinds <= {int, float, date}
    spans = [span for span in between if type(span) is not int or span != 0]  # 0 is a span of all times
    fitting = all(is_duration_of(span, kinds, exact=exact) for span in spans)
    if not fitting or len({isinstance(span, timedelta) for span in spans}) > 1:
        wanted = {(int,): "integers", (date,): "timedeltas"}.get((*kinds,), "spans" if Any in kinds else "numbers")
        raise TypeMismatch(
            f"`between` of `{VERB}` must be two {wanted}, as the times are; got {brief(between)}"
        ).at_users_line()
    if span_of(between[0]) > span_of(between[1]):
        raise TypeMismatch(
            f"`between` of `{VERB}` must have the smaller bound first; got {brief(between)}",
            instead=((f"between=({between[1]!r}, {between[0]!r})", "from … to …"),),
        ).at_users_line()
    return between


def _expect_same_times(stream: AnyBase, time: AnyFunction, other_time: AnyFunction) -> None:
    """Raise if the times of both sides are of two kinds, as far as that is known."""
    from flo.columns.strict import are_other_times
    from flo.columns.windowing import time_kind

    layouts = [getattr(each, "layout", None) for each in (time, other_time)]
    arrows = [layout.cells[0].arrow for layout in layouts if layout is not None and layout.form == "value"]
    if len(arrows) == 2 and (are_other_times(*arrows) or len(set(map(time_kind, arrows))) > 1):
        kinds = [type_name(returned_type(each)) for each in (time, other_time)]
        raise TypeMismatch(
            f"`{VERB}` compares the times of both sides, which are {kinds[0]} and {kinds[1]}",
            facts=(("{input}", stream.type.described()),),
        ).at_users_line(stream)
