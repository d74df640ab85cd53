"""Windows on tables give the windows, and the late rows, that windows on values give."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Annotated, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.indices import grouped, sort_indices
from flo.columns.layout import Layout
from flo.core.stream_type import StreamType
from flo.tables.state import merging
from flo.tables.state.panes import in_time_order
from flo.tables.state.trace import gather_equal_rows
from flo.values.event_time import TimeWindow
from flo.values.operators.windows import Session, Sliding, Tumbling
from flo.values.sequence import Sequence
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables

few = tried(20)


class Event(NamedTuple):
    at: int
    what: str


class Measured(NamedTuple):
    at: float
    what: str


class Moment(NamedTuple):
    at: datetime
    what: str


class Instant(NamedTuple):
    at: Annotated[datetime, pa.timestamp("us", "Europe/Paris")]
    what: str


class Day(NamedTuple):
    at: date
    what: str


class Perhaps(NamedTuple):
    at: int | None


def column(name, kind):
    layout = Layout.of(kind)
    assert layout is not None
    return Expression(name, (layout,))


def whole_time(event: Event) -> int:
    return event.at


def measured_time(event: Measured) -> float:
    return event.at


def moment_time(moment: Moment) -> datetime:
    return moment.at


def day_time(day: Day) -> date:
    return day.at


AT, MEASURED, MOMENT, INSTANT, DAY = (column("at", kind) for kind in (Event, Measured, Moment, Instant, Day))
SECOND, START = timedelta(seconds=1), datetime(2026, 1, 1)
events = st.lists(st.builds(Event, st.integers(-20, 40), st.sampled_from("ab")), max_size=6)
seconds = st.lists(st.tuples(st.lists(st.integers(0, 60), max_size=5)), max_size=4)
measured = st.floats(-3, 3) | st.integers(-30, 30).map(lambda n: n / 10)


def shown(given):
    return given.__name__ if isinstance(given, type) else f"{type(given).__name__}-{given.durations()}-{given.bounds}"


def many(element):
    return given(st.lists(st.tuples(element), max_size=4), st.booleans())


def uses(operator, kind, name="window_tables"):
    graph, _ = on_tables(operator, (StreamType(Sequence(kind), bounded=False),))
    return [form.name for form in forms(graph)] == [name]


def check(operator, kind, chunks, bounded, name="window_tables"):
    """On tables as on values, and really on tables."""
    assert uses(operator, kind, name)
    return agree(operator, (StreamType(Sequence(kind), bounded),), chunks)


@pytest.mark.parametrize(
    "operator",
    [
        Tumbling(10, AT), Tumbling(10, AT, 5, bounds=True), Tumbling(3, whole_time, 2), Sliding(10, 5, AT, 3),
        Sliding(10, 3, AT, bounds=True), Sliding(7, 7, whole_time, 1, bounds=True), Sliding(5, 1, AT, 40),
    ],
    ids=shown,
)  # fmt: skip
@many(events)
@few
def test_whole_times(operator, chunks, bounded):
    check(operator, Event, chunks, bounded)


@pytest.mark.parametrize(
    "operator",
    [
        Tumbling(0.1, MEASURED, bounds=True), Tumbling(1, measured_time, 0.5), Sliding(2.5, 1, MEASURED, bounds=True),
        Sliding(0.3, 0.1, MEASURED, 0.2, bounds=True), Sliding(0.1, 0.1, measured_time, 1, bounds=True),
    ],
    ids=shown,
)  # fmt: skip
@many(st.lists(st.builds(Measured, measured, st.just("x")), max_size=6))
@few
def test_floats(operator, chunks, bounded):
    check(operator, Measured, chunks, bounded)


@pytest.mark.parametrize(
    ("kind", "operator"),
    [
        (Moment, Tumbling(10 * SECOND, MOMENT, 5 * SECOND, bounds=True)),
        (Moment, Sliding(10 * SECOND, 4 * SECOND, moment_time, 5 * SECOND)),
        (Instant, Tumbling(10 * SECOND, INSTANT, bounds=True)),
        (Instant, Tumbling(10 * SECOND, moment_time, 5 * SECOND)),
        (Day, Tumbling(timedelta(days=7), DAY, timedelta(days=3), bounds=True)),
        (Day, Sliding(timedelta(hours=60), timedelta(days=1), day_time)),
    ],
    ids=shown,
)
@given(chunks=seconds, bounded=st.booleans())
@few
def test_datetimes(kind, operator, chunks, bounded):
    def moment(number):
        if kind is Day:
            return Day(date(2026, 1, 1) + timedelta(days=number), "x")
        start = START.replace(tzinfo=UTC) if kind is Instant else START
        return kind(start + number * SECOND, "x")

    check(operator, kind, [([moment(number) for number in each],) for (each,) in chunks], bounded)


@pytest.mark.parametrize("operator", [Tumbling(10, AT, bounds=True), Sliding(10, 3, AT, 2), Tumbling(1 << 62, AT)])
def test_times_near_the_largest_ints(operator):
    times = [0, (1 << 63) - 1, -5, 1 << 61, -(1 << 62)]
    if operator.bounds:
        times.remove((1 << 63) - 1)  # its window would end beyond 64 bits
    check(operator, Event, [([Event(time, "x")],) for time in times], bounded=True)


@pytest.mark.parametrize("operator", [Tumbling(1000, MEASURED), Sliding(1e4, 3000, MEASURED, 5, bounds=True)])
def test_large_floats(operator):
    check(operator, Measured, [([Measured(2.0**56 + 64, "x"), Measured(2.0**53, "y")],)], bounded=True)


@pytest.mark.parametrize(
    ("operator", "kind", "good", "bad"),
    [
        (Tumbling(10, MEASURED), Measured, Measured(1.0, "x"), Measured(float("nan"), "x")),
        (Tumbling(0.1, MEASURED), Measured, Measured(1.0, "x"), Measured(1e300, "x")),
        (Session(10, MEASURED), Measured, Measured(1.0, "x"), Measured(float("inf"), "x")),
        (Tumbling(10, column("at", Perhaps), 2), Perhaps, Perhaps(1), Perhaps(None)),
        (Session(10, column("at", Perhaps)), Perhaps, Perhaps(1), Perhaps(None)),
    ],
)
@pytest.mark.parametrize("before", [0, 3])
def test_what_is_no_time_is_refused_as_on_values(operator, kind, good, bad, before):
    flow = flo.Flow("windows")
    flow.output("late", flow.input("events", flo.Sequence[kind]).apply(operator)[1])
    data = [good] * before + [bad]
    with pytest.raises((flo.FunctionError, flo.ElementError)) as expected:
        flow.run(events=data)
    with pytest.raises(expected.type) as found:
        flow.on(flo.here).run(events=data)
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        (Tumbling(10, lambda event: event.at), Event),  # it does not say what it returns
        (Tumbling(0.5, AT), Event),
        (Tumbling(SECOND, moment_time, bounds=True), Moment),  # with a zone or without
    ],
)
def test_other_times_stay_on_values(operator, kind):
    assert not forms(on_tables(operator, (StreamType(Sequence(kind), bounded=False),))[0])


def test_bounds_have_columns():
    flow = flo.Flow("windows")
    windows = flow.input("events", flo.Sequence[Event], bounded=True).tumbling(10, "at", bounds=True)
    flow.output("starts", windows.nest(lambda events, bounds: bounds.map("start")).flatten())
    found = flow.on(flo.here).run(events=pa.table({"at": [1, 12, 15, 31], "what": ["a", "b", "c", "d"]}))
    assert found["starts"].to_pylist() == [{"value": 0}, {"value": 10}, {"value": 30}]


def test_the_type_of_bounds():
    def bounds_of(operator, kind):
        (_, bounds) = operator.type((StreamType(Sequence(kind), bounded=False),))[0].collection.inner
        return bounds.collection.element

    assert bounds_of(Tumbling(10, AT, bounds=True), Event) == TimeWindow[int]
    assert bounds_of(Session(1.5, AT, bounds=True), Event) == TimeWindow[float]
    assert bounds_of(Tumbling(SECOND, DAY, bounds=True), Day) == TimeWindow[datetime]
    assert bounds_of(Tumbling(SECOND, INSTANT, bounds=True), Instant) == TimeWindow[Annotated[datetime, UTC]]
    assert bounds_of(Tumbling(SECOND, moment_time, bounds=True), Moment) is TimeWindow


# --- what waits


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-5, 5), max_size=20))
def test_the_order_of_numbers(numbers):
    times = np.array(numbers, np.int64)
    expected = sorted(range(len(numbers)), key=lambda place: numbers[place])
    assert sort_indices(times).tolist() == expected == in_time_order(times).tolist()


@given(st.lists(st.integers(0, 5) | st.integers(0, 200) | st.integers(0, 1 << 40), min_size=1, max_size=60))
def test_groups_of_numbers(numbers):
    order, found, counts = grouped(np.array(numbers))
    assert order.tolist() == sorted(range(len(numbers)), key=lambda place: numbers[place])
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == Counter(numbers)
    assert found.tolist() == sorted(found.tolist())


@given(st.lists(st.tuples(st.integers(-3, 3) | st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 3)), max_size=20))
def test_rows_of_numbers_together(rows):
    order, firsts = gather_equal_rows(
        pa.table({name: pa.array([r[n] for r in rows], pa.int64()) for n, name in enumerate("ab")})
    )
    groups = [order[low:high].tolist() for low, high in pairwise([*firsts, len(rows)])]
    assert sorted(groups) == sorted([p for p, each in enumerate(rows) if each == row] for row in set(rows))


@given(st.lists(st.floats(allow_nan=False), max_size=20))
def test_the_order_of_floats(numbers):
    times = np.array(numbers, np.float64)
    assert in_time_order(times).tolist() == sorted(range(len(numbers)), key=lambda place: numbers[place])


def loop_of(flow):
    return flow.on(flo.here).loop()


def test_a_checkpoint_writes_what_is_new_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "SMALLEST_PART", 1000)
    flow = flo.Flow("windows")
    windows = flow.input("events", flo.Sequence[Event]).sliding(1000, 10, "at", 10, bounds=True)
    flow.output("counts", windows.nest(lambda events, bounds: events.count()).flatten())
    loop, written, size = loop_of(flow), [], 5000
    for start in range(4):
        at = np.arange(size) // 25 + 200 * start
        loop.push(events=pa.table({"at": at, "what": ["x"] * size}))
        written.append(loop.checkpoint(tmp_path).bytes)
    rows = 4 * size
    assert loop.state[0] == rows
    assert rows * 8 < loop.state[1] < rows * 60
    assert max(written[1:]) < 1.2 * min(written)
    again = loop_of(flow)
    again.restore(tmp_path)
    for each in (loop, again):
        each.push(events=pa.table({"at": [1900], "what": ["y"]}))
    assert again.pull("counts").equals(loop.pull("counts"))


@pytest.mark.parametrize("column", ["@", "%", "opens/"])
def test_columns_named_like_those_beside_waiting_rows(column: str) -> None:
    """Rows of a schema may have such names."""
    of = flo.rows(pa.schema([pa.field(name, pa.int64(), nullable=False) for name in ("a", column)]))
    flow = flo.Flow("names")
    rows = flow.input("rows", flo.Sequence[of])
    clock = rows.clock("a", lateness=5)
    for name, windows in (
        ("tumbling", rows.tumbling(10, "a", lateness=5)),
        ("session", rows.session(10, "a", lateness=5)),
        ("by clock", clock.rows.tumbling(10, clock=clock)),
        ("batch", rows.batch(4)),
    ):
        flow.output(name, windows.nest(lambda window: window.filter(nw.col(column) > 0)).flatten())
    loop, numbers = flow.on(flo.here).loop(), [number for start in (0, 5, 20, 40) for number in range(start, start + 3)]
    for number in numbers:
        loop.push(rows=pa.table({"a": [number], column: [number]}))
    expected = flow.run(rows=[of(number, number) for number in numbers])
    for name, found in loop.result().items():
        assert [tuple(row.values()) for row in found.to_pylist()] == list(map(tuple, expected[name])), name
        assert expected[name]
