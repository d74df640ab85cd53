"""Drivers that are killed while they fill a changed program, or switch to it: nothing is lost or comes twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from flo.shards.checkpoint.inspect import Checkpoint
from tests.local.edit_trial import changes_between, total_of
from tests.spark.killed_change import AFTER, BEFORE, MOMENTS, run
from tests.spark.test_living_programs import Pipeline, sales

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_driver_is_killed(spark: SparkSession, moment: str, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, tmp_path)
    pipeline.add("shops", [{"shop": shop, "city": city} for shop, city in (("a", "x"), ("b", "y"), ("c", "x"))])
    for turn in range(2):
        pipeline.add("sales", sales(turn))
        run(spark, pipeline, *BEFORE)
    command = [sys.executable, "-m", "tests.spark.killed_change", str(tmp_path), moment]
    assert subprocess.run(command, cwd=ROOT, check=False, timeout=1200).returncode == -signal.SIGKILL
    pipeline.add("sales", sales(2))
    views = run(spark, pipeline, *AFTER)
    expected = pipeline.expected(*AFTER)
    assert views == {name: expected[name] for name in views}
    counts = total_of(changes_between(tmp_path / "sink", -1, None))
    assert counts == {repr([("n", n), ("shop", shop)]): 1 for shop, n in expected["counts"]}
    assert not list(Checkpoint(str(tmp_path / "checkpoint")).problems())
