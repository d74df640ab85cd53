"""Functions of dates and times in column expressions. With a zone, they refer to local time, by Python's `zoneinfo`.

Arrow's own functions of zones have no rules for years after 2037, and reject ambiguous local times. Offsets rarely
change, so a block of a few hours is looked up once, unless the offsets at its ends differ; then each of its seconds is.

An ambiguous local time is the instant with the requested offset, else the first one. A skipped local time is read with
the offset before the gap (PEP 495, `fold=0`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns import arithmetic
from flo.columns.indices import one_chunk
from flo.columns.nodes import ComputeNode, Data, Options
from flo.core.errors import ElementError

BLOCK = 6 * 3600
EPOCH = datetime(1970, 1, 1)
FIRST, LAST = (int((moment - EPOCH).total_seconds()) for moment in (datetime(1, 1, 2), datetime(9999, 12, 30)))
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
Find = Callable[[str, int], Any]


def has_zone(data: Data) -> bool:
    return bool(pa.types.is_timestamp(data.type) and data.type.tz is not None)


def expect_zone(name: str) -> None:
    """Raise unless the time zone exists."""
    try:
        _zone(name)
    except (LookupError, ValueError, pa.ArrowException):
        raise ValueError(f"there is no time zone {name!r}") from None


def local_time(data: Data) -> Data:
    """Return the local time of instants, as timestamps without a zone."""
    return _moved(data, _at_instants(data, _offset), None)


def offsets(data: Data) -> Data:
    """Return the seconds that local time is ahead of UTC."""
    return _at_instants(data, _offset)


def zone_names(data: Data) -> Data:
    """Return the abbreviations of zones, such as CEST."""
    return _at_instants(data, _abbreviation)


def instants(local: Data, zone: str, wanted: Data | None = None) -> Data:
    """Return the instants of local times in a zone; for ambiguous times, those with the wanted offset."""
    first, second = _looked_up(local, zone, _first_offset), _looked_up(local, zone, _second_offset)
    ahead = first
    if wanted is not None:
        ahead = pc.if_else(pc.and_(pc.less(second, first), pc.equal(second, wanted)), second, first)
    return _moved(local, pc.negate(ahead), zone)


def _moved(data: Data, seconds: Data, zone: str | None) -> Data:
    unit = data.type.unit
    numbers = pc.cast(pc.cast(data, pa.timestamp(unit)), pa.int64())
    moved = pc.add_checked(numbers, pc.multiply(pc.cast(seconds, pa.int64()), PER_SECOND[unit]))
    return pc.cast(pc.cast(moved, pa.timestamp(unit)), pa.timestamp(unit, zone))


def _at_instants(data: Data, find: Find) -> Data:
    return _looked_up(pc.cast(data, pa.timestamp(data.type.unit)), data.type.tz, find)


def _looked_up(data: Data, zone: str, find: Find) -> Data:
    """Return the result of `find` for each time, to the second."""
    if isinstance(data, pa.Scalar):
        return _looked_up(pa.array([data.as_py()], data.type), zone, find)[0]
    seconds = pc.cast(pc.floor_temporal(data, 1, "second"), pa.timestamp("s")).cast(pa.int64())
    numbers = pc.fill_null(seconds, 0).to_numpy(zero_copy_only=False)
    if len(numbers) and not FIRST <= numbers.min() <= numbers.max() <= LAST:
        raise ElementError("a time with a zone must be in the years 1 to 9999")
    kind = pa.string() if find is _abbreviation else pa.int64()
    blocks = pa.array(numbers // BLOCK).dictionary_encode()
    constant = [_of_block(find, zone, block) for block in blocks.dictionary.to_pylist()]
    results = pa.array([each[0] if each else None for each in constant], kind).take(blocks.indices)
    if None in constant:
        odd = np.array([each is None for each in constant])[blocks.indices.to_numpy()]
        special = pa.array([find(zone, second) for second in numbers[odd].tolist()], kind)
        results = pc.replace_with_mask(results, pa.array(odd), special)
    return pc.if_else(pc.is_null(data), pa.scalar(None, results.type), results)


@lru_cache(maxsize=65536)
def _of_block(find: Find, zone: str, block: int) -> tuple[Any] | None:
    """Return the result of `find` for the whole block; None if it varies."""
    ends = {find(zone, block * BLOCK), find(zone, (block + 1) * BLOCK - 1)}
    return (ends.pop(),) if len(ends) == 1 else None


@lru_cache(maxsize=1024)
def _zone(name: str) -> Any:
    return pa.lib.string_to_tzinfo(name)


def _instant(zone: str, second: int) -> datetime:
    return (EPOCH + timedelta(seconds=second)).replace(tzinfo=UTC).astimezone(_zone(zone))


def _offset(zone: str, second: int) -> int:
    return _seconds(_instant(zone, second))


def _abbreviation(zone: str, second: int) -> str:
    return _instant(zone, second).strftime("%Z")


def _first_offset(zone: str, second: int) -> int:
    return _seconds((EPOCH + timedelta(seconds=second)).replace(tzinfo=_zone(zone)))


def _second_offset(zone: str, second: int) -> int:
    return _seconds((EPOCH + timedelta(seconds=second)).replace(tzinfo=_zone(zone), fold=1))


def _seconds(moment: datetime) -> int:
    ahead = moment.utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds())


DAY = 86_400
MANY = 64
"""From so many times on, it pays to format equal ones once."""
PERIODS = {
    **dict.fromkeys("aAbBdeFGhjmuUVwWyY", DAY),
    **dict.fromkeys("HIp", 3600),
    **dict.fromkeys("MR", 60),
    "%": DAY,
}
"""The seconds in which what a directive of `strftime` gives stays the same."""
SECONDS = {"d": DAY, "h": 3600, "m": 60, "s": 1}
MONTHS = {"mo": 1, "q": 3, "y": 12}
FRACTIONS = ("ms", "us", "ns")
INTERVAL = re.compile(r"\s*([+-]?\d+)\s*(ns|us|ms|mo|s|m|h|d|q|y)\s*")
FIELDS = ("year", "month", "day", "hour", "minute", "second", "millisecond", "microsecond", "nanosecond")
OF_LOCAL_TIME = (*FIELDS, "ordinal_day", "weekday", "date")
TOTALS = {
    "total_minutes": (1, 60),
    "total_seconds": (1, 1),
    "total_milliseconds": (10**3, 1),
    "total_microseconds": (10**6, 1),
    "total_nanoseconds": (10**9, 1),
}
"""(units per second, seconds per unit)."""


def _local(data: Data) -> Data:
    return local_time(data) if has_zone(data) else data


def _by_narwhals(name: str, data: Data, **options: object) -> Data:
    """Apply a function of `dt` to dates or times without a zone."""
    column = pa.array([data.as_py()], data.type) if isinstance(data, pa.Scalar) else data
    frame = nw.from_native(pa.table({"0": column}), eager_only=True)
    results = one_chunk(frame.select(getattr(nw.col("0").dt, name)(**options)).to_native().column(0))
    return results[0] if isinstance(data, pa.Scalar) else results


def _truncated(data: Data, options: Options) -> Data:
    """Return the start of the interval, in local time. Below a day, ambiguous times keep the offset of the input."""
    every = options["every"]
    if not has_zone(data):
        return _start_of(data, every)
    start = _start_of(local_time(data), every)
    below_a_day = _interval(every)[1] in ("h", "m", "s", *FRACTIONS)
    return instants(start, data.type.tz, offsets(data) if below_a_day else None)


def _start_of(data: Data, every: str) -> Data:
    """Return the start of the interval in times without a zone: in integers, which are faster, if it has one length."""
    count, unit = _interval(every)
    plain = isinstance(data, pa.Scalar) or not pa.types.is_timestamp(data.type) or bool(data.null_count)
    if plain or unit not in SECONDS or count < 1:
        return _by_narwhals("truncate", data, every=every)
    times = one_chunk(data)
    numbers = times.cast(pa.int64()).to_numpy()
    past = numbers % (count * SECONDS[unit] * PER_SECOND[data.type.unit])
    if len(numbers) and int(numbers.min()) - int(past.max()) < -(2**63):
        return _by_narwhals("truncate", data, every=every)
    return pa.array(numbers - past).cast(data.type)


def _shift(data: Data, options: Options) -> Data:
    """Add days and more in local time, or hours and smaller units on the timeline."""
    count, unit = _interval(options["by"])
    if unit in MONTHS:
        return _shift_months(data, count * MONTHS[unit])
    per_unit = SECONDS[unit] * 10**6 if unit in SECONDS else 10**3 if unit == "ms" else 1
    step = pa.scalar(count * per_unit, pa.int64()).cast(pa.duration("ns" if unit == "ns" else "us"))
    if unit == "d" and has_zone(data):
        later = arithmetic.add(local_time(data), step)
        return instants(later, data.type.tz, offsets(data))
    later = arithmetic.add(data, step)
    return pc.cast(later, data.type) if unit == "d" and pa.types.is_date(data.type) else later


def _shift_months(data: Data, months: int) -> Data:
    """Add months in local time. A day that the month does not have becomes its last: January 31 plus a month is the
    end of February."""
    if isinstance(data, pa.Scalar):
        return _shift_months(pa.array([data.as_py()], data.type), months)[0]
    if has_zone(data):
        return instants(_shift_months(local_time(data), months), data.type.tz, offsets(data))
    if not (pa.types.is_timestamp(data.type) or pa.types.is_date(data.type)):
        raise TypeError(f"`offset_by` must get dates or times; got {data.type}")
    unit = "D" if pa.types.is_date32(data.type) else data.type.unit
    numbers = pc.fill_null(pc.cast(data, pa.int32() if unit == "D" else pa.int64()), 0).to_numpy()
    moments = numbers.astype(np.int64).astype(f"datetime64[{unit}]")
    month = moments.astype("datetime64[M]")
    day = moments.astype("datetime64[D]")
    target = month + months
    days = np.minimum(day - month.astype("datetime64[D]"), (target + 1).astype("datetime64[D]") - target - 1)
    shifted = (target.astype("datetime64[D]") + days).astype(moments.dtype) + (moments - day)
    integers = pa.array(shifted.astype(np.int64), pa.int64(), mask=data.is_null().to_numpy(zero_copy_only=False))
    return arithmetic.in_calendar(pc.cast(pc.cast(integers, pa.int32()) if unit == "D" else integers, data.type))


def _interval(text: str) -> tuple[int, str]:
    parts = INTERVAL.fullmatch(text)
    if parts is None:
        units = "units are ns, us, ms, s, m, h, d, mo, q and y"
        raise ValueError(f"an interval must be a number and a unit, such as '1h'; got {text!r}; {units}")
    return int(parts[1]), parts[2]


def _replaced_zone(data: Data, options: Options) -> Data:
    """Return the same local time in another zone, or without a zone."""
    zone = options["time_zone"]
    local = _local(data)
    if zone is None:
        return local
    expect_zone(zone)
    same = has_zone(data) and data.type.tz == zone
    return data if same else instants(local, zone)


def _converted_zone(data: Data, options: Options) -> Data:
    """Return the same instants in another zone; times without a zone are taken as UTC."""
    expect_zone(options["time_zone"])
    return pc.cast(data, pa.timestamp(data.type.unit, options["time_zone"]))


def _text(data: Data, options: Options) -> Data:
    """Format local time like `strftime`."""
    if not has_zone(data):
        return _formatted(data, options["format"])
    local = local_time(data)
    parts: list[Data] = [pa.scalar("")]
    for part in re.split(r"(%%|%z|%Z)", options["format"]):
        if part in ("%z", "%Z"):
            parts.append(zone_names(data) if part == "%Z" else _offset_text(data))
        elif part:
            parts.append(pa.scalar("%") if part == "%%" else _formatted(local, part))
    return pc.binary_join_element_wise(*parts, "")


def _formatted(data: Data, text: str) -> Data:
    """Format times without a zone: each day, hour or minute once, where the format says nothing finer."""
    period = _period(text)
    plain = isinstance(data, pa.Scalar) or not pa.types.is_timestamp(data.type) or bool(data.null_count)
    if period is None or plain or len(data) < MANY:
        return _by_narwhals("to_string", data, format=text)
    times = one_chunk(data)
    numbers = times.cast(pa.int64()).to_numpy() // (period * PER_SECOND[data.type.unit])
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    if 4 * len(starts) < len(numbers):  # the times are in order, or nearly
        owners = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(numbers)))
    else:
        _, starts, owners = np.unique(numbers, return_index=True, return_inverse=True)
    return _by_narwhals("to_string", times.take(pa.array(starts)), format=text).take(pa.array(owners))


@lru_cache(maxsize=1024)
def _period(text: str) -> int | None:
    """Return the seconds in which a format gives one text; None if that is not known."""
    periods = [PERIODS.get(directive) for directive in re.findall("%(.)", text, re.DOTALL)]
    return None if not periods or None in periods else min(each for each in periods if each is not None)


def _offset_text(data: Data) -> Data:
    """Return +0200, with seconds if there are any, like Python's `%z`."""
    ahead = offsets(data)
    sign = pc.if_else(pc.less(ahead, 0), "-", "+")
    digits = pc.strftime(pc.cast(pc.abs(ahead), pa.timestamp("s")), "%H%M%S")
    return pc.replace_substring_regex(pc.binary_join_element_wise(sign, digits, ""), "00$", "")


