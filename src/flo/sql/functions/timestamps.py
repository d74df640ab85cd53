"""Functions of timestamps, with the time zone of the session or without a zone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import calendar
from flo.sql.functions.arithmetic import overflow
from flo.sql.functions.dates import UNITS, floor_to, months_of
from flo.sql.functions.decimals import rescaled, size_of, widen
from flo.sql.functions.time_casts import SECOND, floor_divide
from flo.sql.functions.zones import DAY, INSTANT, LOCAL, days_of, micros_of_day, to_instants, to_local
from flo.sql.nodes import Node, as_array
from flo.sql.registry import Compute, Data, Family, constant, declare, of

AT, LOCALLY = Family.TIMESTAMP, Family.LOCAL
BOTH = [of(AT), of(LOCALLY)]
MICROS = pa.int64()


def local_of(node: Node, data: pa.Array) -> pa.Array:
    return to_local(data, node.option("zone")) if data.type.tz else data


def like(node: Node, local: pa.Array) -> pa.Array:
    """Return local times as timestamps of the node's type."""
    return to_instants(local, node.option("zone")) if node.type.tz else local


def _part(name: str) -> Compute:
    function = getattr(pc, name)
    return lambda node, operands: pc.cast(function(local_of(node, operands[0])), node.type)


def _exact_second(node: Node, operands: list[Data]) -> Data:
    """Seconds with their fraction, as a decimal."""
    micros = micros_of_day(local_of(node, operands[0]))
    rest = pc.subtract(micros, pc.multiply(floor_divide(micros, 60 * SECOND), 60 * SECOND))
    found = widen(pc.cast(rest, pa.decimal128(19, 0)))
    return pc.cast(rescaled(found, 19, 6), node.type)


