"""`fixpoint` as the verbs build it: its type, its rounds, what its body may use, and what programs know of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.program.retractions import causes_of_pushes, find_retractions
from tests.quick import is_thorough, times

LARGEST = 3 if is_thorough() else 1
"""All inputs of up to so many elements are tried."""


class Edge(NamedTuple):
    src: int
    dst: int


class Node(NamedTuple):
    node: int


def closure(reach: Any, edges: Any) -> Any:
    return edges.union(reach.join(edges, on="dst", other_on="src").select(src="src", dst="dst_right"))


def reach_of_edges(**options: Any) -> tuple[flo.Flow, Any]:
    flow = flo.Flow("reach")
    edges = flow.input("edges", flo.ZSet[Edge], **options)
    reach = edges.fixpoint(closure)
    flow.output("reach", reach)
    return flow, reach


def push(loop: Any, **deltas: Any) -> None:
    loop.push(**deltas)
    loop.run()


def test_fixpoint_type() -> None:
    """The body is typed as that of a nest: a round is complete, so its streams are bounded. The result is bounded if
    all inputs are."""
    for bounded in (True, False):
        flow, reach = reach_of_edges(bounded=bounded)
        assert reach.bounded is bounded
        (judged,) = flow.type().premises
        assert judged.rule == "fixpoint-type"
        (body,) = judged.premises
        assert [stream.bounded for stream in (*body.inputs, *body.outputs)] == [True] * 3


def test_fixpoint_step() -> None:
    """A step takes all that has arrived, and runs as many rounds as it takes."""
    flow, _ = reach_of_edges()
    loop = flow.loop(record=True)
    loop.push(edges=[Edge(1, 2), Edge(2, 3)])
    loop.run()
    assert [step.rule for step in loop.history] == ["fixpoint"]
    assert loop.pull("reach") == {Edge(1, 2): 1, Edge(2, 3): 1, Edge(1, 3): 1}


def test_fixpoint_terminated() -> None:
    flow, _ = reach_of_edges(bounded=True)
    result = flow.run(edges=[Edge(1, 2), Edge(2, 1)])
    assert result["reach"] == {Edge(a, b): 1 for a in (1, 2) for b in (1, 2)}


def test_every_schedule_has_one_result() -> None:
    flow, _ = reach_of_edges()
    exploration = flow.explore(edges=[{Edge(1, 2): 1}, {Edge(2, 1): 1}, {Edge(1, 2): -1}])
    assert exploration.ok


def test_the_laws_hold() -> None:
    flow, _ = reach_of_edges()
    report = flo.verify.check(flow, most=LARGEST, tries=times(3))
    assert report.ok, report


@pytest.mark.thorough
def test_the_laws_hold_with_rows_of_its_own() -> None:
    flow = flo.Flow("own")
    nodes = flow.input("nodes", flo.ZSet[Node])
    flow.output("nodes", nodes.fixpoint(lambda all_nodes, nodes: with_zero(all_nodes.union(nodes))))
    report = flo.verify.check(flow, most=LARGEST, tries=times(20))
    assert report.ok, report
    assert flow.run(nodes=[]) == {"nodes": {Node(0): 1}}


def with_zero(nodes: Any) -> Any:
    """The rows, and a count, which is 0 of no rows."""
    return nodes.filter(nw.col("node") > 0).union(nodes.filter(nw.col("node") < 0).agg(node=flo.count()))


def test_a_row_is_there_once() -> None:
    flow, _ = reach_of_edges()
    loop = flow.loop()
    loop.push(edges={Edge(1, 2): 3, Edge(1, 3): 1, Edge(2, 4): 1, Edge(3, 4): 1})
    loop.run()
    assert loop.pull("reach")[Edge(1, 4)] == 1


def test_the_stream_can_be_used_as_it_is() -> None:
    """A body may have one argument, and use the streams around it. What it computes of these alone is outside."""
    flow = flo.Flow("reach")
    edges = flow.input("edges", flo.ZSet[Edge])
    reach = edges.fixpoint(lambda reach: closure(reach, edges))
    inside = edges.fixpoint(lambda reach: edges.filter(nw.col("src") > 0).union(reach.filter(nw.col("src") > 1)))
    kinds = [type(vertex.operator).__name__ for vertex in flow._scope.vertices]
    assert kinds == ["Map", "Fixpoint", "Filter", "Fixpoint"]
    assert len(inside.vertex.inputs) == 1
    flow.output("reach", reach)
    flow.output("inside", inside)
    result = flow.run(edges=[Edge(1, 2), Edge(2, 3), Edge(0, 1)])
    assert len(result["reach"]) == 6
    assert result["inside"] == {Edge(1, 2): 1, Edge(2, 3): 1}


def test_a_parameter_with_a_default_keeps_it() -> None:
    """It is not given the stream, so a body that is made in a loop of the program keeps its value."""
    flow = flo.Flow("few")
    edges = flow.input("edges", flo.ZSet[Edge])
    for most in (1, 2):
        kept = nw.col("src") <= most
        flow.output(f"one {most}", edges.fixpoint(lambda reach, kept=kept: closure(reach, edges).filter(kept)))
        flow.output(f"two {most}", edges.fixpoint(lambda reach, e, kept=kept: closure(reach, e).filter(kept)))
    result = flow.run(edges=[Edge(1, 2), Edge(2, 3)])
    assert result["one 1"] == result["two 1"] == {Edge(1, 2): 1, Edge(1, 3): 1}
    assert result["one 2"] == result["two 2"] == {Edge(1, 2): 1, Edge(1, 3): 1, Edge(2, 3): 1}


def test_a_stream_of_a_body_stays_in_it() -> None:
    flow = flo.Flow("reach")
    edges = flow.input("edges", flo.ZSet[Edge])
    kept: list[Any] = []

    def body(reach: Any, edges: Any) -> Any:
        kept.append(reach)
        return closure(reach, edges)

    edges.fixpoint(body)
    with pytest.raises(flo.ScopeError, match="used outside the body"):
        edges.union(kept[0])


def test_no_fixpoint() -> None:
    """Nothing has changed after an error, on values and on tables."""
    flow = flo.Flow("count")
    start = flow.input("start", flo.ZSet[Node])

    def body(nodes: Any, start: Any) -> Any:
        return start.union(nodes.filter(nw.col("node") != 5).select(node=nw.col("node") + 1))

    flow.output("nodes", start.fixpoint(body, most_rounds=20))
    for loop in (flow.loop(), flow.on(flo.here).loop()):
        loop.push(start=[Node(4)])
        loop.run()
        with pytest.raises(flo.FixpointError, match="after 20 rounds: rows still change in round 21") as caught:
            push(loop, start=[Node(6)])
        assert "+1" in str(caught.value)
        assert "Node(node=26)" in str(caught.value)
        loop.push(start=[Node(3)])
        loop.run()
        assert len(loop.result()["nodes"]) == 3


def test_rows_that_come_and_go() -> None:
    """A position that wins if the other one does not: two of them alternate."""
    flow = flo.Flow("game")
    moves = flow.input("moves", flo.ZSet[Edge])

    def body(wins: Any) -> Any:
        return moves.join(wins, on="dst", other_on="node", how="anti").select(node="src")

    flow.output("wins", flow.fixpoint(wins=flo.ZSet[Node], body=body, most_rounds=50))
    with pytest.raises(flo.FixpointError, match="round 4 has the same rows as round 2"):
        flow.run(moves={Edge(1, 2): 1, Edge(2, 1): 1})
    with pytest.raises(flo.FixpointError, match="50 rounds"):
        flow.on(flo.here).run(moves={Edge(1, 2): 1, Edge(2, 1): 1})
    assert flow.run(moves={Edge(1, 2): 1, Edge(2, 3): 1})["wins"] == {Node(2): 1}


def test_what_is_inserted_only_is_not_retracted() -> None:
    """Joins and unions of rows that only come lose no row. An aggregate does."""
    flow, _ = reach_of_edges()
    edges = flow._scope.inputs[0]
    least = edges.fixpoint(lambda reach, edges: closure(reach, edges).group_by("src").agg(dst=flo.min("dst")))
    flow.output("least", least)
    dag = flow._identified()
    assert [cause is None for cause in find_retractions(dag, [None])] == [True, False]
    (cause,) = causes_of_pushes({"edges": edges}).values()
    assert all(find_retractions(dag, [cause]))


def test_the_key_of_a_relation() -> None:
    flow, reach = reach_of_edges()
    edges = flow._scope.inputs[0]
    assert reach.key == ("src", "dst")
    least = edges.fixpoint(lambda reach, edges: closure(reach, edges).group_by("src").agg(dst=flo.min("dst")))
    assert least.key == ("src",)


def test_the_body_is_part_of_the_id() -> None:
    def id_of(bound: int, most_rounds: int = 100) -> str:
        flow = flo.Flow("reach")
        edges = flow.input("edges", flo.ZSet[Edge])
        reach = edges.fixpoint(lambda r, e: closure(r, e).filter(nw.col("src") < bound), most_rounds=most_rounds)
        flow.output("reach", reach)
        return flow._identified().vertices[-1].id

    assert id_of(1) == id_of(1) == id_of(1, 200) != id_of(2)


def test_explain_and_pictures_have_the_body() -> None:
    flow, reach = reach_of_edges()
    reach.named("reach")
    text = flow.explain()
    assert "fixpoint(at most 10,000 rounds, each adds rows)" in text
    assert "    input" in text
    drawn = str(flow.draw())
    assert "fixpoint" in drawn
    assert flow._identified().vertices[0].id == "reach"


def test_explain_says_what_the_rounds_do() -> None:
    """A body with an aggregate is defined by its rounds, in which rows may also go."""
    flow = flo.Flow("least")
    edges = flow.input("edges", flo.ZSet[Edge])
    flow.output(
        "least", edges.fixpoint(lambda r, e: closure(r, e).group_by("src").agg(dst=flo.min("dst")), most_rounds=9)
    )
    assert "fixpoint(at most 9 rounds, rows come and go)" in flow.explain()
    plan = flow.on(flo.here).explain()
    assert "2 traces with rounds (keys that change are computed" in plan
    assert "7 on tables, 0 row by row in Python, 0 on values" in plan


def test_the_expression_can_be_read_again() -> None:
    flow, _ = reach_of_edges()
    graph = flow.graph()
    text = flo.show(graph)
    assert text.count("fixpoint") == 1
    assert flo.show(flo.parse(text, flo.names(graph))) == text


def test_random_schedules_agree() -> None:
    flow, _ = reach_of_edges()
    results = []
    for seed in range(3):
        loop = flow.loop(seed=seed)
        for delta in ({Edge(1, 2): 1, Edge(2, 3): 1}, {Edge(3, 1): 1}, {Edge(2, 3): -1}):
            loop.push(edges=delta)
            loop.run()
        results.append(loop.result()["reach"])
    assert results[0] == results[1] == results[2] == {Edge(1, 2): 1, Edge(3, 1): 1, Edge(3, 2): 1}