def _timestamp(data: Data, options: Options) -> Data:
    """Return the units since 1970, rounded down."""
    wanted = PER_SECOND[options["time_unit"]]
    if pa.types.is_date32(data.type):
        return arithmetic.scaled(pc.cast(pc.cast(data, pa.int32()), pa.int64()), DAY * wanted)
    if not pa.types.is_timestamp(data.type):
        raise TypeError(f"`timestamp` must get dates or times; got {data.type}")
    given = PER_SECOND[data.type.unit]
    numbers = pc.cast(data, pa.int64())
    if wanted >= given:
        return arithmetic.scaled(numbers, wanted // given)
    return arithmetic.floor_divide(numbers, pa.scalar(given // wanted))


def _total(name: str) -> Callable[[Data, Options], Data]:
    """Return the length of durations in a unit, rounded towards zero."""
    wanted, seconds = TOTALS[name]

    def compute(data: Data, options: Options) -> Data:
        if not pa.types.is_duration(data.type):
            raise TypeError(f"`{name}` must get durations; got {data.type}")
        given = PER_SECOND[data.type.unit] * seconds
        numbers = pc.cast(data, pa.int64())
        return arithmetic.scaled(numbers, wanted // given) if wanted >= given else pc.divide(numbers, given // wanted)

    return compute


def _field(name: str) -> Callable[[Data, Options], Data]:
    return lambda data, options: _by_narwhals(name, _local(data))


def cast(data: Data, kind: pa.DataType) -> Data:
    """Cast to another type; times with a zone become their local date, time or text."""
    if has_zone(data) and data.type.tz != "UTC":
        if pa.types.is_date(kind) or pa.types.is_time(kind):
            return arithmetic.cast(local_time(data), kind)
        if pa.types.is_string(kind):
            return pc.binary_join_element_wise(pc.cast(local_time(data), kind), _offset_text(data), "")
    return arithmetic.cast(data, kind)


_OF_TIMES: dict[str, Callable[[Data, Options], Data]] = {
    **{name: _field(name) for name in OF_LOCAL_TIME},
    **{name: _total(name) for name in TOTALS},
    "convert_time_zone": _converted_zone,
    "offset_by": _shift,
    "replace_time_zone": _replaced_zone,
    "timestamp": _timestamp,
    "to_string": _text,
    "truncate": _truncated,
}


def _function(compute: Callable[[Data, Options], Data]) -> ComputeNode:
    return lambda node, operands: compute(operands[0].data, node.kwargs)


FUNCTIONS = {f"dt.{name}": _function(compute) for name, compute in _OF_TIMES.items()}
"""The functions by node name; they get the node and its operands."""
