# ruff: noqa: E501  # queries are on one line
"""Queries and DataFrames as views on Spark: what Spark computes on the inputs, and constants beside them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import flo.spark
from tests.sql.oracle import bag_of

ROWS = [
    ("a", 1, ["x", "y"], 0.0, datetime(2024, 1, 1, 10, 1)),
    ("a", 1, ["x", "y"], 0.0, datetime(2024, 1, 1, 10, 1)),
    ("b", 2, [], -0.0, datetime(2024, 1, 1, 10, 9)),
    ("b", None, None, float("nan"), datetime(2024, 1, 1, 10, 11)),
    (None, 3, ["z", None], float("nan"), None),
]
QUERIES = {
    "items": "SELECT shop, place, tag FROM sales LATERAL VIEW OUTER posexplode(tags) AS place, tag",
    "items by name": "SELECT tag, count(*) AS n FROM (SELECT explode(tags) AS tag FROM sales) GROUP BY tag",
    "constants": "SELECT c.shop, count(s.price) AS n FROM VALUES ('a'), ('z') AS c(shop) LEFT JOIN sales s USING (shop) GROUP BY c.shop",
    "zeros": "SELECT x, count(*) AS n FROM sales GROUP BY x",
    "spans": "SELECT window.start AS start, count(*) AS n FROM (SELECT window(at, '10 minutes') AS window FROM sales) GROUP BY window.start",
    "nothing": "SELECT count(*) AS n, max(price) AS most FROM sales WHERE price > 1000",
}  # fmt: skip


@pytest.mark.thorough
def test_as_spark_has_them(spark: Any) -> None:
    from pyspark.sql import functions as sf

    sales = spark.createDataFrame(ROWS, "shop STRING, price INT, tags ARRAY<STRING>, x DOUBLE, at TIMESTAMP")
    sales.createOrReplaceTempView("sales")
    twice = sf.udf(lambda price: None if price is None else 2 * price, "int")
    frames = {
        "twice": sales.select("shop", twice("price").alias("twice")).where("twice > 2"),
        "twice by shop": sales.groupBy("shop").agg(sf.sum(twice("price")).alias("twice")),
        "distinct": sales.select("shop", "price").dropDuplicates(),
        "partitions": sales.repartition(3).select("shop").sortWithinPartitions("shop"),
    }
    found = flo.spark.views(spark, {**QUERIES, **frames}, inputs={"sales": sales}).run(shards=3)
    for name, expected in (frames | {name: spark.sql(text) for name, text in QUERIES.items()}).items():
        assert bag_of(found[name].toArrow()) == bag_of(expected.toArrow()), name
