"""Event time: numbers counted from 0, or dates and datetimes counted from the epoch; and which durations fit them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
)

from flo.core.elements import returned_type
from flo.core.errors import ElementError, TypeMismatch, brief
from flo.core.stream_type import StreamType
from flo.core.type_names import type_name
from flo.core.type_relations import alternatives, is_union, resolve_type, without_none
from flo.core.untyped import TimeValue, TypeForm

if TYPE_CHECKING:
    import typing_extensions  # known to type checkers, installed or not

    M = typing_extensions.TypeVar("M", default=Any)
else:
    M = TypeVar("M")

Duration: TypeAlias = float | Decimal | Fraction | timedelta
"""A duration for type checkers, which count integers as floats."""
MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1)
UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimeWindow(NamedTuple, Generic[M]):
    """[start, end): a window's first instant, and the first one after it. Windows of aware datetimes are in UTC."""

    start: M
    end: M


def window_type(time: object, durations: list[TimeValue]) -> TypeForm:
    """Return the `TimeWindow` of these times, with the type of its bounds if that is known."""
    kind = without_none(returned_type(time))[1]  # bounds of windows are never None
    kind = Any if is_union(kind) else kind
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


def origin_of(moment: object) -> TimeValue:
    """Return the origin that windows are aligned to: 0, or the epoch."""
    if isinstance(moment, datetime):
        return EPOCH if moment.tzinfo is None else UTC_EPOCH
    return EPOCH if isinstance(moment, date) else 0


def has_zone(kind: TypeForm) -> bool | None:
    """Return whether times of this type have a time zone; None if they are no dates, or it is not known."""
    if get_origin(kind) is Annotated:
        zone = get_args(kind)[1]
        return zone is UTC or getattr(zone, "tz", None) is not None
    return False if kind in (date, datetime) else None


def offset_of(moment: TimeValue, origin: TimeValue) -> TimeValue:
    """Return the distance from the origin. It only depends on the instant, not on the time zone."""
    if moment is None or (isinstance(moment, (float, Decimal)) and not math.isfinite(moment)):
        raise ValueError(f"{moment} is not a time")
    if origin_of(moment) != origin:
        raise TypeError(f"the time {moment!r} cannot be compared with earlier ones, which count from {origin!r}")
    if origin == 0:
        return moment
    return (moment if isinstance(moment, datetime) else datetime.combine(moment, time.min)) - origin


def expect_durations(moment: object, **durations: object) -> None:
    """Raise unless durations are timedeltas for datetimes, and numbers otherwise."""
    dates = isinstance(moment, date)
    for name, duration in durations.items():
        if duration and isinstance(duration, timedelta) != dates:
            needed = "a timedelta" if dates else "a number"
            raise TypeError(f"`{name}` must be {needed} because the time is {moment!r}; got {duration!r}")


def is_positive_duration(duration: TimeValue) -> bool:
    try:
        return bool(duration > duration - duration)
    except TypeError:
        return False


FITTING: dict[type, tuple[type, ...]] = {
    date: (timedelta,),
    int: (Real, Decimal),
    float: (Real,),
    Decimal: (Integral, Decimal),
    Fraction: (Real,),
}
"""The types of durations that can be added to times of a type; subclasses included."""
EXACT: dict[type, tuple[type, ...]] = {date: (timedelta,), int: (int,), float: (int, float)}
"""The same for columns, where a time and a duration are a time of the same column type."""
WANTED = {date: "a timedelta", int: "an integer", float: "a number", Decimal: "an integer or a Decimal"}
NO_TIMES = (bool, timedelta, set, frozenset, complex)
"""Types that can be subtracted, and are no times."""


def time_types(kind: TypeForm) -> list[Any]:
    """Return what times of a type are, for each of its alternatives but None: a key of `FITTING`; Any if it is not
    known, as for a class with its own arithmetic; None if it is not a time."""
    types: list[TypeForm] = []
    for each in alternatives(kind):
        if isinstance(each, NewType):
            types += time_types(each.__supertype__)
        elif get_origin(each) is Literal:
            types += [part for value in get_args(each) for part in time_types(type(value))]
        elif each is not type(None):
            types.append(_time_type(get_origin(each) or each))
    return list(dict.fromkeys(types)) or [None]


