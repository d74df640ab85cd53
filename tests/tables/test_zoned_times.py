"""Times in a zone, in column expressions: as `zoneinfo` has them, also where an hour comes twice or is skipped."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout

pytestmark = pytest.mark.every(test=2)

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Europe/Dublin", "Pacific/Apia")
YEARS = (3, 1582, 1883, 1893, 1945, 2011, 2024, 2050, 9998)


def moments(zone: str) -> list[datetime]:
    """Times around every change of the offset in some years, and some far from one."""
    found = []
    for year in YEARS:
        days = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(364)]
        for day, after in pairwise(days):
            if day.astimezone(ZoneInfo(zone)).utcoffset() != after.astimezone(ZoneInfo(zone)).utcoffset():
                found += [day + timedelta(minutes=25 * n, microseconds=n) for n in range(70)]
        found += days[::90]
    return found


def local(moment: datetime, zone: str) -> datetime:
    return moment.astimezone(ZoneInfo(zone))


def applied(zone: str, given: nw.Expr, times: list[datetime]) -> list[Any]:
    kind = Annotated[datetime, pa.timestamp("us", zone)]
    layout = Layout.of(kind)
    expression = Expression(given, (layout,))
    return expression.results(layout.to_table(times))["value"].to_pylist()


T = nw.col("value").dt
FIELDS = {
    "year": (T.year(), lambda t: t.year),
    "month": (T.month(), lambda t: t.month),
    "day": (T.day(), lambda t: t.day),
    "hour": (T.hour(), lambda t: t.hour),
    "minute": (T.minute(), lambda t: t.minute),
    "second": (T.second(), lambda t: t.second),
    "microsecond": (T.microsecond(), lambda t: t.microsecond),
    "weekday": (T.weekday(), lambda t: t.isoweekday()),
    "ordinal_day": (T.ordinal_day(), lambda t: t.timetuple().tm_yday),
    "date": (T.date(), lambda t: t.date()),
    "cast to a date": (nw.col("value").cast(nw.Date), lambda t: t.date()),
    "local time": (T.replace_time_zone(None), lambda t: t.replace(tzinfo=None)),
    "timestamp": (T.timestamp("ms"), lambda t: (t - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)),
    "text": (T.to_string("%m-%d %H:%M %z %Z%%"), lambda t: t.strftime("%m-%d %H:%M %z %Z%%")),
}


@pytest.mark.parametrize("zone", ZONES)
def test_parts_of_times_are_those_of_zoneinfo(zone):
    times = moments(zone)
    assert len(times) > 100
    for name, (given, expected) in FIELDS.items():
        assert applied(zone, given, times) == [expected(local(each, zone)) for each in times], name


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("every", ["1m", "30m", "1h", "6h"])
def test_truncating_below_a_day_keeps_the_offset_where_it_can(zone, every):
    times = moments(zone)
    step = timedelta(minutes=int(every[:-1]) * (60 if every[-1] == "h" else 1))
    for moment, start in zip(times, applied(zone, T.truncate(every), times), strict=True):
        there = local(moment, zone)
        naive = there.replace(tzinfo=None)
        floor = naive - (naive - datetime(1970, 1, 1)) % step
        readings = [floor.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1)]
        real = [each for each in readings if local(each.astimezone(UTC), zone).replace(tzinfo=None) == floor]
        same = [each for each in real if each.utcoffset() == there.utcoffset()]
        expected = (same or real or readings)[0].astimezone(UTC)
        assert start.astimezone(UTC) == expected, (moment, there)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("every", "floor"), [("1d", {}), ("1mo", {"day": 1}), ("1y", {"day": 1, "month": 1})])
def test_truncating_to_days_and_more_gives_the_first_instant(zone, every, floor):
    times = [each for each in moments(zone) if each.year > 3]
    for moment, start in zip(times, applied(zone, T.truncate(every), times), strict=True):
        day = local(moment, zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0, **floor)
        assert start.astimezone(UTC) == day.astimezone(UTC), moment


BERLIN = "Europe/Berlin"
TWICE = [datetime(2024, 10, 27, hour, 30, tzinfo=UTC) for hour in (0, 1)]
"""02:30 in Berlin, first in summer time and then again."""
BEFORE_GAP = datetime(2024, 3, 30, 1, 30, tzinfo=UTC)
"""02:30 on the day before an hour is skipped."""


def test_a_repeated_hour_is_truncated_to_its_own_start():
    found = applied(BERLIN, T.truncate("1h"), TWICE)
    assert [each.astimezone(UTC) for each in found] == [each.replace(minute=0) for each in TWICE]
    assert [each.fold for each in found] == [0, 1]


def test_later_by_days_in_local_time_and_by_hours_on_the_timeline():
    def later(by: str, *times: datetime) -> list[datetime]:
        return [each.astimezone(UTC) for each in applied(BERLIN, T.offset_by(by), list(times))]

    assert later("1h", *TWICE) == [each + timedelta(hours=1) for each in TWICE]
    assert later("0d", *TWICE) == TWICE
    assert later("1d", *TWICE) == [datetime(2024, 10, 28, 1, 30, tzinfo=UTC)] * 2
    assert later("1d", BEFORE_GAP) == [datetime(2024, 3, 31, 1, 30, tzinfo=UTC)], "03:30, as 02:30 is skipped"
    assert later("-1d", datetime(2024, 10, 28, 1, 30, tzinfo=UTC)) == [TWICE[1]], "with its own offset"
    assert later("1mo", BEFORE_GAP) == [datetime(2024, 4, 30, 0, 30, tzinfo=UTC)]
    assert later("1mo", datetime(2024, 9, 27, 0, 30, tzinfo=UTC)) == [TWICE[0]], "with its own offset"
    assert later("-8mo", datetime(2024, 10, 31, 1, 30, tzinfo=UTC)) == [datetime(2024, 2, 29, 1, 30, tzinfo=UTC)]


def test_local_times_are_read_as_python_reads_them():
    plain = [datetime(2024, 10, 27, 2, 30), datetime(2024, 3, 31, 2, 30), datetime(2050, 7, 1, 12)]
    layout = Layout.of(datetime)
    expression = Expression(T.replace_time_zone(BERLIN), (layout,))
    found = expression.results(layout.to_table(plain))["value"].to_pylist()
    assert [each.astimezone(UTC) for each in found] == [
        each.replace(tzinfo=ZoneInfo(BERLIN)).astimezone(UTC) for each in plain
    ]
    same = applied(BERLIN, T.replace_time_zone(BERLIN), TWICE)
    assert [each.astimezone(UTC) for each in same] == TWICE


def test_the_same_instant_in_another_zone():
    found = applied(BERLIN, T.convert_time_zone("America/New_York"), TWICE)
    assert [each.astimezone(UTC) for each in found] == TWICE
    assert [each.hour for each in found] == [20, 21]
    for wrong in (T.convert_time_zone("Europe/Nowhere"), T.replace_time_zone("Europe/Nowhere")):
        with pytest.raises(flo.FloError, match="there is no time zone 'Europe/Nowhere'"):
            applied(BERLIN, wrong, TWICE)


def test_texts_of_times():
    found = applied(BERLIN, nw.col("value").cast(nw.String), TWICE)
    assert found == ["2024-10-27 02:30:00.000000+0200", "2024-10-27 02:30:00.000000+0100"]


def test_years_that_python_does_not_know():
    table = pa.table({"value": pa.array([2**62], pa.timestamp("us")).cast(pa.timestamp("us", BERLIN))})
    expression = Expression(T.hour(), (Layout.of(Annotated[datetime, pa.timestamp("us", BERLIN)]),))
    with pytest.raises(flo.ElementError, match=re.escape("in the years 1 to 9999")):
        expression.results(table)


class Reading(NamedTuple):
    at: Annotated[datetime, pa.timestamp("us", BERLIN)]
    n: int


READINGS = [Reading(each.astimezone(ZoneInfo(BERLIN)), n) for n, each in enumerate([*TWICE, BEFORE_GAP])]


def hourly() -> flo.Flow:
    flow = flo.Flow("hourly")
    rows = flow.input("rows", flo.Bag[Reading], bounded=True)
    at = nw.col("at").dt
    flow.output("hours", rows.map({"at": at.truncate("1h"), "day": at.truncate("1d"), "hour": at.hour(), "n": "n"}))
    return flow


EXPECTED = {(0, TWICE[0].replace(minute=0)), (1, TWICE[1].replace(minute=0)), (2, BEFORE_GAP.replace(minute=0))}


def test_on_values_and_tables():
    on_values = hourly().run(rows=READINGS)["hours"]
    assert {(row.n, row.at.astimezone(UTC)) for row in on_values} == EXPECTED
    on_tables = hourly().on(flo.here).run(rows=READINGS)["hours"].to_pylist()
    assert {(row["n"], row["at"].astimezone(UTC)) for row in on_tables} == EXPECTED
    assert {row["hour"] for row in on_tables} == {2}
