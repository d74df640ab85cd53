"""Queries at the edges: names, texts that look like times, errors that Spark raises, the last bit of a percentile."""

from __future__ import annotations

import random
import sys
from datetime import date
from typing import Any, NamedTuple

import pytest

import flo
import flo.spark
from flo.sql.nodes import SqlError


class Sale(NamedTuple):
    shop: str | None
    price: int


class Number(NamedTuple):
    x: float


SALES = [Sale("a", 3), Sale("a", 4), Sale("b", 10), Sale(None, 1)]


def run(text: str, sales: list[Sale] = SALES) -> dict[tuple[Any, ...], int]:
    """The rows of a query, as often as they are there. They are the same on values and on tables."""
    flow = flo.Flow("edges")
    flow.output("out", flow.sql(text, sales=flow.input("sales", flo.ZSet[Sale])))
    found = {tuple(row): weight for row, weight in flow.run(sales=sales)["out"].items()}
    rows = flow.on(flo.here).run(sales=sales)["out"].to_pylist()
    assert {tuple(map(_hashable, row.values()))[:-1]: row["_weight"] for row in rows} == found
    return found


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.thorough
def test_subqueries_that_compare_with_the_row(spark: Any) -> None:
    """Catalyst reads the table of the outer query a second time, with columns of the same numbers."""
    text = "SELECT price, (SELECT count(*) FROM sales b WHERE b.price < a.price AND b.shop = a.shop) AS n FROM sales a"
    assert run(text) == {(3, 0): 1, (4, 1): 1, (10, 0): 1, (1, 0): 1}
    text = "SELECT a.price, l.m FROM sales a, LATERAL (SELECT max(price) AS m FROM sales b WHERE b.price < a.price) l"
    assert run(text) == {(3, 1): 1, (4, 3): 1, (10, 4): 1, (1, None): 1}


def test_the_first_row_for_each_row(spark: Any) -> None:
    """Catalyst numbers the rows of the subquery without an order, and sorts them before, by columns that it drops."""
    best = "SELECT 0 - price AS p FROM sales b WHERE b.shop = a.shop ORDER BY b.price DESC LIMIT 1"
    text = f"SELECT price, l.p FROM sales a, LATERAL ({best}) l"
    assert run(text) == {(3, -4): 1, (4, -4): 1, (10, -10): 1}


def test_constant_arrays(spark: Any) -> None:
    text = "SELECT avg(DISTINCT price) AS a, collect_set(shop) AS b, array(7, 8)[count(shop) - 2] AS c FROM sales"
    assert run(text) == {(4.5, ("a", "b"), 8): 1}


def test_an_error_that_spark_raises_is_one_of_the_query(spark: Any) -> None:
    text = "SELECT shop, if(count(*) > 1, raise_error('boom'), 1) AS n FROM sales GROUP BY shop"
    assert run(text, SALES[1:]) == {("a", 1): 1, ("b", 1): 1, (None, 1): 1}
    with pytest.raises(SqlError, match=r"USER_RAISED_EXCEPTION.*boom"):
        run(text)


@pytest.mark.thorough
def test_percentiles_are_those_of_spark_to_the_last_bit(spark: Any) -> None:
    rng = random.Random(7)
    numbers = [Number(rng.choice((rng.uniform(-1, 1), rng.uniform(-1, 1) * 1e9, float("inf")))) for _ in range(41)]
    shares = (0.1, 0.29, 0.3, 0.7, 0.99)
    up = [f"percentile(x, {each}) AS u{place}" for place, each in enumerate(shares)]
    down = [f"percentile_cont({p}) WITHIN GROUP (ORDER BY x DESC) AS d{place}" for place, p in enumerate(shares)]
    text = f"SELECT {', '.join(up + down)} FROM numbers"
    flow = flo.Flow("percentiles")
    flow.output("out", flow.sql(text, numbers=flow.input("numbers", flo.ZSet[Number])))
    for count in (41, 30, 11, 2):
        spark.createDataFrame(numbers[:count], "x double").createOrReplaceTempView("numbers")
        (expected,) = spark.sql(text).collect()
        (on_values,) = flow.run(numbers=numbers[:count])["out"]
        (on_tables,) = flow.on(flo.here).run(numbers=numbers[:count])["out"].to_pylist()
        assert repr(tuple(on_values)) == repr(tuple(expected)) == repr(tuple(on_tables.values())[:-1])


