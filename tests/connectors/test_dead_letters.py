"""Diverted rows of a topic in other topics and tables: each once, with where it was and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import flo
from flo.spark import SparkSink, Upsert, rows_of_kafka
from tests.connectors.driver import create_topic
from tests.connectors.test_topics import read, send

pytestmark = [pytest.mark.connectors, pytest.mark.slow, pytest.mark.needs("kafka")]
BAD = ['{"user": "a"', '{"user": "b", "at": "\\u0000"}', "\0"]
"""Messages that do not fit; the second and the third have characters that PostgreSQL cannot hold."""


class Click(NamedTuple):
    user: str
    at: int


def run(spark: SparkSession, servers: str, sink: Any, folder: Path) -> None:
    """Reads what there is in the topic `clicks`."""
    flow = flo.Flow("clicks")
    flow.output("users", flow.input("clicks", flo.Bag[Click]))
    rows = rows_of_kafka(read(spark, servers, "clicks"), Click)
    query = flow.on(spark).start(
        {"clicks": rows},
        {"clicks diverted": sink},
        checkpoint=folder,
        on_error="divert",
        trigger={"availableNow": True},
    )
    query.wait()


def put(spark: SparkSession, servers: str, *values: str) -> None:
    frame = spark.createDataFrame([(value,) for value in values], "value string")
    send(frame.withColumn("partition", sf.lit(0)), servers, "clicks")


def expect(found: list[Any], messages: int) -> None:
    """So many messages, whose rows are those that do not fit, by their numbers."""
    assert len(found) == messages
    numbers = {row["number"]: (row["row"], row["file"], row["id"]) for row in found}
    assert sorted(numbers) == [1, 2, 3]
    assert [numbers[number][0] for number in (1, 2, 3)] == [*BAD[:2], "\\u0000"]
    assert {where for _, where, _ in numbers.values()} == {"clicks, partition 0"}
    assert len({id_ for *_, id_ in numbers.values()}) == 3


@pytest.mark.needs("delta")
def test_topics_and_delta(connected: SparkSession, servers: str, tmp_path: Path) -> None:
    create_topic(connected, servers, "clicks", partitions=1)
    options = {"kafka.bootstrap.servers": servers}
    put(connected, servers, '{"user": "a", "at": 1}', *BAD)
    sinks = {"kafka": Upsert("kafka", "dead", options), "delta": Upsert("delta", str(tmp_path / "dead"))}
    for kind, sink in sinks.items():
        run(connected, servers, sink, tmp_path / kind)
    messages = connected.read.format("kafka").options(**options, subscribe="dead").load()
    found = messages.select(sf.col("key").cast("string"), sf.col("value").cast("string")).collect()
    expect([json.loads(row.value) for row in found], 3)
    assert all(json.loads(row.key) == {"id": json.loads(row.value)["id"]} for row in found)
    expect([row.asDict() for row in connected.read.format("delta").load(str(tmp_path / "dead")).collect()], 3)
    put(connected, servers, "?")
    for kind, sink in sinks.items():  # a second start goes on with both
        run(connected, servers, sink, tmp_path / kind)
    assert messages.count() == connected.read.format("delta").load(str(tmp_path / "dead")).count() == 4
    with pytest.raises(flo.TypeMismatch, match='which SparkSink\\("kafka"\\) does not write') as caught:
        run(connected, servers, SparkSink("kafka", options), tmp_path / "plain")
    assert 'flo.spark.Upsert("kafka", topic, options)' in str(caught.value)


def test_postgresql(connected: SparkSession, servers: str, database: str, tmp_path: Path) -> None:
    import adbc_driver_postgresql.dbapi as driver

    create_topic(connected, servers, "clicks", partitions=1)
    put(connected, servers, '{"user": "a", "at": 1}', *BAD)
    run(connected, servers, Upsert("postgresql", "dead", {"uri": database}), tmp_path / "checkpoint")
    with driver.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM dead")
        expect(cursor.fetch_arrow_table().to_pylist(), 3)
