"""Crash, restore, drop, late addition and corrected function, for sinks of real brokers and tables.

After each, the rows of the sink are compared with those of a view: see `tests/spark/sink_trials.py`."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

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


class Note(NamedTuple):
    id: int
    text: str


def divert(spark: SparkSession, sink: Upsert, rows: list[Note], folder: Path, **more: Any) -> list[dict[str, Any]]:
    """Runs a query on these rows; returns those that the sink could not hold."""
    flow = flo.Flow("notes")
    flow.output("notes", flow.input("notes", flo.ZSet[Note]).distinct(on="id"))
    spark.createDataFrame(rows, "id long, text string").coalesce(1).write.mode("append").parquet(str(folder / "in"))
    source = spark.readStream.schema("id long, text string").parquet(str(folder / "in"))
    now = {"availableNow": True}
    query = flow.on(spark).start({"notes": source}, {"notes": sink}, checkpoint=folder / "c", trigger=now, **more)
    query.wait()
    return list(query.diverted("notes").to_pylist())


def test_a_text_that_postgresql_cannot_hold(connected: SparkSession, database: str, tmp_path: Path) -> None:
    sink = Upsert("postgresql", "notes", {"uri": database})
    rows = [Note(1, "ok"), Note(2, "a\u0000b"), Note(3, "ok")]
    with pytest.raises(flo.ElementError, match="cannot go to the table notes of postgresql") as caught:
        divert(connected, sink, rows, tmp_path)
    assert dict(caught.value.facts)["column"] == "`text`"
    found = divert(connected, sink, [Note(4, "more")], tmp_path, on_error="divert")
    assert [(row["row"], row["reason"].split(":")[0]) for row in found] == [
        (str(rows[1]._asdict()), "postgresql cannot hold the value of `text`")
    ]
    driver = import_module("adbc_driver_postgresql.dbapi")
    with driver.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM notes ORDER BY id")
        assert [row[0] for row in cursor.fetchall()] == [1, 3, 4]


@pytest.mark.needs("kafka")
def test_a_message_that_is_too_large(connected: SparkSession, servers: str, tmp_path: Path) -> None:
    sink = Upsert("kafka", "notes", {"kafka.bootstrap.servers": servers})
    rows = [Note(1, "ok"), Note(2, "x" * 2_000_000)]
    with pytest.raises(flo.ElementError, match="its message is too large"):
        divert(connected, sink, rows, tmp_path)
    found = divert(connected, sink, [Note(3, "ok")], tmp_path, on_error="divert")
    assert [(row["row"], row["reason"]) for row in found] == [
        ('{"id":2}', "its message is larger than kafka.max.request.size allows")
    ]
    frame = connected.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", "notes")
    assert {row.key.decode() for row in frame.load().collect() if row.value} == {'{"id":1}', '{"id":3}'}


@pytest.mark.parametrize("kind", [pytest.param(each, marks=pytest.mark.needs(each)) for each in ("delta", "iceberg")])
def test_a_bad_name_of_a_table(connected: SparkSession, kind: str, tmp_path: Path) -> None:
    for name in ("my-table", "a b", "nowhere.to.be.found"):
        with pytest.raises(flo.FloError) as caught:
            divert(connected, Upsert(kind, name), [Note(1, "ok")], tmp_path)
        assert "spark.sql.extensions" not in str(caught.value)
        assert name in str(caught.value)
