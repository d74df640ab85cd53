"""The Gregorian calendar for all years: days since 1970-01-01 and their fields, for one date and for columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
Integers = npt.NDArray[np.int64]


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def is_date(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= LENGTHS[month - 1] + (month == 2 and is_leap(year))


def days_from_date(year: int, month: int, day: int) -> int:
    """Return the days of a date since 1970-01-01. Years begin in March here, so that a leap day is the last."""
    year -= month <= 2
    era = year // 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    in_era = year - era * 400
    return era * 146_097 + in_era * 365 + in_era // 4 - in_era // 100 + of_year - 719_468


def fields_of_days(days: int) -> tuple[int, int, int]:
    """Return year, month and day."""
    year, month, day = fields(np.array([days]))
    return int(year[0]), int(month[0]), int(day[0])


def fields(days: Integers) -> tuple[Integers, Integers, Integers]:
    """Return years, months and days of the month."""
    days = days.astype(np.int64) + 719_468
    era = days // 146_097
    in_era = days - era * 146_097
    year = (in_era - in_era // 1460 + in_era // 36_524 - in_era // 146_096) // 365
    of_year = in_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = np.where(shifted < 10, shifted + 3, shifted - 9)
    return year + era * 400 + (month <= 2), month, day


def days_of_fields(year: Integers, month: Integers, day: Integers) -> Integers:
    """Return the days since 1970-01-01 of years, months and days."""
    year = year - (month <= 2)
    era = year // 400
    in_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return np.asarray(era * 146_097 + in_era * 365 + in_era // 4 - in_era // 100 + of_year - 719_468, np.int64)


def lengths_of_months(year: Integers, month: Integers) -> Integers:
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return np.asarray(np.array(LENGTHS)[month - 1] + ((month == 2) & leap), np.int64)


def add_months(days: Integers, months: Integers) -> Integers:
    """Return dates some months later; a day that the month does not have becomes its last."""
    year, month, day = fields(days)
    total = year * 12 + month - 1 + months.astype(np.int64)
    year, month = total // 12, total % 12 + 1
    return days_of_fields(year, month, np.minimum(day, lengths_of_months(year, month)))


def days_to_numpy(dates: pa.Array) -> Integers:
    return np.asarray(pc.cast(dates, pa.int32()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def dates_of(days: Integers, there: pa.Array) -> pa.Array:
    """Return days as dates, null where there is none."""
    found = pc.cast(pa.array(days.astype(np.int32)), pa.date32())
    return pc.if_else(there, found, pa.scalar(None, pa.date32()))
