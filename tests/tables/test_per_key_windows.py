"""Windows, sessions and batches of every key on tables: the watermark of a key is its own, as on values."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.core.graph import setinput
from flo.core.semantics import attempt
from flo.core.typing import initial
from tests.quick import is_quick, times
from tests.tables.harness import agree, on_tables
from tests.tables.test_per_key import on_values

pytestmark = pytest.mark.every(check=5)

SECOND = timedelta(seconds=1)


class Event(NamedTuple):
    user: str | None
    at: int
    what: str = ""


class Measured(NamedTuple):
    user: str | None
    at: float


def at(event: Event) -> int:
    return event.at


def moment(event: Event) -> datetime:
    return datetime(2026, 1, 1) + event.at * SECOND


def with_zone_of_user(event: Event) -> datetime:
    return moment(event).replace(tzinfo=UTC if event.user == "a" else None)


def words(acc: str, event: Event) -> str:
    return acc + event.what


def counts(window):
    return window.nest(lambda s: s.count()).flatten(), window.late


def as_they_are(window):
    return window, window.late


def bounds_and_texts(window):
    found = window.nest(lambda events, bounds: (events.fold("", words), bounds))
    return found, window.late


BODIES = {
    "tumbling": lambda s: counts(s.tumbling(5, "at")),
    "tumbling, lateness": lambda s: bounds_and_texts(s.tumbling(5, "at", 3, bounds=True)),
    "tumbling by a function": lambda s: counts(s.tumbling(4, at, 2)),
    "sliding": lambda s: counts(s.sliding(6, 3, "at")),
    "sliding, lateness": lambda s: as_they_are(s.sliding(7, 3, "at", 4, bounds=True)),
    "session": lambda s: as_they_are(s.session(4, "at", bounds=True)),
    "session, lateness": lambda s: bounds_and_texts(s.session(4, "at", 3, bounds=True)),
    "session, much lateness": lambda s: counts(s.session(3, at, 20)),
    "session of datetimes": lambda s: counts(s.session(3 * SECOND, moment, 2 * SECOND)),
    "tumbling datetimes": lambda s: counts(s.tumbling(3 * SECOND, moment, 2 * SECOND)),
    "a zone for every key": lambda s: counts(s.session(3 * SECOND, with_zone_of_user, 2 * SECOND)),
    "keys that end early": lambda s: counts(s.take(4).session(3, "at", 2)),
    "windows that end early": lambda s: counts(s.take(4).sliding(4, 2, "at", 2)),
    "filtered before": lambda s: counts(s.filter(nw.col("at") > 0).session(3, "at")),
    "batch": lambda s: s.batch(2).nest(lambda b: b.fold("", words)).flatten(),
    "batch as it is": lambda s: s.batch(3),
    "batches that end early": lambda s: s.take(3).batch(2).nest(lambda b: b.map("at").sum()).flatten(),
    "batches of sessions": lambda s: s.batch(2).nest(lambda b: b.map("at").to_bag()).flatten(),
}
FLOATS = {
    "tumbling": lambda s: as_they_are(s.tumbling(0.3, "at", 0.2, bounds=True)),
    "sliding": lambda s: as_they_are(s.sliding(0.7, 0.3, "at", 0.2, bounds=True)),
    "session": lambda s: as_they_are(s.session(0.3, "at", 0.2, bounds=True)),
}


def program(body, kind, bounded):
    flow = flo.Flow("windows")
    found = flow.input("events", flo.Sequence[kind], bounded=bounded).key_by("user").per_key(body)
    for place, stream in enumerate(found if isinstance(found, tuple) else (found,)):
        flow.output(f"out {place}", stream)
    return flow


def events(rng, kind, count):
    """Events of few users, in an order that is more or less that of time."""
    drift, spread, start = rng.choice([0, 1, 5]), rng.choice([2, 10, 30]), rng.choice([-20, 0])
    times = [start + place * drift // 3 + rng.randint(0, spread) for place in range(count)]
    if kind is Measured:
        return [Measured(rng.choice(["a", None]), time / 10) for time in times]
    return [Event(rng.choice(["a", "b", None]), time, rng.choice("xyz")) for time in times]


def check(body, kind, seeds):
    for bounded in (False, True):
        flow = program(body, kind, bounded)
        graph, types = flow.graph(), (flo.core.stream_type.StreamType(flo.Sequence(kind), bounded),)
        assert on_values(graph, types) == []
        for seed in range(seeds):
            rng = random.Random(seed)
            rows = events(rng, kind, rng.randint(0, 40))
            cuts = sorted(rng.randint(0, len(rows)) for _ in range(rng.randint(0, 5)))
            chunks = [(rows[low:high],) for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
            agree(graph, types, chunks, seeds=1)


@pytest.mark.every(test=3)
@pytest.mark.parametrize("body", BODIES)
def test_whole_times(body):
    check(BODIES[body], Event, 1 if is_quick() else times(3))


@pytest.mark.parametrize("body", FLOATS)
def test_floats(body):
    check(FLOATS[body], Measured, 3)


def test_times_near_the_largest_ints():
    rows = [Event("a", time) for time in (0, (1 << 63) - 1, 5, (1 << 63) - 4, -(1 << 63))]
    for body in (lambda s: counts(s.session(10, "at", 1 << 62)), lambda s: counts(s.tumbling(10, "at", 1 << 62))):
        flow = program(body, Event, True)
        types = (flo.core.stream_type.StreamType(flo.Sequence(Event), True),)
        agree(flow.graph(), types, [([row],) for row in rows])


def test_one_key_waits_for_no_other():
    loop = program(lambda s: counts(s.tumbling(10, "at")), Event, bounded=False).on(flo.here).loop()
    loop.push(events=[Event("a", 1), Event("b", 1), Event("a", 25), Event("b", 2)])
    assert loop.pull("out 0") == {"a": [1], "b": []}
    loop.push(events=[Event("b", 3), Event("b", 10), Event("a", 3)])
    assert loop.pull("out 0") == {"b": [3]}
    assert loop.pull("out 1") == {"a": [Event("a", 3)], "b": []}


@pytest.mark.parametrize("lateness", [1, 3])
def test_what_is_over_is_there_at_once(lateness):
    """As soon as the watermark of its key has come to its end, and no row earlier."""
    for body, last in ((lambda s: s.session(5, "at", lateness), 6), (lambda s: s.tumbling(5, "at", lateness), 5)):
        loop = program(lambda s, body=body: counts(body(s)), Event, bounded=False).on(flo.here).loop()
        loop.push(events=[Event("a", 1), Event("b", 1), Event("a", last + lateness - 1)])
        assert loop.pull("out 0") == {"a": [], "b": []}
        loop.push(events=[Event("a", last + lateness)])
        assert loop.pull("out 0") == {"a": [1]}


@pytest.mark.parametrize(
    "body", [lambda s: counts(s.session(5, "at", 20)), lambda s: counts(s.tumbling(5, "at")), lambda s: s.batch(50)]
)
def test_a_checkpoint_goes_on_and_is_as_large_as_what_is_new(tmp_path, body):
    loop = program(body, Event, bounded=False).on(flo.here).loop()
    users = [str(number) for number in range(10)]
    written = []
    for start in range(0, 4000, 1000):
        rows = {"user": users * 100, "at": start + np.arange(1000), "what": ["x"] * 1000}
        loop.push(events=pa.table(rows))
        loop.pull("out 0")
        written.append(loop.checkpoint(tmp_path).bytes)
    assert max(written[1:]) < 2 * written[0]
    again = program(body, Event, bounded=False).on(flo.here).loop()
    again.restore(tmp_path)
    for each in (loop, again):
        each.push(events=[Event(user, 9000, "y") for user in users] * 50)
    assert again.pull("out 0") == loop.pull("out 0") != {}
    assert again.state[0] == loop.state[0]


def test_what_has_closed_is_not_kept():
    loop = program(lambda s: counts(s.session(5, "at")), Event, bounded=False).on(flo.here).loop()
    for start in range(0, 100_000, 1000):
        loop.push(events=pa.table({"user": ["a", "b"] * 50, "at": start + np.arange(100), "what": ["x"] * 100}))
    assert loop.state[0] < 1000


def faulty(event: Event) -> int:
    return 1 // event.at


def asked_time(event: Event) -> int:
    return event.at if event.at < 100 else 1 // 0


ROWS = [Event("b", 1), Event("a", 1), Event("a", 0), Event("b", 7), Event("a", 8), Event("a", 300), Event("b", 20)]


@pytest.mark.parametrize(
    "body",
    [
        lambda s: s.batch(2).nest(lambda b: b.map(faulty).count()).flatten(),
        lambda s: counts(s.tumbling(3, asked_time)),
        lambda s: counts(s.session(3, asked_time, 1)),
        lambda s: s.take(3).batch(2).nest(lambda b: b.map(faulty).count()).flatten(),
    ],
)
def test_a_fault_says_the_same_as_on_values(body):
    flow = program(body, Event, bounded=False)
    types = (flo.core.stream_type.StreamType(flo.Sequence(Event), False),)
    said = [
        str(attempt(setinput(start, (flo.Sequence(Event).value(ROWS),)))[2])
        for start, _ in (initial(flow.graph(), types), on_tables(flow.graph(), types))
    ]
    assert said[0] == said[1]
