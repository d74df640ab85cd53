"""`flo.spark.views`: queries over DataFrames, restarted, killed and changed. The oracle is batch Spark."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flo
import flo.spark
from tests.sql.maintained_views import (
    SCHEMA,
    answers,
    register_functions,
    rows_of,
    rows_of_view,
    stream_of,
    write_changes,
)

ONE_FILE = {"availableNow": True}
QUERIES = {
    "digits": r"SELECT shop, regexp_extract(max(name), '(\\d+)', 1) AS digits, sum(n) AS n FROM sales GROUP BY shop",
    "having": "SELECT shop, count(*) AS n FROM sales GROUP BY shop HAVING plus_one(cast(count(*) AS int)) > 2",
    "at the input": "SELECT plus_one(n) AS n, count(*) AS rows FROM sales WHERE name LIKE '%1%' GROUP BY plus_one(n)",
    "with itself": "SELECT a.name, b.name AS other FROM sales a JOIN sales b ON a.shop = b.shop AND a.n < b.n",
}
CHANGES = [
    [(shop, f"{'abc'[shop % 3]}{n}", n, 1) for shop in range(4) for n in range(1, 5)],
    [(0, "a4", 4, -1), (1, "b4", 4, -1), (1, "b3", 3, -1), (1, "b2", 2, -1), (2, "new77", 7, 2), (5, None, 1, 1)],
    [(5, None, 1, -1), (2, "new77", 7, -1), (0, "a4", 4, 1), (3, "a1", 1, 0)],
]


def views(spark: Any, folder: Path, queries: dict[str, Any] = QUERIES) -> Any:
    return flo.spark.views(spark, queries, {"sales": stream_of(spark, folder)})


def compare(spark: Any, folder: Path, query: Any, queries: dict[str, str] = QUERIES) -> None:
    for name, expected in answers(spark, folder, queries).items():
        assert rows_of_view(query.view(name).arrow()) == expected, name


@pytest.mark.always
def test_views_are_maintained_and_resumed(spark, tmp_path):
    """Segments at the input and between stages, three shards, rows taken back, and a restart that plans anew."""
    register_functions(spark)
    source, checkpoint = tmp_path / "sales", tmp_path / "checkpoint"
    for number, changes in enumerate(CHANGES[:2]):
        write_changes(source, number, changes)
    query = views(spark, source).start(checkpoint=checkpoint, shards=3, trigger=ONE_FILE)
    query.wait()
    compare(spark, source, query)
    (read,) = query._query.lastProgress["sources"]
    assert read["numInputRows"]  # all readers of a stream see the same rows, as it is one source
    write_changes(source, 2, CHANGES[2])
    query = views(spark, source).start(checkpoint=checkpoint, trigger=ONE_FILE)
    query.wait()
    compare(spark, source, query)
    for name, other in {
        "at the input": QUERIES["at the input"].replace("%1%", "%2%"),
        "digits": QUERIES["digits"].replace("d+", "d"),
    }.items():
        with pytest.raises(flo.CheckpointError, match="belongs to another program"):
            views(spark, source, QUERIES | {name: other}).start(checkpoint=checkpoint, trigger=ONE_FILE)


def test_views_share_what_is_equal(spark):
    """DataFrames and SQL, inputs and common sub-plans, whatever their columns are called."""
    sales = spark.createDataFrame([(1, "a", 2)], SCHEMA)
    group = "SELECT shop, sum(n) AS n FROM sales GROUP BY shop"
    found = flo.spark.views(
        spark,
        {
            "totals": group,
            "large": f"SELECT shop AS s FROM ({group}) WHERE n > 10",
            "frame": sales.groupBy("shop").agg({"n": "sum"}).toDF("shop", "total"),
            "with itself": f"SELECT a.n, b.n AS other FROM ({group}) a JOIN ({group}) b ON a.n + 1 = b.n",
        },
        {"sales": sales},
    )
    assert list(found._frames) == ["sales"]
    assert found.explain().partition("\n  state\n")[0].count("group_by(") == 1
    assert "group_by(" in found._repr_html_()


@pytest.mark.thorough
def test_a_batch_input_beside_a_stream(spark, tmp_path):
    source = tmp_path / "sales"
    write_changes(source, 0, CHANGES[0])
    shops = spark.createDataFrame([(1, "Oslo"), (2, None), (7, "Rome")], "shop int, city string")
    shops.createOrReplaceTempView("shops")
    sales = stream_of(spark, source)
    joined = sales.join(shops, "shop").groupBy("city").agg({"n": "sum"}).toDF("city", "n")
    text = "SELECT upper(city) AS city, shop IN (SELECT shop FROM sales) AS sells FROM shops"
    queries = {"joined": joined, "text": text}
    query = flo.spark.views(spark, queries, {"sales": sales, "shops": shops}).start(
        checkpoint=tmp_path / "checkpoint", trigger=ONE_FILE
    )
    query.wait()
    oracle = {
        "joined": "SELECT city, sum(n) AS n FROM sales JOIN shops USING (shop) GROUP BY city",
        "text": text,
    }
    compare(spark, source, query, oracle)


def test_weights_are_checked(spark):
    rows = spark.createDataFrame([(1, "a", 2, 1)], f"{SCHEMA}, _weight int")
    with pytest.raises(flo.TypeMismatch, match="of the input `sales` must be bigint; got `_weight` of type int"):
        flo.spark.views(spark, {"all": "SELECT shop FROM sales"}, {"sales": rows})
    rows = spark.createDataFrame([(1, "a", 2, 0), (2, "b", 2, 3), (2, "b", 2, -1)], f"{SCHEMA}, _weight long")
    found = flo.spark.views(spark, {"all": "SELECT shop FROM sales"}, {"sales": rows}).run()
    assert rows_of(found["all"]) == {(2,): 2}
    rows = spark.createDataFrame([(1, "a", 2, None)], f"{SCHEMA}, _weight long")
    with pytest.raises(flo.FloError, match="`_weight` is null"):
        flo.spark.views(spark, {"all": "SELECT shop FROM sales"}, {"sales": rows}).run()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_a_process_that_is_killed_resumes(spark, tmp_path, seed):
    """Killed at once, with its Java, after some version; the next process goes on from there."""
    register_functions(spark)
    source = tmp_path / "sales"
    for number, changes in enumerate(CHANGES):
        write_changes(source, number, changes)
    command = [sys.executable, "-m", "tests.sql.killed_views", str(tmp_path)]
    for killed_after in (seed, None):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.strip() == f"version {killed_after}":
                    break
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    for name, expected in answers(spark, source, QUERIES).items():
        assert rows_of_view(flo.spark.View.of(str(tmp_path / "checkpoint"), name).arrow()) == expected, name


@pytest.mark.parametrize(
    "text", ["SELECT n FROM sales WHERE 1 / n = 1 AND false", "SELECT count(*) AS n FROM sales LIMIT 0"]
)
def test_a_query_that_needs_no_row(spark: Any, text: str) -> None:
    """Catalyst plans a constant without rows."""
    frame = spark.createDataFrame([(0, "a", 0)], "shop int, name string, n int")
    result = flo.spark.views(spark, {"none": text}, {"sales": frame}).run()
    assert result["none"].count() == 0
