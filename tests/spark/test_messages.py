"""Messages of Kafka as rows: here a DataFrame has them, in `tests/connectors` a broker."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest
from pyspark.sql import functions as sf

import flo
import flo.spark
from flo.spark.kafka_rows import LONGEST

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


class Part(NamedTuple):
    size: int


class Order(NamedTuple):
    """A row with a column of every kind that JSON has a value for."""

    id: int
    text: str | None
    price: float | None
    exact: Decimal | None
    flag: bool | None
    day: date | None
    at: datetime | None
    seen: Annotated[datetime, UTC] | None
    data: bytes | None
    names: list[str] | None
    part: Part | None
    parts: list[Part] | None


FIT: dict[str, tuple[str, Any]] = {
    "": ("text", None),
    ' "text": "\\ud83d\\ude00 \\\\ud800 \\u0041"': ("text", "\U0001f600 \\ud800 A"),
    ' "other": {"a": [1, {"b": null}]}, "text": "x"': ("text", "x"),
    ' "price": 1': ("price", 1.0),
    ' "price": -2.5e3': ("price", -2500.0),
    ' "price": -0.0': ("price", -0.0),
    ' "price": "Infinity"': ("price", float("inf")),
    ' "exact": 1E-18': ("exact", Decimal("1E-18")),
    ' "exact": 12345678901234567890.123456789012345678': ("exact", Decimal("12345678901234567890.123456789012345678")),
    ' "exact": "1.50"': ("exact", Decimal("1.5")),
    ' "flag": true': ("flag", True),
    ' "day": "2026-01-31"': ("day", date(2026, 1, 31)),
    ' "at": "2026-01-31T10:00:00.123456"': ("at", datetime(2026, 1, 31, 10, 0, 0, 123456)),
    ' "seen": "2026-01-31T12:00:00+02:00"': ("seen", datetime(2026, 1, 31, 10, tzinfo=UTC)),
    ' "data": "AAE="': ("data", b"\x00\x01"),
    ' "names": ["a", "b"]': ("names", ["a", "b"]),
    ' "names": []': ("names", []),
    ' "part": {"size": 3, "more": 1}': ("part", {"size": 3}),
    ' "parts": [{"size": 3}, {"size": 4}]': ("parts", [{"size": 3}, {"size": 4}]),
}
"""What follows `{"id": 1` in a message that fits: a column and its value."""
INTEGER, FLOAT, TEXT = "must be an integer of 64 bits", "must be a number that fits a float", "must be a text"
MISFIT: dict[bytes, str] = {
    b"": "the message is empty",
    b" \n": "the message is empty",
    b"null": "the message must be an object; got null",
    b"[]": "the message must be an object; got []",
    b'[{"id": 1}]': 'the message must be an object; got [{"id":1}]',
    b"1": "the message must be an object; got 1",
    b"1,2": "more follows the first JSON value of the message",
    b'{"id": 1}{"id": 2}': "more follows the first JSON value of the message",
    b'{"id": 1}\n{"id": 2}': "more follows the first JSON value of the message",
    b'{"id": 1},{"id": 2}': "more follows the first JSON value of the message",
    b'{"id": 1} x': "more follows the first JSON value of the message",
    b'{"id": 1}]': "more follows the first JSON value of the message",
    b'{"id": 1}}': "more follows the first JSON value of the message",
    b'{"id": 1}\x00': "more follows the first JSON value of the message",
    b'\xef\xbb\xbf{"id": 1}': "the message is not JSON",
    b"{'id': 1}": "the message is not JSON",
    b'{"id": 1,}': "the message is not JSON",
    b'{"id": 01}': "the message is not JSON",
    b'{"id": 1, "price": NaN}': "the message is not JSON",
    b'{"id": 1, "price": Infinity}': "the message is not JSON",
    b'{"id": 1, "id": 1}': "an object has a key twice",
    b'{"id": 1, "other": {"a": 1, "a": 2}}': "an object has a key twice",
    b'{"id": 1, "text": "\xff"}': "the message is not UTF-8",
    b'{"id": 1, "text": "\xed\xa0\x80"}': "the message is not UTF-8",
    b'{"id": 1, "text": "\\ud800"}': "a text has half of a surrogate pair, which is not a character",
    b'{"id": 1, "text": "\\ude00\\ud83d"}': "a text has half of a surrogate pair, which is not a character",
    b'{"id": "1"}': f'`id` {INTEGER}; got "1"',
    b'{"id": true}': f"`id` {INTEGER}; got true",
    b'{"id": 1.5}': f"`id` {INTEGER}; got 1.5",
    b'{"id": 1e2}': f"`id` {INTEGER}; got 100.0",
    b'{"id": 9223372036854775808}': f"`id` {INTEGER}; got 9223372036854775808",
    b'{"id": [1]}': f"`id` {INTEGER}; got [1]",
    b'{"id": null}': "`id` is null",
    b'{"id": 1, "text": 1}': f"`text` {TEXT}; got 1",
    b'{"id": 1, "text": {"a": 1}}': f'`text` {TEXT}; got {{"a":1}}',
    b'{"id": 1, "text": ["a"]}': f'`text` {TEXT}; got ["a"]',
    b'{"id": 1, "text": true}': f"`text` {TEXT}; got true",
    b'{"id": 1, "price": 1e400}': f'`price` {FLOAT}; got "Infinity"',
    b'{"id": 1, "price": "1"}': f'`price` {FLOAT}; got "1"',
    b'{"id": 1, "flag": 1}': "`flag` must be true or false; got 1",
    b'{"id": 1, "flag": "true"}': '`flag` must be true or false; got "true"',
    b'{"id": 1, "exact": 0.1234567890123456789}': "`exact` must be a number of at most 38 digits, 18 of them",
    b'{"id": 1, "exact": 1.00000000000000000000000000000000000000001}': "`exact` must be a number of at most 38 digits",
    b'{"id": 1, "exact": 123456789012345678901}': "`exact` must be a number of at most 38 digits",
    b'{"id": 1, "exact": "1,000.00"}': "`exact` must be a number of at most 38 digits",
    b'{"id": 1, "day": "2026-02-30"}': '`day` must be a date such as 2026-01-31; got "2026-02-30"',
    b'{"id": 1, "day": "2026-01-31T10:00:00"}': "`day` must be a date such as 2026-01-31",
    b'{"id": 1, "day": "2026"}': "`day` must be a date such as 2026-01-31",
    b'{"id": 1, "day": 20000}': "`day` must be a date such as 2026-01-31",
    b'{"id": 1, "at": 5}': "`at` must be a time without a zone",
    b'{"id": 1, "at": "2026-01-31T10:00:00Z"}': "`at` must be a time without a zone",
    b'{"id": 1, "at": "2026-01-31T10:00:00.1234567"}': "`at` must be a time without a zone",
    b'{"id": 1, "seen": 5}': "`seen` must be a time such as 2026-01-31T10:00:00Z; got 5",
    b'{"id": 1, "seen": "10:00"}': "`seen` must be a time such as",
    b'{"id": 1, "data": "?"}': '`data` must be a text in base64; got "?"',
    b'{"id": 1, "data": "AAE=AAE="}': '`data` must be a text in base64; got "AAE=AAE="',
    b'{"id": 1, "data": "AAE=\\u0000"}': '`data` must be a text in base64; got "AAE=\\u0000"',
    b'{"id": 1, "data": "AAF="}': '`data` must be a text in base64; got "AAF="',
    b'{"id": 1, "names": "a"}': '`names` must be an array; got "a"',
    b'{"id": 1, "names": ["a", 1]}': f"an item of `names` {TEXT}; got 1",
    b'{"id": 1, "names": ["a", null]}': "an item of `names` is null",
    b'{"id": 1, "part": [1]}': "`part` must be an object; got [1]",
    b'{"id": 1, "part": {}}': "`part.size` is null",
    b'{"id": 1, "part": {"size": "3"}}': f'`part.size` {INTEGER}; got "3"',
    b'{"id": 1, "parts": [{"size": 1}, {"size": 1.5}]}': f"{INTEGER}; got 1.5",
    b'{"id": 1, "parts": [{"size": 1}, 2]}': "an item of `parts` must be an object; got 2",
}


def test_json_that_does_not_fit_exactly_is_diverted(spark: Any) -> None:
    texts = [f'{{"id": 1{"," if rest else ""}{rest}}}'.encode() for rest in FIT]
    rows = flo.spark.rows_of_kafka(messages(spark, [*texts, *MISFIT]), Order).orderBy("offset", "partition")
    table = rows.toArrow().to_pylist()
    for row, rest, (column, expected) in zip(table, FIT, FIT.values(), strict=False):
        assert (row["_malformed"], row[column]) == (None, expected), rest
        if column == "price":  # with its sign
            assert str(row[column]) == str(expected)
    for row, message in zip(table[len(FIT) :], MISFIT, strict=True):
        assert row["_malformed"] is not None, message
        assert MISFIT[message] in row["_malformed"]["reason"], message


@pytest.mark.thorough
def test_rows_of_messages(spark: Any, tmp_path: Path) -> None:
    good = [json.dumps({"user": "a", "n": 1, "note": None}).encode(), b'{"n": 2, "user": "b", "more": 3}']
    bad = {
        b"{": "the message is not JSON",
        b'{"user": "c", "n": "x"}': '`n` must be an integer of 64 bits; got "x"',
        b'{"user": "c"}': "`n` is null",
        b"\xff": "the message is not UTF-8",
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
    with pytest.raises(flo.ElementError, match="does not fit: the message is not JSON") as caught:
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
    with pytest.raises(flo.TypeMismatch, match="must be one of json, avro, protobuf, raw"):
        flo.spark.rows_of_kafka(frame, Click, "xml")  # type: ignore[arg-type]
    with pytest.raises(flo.TypeMismatch, match="needs `avro_schema`"):
        flo.spark.rows_of_kafka(frame, Click, "avro")
