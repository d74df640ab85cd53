"""Checks of event times and durations when the program is built: a time of the wrong type, or a duration that does not
fit it, is reported at the user's line, not when the first element arrives.

The type of a time is that of a column, the annotation of a function, or derived from its source. Where it is not known,
the first element decides.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from flo.api.arguments import call_located, expect_function, is_narrowed
from flo.api.columns import bind_columns, is_expression, kind_of
from flo.api.projections import element_of
from flo.api.scope import AnyBase
from flo.core.elements import returned_type
from flo.core.errors import FloError, TypeMismatch, brief
from flo.core.type_names import type_name
from flo.core.type_relations import resolve_type
from flo.core.untyped import AnyFunction
from flo.values.event_time import expect_duration, expect_times, span_of, time_types
from flo.values.operators.sequences import expect_pairs

if TYPE_CHECKING:
    from flo.columns.expression import Expression

TimesOf: TypeAlias = "tuple[AnyFunction | None, AnyBase]"
"""The function that gives the time of an element, and the stream of the elements."""
LARGEST = (1 << 62) - 1
"""The largest duration of times in columns: one more or less stays in 64 bits."""


def expect_time(verb: str, given: object, stream: AnyBase, lateness: object = None, **positive: object) -> AnyFunction:
    """Return the function that gives the time of an element. Raises unless it gives times that the lateness and the
    other durations fit."""
    function = expect_function(verb, "time", given, stream)
    expect_durations_of(verb, function, stream, lateness, **positive)
    return function


def expect_durations_of(
    verb: str, time: AnyFunction | None, stream: AnyBase, lateness: object = None, **positive: object
) -> None:
    """Raise unless the durations fit the times that a function gives for the elements of a stream."""
    kind = time_type(time, stream)
    narrowed = is_narrowed(stream, kind_of(stream))

    def check() -> None:
        expect_times(verb, kind, stream.type, positive=positive, lateness=lateness, narrowed=narrowed)

    call_located(check, about=stream.described_name)


def bind_time(verb: str, time: object, stream: AnyBase) -> tuple[Expression, type]:
    """Return a column of times, and what these are counted in: int, float or timedelta. Raises if it has none."""
    from flo.columns.windowing import time_kind

    if isinstance(time, tuple) or not is_expression(time):
        raise TypeMismatch(
            f"`time` of `{verb}` must be a column or an expression; got {brief(time)}",
            instead=((f'{verb}(…, "at")', "the column with the event time"),),
        ).at_users_line()
    bound = bind_columns(verb, "time", time, (stream,))
    kind = time_kind(bound.layout.cells[0].arrow) if bound.layout.form == "value" else None
    if kind is None:
        raise TypeMismatch(
            f"`time` of `{verb}` must be integers, floats, dates or times; {brief(time)} of {{input}} is "
            f"{type_name(bound.layout.element)}",
            facts=(("{input}", stream.type.described()),),
        ).at_users_line(stream)
    return bound, kind


def expect_same_kind(verb: str, *times: TimesOf) -> None:
    """Raise if times, each given as a function and the stream of its elements, are dates here and numbers there, as
    far as that is known."""
    types = [[each for each in time_types(time_type(*pair)) if each not in (None, Any)] for pair in times]
    dates = [{each is date for each in kinds} for kinds in types]
    for index, (are_dates, (_, stream)) in enumerate(zip(dates, times, strict=True)):
        if are_dates and dates[0] and are_dates.isdisjoint(dates[0]):
            kinds = [type_name(resolve_type(time_type(*times[place]))) for place in (0, index)]
            raise TypeMismatch(
                f"`{verb}` compares times, which must be numbers, or dates and datetimes; got {kinds[0]} and "
                f"{kinds[1]}, the times of {{input}}",
                facts=(("{input}", stream.type.described()),),
            ).at_users_line(stream)


def times_of(clock: AnyBase) -> list[TimesOf]:
    """Return the functions that give the times of a clock, each with the stream of the elements."""
    from flo.api.clock_verbs import clocks_in

    return [(getattr(vertex.operator, "time", None), vertex.inputs[0]) for vertex in clocks_in(clock)]


def expect_column_duration(
    verb: str, name: str, given: object, kind: type, element: object, *, zero: bool = False
) -> None:
    """Raise unless a duration fits a column of times, counted in int, float or timedelta, with room in 64 bits."""
    times, kind_name = [date if kind is timedelta else kind], type_name(resolve_type(element))
    call_located(lambda: expect_duration(verb, name, given, times, kind_name, zero=zero, exact=True))
    if span_of(given) > LARGEST:
        raise TypeMismatch(f"`{name}` of `{verb}` must be at most {LARGEST}; got {brief(given)}").at_users_line()


def expect_timed_pairs(stream: AnyBase, interval: object) -> None:
    """Raise unless the elements of a stream are pairs of a value and a time that the interval fits."""
    narrowed = is_narrowed(stream, kind_of(stream))
    call_located(
        lambda: expect_pairs(_element(stream), stream.type, interval, narrowed=narrowed), about=stream.described_name
    )


def time_type(time: AnyFunction | None, stream: AnyBase) -> Any:
    """Return the type of the times, as far as it is known."""
    annotated = returned_type(time)
    if annotated is not Any:
        return annotated
    from flo.columns.function_types import result_type
    from flo.columns.known_types import Unclear

    try:
        return result_type(time, (_element(stream),))
    except Unclear:
        return Any


def _element(stream: AnyBase) -> Any:
    """Return the type of the elements of a stream, as far as it is known."""
    try:
        return element_of(stream)
    except FloError:
        return Any
