"""Decimals that are sent as integers arrive as they were."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import flo
import flo.spark
from flo.shards.tasks import short_decimals
from flo.shards.tasks.short_decimals import is_short, with_points
from tests.spark.sources import files

DIGITS = [None, 0, 1, -1, 150, -7, 2**31, -(2**31), 10**18 - 1, 1 - 10**18]


@pytest.mark.parametrize("scale", [0, 2, 18])
@pytest.mark.parametrize("start", [0, 1, 3])
def test_points_are_set(scale: int, start: int) -> None:
    kind = pa.decimal128(18, scale)
    digits = pa.array(DIGITS * 3, pa.int64()).slice(start)
    wanted = [None if each is None else Decimal(each).scaleb(-scale) for each in digits.to_pylist()]
    found = with_points(pa.chunked_array([digits]), kind)
    found.validate(full=True)
    assert found.equals(pa.array(wanted, kind))
    assert found.null_count == digits.null_count
    several = pa.chunked_array([digits.slice(0, 4), digits.slice(4)])
    assert with_points(several, kind).equals(found)
    assert with_points(pa.chunked_array([digits.slice(0, 0)]), kind).equals(pa.array([], kind))


def test_what_is_short() -> None:
    assert all(map(is_short, [pa.decimal128(18, 2), pa.decimal128(1, 0)]))
    assert not any(map(is_short, [pa.decimal128(19, 2), pa.decimal256(5, 2), pa.int64(), pa.float64()]))


QUERIES = {
    "itself": "SELECT a.s, b.w FROM rows a JOIN rows b ON a.s = b.s WHERE a.k > 0",
    "sums": "SELECT k, sum(s) AS s, sum(w) AS w, max(t) AS t, count(*) AS c FROM rows WHERE t IS NOT NULL GROUP BY k",
}
SCHEMA = pa.schema({"k": pa.int64(), "s": pa.decimal128(15, 2), "t": pa.decimal128(18, 18), "w": pa.decimal128(30, 4)})
MOST = Decimal("9999999999999.99")
SMALL = Decimal("0.999999999999999999")
TURNS: list[list[tuple[Any, ...]]] = [
    [(1, MOST, SMALL, Decimal("1.5")), (2, MOST.copy_negate(), SMALL.copy_negate(), None), (3, None, None, None)],
    [(1, Decimal("-0.01"), Decimal(0), Decimal(10) ** 25), (2, Decimal("1.50"), SMALL, Decimal("-0.0001"))],
    [(3, MOST, None, Decimal(1)), (0, Decimal(0), SMALL, None)],
]


def flat(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Rows as texts, each as often as its weight says."""
    return sorted(repr(row) for row in rows for _ in range(row.pop("_weight", 1)))


@pytest.mark.slow
def test_streams_have_the_rows_of_batch_spark(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """One micro-batch after the other; all decimals are sent as they are in one start, as in older versions."""
    tables = [
        pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in turn], SCHEMA) for turn in TURNS
    ]
    for number in range(3):
        monkeypatch.setattr(short_decimals, "MOST_DIGITS", 0 if number == 1 else 18)
        stream = files(spark, tables[: number + 1], tmp_path / "rows")
        views = flo.spark.views(spark, QUERIES, {"rows": stream})
        query = views.start(checkpoint=tmp_path / "checkpoint", shards=2, trigger={"availableNow": True})
        query.wait()
        spark.createDataFrame(pa.concat_tables(tables[: number + 1])).createOrReplaceTempView("rows")
        for name, text in QUERIES.items():
            found = flat(query.view(name).arrow().to_pylist())
            assert found
            assert found == flat(row.asDict() for row in spark.sql(text).collect()), name
