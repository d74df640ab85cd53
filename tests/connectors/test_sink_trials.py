"""Crash, restore, drop, late addition and corrected function, for sinks of real brokers and tables.

After each, the rows of the sink are compared with those of a view: see `tests/spark/sink_trials.py`."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import flo
from flo.spark import SparkSink, Upsert
from tests.connectors.driver import create_topic
from tests.spark.sink_trials import Trial
from tests.spark.test_sink_trials import changes_trial, database_trial

pytestmark = [pytest.mark.connectors, pytest.mark.slow]


@pytest.mark.needs("delta")
def test_delta(connected: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/delta"

    def rows() -> dict[Any, Any]:
        return {row.shop: int(row.total) for row in connected.read.format("delta").load(path).collect()}

    trial = Trial(
        connected, tmp_path, lambda: Upsert("delta", path), rows, lambda: shutil.rmtree(path, ignore_errors=True)
    )
    trial.all()


@pytest.mark.needs("delta")
def test_a_delta_table_that_is_restored_with_the_checkpoint(connected: SparkSession, tmp_path: Path) -> None:
    """RESTORE is a way forward, for upserts and for appended changes."""
    path, log = f"{tmp_path}/delta", f"{tmp_path}/log"

    def rows() -> dict[Any, Any]:
        found = {row.shop: int(row.total) for row in connected.read.format("delta").load(path).collect()}
        appended = connected.read.format("delta").load(log).groupBy("shop", "total").sum("_weight").collect()
        assert {row.shop: int(row.total) for row in appended if row["sum(_weight)"]} == found
        return found

    trial = Trial(connected, tmp_path, lambda: Upsert("delta", path), rows, lambda: None)
    trial.beside = lambda: SparkSink("delta", {"path": log})
    trial.put(("a", 1, 1), ("b", 1, 1))
    trial.compare(trial.run())
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    versions = {
        table: connected.sql(f"DESCRIBE HISTORY delta.`{table}` LIMIT 1").collect()[0].version for table in (path, log)
    }
    for _ in range(3):
        trial.put(("a", 1, 1), ("c", 1, 1))
        trial.compare(trial.run())
    shutil.rmtree(tmp_path / "checkpoint")
    (tmp_path / "copy").rename(tmp_path / "checkpoint")
    for table, version in versions.items():
        with pytest.raises(flo.CheckpointError, match="is ahead of the checkpoint: it holds version 3"):
            trial.run()
        connected.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF {version}")
    trial.put(("b", 1, -1))
    trial.compare(trial.run())


@pytest.mark.needs("iceberg")
def test_iceberg(connected: SparkSession, tmp_path: Path) -> None:
    def rows() -> dict[Any, Any]:
        return {row.shop: int(row.total) for row in connected.table("ice.flo.trial").collect()}

    def drop() -> None:
        connected.sql("DROP TABLE IF EXISTS ice.flo.trial PURGE")

    Trial(connected, tmp_path, lambda: Upsert("iceberg", "ice.flo.trial"), rows, drop).all()


def test_postgresql(connected: SparkSession, database: str, tmp_path: Path) -> None:
    driver = import_module("adbc_driver_postgresql.dbapi")

    def execute(statement: str) -> list[Any]:
        with driver.connect(database) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            rows = cursor.fetchall() if statement.startswith("SELECT") else []
            connection.commit()
            return rows

    def rows() -> dict[Any, Any]:
        return {shop: int(float(total)) for shop, total in execute("SELECT shop, total FROM trial")}

    def drop() -> None:
        execute("DROP TABLE IF EXISTS trial")

    trial = Trial(connected, tmp_path, lambda: Upsert("postgresql", "trial", {"uri": database}), rows, drop)
    trial.all()
    execute("DELETE FROM trial")  # emptied, but there
    trial.put(("i", 1, 1))
    with pytest.raises(flo.CheckpointError, match="holds nothing, but the checkpoint has given it changes"):
        trial.run()


@pytest.mark.needs("kafka")
def test_kafka(connected: SparkSession, servers: str, tmp_path: Path) -> None:
    options = {"kafka.bootstrap.servers": servers}
    topic = ["trial 0"]

    def rows() -> dict[Any, Any]:
        frame = connected.read.format("kafka").options(**options, subscribe=topic[0]).load()
        last = {bytes(row.key): row.value for row in frame.orderBy("partition", "offset").collect()}
        found = [json.loads(value) for value in last.values() if value is not None]
        return {row["shop"]: int(row["total"]) for row in found}

    def drop() -> None:
        admin: Any = connected._jvm.org.apache.kafka.clients.admin  # type: ignore[union-attr]
        client = admin.Admin.create({"bootstrap.servers": servers})
        client.deleteTopics([topic[0]]).all().get()
        client.close()
        topic[0] = f"trial-{int(topic[0][-1]) + 1}"
        create_topic(connected, servers, topic[0], partitions=2)

    topic[0] = "trial-0"
    create_topic(connected, servers, topic[0], partitions=2)
    Trial(connected, tmp_path, lambda: Upsert("kafka", topic[0], options), rows, drop).all()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "changes"])
def test_without_a_service(connected: SparkSession, kind: str, tmp_path: Path) -> None:
    """On the session with all packages, where micro-batches run beside other extensions."""
    trial = changes_trial(connected, tmp_path) if kind == "changes" else database_trial(kind, connected, tmp_path)
    trial.all()
