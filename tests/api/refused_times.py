"""Wrong programs with times: of the wrong type, or with durations that do not fit them. Texts are in tests/golden."""

from __future__ import annotations

# mypy: ignore-errors
# pyright: basic, reportAttributeAccessIssue=false
from datetime import datetime, timedelta
from typing import NamedTuple

import flo


class Click(NamedTuple):
    user: str
    at: datetime
    second: int


def window_of_numbers():
    flow = flo.Flow("clicks")
    flow.input("prices", flo.Sequence[int]).window(3)


def window_of_texts_as_times():
    flow = flo.Flow("clicks")
    flow.input("prices", flo.Sequence[tuple[int, str]]).window(3)


def window_with_a_negative_interval():
    flow = flo.Flow("clicks")
    flow.input("prices", flo.Sequence[tuple[str, int]]).window(-3)


def clock_of_texts():
    flow = flo.Flow("clicks")
    flow.input("clicks", flo.Sequence[Click]).clock("user")


def clock_with_a_number_as_lateness_of_datetimes():
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Sequence[Click])
    clicks.clock("at", lateness=5)


def tumbling_by_a_function_of_texts():
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Sequence[tuple[str, int]])
    clicks.tumbling(10, lambda click: click[0])


def tumbling_datetimes_by_a_number():
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Sequence[Click])
    clicks.tumbling(10, lambda click: click.at)


def sliding_numbers_by_a_timedelta():
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Sequence[Click])
    clicks.sliding(60, timedelta(seconds=10), "second")


def windows_that_do_not_fit_their_clock():
    flow = flo.Flow("clicks")
    clock = flow.input("clicks", flo.Sequence[Click]).clock("at")
    clock.rows.session(10, clock=clock)


def join_interval_of_datetimes_between_numbers():
    flow = flo.Flow("clicks")
    clock = flow.input("clicks", flo.Sequence[Click]).clock(lambda click: click.at)
    other = flow.input("views", flo.Sequence[Click]).clock("at")
    clock.rows.join_interval(other.rows, on="user", between=(0, 30))


def min_clock_of_numbers_and_dates():
    flow = flo.Flow("clicks")
    clock = flow.input("clicks", flo.Sequence[Click]).clock(lambda click: click.second)
    other = flow.input("views", flo.Sequence[Click]).clock(lambda click: click.at)
    flo.min_clock(clock, other)


def retain_with_a_clock_of_another_kind():
    flow = flo.Flow("clicks")
    clock = flow.input("views", flo.Sequence[Click]).clock(lambda click: click.second)
    flow.input("clicks", flo.ZSet[Click]).retain("at", clock)


def final_without_a_clock():
    flow = flo.Flow("clicks")
    clock = flow.input("clicks", flo.Sequence[Click]).clock("second")
    minutes = clock.rows.to_zset().tumble(60, "second").group_by("window_end").agg(n=flo.count())
    minutes.final()
