"""Functions of dates, and the conversions of timestamps and dates from and to their numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.nodes import Expr
from flo.sql.registry import Compute, Data, Family, declare, of

DATE, INTEGER = Family.DATE, Family.INTEGER


def _part(name: str, **options: int) -> Compute:
    function = getattr(pc, name)
    return lambda node, operands: pc.cast(function(operands[0], **options), node.type)


def _add_days(sign: int) -> Compute:
    """Dates some days later; they wrap around as integers of 32 bits."""

    def compute(node: Expr, operands: list[Data]) -> Data:
        days, more = (pc.cast(each, pa.int32()) for each in operands)
        return pc.cast(pc.add(days, more) if sign > 0 else pc.subtract(days, more), pa.date32())

    return compute


def _days_between(node: Expr, operands: list[Data]) -> Data:
    end, start = (pc.cast(each, pa.int32()) for each in operands)
    days = pc.subtract(end, start)
    if pa.types.is_duration(node.type):
        return pc.cast(pc.multiply(pc.cast(days, pa.int64()), 86_400_000_000), node.type)
    return days


def _same_bits(node: Expr, operands: list[Data]) -> Data:
    return pc.cast(pc.cast(operands[0], pa.int64()), node.type)


_OF_DATE, _TO_NUMBER = [of(DATE)], [of(Family.TIMESTAMP), of(Family.LOCAL), of(INTEGER)]
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
declare("PreciseTimestampConversion", "window({}, '1 hour').start", _TO_NUMBER, _same_bits)
