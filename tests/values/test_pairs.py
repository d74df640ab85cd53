"""zip, the union of sequences and the merge of sorted ones: their rules, types and laws."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.collection import End
from flo.core.errors import BoundednessError, ElementError, FunctionError, OrderError, TypeMismatch
from flo.core.graph import Node, node
from flo.core.semantics import advance, small_steps
from flo.core.typing import derive
from flo.values.operators.pairs import MergeSorted, UnionSequences, Zip
from flo.values.sequence import Sequence
from flo.values.weighted import Bag
from tests.harness import check_operator, fires, refusal
from tests.quick import tried
from tests.values.building import (
    END,
    beside,
    bounded,
    content,
    ended,
    has_end,
    seq,
    two_sides,
    unbounded,
)

INTS, WORDS = Sequence(int), Sequence(str)
few = tried(24)
both = two_sides(Sequence, st.integers(0, 3), Sequence, st.sampled_from("abc"))


# --- zip


def test_zip_pairs_the_oldest():
    graph, outputs = fires("zip", node(Zip(), seq(1, 2), seq("a")))
    assert (graph, outputs) == (node(Zip(), seq(2), seq()), (seq((1, "a")),))


def test_zip_ends_when_either_side_has_ended_and_drains_the_other():
    graph, outputs = fires("zip-terminator", node(Zip(), seq(end=End.ARRIVED), seq("a")))
    assert (graph, outputs) == (node(Zip(done=True), seq(end=End.PASSED), seq("a")), (END[Sequence],))
    graph, outputs = fires("zip-drain", graph)
    assert (graph, outputs) == (node(Zip(done=True), seq(end=End.PASSED), seq()), (None,))
    graph, _ = fires("zip-drain", node(Zip(done=True), seq(1, 2, end=End.ARRIVED), seq()))
    assert graph == node(Zip(done=True), seq(end=End.PASSED), seq())


def test_zip_waits_for_a_partner():
    assert list(small_steps(node(Zip(), seq(1, end=End.ARRIVED), seq()))) == []


@few
@given(both)
def test_zip_laws(chunks):
    left, right = content(chunks, 0), content(chunks, 1)
    (output,) = check_operator(Zip(), (unbounded(INTS), unbounded(WORDS)), chunks)
    assert list(output.elements) == list(zip(left, right, strict=False))
    short_left = has_end(chunks, 0) and len(left) <= len(right)
    short_right = has_end(chunks, 1) and len(right) <= len(left)
    assert output.fixed() == (short_left or short_right)


@few
@given(both)
def test_zip_of_bounded_sequences_ends(chunks):
    chunks = [*chunks, (ended(seq()), ended(seq()))]
    (output,) = check_operator(Zip(), (bounded(INTS), bounded(WORDS)), chunks, seeds=3)
    assert output.fixed()


def test_zip_does_not_let_its_buffers_grow_after_the_end():
    chunks = [(ended(seq(1)), seq("a", "b")), (None, seq("c")), (None, END[Sequence])]
    check_operator(Zip(), (unbounded(INTS), unbounded(WORDS)), chunks)


@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True), (False, False)])
def test_zip_type(flags):
    inputs = (bounded(INTS) if flags[0] else unbounded(INTS), bounded(WORDS) if flags[1] else unbounded(WORDS))
    pairs = Sequence(tuple[int, str])
    assert derive(Node(None, Zip()), inputs).outputs == ((bounded if all(flags) else unbounded)(pairs),)


def test_zip_refuses_a_bag():
    error = refusal(derive, Node(None, Zip()), (bounded(INTS), bounded(Bag(int))))
    assert isinstance(error, OrderError)
    assert error.index == 1


# --- one sequence after the other


def test_union_rules():
    graph, outputs = fires("union-left", node(UnionSequences(), seq(1, end=End.ARRIVED), seq(8, end=End.ARRIVED)))
    assert outputs == (seq(1),)
    graph, outputs = fires("union-turn", graph)
    assert (graph.state, outputs) == ((seq(end=End.PASSED), seq(8, end=End.ARRIVED)), (None,))
    graph, outputs = fires("union-right", graph)
    assert outputs == (seq(8),)
    graph, outputs = fires("union-terminator", graph)
    assert (graph.state, outputs) == ((seq(end=End.PASSED), seq(end=End.PASSED)), (END[Sequence],))


def test_the_right_waits_for_the_end_of_the_left():
    assert list(small_steps(node(UnionSequences(), seq(), seq(8, 9)))) == []


@few
@given(two_sides(Sequence, st.integers(0, 3)))
def test_union_laws(chunks):
    left, right = content(chunks, 0), content(chunks, 1)
    (output,) = check_operator(UnionSequences(), (bounded(INTS), unbounded(INTS)), chunks)
    assert list(output.elements) == (left + right if has_end(chunks, 0) else left)
    assert output.fixed() == (has_end(chunks, 0) and has_end(chunks, 1))


def test_union_type():
    union = Node(None, UnionSequences())
    assert derive(union, (bounded(INTS), unbounded(INTS))).outputs == (unbounded(INTS),)
    assert derive(union, (bounded(INTS), bounded(INTS))).outputs == (bounded(INTS),)
    (mixed,) = derive(union, (bounded(INTS), bounded(Sequence(int | str)))).outputs
    assert seq(1, "a") in mixed.collection
    assert isinstance(refusal(derive, union, (bounded(INTS), bounded(WORDS))), TypeMismatch)


def test_union_refuses_an_unbounded_left():
    error = refusal(derive, Node(None, UnionSequences()), (unbounded(INTS), unbounded(INTS)))
    assert isinstance(error, OrderError)
    assert "to_bag().union(" in str(error)


# --- the merge of sorted sequences


def by_size(word: str) -> int:
    return len(word)


def test_merge_rules():
    merge = MergeSorted()
    graph, outputs = fires("merge-sorted-left", node(merge, seq(1, 3), seq(1)))
    assert (graph, outputs) == (node(MergeSorted(last=((1,), ())), seq(3), seq(1)), (seq(1),))
    graph, outputs = fires("merge-sorted-right", graph)
    assert (graph, outputs) == (node(MergeSorted(last=((1,), (1,))), seq(3), seq()), (seq(1),))
    ends = (seq(end=End.ARRIVED), seq(end=End.ARRIVED))
    graph, outputs = fires("merge-sorted-terminator", node(merge, *ends))
    assert (graph, outputs) == (node(merge, seq(end=End.PASSED), seq(end=End.PASSED)), (END[Sequence],))


def test_an_empty_side_may_still_bring_a_smaller_element():
    assert list(small_steps(node(MergeSorted(), seq(1), seq()))) == []
    fires("merge-sorted-left", node(MergeSorted(), seq(1), seq(end=End.ARRIVED)))
    fires("merge-sorted-right", node(MergeSorted(), seq(end=End.ARRIVED), seq(1)))


@few
@given(
    st.lists(st.sampled_from(["", "a", "b", "aa", "bb", "aaa"]), max_size=8),
    st.lists(st.sampled_from(["", "x", "y", "xx", "yy", "xxx"]), max_size=8),
    st.integers(1, 4),
    st.booleans(),
)
def test_merge_laws(left, right, cut, last_end):
    left, right = sorted(left, key=len), sorted(right, key=len)
    chunks = []
    for at in range(0, max(len(left), len(right)), cut):
        chunks += [beside(seq(*left[at : at + cut]), 0, 2), beside(seq(*right[at : at + cut]), 1, 2)]
    chunks.append(beside(END[Sequence], 0, 2))
    if last_end:
        chunks.append(beside(END[Sequence], 1, 2))
    (output,) = check_operator(MergeSorted(by_size), (bounded(WORDS), bounded(WORDS)), chunks)
    merged = list(heapq.merge(left, right, key=len))
    if last_end:
        assert output == ended(seq(*merged))
    else:
        assert list(output.elements) == merged[: len(output.elements)]


def test_a_sequence_that_is_not_sorted_is_an_error_at_the_element():
    start = node(MergeSorted(), seq(1, 4, end=End.ARRIVED), seq(3, 5, 2, end=End.ARRIVED))
    graph, deltas = advance(start)
    assert graph.state == (ended(seq()), ended(seq(2)))
    assert [x for (delta,) in deltas for x in delta.elements] == [1, 3, 4, 5]
    error = refusal(advance, graph)
    assert isinstance(error, ElementError)
    assert (error.index, dict(error.facts)["element"]) == (1, "2")
    for _ in range(4):
        start = next(small_steps(start)).graph
    assert start == graph
    assert isinstance(refusal(lambda: list(small_steps(graph))), ElementError)


def test_elements_that_cannot_be_compared_are_an_error_of_the_function():
    assert isinstance(refusal(advance, node(MergeSorted(), seq(1), seq("a"))), FunctionError)


def test_merge_refuses_what_may_never_end():
    for index, types in enumerate([(unbounded(INTS), bounded(INTS)), (bounded(INTS), unbounded(INTS))]):
        error = refusal(derive, Node(None, MergeSorted()), types)
        assert isinstance(error, BoundednessError)
        assert error.index == index


def test_a_long_wait_costs_nothing():
    """What waits on one side is not looked at again for every element of the other."""
    graph = node(Zip(), seq(*range(1000)), seq())
    for number in range(1000):
        graph = node(graph.operator, graph.state[0], seq(number))
        graph, deltas = advance(graph)
        assert deltas == [(seq((number, number)),)]
    assert graph.state == (seq(), seq())
