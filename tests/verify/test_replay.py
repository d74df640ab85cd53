"""Replay: a trace that was shown is run again exactly, and one that does not fit is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

import flo
import flo.verify
from flo.values.weighted import BagValue
from tests.seeded.lvars import CurrentValue
from tests.seeded.operators import Endless, Hanging, Hasty, Mistyped, Racing
from tests.verify.pasting import pasted
from tests.verify.test_explore import branching, race


def test_the_traces_of_an_exploration_give_its_outcomes() -> None:
    flow = race()
    found = flow.explore(largest=[1, 2])
    for trace, outcome in zip(json.loads(json.dumps(found.traces)), found.outcomes, strict=False):
        again = flow.replay(trace, largest=[1, 2])
        assert again.outputs == {"seen": flo.Sequence(int).plain(outcome[0])}
    assert flow.replay(found.traces[0], largest=[1, 2]).outputs != flow.replay(found.traces[1], largest=[1, 2]).outputs


def test_a_replay_records_its_steps() -> None:
    flow = branching()
    (trace,) = flow.explore(left=[1, 2], right=[4]).traces
    again = flow.replay(trace, left=[1, 2], right=[4])
    assert again.outputs == flow.run(left=[1, 2], right=[4])
    assert again.fixed == {"sums": False, "both": False, "total": True}
    assert [step.rule for step in again.steps].count("nest-run-graph") > 1
    assert len(again.events) == len(trace.split())
    assert str(again).startswith("  1  ")


@pytest.mark.parametrize("operator", [CurrentValue(), Hanging(), Racing(), Hasty()], ids=lambda each: each.name)
def test_the_line_to_paste_shows_the_second_outcome(operator: flo.Operator) -> None:
    found = flo.verify.check(operator).counterexample
    assert found is not None
    again = pasted(found.reproduce, **{type(operator).__name__: type(operator)})
    assert [str(plain) for plain in again.outputs.values()] == [found.outcomes[1].removesuffix(" ⊗")]
    assert again.events[-len(found.columns[1]) :] == found.columns[1]


@pytest.mark.parametrize("operator", [Endless(), Mistyped()], ids=lambda each: each.name)
def test_the_line_to_paste_takes_the_step_that_breaks_a_law(operator: flo.Operator) -> None:
    found = flo.verify.check(operator).counterexample
    assert found is not None
    again = pasted(found.reproduce, **{type(operator).__name__: type(operator)})
    assert again.events == found.columns[0]


def test_moves_name_what_they_take() -> None:
    flow = flo.Flow()
    bag = flow.input("bag", flo.Bag[int])
    flow.output("out", bag.map(str))
    assert flow.replay("bag←2 map-bag(2)", bag=[1, 2]).outputs == {"out": {"2": 1}}
    assert flow.replay("bag←2 map-bag", bag=[1, 2]).outputs == {"out": {"2": 1}}
    (trace,) = flow.explore(bag=[1, 2]).traces
    assert "map-bag(1)" in trace
    assert flow.replay(trace, bag=[1, 2]).outputs == {"out": {"1": 1, "2": 1}}
    with pytest.raises(flo.UnknownNameError, match=r"move 1, `bag`, is not enabled"):
        flow.replay("bag map-bag", bag=[1, 2])


def test_moves_with_one_name_are_numbered() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("bag", flo.Bag[str]).map(str.upper))
    assert flow.replay("bag←'ab'#2 map-bag('ab')", bag=["ab", "a b"]).outputs == {"out": {"A B": 1}}


def small_steps_only(total: int, x: int) -> int:
    return total + x if total + x < 7 else x


def order_matters() -> flo.Flow:
    flow = flo.Flow("order")
    x = flow.input("x", flo.Bag[int], bounded=True)
    flow.output("o", x.fold(0, small_steps_only, commutative="it is not"))
    return flow


def test_traces_replay_where_equal_bags_list_their_elements_in_another_order() -> None:
    flow = order_matters()
    for data in ([3, 1, 2, 5], [5, 2, 1, 3], [2, 2, 6, 1]):
        found = flow.explore(x=data)
        assert not found.ok
        for trace, (outcome,) in zip(found.traces, found.outcomes, strict=False):
            assert flow.replay(trace, x=data).outputs == {"o": flo.Sequence(int).plain(outcome)}


def test_random_traces_replay_as_well() -> None:
    flow = order_matters()
    for seed in range(5):
        found = flow.explore(x=list(range(1, 9)), most_states=200, seed=seed)
        assert not found.complete
        for trace, (outcome,) in zip(found.traces, found.outcomes, strict=False):
            assert flow.replay(trace, x=list(range(1, 9))).outputs == {"o": flo.Sequence(int).plain(outcome)}


@dataclass(frozen=True)
class Rash(flo.Operator):
    """Drops its elements step by step; `advance` keeps the first that a bag lists."""

    kept: int = 0
    name = "rash"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return inputs

    def steps(self, inputs: tuple[flo.Value, ...]) -> Iterator[flo.Step]:
        (value,) = inputs
        assert isinstance(value, BagValue)
        for _, rest in value.units():
            yield flo.Step("advance", (rest,), self, (None,))

    def advance(self, inputs: tuple[flo.Value, ...]) -> Iterator[flo.Step]:
        (value,) = inputs
        assert isinstance(value, BagValue)
        if units := value.all_units():
            yield flo.Step("advance", (value.drained(),), self, (BagValue.of(units[:1]),))


def test_an_advance_that_depends_on_the_order_replays() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("bag", flo.Bag[int]).apply(Rash())[0])
    found = flow.explore(bag=[3, 1, 2])
    assert len(found.outcomes) == 2
    for trace, (outcome,) in zip(found.traces, found.outcomes, strict=True):
        assert flow.replay(trace, bag=[3, 1, 2]).outputs == {"out": flo.Bag(int).plain(outcome)}


def test_the_line_of_an_exploration_replays_both_columns() -> None:
    flow = order_matters()
    found = flow.explore(x=[3, 1, 2, 5]).counterexample
    assert found is not None
    runs = pasted(found.reproduce, flow=flow)
    assert [f"{run.outputs['o']} ⊗" for run in runs] == list(found.outcomes)
    assert all(str(run).endswith(f"=  o: {run.outputs['o']} ⊗") for run in runs)


def test_an_input_may_be_called_like_a_rule() -> None:
    flow = flo.Flow()
    flow.output("n", flow.input("count", flo.Sequence[int], bounded=True).count())
    (trace,) = flow.explore(count=[1, 2]).traces
    assert flow.replay(trace, count=[1, 2]).outputs == {"n": [2]}


def test_what_is_no_trace_is_refused() -> None:
    with pytest.raises(flo.UnknownNameError, match="`trace` must be a str; got NoneType"):
        race().replay(None, largest=[1])  # type: ignore[arg-type]
    with pytest.raises(flo.ElementError, match="`largest`"):
        race().replay("largest", largest=["a"])


def test_a_trace_that_does_not_fit_is_refused() -> None:
    with pytest.raises(flo.UnknownNameError) as caught:
        race().replay("largest current-value current-value", largest=[1, 2])
    assert "move 3, `current-value`, is not enabled" in str(caught.value)
    assert "enabled" in str(caught.value)
    assert "largest" in str(caught.value)
    with pytest.raises(flo.UnknownNameError, match="no input called `smallest`"):
        race().replay("largest", smallest=[1])


def test_names_with_spaces_are_one_word_in_a_trace() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("new orders", flo.Sequence[int]).map(abs))
    (trace,) = flow.explore(**{"new orders": [-1]}).traces
    assert trace == "new_orders←-1 map"
    assert flow.replay(trace, **{"new orders": [-1]}).outputs == {"out": [1]}
