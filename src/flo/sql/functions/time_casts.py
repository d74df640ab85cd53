"""Casts among dates, timestamps and numbers of seconds, in the time zone of the session."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions.rounding import saturated
from flo.sql.functions.zones import INSTANT, LOCAL, days_of, to_instants, to_local
from flo.sql.nodes import Node, SqlError
from flo.sql.registry import LEGACY, Family, family_of, of

TIMES = {Family.DATE, Family.TIMESTAMP, Family.LOCAL}
SECOND = 1_000_000
"""Microseconds of a second."""
MOST = 2**63 - 1


def cast(node: Node, data: pa.Array) -> pa.Array:
    zone = node.option("zone")
    match family_of(data.type), family_of(node.type):
        case Family.DATE, Family.LOCAL:
            return pc.cast(data, LOCAL)
        case Family.DATE, Family.TIMESTAMP:
            return to_instants(pc.cast(data, LOCAL), zone)
        case Family.LOCAL, Family.DATE:
            return days_of(data)
        case Family.TIMESTAMP, Family.DATE:
            return days_of(to_local(data, zone))
        case Family.TIMESTAMP, Family.LOCAL:
            return to_local(data, zone)
        case Family.LOCAL, Family.TIMESTAMP:
            return to_instants(data, zone)
        case Family.TIMESTAMP, Family.INTEGER:
            return _to_seconds(node, data)
        case Family.TIMESTAMP, _:
            return pc.cast(pc.divide(pc.cast(pc.cast(data, pa.int64()), pa.float64(), safe=False), 1e6), node.type)
        case Family.INTEGER, _:
            return of_units(data, SECOND)
    return _of_float_seconds(node, data)


def floor_divide(data: pa.Array, divisor: int) -> pa.Array:
    """Return integers divided by a positive one, rounded down."""
    whole = pc.divide(data, divisor)
    return pc.if_else(pc.less(data, pc.multiply(whole, divisor)), pc.subtract(whole, 1), whole)


def _to_seconds(node: Node, data: pa.Array) -> pa.Array:
    seconds, kind = floor_divide(pc.cast(data, pa.int64()), SECOND), node.type
    found = pc.cast(seconds, kind, safe=False)
    bad = pc.not_equal(pc.cast(found, pa.int64()), seconds)
    if pc.any(bad, min_count=0).as_py() and node.ansi:
        raise SqlError("CAST_OVERFLOW", f"a timestamp does not fit into {kind}")
    return pc.if_else(bad, pa.scalar(None, kind), found)


def of_units(data: pa.Array, unit: int) -> pa.Array:
    """Return the instants of a number of units of so many microseconds, the nearest one if it is too large."""
    data = pc.cast(data, pa.int64())
    high, low = pc.greater(data, MOST // unit), pc.less(data, -(MOST // unit))
    found = pc.multiply(pc.if_else(pc.or_(high, low), 0, data), unit)
    found = pc.if_else(high, pa.scalar(MOST, pa.int64()), found)
    return pc.cast(pc.if_else(low, pa.scalar(-MOST - 1, pa.int64()), found), INSTANT)


def _of_float_seconds(node: Node, data: pa.Array) -> pa.Array:
    micros = pc.multiply(pc.cast(data, pa.float64()), 1e6)
    odd = pc.invert(pc.is_finite(pc.cast(data, pa.float64())))
    if node.ansi:
        if pc.any(odd, min_count=0).as_py():
            raise SqlError("CAST_INVALID_INPUT", "a float is not a number of seconds")
    beyond = pc.greater(pc.abs(micros), float(2**63))
    if node.ansi and pc.any(beyond, min_count=0).as_py():
        raise SqlError("CAST_OVERFLOW", "a float does not fit into a timestamp")
    if node.option("mode") != LEGACY:
        odd = pc.or_(odd, beyond)
    found = pc.cast(saturated(micros, pa.int64()), INSTANT)
    return pc.if_else(odd, pa.scalar(None, INSTANT), found)


SIGNATURES = [
    *(
        of(source, to=target)
        for source in (Family.DATE, Family.TIMESTAMP, Family.LOCAL)
        for target in (Family.DATE, Family.TIMESTAMP, Family.LOCAL)
        if source is not target
    ),
    of(Family.TIMESTAMP, to=Family.INTEGER),
    of(Family.TIMESTAMP, to=Family.FLOAT),
    of(Family.INTEGER, to=Family.TIMESTAMP),
    of(Family.FLOAT, to=Family.TIMESTAMP),
]
