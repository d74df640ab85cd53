"""`explain` says why a function is called row by row, and suggests columns that compute the same."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.columns.rewriting import suggest_columns, why_row_by_row


class Sale(NamedTuple):
    shop: str | None
    item: str
    price: int | None
    qty: int
    at: datetime
    weight: float


ROWS = [
    Sale("a", "Tea", 3, 2, datetime(2026, 1, 2, 3, 4), 0.5),
    Sale("b", " cup ", 0, 1, datetime(2025, 12, 31), 1.25),
    Sale("tea", "", 7, 5, datetime(2026, 5, 6), -2.0),
]
MISSING = Sale(None, "pie", None, 4, datetime(2026, 1, 1), 0.0)


def with_statements(sale: Sale) -> int:
    total = sale.qty
    return total + 1


def documented(sale: Sale) -> bool:
    """Whether there is a price."""
    return sale.price is not None


def shouted(sale: Sale) -> str:
    return sale.item.upper()


SUGGESTED: dict[str, tuple[Any, str, str]] = {
    "null": (lambda s: s.price > 2, "`s.price` may be None", 'nw.col("price") > 2'),
    "null of a text": (lambda s: s.shop, "`shop` may be None", 'nw.col("shop")'),
    "is None": (documented, "`sale.price` may be None", '~nw.col("price").is_null()'),
    "both": (
        lambda s: s.price is not None and s.qty > 1,
        "may be None",
        '~nw.col("price").is_null() & (nw.col("qty") > 1)',
    ),
    "default": (lambda s: (s.price or 0) * 2, "may be None", 'nw.col("price").fill_null(0) * 2'),
    "text": (shouted, "`sale.item.upper()` in another way", 'nw.col("item").str.to_uppercase()'),
    "stripped": (lambda s: len(s.item.strip()), "in another way", 'nw.col("item").str.strip_chars().str.len_chars()'),
    "year": (lambda s: s.at.year, "in another way", 'nw.col("at").dt.year()'),
    "among": (lambda s: s.item in ("Tea", "cup"), "columns do not have", 'nw.col("item").is_in(["Tea", "cup"])'),
    "condition": (
        lambda s: 1 if s.price is None else s.qty,
        "may be None",
        'nw.when(nw.col("price").is_null()).then(nw.lit(1)).otherwise(nw.col("qty"))',
    ),
    "tuple": (lambda s: (s.shop, s.qty + 1), "may be None", '(nw.col("shop"), nw.col("qty") + 1)'),
    "division": (lambda s: 7 // s.qty, "it may divide by zero", '7 // nw.col("qty")'),
}


@pytest.mark.parametrize("case", SUGGESTED)
def test_reasons_and_suggestions(case: str) -> None:
    """What is suggested computes the same, where the function does not raise."""
    function, why, instead = SUGGESTED[case]
    assert why in why_row_by_row(function, Sale)
    found = suggest_columns(function, Sale)
    assert found == instead
    layout = Layout.of(Sale)
    assert layout is not None
    expression = Expression(eval(found, {"nw": nw}), (layout,))
    assert [expression(row) for row in ROWS] == [function(row) for row in ROWS]
    if case in ("is None", "both", "default", "condition", "text", "tuple"):
        assert expression(MISSING) == function(MISSING)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (with_statements, "it has statements"),
        (abs, "not a function written in Python"),
        (lambda s: ROWS.index(s), "in another way"),
        (lambda s: sorted(s.item), "in another way"),
        (lambda s: s.nothing, "no column `nothing`"),
    ],
    ids=["statements", "built in", "call", "list", "no column"],
)
def test_reasons_without_a_suggestion(function: Any, why: str) -> None:
    assert why in why_row_by_row(function, Sale)
    assert suggest_columns(function, Sale) is None


def test_below_the_table() -> None:
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    known = sales.filter(lambda s: s.price is not None).with_columns(half=lambda s: (s.price or 0) // 2)
    by_shop = known.group_by("shop").agg(n=flo.count(), revenue=flo.sum("half", where=nw.col("qty") > 1))
    flow.output("by_shop", by_shop)
    flow.output("labels", sales.filter(lambda s: s.qty > 1).map(with_statements))
    *table, summary = flow.on(flo.here).explain().splitlines()
    place = table.index("row by row in Python, because")
    table, reasons = table[:place], table[place + 1 : table.index("state")]
    assert sum("on tables, row by row in Python" in line for line in table) == 3
    assert any("group_by(shop: n=count()," in line and "row by row" not in line for line in table)
    assert any("filter(lambda s: s.qty > 1)" in line and "row by row" not in line for line in table)
    shown = {line if line.startswith("    ") else line.rpartition("   ")[0] for line in reasons}
    assert shown == {
        "  map(with_statements)   it has statements",
        "  filter(lambda s: s.price is not None)   `s.price` may be None",
        '    write filter(~nw.col("price").is_null())',
        "  with_columns(lambda s: (s.price or 0) // 2)   `s.price` may be None",
        '    write with_columns(half=nw.col("price").fill_null(0) // 2)',
    }
    assert summary.startswith("3 on tables, 3 row by row in Python")


def test_keys_of_joins() -> None:
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("pairs", sales.join(sales, lambda s: s.shop, "item", lambda s, t: s.qty + t.qty))
    text = flow.on(flo.here).explain()
    assert "join(lambda s: s.shop)   `shop` may be None" in text
    assert '    write join(…, on=nw.col("shop"))' in text
    assert "it takes more than one row" in text


def test_nothing_to_say() -> None:
    flow = flo.Flow("sales")
    flow.output("dear", flow.input("sales", flo.ZSet[Sale]).filter(nw.col("price") > 2))
    assert "because" not in flow.on(flo.here).explain()
    assert "filter(price > 2)" in flow.on(flo.here).explain()


def test_groups_by_name() -> None:
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("all", sales.agg(n=flo.count(), best=flo.arg_max("item", by="price")))
    flow.output("by", sales.rollup("shop", late=nw.col("qty") > 2).agg(all=flo.quantile("weight", 0.5)))
    assert "==" not in flow.explain()
    lines = [line.partition("   on tables")[0] for line in flow.on(flo.here).explain().splitlines()]
    text = " ".join(" ".join(lines).split())
    assert "group_by(all rows: n=count(), best=arg_max(item, price))" in text
    assert "group_by(shop, late: all=quantile(weight, 0.5, 'linear'))" in text
    assert "==" not in text
