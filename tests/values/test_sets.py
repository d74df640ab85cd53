"""Sets: union, join, intersection, difference, to_bag and to_set."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.collection import End
from flo.core.errors import BoundednessError, CollectionError, ElementError, FunctionError
from flo.core.graph import Node, node
from flo.core.semantics import advance, small_steps
from flo.core.typing import derive
from flo.values.operators.sets import Difference, Intersection, SetJoin, ToBag, ToSet, UnionSets
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from tests.harness import check_operator, fired, fires, refusal
from tests.quick import tried
from tests.values.building import (
    END,
    bag,
    beside,
    bounded,
    content,
    cuts,
    elements_of,
    ended,
    has_end,
    seq,
    two_sides,
    unbounded,
)

INTS = Set(int)
SMALL = st.integers(0, 4)
NODES, EDGES = Set(int), Set(tuple[int, int])
few = tried(24)
two_sets = two_sides(Set, SMALL)
ENDING = elements_of(end=End.ARRIVED)
PASSED = elements_of(end=End.PASSED)


def result(output):
    return set(output.weights)


# --- union


def test_union_rules():
    graph, outputs = fires("union-set-left", node(UnionSets(), elements_of(1), elements_of(2)))
    assert (graph.state, outputs) == ((elements_of(), elements_of(2)), (elements_of(1),))
    graph, outputs = fires("union-set-right", graph)
    assert (graph.state, outputs) == ((elements_of(), elements_of()), (elements_of(2),))
    graph, outputs = fires("union-set-terminated", node(UnionSets(), ENDING, ENDING))
    assert (graph.state, outputs) == ((PASSED, PASSED), (END[Set],))
    assert list(small_steps(node(UnionSets(), ENDING, elements_of()))) == []


@few
@given(two_sets)
def test_union_laws(chunks):
    (output,) = check_operator(UnionSets(), (unbounded(INTS), unbounded(INTS)), chunks)
    assert result(output) == {*content(chunks, 0), *content(chunks, 1)}
    assert output.fixed() == (has_end(chunks, 0) and has_end(chunks, 1))


# --- join


def test_the_join_of_the_paper():
    """Nodes and edges give the destinations of the edges that begin at a node."""
    edges = elements_of((0, 1), (0, 2), (1, 3), (4, 5))
    (output,) = check_operator(SetJoin(), (bounded(NODES), bounded(EDGES)), [(ended(elements_of(0, 1)), ended(edges))])
    assert output == ended(elements_of(1, 2, 3))


def test_join_rules():
    graph, outputs = fires("join-set-left", node(SetJoin(), elements_of(0), elements_of((0, 1))))
    assert outputs == (elements_of(),)
    graph, outputs = fires("join-set-right", graph)
    assert (graph.state, outputs) == ((elements_of(), elements_of()), (elements_of(1),))
    graph, outputs = fires("join-set-terminated", node(SetJoin(), ENDING, ENDING))
    assert (graph.state, outputs) == ((PASSED, PASSED), (END[Set],))


def ones(number: int) -> int:
    return number % 10


def total(left: int, right: int) -> int:
    return left + right


@few
@given(two_sides(Set, st.integers(0, 3), Set, st.tuples(st.integers(0, 3), st.integers(0, 3))))
def test_join_laws(chunks):
    (output,) = check_operator(SetJoin(), (unbounded(NODES), unbounded(EDGES)), chunks)
    assert result(output) == {there for here, there in content(chunks, 1) if here in content(chunks, 0)}


@few
@given(two_sides(Set, st.sampled_from([1, 11, 2, 12, 3])))
def test_join_by_keys(chunks):
    types = (unbounded(INTS), unbounded(INTS))
    pairs = {(a, b) for a in content(chunks, 0) for b in content(chunks, 1) if a % 10 == b % 10}
    (output,) = check_operator(SetJoin(ones, ones), types, chunks, seeds=3)
    assert result(output) == pairs
    (output,) = check_operator(SetJoin(ones, ones, total), types, chunks, seeds=3)
    assert result(output) == {a + b for a, b in pairs}


def test_join_types():
    join = Node(None, SetJoin())
    assert derive(join, (bounded(NODES), bounded(EDGES))).outputs == (bounded(INTS),)
    assert derive(join, (bounded(NODES), unbounded(EDGES))).outputs == (unbounded(INTS),)
    assert derive(join, (bounded(NODES), bounded(Set()))).outputs == (bounded(Set()),)
    pairs = Node(None, SetJoin(ones, ones))
    assert derive(pairs, (bounded(INTS), bounded(INTS))).outputs == (bounded(Set(tuple[int, int])),)
    made = Node(None, SetJoin(ones, ones, total))
    assert derive(made, (bounded(INTS), bounded(INTS))).outputs == (bounded(INTS),)


@pytest.mark.parametrize("steps", [False, True], ids=["advance", "steps"])
def test_a_join_function_that_raises_holds_up_only_its_own_element(steps):
    def inverse(number: int) -> float:
        return 1 / number

    graph = node(SetJoin(inverse, inverse), elements_of(0, 1), elements_of(1))
    found = elements_of()
    error = None
    while error is None:
        try:
            if steps:
                step = next(small_steps(graph))
                graph, deltas = step.graph, [step.outputs]
            else:
                graph, deltas = advance(graph)
            for (delta,) in deltas:
                found = found.concat(delta)
        except FunctionError as raised:
            error = raised
    assert graph.state == (elements_of(0), elements_of())
    assert found == elements_of((1, 1))
    assert "ZeroDivisionError" in str(error)


# --- intersection and difference


@few
@given(two_sets)
def test_intersection_laws(chunks):
    (output,) = check_operator(Intersection(), (unbounded(INTS), unbounded(INTS)), chunks)
    assert result(output) == set(content(chunks, 0)) & set(content(chunks, 1))
    assert output.fixed() == (has_end(chunks, 0) and has_end(chunks, 1))


def test_intersection_rules():
    graph, outputs = fires("intersection-set-left", node(Intersection(), elements_of(1), elements_of(1)))
    assert outputs == (elements_of(),)
    graph, outputs = fires("intersection-set-right", graph)
    assert outputs == (elements_of(1),)
    fires("intersection-set-terminated", node(Intersection(), ENDING, ENDING))


def test_difference_rules():
    graph = node(Difference(), elements_of(1, 2, end=End.ARRIVED), elements_of(1))
    graph, outputs = fires("difference-set-right", graph)
    assert outputs == (None,)
    assert list(small_steps(graph)) == []  # the right has not ended
    graph, outputs = fires("difference-set-turn", node(graph.operator, graph.state[0], ENDING))
    assert (graph.state[1], outputs) == (PASSED, (None,))
    for expected in (elements_of(), elements_of(2)):
        graph, outputs = fires("difference-set-left", graph)
        assert outputs == (expected,)
    graph, outputs = fires("difference-set-terminated", graph)
    assert (graph.state, outputs) == ((PASSED, PASSED), (END[Set],))


@few
@given(two_sets)
def test_difference_laws(chunks):
    (output,) = check_operator(Difference(), (unbounded(INTS), bounded(INTS)), chunks)
    left, right = set(content(chunks, 0)), set(content(chunks, 1))
    assert result(output) == (left - right if has_end(chunks, 1) else set())
    assert output.fixed() == (has_end(chunks, 0) and has_end(chunks, 1))


def test_difference_type():
    assert derive(Node(None, Difference()), (unbounded(INTS), bounded(INTS))).outputs == (unbounded(INTS),)
    assert derive(Node(None, Difference()), (bounded(INTS), bounded(INTS))).outputs == (bounded(INTS),)
    error = refusal(derive, Node(None, Difference()), (bounded(INTS), unbounded(INTS)))
    assert isinstance(error, BoundednessError)
    assert error.index == 1
    assert "minus" in str(error)
    assert "difference" in str(error)


@pytest.mark.parametrize("operator", [UnionSets(), SetJoin(), Intersection(), Difference()], ids=lambda o: o.name)
def test_operators_on_sets_refuse_other_collections(operator):
    for index, types in enumerate([(bounded(Bag(int)), bounded(INTS)), (bounded(INTS), bounded(Sequence(int)))]):
        error = refusal(derive, Node(None, operator), types)
        assert isinstance(error, CollectionError)
        assert error.index == index
        assert "to_set()" in str(error)


def test_an_element_of_either_type_is_in_the_union():
    (mixed,) = derive(Node(None, UnionSets()), (bounded(INTS), bounded(Set(int | str)))).outputs
    assert elements_of(1, "a") in mixed.collection
    assert elements_of(1.5) not in mixed.collection


# --- into bags and sets


def test_conversion_rules():
    for operator, name in ((ToBag(), "to-bag"), (ToSet(), "to-set")):
        for kind, value in ((Sequence, seq(1, 1)), (Bag, bag(1, 1)), (Set, elements_of(1))):
            check_operator(operator, (bounded(kind(int)),), [(value,), (END[kind],)])
            assert fired[name + value.suffix]
            assert fired[name + value.suffix + value.end_suffix]


@few
@given(st.data())
def test_conversion_laws(data):
    for kind in (Sequence, Bag, Set):
        chunks = data.draw(cuts(kind, SMALL))
        (output,) = check_operator(ToSet(), (unbounded(kind(int)),), chunks, seeds=3)
        assert output == elements_of(*content(chunks), end=output.end)
        (output,) = check_operator(ToBag(), (unbounded(kind(int)),), chunks, seeds=3)
        expected = set(content(chunks)) if kind is Set else content(chunks)
        assert output == bag(*expected, end=output.end)
        assert output.fixed() == has_end(chunks)


def test_an_element_of_a_set_counts_once_however_often_it_arrives():
    chunks = [(elements_of(1, 2),), (elements_of(1),), (elements_of(1, 3),)]
    (output,) = check_operator(ToBag(), (unbounded(INTS),), chunks)
    assert Counter(output.weights.to_dict()) == Counter([1, 2, 3])


@pytest.mark.parametrize("operator", [ToBag(), ToSet()], ids=lambda o: o.name)
def test_what_is_not_hashable_is_an_error_at_the_element(operator):
    after, _ = advance(node(operator, seq(1, [2])))
    assert after.state == (seq([2]),)
    error = refusal(advance, after)
    assert isinstance(error, ElementError)
    assert "[2]" in str(error)


def test_a_zset_is_no_set_yet():
    assert isinstance(refusal(derive, Node(None, ToSet()), (bounded(ZSet(int)),)), CollectionError)


def test_one_side_at_a_time():
    """Deltas that bring nothing change nothing."""
    chunks = [beside(elements_of(), 0, 2), beside(elements_of(1), 1, 2), (elements_of(1), elements_of(1))]
    (output,) = check_operator(Intersection(), (unbounded(INTS), unbounded(INTS)), chunks)
    assert output == elements_of(1)
