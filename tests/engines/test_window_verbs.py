"""Windows and batches on every engine: what closes, what is late, and what the end of a stream closes."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import NamedTuple

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("window verbs", sample=("tumbling",))


class Event(NamedTuple):
    at: int
    what: str


def events(*times: int) -> list[Event]:
    return [Event(at, f"e{at}") for at in times]


Events = flo.Sequence[Event]


@FAMILY.program
def batch(p: Program) -> None:
    """A batch that is not full waits."""
    numbers = p.input(flo.Sequence[int], [1], [2, 3, 4], [5])
    p.expect(numbers.batch(2), [], [[1, 2], [3, 4]], [[1, 2], [3, 4]])
    p.expect(numbers.batch(3).nest(lambda batch: batch.sum()).flatten(), [], [6], [6])


@FAMILY.program
def batch_of_a_stream_that_ends(p: Program) -> None:
    numbers = p.input(flo.Sequence[int], [0, 1, 2, 3], [4, 5, 6, 7], bounded=True)
    p.expect(numbers.batch(3), [[0, 1, 2], [3, 4, 5], [6, 7]])
    p.expect(numbers.batch(3).nest(lambda batch: batch.sum()).flatten(), [3, 12, 13])


@FAMILY.program
def window(p: Program) -> None:
    """A window begins with its first pair, and spans at most the interval."""
    pairs = p.input(flo.Sequence[tuple[str, int]], [("a", 1), ("b", 3)], [("c", 4), ("d", 5)], [("e", 20)])
    p.expect(pairs.window(3), [], [["a", "b", "c"]], [["a", "b", "c"], ["d"]])


@FAMILY.program
def window_of_a_stream_that_ends(p: Program) -> None:
    pairs = p.input(flo.Sequence[tuple[str, int]], [("a", 1), ("b", 3)], [("c", 9)], bounded=True)
    p.expect(pairs.window(3), [["a", "b"], ["c"]])


@FAMILY.program
def tumbling(p: Program) -> None:
    """[0, 10) closes when something of 15 or later comes."""
    windows = p.input(Events, events(3, 12, 8), events(14, 15, 9), events(31, 16)).tumbling(10, "at", 5)
    first, second = events(3, 8), events(12, 14, 15, 16)
    p.expect(windows, [], [first], [first, second[:3]])
    p.expect(windows.nest(lambda window: window.count()).flatten(), [], [2], [2, 3])
    p.expect(windows.late, [], events(9), events(9, 16))


@FAMILY.program
def limit_ahead(p: Program) -> None:
    """Rows in the far future make no row late; three in a row, close to each other, are believed."""
    rows = p.input(Events, events(3, 999, 998), events(8, 999, 12, 25), events(100, 103, 5, 101, 110, 106, 131))
    limited = rows.limit_ahead("at", 20, believe=3)
    p.expect(limited, events(3), events(3, 8, 12, 25), events(3, 8, 12, 25, 5, 106))
    p.expect(limited.ahead, events(999, 998), events(999, 998, 999), events(999, 998, 999, 100, 103, 101, 110, 131))
    p.expect(limited.tumbling(10, "at"), [], [events(3, 8), events(12)], [events(3, 8), events(12), events(25)])
    clock = limited.clock("at", 5)
    p.expect(clock, -2, 20, 101)
    p.expect(clock.late, [], [], events(5))


@FAMILY.program
def windows_that_follow_a_clock(p: Program) -> None:
    """An element is late if it is behind the clock, and a window closes when the clock is at its end."""
    clock = p.input(Events, events(3, 12, 8), events(14, 15, 9), events(31, 16)).clock("at", 5)
    p.expect(clock, 7, 10, 26)
    p.expect(clock.late, [], events(9), events(9, 16))
    first, second = events(3, 8), events(12, 14, 15)
    p.expect(clock.rows.tumbling(10, clock=clock), [], [first], [first, second])
    slid = [events(3), first, events(12, 8, 14), second, events(15)]
    p.expect(clock.rows.sliding(10, 5, clock=clock), slid[:1], slid[:2], slid)
    p.expect(clock.rows.session(3, clock=clock), [events(3)], [events(3)], [events(3), events(8), second])


@FAMILY.program
def windows_of_bags(p: Program) -> None:
    clock = p.input(Events, events(3, 12, 8), events(14, 15, 9), events(31, 16)).clock("at", 5)
    rows = clock.rows.to_bag()
    for windows, *counts in (
        (rows.tumbling(10, clock=clock), [], [2], [2, 3]),
        (rows.sliding(10, 5, clock=clock), [1], [1, 2], [1, 2, 3, 3, 1]),
        (rows.session(3, clock=clock), [1], [1], [1, 1, 3]),
    ):
        p.expect(windows.nest(lambda window: window.count()).flatten(), *counts)


@FAMILY.program
def tumbling_by_a_function(p: Program) -> None:
    """Without lateness a window closes with its end. There are no empty windows, and times may be negative."""
    windows = p.input(Events, events(-5, 3), events(40, 12)).tumbling(10, lambda event: event.at)
    p.expect(windows, [events(-5)], [events(-5), events(3)])
    p.expect(windows.late, [], events(12))


@FAMILY.program
def tumbling_of_a_stream_that_ends(p: Program) -> None:
    windows = p.input(Events, events(3, 12), events(8, 31), bounded=True).tumbling(10, "at", 5, bounds=True)
    p.expect(windows.nest(lambda window, bounds: window), [events(3, 8), events(12), events(31)])
    starts = windows.nest(lambda window, bounds: bounds.map(lambda each: (each.start, each.end))).flatten()
    p.expect(starts, [(0, 10), (10, 20), (30, 40)])
    p.expect(windows.late, [])


@FAMILY.program
def sliding(p: Program) -> None:
    """An element is in each window that has its time. It is late when the last of them has closed."""
    windows = p.input(Events, events(3, 7), events(12), events(20, 4)).sliding(10, 5, lambda event: event.at)
    p.expect(windows, [events(3)], [events(3), events(3, 7)], [events(3), events(3, 7), events(7, 12), events(12)])
    p.expect(windows.late, [], [], events(4))


@FAMILY.program
def sliding_with_bounds(p: Program) -> None:
    windows = p.input(Events, events(3, 12), bounded=True).sliding(10, 5, "at", 100, bounds=True)
    bounds = windows.nest(lambda window, bounds: bounds.map(lambda each: (each.start, each.end))).flatten()
    p.expect(bounds, [(-5, 5), (0, 10), (5, 15), (10, 20)])
    p.expect(windows.nest(lambda window, bounds: window.count()).flatten(), [1, 1, 1, 1])


@FAMILY.program
def session(p: Program) -> None:
    """What comes between two sessions joins them. A session closes when nothing can reach it any more."""
    sessions = p.input(Events, events(1, 9), events(5, 6), events(40, 2)).session(5, "at", 10)
    p.expect(sessions, [], [], [events(1, 9, 5, 6)])
    p.expect(sessions.nest(lambda session: session.count()).flatten(), [], [], [4])
    p.expect(sessions.late, [], [], events(2))


@FAMILY.program
def session_of_a_stream_that_ends(p: Program) -> None:
    sessions = p.input(Events, events(1, 3), events(8, 9), bounded=True).session(5, "at", bounds=True)
    p.expect(sessions.nest(lambda session, bounds: session), [events(1, 3), events(8, 9)])
    bounds = sessions.nest(lambda session, bounds: bounds.map(lambda each: (each.start, each.end))).flatten()
    p.expect(bounds, [(1, 8), (8, 14)])


class Moment(NamedTuple):
    at: datetime
    number: int


@FAMILY.program
def windows_of_datetimes(p: Program) -> None:
    start, minute = datetime(2026, 3, 1, 12), timedelta(minutes=1)
    moments = [Moment(start + number * minute, number) for number in (0, 9, 10, 8, 26)]
    windows = p.input(flo.Sequence[Moment], moments[:3], moments[3:]).tumbling(
        10 * minute, lambda moment: moment.at, 5 * minute
    )
    p.expect(windows.nest(lambda window: window.map("number")), [], [[0, 9, 8], [10]])
    sessions = p.input(flo.Sequence[Moment], moments[:3], moments[3:], bounded=True).session(
        5 * minute, lambda moment: moment.at, 9 * minute
    )
    p.expect(sessions.nest(lambda session: session.count()).flatten(), [1, 3, 1])


@FAMILY.program
def windows_of_dates(p: Program) -> None:
    days = [(date(2026, 1, day), day) for day in (1, 8, 3, 15)]
    windows = p.input(flo.Sequence[tuple[date, int]], days[:2], days[2:], bounded=True).tumbling(
        timedelta(days=7), "0", timedelta(days=7)
    )
    p.expect(windows.nest(lambda window: window.map("1").sort()).flatten(), [1, 3, 8, 15])


@FAMILY.program
def windows_of_floats(p: Program) -> None:
    times = p.input(flo.Sequence[float], [0.1, 0.25], [0.3, 1.5]).tumbling(0.5, lambda at: at, 0.5)
    p.expect(times, [], [[0.1, 0.25, 0.3]])


@FAMILY.on_every_engine
def test_window_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)
