"""RANGE frames whose bounds are at no fixed distance from a row, or at the end of a type, compared with batch Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from tests.sql.compared import compare

TIMES = [
    *("2024-01-31T00:00", "2024-02-28T00:00", "2024-02-29T00:00", "2024-03-30T10:30", "2024-03-30T11:30"),
    *("2024-03-31T00:30", "2024-03-31T01:30", "2024-03-31T10:30", "2024-04-01T10:00", "2024-04-30T10:00"),
    *("2024-10-26T10:00", "2024-10-27T00:30", "2024-10-27T01:30", "2024-10-27T11:00", "2024-10-28T00:40"),
]
"""Daylight saving time begins and ends in Europe/Berlin."""
LOCAL = [*map(datetime.fromisoformat, TIMES), None]
CASES: dict[str, tuple[pa.DataType, list[Any], tuple[str, ...]]] = {
    "float": (
        pa.float32(),
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, None, float("nan"), float("inf")],
        ("0.1 PRECEDING AND CURRENT ROW", "0.2 PRECEDING AND 0.1 PRECEDING"),
    ),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [each and each.replace(tzinfo=UTC) for each in LOCAL],
        (
            "INTERVAL '1' DAY PRECEDING AND CURRENT ROW",
            "CURRENT ROW AND INTERVAL '25' HOUR FOLLOWING",
            "INTERVAL '1' MONTH PRECEDING AND INTERVAL '0' MONTH FOLLOWING",
        ),
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        LOCAL,
        ("INTERVAL '1' DAY PRECEDING AND CURRENT ROW", "CURRENT ROW AND INTERVAL '1' MONTH FOLLOWING"),
    ),
    "date": (
        pa.date32(),
        [*dict.fromkeys(each and each.date() for each in LOCAL)],
        ("INTERVAL '1' MONTH PRECEDING AND CURRENT ROW", "1 PRECEDING AND CURRENT ROW"),
    ),
}


@pytest.mark.every(test=14)
@pytest.mark.parametrize("order", ["", "DESC"])
@pytest.mark.parametrize(
    ("kind", "frame"), [(kind, frame) for kind, (_, _, frames) in CASES.items() for frame in frames]
)
def test_it_is_as_in_batch_spark(spark: Any, kind: str, frame: str, order: str) -> None:
    arrow, values, _ = CASES[kind]
    rows = [(row, value, 1) for row, value in enumerate(values)]
    deltas = [{"t": rows[::2]}, {"t": rows[1::2]}, {"t": [(*rows[1][:2], -1)]}]
    schema = pa.schema([pa.field("id", pa.int32(), False), pa.field("v", arrow)])
    results = "count(*) OVER w AS n, max(id) OVER w AS most, first_value(id) OVER w AS a, sum(id) OVER w AS s"
    text = f"SELECT id, v, {results} FROM t WINDOW w AS (ORDER BY v {order} RANGE BETWEEN {frame})"
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        compare(spark, text, {"t": schema}, deltas)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.every(test=2)
@pytest.mark.parametrize("kind", ["TINYINT", "SMALLINT"])
def test_a_row_at_the_end_of_a_type(spark: Any, kind: str) -> None:
    """What is near the row that changes may have no value in the type. It did not matter in the first delta."""
    bits = {"TINYINT": 8, "SMALLINT": 16}[kind]
    end = 2 ** (bits - 1) - 1
    schema = pa.schema([pa.field("id", pa.int32(), False), pa.field("v", {8: pa.int8(), 16: pa.int16()}[bits])])
    deltas = [[(0, end, 1), (1, end - 1, 1), (2, 0, 1)], [(3, end - 2, 1), (4, 1, 1)], [(2, 0, -1), (5, None, 1)]]
    for frame in (
        "CURRENT ROW AND {} FOLLOWING",
        "UNBOUNDED PRECEDING AND {} FOLLOWING",
        "{} PRECEDING AND CURRENT ROW",
    ):
        over = f"(ORDER BY v RANGE BETWEEN {frame.format(f'CAST(1 AS {kind})')})"
        found = compare(
            spark, f"SELECT id, count(*) OVER {over} AS n FROM t", {"t": schema}, [{"t": each} for each in deltas]
        )
        assert not any(isinstance(each, str) for each in found)


def test_several_frames_of_one_order(spark: Any) -> None:
    schema = pa.schema([pa.field("id", pa.int32(), False), pa.field("v", pa.timestamp("us"))])
    rows = [(row, value, 1) for row, value in enumerate(LOCAL)]
    frames = ("RANGE INTERVAL '1' MONTH PRECEDING", "RANGE INTERVAL '1' DAY PRECEDING", "ROWS 2 PRECEDING", "")
    counts = ", ".join(f"sum(id) OVER (ORDER BY v {frame}) AS n{place}" for place, frame in enumerate(frames))
    found = compare(spark, f"SELECT id, {counts} FROM t", {"t": schema}, [{"t": rows[1::2]}, {"t": rows[::2]}])
    assert not any(isinstance(each, str) for each in found)
