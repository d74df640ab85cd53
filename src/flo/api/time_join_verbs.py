"""Joins by time: each row with the nearest row of another z-set, and the rows of two streams whose times are close."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal, Never

from flo.api.arguments import expect_kind, expect_known_arguments
from flo.api.clock_verbs import find_clock, share_clock
from flo.api.columns import Perhaps, bind_columns, expect_columns, is_expression, row_layout
from flo.api.event_times import TimesOf, expect_same_kind, time_type, times_of
from flo.api.joins import RIGHT, combined_names, expect_comparable, sides_of, without_null_keys
from flo.api.scope import B2, AnyBase, B, B_co, C_co, StreamBase, T, U
from flo.core.elements import returned_type
from flo.core.errors import TypeMismatch, brief
from flo.core.explained_calls import explain_call
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction
from flo.values.event_time import Duration, is_duration_of, span_of, time_types
from flo.values.exact import plain_type
from flo.values.operators.interval_joins import IntervalJoin
from flo.values.operators.sets import ToBag
from flo.values.operators.zset_asof import AsOfJoin
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream
    from flo.columns.expression import Column, Expression


class TimeJoinVerbs(StreamBase[C_co, B_co]):
    def join_asof(
        self: TimeJoinVerbs[ZSet[T], B],
        other: Stream[ZSet[U], B2],
        on: Column,
        by: Column | list[Column] | tuple[Column, ...] | None = None,
        *,
        direction: Literal["backward", "forward"] = "backward",
        how: Literal["left", "inner"] = "left",
        suffix: str = "_right",
        other_on: Column | None = None,
        other_by: Column | list[Column] | tuple[Column, ...] | None = None,
        **unknown: Never,
    ) -> Stream[ZSet[Any], B | B2]:
        """Return each row with the nearest row of the other z-set: the last whose `on` is not above its own, or with
        `direction="forward"` the first whose `on` is not below.

        Only rows with equal `by` are matched. Of several nearest rows it is the largest. Rows whose `on` or `by` is
        null have no match. Rows without a match have null in the columns of the other, or are dropped with
        `how="inner"`. Columns of the other that this z-set has too get the suffix; those of its `by` are left out.
        """
        meant = {"strategy": "direction=…", "left_on": "on=…", "right_on": "other_on=…", "left_by": "by=…"}
        expect_known_arguments("join_asof", unknown, locals(), {**meant, "right_by": "other_by=…"})
        expect_kind("join_asof", self, ZSet)
        _expect_option("direction", direction, ("backward", "forward"))
        _expect_option("how", how, ("left", "inner"))
        self.scope.expect_here(other, "join_asof")
        expect_kind("join_asof", other, ZSet)
        given = {"by": by, "other_by": by if other_by is None else other_by}
        keys = [None if each is None else expect_columns("join_asof", name, each) for name, each in given.items()]
        if (keys[0] is None) != (keys[1] is None) or (keys[0] and keys[1] and len(keys[0]) != len(keys[1])):
            raise TypeMismatch(
                "`by` and `other_by` of `join_asof` must have as many columns",
                facts=(("by", brief(by)), ("other_by", brief(other_by))),
            ).at_users_line()
        at, other_at = _bound("on", on, self), _bound("other_on", on if other_on is None else other_on, other)
        _expect_order(at, other_at)
        key = None if keys[0] is None else _bound("by", keys[0], self)
        other_key = None if keys[1] is None else _bound("other_by", keys[1], other)
        if key is not None and other_key is not None:
            expect_comparable("join_asof", self, other, key, other_key, "by=…, other_by=…")
        into = _side_by_side(self, other, keys[1] or (), suffix, inner=how == "inner")
        operator = AsOfJoin(at, other_at, key, other_key, into, direction == "forward", how == "inner")
        return self._then(operator, other)

    @explain_call(between="join_interval(other, on=…, between=(0, 30))")
    def join_interval(
        self: TimeJoinVerbs[Sequence[T] | Bag[T], B],
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


def _expect_option(name: str, given: object, options: tuple[str, ...]) -> None:
    if given not in options:
        raise TypeMismatch(
            f"`{name}` of `join_asof` must be {' or '.join(map(repr, options))}; got {brief(given)}",
            instead=tuple((f'{name}="{option}"', "") for option in options),
        ).at_users_line()


def _bound(name: str, given: object, stream: AnyBase) -> Expression:
    """Return columns as a function of the rows of a stream."""
    if isinstance(given, tuple) or is_expression(given):
        return bind_columns("join_asof", name, given, (stream,))
    raise TypeMismatch(f"`{name}` of `join_asof` must be one column; got {brief(given)}").at_users_line()


def _expect_order(on: Expression, other: Expression) -> None:
    """Raise unless both are one column, of types whose values can be compared."""
    one, another = (each.layout.cells[0] for each in (on, other))
    kinds = plain_type(one.kind), plain_type(another.kind)
    zones = [getattr(cell.arrow, "tz", None) is not None for cell in (one, another)]
    nested = any(cell.arrow.num_fields for cell in (one, another))
    forms = on.layout.form, other.layout.form
    if nested or forms != ("value", "value") or kinds[0] != kinds[1] or zones[0] != zones[1]:
        labels = [f"{type_name(kind)}{' with a zone' if zone else ''}" for kind, zone in zip(kinds, zones, strict=True)]
        raise TypeMismatch(
            "`join_asof` compares `on` of both sides: expected numbers, times or strings of one type, "
            f"got {labels[0]} and {labels[1]}",
            facts=(("on", brief(on)), ("other_on", brief(other))),
        ).at_users_line()


def _side_by_side(stream: AnyBase, other: AnyBase, by: tuple[object, ...], suffix: str, *, inner: bool) -> Expression:
    """Return the function that puts the columns of two rows side by side."""
    from flo.columns.expression import names_of

    left, right = row_layout("join_asof", "on", stream), row_layout("join_asof", "on", other)
    called = names_of((left, right))
    names = combined_names("join_asof", left.names, right.names, [each for each in by if isinstance(each, str)], suffix)
    into = {name: called[side][column] for name, (side, column) in names.items()}
    return bind_columns("join_asof", "into", into, (stream, other if inner else Perhaps(other)))


VERB = "join_interval"


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
