"""Python functions of rows as columns: in projections, groups and aggregates; and aggregates of one's own."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.columns.cell import fields_of
from tests.engines.engine import Engine, comparable
from tests.relational.harness import Query, Source, agree


class Order(NamedTuple):
    shop: str | None
    price: float
    qty: int
    cost: Annotated[Decimal, pa.decimal128(12, 2)]


def draw_order(rng: random.Random) -> Order:
    shop, price = rng.choice(["a", "ß", None]), rng.choice([0.5, 1.25, -3.0])
    return Order(shop, price, rng.choice([1, 2, 3]), rng.choice([Decimal("1.25"), Decimal("-0.50")]))


ORDERS = {"orders": Source(Order, draw_order)}


def orders_of(flow: flo.Flow) -> Any:
    return flow.input("orders", flo.ZSet[Order])


def even(order: Order) -> bool:
    return order.qty % 2 == 0


class Pair(NamedTuple):
    total: float
    count: int


def pair(order: Order) -> Pair:
    return Pair(order.price * order.qty, order.qty)


def build_everything() -> flo.Flow:
    flow = flo.Flow("functions")
    orders = orders_of(flow)
    flow.output("selected", orders.select("shop", total=lambda r: r.price * r.qty, twice=nw.col("qty") * 2))
    flow.output("more", orders.with_columns(even, cost=lambda r: r.qty))
    flow.output("only", orders.select(even))
    flow.output(
        "grouped",
        orders.group_by("shop", even=lambda r: r.qty % 2 == 0).agg(
            n=flo.count(where=even), total=flo.sum(lambda r: r.price * r.qty), best=flo.max(lambda r: -r.price)
        ),
    )
    flow.output("rolled", orders.rollup("shop", even=even).agg(n=flo.sum(lambda r: r.qty)))
    flow.output("whole", orders.agg(total=flo.sum(lambda r: r.price * r.qty), first=flo.first(even, order_by="price")))
    flow.output(
        "linear",
        orders.group_by("shop").agg(
            one=flo.linear("qty", lambda total: total * 2),
            mean=flo.linear(("price", nw.lit(1)), lambda totals: totals[0] / totals[1]),
            named=flo.linear({"x": "price", "n": lambda r: 1}, lambda totals: totals.x / totals.n),
            shown=flo.linear({"x": "price", "n": "qty"}, nw.col("x") + nw.col("n")),
            paired=flo.linear(pair, lambda pair: pair.total / pair.count),
            cost=flo.linear("cost", lambda total: total),
            hot=flo.linear("qty", lambda total: total + 1, where=even),
        ),
    )
    return flow


QUERIES: dict[str, Query | str] = {
    "selected": "SELECT shop, price * qty, qty * 2 FROM orders",
    "more": "SELECT shop, price, qty, qty, qty % 2 = 0 FROM orders",
    "only": "SELECT qty % 2 = 0 FROM orders",
    "grouped": "SELECT shop, qty % 2 = 0 AS e, count(*) FILTER (qty % 2 = 0), sum(price * qty), max(-price) "
    "FROM orders GROUP BY ALL",
    "rolled": "SELECT shop, qty % 2 = 0 AS e, sum(qty) FROM orders GROUP BY ROLLUP (shop, e)",
    "whole": "SELECT sum(price * qty), (list(qty % 2 = 0 ORDER BY price, qty % 2 = 0))[1] FROM orders",
    "linear": Query(
        "SELECT shop, sum(qty) * 2, sum(price) / count(*), sum(price) / count(*), sum(price) + sum(qty), "
        "sum(price * qty) / sum(qty), sum(cost), sum(qty) FILTER (qty % 2 = 0) + 1 FROM orders GROUP BY shop",
        frozenset({"mean", "named", "paired"}),
    ),
}


def test_functions_of_rows() -> None:
    agree(build_everything, ORDERS, QUERIES)


def test_explain_says_what_runs_row_by_row() -> None:
    flow = flo.Flow("explained")
    orders = orders_of(flow)
    flow.output("columns", orders.select("shop", total=lambda r: r.price * r.qty))
    flow.output("rows", orders.select("shop", size=lambda r: len(str(r.qty))))
    assert "1 on tables, 1 row by row in Python" in flow.on(flo.here).explain()
    assert "total=lambda r: r.price * r.qty" in flow.explain()


def test_types_are_annotated_or_derived() -> None:
    flow = flo.Flow("types")
    orders = orders_of(flow)
    found = orders.select("shop", even, total=lambda r: r.price * r.qty, name=lambda r: r.shop)
    assert fields_of(found.collection.element) == {"shop": str | None, "even": bool, "total": float, "name": str | None}
    of_groups = orders.group_by("shop").agg(n=flo.linear("qty", lambda total: total / 2))
    assert fields_of(of_groups.collection.element) == {"shop": str | None, "n": float}


def unclear(row):  # type: ignore[no-untyped-def]
    return eval("row.qty")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda orders: orders.select(x=unclear), "the type of the column `x` of `select` is unknown"),
        (lambda orders: orders.group_by("shop").agg(x=flo.sum(unclear)), "the type of the column `x` of `agg`"),
        (lambda orders: orders.select(x=5), "`x` of `select` must be a column, an expression or a function"),
        (lambda orders: orders.select(lambda r: r.qty), "must get a name"),
        (lambda orders: orders.agg(x=flo.count(where="qty")), "must be true or false; got int"),
        (lambda orders: orders.agg(x=flo.linear("qty", unclear)), "return type of `finish` is unknown"),
        (lambda orders: orders.agg(x=flo.linear("shop", even)), "must get numbers; got str"),
        (lambda orders: orders.agg(x=flo.linear("qty", 5)), "`finish` must be a function"),
        (lambda orders: orders.select(x=lambda a, b: a), "must accept 1 argument"),
    ],
)
def test_what_has_no_type_is_refused(make: Any, message: str) -> None:
    with pytest.raises(flo.TypeMismatch, match=message):
        make(orders_of(flo.Flow("refused")))


def test_a_function_that_raises_is_named_with_its_row() -> None:
    flow = flo.Flow("raising")
    flow.output("found", orders_of(flow).select(inverse=lambda r: 1 / (r.qty - 1)))
    rows = {Order("a", 1.0, 1, Decimal(1)): 1, Order("a", 1.0, 3, Decimal(1)): 1}

    def fed(loop: Any) -> None:
        loop.push(orders=rows)
        loop.run()

    for loop in (flow.loop(), flow.on(flo.here).loop()):
        with pytest.raises(flo.FunctionError, match=r"(?s)division.*qty=1"):
            fed(loop)


@pytest.mark.sampled(spark=())
def test_on_every_engine(engine: Engine) -> None:
    rng = random.Random(7)
    rows = [draw_order(rng) for _ in range(40)]
    data: dict[Any, int] = {}
    for row in rows:
        data[row] = data.get(row, 0) + 1
    flow = build_everything()
    found = engine.run(flow, {"orders": data})
    expected = {name: comparable(value) for name, value in build_everything().run(orders=data).items()}
    assert found == expected


class Odd(NamedTuple):
    name: str
    count: int
    price: Decimal


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (Odd("a", 2**63, Decimal(1)), "an integer has more than 64 bits"),
        (Odd("\ud800", 1, Decimal(1)), "surrogates not allowed"),
        (Odd("a", 1, Decimal("1e60")), "cannot be represented"),
    ],
)
def test_a_value_that_fits_no_column_is_rejected_by_expressions_as_by_tables(row: Odd, reason: str) -> None:
    flow = flo.Flow("odd")
    rows = flow.input("rows", flo.ZSet[Odd])
    flow.output("some", rows.filter((nw.col("name") > "") & (nw.col("count") > 0) & (nw.col("price") > 0)))
    for run in (flow.run, flow.on(flo.here).run):
        with pytest.raises(flo.ElementError, match=rf"does not fit its columns: .*{reason}(.|\n)*Odd"):
            run(rows=[row])
