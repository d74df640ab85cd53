"""Reading lattice variables: threshold, event_when_above, above and to_sequence; and the illegal ways of §6.2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.collection import End
from flo.core.errors import BoundednessError, CollectionError, FunctionError, ThresholdError
from flo.core.graph import inputs, node, setinput, show
from flo.core.operator import Operator, Step
from flo.core.semantics import small_steps
from flo.core.stream_type import StreamType
from flo.values.lattice import BOTTOM, TOP, Bottom, Top
from flo.values.lattice_orders import Flat, Max, NaturalSum, Or
from flo.values.lattice_structures import MapUnion, Product, SetUnion, Versioned
from flo.values.lvar import LVar
from flo.values.operators.lvars import Above, LVarToSequence, Threshold, event_when_above
from flo.values.sequence import Sequence
from tests.harness import fires, refusal
from tests.values.lvar_cases import BOUNDED, FEW, MAX, check, parts_of_sets, stream

# --- out of LVars: threshold, event_when_above, above, to_sequence


@BOUNDED
@given(parts=st.lists(st.integers(0, 9), max_size=4), threshold=st.integers(0, 9))
@FEW
def test_threshold(bounded, parts, threshold):
    most = max(parts, default=-1)
    for operator, condition, reached in (
        (Threshold((threshold,)), Above(threshold), most >= threshold),
        (event_when_above(threshold), Above(threshold, strict=True), most > threshold),
    ):
        result, fixed = check(operator, LVar[Max[int]], parts, bounded)
        assert result == ([threshold] if reached else [])
        assert fixed is (bounded or reached)
        above, _ = check(condition, LVar[Max[int]], parts, bounded)
        assert above is reached


@pytest.mark.parametrize("end", [True, False])
@BOUNDED
def test_the_least_threshold_is_passed_at_once(bounded, end):
    if bounded and not end:
        return
    assert check(Threshold((BOTTOM,)), LVar[Max[int]], [], bounded, end) == ([BOTTOM], True)
    assert check(Above(frozenset()), LVar[SetUnion[int]], [], bounded, end) == (True, True)


@BOUNDED
@given(parts=parts_of_sets)
@FEW
def test_threshold_in_a_partial_order(bounded, parts):
    reached = {1, 2} <= set().union(*parts)
    assert check(Threshold(({1, 2},)), LVar[SetUnion[int]], parts, bounded)[0] == ([{1, 2}] if reached else [])
    assert check(Above({1, 2}), LVar[SetUnion[int]], parts, bounded)[0] is reached
    more = reached and set().union(*parts) != {1, 2}
    assert check(Above({1, 2}, strict=True), LVar[SetUnion[int]], parts, bounded)[0] is more


@BOUNDED
@given(parts=st.one_of(*(st.lists(st.sampled_from([BOTTOM, word])) for word in ("yes", "no", "perhaps"))))
@FEW
def test_several_thresholds_that_exclude_each_other(bounded, parts):
    result, _ = check(Threshold(("yes", "no")), LVar[Flat[str]], parts, bounded)
    assert result == [word for word in ("yes", "no") if word in parts]


@BOUNDED
def test_thresholds_of_composite_lattices(bounded):
    votes = MapUnion(str, Flat(bool))
    thresholds = Threshold(({"a": True}, {"a": False}))
    assert check(thresholds, LVar(votes), [{"b": False}, {"a": False}], bounded)[0] == [{"a": False}]
    pairs = Product(Flat(str), Max(int))
    thresholds = Threshold((("yes", 3), ("no", BOTTOM)))
    assert check(thresholds, LVar(pairs), [("yes", 2), (BOTTOM, 4)], bounded)[0] == [("yes", 3)]
    versions = Versioned(int, SetUnion(str))
    assert check(Threshold(((2, {"a"}),)), LVar(versions), [(1, {"a"}), (3, set())], bounded)[0] == [(2, {"a"})]


def test_threshold_rules():
    graph = node(Threshold((100,)), LVar(MAX).value(99))
    assert not list(small_steps(graph))
    ended, outputs = fires("lvar-threshold-terminated", setinput(graph, (LVar(MAX).value(99).fix(),)))
    assert outputs == (Sequence(int).bottom().fix(),)
    assert inputs(ended) == (LVar(MAX).bottom().fix().passed(),)
    for value in (LVar(MAX).value(100), LVar(MAX).value(101).fix()):
        (step,) = small_steps(setinput(graph, (value,)))  # also where it has ended: one rule is enabled
        assert (step.rule, step.outputs) == ("lvar-threshold", (Sequence(int).value([100]).fix(),))
        assert inputs(step.graph) == (LVar(MAX).bottom().fix().passed(),)
    assert show(graph) == "{lvar(Max(int), 99)}[threshold((100,))]"


def test_above_rules():
    graph = node(Above(100), LVar(MAX).value(99))
    assert not list(small_steps(graph))
    _, outputs = fires("lvar-above-terminated", setinput(graph, (LVar(MAX).value(99).fix(),)))
    assert outputs == (LVar(Or()).bottom().fix(),)
    _, outputs = fires("lvar-above", setinput(graph, (LVar(MAX).value(100),)))
    assert outputs == (LVar(Or()).value(True).fix(),)


def test_threshold_types():
    assert Threshold((3,)).type(stream(LVar[Max[int]], False)) == stream(Sequence[int], False)
    assert Threshold(("a", "b")).type(stream(LVar[Flat[str]])) == stream(Sequence[str])
    (with_marks,) = Threshold((BOTTOM,)).type(stream(LVar[Max[int]]))
    assert with_marks.collection.element == int | Bottom
    assert isinstance(refusal(Threshold((3,)).type, stream(Sequence[int])), CollectionError)
    assert "fold_lattice" in str(refusal(Above(3).type, stream(Sequence[int])))


@pytest.mark.parametrize(
    ("lattice", "thresholds", "above"),
    [
        (Max(int), (3, 5), "3 ⊔ 5     5"),
        (Max(int), (3, 3), "3 ⊔ 3     3"),
        (Or(), (False, True), "False ⊔ True   True"),
        (Flat(str), ("a", "b", TOP), "'a' ⊔ ⊤   ⊤"),
        (SetUnion(int), ({1}, {2}), "{1} ⊔ {2}   frozenset({1, 2})"),
    ],
)
def test_thresholds_that_can_both_be_passed_are_refused(lattice, thresholds, above):
    error = refusal(Threshold(thresholds).type, stream(LVar(lattice), False))
    assert isinstance(error, ThresholdError)
    assert above in str(error)
    assert f"threshold({thresholds[0]!r})" in str(error)


def test_the_refusal_of_thresholds_in_full():
    error = refusal(Threshold((3, 5)).type, stream(LVar(MAX), False))
    error.input_name = "sums"
    assert str(error) == (
        "the thresholds 3 and 5 can both be passed: which one is seen first would depend on timing\n"
        "  sums      LVar[Max[int]], unbounded\n"
        "  3 ⊔ 5     5\n"
        "  instead   sums.threshold(3)   one stream per threshold;\n"
        "            sums.threshold(5)   a stream may be used more than once"
    )


def test_what_is_no_threshold():
    error = refusal(Threshold(("a",)).type, stream(LVar(MAX)))
    assert isinstance(error, ThresholdError)
    assert "a threshold of `threshold` must be a value of Max[int]; got 'a': 'a' is not of type int" in str(error)
    assert "of `above`" in str(refusal(Above("a").type, stream(LVar(MAX))))
    assert "at least one threshold" in str(refusal(Threshold(()).type, stream(LVar(MAX))))
    error = refusal(Threshold((1, "a")).type, stream(LVar[Max]))
    assert "TypeError" in str(error)


@pytest.mark.parametrize("step_between", [True, False])
def test_deltas_that_contradict_each_other_are_an_error_in_every_schedule(step_between):
    lvar = LVar(Flat(str))
    graph = node(Threshold(("yes", "no")), lvar.value("yes"))
    if step_between:
        graph, outputs = fires("lvar-threshold", graph)
        assert outputs == (Sequence(str).value(["yes"]).fix(),)
    graph = setinput(graph, (inputs(graph)[0].concat(lvar.value("no")),))
    error = refusal(lambda: list(small_steps(graph)))
    assert isinstance(error, FunctionError)
    assert "contradicts itself" in str(error)
    assert "'yes' and 'no'" in str(error)


@given(parts=parts_of_sets)
@FEW
def test_to_sequence_of_a_bounded_lvar(parts):
    assert check(LVarToSequence(), LVar[SetUnion[int]], parts) == ([frozenset().union(*parts)], True)


def test_to_sequence_rule_and_type():
    graph = node(LVarToSequence(), LVar(MAX).value(3))
    assert not list(small_steps(graph))
    graph, outputs = fires("to-sequence", setinput(graph, (LVar(MAX).value(3).fix(),)))
    assert outputs == (Sequence(int).value([3]).fix(),)
    assert LVarToSequence().type(stream(LVar[Flat[str]])) == stream(Sequence[str | Top])
    assert check(LVarToSequence(), LVar[Max[int]], []) == ([], True)  # the mark BOTTOM is no value
    assert check(LVarToSequence(), LVar[SetUnion[int]], []) == ([frozenset()], True)
    assert check(LVarToSequence(), LVar[MapUnion[str, Max[int]]], [{"a": 1}, {"b": 2}]) == (
        [{"a": 1, "b": 2}],
        True,
    )
    assert check(LVarToSequence(), LVar(MapUnion(str, Flat(int))), [{"a": 1}, {"a": 2}]) == ([{"a": TOP}], True)
    assert check(LVarToSequence(), LVar(NaturalSum(float)), [0.5, 2]) == ([2.0], True)


def test_to_sequence_of_an_unbounded_lvar_is_refused():
    error = refusal(LVarToSequence().type, stream(LVar(MAX), False))
    assert isinstance(error, BoundednessError)
    error.input_name = "sums"
    assert str(error) == (
        "`to_sequence` returns the final value of its input, and sums may never end\n"
        "  sums          LVar[Max[int]], unbounded\n"
        "  to_sequence   (LVar[L], bounded) -> (Sequence[L], bounded)\n"
        "  instead       sums.threshold(t)         one event, when the value has reached t\n"
        "                sums.threshold(t, u, …)   the one threshold that the value reaches"
    )


# --- the illegal operators of §6.2


@dataclass(frozen=True)
class ReadNow(Operator):
    """((v, _), to_sequence) →δ (⊗, to_sequence, [v]): the naive attempt."""

    name = "to_sequence_now"

    def type(self, inputs):
        return (StreamType(Sequence(), inputs[0].bounded),)

    def steps(self, inputs) -> Iterator[Step]:
        if inputs[0].size():
            emitted = Sequence().value([inputs[0].value]).fix()
            yield Step("to-sequence-now", (inputs[0].passed(),), self, (emitted,))


@dataclass(frozen=True)
class ReadAtTheEnd(Operator):
    """((v, true), to_sequence) →δ (⊗, to_sequence, [v]), with a type that takes unbounded inputs."""

    name = "to_sequence_at_the_end"

    def type(self, inputs):
        return (StreamType(Sequence(), inputs[0].bounded),)

    def steps(self, inputs) -> Iterator[Step]:
        if inputs[0].end is End.ARRIVED:
            emitted = Sequence().value([inputs[0].value]).fix()
            yield Step("to-sequence-at-the-end", (inputs[0].passed(),), self, (emitted,))


@dataclass(frozen=True)
class PrintedThreshold(Operator):
    """The printed rules: on an LVar that has ended above the threshold, both are enabled."""

    threshold: int
    name = "threshold_as_printed"

    def type(self, inputs):
        return (StreamType(Sequence(), inputs[0].bounded),)

    def steps(self, inputs) -> Iterator[Step]:
        (value,) = inputs
        if value.end is not End.PASSED and value.lattice.leq(self.threshold, value.value):
            emitted = Sequence().value([self.threshold]).fix()
            yield Step("printed-threshold", (value.passed(),), self, (emitted,))
        if value.end is End.ARRIVED:
            yield Step("printed-threshold-terminated", (value.passed(),), self, (Sequence().bottom().fix(),))


@BOUNDED
def test_reading_at_any_time_is_not_eager(bounded):
    with pytest.raises(AssertionError, match="not eager"):
        check(ReadNow(), LVar[Max[int]], [1, 2], bounded)


def test_waiting_for_an_end_that_may_not_come_makes_no_progress():
    assert check(ReadAtTheEnd(), LVar[Max[int]], [1, 2]) == ([2], True)
    with pytest.raises(AssertionError, match="outputs are not maximal"):
        check(ReadAtTheEnd(), LVar[Max[int]], [1, 2], bounded=False)


def test_the_printed_threshold_has_two_outcomes():
    with pytest.raises(AssertionError, match="not eager"):
        check(PrintedThreshold(1), LVar[Max[int]], [1, 2])
