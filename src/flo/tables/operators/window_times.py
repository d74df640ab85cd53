"""Times as numbers, for a whole table at once: ints and floats as they are, dates and datetimes in microseconds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flo.columns.expression import Expression
from flo.columns.indices import Numbers, one_chunk
from flo.columns.layout import VALUE, Layout
from flo.core.elements import returned_type
from flo.core.errors import ElementError
from flo.tables.functions import Collections, applied, row_by_row
from flo.values.event_time import EPOCH, UTC_EPOCH, offset_of, origin_of
from flo.values.operators.shapes import as_declared

Times: TypeAlias = npt.NDArray[Any]
"""int64 or float64; Python's own numbers where those would overflow or be rounded."""
MICROSECOND = timedelta(microseconds=1)
EXACT = 1 << 53
"""Up to here every whole number is a float."""
LARGE = 1 << 60
"""Sums of a few numbers up to here fit 64 bits."""
_SIGN = np.uint64(1 << 63)


def kind_of(time: Any, durations: list[Any]) -> type | None:
    """int, float or timedelta: what the times are counted in; None if times or durations are neither of these alone."""
    layout = time.layout if isinstance(time, Expression) else Layout.of(returned_type(time))
    arrow = layout.cells[0].arrow if layout is not None and layout.form == "value" else pa.null()
    kinds = set(map(type, durations))
    if pa.types.is_integer(arrow) and arrow != pa.uint64():
        return int if kinds == {int} else None
    if pa.types.is_floating(arrow):
        exact = kinds <= {int, float} and all(duration < EXACT for duration in durations)
        return float if exact else None
    if pa.types.is_date32(arrow) or (pa.types.is_timestamp(arrow) and arrow.unit != "ns"):
        return timedelta if kinds == {timedelta} else None
    return None


def number(duration: Any) -> Any:
    """A duration in the unit of the times."""
    return microseconds(duration) if duration else 0


def microseconds(duration: Any) -> int:
    """A duration in the unit of the time column: microseconds, or numbers as they are."""
    return duration // MICROSECOND if isinstance(duration, timedelta) else duration


class NoTime(ElementError):
    """A row has a time that is none: what that is called is for the operator on values to say."""


def times_of(time: Any, collections: Collections, table: pa.Table, origin: Any) -> tuple[Any, Times]:
    """(the origin, the times of the rows from there)."""
    by_row = not isinstance(time, Expression)
    if by_row and pa.types.is_temporal(Layout.of(returned_type(time)).cells[0].arrow):  # type: ignore[union-attr]
        return _of_moments(time, row_by_row(time, collections, table), origin)
    column = one_chunk(applied(time, collections, table)[VALUE])
    if column.null_count:
        raise NoTime("a time is null, or no number")
    kind = column.type
    if pa.types.is_floating(kind):
        found = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if not np.isfinite(found).all():
            raise NoTime("a time is null, or no number")
        return 0, found
    if pa.types.is_integer(kind):
        return 0, column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    found = column.cast(pa.timestamp("us", zone)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return (EPOCH if zone is None else UTC_EPOCH), found


def _of_moments(time: Any, moments: list[Any], origin: Any) -> tuple[Any, Times]:
    """Of datetimes with or without a zone: what a Python function gives is known only when it comes."""
    as_declared(time, moments)
    if None in moments:
        raise NoTime("a time is null, or no number")
    origin = origin_of(moments[0]) if origin is None else origin
    return origin, np.array([offset_of(moment, origin) // MICROSECOND for moment in moments], np.int64)


def exact(times: Times, durations: tuple[Any, ...]) -> Times:
    """The times, such that what is computed of them and the durations is what Python computes."""
    largest = max(abs(times.min().item()), abs(times.max().item()), *durations)
    if times.dtype == np.int64:
        return times if largest < LARGE else times.astype(object)
    smallest = min([1, *(duration for duration in durations if duration)])
    return times if largest / smallest < EXACT else times.astype(object)


def keys_of_times(times: Times) -> Numbers:
    """Numbers in the order of the times."""
    if times.dtype == np.int64:
        return times.view(np.uint64) ^ _SIGN
    bits = (times + 0.0).view(np.uint64)  # -0.0 and 0.0 are equal
    return bits ^ np.where(bits >> np.uint64(63), ~np.uint64(0), _SIGN)


def times_of_keys(keys: Numbers, kind: type) -> Times:
    """The times that have these numbers."""
    if kind is not float:
        return (keys ^ _SIGN).view(np.int64)
    return (keys ^ np.where(keys >> np.uint64(63), _SIGN, ~np.uint64(0))).view(np.float64)


def key_of(moment: Any, kind: type) -> int:
    """The number of one time; of one beyond 64 bits, a number before or behind all others."""
    if kind is float:
        return int(keys_of_times(np.array([moment], np.float64))[0])
    return min(max(int(moment) + (1 << 63), 0), 1 << 64)
