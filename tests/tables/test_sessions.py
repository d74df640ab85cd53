"""Sessions on tables give the sessions, and the late rows, that sessions on values give."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.tables.state import merging
from flo.values.operators.windows import Session
from tests.tables.test_windows import (
    AT,
    DAY,
    INSTANT,
    MEASURED,
    SECOND,
    Day,
    Event,
    Instant,
    Measured,
    check,
    events,
    few,
    many,
    measured,
    shown,
    whole_time,
)

FORM = "window_tables"


@pytest.mark.parametrize(
    "operator",
    [Session(3, AT, bounds=True), Session(3, AT, 4), Session(10, whole_time, 2), Session(1, AT, 100, bounds=True)],
    ids=shown,
)
@many(events)
@few
def test_whole_times(operator, chunks, bounded):
    check(operator, Event, chunks, bounded, FORM)


@pytest.mark.parametrize("operator", [Session(0.1, MEASURED, bounds=True), Session(0.7, MEASURED, 1)], ids=shown)
@many(st.lists(st.builds(Measured, measured, st.just("x")), max_size=6))
@few
def test_floats(operator, chunks, bounded):
    check(operator, Measured, chunks, bounded, FORM)


@pytest.mark.parametrize(
    ("kind", "operator"),
    [
        (Instant, Session(3 * SECOND, INSTANT, 2 * SECOND, bounds=True)),
        (Day, Session(timedelta(days=3), DAY, timedelta(days=2), bounds=True)),
    ],
    ids=shown,
)
@given(chunks=st.lists(st.lists(st.integers(0, 40), max_size=5), max_size=4), bounded=st.booleans())
@few
def test_datetimes(kind, operator, chunks, bounded):
    start, unit = ("2026-01-01T00:00:00+00:00", SECOND) if kind is Instant else ("2026-01-01", timedelta(days=1))
    begin = (datetime if kind is Instant else date).fromisoformat(start)
    check(operator, kind, [([kind(begin + n * unit, "x") for n in each],) for each in chunks], bounded, FORM)


@pytest.mark.parametrize("lateness", [None, 3, 30])
@pytest.mark.parametrize("disorder", [0, 5, 25])
def test_longer_streams(lateness, disorder):
    """Sessions that grow over many deltas, are joined, and close within a delta; late rows beside them."""
    rng = random.Random(disorder)
    times = [at // 2 * 3 + rng.randint(-disorder, disorder) + (40 if at % 60 > 55 else 0) for at in range(400)]
    cuts = sorted(rng.sample(range(400), 8))
    chunks = [
        ([Event(time, "x") for time in times[low:high]],)
        for low, high in zip([0, *cuts], [*cuts, len(times)], strict=True)
    ]
    windows, late = check(Session(5, AT, lateness, bounds=True), Event, chunks, True, FORM)
    assert len(windows) > 3
    assert len(late.elements) > 0 or disorder == 0 or lateness == 30


def test_times_near_the_largest_ints():
    times = [0, (1 << 63) - 1, 5, (1 << 63) - 4, -(1 << 63)]
    check(Session(10, AT, 1 << 62), Event, [([Event(time, "x")],) for time in times], True, FORM)


def test_a_checkpoint_of_open_sessions_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "SMALLEST_PART", 500)
    flow = flo.Flow("sessions")
    sessions = flow.input("events", flo.Sequence[Event]).session(5, "at", 20, bounds=True)
    flow.output("counts", sessions.nest(lambda events, bounds: events.count()).flatten())
    loop = flow.on(flo.here).loop()
    rng = np.random.default_rng(1)
    written = []
    for start in range(0, 4000, 1000):
        loop.push(events=pa.table({"at": start + np.arange(1000) + rng.integers(0, 3, 1000), "what": ["x"] * 1000}))
        written.append(loop.checkpoint(tmp_path).bytes)
    assert loop.state[0] == 4000  # one session, of all rows
    assert max(written[1:]) < 4 * written[0]  # deltas overlap, and are merged
    again = flow.on(flo.here).loop()
    again.restore(tmp_path)
    for each in (loop, again):
        each.push(events=pa.table({"at": [9000], "what": ["y"]}))
        assert each.pull("counts").to_pylist() == [{"value": 4000}]
        assert each.state[0] == 1


def test_a_checkpoint_of_many_open_sessions_writes_what_is_new(tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "SMALLEST_PART", 500)
    flow = flo.Flow("sessions")
    sessions = flow.input("events", flo.Sequence[Event]).session(5, "at", 1 << 40, bounds=True)
    flow.output("counts", sessions.nest(lambda events, bounds: events.count()).flatten())
    loop = flow.on(flo.here).loop()
    written = []
    for start in range(0, 6000, 1000):
        times = 100_000 + 10 * np.arange(start, start + 1000)
        loop.push(events=pa.table({"at": np.repeat(times, 2) + np.tile([0, 4], 1000), "what": ["x"] * 2000}))
        written.append(loop.checkpoint(tmp_path).bytes)
    assert max(written[1:]) < 1.2 * written[0]
    again = flow.on(flo.here).loop()
    again.restore(tmp_path)
    for each in (loop, again):
        each.push(events=pa.table({"at": [100_008, 160_005, 1 << 41], "what": ["y"] * 3}))  # joins the first two
        counts = [row["value"] for row in each.pull("counts").to_pylist()]
        assert counts == [5, *[2] * 5998, 1]


def test_sessions_that_are_a_gap_apart_stay_apart_after_a_restart(tmp_path):
    flow = flo.Flow("sessions")
    sessions = flow.input("events", flo.Sequence[Event]).session(5, "at", 20)
    flow.output("counts", sessions.nest(lambda events: events.count()).flatten())
    loop, again = flow.on(flo.here).loop(), flow.on(flo.here).loop()
    loop.push(events=[Event(time, "x") for time in (0, 5, 9, 14, 20)])
    loop.checkpoint(tmp_path)
    again.restore(tmp_path)
    for each in (loop, again):
        each.push(events=[Event(100, "y")])
        assert each.pull("counts").to_pylist() == [{"value": count} for count in (1, 2, 1, 1)]
