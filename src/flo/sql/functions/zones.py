"""Instants and local times in a time zone, by the rules of Java: a local time that the clocks skip is moved later.

A local time that occurs twice is the earlier instant, in summer time. Zones and their history come from the system's tz
database; Java brings its own.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

INSTANT = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")
DAY = 86_400_000_000
"""Microseconds of a day."""


def to_local(instants: pa.Array, zone: str) -> pa.Array:
    """Return the local times of instants."""
    return pc.local_timestamp(pc.cast(instants, pa.timestamp("us", zone)))


def to_instants(local: pa.Array, zone: str) -> pa.Array:
    """Return the instants of local times."""
    if zone == "UTC":
        return pc.cast(pc.cast(local, pa.int64()), INSTANT)
    before = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")
    # where the clocks skip, Arrow gives the last instant before: its offset is the one that Java adds
    offset = pc.subtract(pc.local_timestamp(before), pc.cast(pc.cast(before, INSTANT), LOCAL))
    return pc.cast(pc.cast(pc.subtract(local, offset), pa.int64()), INSTANT)


def days_of(local: pa.Array) -> pa.Array:
    """Return the dates of local times."""
    return pc.cast(pc.floor_temporal(local, unit="day"), pa.date32())


def micros_of_day(local: pa.Array) -> pa.Array:
    """Return the microseconds since local midnight."""
    midnight = pc.cast(days_of(local), LOCAL)
    return pc.cast(pc.subtract(local, midnight), pa.int64())
