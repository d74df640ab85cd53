"""Exploration: every schedule and every cut of the inputs, counted; one outcome, or two traces that differ."""

from __future__ import annotations

import random
from math import comb

import pytest

import flo
from flo.core.operator import concat_all
from flo.core.semantics import small_steps
from flo.core.typing import program
from flo.verify import laws
from flo.verify.exploration.arrivals import pieces, split_into_channels
from flo.verify.exploration.explore import StateSearch
from flo.verify.exploration.space import Space
from tests.seeded.lvars import CurrentValue
from tests.seeded.operators import Endless, Hasty


def increment(x: int) -> int:
    return x + 1


def both(a: int, b: int) -> int:
    return a + b


def test_schedules_are_counted() -> None:
    """n elements through one operator: an arrival before each step, so the Catalan numbers."""
    flow = flo.Flow()
    flow.output("out", flow.input("numbers", flo.Sequence[int]).map(increment))
    for count in range(6):
        found = flow.explore(numbers=list(range(count)))
        assert found.ok
        assert found.complete
        assert found.schedules == comb(2 * count, count) // (count + 1)
        assert found.states == (count + 1) * (count + 2) // 2


def test_two_inputs_interleave() -> None:
    flow = flo.Flow()
    left, right = flow.input("left", flo.Sequence[int]), flow.input("right", flo.Sequence[int])
    flow.output("out", left.zip(right))
    found = flow.explore(left=[1, 2], right=[3, 4])
    assert found.ok
    assert found.complete
    assert "zip" in found.rules


def test_elements_without_order_arrive_in_any_order() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("bag", flo.Bag[int]).map(increment))
    assert flow.explore(bag=[1, 2]).schedules > flow.explore(bag=[1, 1]).schedules


def test_ends_come_last() -> None:
    flow = flo.Flow()
    flow.output("total", flow.input("bag", flo.Bag[int], bounded=True).sum())
    found = flow.explore(bag=[1, 2, 3])
    assert found.ok
    (outcome,) = found.outcomes
    assert outcome[0] == flo.Sequence(int).value([6]).fix()


@pytest.mark.parametrize(
    ("collection", "data", "expected"),
    [
        (flo.Bag[int], [1, 1, 2], [2, 1]),
        (flo.Set[int], [1, 1, 2], [2, 1]),
        (flo.ZSet[int], [{1: 1}, {1: -1}, {1: 1}], [2, 1]),
        (flo.LVar[flo.Max[int]], [1, 2], [2]),
        (flo.LVar[flo.Max[int]], 2, [1]),
        (flo.Keyed[str, flo.Sequence[int]], {"a": [1, 2], "b": []}, [2, 1]),
        (flo.Nested[flo.Sequence[int]], [[1, 2], []], [6]),
    ],
)
def test_data_is_cut_as_finely_as_it_can_be(collection: type, data: object, expected: list[int]) -> None:
    kind = flo.Collection.of(collection)
    found = pieces(kind, data)
    assert [len(part) for part in found] == expected
    value = kind.bottom()
    for part in found:
        for delta in part:
            value = value.concat(delta)
            assert value in kind
    if not isinstance(data, list) or collection is flo.Bag[int]:
        assert value == kind.bottom().concat(kind.value(data))


def race() -> flo.Flow:
    flow = flo.Flow("race")
    (seen,) = flow.input("largest", flo.LVar[flo.Max[int]]).apply(CurrentValue())
    flow.output("seen", seen)
    return flow


def test_a_race_is_found_with_two_traces() -> None:
    found = race().explore(largest=[1, 2])
    assert not found.ok
    assert set(found.traces) == {
        "largest←1 largest←2 current-value",
        "largest←1 current-value largest←2 current-value",
    }
    assert found.counterexample is not None
    assert found.counterexample.law == laws.GRAPH_EAGER_EXECUTION
    assert max(map(len, found.counterexample.columns)) <= 3
    assert "2 outcomes" in str(found)
    assert "largest ← 2" in str(found)


def test_a_space_that_is_too_large_is_sampled_and_says_so() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("out", numbers.map(increment).map(increment))
    found = flow.explore(numbers=list(range(8)), most_states=50, seed=3)
    assert found.ok
    assert not found.complete
    assert "seed 3" in str(found)
    assert found.traces == flow.explore(numbers=list(range(8)), most_states=50, seed=3).traces


def test_a_race_is_found_at_random_as_well() -> None:
    found = race().explore(largest=list(range(12)), most_states=60)
    assert not found.complete
    assert not found.ok
    assert found.counterexample is not None
    assert found.counterexample.law == laws.GRAPH_EAGER_EXECUTION


@pytest.mark.parametrize("most_states", [100_000, 100])
def test_where_the_steps_alone_make_the_difference_it_is_determinism(most_states: int) -> None:
    flow = flo.Flow()
    bag = flow.input("bag", flo.Bag[int], bounded=True)
    flow.output("last", bag.fold(0, lambda last, x: x, commutative="it is not"))
    found = flow.explore(bag=[1, 2, 3, 4], most_states=most_states)
    assert found.complete == (most_states == 100_000)
    assert found.counterexample is not None
    assert found.counterexample.law == laws.DETERMINISM
    assert "bag ends" in found.counterexample.about


