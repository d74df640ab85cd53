"""Views that read each other, as one fixpoint: after insertions and deletions they have the rows of DuckDB's recursion
with a column that says which view a row belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import flo
import flo.spark
from flo.sql.mutual_recursion import order_views, read_names

pytestmark = pytest.mark.usefixtures("spark")

FURTHER = "SELECT DISTINCT p.src, e.dst FROM {} p JOIN edges e ON p.dst = e.src"
PARITY = {
    "both": "SELECT e.src, e.dst FROM even e JOIN odd o ON e.src = o.src AND e.dst = o.dst",
    "even": FURTHER.format("odd"),
    "odd": f"SELECT src, dst FROM edges UNION {FURTHER.format('EVEN')}",
    "counts": "SELECT src, count(*) AS n FROM even GROUP BY src",
}
ORACLE = """WITH RECURSIVE r(odd, src, dst) AS (
    SELECT true, src, dst FROM edges UNION SELECT NOT odd, r.src, e.dst FROM r JOIN edges e ON r.dst = e.src
)"""
EXPECTED = {
    "both": f"{ORACLE} SELECT a.src, a.dst FROM r a JOIN r b USING (src, dst) WHERE a.odd AND NOT b.odd",
    "even": f"{ORACLE} SELECT src, dst FROM r WHERE NOT odd",
    "odd": f"{ORACLE} SELECT src, dst FROM r WHERE odd",
    "counts": f"{ORACLE} SELECT src, count(*) FROM r WHERE NOT odd GROUP BY src",
}
STATES: list[dict[tuple[str, str], int]] = [
    {("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 1},
    {("d", "a"): 1, ("b", "b"): 1, ("x", "y"): 2},  # cycles of lengths 4 and 1
    {("b", "b"): -1, ("b", "c"): -1, ("y", "x"): 1},  # a bridge goes
]


@pytest.mark.always
def test_views_that_read_each_other_follow_changes(spark: Any, tmp_path: Path) -> None:
    folder, content = tmp_path / "edges", dict[tuple[str, str], int]()
    for state in STATES:
        rows = [(*edge, weight) for edge, weight in state.items()]
        frame = spark.createDataFrame(rows, "src STRING, dst STRING, _weight BIGINT")
        frame.coalesce(1).write.mode("append").parquet(str(folder))
        content = {edge: content.get(edge, 0) + state.get(edge, 0) for edge in {**content, **state}}
        views = flo.spark.views(spark, PARITY, {"edges": spark.readStream.schema(frame.schema).parquet(str(folder))})
        query = views.start(checkpoint=tmp_path / "state", shards=2, trigger={"availableNow": True})
        query.wait()
        connection = duckdb.connect()
        connection.execute("CREATE TABLE edges (src VARCHAR, dst VARCHAR)")
        connection.executemany("INSERT INTO edges VALUES (?, ?)", [edge for edge, count in content.items() if count])
        for name, text in EXPECTED.items():
            found = query.view(name).arrow().to_pylist()
            assert all(row.pop("_weight", 1) == 1 for row in found)
            assert sorted(tuple(row.values()) for row in found) == sorted(connection.execute(text).fetchall()), name
        query.stop()


def rows_of(spark: Any, queries: dict[str, str], **inputs: Any) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: sorted(map(tuple, frame.drop("_weight").collect()))
        for name, frame in flo.spark.views(spark, queries, inputs).run().items()
    }


def test_a_view_may_read_itself_and_types_are_widened(spark: Any) -> None:
    start = spark.createDataFrame([(1,)], "n INT")
    series = {"series": "SELECT n FROM start UNION SELECT n + 2L FROM series WHERE n < 7"}
    assert rows_of(spark, series, start=start) == {"series": [(1,), (3,), (5,), (7,)]}


@pytest.mark.thorough
def test_names_of_columns_and_subqueries(spark: Any) -> None:
    start = spark.createDataFrame([(0,), (1,), (2,), (3,)], "n BIGINT")
    queries = {
        "odd": "SELECT * FROM (SELECT DISTINCT m + 1 FROM even WHERE m < 9) AS v(m)",
        "even": "SELECT * FROM (SELECT n FROM start WHERE n = 0 UNION SELECT m + 1 FROM odd WHERE m < 9) AS v(m)",
        "in both": "SELECT n FROM start WHERE EXISTS (SELECT 1 FROM even WHERE m = n)",
    }
    found = rows_of(spark, queries, start=start)
    assert found["even"] == [(n,) for n in range(0, 9, 2)]
    assert found["odd"] == [(n,) for n in range(1, 10, 2)]
    assert found["in both"] == [(0,), (2,)]


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ({"r": "SELECT n FROM start UNION ALL SELECT n + 1 FROM r WHERE n < 5"}, "`r` reads itself"),
        ({"a": "SELECT n FROM start UNION SELECT n FROM b", "b": "SELECT n FROM a"}, "`b` reads itself"),
        ({"a": "SELECT DISTINCT n FROM b", "b": "SELECT DISTINCT n FROM a"}, "no row is known to begin with"),
        ({"a": "SELECT n FROM start UNION SELECT n, 1 FROM a"}, "NUM_COLUMNS_MISMATCH"),
        ({"a": "SELECT CAST(n AS DECIMAL(5, 0)) AS n FROM start UNION SELECT n + 1 FROM a"}, "get other types"),
        ({"a": "SELECT n FROM start UNION SELECT m FROM a"}, "UNRESOLVED_COLUMN"),
    ],
)
def test_cycles_that_are_rejected(spark: Any, queries: dict[str, str], message: str) -> None:
    with pytest.raises(flo.FloError, match=message):
        flo.spark.views(spark, queries, {"start": spark.createDataFrame([(1,)], "n INT")})


def test_what_a_query_reads(spark: Any) -> None:
    text = """WITH own AS (SELECT * FROM a) SELECT (SELECT max(x) FROM `B c`), own.* FROM own
        WHERE EXISTS (SELECT 1 FROM d) AND y IN (SELECT y FROM own) -- FROM e"""
    assert read_names(spark, text) == {"a", "b c", "d"}
    assert read_names(spark, "SELECT FROM WHERE") == set()


def test_the_order_of_views() -> None:
    reads = {"a": {"c"}, "b": {"d"}, "c": set[str](), "d": {"e", "a"}, "e": {"b"}, "f": {"f"}}
    assert list(order_views(reads)) == [("c",), ("a",), ("b", "d", "e"), ("f",)]
