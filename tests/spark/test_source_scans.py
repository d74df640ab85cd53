"""Inputs that are read together have the rows and errors of inputs that are read apart, and the same offsets."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

import flo
import flo.spark
from flo.shards.plan.rewrites import rewrites
from flo.spark.driver.source_scans import scan_once
from tests.spark.sources import files

pytestmark = pytest.mark.slow

ONE_FILE = {"availableNow": True}
LARGE = 2**63 - 1
COLUMNS = pa.schema({"k": pa.int32(), "n": pa.int64(), "x": pa.float64(), "d": pa.decimal128(38, 10), "t": pa.string()})
MOST = Decimal(f"{'9' * 28}.{'9' * 10}")
LEAST = MOST.copy_negate()
ROWS = [
    [(1, LARGE, math.nan, MOST, "a"), (1, -LARGE - 1, -0.0, LEAST, "b"), (2, 0, 0.0, None, None)],
    [(2, None, None, Decimal(0), ""), (None, 3, math.inf, MOST, "a"), (1, LARGE, math.nan, MOST, "a")],
    [(1, 0, math.nan, MOST, "ab"), (2, 5, 1e308, Decimal(1), "a")],
]
QUERIES = {
    "itself": "SELECT a.n, a.x, b.d FROM rows a JOIN rows b ON a.k = b.k AND a.t < b.t",
    "three": """SELECT a.n, b.x, c.d FROM rows a JOIN rows b ON a.k = b.k JOIN rows c ON b.t = c.t
                WHERE a.n > 0 AND b.x >= 0 AND c.d IS NOT NULL AND c.t LIKE 'a%'""",
    "sums": "SELECT k, count(*) AS c, max(n) AS n, min(x) AS x, max(d) AS d FROM rows WHERE n <> 0 GROUP BY k",
}


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COLUMNS.names, row, strict=True)) for row in rows], COLUMNS)


def comparable(rows: Any) -> Counter[str]:
    """The rows as texts, in which nan is nan, with their weights. Flo takes -0.0 for 0.0."""
    found: Counter[str] = Counter()
    for row in rows:
        plain = {name: each + 0.0 if isinstance(each, float) else each for name, each in row.items()}
        weight = plain.pop("_weight", 1)
        found[repr(sorted(plain.items()))] += weight
    return found


def executed(query: Any) -> str:
    """The plan of the last micro-batch."""
    return str(query._query._jsq.streamingQuery().lastExecution().executedPlan().toString())


@pytest.mark.always
def test_a_stream_is_read_once_and_resumed(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """What is read together in one start is read apart in the next, and together again."""
    turns, source = [table(rows) for rows in ROWS], tmp_path / "rows"
    for number in range(3):
        monkeypatch.setattr(rewrites, "one_scan", number != 1)
        stream = files(spark, turns[: number + 1], source)
        views = flo.spark.views(spark, QUERIES, {"rows": stream})
        assert ("read once for rows, rows#2" in views.explain()) == rewrites.one_scan
        query = views.start(checkpoint=tmp_path / "checkpoint", shards=2, trigger=ONE_FILE)
        query.wait()
        assert len(query.progress) == 1
        inputs = len(views._frames)
        assert inputs >= 5
        assert executed(query).count("FileScan") == (1 if rewrites.one_scan else inputs)
        offsets = (tmp_path / "checkpoint/spark/offsets" / str(number)).read_text().splitlines()
        assert len(offsets) == 2 + inputs  # two lines about the micro-batch
        (read,) = query._query.lastProgress["sources"]
        assert read["numInputRows"]
        spark.createDataFrame(pa.concat_tables(turns[: number + 1])).createOrReplaceTempView("rows")
        for name, text in QUERIES.items():
            found = comparable(query.view(name).arrow().to_pylist())
            assert found == comparable(row.asDict() for row in spark.sql(text).collect()), name


def test_a_source_that_is_no_folder(spark: Any, tmp_path: Path) -> None:
    """A source of Spark's newer kind, whose scans have logs of their own."""
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    text = "SELECT a.value AS v, b.value AS w FROM rows a JOIN rows b ON a.value = b.value + 1 AND b.value > 2"
    for _ in range(2):
        views = flo.spark.views(spark, {"pairs": text}, {"rows": stream})
        query = views.start(checkpoint=tmp_path / "checkpoint", shards=2, trigger=ONE_FILE)
        query.wait()
        assert executed(query).count("MicroBatchScan") == 1
        rows = query.view("pairs").arrow().to_pylist()
        last = 9 * (query.progress[-1].version + 1)
        assert sorted((row["v"], row["w"]) for row in rows) == [(n + 1, n) for n in range(3, last - 1)]