OF_DAY = {
    "HOUR": 3600 * SECOND,
    "MINUTE": 60 * SECOND,
    "SECOND": SECOND,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
"""The units that a time of day is truncated to, in microseconds."""


def _truncate(node: Node, operands: list[Data]) -> Data:
    unit, data = operands
    name = (unit.as_py() or "").upper()
    local = local_of(node, data)
    if name in OF_DAY:
        return _truncate_time(node, data, local, OF_DAY[name])
    if name in ("DAY", "DD"):
        return like(node, pc.cast(days_of(local), LOCAL))
    if name in UNITS:
        return like(node, pc.cast(floor_to(local, UNITS[name]), LOCAL))
    return pa.nulls(len(data), node.type)


def _truncate_time(node: Node, data: pa.Array, local: pa.Array, unit: int) -> pa.Array:
    """The offset of the zone is kept if it can be: of an hour that occurs twice it stays the same one."""
    floor = pc.cast(pc.multiply(floor_divide(pc.cast(local, MICROS), unit), unit), LOCAL)
    return keep_offset(data, local, floor, node.option("zone")) if data.type.tz else floor


# Intervals


def _add_interval(node: Node, operands: list[Data]) -> Data:
    """A timestamp plus days and microseconds: days keep the local time."""
    count = size_of(*operands)
    data, interval = (as_array(each, count) for each in operands)
    micros = pc.cast(interval, MICROS)
    days = pc.divide(micros, DAY)  # truncates towards zero
    rest = pc.subtract(micros, pc.multiply(days, DAY))
    if data.type.tz and node.option("zone") != "UTC":
        data = _move(data, to_local(data, node.option("zone")), days, DAY, node.option("zone"))
    else:
        data = _sum(data, pc.multiply(days, DAY))
    return _sum(data, rest)


def _sum(data: pa.Array, micros: pa.Array) -> pa.Array:
    try:
        return pc.cast(pc.add_checked(pc.cast(data, MICROS), micros), data.type)
    except pa.ArrowInvalid:
        raise overflow(pa.int64()) from None


def _move(data: pa.Array, local: pa.Array, steps: pa.Array, unit: int, zone: str) -> pa.Array:
    """Return instants whose local time is moved by some steps."""
    moved = pc.cast(_sum(pc.cast(local, MICROS), pc.multiply(steps, unit)), LOCAL)
    return keep_offset(data, local, moved, zone)


def keep_offset(data: pa.Array, local: pa.Array, moved: pa.Array, zone: str) -> pa.Array:
    """Return the instants of local times that were made of others; one that occurs twice keeps the offset."""
    found = to_instants(moved, zone)
    offset = pc.subtract(pc.cast(local, MICROS), pc.cast(data, MICROS))
    same = pc.cast(pc.subtract(pc.cast(moved, MICROS), offset), INSTANT)
    return pc.if_else(pc.equal(to_local(same, zone), moved), same, found)


def _add_months(node: Node, operands: list[Data]) -> Data:
    data, interval = operands
    if not interval.is_valid:
        return pa.nulls(len(data), node.type)
    local = local_of(node, data)
    dates = days_of(local)
    months = np.full(len(data), months_of(interval), np.int64)
    moved = calendar.dates_of(calendar.add_months(calendar.days_to_numpy(dates), months), dates.is_valid())
    micros = pc.add(pc.cast(pc.cast(moved, LOCAL), MICROS), micros_of_day(local))
    found = pc.cast(micros, LOCAL)
    return keep_offset(data, local, found, node.option("zone")) if data.type.tz else found


def _subtract(node: Node, operands: list[Data]) -> Data:
    """The time between two timestamps: local time, if they have a zone."""
    end, start = (to_local(each, node.option("zone")) if each.type.tz else each for each in _arrays(operands))
    try:
        return pc.cast(pc.subtract_checked(pc.cast(end, MICROS), pc.cast(start, MICROS)), node.type)
    except pa.ArrowInvalid:
        raise overflow(pa.int64()) from None


def _arrays(operands: list[Data]) -> list[pa.Array]:
    count = size_of(*operands)
    return [as_array(each, count) for each in operands]


# Numbers


def _to_units(unit: int) -> Compute:
    return lambda node, operands: floor_divide(pc.cast(operands[0], MICROS), unit)


def _same_bits(node: Node, operands: list[Data]) -> Data:
    return pc.cast(pc.cast(operands[0], MICROS), node.type)


def _seconds(node: Node, operands: list[Any]) -> Data:
    """unix_timestamp: seconds of a timestamp or a date; the format only counts for strings."""
    data = operands[0]
    if pa.types.is_date(data.type):
        data = to_instants(pc.cast(data, LOCAL), node.option("zone"))
    return pc.divide(pc.cast(data, MICROS), SECOND)  # truncates towards zero


_FORMAT = constant(Family.STRING)
declare("Hour", "hour({})", BOTH, _part("hour"))
declare("Minute", "minute({})", BOTH, _part("minute"))
declare("Second", "second({})", BOTH, _part("second"))
declare("SecondWithFraction", "extract(SECOND FROM {})", BOTH, _exact_second)
declare("TruncTimestamp", "date_trunc({}, {})", [of(_FORMAT, AT)], _truncate)
declare(
    "TimestampAddInterval",
    "{} + {}",
    [of(AT, Family.INTERVAL), of(LOCALLY, Family.INTERVAL)],
    _add_interval,
)
_MONTHS = constant(Family.MONTHS)
declare("TimestampAddYMInterval", "{} + {}", [of(AT, _MONTHS), of(LOCALLY, _MONTHS)], _add_months)
declare("SubtractTimestamps", "{} - {}", [of(AT, AT), of(LOCALLY, LOCALLY)], _subtract)
for _class, _sql in (("UnixTimestamp", "unix_timestamp({})"), ("ToUnixTimestamp", "to_unix_timestamp({})")):
    declare(_class, _sql, [of(AT, _FORMAT), of(Family.DATE, _FORMAT)], _seconds)
declare("UnixSeconds", "unix_seconds({})", [of(AT)], _to_units(SECOND))
declare("UnixMillis", "unix_millis({})", [of(AT)], _to_units(1000))
declare("UnixMicros", "unix_micros({})", [of(AT)], _to_units(1))
declare("MicrosToTimestamp", "timestamp_micros({})", [of(Family.INTEGER)], _same_bits)
declare(
    "PreciseTimestampConversion",
    "window({}, '1 hour').start",
    [of(AT), of(LOCALLY), of(Family.INTEGER)],
    _same_bits,
)
