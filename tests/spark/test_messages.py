"""Messages of Kafka as rows: here a DataFrame has them, in `tests/connectors` a broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import functions as sf

import flo
import flo.spark
from flo.spark.messages import LONGEST

pytestmark = pytest.mark.slow


class Click(NamedTuple):
    user: str
    n: int
    note: str | None


class Pair(NamedTuple):
    key: str
    value: bytes


def messages(spark: Any, values: list[bytes | None], key: bytes = b"k") -> Any:
    rows = [(key, value, "clicks", place % 2, place // 2) for place, value in enumerate(values)]
    frame = spark.createDataFrame(rows, "key binary, value binary, topic string, partition int, offset long")
    return frame.withColumn("timestamp", sf.lit("2026-01-01").cast("timestamp"))


def test_rows_of_messages(spark: Any, tmp_path: Path) -> None:
    good = [json.dumps({"user": "a", "n": 1, "note": None}).encode(), b'{"n": 2, "user": "b", "more": 3}']
    bad = {
        b"{": "the message is not json of Click",
        b'{"user": "c", "n": "x"}': "the message is not json of Click",
        b'{"user": "c"}': "`n` is null",
        b"\xff": "the message is not json of Click",
        None: "the message has no value",
    }
    frame = messages(spark, [*good, *bad])
    clicks = flo.spark.rows_of_kafka(frame, Click)
    assert clicks.columns == ["user", "n", "note", "partition", "offset", "_malformed"]
    flow = flo.Flow("clicks")
    flow.output("users", flow.input("clicks", flo.Bag[Click], bounded=True).map(lambda click: click.user))
    found = flow.on(spark).run(clicks=clicks, on_error="divert", shards=1)
    assert sorted(found["users"].toArrow()["value"].to_pylist()) == ["a", "b"]
    diverted = found["clicks diverted"].toArrow().sort_by([("number", "ascending"), ("file", "ascending")]).to_pylist()
    assert [row["reason"] for row in diverted] == list(bad.values())
    places = [(f"clicks, partition {place % 2}", place // 2) for place in range(2, 7)]
    assert [(row["file"], row["number"]) for row in diverted] == places
    assert [row["row"] for row in diverted] == ["{", '{"user": "c", "n": "x"}', '{"user": "c"}', "FF", None]
    with pytest.raises(flo.ElementError, match="does not fit: the message is not json of Click") as caught:
        flow.on(spark).run(clicks=clicks, shards=1)
    assert ("clicks, partition 0", "offset 1") in caught.value.facts
    long = flo.spark.rows_of_kafka(messages(spark, [b"x" * (LONGEST + 1)]), Click)
    assert len(flow.on(spark).run(clicks=long, on_error="divert")["clicks diverted"].collect()[0].row) == LONGEST
    pairs = flo.Flow("pairs")
    pairs.output("pairs", pairs.input("pairs", flo.Bag[Pair], bounded=True))
    raw = flo.spark.rows_of_kafka(messages(spark, [b"\xff\x00"]), Pair, "raw")
    assert pairs.on(spark).run(pairs=raw)["pairs"].toArrow().to_pylist() == [
        {"key": "k", "value": b"\xff\x00", "_weight": 1}
    ]
    with pytest.raises(flo.TypeMismatch, match="must be a row type"):
        flo.spark.rows_of_kafka(frame, int)
    with pytest.raises(flo.UnknownNameError, match="a message has no column `user`"):
        flo.spark.rows_of_kafka(frame, Click, "raw")
    with pytest.raises(flo.UnknownNameError, match="no column `value`, which messages of Kafka have"):
        flo.spark.rows_of_kafka(frame.drop("value"), Click)
    with pytest.raises(flo.TypeMismatch, match="must be one of json, avro, raw"):
        flo.spark.rows_of_kafka(frame, Click, "xml")  # type: ignore[arg-type]
    with pytest.raises(flo.TypeMismatch, match="needs `avro_schema`"):
        flo.spark.rows_of_kafka(frame, Click, "avro")
