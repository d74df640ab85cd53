"""`nest` over inner streams that may be incomplete, with and without defer: the body runs on tables, in order."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from examples.paper import growing_radius, reachability
from flo.core.errors import FloError
from flo.core.graph import inputs, nodes, setinput
from flo.core.nested import NestedValue
from flo.core.semantics import finish
from flo.core.typing import initial
from flo.tables.plan import CONVERSION, VALUES, plan
from flo.tables.translate import values_of
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables

Edge = tuple[int, int]


def hop(edges, loop):
    known = loop.read_defer("known", flo.Set[int], initial={0})
    reached = known.union(known.join(edges))
    loop.write_defer("known", reached)
    return reached


def totals(rows, loop):
    """Z-sets and sequences that are carried on."""
    before = loop.read_defer("sum", flo.ZSet[Edge], initial={(0, 0): 2, (1, 1): -1})
    order = loop.read_defer("order", flo.Sequence[Edge], initial=[(9, 9)])
    now = before.minus(rows.to_zset())
    later = order.union(rows).take(3)
    loop.write_defer("sum", now)
    loop.write_defer("order", later)
    return now, later


def swapped(edge: Edge) -> Edge:
    return edge[1], edge[0]


def source(edge: Edge) -> int:
    return edge[0]


def bound(kind, bounded):
    """A program with one nested input."""
    flow = flo.Flow("nested")
    return flow, flow.input("rows", flo.Nested[kind], bounded=bounded)


def types_of(flow):
    return flow.graph(), tuple(stream.type for stream in flow._scope.inputs)


@cache
def program(name, bounded):
    if name == "hop":
        flow, rows = bound(flo.Set[Edge], bounded)
        flow.output("out", rows.nest(hop))
    elif name == "totals":
        flow, rows = bound(flo.Sequence[Edge], bounded)
        flow.output("out", rows.nest(totals))
    elif name == "in turn":
        flow, rows = bound(flo.Sequence[Edge], bounded)
        flow.output("out", rows.nest(lambda r: r.map(swapped)).nest(lambda r: r.to_bag()).flatten())
    elif name == "inside":
        flow, rows = bound(flo.Sequence[Edge], bounded)
        flow.output("out", rows.nest(lambda r: r.batch(2).nest(lambda b: b.count()).flatten()))
    elif name == "constant":
        flow, rows = bound(flo.ZSet[Edge], bounded)
        flow.output(
            "out", rows.nest(lambda r, loop: r.join(loop.constant(flo.ZSet[int], {1: 1}), source, "value", how="semi"))
        )
    elif name == "zip":
        flow, rows = bound(flo.Set[Edge], bounded)
        more = rows.nest(lambda r: r.map(swapped))
        flow.output("out", rows.zip(more).nest(lambda a, b: a.union(b)))
    return types_of(flow)


pairs = st.tuples(st.integers(0, 4), st.integers(0, 4))
inner = st.lists(st.lists(pairs, max_size=5), max_size=3)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("name", ["hop", "totals", "in turn", "inside", "zip"])
@given(st.lists(st.tuples(inner), max_size=3))
@tried(6)
def test_nested_inputs(name, bounded, chunks):
    agree(*program(name, bounded), chunks, seeds=2)


@given(st.lists(st.tuples(st.lists(st.dictionaries(pairs, st.integers(-1, 2), max_size=4), max_size=3)), max_size=3))
@tried(6)
def test_constants(chunks):
    agree(*program("constant", True), chunks, seeds=1)


@pytest.mark.parametrize("name", ["hop", "totals", "in turn", "inside", "constant", "zip"])
def test_everything_runs_on_tables(name):
    graph, _ = on_tables(*program(name, True))
    hows = [planned.how for planned in plan(nodes(graph))]
    assert VALUES not in hows
    assert hows.count(CONVERSION) <= 2


@given(st.lists(st.tuples(st.booleans(), st.lists(pairs, max_size=2), st.booleans()), max_size=6))
@tried(20)
def test_inner_streams_that_come_in_parts(parts):
    """The same stuck state after every part."""
    graph, types = program("in turn", False)
    deltas, open_now = [], False
    for new, content, ends in parts:
        value = flo.Sequence(Edge).value(content)
        value = value.fix() if ends else value
        if not open_now and not new:
            continue
        if open_now and new:
            deltas.append(NestedValue.extending((flo.Sequence(Edge).bottom().fix(),)))
        deltas.append(NestedValue.pushing((value,)) if new or not open_now else NestedValue.extending((value,)))
        open_now = not ends
    values, value_types = initial(graph, types)
    tables, table_types = on_tables(graph, types)
    one = tuple(t.collection.bottom() for t in value_types)
    other = tuple(t.collection.bottom() for t in table_types)
    for delta in deltas:
        values, one = finish(_fed(values, delta), one)
        tables, other = finish(_fed(tables, delta), other)
        assert tuple(map(values_of, other)) == one


def _fed(graph, delta):
    (value,) = inputs(graph)
    return setinput(graph, (value.concat(delta),))


@pytest.mark.parametrize("radius", [0, 1, 4])
def test_reachability(radius):
    flow = reachability.within(radius)
    result = flow.on(flo.here).run(edges=reachability.EDGES)
    assert result["reached"] == flow.run(edges=reachability.EDGES)["reached"]
    assert "0 on values, 1 conversions" in flow.on(flo.here).explain()  # though nobody says what is read


def test_cycles_in_cycles():
    flow = growing_radius.growing()
    data = {"edges": [reachability.EDGES] * 3, "queries": [[1], [1], [2]]}
    assert flow.on(flo.here).run(**data)["reached"] == flow.run(**data)["reached"]


def test_what_is_read_keeps_its_form_if_what_is_written_has_another():
    def body(rows, loop):
        before = loop.read_defer("all", flo.Set[Edge], initial=set())
        after = before.union(rows.map(lambda edge: edge))  # of a type that nobody knows
        loop.write_defer("all", after)
        return after

    flow, rows = bound(flo.Set[Edge], True)
    flow.output("out", rows.nest(body))
    data = [[(1, 2)], [(2, 3)]]
    assert flow.on(flo.here).run(rows=data)["out"] == flow.run(rows=data)["out"]


def test_equal_rows_that_are_carried_on_are_one():
    flow, rows = bound(flo.Set[Edge], False)
    flow.output("out", rows.nest(hop))
    loop = flow.on(flo.here).loop()
    sizes = []
    for _ in range(6):
        loop.push(rows=[{(0, 1), (1, 0), (0, 0)}])
        sizes.append(loop.state[0])
    assert sizes[-1] == sizes[2]


def test_a_checkpoint_between_two_rounds(tmp_path):
    flow, rows = bound(flo.Set[Edge], False)
    flow.output("out", rows.nest(hop))
    data = [{(0, 1)}, {(1, 2)}, {(2, 3), (7, 8)}, {(3, 4)}]
    loop = flow.on(flo.here).loop()
    loop.push(rows=data[:2])
    loop.checkpoint(tmp_path)
    again = flow.on(flo.here).loop()
    again.restore(tmp_path)
    again.push(rows=data[2:])
    loop.push(rows=data[2:])
    whole = flow.run(rows=data)["out"]
    assert loop.result()["out"] == again.result()["out"] == whole
    again.checkpoint(tmp_path)


def test_a_function_that_raises_is_named():
    def inverse(edge: Edge) -> float:
        return 1 / edge[0]

    flow, rows = bound(flo.Sequence[Edge], True)
    flow.output("out", rows.nest(lambda r, loop: r.map(inverse)).flatten())
    with pytest.raises(FloError) as found:
        flow.on(flo.here).run(rows=[[(1, 2)], [(2, 0), (0, 5)]])
    with pytest.raises(FloError) as expected:
        flow.run(rows=[[(1, 2)], [(2, 0), (0, 5)]])
    assert str(found.value).split("\n")[0] == str(expected.value).split("\n")[0]


def test_forms():
    graph, _ = on_tables(*program("in turn", False))
    assert [form.name for form in forms(graph)] == ["flatten_inner"]


def test_inner_streams_that_are_bound_are_complete():
    flow, rows = bound(flo.Sequence[Edge], False)
    flow.output("out", rows.nest(lambda r: r.map(swapped).to_zset().group_by(key=source).agg(n=flo.count())))
    loop = flow.on(flo.here).loop()
    data = [[(1, 2), (3, 2)], [], [(5, 6)]]
    loop.push(rows=data[:1])
    loop.push(rows=data[1:])
    assert loop.result()["out"] == flow.run(rows=data)["out"]
    assert "0 on tables, 1 row by row in Python, 0 on values" in loop.explain()  # the nest, which calls Python
    with pytest.raises(FloError, match="does not fit its columns"):
        loop.push(rows=[[(10**30, 1)]])
    with pytest.raises(FloError, match="inner stream 1"):
        loop.push(rows=[[(7, 7)], [("a", 1)]])
    assert loop.result()["out"] == flow.run(rows=data)["out"]
