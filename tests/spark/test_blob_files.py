"""With a local master, many rows go from task to task in files. The results are those of Spark's shuffle."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.shards.plan.rewrites import rewrites
from flo.shards.tasks.blobs import LARGE
from flo.spark.driver.micro_batches import SparkMicroBatches
from tests.spark.shops import snapshot
from tests.spark.sources import files

ROWS = 4 * LARGE // 8
AVAILABLE = {"availableNow": True}


class Number(NamedTuple):
    k: int
    v: int


def joined(name: str = "numbers") -> flo.Flow:
    """Rows pass the first join on the way to the second one."""
    flow = flo.Flow(name)
    one, two, three = (flow.input(each, flo.ZSet[Number]) for each in ("one", "two", "three"))
    both = one.join(two, on="k", suffix="2").select("k", v="v2")
    flow.output("sums", both.join(three, on="v", suffix="3").group_by("k3").agg(n=flo.count()))
    return flow


def rows(seed: int) -> pa.Table:
    """Numbers of which some are twice, and the extremes."""
    rng = np.random.default_rng(seed)
    keys = np.append(rng.integers(0, ROWS, ROWS), [2**63 - 1, -(2**63)])
    return pa.table({"k": keys, "v": np.append(rng.integers(0, ROWS, ROWS), [-(2**63), 2**63 - 1])})


@pytest.fixture
def left_there(monkeypatch: Any) -> list[int]:
    """How many files were there when a micro-batch had run, each time."""
    found: list[int] = []
    outcome = SparkMicroBatches._outcome

    def noted(self: SparkMicroBatches, *given: Any, **more: Any) -> Any:
        found.append(len(list(Path(self._blob_folder or "nowhere").glob("*"))))
        return outcome(self, *given, **more)

    monkeypatch.setattr(SparkMicroBatches, "_outcome", noted)
    return found


def test_states_and_results_are_those_of_the_shuffle(
    spark: Any, tmp_path: Path, monkeypatch: Any, left_there: list[int]
) -> None:
    def start(where: str) -> Any:
        inputs = {
            name: files(spark, [rows(seed), rows(seed + 3)], tmp_path / name)
            for seed, name in enumerate(("one", "two", "three"))
        }
        query = flow.on(spark).start(inputs, {"sums": "view"}, checkpoint=tmp_path / where, trigger=AVAILABLE)
        query.wait()
        return query

    flow = joined()
    here = start("here")
    assert any(left_there)
    assert not list(Path(spark.sparkContext._temp_dir).glob("blobs-*"))
    monkeypatch.setattr(rewrites, "blob_files", False)
    left_there.clear()
    shuffled = start("shuffled")
    assert not any(left_there)
    assert here.view("sums").value() == shuffled.view("sums").value()
    assert snapshot(str(tmp_path / "here")) == snapshot(str(tmp_path / "shuffled"))


@pytest.mark.parametrize(
    ("master", "encrypted", "is_used"),
    [
        ("local", None, True),
        ("local[2]", "false", True),
        ("local[*]", "true", False),
        ("local[2, 4]", " TRUE ", False),
        ("local-cluster[2, 1, 1024]", None, False),
        ("spark://here:7077", None, False),
    ],
)
def test_files_are_for_tasks_on_one_machine_and_not_if_spark_encrypts_its_own(
    master: str, encrypted: str | None, is_used: bool
) -> None:
    """Spark takes a setting in any case and between spaces."""
    settings = {} if encrypted is None else {"spark.io.encryption.enabled": encrypted}
    context = SimpleNamespace(getConf=lambda: settings, master=master, _temp_dir="/tmp/spark")
    batches = SimpleNamespace(spark=SimpleNamespace(sparkContext=context), run="r")
    folder: Any = vars(SparkMicroBatches)["_blob_folder"]
    assert folder.func(batches) == ("/tmp/spark/blobs-r" if is_used else None)
