"""Messages of Avro: written with the schema that is given, with another one, and with the ids of a schema registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import flo
from flo.spark import registered_schemas, rows_of_kafka
from tests.spark.registry import registry

pytestmark = [pytest.mark.connectors, pytest.mark.slow, pytest.mark.needs("avro")]


class Click(NamedTuple):
    user: str
    at: int


def schema(*fields: tuple[str, Any]) -> str:
    return json.dumps(
        {"type": "record", "name": "Click", "fields": [{"name": name, "type": kind} for name, kind in fields]}
    )


OLD = schema(("user", "string"), ("at", "int"))
NEW = schema(("user", "string"), ("at", "long"), ("note", ["null", "string"]))
MOVED = schema(("note", "string"), ("user", "string"), ("at", "long"))


def written(spark: SparkSession, text: str, header: bytes = b"") -> bytes:
    """The bytes of a click, of this schema."""
    from pyspark.sql.avro.functions import to_avro

    row = spark.sql("SELECT struct('ann' AS user, 7L AS at, 'hello' AS note) AS row")
    fields = {each["name"]: each["type"] for each in json.loads(text)["fields"]}
    columns = [
        sf.col(f"row.{name}").cast("int" if kind == "int" else "string" if name != "at" else "long").alias(name)
        for name, kind in fields.items()
    ]
    return header + bytes(row.select(to_avro(sf.struct(*columns), text).alias("value")).collect()[0].value)


def read(spark: SparkSession, values: list[bytes], avro_schema: Any) -> list[Any]:
    """For each message the row, or the reason."""
    rows = [(None, bytearray(value), "clicks", 0, place) for place, value in enumerate(values)]
    frame = spark.createDataFrame(rows, "key binary, value binary, topic string, partition int, offset long")
    frame = rows_of_kafka(frame.withColumn("timestamp", sf.now()), Click, "avro", avro_schema)
    return [row["_malformed"]["reason"] if row["_malformed"] else (row.user, row.at) for row in frame.collect()]


def test_bytes_of_another_schema_are_found(connected: SparkSession) -> None:
    values = [written(connected, OLD), written(connected, NEW), written(connected, OLD)[:-1], b""]
    fits, newer, cut, empty = read(connected, values, OLD)
    assert fits == ("ann", 7)
    assert newer == "the bytes are not of `avro_schema`, but of another schema"
    assert cut == empty == "the bytes are not of `avro_schema`"


def test_each_message_is_read_with_the_schema_of_its_id(connected: SparkSession) -> None:
    schemas = {1: OLD, 300: NEW, 7: MOVED}
    heads = {each: b"\0" + each.to_bytes(4, "big") for each in (*schemas, 8)}
    values = [written(connected, text, heads[each]) for each, text in schemas.items()]
    bad = [
        heads[8] + b"\x06ann",
        b"\x01" + heads[1][1:] + b"\x06ann\x0e",
        heads[1],
        b"\0\0",
        written(connected, NEW, heads[1]),
    ]
    found = read(connected, [*values, *bad], schemas)
    assert found[:3] == [("ann", 7)] * 3
    headless = "the message does not begin with the id of a schema: a byte 0 and four bytes"
    assert found[3:] == [
        "its schema has the id 8; `avro_schema` has 1, 300, 7",
        headless,
        "the bytes are not of the schema 1 of `avro_schema`",
        headless,
        "the bytes are not of the schema 1 of `avro_schema`, but of another schema",
    ]


def test_a_schema_that_is_registered_later(connected: SparkSession, tmp_path: Path) -> None:
    """Its messages end the query. After a restart, which reads the registry again, they are read. Where they are
    diverted, they stay so."""
    folder = tmp_path / "messages"
    heads = {each: b"\0" + each.to_bytes(4, "big") for each in (1, 2)}

    def put(*values: bytes) -> None:
        number = len(list(folder.glob("*.parquet"))) if folder.exists() else 0
        rows = [(None, bytearray(value), "clicks", 0, number + place) for place, value in enumerate(values)]
        frame = connected.createDataFrame(rows, "key binary, value binary, topic string, partition int, offset long")
        frame.withColumn("timestamp", sf.now()).coalesce(1).write.mode("append").parquet(str(folder))

    def run(checkpoint: str, **more: Any) -> Any:
        messages = connected.readStream.schema(connected.read.parquet(str(folder)).schema).parquet(str(folder))
        rows = rows_of_kafka(messages, Click, "avro", registered_schemas(server.url, "clicks-value"))
        flow = flo.Flow("clicks")
        flow.output("clicks", flow.input("clicks", flo.Bag[Click]))
        now = {"availableNow": True}
        query = flow.on(connected).start({"clicks": rows}, checkpoint=tmp_path / checkpoint, trigger=now, **more)
        query.wait()
        return query

    def count(query: Any) -> int:
        return sum(row["_weight"] for row in query.view("clicks").arrow().to_pylist())

    with registry() as server:
        server.register("clicks-value", 1, OLD)
        put(written(connected, OLD, heads[1]))
        assert count(run("raises")) == count(run("diverts", on_error="divert")) == 1
        put(written(connected, NEW, heads[2]))
        with pytest.raises(flo.ElementError, match="its schema has the id 2; `avro_schema` has 1"):
            run("raises")
        diverting = run("diverts", on_error="divert")
        assert (count(diverting), diverting.diverted("clicks").num_rows) == (1, 1)
        server.register("clicks-value", 2, NEW)
        assert count(run("raises")) == 2
        put(written(connected, NEW, heads[2]))
        diverting = run("diverts", on_error="divert")
        assert (count(diverting), diverting.diverted("clicks").num_rows) == (2, 1)


def test_schemas_that_do_not_fit_are_rejected(connected: SparkSession) -> None:
    for given, error, text in (
        (
            {1: OLD, 2: schema(("user", "string"))},
            flo.UnknownNameError,
            "the schema 2 of `avro_schema` has no field `at`",
        ),
        ({1: OLD, 2: schema(("user", "string"), ("at", "string"))}, flo.TypeMismatch, "must give `at` one type"),
        ({"1": OLD}, flo.TypeMismatch, "must be ids of schemas; got '1'"),
        ({1: "{"}, flo.TypeMismatch, "is not JSON"),
        ({}, flo.TypeMismatch, "needs `avro_schema`"),
    ):
        with pytest.raises(error, match=text):
            read(connected, [], given)
