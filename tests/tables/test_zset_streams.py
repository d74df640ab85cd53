"""Integration and differentiation on tables: windows that are z-sets, all at once, as one after the other."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.graph import Node, inputs, setinput
from flo.core.nested import Nested, NestedValue
from flo.core.operator import concat_all
from flo.core.semantics import finish
from flo.core.stream_type import StreamType
from flo.tables.streams import StreamColumns, streams_of
from flo.values.operators.zset_streams import Differentiate, Integrate
from flo.values.weighted import ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding
from tests.values.zset_cases import zset


class Event(NamedTuple):
    at: int
    user: str | None
    price: float


LAYOUT = Layout.of(Event)


def col(given):
    return Expression(given, (LAYOUT,))


VERBS = {
    "integrate": lambda s: s.integrate(),
    "differentiate": lambda s: s.differentiate(),
    "and back": lambda s: s.integrate().differentiate(),
    "twice": lambda s: s.differentiate().differentiate(),
}
events = st.lists(
    st.builds(Event, st.integers(-5, 40), st.sampled_from(["a", "b", None]), st.sampled_from([0.0, 0.5])),
    max_size=6,
)


def windowed(verb, bounded=False, flat=False):
    flow = flo.Flow("windows")
    windows = flow.input("events", flo.Sequence[Event], bounded=bounded).tumbling(10, col("at"), 3)
    results = verb(windows.nest(lambda w: w.map(col(("user", "price"))).to_zset()))
    flow.output("results", results.flatten() if flat else results)
    flow.output("late", windows.late)
    return flow.graph(), tuple(stream.type for stream in flow._scope.inputs)


@pytest.mark.parametrize("name", VERBS)
@given(st.booleans(), st.booleans(), st.lists(st.tuples(events), max_size=4))
@tried(12)
def test_as_on_values(name, flat, bounded, chunks):
    agree(*windowed(VERBS[name], bounded, flat), chunks, seeds=1)


def test_they_run_on_tables():
    graph, _ = on_tables(*windowed(VERBS["and back"], flat=True))
    names = ["window_tables", "nest_tables", "integrate_tables", "differentiate_tables", "flatten_tables"]
    assert [form.name for form in forms(graph)] == names


OF = Nested(ZSet(tuple[str, int | None]))
TYPES = (StreamType(OF, bounded=True),)
rows = st.tuples(st.sampled_from("ab"), st.sampled_from([None, 0, 1]))
inner = st.lists(st.dictionaries(rows, st.integers(-2, 2), max_size=3), max_size=4)
"""Inner z-sets, with rows that are taken back and never came."""


@given(st.lists(inner, max_size=3), st.sampled_from([Integrate(), Differentiate()]), st.booleans())
@tried(24)
def test_weights_of_every_sign(deltas, operator, collide):
    values = [NestedValue.pushing(*((zset(weights, end=True),) for weights in delta)) for delta in deltas]
    values.append(OF.bottom().fix())
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            colliding(patch)
        (form,) = forms(on_tables(operator, (StreamType(StreamColumns(OF), bounded=True),))[0])
        plain, expected = Node((OF.bottom(),), operator), (OF.bottom(),)
        columns, found = Node((StreamColumns(OF).bottom(),), form), (StreamColumns(OF).bottom(),)
        for value in values:
            plain, expected = finish(_fed(plain, value), expected)
            columns, found = finish(_fed(columns, streams_of(OF, value)), found)
    assert found[0].value() == expected[0]
    assert columns.operator.before.rows == 0


def _fed(node, value):
    return setinput(node, concat_all(inputs(node), (value,)))


def test_it_goes_on_from_a_checkpoint(tmp_path):
    def program():
        flow = flo.Flow("running")
        windows = flow.input("events", flo.Sequence[Event]).tumbling(10, "at")
        users = windows.nest(lambda w: w.map("user").to_zset())
        flow.output("totals", users.integrate().flatten())
        flow.output("changes", users.differentiate().flatten())
        return flow.on(flo.here).loop(negative="allow")

    loop, again = program(), program()
    first, more = [Event(1, "a", 0.0), Event(11, "b", 0.0), Event(21, "a", 0.0)], [Event(35, None, 0.0)]
    loop.push(events=first)
    loop.checkpoint(tmp_path)
    again.restore(tmp_path)
    for each in (loop, again):
        each.push(events=more)
    one, other = loop.result(), again.result()
    for name in ("totals", "changes"):
        assert sorted(map(str, one[name].to_pylist())) == sorted(map(str, other[name].to_pylist()))
    assert {row["value"]: row["_weight"] for row in one["totals"].to_pylist()} == {"a": 4, "b": 2}
    assert "before: a trace of 2 rows" in again.explain()
