"""A small micro-batch runs in the thread of its query. What it gives is what a job of Spark gives."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.shards.plan.rewrites import rewrites
from flo.spark.driver import lasting_tasks
from flo.spark.driver.python_errors import WorkerLost
from flo.spark.driver.tasks_in_driver import LOCAL, collect_in_driver
from tests.spark.harness import fed, values
from tests.spark.shops import DATA, everything, expected, snapshot
from tests.spark.sources import files

PIECES = [pa.table({"value": pa.array(each, pa.int64())}) for each in ([1, 2], [3, None, -4], [], [5, 2**62])]
NAMES = [stream.name for stream in everything()._scope.inputs]
AVAILABLE = {"availableNow": True}


@pytest.fixture
def ways(monkeypatch: Any) -> list[bool]:
    """For each small micro-batch, whether it ran in the driver."""
    found: list[bool] = []

    def noted(*arguments: Any) -> list[bytes] | None:
        values = collect_in_driver(*arguments)
        found.append(values is not None)
        return values

    monkeypatch.setattr(lasting_tasks, "collect_in_driver", noted)
    return found


def jobs_of(spark: Any, query: Any) -> int:
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(query._query.runId))


def test_states_and_results_are_those_of_jobs(spark: Any, tmp_path: Path, monkeypatch: Any, ways: list[bool]) -> None:
    pieces = {name: [data.get(name, []) for data in DATA] for name in NAMES}
    here = fed(spark, everything(), pieces, tmp_path / "here")
    assert True in ways, "small ones run in the driver"
    few = jobs_of(spark, here)
    monkeypatch.setattr(rewrites, "tasks_in_driver", False)
    jobs = fed(spark, everything(), pieces, tmp_path / "jobs")
    assert jobs_of(spark, jobs) == few + ways.count(True)
    assert values(here) == values(jobs) == expected(len(DATA))
    assert snapshot(str(tmp_path / "here" / "checkpoint")) == snapshot(str(tmp_path / "jobs" / "checkpoint"))


def test_masters_whose_tasks_run_elsewhere_or_again() -> None:
    """`local[2, 4]` runs a task up to four times."""
    masters = ["local", "local[2]", "local[*]", "local[2, 4]", "local[*,4]", "local-cluster[1, 1, 512]", "yarn"]
    assert [master for master in masters if LOCAL.fullmatch(master)] == ["local", "local[2]", "local[*]"]


class Number(NamedTuple):
    value: int


def counts(query: Any) -> list[tuple[int, int]]:
    """For each micro-batch the rows that Flo and Spark have counted."""
    spark = {each["batchId"]: each["numInputRows"] for each in query._query.recentProgress}
    return [(sum(each.taken.values()), spark[each.version]) for each in query.progress]


@pytest.mark.parametrize("plan", ["filtered", "shuffled", "python"])
def test_rows_are_counted_as_by_jobs(spark: Any, tmp_path: Path, monkeypatch: Any, ways: list[bool], plan: str) -> None:
    """Rows that Catalyst filters out, too. What needs other tasks or other processes runs as a job."""

    def start(where: str) -> Any:
        rows = files(spark, PIECES, tmp_path / "numbers").where("value is not null")
        if plan == "shuffled":
            rows = rows.repartition(2)
        if plan == "python":
            rows = rows.mapInArrow(lambda batches: batches, "value long")
        flow = flo.Flow("numbers")
        numbers = flow.input("numbers", flo.ZSet[Number])
        flow.output("large", numbers.filter(nw.col("value") > 1).group_by("value").agg(n=flo.count()))
        query = flow.on(spark).start({"numbers": rows}, checkpoint=tmp_path / where, trigger=AVAILABLE)
        query.wait()
        return query

    here = start("here")
    assert set(ways) == {plan == "filtered"}
    monkeypatch.setattr(rewrites, "tasks_in_driver", False)
    jobs = start("jobs")
    assert counts(here) == counts(jobs)
    assert here.view("large").value() == jobs.view("large").value()


def start(spark: Any, folder: Path) -> Any:
    """A query over three numbers. The second one makes the trouble that a file names."""
    trouble = str(folder / "trouble")

    def pass_on(number: int) -> int:
        asked = Path(trouble).read_text() if number == 2 else ""
        if asked == "raise":
            raise ValueError("two")
        if asked == "die":
            os._exit(1)
        if asked == "wait":
            Path(trouble).write_text("waits")
            time.sleep(600)
        return number

    flow = flo.Flow("numbers")
    flow.output("all", flow.input("numbers", flo.ZSet[int]).map(pass_on).distinct())
    rows = files(spark, [pa.table({"value": [number]}) for number in (1, 2, 3)], folder / "numbers")
    return flow.on(spark).start({"numbers": rows}, checkpoint=folder / "c", trigger=AVAILABLE)


def expect_all(spark: Any, folder: Path) -> None:
    """The query goes on after the last committed micro-batch."""
    (folder / "trouble").write_text("none")
    query = start(spark, folder)
    assert query.wait()
    assert query.view("all").value() == {1: 1, 2: 1, 3: 1}


def test_errors_are_those_of_tasks(spark: Any, tmp_path: Path, ways: list[bool]) -> None:
    for trouble, error in (("raise", flo.FunctionError), ("die", WorkerLost)):
        (tmp_path / "trouble").write_text(trouble)
        with pytest.raises(error):
            start(spark, tmp_path).wait()
    assert False not in ways, "one that failed has not run again in another way"
    expect_all(spark, tmp_path)


def test_a_query_is_stopped_in_a_task(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "trouble").write_text("wait")
    query = start(spark, tmp_path)
    while (tmp_path / "trouble").read_text() != "waits":
        assert query.active
        time.sleep(0.01)
    stopping = threading.Thread(target=query.stop)
    stopping.start()
    stopping.join(120)
    assert not stopping.is_alive()
    assert query.exception is None
    expect_all(spark, tmp_path)
