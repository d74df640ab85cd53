"""map, filter, flat_map, scan, fold, enumerate, take, last, batch and window: their rules, types and laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.collection import End
from flo.core.errors import BoundednessError, CollectionError, FunctionError, OrderError, TypeMismatch
from flo.core.graph import Node, node
from flo.core.nested import Nested, NestedValue
from flo.core.persistent import Elements
from flo.core.semantics import advance
from flo.core.typing import derive
from flo.values.lattice_structures import SetUnion
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.lattices import FoldLattice
from flo.values.operators.sequences import Batch, Enumerate, Fold, Last, Scan, Take, Window
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from tests.harness import check_operator, fired, fires, refusal
from tests.quick import tried
from tests.values.building import (
    END,
    MAKERS,
    bag,
    bounded,
    content,
    cuts,
    elements_of,
    ended,
    has_end,
    seq,
    unbounded,
    zset,
)

INTS = Sequence(int)
SMALL = st.integers(-3, 3)
few = tried(20)


def double(x: int) -> int:
    return 2 * x


def odd(x: int) -> bool:
    return x % 2 == 1


def add(a: int, b: int) -> int:
    return a + b


def both(x: int) -> list[int]:
    return [x, -x]


def windows(*inner, end=False):
    value = NestedValue.pushing(*((ended(seq(*elements)),) for elements in inner))
    return value.fix() if end else value


# --- the rules, one step at a time


def test_map_and_map_terminator():
    graph, outputs = fires("map", node(Map(double), seq(1, 2, end=End.ARRIVED)))
    assert (graph, outputs) == (node(Map(double), seq(2, end=End.ARRIVED)), (seq(2),))
    graph, outputs = fires("map-terminator", node(Map(double), seq(end=End.ARRIVED)))
    assert (graph, outputs) == (node(Map(double), seq(end=End.PASSED)), (END[Sequence],))


def test_filter_and_flat_map():
    graph, outputs = fires("filter", node(Filter(odd), seq(1, 2)))
    assert (graph, outputs) == (node(Filter(odd), seq(2)), (seq(1),))
    graph, outputs = fires("filter", graph)
    assert (graph, outputs) == (node(Filter(odd), seq()), (seq(),))
    _, outputs = fires("filter-terminator", node(Filter(odd), seq(end=End.ARRIVED)))
    assert outputs == (END[Sequence],)
    _, outputs = fires("flat-map", node(FlatMap(both), seq(1, 2)))
    assert outputs == (seq(1, -1),)
    _, outputs = fires("flat-map-terminator", node(FlatMap(both), seq(end=End.ARRIVED)))
    assert outputs == (END[Sequence],)


def test_the_end_is_passed_on_once():
    assert check_operator(Map(double), (bounded(INTS),), [(ended(seq()),)]) == (END[Sequence],)


def test_fold_and_fold_terminator():
    graph, outputs = fires("fold", node(Fold(10, add), seq(1, 2)))
    assert (graph, outputs) == (node(Fold(11, add), seq(2)), (None,))
    graph, outputs = fires("fold-terminator", node(Fold(11, add), seq(end=End.ARRIVED)))
    assert (graph, outputs) == (node(Fold(11, add), seq(end=End.PASSED)), (ended(seq(11)),))


def test_scan_enumerate_and_last():
    graph, outputs = fires("scan", node(Scan(10, add), seq(1, 2)))
    assert (graph, outputs) == (node(Scan(11, add), seq(2)), (seq(11),))
    fires("scan-terminator", node(Scan(0, add), seq(end=End.ARRIVED)))
    graph, outputs = fires("enumerate", node(Enumerate(4), seq("a")))
    assert (graph, outputs) == (node(Enumerate(5), seq()), (seq((4, "a")),))
    fires("enumerate-terminator", node(Enumerate(), seq(end=End.ARRIVED)))
    graph, outputs = fires("last", node(Last(), seq(1, 2)))
    assert (graph, outputs) == (node(Last((1,)), seq(2)), (None,))
    _, outputs = fires("last-terminator", node(Last((1,)), seq(end=End.ARRIVED)))
    assert outputs == (ended(seq(1)),)
    _, outputs = fires("last-terminator", node(Last(), seq(end=End.ARRIVED)))
    assert outputs == (END[Sequence],)


def test_take_ends_before_its_input():
    graph, outputs = fires("take", node(Take(2), seq(1, 2, 3)))
    assert (graph, outputs) == (node(Take(1), seq(2, 3)), (seq(1),))
    graph, outputs = fires("take", graph)
    assert (graph, outputs) == (node(Take(0), seq(3)), (ended(seq(2)),))
    graph, outputs = fires("take", graph)  # what follows is consumed
    assert graph == node(Take(0), seq())
    assert seq(1).concat(ended(seq(2))).concat(outputs[0]) == ended(seq(1, 2))
    fires("take-terminator", node(Take(2), seq(end=End.ARRIVED)))


def test_batch_emits_complete_batches_and_flushes_at_the_end():
    graph, outputs = fires("batch", node(Batch(2), seq(1, 2)))
    assert (graph, outputs) == (node(Batch(2, opened=Elements([1])), seq(2)), (None,))
    graph, outputs = fires("batch-emit", graph)
    assert (graph, outputs) == (node(Batch(2), seq()), (windows([1, 2]),))
    opened = Elements([1])
    _, outputs = fires("batch-terminator", node(Batch(2, flush=True, opened=opened), seq(end=End.ARRIVED)))
    assert outputs == (windows([1], end=True),)
    _, outputs = fires("batch-terminator", node(Batch(2, opened=opened), seq(end=End.ARRIVED)))
    assert outputs == (windows(end=True),)


def test_window_rules():
    start = node(Window(5), seq(("a", 0), ("b", 5), ("c", 6)))
    graph, outputs = fires("window-first", start)
    assert (graph.operator.opened, outputs) == (Elements([("a", 0)]), (None,))
    graph, outputs = fires("window", graph)
    assert (graph.operator.opened, outputs) == (Elements([("a", 0), ("b", 5)]), (None,))
    graph, outputs = fires("window-emit", graph)
    assert (graph.operator.opened, outputs) == (Elements([("c", 6)]), (windows(["a", "b"]),))
    _, outputs = fires("window-terminator", node(Window(5, True, Elements([("c", 6)])), seq(end=End.ARRIVED)))
    assert outputs == (windows(["c"], end=True),)
    _, outputs = fires("window-terminator", node(Window(5, False, Elements([("c", 6)])), seq(end=End.ARRIVED)))
    assert outputs == (windows(end=True),)


@pytest.mark.parametrize(
    ("kind", "value"), [(Bag, bag(1, 1, 2)), (Set, elements_of(1, 2)), (ZSet, zset({1: -1, 2: 3}))]
)
def test_map_filter_and_flat_map_without_order(kind, value):
    suffix = type(value).suffix
    for operator in (Map(double), Filter(odd), FlatMap(both)):
        check_operator(operator, (bounded(kind(int)),), [(value,), (ended(value.empty()),)])
    assert fired[f"filter{suffix}"]
    assert fired[f"filter{suffix}-terminated"]
    assert fired[f"flat-map{suffix}"]
    assert fired[f"flat-map{suffix}-terminated"]


def test_weights_follow_the_elements():
    (doubled,) = check_operator(Map(abs), (unbounded(ZSet(int)),), [(zset({1: 2, -1: -3}),)])
    assert doubled == zset({1: -1})
    (doubled,) = check_operator(Map(abs), (unbounded(Bag(int)),), [(bag(1, 1, -1),)])
    assert doubled == bag(1, 1, 1)
    (made,) = check_operator(FlatMap(both), (unbounded(Set(int)),), [(elements_of(1, -1, 0),)])
    assert made == elements_of(1, -1, 0)


# --- the laws, on generated chunks


@few
@given(cuts(Sequence, SMALL))
def test_elementwise_laws(chunks):
    data, types = content(chunks), (unbounded(INTS),)
    for operator, expected in [
        (Map(double), [2 * x for x in data]),
        (Filter(odd), [x for x in data if x % 2 == 1]),
        (FlatMap(both), [y for x in data for y in (x, -x)]),
        (Enumerate(), list(enumerate(data))),
    ]:
        (output,) = check_operator(operator, types, chunks, seeds=3)
        assert list(output.elements) == expected
        assert output.fixed() == has_end(chunks)


@pytest.mark.parametrize("kind", [Bag, Set])
@few
@given(data=st.data())
def test_elementwise_laws_without_order(kind, data):
    chunks = data.draw(cuts(kind, SMALL))
    for operator in (Map(abs), Filter(odd), FlatMap(both)):
        check_operator(operator, (unbounded(kind(int)),), chunks, seeds=3)
    (output,) = check_operator(Map(abs), (unbounded(kind(int)),), chunks, seeds=3)
    assert output == (MAKERS[kind](*map(abs, content(chunks)), end=output.end))


@few
@given(cuts(Sequence, SMALL))
def test_scan_fold_and_last_laws(chunks):
    data = content(chunks)
    (output,) = check_operator(Scan(0, add), (unbounded(INTS),), chunks, seeds=3)
    assert list(output.elements) == [sum(data[: n + 1]) for n in range(len(data))]
    (output,) = check_operator(Fold(0, add), (bounded(INTS),), chunks, seeds=3)
    assert output == (ended(seq(sum(data))) if has_end(chunks) else seq())
    (output,) = check_operator(Last(), (bounded(INTS),), chunks, seeds=3)
    assert output == (ended(seq(*data[-1:])) if has_end(chunks) else seq())


@few
@given(cuts(Sequence, SMALL), st.integers(1, 4))
def test_take_and_batch_laws(chunks, count):
    data = content(chunks)
    (output,) = check_operator(Take(count), (unbounded(INTS),), chunks, seeds=3)
    assert list(output.elements) == data[:count]
    assert output.fixed() == (len(data) >= count or has_end(chunks))
    batches = [data[at : at + count] for at in range(0, len(data), count)]
    complete = [batch for batch in batches if len(batch) == count]
    (output,) = check_operator(Batch(count), (unbounded(INTS),), chunks, seeds=3)
    assert output == windows(*complete, end=has_end(chunks))
    (output,) = check_operator(Batch(count), (bounded(INTS),), chunks, seeds=3)
    assert output == windows(*(batches if has_end(chunks) else complete), end=has_end(chunks))


@few
@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=4), st.booleans())
def test_window_laws(gaps, ends):
    clock, chunks = 0, []
    for part in gaps:
        pairs = []
        for gap in part:
            clock += gap
            pairs.append((f"v{clock}", clock))
        chunks.append((seq(*pairs),))
    chunks += [(END[Sequence],)] * ends
    data, expected = content(chunks), []
    for value, time in data:
        if expected and time - expected[-1][0][1] <= 3:
            expected[-1].append((value, time))
        else:
            expected.append([(value, time)])
    inner = [[value for value, _ in window] for window in expected]
    pairs = Sequence(tuple[str, int])
    (output,) = check_operator(Window(3), (unbounded(pairs),), chunks, seeds=3)
    assert output == windows(*inner[:-1], end=ends)
    (output,) = check_operator(Window(3), (bounded(pairs),), chunks, seeds=3)
    assert output == windows(*(inner if ends else inner[:-1]), end=ends)


# --- types


@pytest.mark.parametrize(
    ("operator", "given_type", "expected"),
    [
        (Map(double), unbounded(INTS), unbounded(INTS)),
        (Map(double), bounded(Bag(int)), bounded(Bag(int))),
        (Filter(odd), unbounded(Set(int)), unbounded(Set(int))),
        (Scan(0, add), unbounded(INTS), unbounded(INTS)),
        (Fold(0, add), bounded(INTS), bounded(INTS)),
        (Enumerate(), unbounded(Sequence(str)), unbounded(Sequence(tuple[int, str]))),
        (Take(3), unbounded(INTS), unbounded(INTS)),
        (Last(), bounded(INTS), bounded(INTS)),
        (Batch(3), unbounded(INTS), unbounded(Nested(INTS))),
        (Batch(3), bounded(INTS), bounded(Nested(INTS))),
        (Window(3), unbounded(Sequence(tuple[str, int])), unbounded(Nested(Sequence(str)))),
    ],
)
def test_types(operator, given_type, expected):
    derivation = derive(Node(None, operator), (given_type,))
    assert derivation.outputs == (expected,)
    assert f"{operator.name.replace('_', '-')}-type" in derivation.rules()


@pytest.mark.parametrize(
    "operator", [Fold(0, add), Last(), Batch(2, flush=True), Window(2, flush=True)], ids=lambda o: o.name
)
def test_what_waits_for_the_end_refuses_an_unbounded_input(operator):
    assert isinstance(refusal(derive, Node(None, operator), (unbounded(INTS),)), BoundednessError)


@pytest.mark.parametrize(
    "operator", [Scan(0, add), Fold(0, add), Enumerate(), Take(1), Last(), Batch(2), Window(2)], ids=lambda o: o.name
)
def test_what_needs_an_order_refuses_a_bag(operator):
    error = refusal(derive, Node(None, operator), (bounded(Bag(int)),))
    assert isinstance(error, OrderError)
    assert "sort" in str(error)


@pytest.mark.parametrize("operator", [Batch(0), Batch(-1), Batch(True), Take(-1), Take(1.5)], ids=str)
def test_how_many_is_a_number(operator):
    error = refusal(derive, Node(None, operator), (bounded(INTS),))
    assert isinstance(error, TypeMismatch)
    assert f"`{operator.name}` must get an integer ≥" in str(error)


def test_map_refuses_a_nested_stream():
    assert isinstance(refusal(derive, Node(None, Map(double)), (bounded(Nested(INTS)),)), CollectionError)


def test_an_unbounded_fold_says_what_to_write_instead():
    error = str(refusal(derive, Node(None, Fold(0, add)), (unbounded(INTS),)))
    assert "may never end" in error
    assert "scan" in error


# --- a function that raises


def reciprocal(x: int) -> float:
    return 1 / x


@pytest.mark.parametrize("operator", [Map(reciprocal), Scan(0, lambda a, x: a + 1 / x)], ids=lambda o: o.name)
def test_what_came_before_a_fault_is_kept(operator):
    graph = node(operator, seq(1, 2, 0, 4))
    after, deltas = advance(graph)
    assert after.state == (seq(0, 4),)
    assert sum(len(delta[0].elements) for delta in deltas) == 2
    error = refusal(advance, after)
    assert isinstance(error, FunctionError)
    assert "ZeroDivisionError" in str(error)
    assert "0" in dict(error.facts)["given"]


def test_a_scan_that_starts_with_none_gives_a_result_for_each_element():
    """`None` is a value like any other, at the start and in between."""
    latest = check_operator(Scan(None, lambda _, x: x), (unbounded(INTS),), [(seq(1, 2),), (seq(3),)])
    assert latest[0].elements_list() == [1, 2, 3]

    def even(_, x):
        return x if x % 2 == 0 else None

    (output,) = check_operator(Scan(0, even), (unbounded(INTS),), [(seq(1, 2),), (seq(3),), (seq(4, 5),)])
    assert output.elements_list() == [None, 2, None, 4, None]


def stops_at_two(*given):
    if given[-1] == 2:
        raise StopIteration
    return {given[-1]}


@pytest.mark.parametrize("kind", [Sequence, Bag, Set])
@pytest.mark.parametrize(
    "operator",
    [Map(lambda x: str(stops_at_two(x))), Filter(stops_at_two), FlatMap(stops_at_two)],
    ids=["map", "filter", "flat_map"],
)
def test_a_stop_iteration_is_an_error_like_any_other(operator, kind):
    expect_stop(Node((MAKERS[kind](1, 2),), operator))


@pytest.mark.parametrize(
    "operator",
    [Scan(0, stops_at_two), Fold(0, stops_at_two), FoldLattice(SetUnion(int), stops_at_two)],
    ids=["scan", "fold", "fold_lattice"],
)
def test_a_stop_iteration_in_the_middle_drops_nothing(operator):
    expect_stop(Node((seq(1, 2, 3),), operator))


def expect_stop(graph):
    """The elements before the one at fault are done, and that is still there."""
    rest, _ = advance(graph)
    assert 2 in rest.state[0].elements_list()
    error = refusal(advance, rest)
    assert isinstance(error, FunctionError)
    assert "StopIteration" in str(error)
    assert "given" in str(error)


def test_a_batch_that_is_not_full_is_not_copied():
    graph, _ = advance(Node((seq(0),), Batch(1000)))
    shared = graph.operator.opened._items
    for number in range(1, 999):
        graph, outputs = advance(Node((seq(number),), graph.operator))
        assert outputs == [(None,)]
    assert graph.operator.opened._items is shared
    graph, outputs = advance(Node((seq(999, 1000),), graph.operator))
    assert outputs == [(windows(range(1000)),)]
    assert list(graph.operator.opened) == [1000]
