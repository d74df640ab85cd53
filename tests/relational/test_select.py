"""select, with_columns, drop and rename: columns, expressions and functions of rows, with nulls and extreme values."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pytest

import flo
from flo.columns.cell import fields_of
from tests.relational.harness import Query, agree
from tests.relational.rows import SALES, Sale


def sales_of(flow: flo.Flow) -> Any:
    return flow.input("sales", flo.ZSet[Sale])


def test_projections() -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("projections")
        sales = sales_of(flow)
        flow.output("some", sales.select("shop", "price", twice=nw.col("qty") * 2))
        flow.output("more", sales.select("item", "ok").with_columns(ok=~nw.col("ok"), long=nw.col("item").is_null()))
        flow.output("fewer", sales.drop("price", "finite", "tame", "cost", "sold", "ok").rename({"shop": "store"}))
        flow.output("times", sales.select("sold", "cost", there=~nw.col("sold").is_null()))
        flow.output("hot", sales.filter(nw.col("ok")).select("big"))
        return flow

    queries: dict[str, Query | str] = {
        "some": "SELECT shop, price, qty * 2 FROM sales",
        "more": "SELECT item, NOT ok, item IS NULL FROM sales",
        "fewer": "SELECT shop, item, qty, big FROM sales",
        "times": "SELECT sold, cost, sold IS NOT NULL FROM sales",
        "hot": "SELECT big FROM sales WHERE ok",
    }
    agree(build, SALES, queries, seed=1)


def test_types_and_nulls_follow_from_the_expression() -> None:
    flow = flo.Flow("types")
    sales = sales_of(flow)
    found = sales.select("shop", "qty", twice=nw.col("qty") * 2, more=nw.col("big") + 1, there=nw.col("big").is_null())
    assert fields_of(found.collection.element) == {
        "shop": str | None,
        "qty": int,
        "twice": int,
        "more": int | None,
        "there": bool,
    }


def test_a_column_that_is_not_there_is_refused() -> None:
    flow = flo.Flow("refused")
    with pytest.raises(flo.TypeMismatch, match="`nothing`"):
        sales_of(flow).select("nothing")
