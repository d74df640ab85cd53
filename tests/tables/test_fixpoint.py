"""`fixpoint` on tables: changes are those of values, cost follows them, and errors change nothing.

tests/recursion compares the results with networkx.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest

import flo
from flo.tables.operators.fixpoint import FixpointTables, Rounds
from flo.tables.operators.rounds import GroupRounds, JoinRounds, LinearInRounds, WeighRounds
from tests.quick import times
from tests.recursion.graphs import Graph
from tests.recursion.programs import PROGRAMS, Arc, Node, build


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.every(test=8)
def test_values_are_the_same(name: str) -> None:
    """As the rounds define it, rows of an output that change included."""
    flow = build(name)
    for seed in range(times(3)):
        tables, values, graph = flow.on(flo.here).loop(), flow.loop(), Graph(f"changes {name} {seed}")
        for _ in range(8):
            delta, after = graph.draw()
            values.push(**delta.pushed)
            try:
                values.run()
            except flo.FixpointError:
                with pytest.raises(flo.FixpointError):
                    tables.push(**delta.pushed)
                continue
            tables.push(**delta.pushed)
            graph.there = after
            for output in flow._outputs:
                changes = {tuple(row): weight for row, weight in values.pull(output).items()}
                assert changes_in(tables.pull(output)) == changes, f"seed {seed}"


def changes_in(found: Any) -> dict[tuple[Any, ...], int]:
    return {tuple(row[:-1]): row[-1] for row in zip(*(column.to_pylist() for column in found.columns), strict=True)}


def of_arcs(make: Callable[[flo.Flow, Any], dict[str, Any]]) -> flo.Flow:
    flow = flo.Flow("recursion")
    for name, stream in make(flow, flow.input("arcs", flo.ZSet[Arc])).items():
        flow.output(name, stream)
    return flow


def test_how_the_operators_of_a_body_run() -> None:
    """Joins, unions and `distinct` know rounds; aggregates and others are computed anew for the keys that change. What
    an aggregate gives is a set already."""
    kinds = {
        name: {type(each) for vertex in build(name).on(flo.here)._dag.vertices for each in rounds_in(vertex.operator)}
        for name in PROGRAMS
    }
    assert kinds["closure"] == kinds["parity"] == {JoinRounds, LinearInRounds, WeighRounds}
    assert kinds["game"] == {GroupRounds, LinearInRounds, WeighRounds}
    assert kinds["shortest"] == {GroupRounds, JoinRounds, LinearInRounds}


def rounds_in(operator: Any) -> Iterator[Any]:
    if isinstance(operator, FixpointTables):
        yield from operator._body.operators


def chain(length: int) -> list[Arc]:
    return [Arc(node, node + 1, 1) for node in range(length)]


def reach_from_zero() -> flo.Flow:
    def make(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
        start = flow.constant(flo.ZSet[Node], {Node(0): 1})

        def body(reach: Any) -> Any:
            return start.union(reach.join(arcs, on="node", other_on="src").select(node="dst"))

        return {"reach": flow.fixpoint(reach=flo.ZSet[Node], body=body)}

    return of_arcs(make)


@pytest.mark.thorough
def test_a_chain_is_as_deep_as_it_is_long() -> None:
    """State follows the result, and a change at the end of the chain visits the end only."""
    length = 1000
    loop = reach_from_zero().on(flo.here).loop()
    loop.push(arcs=chain(length))
    assert len(loop.pull("reach")) == length + 1
    rows, _ = loop._loop.state_size()
    assert rows < 5 * length
    loop.push(arcs={Arc(length - 1, length, 1): -1})
    assert changes_in(loop.pull("reach")) == {(length,): -1}
    loop.push(arcs={Arc(0, 1, 1): -1})
    assert len(loop.pull("reach")) == length - 1


def test_rounds_without_changes_are_not_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[int] = []
    take = Rounds._take
    monkeypatch.setattr(Rounds, "_take", lambda self, number: (visited.append(number), take(self, number))[1])
    loop = reach_from_zero().on(flo.here).loop()
    loop.push(arcs=chain(50))
    assert visited == list(range(52))
    visited.clear()
    loop.push(arcs={Arc(40, 60, 1): 1})
    assert visited == [0, 41, 42]


@pytest.mark.thorough
def test_deltas_leave_nothing_behind() -> None:
    """What comes and goes again is consolidated by row and round."""
    loop = build("closure").on(flo.here).loop()
    arcs = [Arc(node, (3 * node + step) % 40, 1) for node, step in product(range(40), (1, 7))]
    loop.push(arcs=arcs)
    loop.pull("closure")
    rows, _ = loop._loop.state_size()
    for number in range(60):
        loop.push(arcs={arcs[number]: -1})
        loop.push(arcs={arcs[number]: 1})
    loop.pull("closure")
    after, _ = loop._loop.state_size()
    assert after < 2 * rows


def test_a_function_that_raises_names_the_line_and_changes_nothing() -> None:
    def make(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
        def body(nodes: Any) -> Any:
            return arcs.select(node="src").union(nodes.map(lambda row: Node(12 // row.node - 1)))

        return {"nodes": flow.fixpoint(nodes=flo.ZSet[Node], body=body)}

    loop = of_arcs(make).on(flo.here).loop()
    loop.push(arcs=[Arc(3, 0, 0)])
    assert changes_in(loop.pull("nodes")) == {(3,): 1}
    with pytest.raises(flo.FunctionError, match="ZeroDivisionError") as caught:
        loop.push(arcs=[Arc(12, 0, 0)])
    assert "lambda row" in str(caught.value)
    assert "Node(node=0)" in str(caught.value)
    loop.push(arcs={Arc(3, 0, 0): -1})
    assert changes_in(loop.pull("nodes")) == {(3,): -1}


class Wide(NamedTuple):
    text: str | None
    number: float
    next: float


def test_extreme_values() -> None:
    """Nulls, nan and both zeros are rows like others."""
    flow = flo.Flow("wide")
    wide = flow.input("wide", flo.ZSet[Wide])

    def body(reach: Any, wide: Any) -> Any:
        return wide.union(
            reach.join(wide, on="next", other_on="number").select(text="text", number="number", next="next_right")
        )

    flow.output("reach", wide.fixpoint(body))
    nan = float("nan")
    rows = [Wide(None, 1.0, -0.0), Wide("", 0.0, nan), Wide("é", nan, float("inf")), Wide("x", 1e308, 5e-324)]
    results = []
    for loop in (flow.on(flo.here).loop(), flow.loop()):
        loop.push(wide=rows)
        loop.run()
        loop.push(wide={rows[1]: -1})
        loop.run()
        results.append(len(loop.result()["reach"]))
    assert results == [3, 3]
