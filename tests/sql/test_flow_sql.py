"""`flow.sql` composes: its rows are a stream like any other, before and after every verb."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest

import flo
from flo.verify import check

pytestmark = pytest.mark.usefixtures("spark")


class Sale(NamedTuple):
    shop: str
    price: int
    at: int


class Shop(NamedTuple):
    shop: str
    city: str | None


SALES = [Sale("a", 3, 1), Sale("a", 4, 2), Sale("b", 10, 12), Sale("c", 1, 13), Sale("a", 4, 2)]
SHOPS = [Shop("a", "Rome"), Shop("b", None)]
REVENUE = "SELECT city, sum(price) AS revenue FROM sales JOIN shops USING (shop) GROUP BY city"


def rows(found: Any) -> Counter[Any]:
    """Return rows as plain tuples, as often as they are there."""
    return Counter({tuple(row): weight for row, weight in found.items()})


def revenue(bounded: bool = False) -> flo.Flow:
    flow = flo.Flow("revenue")
    sales = flow.input("sales", flo.ZSet[Sale], bounded=bounded)
    shops = flow.input("shops", flo.ZSet[Shop], bounded=bounded)
    flow.output("revenue", flow.sql(REVENUE, sales=sales, shops=shops))
    return flow


def test_values_and_tables_agree() -> None:
    flow = revenue()
    on_values = flow.run(sales=SALES, shops=SHOPS)["revenue"]
    assert rows(on_values) == {("Rome", 11): 1, (None, 10): 1}
    on_tables = flow.on(flo.here).run(sales=SALES, shops=SHOPS)["revenue"]
    assert sorted(map(str, on_tables.to_pylist())) == [
        "{'city': 'Rome', 'revenue': 11, '_weight': 1}",
        "{'city': None, 'revenue': 10, '_weight': 1}",
    ]


def test_every_schedule_gives_one_outcome() -> None:
    found = revenue().explore(sales=SALES[:2], shops=SHOPS[:1], most_states=400)
    assert "one outcome" in str(found)


@pytest.mark.thorough
def test_the_laws_hold() -> None:
    assert check(revenue(), tries=5, most=1).ok


def test_the_laws_of_a_group_hold() -> None:
    flow = flo.Flow("largest")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("largest", flow.sql("SELECT shop, max(price) AS price FROM sales GROUP BY shop", sales=sales))
    assert check(flow, tries=3, most=1).ok


def test_verbs_before_and_after() -> None:
    flow = flo.Flow("verbs")
    sales = flow.input("sales", flo.ZSet[Sale])
    cheap = sales.filter(lambda sale: sale.price < 10)
    counts = flow.sql("SELECT shop, count(*) AS n FROM cheap GROUP BY shop", cheap=cheap)
    many = flow.sql("SELECT shop FROM counts WHERE n > 1", counts=counts)
    flow.output("many", many.select("shop"))
    assert rows(flow.run(sales=SALES)["many"]) == {("a",): 1}


def test_a_query_of_every_window() -> None:
    flow = flo.Flow("windows")
    sales = flow.input("sales", flo.Sequence[Sale])
    query = "SELECT shop, sum(price) AS total FROM pane GROUP BY shop"
    windows = sales.tumbling(10, time=lambda sale: sale.at)
    flow.output("totals", windows.nest(lambda pane: flow.sql(query, pane=pane.to_zset())))
    given = [*SALES[:4], Sale("a", 1, 27)]
    first, second, *_ = flow.run(sales=given)["totals"]
    assert (rows(first), rows(second)) == ({("a", 7): 1}, {("b", 10): 1, ("c", 1): 1})


def test_a_threshold_of_a_query() -> None:
    flow = flo.Flow("alarm")
    sales = flow.input("sales", flo.ZSet[Sale], bounded=True)
    totals = flow.sql("SELECT shop, sum(price) AS total FROM sales GROUP BY shop", sales=sales)
    largest = totals.to_bag().fold_lattice(flo.Max(int), lambda row: row.total)
    flow.output("alarm", largest.threshold(10))
    assert flow.run(sales=SALES)["alarm"] == [10]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT shop FROM sales WHERE 1 / price = 1 AND false", []),
        ("SELECT shop FROM sales LIMIT 0", []),
        ("SELECT shop, count(*) AS n FROM sales GROUP BY shop HAVING 1 > 2", []),
        ("SELECT count(*) AS n FROM sales WHERE 1 / price = 1 AND false", [(0,)]),
        ("SELECT 1 AS n WHERE (SELECT count(*) FROM sales LIMIT 0) > 0", []),
    ],
)
def test_a_query_that_needs_no_row(query: str, expected: list[Any]) -> None:
    """Spark does not read what cannot matter. The input is named by the query, so it is not forgotten."""
    flow = flo.Flow("nothing")
    sales = flow.input("sales", flo.ZSet[Sale])
    cheap = sales.filter(lambda sale: sale.price < 10)
    flow.output("rows", flow.sql(query, sales=cheap))
    assert rows(flow.run(sales=[*SALES, Sale("d", 0, 3)])["rows"]) == Counter(expected)
    on_tables = flow.on(flo.here).run(sales=SALES)["rows"].drop_columns(["_weight"])
    assert [tuple(row.values()) for row in on_tables.to_pylist()] == expected


def test_a_stream_that_a_query_does_not_name() -> None:
    flow = flo.Flow("forgotten")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    flow.output("rows", flow.sql("SELECT shop FROM sales LIMIT 0", sales=sales, shops=shops))
    with pytest.raises(flo.UnusedInputError, match="no output depends on the input `shops`"):
        flow.run(sales=[], shops=[])


def test_explain_reads_like_sql() -> None:
    text = revenue().explain()
    assert "==" not in text
    assert "sum(" in text
    assert "#argument0" not in repr(revenue())
    flow = flo.Flow("big")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output(
        "big", flow.sql("SELECT shop, price * 2 AS twice FROM sales WHERE price > 3 AND shop <> 'b'", sales=sales)
    )
    assert "filter((price > 3) AND NOT (shop = 'b'))" in flow.explain()
    assert "twice=price * 2" in flow.explain()


def test_a_limit_without_an_order_takes_the_least_rows() -> None:
    """Any rows would do. These are the same whatever arrives first."""
    flow = flo.Flow("some")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("some", flow.sql("SELECT shop, price FROM sales LIMIT 2", sales=sales))
    assert (
        rows(flow.run(sales=SALES)["some"]) == rows(flow.run(sales=SALES[::-1])["some"]) == {("a", 3): 1, ("a", 4): 1}
    )


def test_a_subquery_with_several_rows_is_an_error() -> None:
    flow = flo.Flow("price")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("out", flow.sql("SELECT shop, (SELECT price FROM sales WHERE shop = 'b') AS p FROM sales", sales=sales))
    assert rows(flow.run(sales=SALES[:3])["out"]) == {("a", 10): 2, ("b", 10): 1}
    with pytest.raises(flo.FloError, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        flow.run(sales=[*SALES, Sale("b", 1, 1)])


EARLY = {
    "aggregates of aggregates": """
        SELECT most + 1 AS m, count(*) AS n FROM (
            SELECT shop, max(price) AS most, min(at) AS first, median(price) AS mid, stddev_pop(price) AS s FROM sales
            GROUP BY shop HAVING mid >= 0) GROUP BY most""",
    "ranks": "SELECT *, rank() OVER (PARTITION BY shop ORDER BY price DESC) r, sum(at) OVER (ORDER BY at) FROM sales",
    "outer join": """
        SELECT shop, coalesce(city, '?') AS city, sum(price) AS s FROM sales LEFT JOIN shops USING (shop)
        GROUP BY 1, 2""",
    "scalar subquery": "SELECT shop, price - (SELECT min(price) FROM sales) AS more FROM sales",
    "whole": "SELECT count(*) AS n, avg(price) AS mean, listagg(shop, '') AS names FROM sales",
    "distinct": "SELECT count(DISTINCT shop) AS n FROM (SELECT DISTINCT shop, at FROM sales) WHERE at > 1",
}


@pytest.mark.parametrize("name", EARLY)
def test_a_retraction_may_come_before_its_insertion(name: str) -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("early")
        streams = {"sales": flow.input("sales", flo.ZSet[Sale])}
        if "shops" in EARLY[name].split():
            streams["shops"] = flow.input("shops", flo.ZSet[Shop])
        flow.output("rows", flow.sql(EARLY[name], **streams))
        return flow

    given: dict[str, Any] = {"sales": SALES} | ({"shops": SHOPS} if "shops" in EARLY[name].split() else {})
    expected = rows(build().run(**given)["rows"])
    gone = Sale("d", 7, 3)
    for loop in (build().loop(negative="allow"), build().on(flo.here).loop(negative="allow")):
        for delta in ({SALES[0]: -2, gone: -1}, {SALES[1]: -1}, Counter({SALES[0]: 2, SALES[1]: 1})):
            loop.push(sales=dict(delta))
            loop.run()
        loop.push(**given)
        loop.push(sales={gone: 1})
        loop.run()
        found = loop.result()["rows"]
        if not isinstance(found, dict):
            found = {tuple(list(row.values())[:-1]): row["_weight"] for row in found.to_pylist()}
        assert rows(found) == expected