def test_data_of_an_input_that_is_called_like_an_option() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("seed", flo.Sequence[int]).map(increment))
    assert flow.explore({"seed": [1, 2]}, seed=3, most_states=5).seed == 3
    assert flow.explore({"seed": [1, 2]}).outcomes == ((flo.Sequence(int).value([2, 3]),),)
    with pytest.raises(flo.NameTakenError, match="`seed` is both an input of this flow and an option of `explore`"):
        flow.explore(seed=[1, 2])  # type: ignore[arg-type]
    with pytest.raises(flo.UnknownNameError, match="data by input name"):
        flow.explore([1, 2])  # type: ignore[arg-type]


def test_what_cannot_be_explored_is_refused_on_the_line() -> None:
    with pytest.raises(flo.LawError, match="`most_states` must be an integer ≥ 1; got 0"):
        race().explore(largest=[1], most_states=0)
    flow = flo.Flow()
    flow.output("out", flow.input("x", flo.Sequence[int]).map(increment))
    with pytest.raises(flo.ElementError) as caught:
        flow.explore(x=["a"])
    assert "element 0 of `x` is not of type int" in str(caught.value)
    assert "test_explore.py" in str(caught.value)


def test_nan_is_nan() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
    flow.output("out", numbers.map(lambda x: float("nan")).fold((0.0,), lambda acc, x: (acc[0] + x,)))
    assert flow.explore(numbers=[1, 2]).ok
    report = flo.verify.check(flow, most=2, tries=5)
    assert report.counterexample is None, str(report)


def test_three_operators_and_six_elements_are_explored_completely() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("out", numbers.map(increment).filter(lambda x: x % 2).scan(0, lambda a, x: a + x))
    found = flow.explore(numbers=[1, 2, 3, 4, 5, 6])
    assert found.ok
    assert found.complete


def test_an_advance_that_does_not_agree_with_the_steps_is_found() -> None:
    flow = flo.Flow()
    (out,) = flow.input("numbers", flo.Sequence[int]).apply(Hasty())
    flow.output("out", out)
    found = flow.explore(numbers=[1, 2])
    assert not found.ok
    assert "advance()" in found.traces[1].split()


def test_a_program_that_steps_for_ever_is_refused() -> None:
    flow = flo.Flow()
    (out,) = flow.input("numbers", flo.Sequence[int]).apply(Endless())
    flow.output("out", out)
    with pytest.raises(flo.LawError, match="`endless` can be taken forever"):
        flow.explore(numbers=[1])


def branching() -> flo.Flow:
    """Sequences and parallels, a nest, a tee and two inputs."""
    flow = flo.Flow("branching")
    left, right = flow.input("left", flo.Sequence[int]), flow.input("right", flo.Bag[int], bounded=True)
    flow.output("sums", left.batch(2).nest(lambda batch: batch.fold(0, both)))
    flow.output("both", left.map(increment).zip(left))
    flow.output("total", right.map(increment).sum())
    return flow


def test_the_space_has_the_steps_of_the_semantics() -> None:
    """In every state along random ways: the same rules, graphs and outputs, in the same order."""
    flow = branching()
    graph = flow.graph()
    types = (flo.StreamType(flo.Sequence(int), bounded=False), flo.StreamType(flo.Bag(int), bounded=True))
    space = Space(graph, program(graph, types).outputs, ("left", "right"))
    channels = split_into_channels({0: [1, 2, 3], 1: [4, 5]}, types)
    for seed in range(5):
        choose, state, steps = random.Random(seed).choice, space.start(channels), 0
        while found := space.next_moves(state):
            before, outputs = space.graph_of(state), space.outputs_of(state)
            expected = [(step.path, step.graph, concat_all(outputs, step.outputs)) for step in small_steps(before)]
            arriving = len(space.next_arrivals(state))
            steps += len(expected)
            given = [(move.rules, space.graph_of(after), space.outputs_of(after)) for move, after in found]
            assert given[: len(given) - arriving] == expected
            state = choose(found)[1]
        assert steps > 20


def test_states_are_kept_as_numbers_and_each_once() -> None:
    flow = branching()
    graph = flow.graph()
    types = (flo.StreamType(flo.Sequence(int), bounded=False), flo.StreamType(flo.Bag(int), bounded=True))
    space = Space(graph, program(graph, types).outputs)
    search = StateSearch(space, space.start(split_into_channels({0: [1], 1: [4]}, types)))
    assert search.run(100_000)
    assert all(isinstance(part, int) for state in search.numbers for part in state)
    whole = {(str(space.graph_of(s)), str(space.outputs_of(s)), space.arrived_counts(s)) for s in search.numbers}
    assert len(whole) == len(search.numbers)
    assert not StateSearch(space, space.start(split_into_channels({0: [1], 1: [4]}, types))).run(10)


def test_elements_that_cannot_be_hashed_are_merged_as_well() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("rows", flo.Sequence[list[int]]).map(sorted))
    found = flow.explore(rows=[[2, 1], [1, 2]])
    assert found.ok
    assert found.schedules == 2
    assert found.states == 6
