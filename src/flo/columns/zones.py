"""Times with a zone: their local time, and the instant of a local time, by Python's `zoneinfo`.

Arrow's own functions have no rules for years after 2037, and reject ambiguous local times. Offsets rarely change, so a
block of a few hours is looked up once, unless the offsets at its ends differ; then each of its seconds is looked up.

An ambiguous local time is the instant with the requested offset, else the first one. A skipped local time is read with
the offset before the gap (PEP 495, `fold=0`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.arithmetic import Data
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
    found = pa.array([each[0] if each else None for each in constant], kind).take(blocks.indices)
    if None in constant:
        odd = np.array([each is None for each in constant])[blocks.indices.to_numpy()]
        special = pa.array([find(zone, second) for second in numbers[odd].tolist()], kind)
        found = pc.replace_with_mask(found, pa.array(odd), special)
    return pc.if_else(pc.is_null(data), pa.scalar(None, found.type), found)


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


__all__ = ["PER_SECOND", "expect_zone", "has_zone", "instants", "local_time", "offsets", "zone_names"]
