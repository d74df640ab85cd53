"""Nested graphs (§5.3-§5.5): the rules of `nest`, `read_defer` and `write_defer`, and nests in nests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo.core.data  # noqa: F401  how plain data lowers
from flo.core.collection import End
from flo.core.errors import BoundednessError, DeferError, FunctionError
from flo.core.graph import Node, inputs, node, parallel, sequence, setinput
from flo.core.nest import Nest, ReadDefer, WriteDefer, collect_defer, set_defer
from flo.core.nested import Nested, NestedValue
from flo.core.operator import concat_all
from flo.core.semantics import advance, small_steps, stuck
from flo.core.structural import Wire, identity
from flo.core.typing import initial, program
from flo.values.operators.elementwise import Map
from flo.values.operators.nested_streams import NestedLast, NestedZip, NestOnce, RepeatNestedBy
from flo.values.operators.sequences import Batch, Fold, Scan
from flo.values.operators.sets import SetJoin, UnionSets
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set
from tests.core.graphs import INTS, RUNNING_TOTAL, add, bounded, increment, tee, unbounded
from tests.harness import check_graph, check_operator, derivation, fires, refusal, run_steps
from tests.quick import tried
from tests.values.building import seq

NESTED = Nested(INTS)
END = NestedValue.pushing().fix()


def of(operator):
    return Node(None, operator)


def ended(*elements):
    return seq(*elements, end=End.ARRIVED)


def pushed(*streams):
    """New tuples of one inner stream each."""
    return NestedValue.pushing(*((stream,) for stream in streams))


def more(stream):
    return NestedValue.extending((stream,))


def begin(body, value, kind=NESTED):
    """{value}[nest(body)]."""
    graph, _ = initial(of(Nest(body)), (unbounded(kind),))
    return setinput(graph, (value,))


def run_body(graph, outputs):
    """Takes `nest-run-graph` as often as it can be taken."""
    while any(step.rule == "nest-run-graph" for step in small_steps(graph)):
        graph, deltas = fires("nest-run-graph", graph)
        outputs = concat_all(outputs, deltas)
    return graph, outputs


FOLD = of(Fold(0, add))


# the small-step rules


def test_nest_first():
    before = begin(FOLD, pushed(ended(1, 2), ended(3)))
    after, outputs = fires("nest-first", before)
    assert inputs(after) == inputs(before)
    assert after.operator.original == after.operator.graph == before.operator.graph
    assert outputs == (pushed(seq()),)
    assert [step.rule for step in small_steps(before)] == ["nest-first"]


def test_nest_first_fixed():
    after, outputs = fires("nest-first-fixed", begin(FOLD, END))
    assert inputs(after) == (END.passed(),)
    assert outputs == (END,)
    assert stuck(after)


def test_nest_run_graph():
    graph, outputs = fires("nest-first", begin(of(Map(increment)), pushed(seq(1, 2), ended(7)).concat(END)))
    graph, deltas = fires("nest-run-graph", graph)
    assert inputs(graph)[0].oldest() == (seq(2),)
    assert deltas == (more(seq(2)),)
    assert concat_all(outputs, deltas) == (pushed(seq(2)),)
    assert graph.operator.outputs == (seq(2),)


def test_nest_run_graph_waits_for_what_extends_the_inner_stream():
    graph, _ = fires("nest-first", begin(FOLD, pushed(seq(1))))
    graph, _ = run_body(graph, (NESTED.bottom(),))
    assert stuck(graph)
    graph = setinput(graph, concat_all(inputs(graph), (more(ended(2)),)))
    _, outputs = run_body(graph, (pushed(seq()),))
    assert outputs == (pushed(ended(3)),)


def test_nest_run_step():
    graph, outputs = fires("nest-first", begin(FOLD, pushed(ended(1, 2), seq(3))))
    graph, outputs = run_body(graph, outputs)
    original = graph.operator.original
    graph, deltas = fires("nest-run-step", graph)
    assert inputs(graph) == (pushed(seq(3)),)
    assert deltas == (pushed(seq()),)
    assert concat_all(outputs, deltas) == (pushed(ended(3), seq()),)
    assert graph.operator.graph == graph.operator.original == original
    assert graph.operator.outputs == (seq(),)


def test_nest_run_step_hands_on_what_was_deferred():
    graph, _ = fires("nest-first", begin(RUNNING_TOTAL, pushed(ended(1, 2), ended(3))))
    graph, _ = run_body(graph, (NESTED.bottom(),))
    graph, _ = fires("nest-run-step", graph)
    graph, outputs = run_body(graph, (pushed(seq()),))
    assert outputs == (pushed(ended(6)),)


def test_nest_run_step_needs_fixed_outputs():
    """A body that is stuck and waits for its input is not done."""
    graph, _ = fires("nest-first", begin(of(Map(increment)), pushed(seq(1))))
    graph, _ = run_body(graph, (NESTED.bottom(),))
    unfinished = setinput(graph, (NestedValue.pushing((seq(),), (seq(5),)),))
    assert stuck(unfinished)


def test_nest_run_fixed():
    graph, outputs = fires("nest-first", begin(RUNNING_TOTAL, pushed(ended(1)).concat(END)))
    graph, outputs = run_body(graph, outputs)
    graph, deltas = fires("nest-run-fixed", graph)
    assert inputs(graph) == (END.passed(),)
    assert graph.operator.graph == graph.operator.original
    assert concat_all(outputs, deltas) == (pushed(ended(1)).fix(),)
    assert stuck(graph)


def test_read_defer_emit():
    reading = node(ReadDefer("k", INTS, ended(1)))
    after, outputs = fires("read-defer-emit", reading)
    assert outputs == (ended(1),)
    assert after == node(ReadDefer("k", INTS))
    assert stuck(after)


def test_write_defer_takes_no_step():
    assert stuck(node(WriteDefer("k"), ended(1, 2)))


# the typing rules


def test_read_defer_value_type():
    found = derivation(of(ReadDefer("k", INTS, ended(1))), ())
    assert found.premises[0].rule == "read-defer-value-type"
    assert (found.outputs, found.reads, found.writes) == ((bounded(INTS),), (("k", INTS),), ())
    for wrong in (seq(1), ended("x"), Bag(int).value([1]).fix()):
        assert isinstance(refusal(derivation, of(ReadDefer("k", INTS, wrong)), ()), DeferError)


def test_read_defer_no_value_type():
    found = derivation(of(ReadDefer("k", INTS)), ())
    assert found.premises[0].rule == "read-defer-no-value-type"
    assert (found.outputs, found.reads) == ((bounded(INTS),), (("k", INTS),))


def test_write_defer_type():
    found = derivation(of(WriteDefer("k")), (bounded(INTS),))
    assert found.premises[0].rule == "write-defer-type"
    assert (found.outputs, found.reads, found.writes) == ((), (), (("k", INTS),))
    assert isinstance(refusal(derivation, of(WriteDefer("k")), (unbounded(INTS),)), BoundednessError)


def test_nest_type():
    for kind in (bounded, unbounded):
        found = derivation(of(Nest(RUNNING_TOTAL)), (kind(NESTED),))
        assert found.premises[0].rule == "nest-type"
        assert found.outputs == (kind(NESTED),)
        assert (found.reads, found.writes) == ((), ())
    two = derivation(of(Nest(sequence(of(tee), parallel(FOLD, of(Batch(2)))))), (bounded(NESTED),))
    assert two.outputs == (bounded(Nested(INTS, NESTED)),)


def test_nest_type_needs_bounded_outputs():
    open_inner = Nested(unbounded(INTS))
    assert isinstance(refusal(derivation, of(Nest(of(Scan(0, add)))), (bounded(open_inner),)), BoundednessError)


def test_nest_with_copy_type():
    graph, _ = fires("nest-first", begin(RUNNING_TOTAL, pushed(seq(1))))
    graph, _ = fires("nest-run-graph", graph)
    found = derivation(graph, (unbounded(NESTED),))
    assert found.premises[0].rule == "nest-with-copy-type"
    assert len(found.premises[0].premises) == 2
    assert found.outputs == (unbounded(NESTED),)


# defer keys


def writes(*keys):
    """Passes its input on, and writes it under each key."""
    wires = of(Wire(1, (0,) * (len(keys) + 1)))
    return sequence(wires, parallel(of(identity()), *(of(WriteDefer(key)) for key in keys)))


def reads(key, kind=INTS, initially=None):
    return of(ReadDefer(key, kind, kind.value([]).fix() if initially is None else initially))


def refused(body):
    error = refusal(derivation, of(Nest(body)), (unbounded(NESTED),))
    assert isinstance(error, DeferError)
    return error


def test_a_key_that_is_written_twice():
    for body in (writes("k", "k"), sequence(writes("k"), writes("k"))):
        error = refused(body)
        assert "twice" in str(error)
        assert error.key == "k"


def test_a_key_that_is_never_written():
    error = refused(parallel(writes("other"), reads("k")))
    assert "never written" in str(error)
    assert "'other'" in str(error)
    assert error.key == "k"


def test_a_key_that_is_written_with_another_type():
    error = refused(parallel(writes("k"), reads("k", Set(int))))
    assert "Set[int]" in str(error)
    assert "Sequence[int]" in str(error)


def test_a_key_that_is_written_and_never_read():
    derivation(of(Nest(writes("k"))), (unbounded(NESTED),))


def test_a_key_that_has_nothing_to_read_in_the_first_round():
    """The printed `nest-type` accepts this body, whose output never ends: streaming progress fails."""
    body = parallel(writes("k"), of(ReadDefer("k", INTS)))
    assert "first inner stream" in str(refused(body))


def test_defer_stands_in_a_nest():
    assert "outside" in str(refusal(program, reads("k"), ()))
    assert "outside" in str(refusal(program, writes("k"), (bounded(INTS),)))


def test_collect_defer():
    body = sequence(of(Wire(1, (0, 0, 0))), parallel(of(WriteDefer("a")), of(Map(increment)), of(WriteDefer("b"))))
    graph, _ = initial(body, (bounded(INTS),))
    assert collect_defer(graph) == {"a": seq(), "b": seq()}
    after, _ = run_steps(setinput(graph, (ended(1, 2),)), (bounded(INTS),))
    assert collect_defer(after) == {"a": ended(1, 2), "b": ended(1, 2)}


def test_collect_defer_of_another_operator_is_empty():
    assert collect_defer(node(Map(increment), seq(1))) == {}
    assert collect_defer(begin(RUNNING_TOTAL, pushed(seq(1)))) == {}


def test_set_defer():
    body = parallel(node(ReadDefer("a", INTS, ended(1))), node(Map(increment), seq(2)), node(ReadDefer("b", INTS)))
    assert set_defer(sequence(body, node(tee, seq())), {"a": ended(3), "b": ended(4), "c": ended(5)}) == sequence(
        parallel(
            node(ReadDefer("a", INTS, ended(3))), node(Map(increment), seq(2)), node(ReadDefer("b", INTS, ended(4)))
        ),
        node(tee, seq()),
    )
    inner = begin(RUNNING_TOTAL, pushed(seq(1)))
    assert set_defer(inner, {"total": ended(9)}) == inner


# nest satisfies what every operator must


@st.composite
def nested_chunks(draw):
    """Inner streams that are cut somewhere, then perhaps the end; and what they hold."""
    chunks, contents = [], draw(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3))
    for content in contents:
        cut = draw(st.integers(0, len(content)))
        chunks += [(pushed(seq(*content[:cut])),), (more(ended(*content[cut:])),)]
    return chunks + [(END,)] * draw(st.booleans()), contents


def running_totals(contents):
    sums = [sum(content) for content in contents]
    return [[sum(sums[: n + 1])] for n in range(len(sums))]


BODIES = {
    "map": (of(Map(increment)), NESTED, lambda contents: [[x + 1 for x in xs] for xs in contents]),
    "fold": (FOLD, NESTED, lambda contents: [[sum(xs)] for xs in contents]),
    "two outputs": (
        sequence(of(tee), parallel(FOLD, of(Map(increment)))),
        Nested(INTS, INTS),
        lambda contents: [([sum(xs)], [x + 1 for x in xs]) for xs in contents],
    ),
    "running total": (RUNNING_TOTAL, NESTED, running_totals),
    "a nest of batches": (
        sequence(of(Batch(2, flush=True)), of(Nest(FOLD))),
        Nested(NESTED),
        lambda contents: [[[sum(xs[at : at + 2])] for at in range(0, len(xs), 2)] for xs in contents],
    ),
    "a nest that defers in a nest that defers": (
        sequence(RUNNING_TOTAL, of(Batch(1)), of(Nest(RUNNING_TOTAL)), of(NestedLast())),
        NESTED,
        running_totals,
    ),
    "only a defer": (
        sequence(of(tee), parallel(of(WriteDefer("k")), of(Wire(1, ())), reads("k", initially=ended(9)))),
        NESTED,
        lambda contents: [[9], *contents][: len(contents)],
    ),
}


@pytest.mark.parametrize("name", BODIES)
@tried(20)
@given(case=nested_chunks())
def test_nest_laws(name, case):
    body, kind, by_hand = BODIES[name]
    chunks, contents = case
    (output,) = check_operator(Nest(body), (unbounded(NESTED),), chunks, seeds=2)
    assert kind.plain(output) == by_hand(contents)


def test_nest_on_a_bounded_stream():
    chunks = [(pushed(ended(1, 2), seq(3)),), (more(ended(4)),), (END,)]
    assert check_operator(Nest(RUNNING_TOTAL), (bounded(NESTED),), chunks) == (pushed(ended(3), ended(10)).fix(),)
    assert check_operator(Nest(RUNNING_TOTAL), (bounded(NESTED),), [(END,)]) == (END,)


def test_nest_of_tuples_of_inner_streams():
    body = parallel(FOLD, of(Map(increment)))
    chunks = [
        (NestedValue.pushing((seq(1), ended(2))),),
        (NestedValue.extending((ended(3), seq())),),
        (NestedValue.pushing((ended(), ended(5))),),
    ]
    (output,) = check_operator(Nest(body), (unbounded(Nested(INTS, INTS)),), chunks)
    assert Nested(INTS, INTS).plain(output) == [([4], [3]), ([0], [6])]


def test_a_body_with_a_fault_keeps_what_came_before():
    graph = begin(of(Map(lambda x: 6 // x)), pushed(ended(1, 2), ended(3, 0, 6), ended(2)))
    outputs = (NESTED.bottom(),)
    graph, deltas = advance(graph)
    for delta in deltas:
        outputs = concat_all(outputs, delta)
    assert outputs == (pushed(ended(6, 3), seq(2)),)
    assert inputs(graph)[0].oldest() == (ended(0, 6),)
    assert isinstance(refusal(advance, graph), FunctionError)
    assert isinstance(refusal(lambda: list(small_steps(graph))), FunctionError)


def test_a_body_with_a_fault_is_not_done_even_if_its_outputs_have_ended():
    faulty = sequence(of(Map(lambda x: 6 // x)), of(Wire(1, ())))
    graph = begin(sequence(of(tee), parallel(FOLD, faulty)), pushed(ended(1, 0), ended(2)))
    outputs = (NESTED.bottom(),)
    graph, deltas = advance(graph)
    for delta in deltas:
        outputs = concat_all(outputs, delta)
    assert outputs == (pushed(ended(1)),)
    assert len(inputs(graph)[0]) == 2
    assert isinstance(refusal(advance, graph), FunctionError)


# the paper's programs


EDGES = Set(tuple[int, int])
NODES = Set(int)


def hop_from(known, count):
    """One hop: `known` gives the nodes from `count` inputs, of which the edges come first; they are deferred."""
    routes = (*range(1, count), 0)
    step = sequence(of(Wire(2, (0, 0, 1))), parallel(of(identity()), of(SetJoin())), of(UnionSets()))
    deferred = sequence(of(tee), parallel(of(identity()), of(WriteDefer("known"))))
    return sequence(of(Wire(count, routes)), parallel(known, of(identity())), step, deferred)


def reads_nodes(key, *nodes):
    return of(ReadDefer(key, NODES, NODES.value(nodes).fix()))


def test_reachability_within_a_fixed_radius():
    """§5.2, figure "an example of identifying nodes within a fixed radius using nested graphs"."""
    hop = sequence(parallel(of(identity()), reads_nodes("known", 0)), hop_from(of(identity()), 2))
    edges = EDGES.value([(0, 1), (1, 2), (2, 3), (5, 6)]).fix()
    chunks = [(NestedValue.pushing((edges,), (edges,)),), (NestedValue.pushing((edges,)).fix(),)]
    (reached,) = check_operator(Nest(hop), (bounded(Nested(EDGES)),), chunks, seeds=2)
    assert Nested(NODES).plain(reached) == [{0, 1}, {0, 1, 2}, {0, 1, 2, 3}]


@pytest.mark.slow
@pytest.mark.thorough
def test_reachability_with_a_dynamic_radius():
    """§5.2, figure "an example of graph reachability with a dynamic radius": nested cycles, each with its own key."""
    hop = sequence(parallel(of(identity(2)), reads_nodes("known")), hop_from(of(UnionSets()), 3))
    query = sequence(
        parallel(of(identity(2)), reads_nodes("reached", 0)),  # edges, amount, before
        of(Wire(3, (0, 1, 2, 2))),
        parallel(of(RepeatNestedBy()), of(identity(2))),  # rounds, before, before
        of(Wire(3, (0, 1, 0, 2))),
        parallel(of(identity()), of(NestOnce()), of(identity())),  # rounds, bootstrap, before
        parallel(sequence(of(NestedZip()), of(Nest(hop)), of(NestedLast())), of(identity())),
        of(UnionSets()),
        of(tee),
        parallel(of(identity()), of(WriteDefer("reached"))),
    )
    types = (unbounded(Nested(EDGES)), unbounded(NESTED))
    edges = EDGES.value([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (7, 8)]).fix()
    chunks = [
        (NestedValue.pushing((edges,)), pushed(ended(1))),
        (NestedValue.pushing((edges,)), pushed(ended(2))),
        (NestedValue.pushing((edges,)), pushed(ended(0))),
        (NestedValue.pushing((edges,)), pushed(ended(1))),
    ]
    graph = sequence(of(NestedZip()), of(Nest(query)))
    (reached,) = check_graph(graph, types, chunks, seeds=1)
    assert Nested(NODES).plain(reached) == [{0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}]


def test_windowed_sums_of_a_sequence():
    graph = sequence(of(Batch(2)), of(Nest(FOLD)))
    chunks = [(seq(1, 2, 3),), (seq(4, 5),)]
    (sums,) = check_graph(graph, (unbounded(Sequence(int)),), chunks)
    assert NESTED.plain(sums) == [[3], [7]]
