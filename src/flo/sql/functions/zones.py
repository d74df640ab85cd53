"""Instants and local times in a time zone, by the rules of Java: a local time that the clocks skip is moved later.

A local time that occurs twice is the earlier instant, in summer time. The changes of the clocks come from the system's
tz database; those after its last year follow the rule at its end. Arrow's own functions stop at the last year.
"""

from __future__ import annotations

import datetime
import importlib.resources
import os
import struct
import zoneinfo
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

INSTANT = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")
SECOND = 1_000_000
DAY = 86_400 * SECOND
"""Microseconds of a second and of a day."""
CYCLE, CYCLE_DAYS = 400, 146_097
"""The Gregorian calendar repeats after so many years, which have so many days."""
LAST_YEAR = 9999


@dataclass(frozen=True)
class Zone:
    """When the clocks change, in microseconds of UTC, and the offsets before, between and after the changes."""

    changes: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]

    @property
    def local_changes(self) -> npt.NDArray[np.int64]:
        """The local times from which the next offset counts; a time that is skipped or occurs again has the last."""
        return self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])


@lru_cache(maxsize=64)
def zone_of(name: str) -> Zone:
    """Return a time zone: a name of the tz database, or an offset such as +02:00."""
    if name[0] in "+-":
        seconds = int(name[1:3]) * 3600 + int(name[4:6]) * 60
        return Zone(np.zeros(0, np.int64), np.array([seconds * (-1 if name[0] == "-" else 1) * SECOND]))
    changes, offsets = _read(name)
    later = _changes_by_rule(name, changes[-1] if changes else -(2**62))
    changes, offsets = changes + [at for at, _ in later], offsets + [offset for _, offset in later]
    return Zone(np.array(changes, np.int64) * SECOND, np.array(offsets, np.int64) * SECOND)


def _read(name: str) -> tuple[list[int], list[int]]:
    """Return the changes that a file of the tz database has, and one offset more (RFC 8536)."""
    data = _file(name)
    ut, standard, leaps, times, kinds, letters = struct.unpack(">20x6I", data[:44])
    skipped = 44 + times * 5 + kinds * 6 + letters + leaps * 8 + standard + ut  # the block of 32 bits
    start = skipped + 44
    ut, standard, leaps, times, kinds, letters = struct.unpack(">20x6I", data[skipped:start])
    changes = list(struct.unpack(f">{times}q", data[start : start + times * 8]))
    indices = data[start + times * 8 : start + times * 9]
    place = start + times * 9
    offsets = [struct.unpack(">i", data[place + 6 * each : place + 6 * each + 4])[0] for each in range(kinds)]
    return changes, [offsets[0], *(offsets[each] for each in indices)]


def _file(name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        path = os.path.join(folder, *name.split("/"))
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read()
    *folders, last = name.split("/")
    return importlib.resources.files(".".join(["tzdata.zoneinfo", *folders])).joinpath(last).read_bytes()


def _changes_by_rule(name: str, last: int) -> list[tuple[int, int]]:
    """Return the changes after the last one of the file, with the offsets after them.

    The rule repeats each year, so days of the week repeat with the calendar."""
    zone = zoneinfo.ZoneInfo(name)
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

    def offset(at: int) -> int:
        found: Any = (epoch + datetime.timedelta(seconds=at)).astimezone(zone).utcoffset()
        return int(found.total_seconds())

    first = max((epoch + datetime.timedelta(seconds=max(last, 0))).year, 1970)
    begin = int((datetime.datetime(first, 1, 1, tzinfo=datetime.UTC) - epoch).total_seconds())
    months = [begin + CYCLE_DAYS * 86_400 * each // (CYCLE * 12) for each in range(CYCLE * 12 + 13)]
    found = []
    for low, high in pairwise(months):
        if high <= last or (before := offset(max(low, last))) == offset(high):
            continue
        low = max(low, last)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == before else (low, middle)
        found.append((high, offset(high)))
    period = CYCLE_DAYS * 86_400
    cycle = [each for each in found if each[0] < found[0][0] + period] if found else []
    repeats = range((LAST_YEAR - first) // CYCLE + 1)
    return [(at + turn * period, offset) for turn in repeats for at, offset in cycle]


def _numbers(times: pa.Array) -> npt.NDArray[np.int64]:
    return np.asarray(pc.cast(times, pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _moved(times: pa.Array, offsets: npt.NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    found = pa.array(_numbers(times) + offsets)
    return pc.cast(pc.if_else(times.is_valid(), found, pa.scalar(None, pa.int64())), kind)


def to_local(instants: pa.Array, name: str) -> pa.Array:
    """Return the local times of instants."""
    zone = zone_of(name)
    return _moved(instants, zone.offsets[np.searchsorted(zone.changes, _numbers(instants), side="right")], LOCAL)


def to_instants(local: pa.Array, name: str) -> pa.Array:
    """Return the instants of local times."""
    zone = zone_of(name)
    return _moved(local, -zone.offsets[np.searchsorted(zone.local_changes, _numbers(local), side="right")], INSTANT)


def days_of(local: pa.Array) -> pa.Array:
    """Return the dates of local times."""
    return pc.cast(pc.floor_temporal(local, unit="day"), pa.date32())


def micros_of_day(local: pa.Array) -> pa.Array:
    """Return the microseconds since local midnight."""
    return pc.cast(pc.subtract(local, pc.cast(days_of(local), LOCAL)), pa.int64())
