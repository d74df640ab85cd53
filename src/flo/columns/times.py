"""Functions of dates and times in column expressions. With a zone, they refer to local time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns import arithmetic, zones
from flo.columns.arithmetic import Data
from flo.columns.indices import one_chunk

DAY = 86_400
SECONDS = {"d": DAY, "h": 3600, "m": 60, "s": 1}
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
    return zones.local_time(data) if zones.has_zone(data) else data


def _by_narwhals(name: str, data: Data, **options: Any) -> Data:
    """Apply a function of `dt` to dates or times without a zone."""
    column = pa.array([data.as_py()], data.type) if isinstance(data, pa.Scalar) else data
    frame = nw.from_native(pa.table({"0": column}), eager_only=True)
    found = one_chunk(frame.select(getattr(nw.col("0").dt, name)(**options)).to_native().column(0))
    return found[0] if isinstance(data, pa.Scalar) else found


def _truncated(data: Data, options: dict[str, Any]) -> Data:
    """Return the start of the interval, in local time. Below a day, ambiguous times keep the offset of the input."""
    every = options["every"]
    if not zones.has_zone(data):
        return _by_narwhals("truncate", data, every=every)
    start = _by_narwhals("truncate", zones.local_time(data), every=every)
    below_a_day = _interval(every)[1] in ("h", "m", "s", *FRACTIONS)
    return zones.instants(start, data.type.tz, zones.offsets(data) if below_a_day else None)


def _offset(data: Data, options: dict[str, Any]) -> Data:
    """Add days in local time, or hours and smaller units on the timeline."""
    count, unit = _interval(options["by"])
    if unit not in SECONDS and unit not in FRACTIONS:
        raise TypeError(f"`offset_by` must get days or smaller units; got {options['by']!r}")
    per_unit = SECONDS[unit] * 10**6 if unit in SECONDS else 10**3 if unit == "ms" else 1
    step = pa.scalar(count * per_unit, pa.int64()).cast(pa.duration("ns" if unit == "ns" else "us"))
    if unit == "d" and zones.has_zone(data):
        later = arithmetic.add(zones.local_time(data), step)
        return zones.instants(later, data.type.tz, zones.offsets(data))
    return arithmetic.add(data, step)


def _interval(text: str) -> tuple[int, str]:
    found = INTERVAL.fullmatch(text)
    if found is None:
        raise ValueError(f"an interval must be a number and a unit, such as '1h'; got {text!r}")
    return int(found[1]), found[2]


def _replaced_zone(data: Data, options: dict[str, Any]) -> Data:
    """Return the same local time in another zone, or without a zone."""
    zone = options["time_zone"]
    local = _local(data)
    if zone is None:
        return local
    zones.expect_zone(zone)
    same = zones.has_zone(data) and data.type.tz == zone
    return data if same else zones.instants(local, zone)


def _converted_zone(data: Data, options: dict[str, Any]) -> Data:
    """Return the same instants in another zone; times without a zone are taken as UTC."""
    zones.expect_zone(options["time_zone"])
    return pc.cast(data, pa.timestamp(data.type.unit, options["time_zone"]))


def _text(data: Data, options: dict[str, Any]) -> Data:
    """Format local time like `strftime`."""
    if not zones.has_zone(data):
        return _by_narwhals("to_string", data, format=options["format"])
    local = zones.local_time(data)
    parts: list[Data] = [pa.scalar("")]
    for part in re.split(r"(%%|%z|%Z)", options["format"]):
        if part in ("%z", "%Z"):
            parts.append(zones.zone_names(data) if part == "%Z" else _offset_text(data))
        elif part:
            parts.append(pa.scalar("%") if part == "%%" else _by_narwhals("to_string", local, format=part))
    return pc.binary_join_element_wise(*parts, "")


def _offset_text(data: Data) -> Data:
    """Return +0200, with seconds if there are any, like Python's `%z`."""
    ahead = zones.offsets(data)
    sign = pc.if_else(pc.less(ahead, 0), "-", "+")
    digits = pc.strftime(pc.cast(pc.abs(ahead), pa.timestamp("s")), "%H%M%S")
    return pc.replace_substring_regex(pc.binary_join_element_wise(sign, digits, ""), "00$", "")


def _timestamp(data: Data, options: dict[str, Any]) -> Data:
    """Return the units since 1970, rounded down."""
    wanted = zones.PER_SECOND[options["time_unit"]]
    if pa.types.is_date32(data.type):
        return arithmetic.scaled(pc.cast(pc.cast(data, pa.int32()), pa.int64()), DAY * wanted)
    if not pa.types.is_timestamp(data.type):
        raise TypeError(f"`timestamp` must get dates or times; got {data.type}")
    given = zones.PER_SECOND[data.type.unit]
    numbers = pc.cast(data, pa.int64())
    if wanted >= given:
        return arithmetic.scaled(numbers, wanted // given)
    return arithmetic.floor_divide(numbers, pa.scalar(given // wanted))


def _total(name: str) -> Callable[[Data, dict[str, Any]], Data]:
    """Return the length of durations in a unit, rounded towards zero."""
    wanted, seconds = TOTALS[name]

    def compute(data: Data, options: dict[str, Any]) -> Data:
        if not pa.types.is_duration(data.type):
            raise TypeError(f"`{name}` must get durations; got {data.type}")
        given = zones.PER_SECOND[data.type.unit] * seconds
        numbers = pc.cast(data, pa.int64())
        return arithmetic.scaled(numbers, wanted // given) if wanted >= given else pc.divide(numbers, given // wanted)

    return compute


def _field(name: str) -> Callable[[Data, dict[str, Any]], Data]:
    return lambda data, options: _by_narwhals(name, _local(data))


def cast(data: Data, kind: pa.DataType) -> Data:
    """Cast to another type; times with a zone become their local date, time or text."""
    if zones.has_zone(data) and data.type.tz != "UTC":
        if pa.types.is_date(kind) or pa.types.is_time(kind):
            return arithmetic.cast(zones.local_time(data), kind)
        if pa.types.is_string(kind):
            return pc.binary_join_element_wise(pc.cast(zones.local_time(data), kind), _offset_text(data), "")
    return arithmetic.cast(data, kind)


_OF_TIMES: dict[str, Callable[[Data, dict[str, Any]], Data]] = {
    **{name: _field(name) for name in OF_LOCAL_TIME},
    **{name: _total(name) for name in TOTALS},
    "convert_time_zone": _converted_zone,
    "offset_by": _offset,
    "replace_time_zone": _replaced_zone,
    "timestamp": _timestamp,
    "to_string": _text,
    "truncate": _truncated,
}


def _function(compute: Callable[[Data, dict[str, Any]], Data]) -> Callable[[Any, list[Any]], Data]:
    return lambda node, operands: compute(operands[0].data, node.kwargs)


FUNCTIONS = {f"dt.{name}": _function(compute) for name, compute in _OF_TIMES.items()}
"""The functions by node name; they get the node and its operands."""
