"""Bags: union and join; and fold, count, sum, sort and distinct, which need no order of their input."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.collection import End
from flo.core.errors import BoundednessError, CollectionError, ElementError, FunctionError
from flo.core.graph import Node, node
from flo.core.semantics import advance, small_steps
from flo.core.typing import derive
from flo.values.exact import IntSum
from flo.values.operators.bags import BagJoin, BagUnion, Count, FoldUnordered, SequenceDistinct, Sort, Sum
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set
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
    two_sides,
    unbounded,
)

INTS = Bag(int)
SMALL = st.integers(0, 3)
few = tried(24)
KINDS = [Sequence, Bag, Set]
ENDING = bag(end=End.ARRIVED)
PASSED = bag(end=End.PASSED)


def add(a: int, b: int) -> int:
    return a + b


def parity(number: int) -> int:
    return number % 2


def counted(output):
    return Counter(output.weights.to_dict())


def whole(kind, chunks):
    """The elements that a value of this kind has after these chunks."""
    return list(set(content(chunks))) if kind is Set else content(chunks)


# --- union and join


def test_union_rules():
    graph, outputs = fires("union-bag-left", node(BagUnion(), bag(1, 1), bag(1)))
    assert (graph.state, outputs) == ((bag(), bag(1)), (bag(1, 1),))
    graph, outputs = fires("union-bag-right", graph)
    assert (graph.state, outputs) == ((bag(), bag()), (bag(1),))
    graph, outputs = fires("union-bag-terminated", node(BagUnion(), ENDING, ENDING))
    assert (graph.state, outputs) == ((PASSED, PASSED), (END[Bag],))


@few
@given(two_sides(Bag, SMALL))
def test_union_laws(chunks):
    (output,) = check_operator(BagUnion(), (unbounded(INTS), unbounded(INTS)), chunks)
    assert counted(output) == Counter(content(chunks, 0) + content(chunks, 1))
    assert output.fixed() == (has_end(chunks, 0) and has_end(chunks, 1))


def test_join_rules():
    graph, outputs = fires("join-bag-left", node(BagJoin(), bag(1, 1), bag(1, 1, 1)))
    assert outputs == (bag(),)
    graph, outputs = fires("join-bag-right", graph)
    assert outputs == (bag(*[(1, 1)] * 6),)
    fires("join-bag-terminated", node(BagJoin(), ENDING, ENDING))


@few
@given(two_sides(Bag, SMALL))
def test_join_laws(chunks):
    left, right = content(chunks, 0), content(chunks, 1)
    pairs = [(a, b) for a in left for b in right if a % 2 == b % 2]
    types = (unbounded(INTS), unbounded(INTS))
    (output,) = check_operator(BagJoin(parity, parity), types, chunks)
    assert counted(output) == Counter(pairs)
    (output,) = check_operator(BagJoin(parity, parity, add), types, chunks, seeds=2)
    assert counted(output) == Counter(a + b for a, b in pairs)
    (output,) = check_operator(BagJoin(), types, chunks, seeds=2)
    assert counted(output) == Counter((a, b) for a in left for b in right if a == b)


def test_types_of_union_and_join():
    pairs = Bag(tuple[int, int])
    assert derive(Node(None, BagUnion()), (bounded(INTS), unbounded(INTS))).outputs == (unbounded(INTS),)
    assert derive(Node(None, BagJoin(parity, parity)), (bounded(INTS), bounded(INTS))).outputs == (bounded(pairs),)
    assert derive(Node(None, BagJoin(parity, parity, add)), (bounded(INTS), bounded(INTS))).outputs == (bounded(INTS),)
    for operator in (BagUnion(), BagJoin()):
        error = refusal(derive, Node(None, operator), (bounded(INTS), bounded(Sequence(int))))
        assert isinstance(error, CollectionError)
        assert "to_bag()" in str(error)


# --- one result of a whole input


def test_fold_without_order():
    graph, outputs = fires("fold-unordered-bag", node(FoldUnordered(0, add), bag(5, 5)))
    assert (graph, outputs) == (node(FoldUnordered(10, add), bag()), (None,))
    _, outputs = fires("fold-unordered-bag-terminated", node(FoldUnordered(10, add), ENDING))
    assert outputs == (ended(seq(10)),)


@pytest.mark.parametrize("operator", [FoldUnordered(0, add), Count(), Sum()], ids=lambda o: o.name)
def test_a_set_is_left_alone_until_its_end(operator):
    assert list(small_steps(node(operator, elements_of(1, 2)))) == []
    assert advance(node(operator, elements_of(1, 2)))[1] == []
    chunks = [(elements_of(1, 2),), (elements_of(1),), (elements_of(2, 4),), (END[Set],)]
    (output,) = check_operator(operator, (bounded(Set(int)),), chunks)
    assert output == ended(seq(3 if isinstance(operator, Count) else 7))
    assert fired[f"{operator.rule}-set"]
    assert fired[f"{operator.rule}-set-terminated"]


@pytest.mark.parametrize("kind", KINDS)
@few
@given(data=st.data())
def test_count_sum_and_fold_laws(kind, data):
    chunks = data.draw(cuts(kind, SMALL))
    elements = whole(kind, chunks)
    cases = [(Count(), len(elements)), (Sum(), sum(elements))]
    if kind is not Sequence:
        cases.append((FoldUnordered(0, add), sum(elements)))
    for operator, expected in cases:
        (output,) = check_operator(operator, (bounded(kind(int)),), chunks, seeds=3)
        assert output == (ended(seq(expected)) if has_end(chunks) else seq())


def test_rules_of_count_and_sum_fired():
    for name in ("count", "sum"):
        for kind in KINDS:
            value = MAKERS[kind](1)
            operator = Count() if name == "count" else Sum()
            check_operator(operator, (bounded(kind(int)),), [(value,), (END[kind],)])
            assert fired[name + value.suffix]
            assert fired[name + value.suffix + value.end_suffix]


@few
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=6), st.randoms())
def test_a_sum_of_floats_has_no_order(numbers, random):
    shuffled = numbers[:]
    random.shuffle(shuffled)
    results = []
    for data in (numbers, shuffled):
        chunks = [(bag(*data[:2]),), (bag(*data[2:]),), (END[Bag],)]
        (output,) = check_operator(Sum(), (bounded(Bag(float)),), chunks, seeds=2)
        results.append(output)
    assert results[0] == results[1] == ended(seq(math.fsum(numbers)))


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ([1e100, 1.0, -1e100], 1.0),
        ([0.1] * 10, 1.0),
        ([Decimal("0.1"), Decimal("0.2")], Decimal("0.3")),
        ([Fraction(1, 3), Fraction(1, 6)], Fraction(1, 2)),
        ([1, 2.5], 3.5),
        ([], 0),
    ],
)
def test_sums(elements, expected):
    (output,) = check_operator(Sum(), (bounded(Sequence()),), [(ended(seq(*elements)),)])
    assert output == ended(seq(expected))


def test_a_sum_of_what_is_no_number_is_an_error_of_the_element():
    after, _ = advance(node(Sum(), seq(1, "a")))
    assert after.state == (seq("a"),)
    assert "'a'" in str(refusal(advance, after))


# --- sort


@pytest.mark.parametrize("kind", KINDS)
@few
@given(data=st.data())
def test_sort_laws(kind, data):
    chunks = data.draw(cuts(kind, st.integers(-3, 3)))
    elements = whole(kind, chunks)
    (output,) = check_operator(Sort(), (bounded(kind(int)),), chunks, seeds=3)
    assert output == (ended(seq(*sorted(elements))) if has_end(chunks) else seq())
    (output,) = check_operator(Sort(abs), (bounded(kind(int)),), chunks, seeds=3)
    assert [abs(x) for x in output.elements] == sorted(map(abs, elements)) if has_end(chunks) else not output.elements
    if kind is Sequence and has_end(chunks):
        assert list(output.elements) == sorted(elements, key=abs)


def test_sort_rules():
    for kind in KINDS:
        value = MAKERS[kind](2, 1, end=End.ARRIVED)
        graph, outputs = fires(f"sort{value.suffix}", node(Sort(), value))
        assert (graph.state, outputs) == ((value.passed(),), (ended(seq(1, 2)),))
        assert list(small_steps(node(Sort(), MAKERS[kind](2, 1)))) == []


def test_ties_of_a_bag_do_not_depend_on_the_order_of_arrival():
    words = ["bb", "aa", "c", "aa"]
    for order in (words, words[::-1], sorted(words)):
        chunks = [(bag(word),) for word in order] + [(END[Bag],)]
        (output,) = check_operator(Sort(len), (bounded(Bag(str)),), chunks)
        assert output == ended(seq("c", "aa", "aa", "bb"))


@final
@dataclass(frozen=True)
class Rank:
    """Has an order, and every one differs from every other."""

    number: int = field(compare=False)
    word: str

    def __lt__(self, other):
        return self.number < other.number


def test_keys_that_are_not_equal_can_be_ties():
    def rank(word: str) -> Rank:
        return Rank(len(word), word)

    for order in (["bb", "aa"], ["aa", "bb"]):
        (output,) = check_operator(Sort(rank), (bounded(Bag(str)),), [(bag(*order),), (END[Bag],)])
        assert output == ended(seq("aa", "bb"))


def test_a_key_that_raises_names_the_element():
    error = refusal(advance, node(Sort(lambda x: 1 / x), seq(1, 0, end=End.ARRIVED)))
    assert isinstance(error, FunctionError)
    assert dict(error.facts)["given"] == "0"


# --- distinct


@few
@given(cuts(Sequence, SMALL))
def test_distinct_laws(chunks):
    (output,) = check_operator(SequenceDistinct(), (unbounded(Sequence(int)),), chunks)
    assert list(output.elements) == list(dict.fromkeys(content(chunks)))
    assert output.fixed() == has_end(chunks)


def test_distinct_rules():
    graph, outputs = fires("distinct", node(SequenceDistinct(), seq(1, 1)))
    assert outputs == (seq(1),)
    graph, outputs = fires("distinct", graph)
    assert outputs == (seq(),)
    fires("distinct-terminator", node(SequenceDistinct(), seq(end=End.ARRIVED)))
    assert isinstance(refusal(advance, node(SequenceDistinct(), seq([1]))), ElementError)


# --- types


@pytest.mark.parametrize("kind", KINDS)
def test_types(kind):
    ints = bounded(kind(int))
    assert derive(Node(None, Count()), (ints,)).outputs == (bounded(Sequence(int)),)
    assert derive(Node(None, Sum()), (ints,)).outputs == (bounded(Sequence(IntSum)),)
    assert derive(Node(None, Sum()), (bounded(kind(float)),)).outputs == (bounded(Sequence(float)),)
    assert derive(Node(None, Sort()), (ints,)).outputs == (bounded(Sequence(int)),)
    for operator in (Count(), Sum(), Sort()):
        error = refusal(derive, Node(None, operator), (unbounded(kind(int)),))
        assert isinstance(error, BoundednessError)
        assert error.instead


def test_fold_unordered_types():
    fold = Node(None, FoldUnordered(0, add))
    assert derive(fold, (bounded(INTS),)).outputs == (bounded(Sequence(int)),)
    assert isinstance(refusal(derive, fold, (unbounded(INTS),)), BoundednessError)
    assert isinstance(refusal(derive, fold, (bounded(Sequence(int)),)), CollectionError)


def test_distinct_is_of_a_sequence():
    error = refusal(derive, Node(None, SequenceDistinct()), (bounded(INTS),))
    assert isinstance(error, CollectionError)
    assert "to_set()" in str(error)


class Opaque:
    def __init__(self, n):
        self.n = n


@pytest.mark.parametrize("kind", [Sequence, Bag, Set])
def test_nan_is_the_greatest_in_a_sort(kind):
    nan = float("nan")
    for elements in ([nan, 1.0, 3.0, 2.0], [3.0, 2.0, nan, 1.0], [1.0, nan, 3.0, 2.0]):
        _, outputs = advance(Node((MAKERS[kind](*elements).fix(),), Sort()))
        *numbers, last = outputs[0][0].elements_list()
        assert numbers == [1.0, 2.0, 3.0]
        assert math.isnan(last)


def test_a_tie_of_elements_that_have_no_text():
    def n(element):
        return element.n

    one, other, third = Opaque(1), Opaque(1), Opaque(2)
    _, outputs = advance(Node((ended(bag(third, one)),), Sort(n)))
    assert outputs[0][0].elements_list() == [one, third]
    error = refusal(advance, Node((ended(bag(one, other)),), Sort(n)))
    assert isinstance(error, ElementError)
    assert "`sort` orders elements with equal keys" in str(error)
    assert "Opaque" in str(error)


def test_a_zero_has_one_form():
    for zeros in ([0.0, -0.0], [-0.0, 0.0], [(-0.0, (1, -0.0))]):
        found = bag(*zeros).elements_list()
        assert "-" not in str(found)
        assert len(found) == 1
