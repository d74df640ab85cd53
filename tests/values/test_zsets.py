"""Z-sets as a group, distinct, the paper's map over weights, conversions, integration and differentiation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core import data as _data
from flo.core.collection import End
from flo.core.errors import BoundednessError, CollectionError, ElementError, FunctionError, LawError
from flo.core.graph import Node
from flo.core.nested import Nested, NestedValue
from flo.core.operator import concat_all
from flo.core.semantics import advance
from flo.core.stream_type import StreamType
from flo.core.typing import derive
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.zset_streams import Differentiate, Integrate
from flo.values.operators.zsets import Distinct, MapWeights, Minus, Negate, Plus, ToZSet, ZSetToBag, ZSetToSet
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, Set, SetValue, ZSet
from tests.harness import check_operator, fires, refusal
from tests.values.zset_cases import added, few, integrated, pieces, run, run_two, there, zset

assert _data


def double(element, weight):
    return 2 * weight


def by_first(row, weight):
    return weight * (1 if row[0] == "a" else -3)


def test_map_zset():
    graph, outputs = fires("map-zset", Node((zset({"k": 3}),), MapWeights(double)))
    assert outputs == (zset({"k": 6}),)
    assert graph.state == (zset(),)


def test_map_zset_terminated():
    graph, outputs = fires("map-zset-terminated", Node((zset(end=True),), MapWeights(double)))
    assert outputs == (zset(end=True),)
    assert graph.state[0].end is End.PASSED


@few
@given(pieces(), st.booleans())
def test_map_weights(deltas, bounded):
    total = integrated(deltas)
    expected = {row: by_first(row, weight) for row, weight in total.items()}
    assert run(MapWeights(by_first), deltas, bounded) == expected


@pytest.mark.parametrize("weight", [1, -2])
@pytest.mark.parametrize(
    ("f", "tried"),
    [
        (lambda k, w: 1, 2),
        (lambda k, w: w * w, 2),
        (lambda k, w: w + 1, 2),
        (lambda k, w: abs(w), -1),
        (lambda k, w: w if w else 5, 0),
        (lambda k, w: min(w, 100), 1000),
    ],
)
def test_weights_that_do_not_add_up_are_refused(f, tried, weight):
    """Whatever weight arrives: it may be the whole, or a part."""
    error = refusal(advance, Node((zset({"k": weight}),), MapWeights(f)))
    assert isinstance(error, LawError)
    assert f"f(element, {tried}) " in str(error)
    assert "'k'" in str(error)


def test_a_counterexample_names_the_element_and_both_weights():
    def clipped(key, weight):
        return weight if key == "fine" else max(weight, 0)

    rest, outputs = advance(Node((zset({"fine": 1, "odd": 3}),), MapWeights(clipped)))
    assert outputs == [(zset({"fine": 1}),)]
    error = refusal(advance, rest)
    assert isinstance(error, LawError)
    assert "'odd'" in str(error)
    assert "f(element, -1)   0, but -1 · f(element, 1) is -1" in str(error)


def test_weights_are_integers():
    error = refusal(advance, Node((zset({"k": 3}),), MapWeights(lambda k, w: w / 2)))
    assert isinstance(error, ElementError)


def test_map_of_elements_is_a_projection():
    _, outputs = fires("project-zset", Node((zset({("a", 1): 3}),), Map(lambda row: row[0])))
    assert outputs == (zset({"a": 3}),)
    fires("project-zset-terminated", Node((zset(end=True),), Map(str)))


@few
@given(pieces())
def test_elementwise(deltas):
    total = integrated(deltas)
    assert run(Map(lambda row: row[0]), deltas) == added(*((row[0], n) for row, n in total.items()))
    assert run(Filter(lambda row: row[1] > 1), deltas) == {row: n for row, n in total.items() if row[1] > 1}
    assert run(FlatMap(lambda row: [row[0]] * row[1]), deltas, bounded=True) == added(
        *((row[0], n * row[1]) for row, n in total.items())
    )


@few
@given(pieces(), st.booleans())
def test_negate(deltas, bounded):
    assert run(Negate(), deltas, bounded) == {row: -n for row, n in integrated(deltas).items()}


@few
@given(pieces(), pieces(), st.booleans())
def test_plus_and_minus(lefts, rights, bounded):
    left, right = integrated(lefts), integrated(rights)
    assert run_two(Plus(), lefts, rights, bounded) == added(*left.items(), *right.items())
    negated = [(row, -weight) for row, weight in right.items()]
    assert run_two(Minus(), lefts, rights, bounded) == added(*left.items(), *negated)


def test_union_takes_each_side_by_itself():
    start = Node((zset({1: 1}), zset({1: 2, 2: 5})), Plus())
    graph, outputs = fires("union-zset", start)
    assert outputs == (zset({1: 1}),)
    graph, outputs = fires("union-zset", graph)
    assert outputs == (zset({1: 2}),)
    _, deltas = advance(start)
    assert deltas == [(zset({1: 1}),), (zset({1: 2, 2: 5}),)]
    _, deltas = advance(Node(start.state, Minus()))
    assert deltas == [(zset({1: 1}),), (zset({1: -2, 2: -5}),)]


def test_union_ends_when_both_sides_have():
    _, deltas = advance(Node((zset(end=True), zset()), Plus()))
    assert deltas == []
    fires("union-zset-terminated", Node((zset(end=True), zset(end=True)), Plus()))
    fires("minus-zset-terminated", Node((zset(end=True), zset(end=True)), Minus()))


def test_two_inputs_share_their_boundedness():
    bounded, unbounded = StreamType(ZSet(int), True), StreamType(ZSet(float), False)
    (output,) = derive(Node(None, Plus()), (bounded, unbounded)).outputs
    assert output == StreamType(ZSet(int | float), False)


@few
@given(pieces(), st.booleans())
def test_distinct(deltas, bounded):
    assert run(Distinct(), deltas, bounded) == dict.fromkeys(there(integrated(deltas)), 1)


def test_distinct_emits_only_what_changes():
    _, deltas = advance(Node((zset({"a": 1, "b": -1, "c": -3}),), Distinct(zset({"a": 1, "b": 1, "c": 5}).weights)))
    assert deltas == [(zset({"b": -1}),)]
    _, deltas = advance(Node((zset({"a": 1}),), Distinct(zset({"a": -1}).weights)))
    assert deltas == [(None,)]


def test_a_z_set_operator_refuses_other_collections():
    for operator in (Negate(), Distinct(), MapWeights(double), ZSetToBag()):
        error = refusal(derive, Node(None, operator), (StreamType(Bag(int), True),))
        assert isinstance(error, CollectionError)
        assert "to_zset" in str(error)
    error = refusal(derive, Node(None, Plus()), (StreamType(ZSet(), True), StreamType(Set(), True)))
    assert error.index == 1


@few
@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=3), st.booleans())
def test_to_zset(chunks, bounded):
    for collection, value, once in (
        (Sequence(int), lambda chunk: SequenceValue.of(list(chunk)), False),
        (Bag(int), lambda chunk: BagValue.of((element, 1) for element in chunk), False),
        (Set(int), lambda chunk: SetValue.of((element, 1) for element in chunk), True),
    ):
        deltas = [(value(chunk),) for chunk in chunks]
        if bounded:
            deltas.append((collection.bottom().fix(),))
        (output,) = check_operator(ToZSet(), (StreamType(collection, bounded),), deltas)
        elements = [element for chunk in chunks for element in chunk]
        expected = added(*((element, 1) for element in (set(elements) if once else elements)))
        assert output.weights.to_dict() == expected
        assert output.fixed() == bounded


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (SequenceValue.of([1]), "to-zset"),
        (SequenceValue.terminator(), "to-zset-terminator"),
        (BagValue.of([(1, 2)]), "to-zset-bag"),
        (BagValue.terminator(), "to-zset-bag-terminated"),
        (SetValue.of([(1, 1)]), "to-zset-set"),
        (SetValue.terminator(), "to-zset-set-terminated"),
    ],
)
def test_rules_of_to_zset(value, rule):
    fires(rule, Node((value,), ToZSet()))


@few
@given(pieces())
def test_from_zset(deltas):
    deltas = [*deltas, zset(dict.fromkeys(integrated(deltas), 9))]  # no weight was below -8
    total = integrated(deltas)
    given = (StreamType(ZSet(), True),)
    chunks = [(delta,) for delta in deltas] + [(zset(end=True),)]
    (bag,) = check_operator(ZSetToBag(), given, chunks)
    assert bag == BagValue.of(total.items(), End.ARRIVED)
    (elements,) = check_operator(ZSetToSet(), given, chunks)
    assert elements == SetValue.of(((row, 1) for row in total), End.ARRIVED)


def test_a_weight_below_zero_at_the_end_is_refused():
    for operator in (ZSetToBag(), ZSetToSet()):
        graph, deltas = advance(Node((zset({"a": 1, "b": -1}),), operator))
        assert deltas == [(None,)]
        error = refusal(advance, Node((zset(end=True),), graph.operator))
        assert isinstance(error, ElementError)
        assert "'b'" in str(error)
        assert "'a'" not in str(error)


def test_weights_may_be_below_zero_before_the_end():
    given = (StreamType(ZSet(), True),)
    (bag,) = check_operator(ZSetToBag(), given, [(zset({"a": -1}),), (zset({"a": 3}, end=True),)])
    assert bag == BagValue.of([("a", 2)], End.ARRIVED)


def test_a_bag_is_made_at_the_end_only():
    for operator in (ZSetToBag(), ZSetToSet()):
        error = refusal(derive, Node(None, operator), (StreamType(ZSet(int), False),))
        assert isinstance(error, BoundednessError)
        assert "weights may change" in str(error)


def test_what_a_z_set_cannot_hold_is_refused():
    error = refusal(advance, Node((SequenceValue.of([[1]]),), ToZSet()))
    assert isinstance(error, ElementError)
    assert "elements of a ZSet must be" in str(error)


def test_a_function_that_fails_names_its_element():
    error = refusal(advance, Node((zset({"k": 3}),), MapWeights(lambda k, w: 1 // 0)))
    assert isinstance(error, FunctionError)
    assert "('k', 3)" in str(error)


# integration and differentiation

nested = StreamType(Nested(ZSet()), False)


def sequence_of(*inner):
    """A delta that pushes these z-sets, all of them ended."""
    return NestedValue.pushing(*((value.fix(),) for value in inner))


def plain(value):
    return [inner.weights.to_dict() for (inner,) in value]


def running_sums(states):
    return [integrated(states[: place + 1]) for place in range(len(states))]


def differences(states):
    before = [zset(), *states]
    return [
        added(*after.weights.items(), *((row, -weight) for row, weight in old.weights.items()))
        for old, after in zip(before, states, strict=False)
    ]


@few
@given(st.lists(pieces(most=3), max_size=3), st.booleans(), st.booleans())
def test_integrate_and_differentiate(changes, bounded, complete):
    """Every inner z-set arrives in pieces; the newest may stay open if the sequence is unbounded."""
    deltas = []
    for place, parts in enumerate(changes):
        deltas.append(NestedValue.pushing((zset(),)))
        deltas += [NestedValue.extending((part,)) for part in parts]
        if complete or bounded or place < len(changes) - 1:
            deltas.append(NestedValue.extending((zset(end=True),)))
    if bounded:
        deltas.append(NestedValue.pushing().fix())
    chunks = [(delta,) for delta in deltas]
    states = [zset(integrated(parts)) for parts in changes]
    types = (StreamType(Nested(ZSet()), bounded),)
    (sums,) = check_operator(Integrate(), types, chunks)
    assert plain(sums) == running_sums(states)
    (steps,) = check_operator(Differentiate(), types, chunks)
    assert plain(steps) == differences(states)
    assert sums.fixed() == steps.fixed() == bounded


def test_differentiate_undoes_integrate():
    states = [zset({"a": 1}), zset({"a": -1, "b": 2}), zset(), zset({"b": 1})]
    (sums,) = check_operator(Integrate(), (nested,), [(sequence_of(*states),)])
    assert plain(sums) == [{"a": 1}, {"b": 2}, {"b": 2}, {"b": 3}]
    (back,) = check_operator(Differentiate(), (nested,), [(sums,)])
    assert plain(back) == [state.weights.to_dict() for state in states]


@pytest.mark.parametrize("operator", [Integrate(), Differentiate()])
def test_rules_of_integrate_and_differentiate(operator):
    graph, output = Node((sequence_of(zset({1: 2}), zset()).fix(),), operator), (NestedValue.pushing(),)
    for rule in ("begin", "run", "step", "begin", "step", "terminated"):
        graph, deltas = fires(f"{operator.name}-{rule}", graph)
        output = concat_all(output, deltas)
    assert output[0].fixed()
    assert graph.operator == operator


def test_integrate_takes_bounded_z_sets_one_at_a_time():
    two = StreamType(Nested(ZSet(), ZSet()), False)
    assert isinstance(refusal(derive, Node(None, Integrate()), (two,)), CollectionError)
    bags = StreamType(Nested(Bag()), False)
    assert isinstance(refusal(derive, Node(None, Integrate()), (bags,)), CollectionError)
    open_inside = StreamType(Nested(StreamType(ZSet(), False)), False)
    assert isinstance(refusal(derive, Node(None, Differentiate()), (open_inside,)), BoundednessError)
    assert isinstance(refusal(derive, Node(None, Integrate()), (StreamType(ZSet(), False),)), CollectionError)


@pytest.mark.parametrize("operator", [Integrate(), Differentiate()])
def test_inner_zsets_that_are_complete_are_consumed_in_one_step(operator):
    many = sequence_of(*(zset({number % 3: 1}) for number in range(200)))
    _, outputs = advance(Node((many,), operator))
    assert len(outputs) < 6
    some = sequence_of(*(zset({number: 1 - 2 * (number % 2)}) for number in (0, 1, 2, 1)))
    check_operator(operator, (StreamType(Nested(ZSet()), False),), [(some,), (some,), (sequence_of(zset()),), (some,)])
