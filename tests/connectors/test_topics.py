"""Topics of a real broker as inputs: every encoding, malformed messages, and partitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import flo
from flo.spark import rows_of_kafka
from tests.connectors.driver import create_topic

pytestmark = [pytest.mark.connectors, pytest.mark.slow, pytest.mark.needs("kafka")]
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Click",
        "fields": [
            {"name": "user", "type": ["null", "string"]},
            {"name": "at", "type": ["null", "long"]},
            {"name": "more", "type": "int"},
        ],
    }
)


class Click(NamedTuple):
    user: str | None
    at: int | None


class Visit(NamedTuple):
    user: str
    at: int


class Text(NamedTuple):
    key: str
    value: str
    topic: str


class Bytes(NamedTuple):
    value: bytes | None


def send(messages: DataFrame, servers: str, topic: str) -> None:
    """Sends messages, each to its partition. One task, so that they come in order."""
    frame = messages.coalesce(1).write.format("kafka").option("kafka.bootstrap.servers", servers)
    frame.option("topic", topic).save()


def read(spark: SparkSession, servers: str, topic: str) -> DataFrame:
    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    return stream.option("startingOffsets", "earliest").load()


def taken(spark: SparkSession, rows: DataFrame, kind: Any, folder: Path) -> tuple[list[Any], list[Any]]:
    """The rows of a topic, and those that were diverted: where each is, and why."""
    flow = flo.Flow("topic")
    flow.output("rows", flow.input("rows", flo.Bag[kind]))
    now = {"availableNow": True}
    query = flow.on(spark).start({"rows": rows}, checkpoint=folder, on_error="divert", trigger=now)
    query.wait()
    diverted = query.diverted("rows").to_pylist()
    found = query.view("rows").arrow().drop_columns(["_weight"]).to_pylist()
    return sorted(map(str, map(dict.values, found))), sorted(
        (row["file"], row["number"], row["reason"]) for row in diverted
    )


def shown(*rows: dict[str, Any]) -> list[str]:
    return sorted(str(row.values()) for row in rows)


@pytest.mark.needs("avro")
def test_every_encoding(connected: SparkSession, servers: str, tmp_path: Path) -> None:
    """Of a message that does not fit, the partition and the offset are known."""
    from pyspark.sql.avro.functions import to_avro

    clicks = connected.createDataFrame([("ann", 1, 5, 0), (None, None, 6, 1)], "user string, at long, more int, p int")
    bad = connected.createDataFrame([(bytearray(b"\x02"), 1), (bytearray(b"\xff\xfe"), 1)], "value binary, p int")
    nothing = connected.createDataFrame([(None, 0)], "value binary, p int")
    good = {
        "json": sf.to_json(sf.struct("user", "at", "more")).cast("binary"),
        "avro": to_avro(sf.struct("user", "at", "more"), AVRO),
    }
    for encoding, value in good.items():
        create_topic(connected, servers, encoding, partitions=2)
        for some in (clicks.select(value.alias("value"), "p"), bad, nothing):
            send(some.withColumnRenamed("p", "partition"), servers, encoding)
        frame = read(connected, servers, encoding)
        rows = rows_of_kafka(frame, Click, encoding, AVRO if encoding == "avro" else None)  # type: ignore[arg-type]
        found, diverted = taken(connected, rows, Click, tmp_path / encoding)
        assert found == shown({"user": "ann", "at": 1}, {"user": None, "at": None})
        reason = {
            "json": ["the message is not JSON", "the message is not UTF-8"],
            "avro": ["the bytes are not of `avro_schema`"] * 2,
        }[encoding]
        assert diverted == [
            (f"{encoding}, partition 0", 1, "the message has no value"),
            (f"{encoding}, partition 1", 1, reason[0]),
            (f"{encoding}, partition 1", 2, reason[1]),
        ]
    with pytest.raises(flo.UnknownNameError, match="`avro_schema` has no field `key`"):
        rows_of_kafka(read(connected, servers, "avro"), Text, "avro", AVRO)


def test_raw_messages(connected: SparkSession, servers: str, tmp_path: Path) -> None:
    rows = [("k", bytearray(b"\xc3\xa9")), ("k", bytearray(b"\xff")), ("k", None)]
    send(connected.createDataFrame(rows, "key string, value binary").withColumn("partition", sf.lit(0)), servers, "raw")
    frame = read(connected, servers, "raw")
    found, diverted = taken(connected, rows_of_kafka(frame, Text, "raw"), Text, tmp_path / "text")
    assert found == shown({"key": "k", "value": "é", "topic": "raw"})
    where = "raw, partition 0"
    assert diverted == [(where, 1, "`value` is not UTF-8"), (where, 2, "`value` is null")]
    found, diverted = taken(connected, rows_of_kafka(frame, Bytes, "raw"), Bytes, tmp_path / "bytes")
    assert found == shown({"value": "é".encode()}, {"value": b"\xff"}, {"value": None})
    assert diverted == []


def test_partitions_are_found_by_themselves(connected: SparkSession, servers: str, tmp_path: Path) -> None:
    """Windows over a topic are those of the same log in this process; a partition that is added counts."""
    flow = flo.Flow("visits")
    windows = flow.input("visits", flo.Partitioned[Visit], partitions=2).tumbling(10, "at", bounds=True)
    flow.output("counts", windows.group_by("user").agg(n=flo.count()))
    flow.output("late", windows.late)
    create_topic(connected, servers, "visits", partitions=2)
    log = {0: [Visit("a", 1), Visit("a", 12), Visit("a", 3)], 1: [Visit("b", 5), Visit("b", 31)]}
    more = {0: [Visit("a", 50)], 1: [Visit("b", 29), Visit("b", 60)]}

    def push(parts: dict[int, list[Visit]]) -> Any:
        for partition, visits in parts.items():
            frame = connected.createDataFrame(visits, "user string, at long")
            value = sf.to_json(sf.struct("user", "at")).alias("value")
            send(frame.select(value, sf.lit(partition).alias("partition")), servers, "visits")
        rows = rows_of_kafka(read(connected, servers, "visits"), Visit)
        now = {"availableNow": True}
        query = flow.on(connected).start({"visits": rows}, checkpoint=tmp_path / "checkpoint", trigger=now)
        query.wait()
        return query

    def rows_of(query: Any, name: str) -> list[tuple[Any, ...]]:
        table = query.view(name).arrow()
        return sorted(tuple(row.values())[:-1] for row in table.to_pylist() for _ in range(row["_weight"]))

    loop = flow.loop()
    for part in (log, more):
        query = push(part)
        loop.push(visits=part)
        loop.run()
        for name in ("counts", "late"):
            assert rows_of(query, name) == sorted(map(tuple, loop.peek(name).elements()))
    assert rows_of(query, "late") == [("a", 3), ("b", 29)]
    admin: Any = connected._jvm.org.apache.kafka.clients.admin  # type: ignore[union-attr]
    client = admin.Admin.create({"bootstrap.servers": servers})
    client.createPartitions({"visits": admin.NewPartitions.increaseTo(3)}).all().get()
    client.close()
    query = push({2: [Visit("c", 55), Visit("c", 7)]})
    assert rows_of(query, "late") == [("a", 3), ("b", 29), ("c", 7)]
