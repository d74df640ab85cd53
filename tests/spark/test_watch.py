"""Watching a query: the figures of its page are those of its micro-batches, its state and its views."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.pictures.run_graph import RunGraph
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.watching.watch import Allowance, QueryWatch
from flo.shards.watching.watched import Watched, late_outputs
from flo.spark.driver.spark_reports import read_report
from flo.spark.on_spark import OnSpark
from tests.pictures.test_pages import Checked
from tests.quick import sample
from tests.spark.harness import fed
from tests.spark.shops import Sale, sales
from tests.spark.simulated import NO_SPARK, Simulated


def program() -> flo.Flow:
    flow = flo.Flow("shops")
    sold = flow.input("sales", flo.Sequence[Sale])
    flow.output("sums", sold.to_zset().group_by("shop").agg(sum=flo.sum("price")))
    windows = sold.tumbling(10, "price", 1)
    flow.output("counts", windows.nest(lambda window: window.count()).flatten())
    return flow


class Run:
    """A query that runs in this process, and is watched."""

    def __init__(self, folder: Path) -> None:
        self.simulated = Simulated(program(), folder, shards=3)
        on = OnSpark(program(), NO_SPARK)
        watched = Watched("shops", on._blocks(3), ["sales"], late_outputs(on._flow), on._flow)
        self.state = ("running", "")
        self.reports: list[Any] = []
        self.watch = QueryWatch(
            watched,
            self.simulated.batches,
            lambda: self.state,
            lambda count: list(map(read_report, self.reports[-count:])),
        )

    def turn(self, count: int = 20) -> None:
        version = self.simulated.version
        rows = [Sale(f"<{number % 4}>", 10 * version + number % 25) for number in range(count)]
        self.simulated.turn({"sales": rows})
        self.watch.note(self.simulated.outcome)
        durations = {"queryPlanning": 7 + version, "addBatch": 80, "triggerExecution": 100 + version}
        self.reports += [{"batchId": version, "durationMs": durations}, {"batchId": version + 1, "durationMs": {}}]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    found = Run(tmp_path)
    yield found
    found.watch.end()


def test_the_figures_of_every_micro_batch(run: Run, tmp_path: Path) -> None:
    run.turn()
    run.turn(30)
    run.watch.look(patient=False)
    data = run.watch.data()
    first, last = data["history"]["entries"]
    assert (first["taken"], last["taken"]) == ({"sales": 20}, {"sales": 30})
    assert last["stage_rows"][1] >= 30
    assert set(last["stage_seconds"]) == set(last["stage_bytes"]) == {1, 2}
    assert sum(last["changes"][name] for name in data["late"]) > 0
    assert (first["lag"], last["lag"]) == (0.1, 0.101)
    sizes = list(Checkpoint(str(tmp_path)).sizes(1))
    for level in (1, 2):
        own = [each.bytes for each in sizes if each.level == level and each.bytes]
        assert last["stage_bytes"][level] + 64 * len(own) >= sum(own) > 0  # each is compressed by itself
    assert "stage 1, 2 shards" in OnSpark(program(), NO_SPARK)._repr_html_()
    names = [name for block in data["plan"] for name, *_ in block["operators"]]
    assert any(name.startswith("tumbling") for name in names)


def test_the_figures_of_a_micro_batch_get_the_phases_of_spark(run: Run) -> None:
    run.turn()
    first = run.simulated.outcome.figures.phases
    run.watch.read_reports()
    run.turn()
    assert "planning" not in run.simulated.outcome.figures.phases
    run.watch.look(patient=False)
    run.watch.read_reports()
    assert first["planning"] == 0.007
    assert run.simulated.outcome.figures.phases["planning"] == 0.008
    entries = run.watch.data()["history"]["entries"]
    assert [each["phases"]["planning"] for each in entries] == [0.007, 0.008]


def test_what_spark_does_to_call_flo_has_a_name(run: Run) -> None:
    run.turn()
    phases = run.simulated.outcome.figures.phases
    phases.clear()
    phases["operators"] = 0.03
    run.watch.read_reports()
    expected = {"operators": 0.03, "planning": 0.007, "handing over": 0.05, "other": 0.013}
    assert {name: phases[name] for name in expected} == pytest.approx(expected)
    assert sum(phases.values()) == pytest.approx(0.1), "the time of the micro-batch"


def test_figures_do_not_depend_on_how_tasks_are_cut(tmp_path: Path) -> None:
    """Rows of verbs and clocks are the same in one task and in several. Rows of shards may be summed before."""
    found = []
    for seed in (None, *sample(range(1, 6))):
        simulated = Simulated(program(), tmp_path / str(seed), shards=3, seed=seed)
        for number in range(3):
            rows = [Sale(f"<{each % 4}>", 10 * number + each % 25) for each in range(20)]
            simulated.turn({"sales": rows})
        figures = RunGraph(program()).figures(simulated.outcome.figures.work)
        names = [text.split("(")[0] for text in RunGraph(program()).texts]
        verbs = dict(zip(names, figures, strict=True))
        (clock,) = simulated.outcome.figures.clocks.values()
        found.append((verbs["to_zset"][:2], verbs["nest"][:2], verbs["flatten"][:2], clock.to_data()))
    assert found[0][0] == (20, 20)
    assert found[0][3]["latest"] == "39"
    assert found[1:] == found[:1] * (len(found) - 1)


def test_the_state_that_is_shown_is_on_the_disk(run: Run, tmp_path: Path) -> None:
    """After one micro-batch nothing on the disk is old: all files of states are the state."""
    run.turn()
    run.watch.look(patient=False)
    (entry,) = run.watch.history.entries
    files = [each for each in (tmp_path / "state").rglob("*") if each.is_file() and each.parent.name != "manifests"]
    assert sum(entry.stage_bytes.values()) == sum(each.stat().st_size for each in files)


def test_views_are_read_when_they_are_shown(run: Run) -> None:
    run.turn()
    assert [each["version"] for each in run.watch.data()["views"]] == [-1, -1, -1]
    asked = run.watch.data_for({"views": "0", "grain": "1", "count": "0"})
    (view,) = asked["views"]
    assert (view["name"], view["version"], view["columns"]) == ("sums", 0, ["shop", "sum", "_weight"])
    assert sorted(row[0] for row in view["rows"]) == ["<0>", "<1>", "<2>", "<3>"]
    assert all(each["version"] == 0 for each in run.watch.final_data()["views"])


def test_looking_takes_a_share_of_the_time(run: Run) -> None:
    run.turn()
    run.watch.look()
    run.turn()
    run.watch._looks._due = float("inf")
    run.watch.look()
    assert run.watch.history.entries[-1].lag is None, "it rests"
    run.watch.look(patient=False)
    assert run.watch.history.entries[-1].lag is not None
    allowance = Allowance(share=1e-9)
    with allowance.spend():
        sum(range(1000))
    assert not allowance.is_due()


def test_what_waits_in_topics_is_counted() -> None:
    kafka = {"endOffset": {"a": {"0": 5, "1": 7}}, "latestOffset": {"a": {"0": 9, "1": 7}}}
    texts = {name: json.dumps(value) for name, value in kafka.items()}
    files = {"endOffset": {"logOffset": 3}, "latestOffset": None}
    report = {"batchId": 4, "durationMs": {"addBatch": 1, "triggerExecution": 250}}

    def lag_and_waiting(*sources: Any, **more: Any) -> tuple[int, float | None, int | None]:
        found = read_report({**report, "sources": sources, **more})
        return found.number, found.lag, found.waiting

    assert lag_and_waiting(kafka, files) == (4, 0.25, 4)
    assert lag_and_waiting(texts) == (4, 0.25, 4)
    assert lag_and_waiting(files) == (4, 0.25, None)
    assert lag_and_waiting(kafka, batchId=5, durationMs={"triggerExecution": 2}) == (5, None, 4)


def test_a_query_has_a_page_and_its_jobs_have_names(spark: Any, tmp_path: Path) -> None:
    """On Spark: the page, live and saved, and what Spark's own pages show."""
    query = fed(spark, program(), {"sales": [list(sales(0, 8)), list(sales(8, 8))]}, tmp_path)
    with query.ui() as server:
        assert server.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{server.url}data?views=0", timeout=600) as answer:
            data = json.load(answer)
        with urllib.request.urlopen(f"{server.url}metrics", timeout=600) as answer:
            assert 'flo_rows_taken_total{flow="shops",input="sales"} 16' in answer.read().decode()
    assert data["state"] == "ended"
    assert [entry["version"] for entry in data["history"]["entries"]] == [0, 1]
    last = data["history"]["entries"][1]
    assert last["lag"] > 0
    assert {"asking sources", "offset log", "handing over", "scheduling", "operators", "commit"} <= set(last["phases"])
    assert sum(last["phases"].values()) == pytest.approx(last["lag"], abs=0.01), "Spark counts in milliseconds"
    assert [verb["all"]["taken"] for verb in data["verbs"]][:2] == [16, 16]
    assert all(verb["all"]["seconds"] > 0 for verb in data["verbs"])
    assert sum(rows for _, rows, _ in data["shards"][0]["rows"]) == data["shards"][0]["total"] >= 16
    assert data["clocks"][0]["verb"].startswith("tumbling(10")
    assert data["views"][0]["version"] == 1
    with query.ui() as server:
        asked = "sql?query=SELECT+sum(sum)+AS+total+FROM+sums"
        with urllib.request.urlopen(f"{server.url}{asked}", timeout=600) as answer:
            assert json.load(answer)["rows"] == [[str(sum(sale.price for sale in sales(0, 16)))]]
    query.save(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    Checked(page)
    assert '"version":1,"columns":["shop","sum","_weight"]' in page
    assert "<td>1</td>" in query._repr_html_()
    _expect_names(spark, str(query._query.runId))


def test_a_query_has_one_page_which_is_closed_when_it_is_stopped(spark: Any, tmp_path: Path) -> None:
    query = fed(spark, program(), {"sales": [list(sales(0, 8))]}, tmp_path)
    server = query.ui()
    assert query.ui() is query.ui(server.port) is server
    with pytest.raises(flo.FloError, match=f"served at port {server.port} already"):
        query.ui(server.port - 1)
    query.stop()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.url, timeout=600)
    with query.ui() as again, urllib.request.urlopen(f"{again.url}metrics", timeout=600) as answer:
        assert "flo_rows_taken_total" in answer.read().decode()
    with query.ui() as third:
        assert third is not again


def _expect_names(spark: Any, run: str) -> None:
    context = spark.sparkContext
    tracker = context.statusTracker()
    jobs = {job: tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(run)}
    assert jobs, "the jobs still belong to the query, which ends them when it is stopped"
    stages = [tracker.getStageInfo(stage) for job in jobs.values() for stage in job.stageIds]
    assert {stage.name for stage in stages if stage is not None} >= {f"flo shops, micro-batch {n}" for n in (0, 1)}
    store = context._jsc.sc().statusStore()
    described = {store.job(job).description().get() for job in jobs}
    assert any("micro-batch 1: stage 1: " in each and "group_by" in each for each in described)
