"""Replay: a trace that was shown is run again exactly, and one that does not fit is refused."""

from __future__ import annotations

import json

import pytest

import flo
import flo.verify
from flo.verify.seeded.lvars import CurrentValue
from flo.verify.seeded.operators import Endless, Hanging, Hasty, Mistyped, Racing
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
    again = eval(found.reproduce, {"flo": flo, type(operator).__name__: type(operator)})
    assert [str(plain) for plain in again.outputs.values()] == [found.outcomes[1].removesuffix(" ⊗")]
    assert again.events[-len(found.columns[1]) :] == found.columns[1]


@pytest.mark.parametrize("operator", [Endless(), Mistyped()], ids=lambda each: each.name)
def test_the_line_to_paste_takes_the_step_that_breaks_a_law(operator: flo.Operator) -> None:
    found = flo.verify.check(operator).counterexample
    assert found is not None
    again = eval(found.reproduce, {"flo": flo, type(operator).__name__: type(operator)})
    assert again.events == found.columns[0]


def test_moves_with_one_name_are_numbered() -> None:
    flow = flo.Flow()
    bag = flow.input("bag", flo.Bag[int])
    flow.output("out", bag.map(str))
    assert flow.replay("bag#2 map-bag", bag=[1, 2]).outputs == {"out": {"2": 1}}
    (trace,) = flow.explore(bag=[1, 2]).traces
    assert "#1" in trace
    assert flow.replay(trace, bag=[1, 2]).outputs == {"out": {"1": 1, "2": 1}}
    with pytest.raises(flo.UnknownNameError, match=r"move 1, `bag`, is not enabled"):
        flow.replay("bag map-bag", bag=[1, 2])


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
    assert trace == "new_orders map"
    assert flow.replay(trace, **{"new orders": [-1]}).outputs == {"out": [1]}
