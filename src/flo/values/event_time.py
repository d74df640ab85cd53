"""Event time: numbers, or datetimes with timedeltas, measured from 0 or the epoch."""

from __future__ import annotations

import math
import types
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

from flo.core.elements import returned_type

if TYPE_CHECKING:
    import typing_extensions  # type checkers know it, installed or not

    M = typing_extensions.TypeVar("M", default=Any)
else:
    M = TypeVar("M")

EPOCH = datetime(1970, 1, 1)
UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimeWindow(NamedTuple, Generic[M]):
    """[start, end): where a window begins, and where it has just ended. Windows of aware datetimes are in UTC."""

    start: M
    end: M


def window_type(time: Any, durations: list[Any]) -> Any:
    """The `TimeWindow` of these times, with the type of its bounds where that is certain."""
    kind = returned_type(time)
    if get_origin(kind) in (Union, types.UnionType):  # no window has a bound that is None
        kind, *others = [part for part in get_args(kind) if part is not type(None)]
        kind = Any if others else kind
    kinds = set(map(type, durations))
    if kind is int and kinds == {int}:
        return TimeWindow[int]
    if kind in (int, float) and kinds <= {int, float}:
        return TimeWindow[float]
    if not hasattr(time, "returns"):  # a Python function does not say whether there is a zone
        return TimeWindow
    if get_origin(kind) is Annotated and getattr(get_args(kind)[1], "tz", None) is not None:
        return TimeWindow[Annotated[datetime, UTC]]
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return TimeWindow[datetime] if plain in (date, datetime) else TimeWindow


def origin_of(moment: Any) -> Any:
    """Where windows are aligned: 0, or the epoch."""
    if isinstance(moment, datetime):
        return EPOCH if moment.tzinfo is None else UTC_EPOCH
    return EPOCH if isinstance(moment, date) else 0


def offset_of(moment: Any, origin: Any) -> Any:
    """How long after the origin: the same for the same instant, whatever the time zone."""
    if isinstance(moment, float) and not math.isfinite(moment):
        raise ValueError(f"{moment} is not a time")
    if origin_of(moment) != origin:
        raise TypeError(f"the time {moment!r} cannot be compared with earlier ones, counted from {origin!r}")
    if origin == 0:
        return moment
    return (moment if isinstance(moment, datetime) else datetime.combine(moment, time.min)) - origin


def expect_durations(moment: Any, **durations: Any) -> None:
    """Refuses a size in numbers where times are datetimes, and the other way round."""
    dates = isinstance(moment, date)
    for name, duration in durations.items():
        if duration and isinstance(duration, timedelta) != dates:
            needed = "a timedelta" if dates else "a number"
            raise TypeError(f"the time is {moment!r}, and {name} is {duration!r} where {needed} is needed")


def above_zero(duration: Any) -> bool:
    try:
        return bool(duration > duration - duration)
    except TypeError:
        return False


def place(offset: Any, width: Any) -> int:
    """n, where n · width ≤ offset < (n + 1) · width, as these are computed: float products are rounded."""
    number = int(offset // width)
    if number * width > offset:
        number -= 1
    elif (number + 1) * width <= offset:
        number += 1
    if not number * width <= offset < (number + 1) * width:
        raise ValueError(f"the time {offset!r} is too large for windows of {width!r}")
    return number
