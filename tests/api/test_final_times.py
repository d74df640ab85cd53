"""`final` on times of all kinds: zones, dates, floats, columns that round and columns that are renamed."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import narwhals as nw
import pyarrow as pa
import pytest

import flo
import flo.verify
from tests.api.test_final import SIZE, Click, groups_in, plain
from tests.quick import is_thorough


class Zoned(NamedTuple):
    at: Annotated[datetime, ZoneInfo("Europe/Berlin")]
    n: int


def is_large(row: Zoned) -> bool:
    return row.n > 1


def test_verbs_that_treat_each_row_alone() -> None:
    """Functions of rows, renamed columns, unions; windows that overlap, at times with a zone; by a clock of its own."""
    flow, minute = flo.Flow("alone"), timedelta(minutes=1)
    seen = flow.input("seen", flo.Partitioned[Zoned], partitions=2)
    clock = seen.clock("at", minute, idle_after=timedelta(days=1), because="some are switched off")
    rows = clock.rows.with_columns(large=is_large).to_zset()
    rows = rows.union(rows.filter(nw.col("n") > 2)).select("large", time="at").hop(60 * minute, 30 * minute, "time")
    flow.output("counts", rows.group_by("large", began="window_start").agg(n=flo.count()).final(clock))
    start = datetime(2026, 3, 29, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    log = {part: [Zoned(start + n * step * minute, n) for n in range(6)] for part, step in ((0, 20), (1, 31))}
    began = [datetime(2026, 3, 28, 23, 0, tzinfo=UTC) + n * 30 * minute for n in range(3)]
    groups = {(False, began[0], 3): 1, (False, began[1], 4): 1, (True, began[1], 1): 1}
    groups |= {(False, began[2], 1): 1, (True, began[2], 6): 1}
    for found in (flow.run(seen=log), flow.on(flo.here).run(seen=log)):
        assert groups_in(found["counts"]) == groups


def test_columns_may_be_passed_on_several_times_and_renamed() -> None:
    """The time and the bounds: as copies, by an alias, and as arguments of aggregates."""
    flow = flo.Flow("copies")
    clock = flow.input("clicks", flo.Sequence[Click]).clock("at")
    rows, counts = clock.rows.to_zset(), {"n": flo.count()}
    copied = rows.with_columns(time="at", user="user")
    ended = rows.tumble(SIZE, "at").with_columns(end="window_end")
    for name, groups in {
        "by time": copied.tumble(SIZE, "at").group_by("window_end").agg(**counts),
        "by copy": copied.tumble(SIZE, "time").group_by("window_end").agg(**counts),
        "by alias": rows.select(nw.col("at").alias("t")).tumble(SIZE, "t").group_by("window_end").agg(**counts),
        "of end": ended.group_by("window_end").agg(**counts),
        "of copy": ended.group_by("end").agg(**counts),
        "of alias": ended.group_by(nw.col("window_end").alias("to")).agg(**counts),
        "of argument": ended.group_by("window_end").agg(n=flo.count("window_end")),
    }.items():
        flow.output(name, groups.final(clock))
    found = flow.run(clicks=[Click("a", 1), Click("b", 2), Click("b", 12)])
    assert [groups_in(found[name]) for name in found] == [{(10, 2): 1}] * 7


class Seen(NamedTuple):
    tags: list[str]
    at: datetime


class Day(NamedTuple):
    day: date


class Weighed(NamedTuple):
    at: float


def test_times_dates_and_lists() -> None:
    start, minute = datetime(2026, 1, 1), timedelta(minutes=1)
    flow = flo.Flow("times")
    seen = flow.input("seen", flo.Sequence[Seen]).clock("at", minute)
    days = flow.input("days", flo.Sequence[Day]).clock("day")
    rows = seen.rows.explode("tags").to_zset().tumble(2 * minute, "at")
    flow.output("tags", rows.group_by("window_start", tag="tags").agg(n=flo.count()).final(seen))
    weeks = days.rows.to_zset().tumble(timedelta(days=7), "day").group_by("window_end").agg(n=flo.count())
    flow.output("weeks", weeks.final(days))
    given: dict[str, Any] = {
        "seen": [Seen(["a", "b"], start), Seen(["a"], start + minute), Seen([], start + 3 * minute)],
        "days": [Day(date(2026, 1, 1)), Day(date(2026, 1, 2)), Day(date(2026, 1, 8))],
    }
    results = {"tags": {(start, "a", 2): 1, (start, "b", 1): 1}, "weeks": {(datetime(2026, 1, 8), 2): 1}}
    for found in (flow.run(**given), flow.on(flo.here).run(**given)):
        assert {name: groups_in(found[name]) for name in results} == results


@pytest.mark.parametrize("seed", range(20 if is_thorough() else 1))
def test_floats_close_windows_alike_on_values_and_tables(seed: int) -> None:
    rng, flow = random.Random(seed), flo.Flow("floats")
    clock = flow.input("rows", flo.Sequence[Weighed]).clock("at", 0.3)
    rows = clock.rows.to_zset()
    flow.output("tumble", rows.tumble(0.1, "at").group_by("window_start").agg(n=flo.count()).final(clock))
    flow.output("hop", rows.hop(0.3, 0.1, "at").group_by("window_end").agg(n=flo.count()).final(clock))
    flow.output("session", rows.session(0.1, "at").group_by("window_end").agg(n=flo.count()).final(clock))
    loop, tables = flow.loop(), flow.on(flo.here).loop()
    for number in range(30):
        given = [Weighed(number * 0.1 + rng.randint(-3, 3) * 0.1) for _ in range(3)]
        loop.push(rows=given)
        loop.run()
        tables.push(rows=given)
        assert plain({name: loop.pull(name) for name in ("tumble", "hop", "session")}) == plain(
            {name: tables.pull(name) for name in ("tumble", "hop", "session")}
        )


class Short(NamedTuple):
    at: Annotated[float, pa.float32()]


class Coarse(NamedTuple):
    at: Annotated[datetime, pa.timestamp("ms")]


@pytest.mark.parametrize(
    ("size", "rows"),
    [
        (0.7, [Short(n * 0.7) for n in (1, 1, 2, 3, 3, 4, 5)]),
        (
            timedelta(microseconds=1500),
            [Coarse(datetime(2026, 1, 1, 0, 0, 0, 500 * n)) for n in (1, 3, 3, 5, 7, 9, 20)],
        ),
    ],
)
def test_clock_and_windows_see_the_same_time_in_a_column_that_rounds(size: Any, rows: list[Any]) -> None:
    flow = flo.Flow("rounded")
    clock = flow.input("rows", flo.Sequence[type(rows[0])]).clock("at")  # type: ignore[misc]
    flow.output(
        "counts", clock.rows.to_zset().tumble(size, "at").group_by("window_end").agg(n=flo.count()).final(clock)
    )
    loop, tables = flow.loop(), flow.on(flo.here).loop()
    for row in rows:
        loop.push(rows=[row])
        loop.run()
        tables.push(rows=[row])
    found = groups_in(loop.result()["counts"])
    assert len(found) > 2
    assert found == groups_in(tables.result()["counts"]) == groups_in(flow.run(rows=rows)["counts"])


def test_a_row_whose_window_does_not_end_behind_it_is_an_error() -> None:
    """A gap that is lost beside a large float: the session of a row ends when it begins."""
    for on_tables in (False, True):
        flow = flo.Flow("rounded")
        clock = flow.input("rows", flo.Sequence[Weighed]).clock("at")
        sessions = clock.rows.to_zset().session(0.1, "at").group_by("window_end").agg(n=flo.count())
        flow.output("sessions", sessions.final(clock))
        loop: Any = flow.on(flo.here).loop() if on_tables else flow.loop()
        run = (lambda: None) if on_tables else loop.run
        for _ in range(2):
            loop.push(rows=[Weighed(1e17)])
            run()
        with pytest.raises(flo.ElementError, match="came after its window had ended"):  # noqa: PT012
            loop.push(rows=[Weighed(2e17)])
            run()
