"""The verb that gives each group of windows once, when a clock has passed its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from flo.api.arguments import expect_kind
from flo.api.clock_verbs import clocks_in, expect_clock
from flo.api.columns import bind_columns
from flo.api.on_time import END, START, NotOnTime, OnTime, trace_times
from flo.api.scope import B_co, C_co, StreamBase, Vertex, name_input
from flo.core.errors import FloError, Origin, TypeMismatch
from flo.core.stream_type import Unbounded
from flo.values.operators.final import FinalGroups
from flo.values.operators.group_by import GroupBy
from flo.values.weighted import Bag, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Clock, Stream

T = TypeVar("T")
B = TypeVar("B", bound=Unbounded)
B2 = TypeVar("B2", bound=Unbounded)
VERB = "final"
ALONE = "filter, select, with_columns, rename, drop, explode, union, to_bag and to_zset treat each row alone"


class FinalVerbs(StreamBase[C_co, B_co]):
    def final(self: FinalVerbs[ZSet[T], B], clock: Clock[Any, B2]) -> Stream[Bag[T], B | B2]:
        """Return each group of windows once, when the clock has come to the end of its window. Nothing is kept of it
        then. If rows and clock are bounded, the other groups come at the end.

        The stream is a `group_by(…).agg(…)` of the `.rows` of the clock, by `window_end` or `window_start` and perhaps
        other columns. Between the two are `tumble`, `hop` or `session`, by the time of the clock, and verbs that treat
        each row alone. So once the clock is at the end of a window, its rows do not change: rows before that time are
        late, and in `.late` of the clock.
        """
        expect_kind(VERB, self, ZSet)
        expect_clock(VERB, clock)
        self.scope.expect_here(clock, VERB, Origin.here())
        vertex, groups = _expect_groups(self, clock)
        rows: Any = vertex.inputs[0]
        seen = _expect_on_time(self, rows, clock)
        end = _end_of(self, rows, groups, seen, clock)
        (found,) = self.scope.apply(FinalGroups(groups, end), rows, clock, verb=VERB)
        return found


def _expect_groups(stream: Any, clock: Any) -> tuple[Vertex, GroupBy]:
    """Return the aggregation that has made a stream, with its groups."""
    vertex = stream.source
    if vertex is None or not isinstance(vertex.operator, GroupBy):
        raise _rejected(
            stream,
            "`final` must directly follow `group_by(…).agg(…)`; {input} is something else",
            ("group_by(…).agg(…).final(clock).filter(…)", "other verbs behind it"),
            ('group_by("window_end").agg(…)', "not a `rollup`, `cube` or `grouping_sets`"),
        )
    if not vertex.operator.keys:
        raise _without_window(stream)
    return vertex, vertex.operator


def _expect_on_time(stream: Any, rows: Any, clock: Any) -> OnTime:
    """Return what is known of the times of rows. Raises unless the clock has seen each of them."""
    name = clock.name if clock.assigned else "clock"
    example = (f'{name}.rows.to_zset().tumble(60, "at").group_by("window_end").agg(…)', "the rows on time")
    try:
        seen = trace_times(rows)
    except NotOnTime as error:
        made = error.stream.source
        if made is None or not made.inputs:
            raise _behind(stream, error.stream, clock, example) from None
        verb = made.origin.verb if made.origin is not None and made.origin.verb else made.operator.name
        raise _rejected(
            stream,
            f"`final` needs rows of {clock.described_name} through verbs that treat each row alone; {{input}} is made "
            f"by `{verb}`",
            example,
            (f"final(…), and then {verb}(…)", "the results are a bag, and can be combined"),
            facts=((f"`{verb}`", str(made.origin)), ("instead", ALONE)),
        ) from None
    if not seen.clocks <= set(clocks_in(clock)):
        raise _behind(stream, rows, clock, example, ("flo.min_clock(…)", "the clock that is behind, of several"))
    return seen


def _end_of(stream: Any, rows: Any, groups: GroupBy, seen: OnTime, clock: Any) -> Any:
    """Return the end of the window of each row, as a function of the columns of its group."""
    from flo.columns.functions import call
    from flo.columns.layout import Layout

    layout = Layout.of(rows.collection.element)
    names = () if layout is None else layout.names[: groups.keys]
    name = min(
        (name for name in names if name in seen.ends), key=lambda name: seen.ends[name].size is not None, default=None
    )
    if name is None:
        if seen.other_windows:
            raise _other_time(stream, seen.other_windows[0], clock)
        raise _without_window(stream)
    windows = seen.ends[name]
    given = name if windows.size is None else call(END, (name,), size=windows.size, every=windows.every)
    end = bind_columns(VERB, END, given, (rows,))
    if end.layout.cells[0].nullable:
        raise _rejected(
            stream,
            f"`final` needs windows of every row; `{name}` of {{input}} may be null, because the time may be",
            ('with_columns(at=nw.col("at").fill_null(0)).clock("at")', "a time that is never null, before the clock"),
        )
    return end


def _behind(stream: Any, rows: Any, clock: Any, *instead: tuple[str, str]) -> FloError:
    error = TypeMismatch(
        f"`{VERB}` follows {clock.described_name}, and the rows of {{input}} may come behind it",
        facts=(("{input}", rows.type.described()), ("clock", "must have seen each row")),
        instead=instead,
    )
    return name_input(error, rows).located(Origin.here())


def _without_window(stream: Any) -> FloError:
    return _rejected(
        stream,
        f"the groups of `final` must be those of windows: `{END}`, or `{START}` of `tumble` or `hop`, must be among "
        "the columns of `group_by`, as the windows have it",
        (f'tumble(60, "at").group_by("{END}", …).agg(…)', "a group of a window does not change when it has ended"),
    )


def _other_time(stream: Any, vertex: Vertex, clock: Any) -> FloError:
    windows, own = vertex.windows, next(iter(clocks_in(clock)))
    assert windows is not None
    verb = vertex.origin.verb if vertex.origin is not None else VERB
    shown = "a computed time" if windows.time is None else f"`{windows.time}`"
    return _rejected(
        stream,
        f"`final` needs windows of the time of {clock.described_name}; `{verb}` is by {shown}",
        (f'{verb}(…, "at") and clock("at")', "the same column, passed on unchanged"),
        facts=(("the clock is by", str(getattr(own.operator, "time", None))), (f"`{verb}`", str(vertex.origin))),
    )


def _rejected(
    stream: Any, message: str, *instead: tuple[str, str], facts: tuple[tuple[str, str], ...] = ()
) -> FloError:
    error = TypeMismatch(message, facts=(("{input}", stream.type.described()), *facts), instead=instead)
    return name_input(error, stream).located(Origin.here())
