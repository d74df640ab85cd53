"""Rows with short texts need no limit of bytes; with a long one the micro-batch runs again, with the limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import flo
import flo.spark
from flo.spark.driver import micro_batches
from flo.spark.driver.row_widths import FEW_BYTES, LIMIT, texts_to_check
from flo.spark.session import BYTES, NO_LIMIT, hold_settings
from tests.spark.sources import files


@pytest.mark.parametrize(
    ("ddl", "texts"),
    [
        ("a int, b string, c binary, d decimal(30, 2)", (1, 2)),
        ("a int", ()),
        ("a string, b array<int>", ()),
        ("a string, b struct<c string>", ()),
        ("a struct<c int>, b string", (1,)),
    ],
)
def test_texts_are_checked_if_all_else_is_small(spark: Any, ddl: str, texts: tuple[int, ...]) -> None:
    of = StructType.fromDDL(ddl)
    assert isinstance(of, StructType)
    assert texts_to_check([field.dataType for field in of]) == texts


SCHEMA = pa.schema({"k": pa.int64(), "t": pa.string(), "b": pa.binary()})
SHORT, LONG = "é" * (FEW_BYTES // 2), "x" * (FEW_BYTES + 1)
TURNS: list[list[tuple[Any, ...]]] = [
    [(1, "a", b"x"), (2, None, None), (3, SHORT, None)],
    [(1, SHORT, b"y"), (2, "b", b"z"), (3, None, LONG.encode())],
    [(2, LONG, None), (4, "c", b"")],
]
QUERY = "SELECT k, max(t) AS t, max(octet_length(b)) AS b, count(*) AS c FROM rows WHERE k > 0 GROUP BY k"


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 20_000], ids=["large", "small"])
def test_rows_with_long_texts(spark: Any, tmp_path: Path, monkeypatch: Any, few: int) -> None:
    """The second micro-batch has a long value: all of its rows arrive, each is counted once, and a limit holds from
    then on, in the session of the query alone."""
    monkeypatch.setattr(micro_batches, "FEW_BYTES", few)
    limits = []
    run_stages = micro_batches.SparkMicroBatches.run_stages

    def noted(self: Any, frame: Any, *args: Any, **more: Any) -> Any:
        limits.append(frame.sparkSession.conf.get(BYTES))
        return run_stages(self, frame, *args, **more)

    monkeypatch.setattr(micro_batches.SparkMicroBatches, "run_stages", noted)
    before = spark.conf.get(BYTES)
    rows = [[dict(zip(SCHEMA.names, row, strict=True)) for row in turn] for turn in TURNS]
    tables = [pa.Table.from_pylist(each, SCHEMA) for each in rows]
    stream = files(spark, tables, tmp_path / "rows")
    views = flo.spark.views(spark, {"found": QUERY}, {"rows": stream})
    query = views.start(checkpoint=tmp_path / "checkpoint", shards=2, trigger={"availableNow": True})
    query.wait()
    spark.createDataFrame(pa.concat_tables(tables)).createOrReplaceTempView("rows")
    wanted = sorted(repr(row.asDict()) for row in spark.sql(QUERY).collect())
    found = query.view("found").arrow().to_pylist()
    assert all(row.pop("_weight", 1) == 1 for row in found)
    assert sorted(map(repr, found)) == wanted
    assert [sum(each.taken.values()) for each in query.progress] == [3, 3, 2]
    if not few:
        assert limits == [NO_LIMIT, NO_LIMIT, LIMIT, LIMIT]
    assert spark.conf.get(BYTES) == before


@pytest.mark.slow
def test_a_smaller_limit_is_kept(spark: Any, tmp_path: Path) -> None:
    stream = files(spark, [pa.Table.from_pylist([{"k": 1, "t": "a"}], SCHEMA)], tmp_path / "rows")
    views = flo.spark.views(spark, {"found": QUERY}, {"rows": stream})
    with hold_settings(spark, {BYTES: "1m"}):
        query = views.start(checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True})
        query.wait()
        assert not query._batches.widths.is_unlimited
    assert query.view("found").arrow().to_pylist()


@pytest.mark.slow
def test_a_run_on_long_texts(spark: Any) -> None:
    flow = flo.Flow("long")
    rows = flow.input("rows", flo.Bag[str])
    flow.output("lengths", rows.map(len))
    texts = [SHORT, LONG, "a", LONG]
    before = spark.conf.get(BYTES)
    found = flow.on(spark).run(rows=spark.createDataFrame([(each,) for each in texts], "value string"))
    assert sorted(row["value"] for row in found["lengths"].collect()) == sorted(map(len, texts))
    assert spark.conf.get(BYTES) == before
