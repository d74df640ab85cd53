"""Views read from Spark Connect, and by Declarative Pipelines, which run on it: with `pyspark[pipelines]`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sql.test_data_source import BATCHES, Store

pytestmark = pytest.mark.thorough

CLIENT = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
read = spark.read.format("flo").option("view", "revenue").load(sys.argv[1])
print("rows", sorted(map(tuple, read.na.fill("-").collect())))
changes = spark.readStream.format("flo").option("view", "revenue").option("changes", "true").load(sys.argv[1])
query = changes.writeStream.format("memory").queryName("changes").trigger(availableNow=True).start()
query.awaitTermination()
print("changes", spark.table("changes").count())
spark.stop()
"""
PIPELINE = """
name: views
storage: {folder}/storage
libraries:
  - glob:
      include: transformations/**
"""
TRANSFORMATION = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

@dp.materialized_view
def revenue():
    return SparkSession.active().read.format("flo").option("view", "revenue").load("{checkpoint}")
"""


def call(folder: Path, *command: str) -> str:
    """The output of a process with a session of its own."""
    pytest.importorskip("grpc")
    without = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    own = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    own["PYTHONPATH"] = os.pathsep.join(each for each in sys.path if each)
    found = subprocess.run(command, cwd=folder, env={**without, **own}, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stderr[-3000:]
    return found.stdout + found.stderr


@pytest.fixture
def checkpoint(spark: Any, tmp_path: Path) -> str:
    stored = Store(spark, tmp_path)
    stored.put(BATCHES[0])
    return stored.checkpoint


def test_a_session_of_connect_reads_views(checkpoint: str, tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    shown = call(tmp_path, sys.executable, "client.py", checkpoint)
    assert "rows [('-', 1), ('a', 5), ('b', 14)]" in shown
    assert "changes 3" in shown


def test_a_pipeline_reads_views(checkpoint: str, tmp_path: Path) -> None:
    (tmp_path / "transformations").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(PIPELINE.format(folder=tmp_path.as_uri()))
    (tmp_path / "transformations" / "views.py").write_text(TRANSFORMATION.format(checkpoint=checkpoint))
    shown = call(tmp_path, str(Path(sys.executable).with_name("spark-pipelines")), "run")
    assert "Run is COMPLETED" in shown
