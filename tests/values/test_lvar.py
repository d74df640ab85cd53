"""LVars and the operators into, on and out of them (§2.3, §6.2)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.collection import Collection, End
from flo.core.errors import CollectionError, ElementError, FunctionError, TypeMismatch
from flo.core.graph import Node, inputs, names, node, parse, sequence, setinput, show
from flo.core.semantics import advance, small_steps
from flo.core.stream_type import StreamType
from flo.core.structural import Wire
from flo.core.typing import initial
from flo.values.lattice import BOTTOM, TOP, Lattice
from flo.values.lattice_orders import Flat, Max, Min, NaturalSum, Or
from flo.values.lattice_structures import GCounter, MapUnion, SetUnion
from flo.values.lvar import LVar, LVarValue
from flo.values.operators.lattices import FoldLattice, SumLattice
from flo.values.operators.lvars import LVarUnion, MapLattice, Threshold, event_when_above
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from tests.harness import check_operator, fires, refusal, run_steps
from tests.values.lvar_cases import BOUNDED, FEW, MAX, SETS, check, chunks_of, parts_of_numbers, parts_of_sets, stream

# --- the collection


def test_annotations():
    assert Collection.of(LVar[Max[int]]) == LVar(Max(int)) == Collection.of(LVar(Max[int]))
    assert str(LVar[Max[int]]) != str(LVar(Max(int))) == "LVar[Max[int]]"
    assert Collection.of(LVar[Or]) == LVar(Or())
    assert hash(LVar(Max(int))) == hash(LVar(Max(int)))
    assert LVar(Max(float)).accepts(LVar(Max(int)))
    assert not LVar(Max(int)).accepts(LVar(Min(int)))
    assert not LVar(Max(int)).accepts(Sequence(int))
    assert "must have one parameter" in str(refusal(Collection.of, LVar))
    assert isinstance(refusal(LVar, int), CollectionError)


def test_concatenation_is_the_join_until_the_end():
    one, two = LVarValue(MAX, 1), LVarValue(MAX, 2)
    assert one.concat(two) == two.concat(one) == two
    assert one.concat(one.empty()) == one
    fixed = one.fix()
    assert fixed.fixed()
    assert not one.fixed()
    assert fixed.concat(two) == fixed == fixed.fix()
    assert one.concat(two.fix()) == two.fix()
    assert fixed.passed().concat(two) == fixed.passed()
    assert fixed.passed() != fixed.drained()


def test_taking_and_sizes():
    open_value, ended = LVarValue(MAX, 3), LVarValue(MAX, 3, End.ARRIVED)
    assert open_value.take() == (LVarValue(MAX, BOTTOM), open_value)
    assert ended.take() == (LVarValue(MAX, BOTTOM, End.PASSED), ended)
    assert [value.size() for value in (open_value.empty(), open_value, ended, ended.drained(), ended.passed())] == [
        0,
        1,
        2,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("lattice", "value", "shown"),
    [
        (MAX, 5, "lvar(Max(int), 5)"),
        (MAX, BOTTOM, "lvar(Max(int), BOTTOM())"),
        (SETS, frozenset({2, 1}), "lvar(SetUnion(int), frozenset((1, 2)))"),
        (MapUnion(str, Or()), {"a": True}, "lvar(MapUnion(str, Or()), {'a': True})"),
        (Flat(), TOP, "lvar(Flat(), TOP())"),
        (NaturalSum(float), 0.5, "lvar(NaturalSum(float), Fraction(1, 2))"),
    ],
)
def test_text(lattice, value, shown):
    for end, printed in ((End.OPEN, shown), (End.ARRIVED, shown[:-1] + ", True)")):
        graph = node(LVarUnion(), LVarValue(lattice, lattice.value(value), end), LVar(lattice).bottom())
        assert printed in show(graph)
        assert parse(show(graph), names(graph)) == graph


def test_membership_and_plain_data():
    lvar = LVar(MapUnion(str, Max(int)))
    value = lvar.value({"a": 1})
    assert lvar.plain(value) == {"a": 1}
    assert lvar.mismatch(value) is None
    assert "is not an LVar[Max[int]]" in LVar(MAX).mismatch(value)
    assert "a sequence is not an LVar" in lvar.mismatch(Sequence(int).bottom())
    assert LVar(MAX).mismatch(LVarValue(MAX, "a")) == "'a' is not of type int"
    error = refusal(LVar(MAX).value, "a")
    assert isinstance(error, ElementError)
    assert "must be a value of Max[int]: 'a' is not of type int" in str(error)


def test_deltas_without_a_join_are_an_error_that_shows_both():
    error = refusal(LVarValue(Max(), 1).concat, LVarValue(Max(), "a"))
    assert isinstance(error, FunctionError)
    assert "arrived before   1" in str(error)
    assert "arrived now      'a'" in str(error)


@BOUNDED
def test_lvars_pass_through_wires(bounded):
    (types,) = stream(LVar[Max[int]], bounded)
    one, other = check_operator(Wire(1, (0, 0)), (types,), chunks_of(LVar(MAX), [1, 3, 2], bounded))
    assert one == other == LVarValue(MAX, 3, End.ARRIVED if bounded else End.OPEN)


# --- into LVars: fold_lattice, sum_lattice


def negated(x: int) -> int:
    return -x


@BOUNDED
@pytest.mark.parametrize("collection", [Sequence[int], Bag[int], Set[int]])
@given(parts=parts_of_numbers)
@FEW
def test_fold_lattice(collection, bounded, parts):
    elements = [x for part in parts for x in part]
    result, fixed = check(FoldLattice(Max[int], negated), collection, parts, bounded)
    assert result == max(map(negated, elements), default=BOTTOM)
    assert fixed is bounded
    singletons = FoldLattice(SetUnion[int], lambda x: {x})
    assert check(singletons, collection, parts, bounded)[0] == frozenset(elements)


@given(parts=parts_of_numbers)
@FEW
def test_fold_lattice_without_a_function_and_with_one_of_ones_own(parts):
    elements = [x for part in parts for x in part]
    assert check(FoldLattice(Min(int)), Sequence[int], parts)[0] == min(elements, default=BOTTOM)
    bits = Lattice.of(0, int.__or__)
    assert check(FoldLattice(bits, lambda x: 1 << abs(x)), Bag[int], parts)[0] == sum(
        1 << bit for bit in set(map(abs, elements))
    )


def test_fold_lattice_rules():
    fold = FoldLattice(MAX, negated)
    graph, outputs = fires("fold-lattice", node(fold, Sequence(int).value([4, 5])))
    assert outputs == (LVarValue(MAX, -4),)
    graph, outputs = fires("fold-lattice", graph)
    graph, outputs = fires("fold-lattice-terminated", setinput(graph, (Sequence(int).bottom().fix(),)))
    assert outputs == (LVarValue(MAX, BOTTOM, End.ARRIVED),)
    assert inputs(graph)[0].end is End.PASSED
    assert show(node(fold, Sequence(int).value([4, 5]))) == "{[5, 4]}[fold_lattice(Max(int), negated)]"


def test_fold_lattice_takes_elements_that_are_not_taken_back():
    error = refusal(FoldLattice(MAX).type, stream(ZSet[int]))
    assert isinstance(error, CollectionError)
    assert "`fold_lattice` requires Sequence or Bag or Set" in str(error)


def test_fold_lattice_refuses_what_is_no_lattice_value():
    graph = node(FoldLattice(MAX, lambda x: str(x) if x == 3 else x), Sequence(int).value([1, 2, 3, 4]))
    graph, deltas = advance(graph)  # what comes before the element at fault is kept
    assert deltas == [(LVarValue(MAX, 1),), (LVarValue(MAX, 2),)]
    error = refusal(advance, graph)
    assert isinstance(error, FunctionError)
    assert "the function of `fold_lattice` must return values of Max[int]: '3' is not of type int" in str(error)
    assert "given      3" in str(error)
    error = refusal(advance, node(FoldLattice(MAX), Sequence(str).value(["a"])))
    assert isinstance(error, ElementError)
    assert "fold_lattice(Max[int], f)" in str(error)


def agree(a, b):
    if a is None or b is None or a == b:
        return b if a is None else a
    raise ValueError(f"{a} and {b} exclude each other")


def test_elements_without_a_join_are_an_error_where_they_meet():
    lattice = Lattice.of(None, agree)
    _, deltas = advance(node(FoldLattice(lattice), Sequence().value([1, 1, 2])))
    value = LVar(lattice).bottom().concat(deltas[0][0]).concat(deltas[1][0])
    assert value == LVarValue(lattice, 1)
    assert "two values of Lattice[agree] have no join: 1 and 2 exclude each other" in str(
        refusal(value.concat, deltas[2][0])
    )
    threshold, _ = advance(node(Threshold((1, 2)), value))  # and also behind a threshold that was passed
    assert isinstance(refusal(inputs(threshold)[0].concat, deltas[2][0]), FunctionError)


def largest_sum(numbers):
    largest = total = 0
    for number in numbers:
        total += number
        largest = max(largest, total)
    return largest


@BOUNDED
@given(parts=parts_of_numbers)
@FEW
def test_sum_lattice_of_a_sequence_ignores_what_is_smaller(bounded, parts):
    result, fixed = check(SumLattice(), Sequence[int], parts, bounded)
    assert result == largest_sum(x for part in parts for x in part)
    assert type(result) is int
    assert fixed is bounded


@BOUNDED
@given(parts=st.lists(st.lists(st.floats(0, 1e300), max_size=4), max_size=4))
@FEW
def test_sum_lattice_of_a_bag_of_floats_does_not_see_their_order(bounded, parts):
    result, _ = check(SumLattice(), Bag[float], parts, bounded)
    assert result == float(sum(Fraction(x) for part in parts for x in part))
    assert type(result) is float


@given(parts=st.lists(st.lists(st.one_of(st.integers(0, 2**70), st.floats(0, 1e30)), max_size=3), max_size=3))
@FEW
def test_sum_lattice_of_mixed_numbers(parts):
    exact = sum(Fraction(x) for part in parts for x in part)
    assert check(SumLattice(), Bag, parts)[0] == (int(exact) if exact.denominator == 1 else float(exact))
    assert check(SumLattice(), Sequence, parts)[0] == (int(exact) if exact.denominator == 1 else float(exact))


def test_sum_lattice_rules():
    graph = node(SumLattice(), Sequence().value([4, -5]).fix())
    graph, outputs = fires("sum-lattice", graph)
    assert outputs == (LVarValue(NaturalSum(), 4),)
    graph, outputs = fires("sum-lattice", graph)
    graph, outputs = fires("sum-lattice-terminated", graph)
    assert outputs == (LVarValue(NaturalSum(), 0, End.ARRIVED),)
    assert show(graph) == "{⊗}[sum_lattice(NaturalSum(), -1)]"
    _, outputs = fires("sum-lattice-bag", node(SumLattice(), Bag().value([4, 4])))
    assert outputs == (LVarValue(NaturalSum(), 8),)


def test_sum_lattice_of_decimals():
    result, _ = check(SumLattice(), Bag[Decimal], [[Decimal("0.1")] * 3, [Decimal("1e-20")]])
    assert result == Decimal("0.30000000000000000001")
    assert type(result) is Decimal


def test_sum_lattice_has_the_type_of_what_it_sums():
    for collection, lattice in (
        (Sequence[int], NaturalSum(int)),
        (Bag[bool], NaturalSum(int)),
        (Sequence[float], NaturalSum(float)),
        (Sequence, NaturalSum()),
        (Sequence[int | float], NaturalSum()),
    ):
        assert SumLattice().type(stream(collection, False)) == stream(LVar(lattice), False)


def test_sum_lattice_refusals():
    error = refusal(SumLattice().type, stream(Set[int]))  # a set that gives an element twice would add it twice
    assert isinstance(error, CollectionError)
    assert "map_monotone(sum, NaturalSum)" in str(error)
    assert "requires numbers; the elements of" in str(refusal(SumLattice().type, stream(Sequence[str])))
    for collection, element, message in (
        (Bag(), -1, "`sum_lattice` of a Bag requires numbers ≥ 0; got -1"),
        (Sequence(), "a", "`sum_lattice` requires numbers: exact sums"),
        (Sequence(), float("inf"), "requires finite numbers; got inf"),
        (Bag(), float("nan"), "requires finite numbers; got nan"),
    ):
        error = refusal(advance, node(SumLattice(), collection.value([element])))
        assert isinstance(error, ElementError)
        assert message in str(error)


# --- on LVars: map_lattice, lvar_union


@BOUNDED
@given(parts=parts_of_sets)
@FEW
def test_map_lattice_is_the_function_of_the_whole_value(bounded, parts):
    result, fixed = check(MapLattice(len, NaturalSum(int)), LVar[SetUnion[int]], parts, bounded)
    assert result == len(frozenset().union(*parts))
    assert fixed is bounded
    above = MapLattice(lambda found: len(found) > 2, Or)
    assert check(above, LVar[SetUnion[int]], parts, bounded)[0] is (len(frozenset().union(*parts)) > 2)


@BOUNDED
def test_map_lattice_of_the_least_value(bounded):
    one_more = MapLattice(lambda found: len(found) + 1, Max[int])
    assert check(one_more, LVar[SetUnion[int]], [], bounded) == (1, bounded)
    assert check(one_more, LVar[SetUnion[int]], [{3}, {4}, {3}], bounded) == (3, bounded)


@BOUNDED
@given(parts=st.lists(st.integers(0, 9), max_size=4))
@FEW
def test_map_lattice_does_not_see_the_mark_bottom(bounded, parts):
    doubled = MapLattice(lambda x: 2 * x, Max[int])
    assert check(doubled, LVar[Max[int]], parts, bounded)[0] == max((2 * x for x in parts), default=BOTTOM)


@BOUNDED
@given(parts=st.lists(st.dictionaries(st.sampled_from("ab"), st.integers(0, 5)), max_size=4))
@FEW
def test_the_total_of_a_counter_is_monotone(bounded, parts):
    total = sum(max(part.get(replica, 0) for part in [{}, *parts]) for replica in "ab")
    assert check(MapLattice(GCounter().total, NaturalSum), LVar[GCounter[str]], parts, bounded)[0] == total


def test_map_lattice_rules():
    graph = node(MapLattice(len, NaturalSum(int)), LVar(SETS).value({1, 2}).fix())
    graph, outputs = fires("map-lattice", graph)
    assert outputs == (LVarValue(NaturalSum(int), 2),)
    graph, outputs = fires("map-lattice-terminated", graph)
    assert outputs == (LVarValue(NaturalSum(int), 0, End.ARRIVED),)
    assert not list(small_steps(graph))


def test_map_lattice_refuses_a_function_that_falls():
    graph = node(MapLattice(lambda found: -len(found), Max(int)), LVar(SETS).value({1}))
    graph, _ = advance(graph)
    graph = setinput(graph, (inputs(graph)[0].concat(LVar(SETS).value({2})),))
    error = refusal(advance, graph)
    assert isinstance(error, FunctionError)
    assert "must be monotone in Max[int]" in str(error)
    assert "f(frozenset({1, 2}))   -2" in str(error)


def test_map_lattice_refuses_what_is_no_lattice_value():
    error = refusal(advance, node(MapLattice(str, Max(int)), LVar(SETS).value({1})))
    assert isinstance(error, FunctionError)
    assert "must return values of Max[int]" in str(error)


@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True), (False, False)])
@given(parts=st.lists(st.tuples(st.frozensets(st.integers(0, 3)), st.frozensets(st.integers(0, 3))), max_size=3))
@FEW
def test_lvar_union(flags, parts):
    lvar = LVar(SETS)
    types = tuple(StreamType(lvar, bounded) for bounded in flags)
    chunks = [(lvar.value(left), lvar.value(right)) for left, right in parts]
    ends = [(lvar.bottom().fix(), None), (None, lvar.bottom().fix())]
    chunks += [end for end, bounded in zip(ends, flags, strict=True) if bounded]
    (output,) = check_operator(LVarUnion(), types, chunks)
    assert output.value == frozenset().union(*(side for part in parts for side in part))
    assert output.fixed() is all(flags)


def test_lvar_union_rules():
    lvar = LVar(MAX)
    graph = node(LVarUnion(), lvar.value(1).fix(), lvar.value(2).fix())
    graph, outputs = fires("lvar-union-right", graph)
    assert outputs == (lvar.value(2),)
    graph, outputs = fires("lvar-union-left", graph)
    assert outputs == (lvar.value(1),)
    graph, outputs = fires("lvar-union-terminated", graph)
    assert outputs == (lvar.bottom().fix(),)
    assert not list(small_steps(graph))


def test_lvar_union_types():
    (wide,) = stream(LVar[Max[float]])
    (narrow,) = stream(LVar[Max[int]], False)
    assert LVarUnion().type((wide, narrow)) == LVarUnion().type((narrow, wide)) == stream(LVar[Max[float]], False)
    assert [given_type.bounded for given_type in LVarUnion().judge((wide, narrow)).inputs] == [False, False]
    error = refusal(LVarUnion().type, (*stream(LVar[Max[int]]), *stream(LVar[Min[int]])))
    assert isinstance(error, TypeMismatch)
    assert "got Max[int] and Min[int]" in str(error)
    assert "map_monotone" in str(error)


# --- together


def test_the_monitoring_program_of_the_paper():
    graph = sequence(node_of(SumLattice()), node_of(event_when_above(100)))
    types = stream(Sequence[int], False)
    graph, outputs = initial(graph, types)
    assert outputs == stream(Sequence[int], False)
    graph = setinput(graph, (Sequence(int).value([60, -30, 50, 19]),))
    graph, (quiet,) = run_steps(graph, outputs)
    assert quiet == Sequence(int).bottom()
    graph = setinput(graph, (inputs(graph)[0].concat(Sequence(int).value([1])),))
    graph, (quiet,) = run_steps(graph, outputs)
    assert quiet == Sequence(int).bottom(), "100 is not above 100"
    graph = setinput(graph, (inputs(graph)[0].concat(Sequence(int).value([1, -50])),))
    graph, (event,) = run_steps(graph, outputs)
    assert event == Sequence(int).value([100]).fix()
    assert parse(show(graph), names(graph)) == graph


def node_of(operator):
    return Node(None, operator)
