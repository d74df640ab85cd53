"""Functions of column expressions that say which windows of event time a row is in, and where they start and end.

Times are integers or floats, counted from 0, or dates and timestamps, counted from the epoch; with a zone, in UTC. They
are computed in microseconds. A bound that the type of the times does not have is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import expand_ranges
from flo.columns.nodes import ColumnNode, ComputeNode, Data, NodeValue
from flo.core.errors import ElementError
from flo.values.event_time import EPOCH, MICROSECOND, span_of

YEARS = (datetime.min - EPOCH) // MICROSECOND, (datetime.max - EPOCH) // MICROSECOND
WHOLE = -(1 << 63), (1 << 63) - 1
Flags = npt.NDArray[np.bool_]
TimeArray = npt.NDArray[Any]


def time_kind(arrow: pa.DataType) -> type | None:
    """Return what times of this type are counted in: int, float, or timedelta; None if they are not times."""
    if pa.types.is_integer(arrow) and not pa.types.is_uint64(arrow):
        return int
    if pa.types.is_floating(arrow):
        return float
    return timedelta if pa.types.is_date32(arrow) or pa.types.is_timestamp(arrow) else None


class TimeNumbers(NamedTuple):
    """Times as numbers, and the type of window bounds."""

    numbers: TimeArray
    null: Flags
    bound: pa.DataType

    @classmethod
    def of(cls, name: str, data: pa.Array) -> TimeNumbers:
        kind = time_kind(data.type)
        if kind is None:
            raise TypeError(f"`{name}` must get integers, floats, dates or times; got {data.type}")
        null = np.asarray(data.is_null())
        if kind is float:
            numbers = np.asarray(pc.fill_null(pc.cast(data, pa.float64()), 0.0))
            if not np.isfinite(numbers).all():
                raise ElementError(f"{numbers[~np.isfinite(numbers)][0]} is not a time")
            return cls(numbers, null, pa.float64())
        if kind is int:
            return cls(np.asarray(pc.fill_null(pc.cast(data, pa.int64()), 0)), null, pa.int64())
        zone = data.type.tz if pa.types.is_timestamp(data.type) else None
        bound = pa.timestamp("us", None if zone is None else "UTC")
        if pa.types.is_timestamp(data.type) and data.type.unit == "ns":
            return cls(np.asarray(pc.fill_null(pc.cast(data, pa.int64()), 0)) // 1000, null, bound)
        plain = data if zone is None else pc.cast(data, pa.timestamp(data.type.unit, "UTC"))
        return cls(np.asarray(pc.fill_null(pc.cast(pc.cast(plain, bound), pa.int64()), 0)), null, bound)

    @property
    def limits(self) -> tuple[int, int]:
        """The first and the last bound."""
        return YEARS if pa.types.is_timestamp(self.bound) else WHOLE

    def to_array(self, numbers: TimeArray, wrong: Flags) -> pa.Array:
        """The numbers as bounds of windows. Raises if one is wrong."""
        wrong = wrong & ~self.null
        if wrong.any():
            where = pa.array(self.numbers[wrong][:1]).cast(self.bound)[0].as_py()
            raise ElementError(f"the window of {where} has a bound that its type does not have")
        return pa.array(np.where(self.null, 0, numbers), mask=self.null).cast(self.bound)


def _on_arrays(compute: Callable[..., pa.Array]) -> ComputeNode:
    """Make a function of arrays one of nodes, whose operands may be literals."""

    def on_node(node: ColumnNode, operands: list[NodeValue]) -> Data:
        given = [each.data for each in operands]
        counts = [len(data) for data in given if isinstance(data, pa.Array)]
        arrays = [pa.repeat(data, (counts or [1])[0]) if isinstance(data, pa.Scalar) else data for data in given]
        results = compute(*arrays, **node.kwargs)
        return results if counts else results[0]

    return on_node


def _numbered(numbers: TimeArray, every: Any) -> TimeArray:
    """The number of the window that starts last, of floats, as `find_window` computes it."""
    windows: TimeArray = np.floor_divide(numbers, every)
    windows = np.where(windows * every > numbers, windows - 1, windows)
    windows = np.where((windows + 1) * every <= numbers, windows + 1, windows)
    wrong = ~((windows * every <= numbers) & (numbers < (windows + 1) * every))
    if wrong.any():
        raise ElementError(f"the time {numbers[wrong][0]!r} is too large for windows of {every!r}")
    return windows


def _start(data: pa.Array, every: Any = None) -> pa.Array:
    """Return the start of the last window that has each time; without windows, the time itself."""
    times, every = TimeNumbers.of("window_start", data), span_of(every)
    if every is None:
        return times.to_array(times.numbers, np.zeros(len(data), bool))
    if times.numbers.dtype == np.float64:
        return times.to_array(_numbered(times.numbers, float(every)) * every, np.zeros(len(data), bool))
    past = times.numbers % every
    return times.to_array(times.numbers - past, times.numbers < times.limits[0] + past)


def _starts(data: pa.Array, size: object, every: Any) -> pa.Array:
    """Return the starts of all windows that have each time, the earliest first."""
    times, size, every = TimeNumbers.of("window_starts", data), span_of(size), span_of(every)
    if times.numbers.dtype == np.float64:
        last = _numbered(times.numbers, float(every))
        counts = np.zeros(len(data), np.int64)
        while (more := _float_end(last - counts, size, every) > times.numbers).any():
            counts += more
    else:
        past = times.numbers % every
        last, counts = times.numbers - past, (size - past - 1) // every + 1
        low = times.limits[0]
        wrong = (times.numbers < low + past) | (last < low + (counts - 1) * every)
        times.to_array(last, wrong)
    counts = np.where(times.null, 0, counts)
    back = np.repeat(counts, counts) - 1 - expand_ranges(np.zeros(len(counts), np.int64), counts)
    starts = np.repeat(last, counts) - back * (1 if times.numbers.dtype == np.float64 else every)
    starts = starts * every if times.numbers.dtype == np.float64 else starts
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    kind = pa.list_(pa.field("item", times.bound, nullable=False))
    return pa.ListArray.from_arrays(offsets, pa.array(starts).cast(times.bound), type=kind, mask=pa.array(times.null))


def _float_end(number: TimeArray, size: object, every: object) -> TimeArray:
    """The end of windows of floats by their numbers: rounding must not leave gaps."""
    following: TimeArray = (number + 1) * every
    return following if size == every else np.maximum(number * every + size, following)


def _end(data: pa.Array, size: object, every: object = None) -> pa.Array:
    """Return the end of the windows that start at these times; without `every`, the times and the size."""
    times, size, every = TimeNumbers.of("window_end", data), span_of(size), span_of(every)
    if times.numbers.dtype == np.float64 and every is not None:
        ends = _float_end(np.rint(times.numbers / every), size, every)
        return times.to_array(ends, ~np.isfinite(ends))
    return _later(times, size)


def _later(times: TimeNumbers, duration: Any) -> pa.Array:
    """Return the times plus a duration."""
    with np.errstate(over="ignore"):
        ends = times.numbers + duration
    if times.numbers.dtype == np.float64:
        return times.to_array(ends, ~np.isfinite(ends))
    return times.to_array(ends, times.numbers > times.limits[1] - duration)


def are_apart(later: TimeArray, earlier: TimeArray, gap: Any) -> Flags:
    """Return which times, as numbers, are after others and at least so much behind them. The gap is `counted`."""
    if later.dtype == np.float64:
        return np.asarray((later > earlier) & (later >= earlier + gap))
    between = later.astype(np.uint64) - earlier.astype(np.uint64)  # exact, if it is not negative
    return np.asarray((later > earlier) & (between >= np.uint64(gap)))


def session_bounds(first: TimeArray, last: TimeArray, gap: object, bound: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Return the bounds of sessions with these first and last times, as numbers."""
    every = np.zeros(len(first), bool)
    return TimeNumbers(first, every, bound).to_array(first, every), _later(
        TimeNumbers(last, every, bound), span_of(gap)
    )


FUNCTIONS: dict[str, ComputeNode] = {
    "window_start": _on_arrays(_start),
    "window_starts": _on_arrays(_starts),
    "window_end": _on_arrays(_end),
}
"""The functions by node name; they get the node and its operands."""
