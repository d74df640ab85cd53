"""What a run says of its rounds: `query.progress`, metrics and the live page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.pictures.run_history import History, format_metrics
from flo.shards.plan.explain import plan_blocks
from flo.shards.watching.watch import QueryWatch
from flo.shards.watching.watched import Watched
from flo.tools.cli import main
from tests.pictures.test_run_page import entry
from tests.recursion.programs import Arc, Node, build
from tests.spark.simulated import Simulated


def reach() -> flo.Flow:
    flow = flo.Flow("reach")
    arcs, starts = flow.input("arcs", flo.ZSet[Arc]), flow.input("starts", flo.ZSet[Node])

    def body(found: Any, starts: Any) -> Any:
        return starts.union(found.join(arcs, on="node", other_on="src").select(node="dst"))

    flow.output("reach", starts.fixpoint(body).named("reach"))
    flow.output("starts", starts)
    return flow


CHAIN = {Arc(node, node + 1, 1): 1 for node in range(3)} | {Arc(0, 9, 1): 1}


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_has_the_rounds_of_a_push(workers: int, tmp_path: Path) -> None:
    """Each with the rows that changed in it. A push that does not reach the fixpoint has none."""
    with reach().on(flo.here, workers=workers).start(checkpoint=tmp_path, shards=2) as query:
        query.push(arcs=CHAIN, starts=[Node(0)])
        assert query.progress[-1].rounds == {"reach": {1: 1, 2: 2, 3: 1, 4: 1}}
        query.push(arcs={Arc(1, 2, 1): -1, Arc(9, 3, 1): 1})
        assert query.progress[-1].rounds == {"reach": {3: 2, 4: 1}}
        query.push(arcs={Arc(7, 8, 1): 1})
        assert query.progress[-1].rounds == {"reach": {}}
    with reach().on(flo.here, workers=workers).start(checkpoint=tmp_path, shards=2) as query:
        query.push(starts=[Node(5)])
        assert query.progress[-1].rounds == {"reach": {1: 1}}


def test_the_tasks_of_spark_report_the_rounds(tmp_path: Path) -> None:
    for seed in range(3):  # in one task, or in several
        query = Simulated(reach(), tmp_path / str(seed), shards=3, seed=seed)
        query.turn({"arcs": CHAIN, "starts": {Node(0): 1}})
        assert query.outcome.rounds == {"reach": {1: 1, 2: 2, 3: 1, 4: 1}}
        query.turn({"starts": {Node(2): 1}})
        assert query.outcome.rounds == {"reach": {1: 1, 2: 1, 3: 1, 4: 1}}


def test_the_page_and_the_metrics_have_the_rounds(tmp_path: Path) -> None:
    query = Simulated(reach(), tmp_path, shards=2)
    blocks = plan_blocks(query.batches.plan, ["arcs", "starts"], ["reach", "starts"], 2, set())
    ((name, line),) = [each for block in blocks for each in block.fixpoints.items()]
    assert (name, line.partition(":")[0]) == ("reach", "test_rounds_shown.py")
    watch = QueryWatch(Watched("reach", blocks, ["arcs", "starts"], []), query.batches)
    query.turn({"arcs": CHAIN, "starts": {Node(0): 1}})
    watch.note(query.outcome)
    (shown,) = watch.data()["history"]["entries"]
    assert (shown["rounds"], shown["round_rows"]) == ({"reach": 4}, {"reach": 5})
    metrics = watch.metrics()
    assert 'flo_rounds_total{flow="reach",fixpoint="reach"} 4' in metrics
    assert 'flo_round_rows_total{flow="reach",fixpoint="reach"} 5' in metrics


def test_rounds_of_micro_batches_that_are_joined_are_added_up() -> None:
    history = History(most=2)
    for version in range(3):
        history.add(entry(version, rounds={"reach": 2}, round_rows={"reach": 10 * version}))
    assert [each.rounds for each in history.entries] == [{"reach": 4}, {"reach": 2}]
    assert 'flo_round_rows_total{flow="run",fixpoint="reach"} 30' in format_metrics("run", True, history, [])


def test_a_picture_leads_from_a_result_back_to_its_relation() -> None:
    for name, relations in (("closure", ["reach"]), ("parity", ["even", "odd"])):
        drawn = str(build(name).draw())
        assert re.findall(r"the next round reads &#x27;(\w+)&#x27;", drawn) == relations
        assert drawn.count('class="back"') == len(relations)


def test_a_trace_takes_the_rounds_in_one_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "steps.html"
    arcs = [{"src": 0, "dst": 1, "cost": 1}, {"src": 1, "dst": 0, "cost": 1}]
    data = ["--input", f"arcs={arcs}", "--input", "starts=[{'node': 0}]"]
    assert main(["trace", "tests/recursion/test_rounds_shown.py::reach", *data, "--html", str(page)]) == 0
    assert "states" in capsys.readouterr().out
    assert "fixpoint" in page.read_text(encoding="utf-8")
