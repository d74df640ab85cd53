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
CYCLE = 146_097 * DAY
"""The days of the year repeat after 400 years."""
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Zone:
    """When the clocks change, in microseconds of UTC, and the offsets before, between and after the changes.

    From `base` on they repeat with the calendar; the changes of the first such cycle are here."""

    changes: Integers
    offsets: Integers
    base: int

    def at(self, instants: Integers) -> Integers:
        """Return the offsets at instants."""
        return self.offsets[np.searchsorted(self.changes, self._in_table(instants), side="right")]

    def of(self, local: Integers) -> Integers:
        """Return the offsets of local times; one that is skipped or occurs twice has the offset before the change."""
        local_changes = self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])
        return self.offsets[np.searchsorted(local_changes, self._in_table(local), side="right")]

    def _in_table(self, times: Integers) -> Integers:
        return np.where(times >= self.base + CYCLE, self.base + (times - self.base) % CYCLE, times)


@lru_cache(maxsize=64)
def zone_of(name: str) -> Zone:
    """Return a time zone: a name of the tz database, or an offset such as +02:00."""
    if name[0] in "+-":
        seconds = int(name[1:3]) * 3600 + int(name[4:6]) * 60
        return Zone(np.zeros(0, np.int64), np.array([seconds * (-1 if name[0] == "-" else 1) * SECOND]), 0)
    changes, offsets = _read(name)
    last = max(changes[-1] if changes else 0, 0)
    later = _changes_by_rule(name, last)
    changes, offsets = changes + [at for at, _ in later], offsets + [offset for _, offset in later]
    base = (last + 2 * 366 * 86_400) * SECOND
    return Zone(np.array(changes, np.int64) * SECOND, np.array(offsets, np.int64) * SECOND, base)


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
    """Return the changes after the last one of the file, with the offsets after them, for more than one cycle.

    The rule at the end of the file has at most two changes a year, months apart."""
    zone = zoneinfo.ZoneInfo(name)
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

    def offset(at: int) -> int:
        found: Any = (epoch + datetime.timedelta(seconds=at)).astimezone(zone).utcoffset()
        return int(found.total_seconds())

    found = []
    for low, high in pairwise(range(last, last + CYCLE // SECOND + 4 * 366 * 86_400, 28 * 86_400)):
        if (before := offset(low)) == offset(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == before else (low, middle)
        found.append((high, offset(high)))
    return found


def _numbers(times: pa.Array) -> Integers:
    return np.asarray(pc.cast(times, pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _moved(times: pa.Array, offsets: Integers, kind: pa.DataType) -> pa.Array:
    found = pa.array(_numbers(times) + offsets)
    return pc.cast(pc.if_else(times.is_valid(), found, pa.scalar(None, pa.int64())), kind)


def to_local(instants: pa.Array, name: str) -> pa.Array:
    """Return the local times of instants."""
    return _moved(instants, zone_of(name).at(_numbers(instants)), LOCAL)


def to_instants(local: pa.Array, name: str) -> pa.Array:
    """Return the instants of local times."""
    return _moved(local, -zone_of(name).of(_numbers(local)), INSTANT)


def days_of(local: pa.Array) -> pa.Array:
    """Return the dates of local times."""
    return pc.cast(pc.floor_temporal(local, unit="day"), pa.date32())


def micros_of_day(local: pa.Array) -> pa.Array:
    """Return the microseconds since local midnight."""
    return pc.cast(pc.subtract(local, pc.cast(days_of(local), LOCAL)), pa.int64())
