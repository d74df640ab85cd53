"""Event time: numbers counted from 0, or datetimes and timedeltas counted from the epoch."""

from __future__ import annotations

import math
import types
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

from flo.core.elements import returned_type
from flo.core.errors import ElementError

if TYPE_CHECKING:
    import typing_extensions  # known to type checkers, installed or not

    M = typing_extensions.TypeVar("M", default=Any)
else:
    M = TypeVar("M")

EPOCH = datetime(1970, 1, 1)
UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimeWindow(NamedTuple, Generic[M]):
    """[start, end): a window's first instant, and the first one after it. Windows of aware datetimes are in UTC."""

    start: M
    end: M


def window_type(time: Any, durations: list[Any]) -> Any:
    """Return the `TimeWindow` of these times, with the type of its bounds if that is known."""
    kind = returned_type(time)
    if get_origin(kind) in (Union, types.UnionType):  # bounds of windows are never None
        kind, *others = [part for part in get_args(kind) if part is not type(None)]
        kind = Any if others else kind
    kinds = set(map(type, durations))
    if kind is int and kinds == {int}:
        return TimeWindow[int]
    if kind in (int, float) and kinds <= {int, float}:
        return TimeWindow[float]
    if not hasattr(time, "returns"):  # the annotation of a Python function does not tell whether there is a zone
        return TimeWindow
    if get_origin(kind) is Annotated and getattr(get_args(kind)[1], "tz", None) is not None:
        return TimeWindow[Annotated[datetime, UTC]]
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return TimeWindow[datetime] if plain in (date, datetime) else TimeWindow


def origin_of(moment: Any) -> Any:
    """Return the origin that windows are aligned to: 0, or the epoch."""
    if isinstance(moment, datetime):
        return EPOCH if moment.tzinfo is None else UTC_EPOCH
    return EPOCH if isinstance(moment, date) else 0


def has_zone(kind: Any) -> bool | None:
    """Return whether times of this type have a time zone; None if they are no dates, or it is not known."""
    if get_origin(kind) is Annotated:
        zone = get_args(kind)[1]
        return zone is UTC or getattr(zone, "tz", None) is not None
    return False if kind in (date, datetime) else None


def offset_of(moment: Any, origin: Any) -> Any:
    """Return the distance from the origin. It only depends on the instant, not on the time zone."""
    if moment is None or (isinstance(moment, float) and not math.isfinite(moment)):
        raise ValueError(f"{moment} is not a time")
    if origin_of(moment) != origin:
        raise TypeError(f"the time {moment!r} cannot be compared with earlier ones, which count from {origin!r}")
    if origin == 0:
        return moment
    return (moment if isinstance(moment, datetime) else datetime.combine(moment, time.min)) - origin


def expect_durations(moment: Any, **durations: Any) -> None:
    """Raise unless durations are timedeltas for datetimes, and numbers otherwise."""
    dates = isinstance(moment, date)
    for name, duration in durations.items():
        if duration and isinstance(duration, timedelta) != dates:
            needed = "a timedelta" if dates else "a number"
            raise TypeError(f"`{name}` must be {needed} because the time is {moment!r}; got {duration!r}")


def is_positive_duration(duration: Any) -> bool:
    try:
        return bool(duration > duration - duration)
    except TypeError:
        return False


def find_window(offset: Any, width: Any) -> int:
    """Return n with n · width ≤ offset < (n + 1) · width as computed: float products are rounded."""
    ratio = offset // width
    if ratio in (math.inf, -math.inf):
        raise too_large(offset, width)
    number = int(ratio)
    if number * width > offset:
        number -= 1
    elif (number + 1) * width <= offset:
        number += 1
    far = isinstance(offset, float) and not -(1 << 63) < number < 1 << 63  # tables number windows in 64 bits
    if far or not number * width <= offset < (number + 1) * width:
        raise too_large(offset, width)
    return number


def no_bound(moment: Any) -> ElementError:
    """Return the error for a time whose window has a bound that datetimes do not have."""
    return ElementError(f"the window of {moment} has a bound that its type does not have")


def too_large(offset: Any, width: Any) -> ElementError:
    """Return the error for a time of which floats cannot tell the window: its bounds would be rounded to one number."""
    return ElementError(f"the time {offset!r} is too large for windows of {width!r}")
