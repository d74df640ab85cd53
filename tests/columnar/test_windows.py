"""Windows on tables give the windows, and the late rows, that windows on values give."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flo.columnar.expression import Expression
from flo.columnar.layout import Layout
from flo.core.stream_type import StreamType
from flo.values.operators.time_windows import Sliding, Tumbling
from flo.values.sequence import Sequence
from tests.columnar.harness import agree, forms, on_tables


class Event(NamedTuple):
    at: int
    what: str


class Moment(NamedTuple):
    at: datetime
    what: str


def column(name, kind):
    layout = Layout.of(kind)
    assert layout is not None
    return Expression(name, (layout,))


AT = column("at", Event)
events = st.lists(st.builds(Event, st.integers(-20, 40), st.sampled_from("ab")), max_size=6)
many = given(st.lists(st.tuples(events), max_size=4))
every = pytest.mark.parametrize(
    "operator",
    [
        Tumbling(10, AT), Tumbling(10, AT, 5), Tumbling(3, AT, 2), Sliding(10, 5, AT, 3), Sliding(10, 3, AT),
        Sliding(7, 7, AT, 1),
    ],
)  # fmt: skip


@every
@pytest.mark.parametrize("bounded", [True, False])
@many
@settings(max_examples=30)
def test_windows(operator, bounded, chunks):
    agree(operator, (StreamType(Sequence(Event), bounded),), chunks)


@given(st.lists(st.tuples(st.lists(st.integers(0, 60), max_size=5)), max_size=4))
@settings(max_examples=30)
def test_windows_of_datetimes(chunks):
    start = datetime(2026, 1, 1)
    moments = [([Moment(start + timedelta(seconds=s), "x") for s in each],) for (each,) in chunks]
    operator = Tumbling(timedelta(seconds=10), column("at", Moment), timedelta(seconds=5))
    agree(operator, (StreamType(Sequence(Moment), bounded=True),), moments)


@every
def test_they_run_on_tables(operator):
    graph, _ = on_tables(operator, (StreamType(Sequence(Event), bounded=False),))
    assert [form.name for form in forms(graph)] == ["window_tables"]
