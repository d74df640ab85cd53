"""Stuck states, measures, determinism, eager execution and streaming progress (§3.4-3.6, §4.1-4.3), on random graphs,
each as it is defined; and `advance`, which must agree with the steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.errors import FunctionError
from flo.core.event_loop import EventLoop
from flo.core.graph import Node, Parallel, Sequential, inputs, node, sequence, setinput
from flo.core.operator import concat_all
from flo.core.semantics import advance, measure, small_steps, stuck
from flo.core.stream_type import StreamType
from flo.core.structural import Source
from flo.core.typing import derive, initial
from flo.values.operators.bags import BagUnion
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.pairs import Zip
from flo.values.operators.sequences import Fold, Scan
from flo.values.sequence import Sequence
from flo.values.weighted import Bag
from tests.core.graphs import INTS, add, even, graphs, increment, programs, tee, unbounded
from tests.harness import bottoms, check_graph, check_progress, fired, run_steps, take_steps
from tests.quick import tried

some = tried(24)
whole = programs()
single = programs(depth=0)
"""One operator for each input: what the definitions say of operators, beside one another."""


def started(example):
    graph, types, chunks = example
    start, output_types = initial(graph, types)
    return start, types, output_types, chunks


def fed(graph, *chunks):
    for deltas in chunks:
        graph = setinput(graph, concat_all(inputs(graph), deltas))
    return graph


def reachable(graph, outputs, limit=500):
    """Every state that some order of steps leads to; None if there are too many."""
    seen, waiting = {(graph, outputs)}, [(graph, outputs)]
    while waiting:
        graph, outputs = waiting.pop()
        for step in small_steps(graph):
            fired.update(step.path)
            state = step.graph, concat_all(outputs, step.outputs)
            if state not in seen:
                seen.add(state)
                waiting.append(state)
        if len(seen) > limit:
            return None
    return seen


@given(single, st.randoms(use_true_random=False))
@some
def test_operator_stuck_state(example, random):
    """Every step is smaller in ≺, so that there are finitely many."""
    start, _, output_types, chunks = started(example)
    final, _ = take_steps(fed(start, *chunks), bottoms(output_types), random.choice)
    assert stuck(final)


@given(whole, st.randoms(use_true_random=False))
@some
def test_graph_stuck_state(example, random):
    start, _, output_types, chunks = started(example)
    final, _ = take_steps(fed(start, *chunks), bottoms(output_types), random.choice)
    assert stuck(final)


@given(whole, st.randoms(use_true_random=False))
@some
def test_graph_preservation(example, random):
    """A step changes neither the type of the graph nor that of its outputs."""
    start, types, output_types, chunks = started(example)
    graph, outputs = fed(start, *chunks), bottoms(output_types)
    while steps := list(small_steps(graph)):
        step = random.choice(steps)
        graph, outputs = step.graph, concat_all(outputs, step.outputs)
        assert derive(graph, types).outputs == output_types
        assert all(t.collection.mismatch(output) is None for t, output in zip(output_types, outputs, strict=True))


@given(programs(depth=2))
@tried(20)
def test_determinism(example):
    """Of all states that any order of steps leads to, one is stuck."""
    start, _, output_types, chunks = started(example)
    states = reachable(fed(start, *chunks), bottoms(output_types))
    if states is not None:
        assert len([graph for graph, _ in states if stuck(graph)]) == 1


@given(whole)
@tried(20)
def test_random_schedules_reach_one_stuck_state(example):
    """… and deltas may come between any two steps; text, terms and `advance` agree, too."""
    check_graph(*example, seeds=2)


def is_eager(example):
    """After any first step, a delta leads where it would have led before it."""
    start, _, output_types, chunks = started(example)
    *before, delta = chunks
    graph = fed(start, *before)
    expected = run_steps(fed(graph, delta), output_types)
    for step in small_steps(graph):
        outputs = concat_all(bottoms(output_types), step.outputs)
        assert take_steps(fed(step.graph, delta), outputs, lambda steps: steps[0]) == expected


@given(single)
@some
def test_eager_execution_of_operators(example):
    is_eager(example)


@given(whole)
@some
def test_eager_execution_of_graphs(example):
    is_eager(example)


@given(single)
@some
def test_output_maximality(example):
    """Fixing the inputs changes the outputs only by fixing them, if the bounded inputs were fixed."""
    start, _, output_types, chunks = started(example)
    start = fed(start, *chunks)
    _, outputs = run_steps(start, output_types)
    _, at_the_end = run_steps(setinput(start, tuple(value.fix() for value in inputs(start))), output_types)
    assert at_the_end == tuple(output.fix() for output in outputs)


@given(single)
@some
def test_streaming_progress(example):
    start, _, output_types, chunks = started(example)
    start = fed(start, *chunks)
    check_progress(start, output_types, run_steps(start, output_types)[1])


@given(whole)
@some
def test_streaming_progress_for_graphs(example):
    start, _, output_types, chunks = started(example)
    start = fed(start, *chunks)
    check_progress(start, output_types, run_steps(start, output_types)[1])


def test_what_streaming_progress_forbids():
    """`fold` on an input that has not ended: the output is not maximal. So its type asks for a bounded input."""
    graph = node(Fold(0, add), INTS.value([1, 2]))
    _, outputs = run_steps(graph, (unbounded(INTS),))
    with pytest.raises(AssertionError, match="not maximal"):
        check_progress(graph, (unbounded(INTS),), outputs)


def test_the_measure_of_a_sequence_is_lexicographic():
    """A step on the left may feed the right as much as it likes; ≺₁ alone, as printed, misses steps on the right."""
    left, right = node(Map(increment), INTS.value([1])), node(Filter(even), INTS.value([1, 2, 3]))
    start = Sequential(left, right)
    on_the_left, on_the_right = small_steps(start)
    assert measure(on_the_left.graph) < measure(start)
    assert measure(on_the_right.graph) < measure(start)
    assert measure(on_the_left.graph.right) > measure(right)
    assert measure(on_the_right.graph.left) == measure(left)


@given(whole)
@some
def test_advance_agrees_with_steps(example):
    start, _, output_types, chunks = started(example)
    expected = run_steps(fed(start, *chunks), output_types)
    for parts in ([chunks], [[chunk] for chunk in chunks]):
        graph, outputs = start, bottoms(output_types)
        for part in parts:
            graph, deltas = advance(fed(graph, *part))
            for delta in deltas:
                outputs = concat_all(outputs, delta)
        assert (graph, outputs) == expected


def test_advance_gives_the_same_graph_when_there_is_nothing_to_do():
    start, _ = initial(
        Sequential(Node(None, Map(increment)), Parallel(Node(None, tee), Node(None, Source(INTS)))), (unbounded(INTS),)
    )
    assert advance(start) == (start, [])
    assert advance(start)[0] is start


@given(graphs(unbounded(INTS), unbounded(INTS)))
@some
def test_nothing_steps_before_something_arrives(graph):
    """A graph without sources is stuck at first, and its outputs are not fixed."""
    start, output_types = initial(graph, (unbounded(INTS), unbounded(INTS)))
    final, outputs = run_steps(start, output_types)
    assert stuck(final)
    has_source = "source" in str(start) or "read_defer" in str(start)
    assert has_source or (final == start and not any(output.fixed() for output in outputs))


def test_traces_keep_every_step():
    graph = sequence(node(Map(increment), INTS.value([1, 2]).fix()), node(Fold(0, add), INTS.bottom()))
    loop = EventLoop(graph, (StreamType(INTS, bounded=True),))
    loop.recording = True
    loop.run()
    assert [step.rule for step in loop.history] == ["map", "map", "map-terminator", "fold", "fold", "fold-terminator"]
    assert loop.outputs == (INTS.value([5]).fix(),)
    assert stuck(loop.history[-1].graph)


def failing(x):
    return 1 // (3 - x)


def faulty(*values):
    return node(Map(failing), Sequence().value(values))


def test_a_function_that_raises_is_named():
    with pytest.raises(FunctionError, match="the function of `map` raised ZeroDivisionError") as raised:
        list(small_steps(faulty(3)))
    assert ("given", "3") in raised.value.facts
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(FunctionError, match="`map` raised ZeroDivisionError"):
        advance(faulty(3))


def test_what_came_before_the_fault_is_kept():
    graph, deltas = advance(faulty(1, 2, 3, 4))
    assert [delta for (delta,) in deltas] == [Sequence().value([0]), Sequence().value([1])]
    assert inputs(graph) == (Sequence().value([3, 4]),)
    with pytest.raises(FunctionError):
        advance(graph)


def test_other_operators_go_on_beside_one_that_fails():
    """No rule applies where a function raises; all others still do, and the error is raised when none is left."""
    for beside in (
        Parallel(faulty(3), node(Map(increment), INTS.value([1]))),
        Parallel(node(Map(increment), INTS.value([1])), faulty(3)),
        Sequential(faulty(3), node(Scan(0, add), INTS.value([1]))),
        Sequential(node(Map(increment), INTS.value([1])), faulty(3)),
    ):
        [step] = small_steps(beside)
        assert step.rule in ("map", "scan")
        with pytest.raises(FunctionError):
            list(small_steps(step.graph))
        after, _ = advance(beside)
        assert after == step.graph
        with pytest.raises(FunctionError):
            advance(after)


def test_two_sides_that_fail_report_the_first():
    def other(x):
        raise KeyError(x)

    both = Parallel(faulty(3), node(Map(other), Sequence().value([1])))
    with pytest.raises(FunctionError, match="ZeroDivisionError"):
        advance(both)
    with pytest.raises(FunctionError, match="ZeroDivisionError"):
        list(small_steps(both))


def test_one_delta_that_reaches_two_places_is_counted_in_both():
    """tee; union: both sides hold versions of one map, and adding one to the other must not disturb either."""
    bags = Bag(int)
    graph = sequence(
        Node(None, tee),
        Parallel(Node(None, tee), Node(None, Map(abs))),
        Parallel(Node(None, BagUnion()), Node(None, Map(abs))),
        Node(None, BagUnion()),
    )
    start, output_types = initial(graph, (unbounded(bags),))
    for data in ([1, 1, 2], [1]):
        start, outputs = run_steps(fed(start, (bags.value(data),)), output_types)
        assert bags.plain(outputs[0]) == {x: 3 * data.count(x) for x in set(data)}


def test_zip_waits_for_both_sides():
    graph = node(Zip(), INTS.value([1, 2]), INTS.value([3]))
    final, outputs = run_steps(graph, (unbounded(Sequence(tuple[int, int])),))
    assert Sequence().plain(outputs[0]) == [(1, 3)]
    assert inputs(final) == (INTS.value([2]), INTS.bottom())
