"""Functions of dates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions import calendar
from flo.sql.functions.arithmetic import overflow
from flo.sql.functions.decimals import size_of
from flo.sql.nodes import Node, SqlError, as_array
from flo.sql.registry import ANSI, LEGACY, Compute, Data, Family, constant, declare, of

DATE, INTEGER = Family.DATE, Family.INTEGER


def _part(name: str, **options: Any) -> Compute:
    function = getattr(pc, name)
    return lambda node, operands: pc.cast(function(operands[0], **options), node.type)


def _add_days(sign: int) -> Compute:
    """Dates some days later; they wrap around as integers of 32 bits."""

    def compute(node: Node, operands: list[Data]) -> Data:
        days, more = (pc.cast(each, pa.int32()) for each in operands)
        return pc.cast(pc.add(days, more) if sign > 0 else pc.subtract(days, more), pa.date32())

    return compute


def _days_between(node: Node, operands: list[Data]) -> Data:
    end, start = (pc.cast(each, pa.int32()) for each in operands)
    found = pc.subtract(end, start)
    if pa.types.is_duration(node.type):
        return pc.cast(pc.multiply(pc.cast(found, pa.int64()), 86_400_000_000), node.type)
    return found


def months_of(interval: pa.Scalar) -> int:
    """Return the months of a constant interval."""
    return int(interval.as_py().months)


def _add_months(node: Node, operands: list[Data]) -> Data:
    dates, more = operands
    if pa.types.is_interval(more.type):
        more = pa.scalar(months_of(more), pa.int32()) if more.is_valid else pa.scalar(None, pa.int32())
    count = size_of(dates, more)
    dates, more = (as_array(each, count) for each in (dates, more))
    there = pc.and_(dates.is_valid(), more.is_valid())
    months = np.asarray(more.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    days = calendar.add_months(calendar.days_to_numpy(dates), months)
    if ((days < -(2**31)) | (days >= 2**31)).any():
        raise overflow(pa.int32())
    return calendar.dates_of(days, there)


def _last_day(node: Node, operands: list[Data]) -> Data:
    (dates,) = operands
    days = calendar.days_to_numpy(dates)
    year, month, day = calendar.fields(days)
    return calendar.dates_of(days - day + calendar.lengths_of_months(year, month), dates.is_valid())


UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    "QUARTER": "quarter",
    **dict.fromkeys(("MONTH", "MON", "MM"), "month"),
    "WEEK": "week",
}
"""The units that a date is truncated to."""


def _truncate(node: Node, operands: list[Data]) -> Data:
    dates, unit = operands
    name = UNITS.get((unit.as_py() or "").upper())
    if name is None:
        return pa.nulls(len(dates), pa.date32())
    return pc.cast(floor_to(dates, name), pa.date32())


def floor_to(times: pa.Array, unit: str) -> pa.Array:
    """Return dates or local times truncated to a year, quarter, month or week."""
    days = calendar.days_to_numpy(pc.cast(pc.floor_temporal(times, unit="day"), pa.date32()))
    year, month, day = calendar.fields(days)
    match unit:
        case "week":
            found = days - (days + 3) % 7  # 1970-01-01 was a Thursday
        case "month":
            found = days - day + 1
        case "quarter":
            found = calendar.days_of_fields(year, (month - 1) // 3 * 3 + 1, np.ones_like(day))
        case _:
            found = calendar.days_of_fields(year, np.ones_like(month), np.ones_like(day))
    return calendar.dates_of(found, times.is_valid())


def _make_date(node: Node, operands: list[Data]) -> Data:
    count = size_of(*operands)
    arrays = [as_array(each, count) for each in operands]
    there = pc.and_(pc.and_(arrays[0].is_valid(), arrays[1].is_valid()), arrays[2].is_valid())
    year, month, day = (np.asarray(each.fill_null(1).to_numpy(zero_copy_only=False), np.int64) for each in arrays)
    good = (month >= 1) & (month <= 12) & (day >= 1) & (np.abs(year) <= 999_999_999)
    lengths = calendar.lengths_of_months(year, np.clip(month, 1, 12))
    good &= day <= lengths
    days = calendar.days_of_fields(year, np.clip(month, 1, 12), day)
    inside = (days >= -(2**31)) & (days < 2**31)
    if node.ansi:
        if not (good | ~there.to_numpy(zero_copy_only=False)).all():
            raise SqlError("DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", "there is no such date")
    if not (inside | ~good | ~there.to_numpy(zero_copy_only=False)).all():
        raise overflow(pa.int32())
    return calendar.dates_of(np.where(good, days, 0), pc.and_(there, pa.array(good)))


def _of_days(node: Node, operands: list[Data]) -> Data:
    return pc.cast(operands[0], pa.date32())


_OF_DATE = [of(DATE)]
declare("Year", "year({})", _OF_DATE, _part("year"))
declare("Quarter", "quarter({})", _OF_DATE, _part("quarter"))
declare("Month", "month({})", _OF_DATE, _part("month"))
declare("DayOfMonth", "day({})", _OF_DATE, _part("day"))
declare("DayOfWeek", "dayofweek({})", _OF_DATE, _part("day_of_week", count_from_zero=False, week_start=7))
declare("WeekDay", "weekday({})", _OF_DATE, _part("day_of_week"))
declare("DayOfYear", "dayofyear({})", _OF_DATE, _part("day_of_year"))
declare("WeekOfYear", "weekofyear({})", _OF_DATE, _part("iso_week"))
declare("YearOfWeek", "extract(YEAROFWEEK FROM {})", _OF_DATE, _part("iso_year"))
declare("DateAdd", "date_add({}, {})", [of(DATE, INTEGER)], _add_days(1))
declare("DateSub", "date_sub({}, {})", [of(DATE, INTEGER)], _add_days(-1))
declare("DateDiff", "datediff({}, {})", [of(DATE, DATE)], _days_between)
declare("SubtractDates", "{} - {}", [of(DATE, DATE)], _days_between)
declare("AddMonths", "add_months({}, {})", [of(DATE, INTEGER)], _add_months)
declare("DateAddYMInterval", "{} + {}", [of(DATE, constant(Family.MONTHS))], _add_months)
declare("LastDay", "last_day({})", _OF_DATE, _last_day)
declare("TruncDate", "trunc({}, {})", [of(DATE, constant(Family.STRING))], _truncate)
declare("MakeDate", "make_date({}, {}, {})", [of(INTEGER, INTEGER, INTEGER)], _make_date, modes=(ANSI, LEGACY))
declare("UnixDate", "unix_date({})", _OF_DATE, lambda node, operands: pc.cast(operands[0], pa.int32()))
declare(
    "DateFromUnixDate",
    "date_from_unix_date({})",
    [of(INTEGER)],
    lambda node, operands: pc.cast(operands[0], pa.date32()),
)