def _time_type(kind: TypeForm) -> TypeForm:
    if not isinstance(kind, type) or kind in (object, Any):
        return Any
    if issubclass(kind, NO_TIMES):
        return None
    known = next((each for each in FITTING if issubclass(kind, each)), None)
    return known or (Any if hasattr(kind, "__sub__") else None)


def is_duration_of(given: Any, times: Iterable[object], *, exact: bool = False) -> bool:
    """Return whether a duration, of any sign, can be added to times of each of these types."""
    if isinstance(given, bool):
        return False
    try:
        finite = given == given and given - given == given - given  # not NaN, not infinite
    except (TypeError, ArithmeticError):
        return False
    fitting: Any = EXACT if exact else FITTING
    return bool(finite) and all(each is Any or isinstance(given, fitting[each]) for each in times)


def expect_times(
    verb: str,
    kind: TypeForm,
    stream: StreamType,
    *,
    positive: dict[str, Any] | None = None,
    lateness: object = None,
    narrowed: bool = True,
) -> None:
    """Raise unless the times of a stream are of a type of times, and durations fit it: some are > 0, the lateness is
    ≥ 0 or None. If elements are `narrowed`, some alternatives of the type may not occur: the others must fit."""
    types, type_text = time_types(kind), type_name(resolve_type(kind))
    times = [each for each in types if each is not None]
    if not times or (not narrowed and (None in types or len({each is date for each in times}) > 1)):
        texts = any(isinstance(each, type) and issubclass(each, str) for each in alternatives(kind))
        raise TypeMismatch(
            f"the time of `{verb}` must be a number, a date or a datetime; got {type_text}",
            facts=(("{input}", stream.described()),),
            instead=(
                *([("lambda row: datetime.fromisoformat(…)", "a time that is written as text")] if texts else []),
                *([("{input}.filter(…)", "if a filter only leaves times of one kind")] if times else []),
            ),
        )
    durations = {**(positive or {}), **({} if lateness is None else {"lateness": lateness})}
    for name, given in durations.items():
        expect_duration(verb, name, given, times, type_text, zero=name == "lateness", narrowed=narrowed)


def expect_duration(
    verb: str,
    name: str,
    given: object,
    times: list[Any],
    type_text: str,
    *,
    zero: bool = False,
    exact: bool = False,
    narrowed: bool = False,
) -> None:
    """Raise unless a duration fits times of these types, and is > 0, or with `zero` ≥ 0."""
    if zero and not exact and given == 0 and is_duration_of(given, [Any]):
        return
    fits = any if narrowed else all
    right = fits(is_duration_of(given, [each], exact=exact) for each in times)
    if right and (is_positive_duration(given) or (zero and not given)):
        return
    if Any in times:
        wanted, why = "a duration", ""
    else:
        number = times[0] if exact or times[0] in (date, Decimal) else float
        wanted, why = WANTED[number], f", as its times are {type_text}"
    raise TypeMismatch(
        f"`{name}` of `{verb}` must be {wanted} {'≥' if zero else '>'} 0{why}; got {brief(given)}",
        instead=((f"{name}=timedelta(seconds=…)", "a span of time"),) if date in times else (),
    )


def find_window(offset: TimeValue, width: Any) -> int:
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


def no_bound(moment: object) -> ElementError:
    """Return the error for a time whose window has a bound that datetimes do not have."""
    return ElementError(f"the window of {moment} has a bound that its type does not have")


def too_large(offset: object, width: object) -> ElementError:
    """Return the error for a time of which floats cannot tell the window: its bounds would be rounded to one number."""
    return ElementError(f"the time {offset!r} is too large for windows of {width!r}")


def span_of(duration: object) -> Any:
    """Return a duration in the unit that times are counted in: of timedeltas, microseconds."""
    return duration // MICROSECOND if isinstance(duration, timedelta) else duration