NUMBERS = [(0, 1, 0.1), (5, 2, -0.0), (-3, 3, math.nan), (None, None, 1.0)]
CASES = {
    "others drop it": ("SELECT m FROM t", "SELECT 10 / n AS x FROM t WHERE n > 0"),
    "nobody drops it": ("SELECT m FROM t WHERE m > 1", "SELECT 10 / n AS x FROM t"),
    "both have it": ("SELECT m, 10 / n AS x FROM t WHERE n > 0", "SELECT 10 / n AS x FROM t WHERE n < 0"),
    "one keeps it": ("SELECT 10 / n AS x FROM t WHERE n = 0", "SELECT 10 / n AS x FROM t WHERE n < 0"),
    "in common": ("SELECT n = 0 OR 10 / n > 1 AS x FROM t", "SELECT n = 0 OR 10 / n > 2 AS x FROM t"),
    "same condition": ("SELECT 10 / n AS x FROM t WHERE n < 0", "SELECT 1 AS one, n, 10 / n AS x FROM t WHERE n < 0"),
    "in conditions": ("SELECT m FROM t WHERE n > 0 AND 10 / n > 1", "SELECT n FROM t WHERE m > 0"),
    "a condition fails": ("SELECT m FROM t WHERE 10 / n > 1", "SELECT n FROM t WHERE m > 0"),
    "common conditions": ("SELECT m FROM t WHERE n = 0 OR 10 / n > 1", "SELECT m FROM t WHERE n = 0 OR 10 / n > 2"),
    "overflow": ("SELECT n + 2147483647 AS x FROM t WHERE n <= 0", "SELECT n FROM t"),
    "null conditions": ("SELECT n FROM t WHERE NOT (n > 0)", "SELECT n FROM t WHERE n IS NULL OR n > 0"),
    "nan": ("SELECT y FROM t WHERE y > 0.05D", "SELECT y, n FROM t WHERE y = 0.0D"),
    "other order": (
        "SELECT y + 1e308D + 1e308D + -1e308D AS x FROM t",
        "SELECT -1e308D + 1e308D + 1e308D + y AS x FROM t",
    ),
    # read apart
    "swapped": ("SELECT m FROM t WHERE 10 / n > 1 AND m = 7", "SELECT n FROM t"),
    "a subquery": ("SELECT m FROM t WHERE n > (SELECT min(n) FROM t)", "SELECT n FROM t"),
}
APART = ("swapped", "a subquery")


def read(frame: Any) -> list[Any] | str:
    """The rows of a DataFrame, or the name of the error."""
    try:
        return list(frame.collect())
    except PySparkException as error:
        return str(error.getCondition())


@pytest.mark.always
@pytest.mark.every(test=4)
@pytest.mark.parametrize("case", CASES)
def test_rows_and_errors_are_those_of_batch_spark(spark: Any, case: str) -> None:
    spark.createDataFrame(NUMBERS, "n int, m int, y double").createOrReplaceTempView("t")
    frames = {name: spark.sql(text) for name, text in zip("ab", CASES[case], strict=True)}
    scans = scan_once(spark, frames)
    assert [list(each.inputs) for each in scans] == ([["a"], ["b"]] if case in APART else [["a", "b"]])
    expected = {name: read(frame) for name, frame in frames.items()}
    for scan in scans:
        found, errors = read(scan.frame), {each for name in scan.inputs if isinstance(each := expected[name], str)}
        if errors:
            assert {found} == errors
            continue
        for name, own in scan.inputs.items():
            kept = [row for row in found if own.kept is None or row[own.kept]]
            names = frames[name].columns
            rows = [{each: row[index] for each, index in zip(names, own.columns, strict=True)} for row in kept]
            assert comparable(rows) == comparable(row.asDict() for row in expected[name])


def test_what_is_read_together(spark: Any, tmp_path: Path) -> None:
    def together(**frames: Any) -> list[str]:
        return ["".join(each.inputs) for each in scan_once(spark, frames)]

    plus = sf.udf(lambda n: n + 1, "int")
    files(spark, [pa.table({"n": pa.array([1], pa.int32()), "m": [[1, 2]]})], tmp_path / "t")
    other = files(spark, [pa.table({"n": pa.array([1], pa.int32())})], tmp_path / "other")
    schema = "n int, m array<bigint>"
    for rows in (spark.read.parquet(str(tmp_path / "t")), spark.readStream.schema(schema).parquet(str(tmp_path / "t"))):
        assert together(a=rows, b=rows.where("n > 1"), c=other, d=rows.select("n")) == ["abd", "c"]
        assert together(a=rows.select(plus("n")), b=rows, c=rows.select("m")) == ["a", "bc"]
        assert together(a=rows.where(sf.rand() > 0.5), b=rows, c=rows.select(sf.uuid())) == ["a", "b", "c"]
        drawn = rows.withColumn("r", sf.rand())
        assert together(a=drawn, b=drawn.where("n > 1")) == ["ab"]  # one DataFrame, whose numbers are drawn once
        items = rows.select(sf.explode("m").alias("item"))
        assert together(a=items, b=items.where("item > 1"), c=rows) == ["ab", "c"]
        long = rows.select(*(sf.expr(f"substring(repeat(cast(n AS string), {n}), {n})") for n in range(40)))
        assert together(a=long, b=rows, c=rows) == ["a", "bc"]
    kept = rows.dropDuplicates()  # its state has a number in Spark's logs
    assert together(a=kept, b=kept.where("n > 1")) == ["a", "b"]
    within = spark.read.parquet(str(tmp_path / "t")).where("n > (SELECT 0)")
    assert together(a=within, b=within.select("n")) == ["ab"]


class Row(NamedTuple):
    n: int


class Open(NamedTuple):
    n: int | None


def test_diverted_rows_are_those_of_their_input(spark: Any) -> None:
    flow = flo.Flow("diverting")
    flow.output("one", flow.input("one", flo.ZSet[Row]).filter(lambda row: 10 // row.n > 0))
    flow.output("other", flow.input("other", flo.ZSet[Open]))
    flow.output("kept", flow.input("kept", flo.ZSet[Row]))
    rows = spark.createDataFrame([(0,), (None,), (3,), (3,)], "n long")
    found = flow.on(spark).run(one=rows, other=rows, kept=rows.where("n > 0"), on_error="divert", shards=2)
    counts = {name: sum(row["_weight"] for row in found[name].collect()) for name in ("one", "other", "kept")}
    assert counts == {"one": 2, "other": 4, "kept": 2}
    assert {name: found[f"{name} diverted"].count() for name in counts} == {"one": 2, "other": 0, "kept": 0}