def test_texts_and_comments_that_look_like_times(spark: Any) -> None:
    text = "SELECT price AS `date 'now'` /* date 'today' */ FROM sales WHERE shop <> \"date 'today'\" -- date 'now'"
    assert sum(run(text).values()) == 3
    for today in ("DATE r'today'", "TIMESTAMP /* the */ ' now '"):
        with pytest.raises(flo.FloError, match="the time passes"):
            run(f"SELECT shop, {today} AS today FROM sales")


CLOCKS_AS_TEXTS = (
    "to_date('today')",
    "to_timestamp('now')",
    "CAST(lower('TODAY') AS DATE)",
    "try_to_timestamp(concat('to', 'morrow'))",
    "if(true, ' Yesterday ', 'x')::timestamp_ntz",
    "array('today UTC')[0]::date",
    "(SELECT max(price) FROM sales WHERE to_date('today') > DATE '2020-01-01')",
    "year('now')",
    "unix_timestamp()",
)


@pytest.mark.every(test=4)
@pytest.mark.parametrize("clock", CLOCKS_AS_TEXTS)
def test_clocks_written_as_texts(spark: Any, clock: str) -> None:
    """They would be constants of the query, and another program after a restart."""
    flow = flo.Flow("clocks")
    sales = flow.input("sales", flo.ZSet[Sale])
    with pytest.raises(flo.FloError, match="the time passes"):
        flow.sql(f"SELECT price, {clock} AS x FROM sales", sales=sales)
    with pytest.raises(flo.FloError, match="the time passes"):
        flow.sql(f"SELECT price FROM sales WHERE {clock} IS NOT NULL", sales=sales)


def test_texts_that_are_no_clocks(spark: Any) -> None:
    dates = "to_date(lower('EPOCH')) AS d, 'today' AS t, CAST('2024-01-02' AS DATE) AS e"
    text = f"SELECT max(price) AS p, {dates} FROM sales"
    assert run(text) == {(10, date(1970, 1, 1), "today", date(2024, 1, 2)): 1}


@pytest.mark.thorough
def test_names(spark: Any) -> None:
    flow = flo.Flow("names")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("out", flow.sql("SELECT price AS `a.b` FROM `größe` WHERE price > 3", größe=sales))
    assert {tuple(row) for row in flow.run(sales=SALES)["out"]} == {(4,), (10,)}
    with pytest.raises(flo.FloError, match="SQL does not tell the stream `A` from `a`"):
        flow.sql("SELECT * FROM a", a=sales, A=sales)
    frame = spark.createDataFrame(SALES, "shop string, price int")
    text = "SELECT max(price) AS most FROM `my sales`"
    queries = {"the most": text, "twice": "SELECT 2 * most AS m FROM `the most`", "renamed": frame.toDF("a", "price")}
    queries["dots"] = (
        "SELECT `a.b`, initcap(`a.b`) AS `c.d`, n FROM (SELECT `a.b`, max(`p``q`) AS n FROM d GROUP BY `a.b`)"
    )
    found = flo.spark.views(spark, queries, {"my sales": frame, "d": frame.toDF("a.b", "p`q")}).run(shards=1)
    assert {tuple(row) for row in found["dots"].collect()} == {("a", "A", 4, 1), ("b", "B", 10, 1), (None, None, 1, 1)}
    assert [tuple(row) for row in found["twice"].collect()] == [(20, 1)]
    assert found["renamed"].columns == ["a", "price", "_weight"]


def test_arguments_of_another_kind(spark: Any) -> None:
    sales = flo.Flow("sales").input("sales", flo.ZSet[Sale])
    with pytest.raises(flo.FloError, match="must get a query as text"):
        flo.Flow("sales").sql(5, sales=sales)  # type: ignore[arg-type]
    with pytest.raises(flo.FloError, match="`sales` of `sql` must be a stream"):
        flo.Flow("sales").sql("SELECT * FROM sales", sales=SALES)  # type: ignore[arg-type]
    with pytest.raises(flo.FloError, match="the input `sales` must be a DataFrame"):
        flo.spark.views(spark, {"all": "SELECT * FROM sales"}, {"sales": SALES})  # type: ignore[dict-item]


def test_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    sales = flo.Flow("sales").input("sales", flo.ZSet[Sale])
    with pytest.raises(flo.FloError, match="pyspark is not installed"):
        flo.Flow("sales").sql("SELECT * FROM sales", sales=sales)
