"""Queries that are rejected, one for each kind. The texts of the errors are in tests/sql/golden."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import flo


class Sale(NamedTuple):
    shop: str
    price: int
    at: datetime
    tags: tuple[str, ...]


def _sql(text: str) -> None:
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.sql(text, sales=sales)


QUERIES = {
    # functions whose results change by themselves
    "current_time": "SELECT * FROM sales WHERE at < current_timestamp()",
    "date_of_today": "SELECT shop, current_date() AS day FROM sales",
    "now_as_text": "SELECT shop FROM sales WHERE at < CAST('now' AS TIMESTAMP_NTZ)",
    "today_as_a_literal": "SELECT shop FROM sales WHERE at < DATE 'today'",
    "random_number": "SELECT shop, rand() AS luck FROM sales",
    "random_identifier": "SELECT uuid() AS id, shop FROM sales",
    "number_of_a_partition": "SELECT shop, spark_partition_id() AS part FROM sales",
    "increasing_number": "SELECT shop, monotonically_increasing_id() AS id FROM sales",
    "name_of_a_file": "SELECT shop, input_file_name() AS file FROM sales",
    # aggregates
    "first_value_of_a_group": "SELECT shop, first(price) AS price FROM sales GROUP BY shop",
    "last_value_of_a_group_without_nulls": "SELECT shop, last(price) IGNORE NULLS AS price FROM sales GROUP BY shop",
    "approximate_count": "SELECT approx_count_distinct(shop) AS shops FROM sales",
    "approximate_percentile": "SELECT approx_percentile(price, 0.5) AS price FROM sales",
    "percentile_with_frequencies": "SELECT percentile(price, 0.5, price) AS price FROM sales",
    "percentile_of_intervals": "SELECT percentile(at - TIMESTAMP_NTZ '2024-01-01', 0.5) AS t FROM sales",
    "list_of_bytes": "SELECT listagg(CAST(shop AS BINARY)) AS shops FROM sales",
    "histogram": "SELECT histogram_numeric(price, 5) AS h FROM sales",
    "sketch": "SELECT hll_sketch_agg(shop) AS h FROM sales",
    "exclusive_or_of_distinct_values": "SELECT bit_xor(DISTINCT price) AS p FROM sales",
    "aggregate_that_is_not_maintained": "SELECT shop, kurtosis(price) AS k FROM sales GROUP BY shop",
    "variance_of_distinct_values": "SELECT shop, variance(DISTINCT price) AS v FROM sales GROUP BY shop",
    "sum_of_intervals": "SELECT sum(at - TIMESTAMP_NTZ '2024-01-01') AS t FROM sales",
    # windows
    "distinct_values_in_a_window": "SELECT count(DISTINCT price) OVER (PARTITION BY shop) AS n FROM sales",
    "sketch_in_a_frame": "SELECT approx_count_distinct(price) OVER (PARTITION BY shop ORDER BY at) AS v FROM sales",
    "session_windows": "SELECT count(*) AS n FROM sales GROUP BY session_window(at, '5 minutes')",
    # rows
    "sample": "SELECT * FROM sales TABLESAMPLE (10 PERCENT)",
    "large_range": "SELECT id FROM range(1000000) JOIN sales ON id = price",
    "recursion_with_a_limit_in_its_step": (
        "WITH RECURSIVE r(n) AS (SELECT price FROM sales UNION ALL (SELECT n - 1 FROM r WHERE n > 0 LIMIT 1)) "
        "SELECT n FROM r"
    ),
    "recursion_with_a_subquery_of_itself": (
        "WITH RECURSIVE r(n) AS (SELECT price FROM sales UNION ALL SELECT price FROM sales WHERE EXISTS "
        "(SELECT 1 FROM r WHERE n < 2)) SELECT n FROM r"
    ),
    "recursion_in_a_recursion": (
        "WITH RECURSIVE r(n) AS (SELECT price FROM sales UNION ALL SELECT m FROM (WITH RECURSIVE s(m) AS "
        "(SELECT n FROM r UNION ALL SELECT m - 1 FROM s WHERE m > 2) SELECT m FROM s WHERE m < 1)) SELECT n FROM r"
    ),
    "subquery_with_several_rows": (
        "SELECT shop, (SELECT b.price FROM sales b WHERE b.shop = a.shop AND b.price < a.price) AS p FROM sales a"
    ),
    "constant_struct": "SELECT c.a FROM VALUES (1, struct(2 AS b)) AS c(a, s) JOIN sales ON c.s.b = price AND c.a = 1",
    # columns
    "column_of_weights": "SELECT shop, price AS _weight FROM sales",
    "two_columns_of_one_name": "SELECT shop, price AS shop FROM sales",
    "collation": "SELECT shop COLLATE UTF8_LCASE AS shop, count(*) AS n FROM sales GROUP BY 1",
    "months_column": "SELECT INTERVAL 1 YEAR * price AS years FROM sales",
    "variant_column": "SELECT parse_json(shop) AS v FROM sales",
    "map_column": "SELECT map(shop, price) AS m FROM sales",
    # what Spark rejects
    "unknown_column": "SELECT shop, prize FROM sales",
    "unknown_table": "SELECT * FROM sails",
    "syntax_error": "SELEC shop FROM sales",
    "wrong_types": "SELECT shop + true AS x FROM sales",
    "command": "CREATE TABLE shops (shop STRING)",
    "insertion": "INSERT INTO sales SELECT * FROM sales",
}


def _with_query(text: str) -> Any:
    return lambda: _sql(text)


def sql_of_a_bag() -> None:
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.Bag[Sale])
    flow.sql("SELECT shop FROM sales", sales=sales)


def sql_without_streams() -> None:
    flo.Flow("sales").sql("SELECT 1 AS one")


def sql_of_no_known_table() -> None:
    flo.Flow("sales").sql("SELECT shop FROM sales")


def sql_without_streams_that_is_wrong() -> None:
    flo.Flow("numbers").sql("WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT max(n) + 1 FROM r) SELECT n FROM r")


def sql_of_elements_that_are_not_rows() -> None:
    flow = flo.Flow("sales")
    numbers = flow.input("numbers", flo.ZSet[frozenset[int]])
    flow.sql("SELECT * FROM numbers", numbers=numbers)


PROGRAMS = {
    **{name: _with_query(text) for name, text in QUERIES.items()},
    "sql_of_a_bag": sql_of_a_bag,
    "sql_without_streams": sql_without_streams,
    "sql_of_no_known_table": sql_of_no_known_table,
    "sql_without_streams_that_is_wrong": sql_without_streams_that_is_wrong,
    "sql_of_elements_that_are_not_rows": sql_of_elements_that_are_not_rows,
}


def _frames(spark: Any) -> tuple[Any, Any]:
    rows = spark.createDataFrame([("a", 1, datetime(2024, 1, 1))], "shop STRING, price INT, at TIMESTAMP")
    return rows, {"sales": rows}


def _views(spark: Any, frame: Any, inputs: Any) -> None:
    flo.spark.views(spark, {"best": frame}, inputs=inputs)


def duplicates_by_some_columns(spark: Any) -> None:
    rows, inputs = _frames(spark)
    _views(spark, rows.dropDuplicates(["shop"]), inputs)


def watermark(spark: Any) -> None:
    rows = spark.readStream.format("rate").load()
    _views(spark, rows.withWatermark("timestamp", "1 minute").groupBy("value").count(), {"rows": rows})


def frame_that_is_not_an_input(spark: Any) -> None:
    rows, inputs = _frames(spark)
    _views(spark, rows.join(spark.createDataFrame([("b",)], "shop STRING"), "shop"), inputs)


def function_that_is_not_deterministic(spark: Any) -> None:
    from pyspark.sql import functions as sf

    rows, inputs = _frames(spark)
    luck = sf.udf(lambda price: price, "int").asNondeterministic()
    _views(spark, rows.select(luck("price").alias("luck")), inputs)


def frame_with_a_subquery(spark: Any) -> None:
    rows, inputs = _frames(spark)
    rows.createOrReplaceTempView("prices")
    _views(spark, spark.sql("SELECT shop FROM prices WHERE price = (SELECT max(price) FROM prices)"), inputs)


FRAMES = {
    each.__name__: each
    for each in (
        frame_with_a_subquery,
        duplicates_by_some_columns,
        watermark,
        frame_that_is_not_an_input,
        function_that_is_not_deterministic,
    )
}
