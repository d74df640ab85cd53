"""The DAG by deltas gives what the paper's tree gives by small steps: outputs, ends and errors; and it visits less."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pytest

import flo
from flo.core.event_loop import EventLoop, RandomSchedule, Snapshot
from flo.core.semantics import attempt_node
from flo.local.here import OnHere, TableLoop
from flo.program.tree import to_graph
from flo.tables.dataflow import StatefulLoop
from tests.engines.engine import comparable
from tests.harness import keeping_all_digits
from tests.quick import times
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES, draw_program
from tests.spark.simulated import as_plain


class Tree(EventLoop, StatefulLoop[Snapshot]):
    """The small steps of the paper, where a loop on tables is expected."""

    def state_size(self) -> tuple[int, int]:
        return 0, 0


def as_tree(program: OnHere, seed: int) -> TableLoop:
    """A loop that runs the same graph on tables by the small steps of the paper, in a random order."""
    loop: Any = program.loop(negative="allow")
    tree = Tree(to_graph(program._dag), program._dag.input_types, RandomSchedule(seed))
    loop._loop = loop._feeder.loop = tree
    return loop


def outcome(program: OnHere, loop: TableLoop) -> dict[str, Any]:
    types = dict(zip(program._flow._outputs, program._dag.output_types, strict=False))
    result = loop.result()
    return {name: (comparable(as_plain(types[name], table)), result.fixed(name)) for name, table in result.items()}


@pytest.mark.parametrize("seed", range(times(40)))
def test_random_programs_give_what_the_tree_gives(seed: int) -> None:
    program = draw_program(seed)[0].on(flo.here)
    dag, tree = program.loop(negative="allow"), as_tree(program, seed)
    with keeping_all_digits():
        for delta in random_deltas(SOURCES, seed, 3, 3):
            dag.push(**delta)
            tree.push(**delta)
            assert outcome(program, dag) == outcome(program, tree)
        for name in SOURCES:
            dag.end(name)
            tree.end(name)
            assert outcome(program, dag) == outcome(program, tree)


def inverse(x: int) -> float:
    return 1 / x


def failing() -> flo.Flow:
    """Two functions that raise on other rows, and an output that needs neither."""
    flow = flo.Flow("failing")
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("inverse", numbers.map(inverse))
    flow.output("less", numbers.map(lambda x: x - 3).map(inverse))
    flow.output("same", numbers)
    return flow


@pytest.mark.parametrize("data", [[1, 0, 2], [1, 3, 2], [3, 0], [0, 3]])
def test_errors_are_those_of_the_tree(data: list[int]) -> None:
    program = failing().on(flo.here)
    errors = []
    for loop in (program.loop(), as_tree(program, 1)):
        loop.push(numbers=[5])
        before = outcome(program, loop)
        with pytest.raises(flo.FloError) as caught:
            loop.push(numbers=data)
        assert outcome(program, loop) == before
        loop.push(numbers=[7])
        errors.append((str(caught.value), outcome(program, loop)))
    assert errors[0] == errors[1]


def visits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the operators that run from now on."""
    ran: list[str] = []

    def attempt(node: Any) -> Any:
        ran.append(node.operator.called)
        return attempt_node(node)

    monkeypatch.setattr("flo.tables.dataflow.attempt_node", attempt)
    return ran


def test_operators_whose_inputs_have_not_changed_are_not_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = flo.Flow("two inputs")
    left, right = flow.input("left", flo.ZSet[int]), flow.input("right", flo.ZSet[int])
    for number in range(40):
        flow.output(f"idle {number}", right.filter(lambda x, number=number: x > number))
    joined = left.filter(nw.col("value") > 0).join(right, "value", "value", into={"x": "value"})
    flow.output("joined", joined)
    flow.output("counts", joined.group_by("x").agg(n=flo.count()))
    loop = flow.on(flo.here).loop()
    loop.push(right=[1, 2])
    ran = visits(monkeypatch)
    loop.push(left=[1])
    assert [name for name in ran if name != "map"] == ["filter", "join_zsets", "group_by"], "each once, in order"
    ran.clear()
    loop.push(left=[-1])
    assert ran == ["filter"], "it lets nothing through"
    ran.clear()
    loop.push(left=[])
    assert not ran
