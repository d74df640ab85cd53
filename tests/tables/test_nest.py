"""`nest` over windows on tables: all windows at once give what one after the other gives."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables


class Event(NamedTuple):
    at: int
    user: str
    price: int
    share: float


def price(event: Event) -> int:
    return event.price


def cheap(event: Event) -> bool:
    return event.price < 3


def col(given):
    layout = Layout.of(Event)
    assert layout is not None
    return Expression(given, (layout,))


BODIES = {
    "count": lambda w: w.count(),
    "sum": lambda w: w.map(col("price")).sum(),
    "sum of floats": lambda w: w.map(col("share")).sum(),
    "python": lambda w: w.filter(cheap).map(price).sum(),
    "bag": lambda w: w.to_bag(),
    "per key": lambda w: w.key_by(col("user")).per_key(lambda s: s.map(col("price")).sum()).entries(),
    "counts per key": lambda w: w.key_by(col(("user", "price"))).per_key(lambda s: s.count()).entries(),
    "elements per key": lambda w: w.key_by(col("user")).per_key(lambda s: s.filter(cheap)).entries(),
}

events = st.lists(
    st.builds(
        Event, st.integers(-5, 40), st.sampled_from("ab"), st.integers(0, 4), st.sampled_from([0.1, 0.2, 1e16, -1e16])
    ),
    max_size=6,
)


def windowed(body, bounded=False, flat=False):
    flow = flo.Flow("windows")
    windows = flow.input("events", flo.Sequence[Event], bounded=bounded).tumbling(10, col("at"), 3)
    results = windows.nest(body)
    flow.output("results", results.flatten() if flat else results)
    flow.output("late", windows.late)
    return flow.graph(), tuple(stream.type for stream in flow._scope.inputs)


@pytest.mark.parametrize("name", BODIES)
@given(st.booleans(), st.booleans(), st.lists(st.tuples(events), max_size=4))
@tried(16)
def test_bodies(name, flat, bounded, chunks):
    agree(*windowed(BODIES[name], bounded, flat), chunks, seeds=1)


@pytest.mark.parametrize("name", BODIES)
def test_they_run_on_tables(name):
    graph, _ = on_tables(*windowed(BODIES[name], flat=True))
    assert [form.name for form in forms(graph)] == ["window_tables", "nest_tables", "flatten_tables"]
