"""Tumbling, sliding and session windows of event time: their rules, what is late, their types and laws."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.collection import End
from flo.core.errors import BoundednessError, ElementError, FunctionError, OrderError, TypeMismatch
from flo.core.graph import Node, node
from flo.core.nested import Nested, NestedValue
from flo.core.semantics import advance
from flo.core.stream_type import StreamType
from flo.core.typing import derive
from flo.values.event_time import TimeWindow
from flo.values.operators.windows import Session, Sliding, Tumbling
from flo.values.sequence import Sequence
from flo.values.weighted import Bag
from tests.harness import check_operator, fires, refusal
from tests.quick import tried
from tests.values.building import END, bounded, content, cuts, ended, has_end, seq, unbounded

few = tried(24)


class Event(NamedTuple):
    name: str
    time: int


def when(event):
    return event.time


def itself(moment):
    return moment


EVENTS = Sequence(Event)
events = st.builds(Event, st.sampled_from("abc"), st.integers(-6, 12))
chunked = cuts(Sequence, events)


def nested(*windows, end=False):
    value = NestedValue.pushing(*((ended(seq(*elements)),) for elements in windows))
    return value.fix() if end else value


def windows_of(output):
    """[(start, end, elements)] of an output with bounds."""
    return [(*bounds.elements[0], list(elements.elements)) for elements, bounds in output]


def opened_by(operator, *elements):
    """The graph after these elements."""
    return advance(node(operator, seq(*elements)))[0]


# --- models: the same, said slowly


def aligned_model(data, size, slide, lateness, flush):
    windows, late, latest = {}, [], None
    for event in data:
        latest = event.time if latest is None else max(latest, event.time)
        starts = [n * slide for n in range(-50, 50) if n * slide <= event.time < n * slide + size]
        for start in starts:
            if start + size > latest - lateness:
                windows.setdefault(start, []).append(event)
        if any(start + size <= latest - lateness for start in starts):
            late.append(event)
    closed = [
        (start, start + size, windows[start]) for start in sorted(windows) if flush or start + size <= latest - lateness
    ]
    return closed, late


def sessions_model(data, gap, lateness, flush):
    """Open sessions as lists of (arrival, event), merged by looking at every pair."""
    sessions, closed, late, latest, horizon = [], [], [], None, None
    for arrival, event in enumerate(data):
        latest = event.time if latest is None else max(latest, event.time)
        mark = latest - lateness
        still = []
        for session in sorted(sessions, key=lambda s: min(e.time for _, e in s)):
            last = max(e.time for _, e in session)
            if last + gap <= mark:
                closed.append(session)
                horizon = last + gap
            else:
                still.append(session)
        near = [s for s in still if any(abs(e.time - event.time) < gap for _, e in s)]
        sessions = still
        if (horizon is not None and event.time < horizon) or (not near and event.time + gap <= mark):
            late.append(event)
        else:
            joined = sorted([(arrival, event), *(pair for session in near for pair in session)])
            sessions = [s for s in still if s not in near] + [joined]
    if flush:
        closed += sorted(sessions, key=lambda s: min(e.time for _, e in s))

    def shown(session):
        times = [event.time for _, event in session]
        return min(times), max(times) + gap, [event for _, event in session]

    return [shown(session) for session in closed], late


# --- the rules, one step at a time


def test_tumbling_rules():
    graph, outputs = fires("tumbling", node(Tumbling(5, itself, 2), seq(1, 4, 6, 3, 7, 2)))
    assert outputs == (None, None)
    graph, _ = fires("tumbling", graph)
    graph, _ = fires("tumbling", graph)  # 6: the watermark is 4
    graph, outputs = fires("tumbling", graph)  # 3 is out of order, and not late
    assert outputs == (None, None)
    graph, outputs = fires("tumbling-emit", graph)  # 7: the watermark is 5
    assert outputs == (nested([1, 4, 3]), None)
    graph, outputs = fires("tumbling-late", graph)
    assert outputs == (None, seq(2))
    ending = node(graph.operator, seq(end=End.ARRIVED))
    _, outputs = fires("tumbling-terminator", ending)
    assert outputs == (nested(end=True), END[Sequence])


def test_sliding_rules():
    graph, outputs = fires("sliding", node(Sliding(4, 2, itself), seq(1, 5, 3, 0)))
    assert outputs == (None, None)
    graph, outputs = fires("sliding-emit", graph)  # 5 closes [-2, 2) and [0, 4)
    assert outputs == (nested([1], [1]), None)
    graph, outputs = fires("sliding-late", graph)  # 3 is late for [0, 4), and still in [2, 6)
    assert outputs == (None, seq(3))
    graph, outputs = fires("sliding-late", graph)
    assert outputs == (None, seq(0))
    bounded_end = node(Sliding(4, 2, itself, flush=True), seq(1, 5, 3, end=End.ARRIVED))
    _, deltas = advance(bounded_end)
    assert deltas[-1] == (nested([5, 3], [5], end=True), END[Sequence])
    fires("sliding-terminator", node(Sliding(4, 2, itself), seq(end=End.ARRIVED)))


def test_session_rules():
    graph, outputs = fires("session", node(Session(3, itself, 4), seq(1, 5, 3, 12, 6)))
    assert outputs == (None, None)
    graph, _ = fires("session", graph)
    graph, outputs = fires("session", graph)  # 3 joins the sessions of 1 and 5
    assert outputs == (None, None)
    graph, outputs = fires("session-emit", graph)
    assert outputs == (nested([1, 5, 3]), None)
    graph, outputs = fires("session-late", graph)
    assert outputs == (None, seq(6))
    _, outputs = fires("session-terminator", node(graph.operator, seq(end=End.ARRIVED)))
    assert outputs == (nested(end=True), END[Sequence])


@pytest.mark.parametrize("operator", [Tumbling(5, itself), Sliding(5, 5, itself), Session(5, itself)])
def test_without_flush_the_end_brings_only_itself(operator):
    chunks = [(seq(1, 2),), (END[Sequence],)]
    assert check_operator(operator, (unbounded(Sequence(int)),), chunks) == (nested(end=True), END[Sequence])


def test_windows_close_in_the_order_of_their_ends():
    graph = opened_by(Tumbling(10, itself, 100), 55, 12, 33, 31)
    _, deltas = advance(node(graph.operator, seq(1000)))
    assert deltas == [(nested([12], [33, 31], [55]), None)]


def test_a_window_that_nobody_opened_is_closed_too():
    _, deltas = advance(node(Tumbling(10, itself), seq(100, 35)))
    assert deltas == [(None, seq(35))]


def test_a_late_element_of_a_sliding_window_is_still_in_those_that_are_open():
    (windows, late) = check_operator(
        Sliding(4, 2, itself, bounds=True), (bounded(Sequence(int)),), [(ended(seq(5, 3)),)]
    )
    assert windows_of(windows) == [(2, 6, [5, 3]), (4, 8, [5])]
    assert list(late.elements) == [3]


def test_rounded_floats_leave_no_gap_between_windows():
    """0.5 + 0.1 is 0.6, and 6 · 0.1 is a little more: 0.6 is in the window that begins at 0.5."""
    operator = Sliding(0.1, 0.1, itself, bounds=True)
    windows, _ = check_operator(operator, (bounded(Sequence(float)),), [(ended(seq(0.6)),)])
    assert windows_of(windows) == [(0.5, 6 * 0.1, [0.6])]


# --- sessions


@pytest.mark.parametrize(
    ("times", "sessions"),
    [
        ([1, 2, 3], [[1, 2, 3]]),
        ([1, 4], [[1], [4]]),  # exactly the gap apart
        ([5, 1, 3], [[5, 1, 3]]),  # 3 is less than the gap from both
        ([1, 9, 5, 3, 7], [[1, 9, 5, 3, 7]]),
        ([9, 1], [[1], [9]]),
        ([4, 2, 0], [[4, 2, 0]]),  # the beginning moves
        ([1, 1, 1], [[1, 1, 1]]),
    ],
)
def test_sessions(times, sessions):
    operator = Session(3, itself, lateness=100)
    chunks = [(seq(time),) for time in times] + [(END[Sequence],)]
    assert check_operator(operator, (bounded(Sequence(int)),), chunks) == (nested(*sessions, end=True), END[Sequence])


def test_what_belongs_to_a_closed_session_is_late():
    # [0, 10) closes when 14 comes; 8 is before its end, and 12 is not
    _, late = check_operator(Session(10, itself, lateness=4), (unbounded(Sequence(int)),), [(seq(0, 14, 8, 12, 5),)])
    assert list(late.elements) == [8, 5]


def test_an_old_element_next_to_an_open_session_belongs_to_it():
    operator = Session(10, itself, bounds=True)
    windows, late = check_operator(operator, (bounded(Sequence(int)),), [(ended(seq(100, 109, 95, 80)),)])
    assert windows_of(windows) == [(95, 119, [100, 109, 95])]
    assert list(late.elements) == [80]


# --- the laws, on generated chunks


def check_both(operator, chunks, expected_closed, late, ends):
    """Against a model: a bounded stream gives its open windows at the end."""
    stream = StreamType(EVENTS, ends)
    windows, side = check_operator(operator, (stream,), chunks, seeds=3)
    assert windows_of(windows) == expected_closed
    assert list(side.elements) == late
    assert windows.fixed() == side.fixed() == has_end(chunks)


@few
@given(chunked, st.integers(1, 4), st.integers(0, 5), st.booleans())
def test_tumbling_laws(chunks, size, lateness, flush):
    flushed = flush and has_end(chunks)
    closed, late = aligned_model(content(chunks), size, size, lateness, flushed)
    check_both(Tumbling(size, when, lateness, bounds=True), chunks, closed, late, flush)


@few
@given(chunked, st.integers(1, 4), st.integers(0, 3), st.integers(0, 5), st.booleans())
def test_sliding_laws(chunks, slide, more, lateness, flush):
    flushed = flush and has_end(chunks)
    closed, late = aligned_model(content(chunks), slide + more, slide, lateness, flushed)
    check_both(Sliding(slide + more, slide, when, lateness, bounds=True), chunks, closed, late, flush)


@few
@given(chunked, st.integers(1, 4), st.integers(0, 8), st.booleans())
def test_session_laws(chunks, gap, lateness, flush):
    flushed = flush and has_end(chunks)
    closed, late = sessions_model(content(chunks), gap, lateness, flushed)
    check_both(Session(gap, when, lateness, bounds=True), chunks, closed, late, flush)


@few
@given(
    st.lists(st.floats(-5, 5) | st.integers(-50, 50).map(lambda n: n / 10), max_size=12),
    st.sampled_from([0.1, 0.3, 1.0, 1.7]),
    st.sampled_from([1, 2, 2.5]),
)
def test_with_enough_lateness_every_element_is_in_exactly_its_windows(times, slide, factor):
    """On floats, whose products are rounded: the bounds that are given are the ones that hold."""
    size = slide * factor
    for operator in (
        Tumbling(slide, itself, 20.0, bounds=True),
        Sliding(size, slide, itself, 20.0, bounds=True),
    ):
        windows, late = check_operator(operator, (bounded(Sequence(float)),), [(ended(seq(*times)),)], seeds=1)
        assert not late.elements
        found = windows_of(windows)
        for start, end, elements in found:
            assert elements == [time for time in times if start <= time < end]
            assert elements
        for time in times:
            assert any(start <= time < end for start, end, _ in found)
        assert [end for _, end, _ in found] == sorted(end for _, end, _ in found)


@few
@given(st.lists(st.integers(-30, 30), max_size=15), st.integers(1, 5))
def test_with_enough_lateness_sessions_are_the_gaps_of_the_sorted_times(times, gap):
    operator = Session(gap, itself, 1000, bounds=True)
    (windows, late) = check_operator(operator, (bounded(Sequence(int)),), [(ended(seq(*times)),)], seeds=1)
    assert not late.elements
    groups = []
    for time in sorted(times):
        if groups and time - groups[-1][-1] < gap:
            groups[-1].append(time)
        else:
            groups.append([time])
    assert [(s, e, sorted(elements)) for s, e, elements in windows_of(windows)] == [
        (group[0], group[-1] + gap, group) for group in groups
    ]


@pytest.mark.parametrize(
    "operator",
    [Tumbling(7, itself, 30), Sliding(10, 4, itself, 30), Session(2, itself, 30)],
    ids=lambda operator: operator.name,
)
def test_many_elements_cut_anywhere(operator):
    rng = random.Random(5)
    times = [at // 3 + rng.randint(-25, 25) for at in range(4000)]
    results = []
    for most in (1, 50, 4000):
        graph, windows, late, at = node(operator, seq()), nested(), seq(), 0
        while at < len(times):
            count = rng.randint(1, most)
            graph, deltas = advance(node(graph.operator, seq(*times[at : at + count])))
            for closed, side in deltas:
                windows = windows if closed is None else windows.concat(closed)
                late = late if side is None else late.concat(side)
            at += count
        results.append((graph, windows, late))
    assert results[0] == results[1] == results[2]
    assert len(results[0][1]) > 50


# --- times


@pytest.mark.parametrize(
    ("size", "times", "bounds"),
    [
        (5, [-1, 0, 4, 5], [(-5, 0), (0, 5), (5, 10)]),
        (0.5, [-0.25, 0.25], [(-0.5, 0.0), (0.0, 0.5)]),
        (Fraction(1, 3), [Fraction(1, 3), Fraction(-1, 6)], [(Fraction(-1, 3), 0), (Fraction(1, 3), Fraction(2, 3))]),
        (Decimal("0.1"), [Decimal("-0.05"), Decimal("0.3")], [(Decimal("-0.1"), 0), (Decimal("0.3"), Decimal("0.4"))]),
    ],
)
def test_numbers(size, times, bounds):
    operator = Tumbling(size, itself, size * 100, bounds=True)
    windows, late = check_operator(operator, (bounded(Sequence()),), [(ended(seq(*times)),)])
    assert [(start, end) for start, end, _ in windows_of(windows)] == bounds
    assert not late.elements


HOUR = timedelta(hours=1)
PARIS = ZoneInfo("Europe/Paris")


def test_naive_datetimes_are_counted_from_the_epoch():
    times = [datetime(2024, 3, 1, 10, 59), datetime(2024, 3, 1, 11), datetime(1969, 12, 31, 23, 30)]
    operator = Tumbling(HOUR, itself, timedelta(days=40_000), bounds=True)
    windows, _ = check_operator(operator, (bounded(Sequence(datetime)),), [(ended(seq(*times)),)])
    starts = [start for start, _, _ in windows_of(windows)]
    assert starts == [datetime(1969, 12, 31, 23), datetime(2024, 3, 1, 10), datetime(2024, 3, 1, 11)]


def test_aware_datetimes_are_instants():
    """When the clock goes back in Paris, 02:30 comes twice: an hour apart, though the clock shows the same."""
    first = datetime(2024, 10, 27, 2, 30, tzinfo=PARIS)
    again = first.replace(fold=1)
    utc = datetime(2024, 10, 27, 0, 45, tzinfo=UTC)
    operator = Tumbling(HOUR, itself, HOUR, bounds=True)
    windows, late = check_operator(operator, (bounded(Sequence(datetime)),), [(ended(seq(first, again, utc)),)])
    assert windows_of(windows) == [
        (datetime(2024, 10, 27, 0, tzinfo=UTC), datetime(2024, 10, 27, 1, tzinfo=UTC), [first, utc]),
        (datetime(2024, 10, 27, 1, tzinfo=UTC), datetime(2024, 10, 27, 2, tzinfo=UTC), [again]),
    ]
    assert not late.elements


def test_dates_are_midnights():
    operator = Session(timedelta(days=2), itself, bounds=True)
    times = [date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 2)]
    windows, _ = check_operator(operator, (bounded(Sequence(date)),), [(ended(seq(*times)),)])
    assert windows_of(windows) == [
        (datetime(2024, 2, 28), datetime(2024, 3, 2), times[:2]),
        (datetime(2024, 3, 2), datetime(2024, 3, 4), times[2:]),
    ]


@pytest.mark.parametrize(
    ("operator", "elements", "words"),
    [
        (Tumbling(5, itself), [datetime(2024, 1, 1)], "timedelta"),
        (Tumbling(HOUR, itself), [3], "number"),
        (Session(5, itself, HOUR), [3], "lateness"),
        (Tumbling(5, itself), [float("nan")], "not a time"),
        (Session(5.0, itself), [float("inf")], "not a time"),
        (Session(HOUR, itself), [datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)], "cannot be compared"),
        (Tumbling(0.1, itself), [1e300], "too large"),
        (Tumbling(5, itself), ["noon"], "TypeError"),
    ],
)
def test_what_is_not_a_time_is_an_error_at_the_element(operator, elements, words):
    graph = opened_by(operator, *elements) if len(elements) > 1 else node(operator, seq(*elements))
    assert graph.state == (seq(elements[-1]),)
    error = refusal(advance, graph)
    assert isinstance(error, FunctionError if words != "too large" else ElementError)
    assert words in str(error)


# --- types


@pytest.mark.parametrize(
    "operator", [Tumbling(5, when), Sliding(5, 2, when), Session(5, when)], ids=lambda operator: operator.name
)
def test_types(operator):
    derivation = derive(Node(None, operator), (unbounded(EVENTS),))
    assert derivation.outputs == (unbounded(Nested(EVENTS)), unbounded(EVENTS))
    assert f"{operator.name}-type" in derivation.rules()
    derivation = derive(Node(None, operator), (bounded(EVENTS),))
    assert derivation.outputs == (bounded(Nested(EVENTS)), bounded(EVENTS))
    assert isinstance(refusal(derive, Node(None, operator), (bounded(Bag(Event)),)), OrderError)


@pytest.mark.parametrize(
    "operator",
    [Tumbling(5, when, flush=True), Sliding(5, 2, when, flush=True), Session(5, when, flush=True)],
    ids=lambda operator: operator.name,
)
def test_flush_needs_an_end(operator):
    assert isinstance(refusal(derive, Node(None, operator), (unbounded(EVENTS),)), BoundednessError)


def test_bounds_are_a_second_inner_stream():
    (windows, _) = derive(Node(None, Tumbling(5, when, bounds=True)), (unbounded(EVENTS),)).outputs
    assert windows == unbounded(Nested(EVENTS, Sequence(TimeWindow)))


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        (Tumbling(0, when), "size"),
        (Tumbling(timedelta(0), when), "size"),
        (Sliding(5, -1, when), "slide"),
        (Session("soon", when), "gap"),
        (Tumbling(5, when, -1), "lateness"),
        (Sliding(2, 5, when), "elements between windows are lost"),
    ],
)
def test_durations_that_make_no_windows_are_refused(operator, words):
    error = refusal(derive, Node(None, operator), (unbounded(EVENTS),))
    assert isinstance(error, TypeMismatch)
    assert words in str(error)
