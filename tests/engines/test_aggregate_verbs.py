"""Aggregates of z-sets on every engine: rows that change, and go, as rows are retracted."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("aggregate verbs", sample=("sum_and_avg_by", "min_and_max_by"))
DELTAS = ({1: 4, 6: 2}, {6: -2}, {1: -4})
"""The last one takes back all that is left."""


class Sale(NamedTuple):
    shop: str
    item: str | None
    price: int
    weight: float


TEA, CAKE, MORE, NUTS = (
    Sale("a", "tea", 2, 0.1),
    Sale("a", None, 5, 0.2),
    Sale("a", "tea", 7, 0.3),
    Sale("b", "nuts", 3, 0.5),
)
SALES = ({TEA: 1, CAKE: 2, NUTS: 1}, {MORE: 1, CAKE: -1}, {CAKE: -1, NUTS: -1})


def sales(p: Program) -> flo.Stream:
    return p.input(flo.ZSet[Sale], *SALES)


@FAMILY.program
def count(p: Program) -> None:
    p.expect(p.input(flo.ZSet[int], *DELTAS).count(), {6: 1}, {4: 1}, {})
    p.expect(sales(p).count(), {4: 1}, {4: 1}, {2: 1})


@FAMILY.program
def sum_of_rows(p: Program) -> None:
    numbers = p.input(flo.ZSet[int], *DELTAS)
    p.expect(numbers.sum(), {16: 1}, {4: 1}, {})
    p.expect(numbers.sum(lambda x: -x), {-16: 1}, {-4: 1}, {})
    p.expect(sales(p).sum("price"), {15: 1}, {17: 1}, {9: 1})


@FAMILY.program
def avg(p: Program) -> None:
    numbers = p.input(flo.ZSet[int], {1: 3, 6: 2}, {6: -2}, {1: -3})
    p.expect(numbers.avg(), {3.0: 1}, {1.0: 1}, {})
    p.expect(numbers.avg(lambda x: x + 1), {4.0: 1}, {2.0: 1}, {})
    p.expect(sales(p).avg("price"), {3.75: 1}, {4.25: 1}, {4.5: 1})


@FAMILY.program
def count_distinct(p: Program) -> None:
    numbers = p.input(flo.ZSet[int], *DELTAS)
    p.expect(numbers.count_distinct(), {2: 1}, {1: 1}, {})
    p.expect(numbers.count_distinct(lambda x: x > 0), {1: 1}, {1: 1}, {})
    p.expect(sales(p).count_distinct("item"), {3: 1}, {3: 1}, {1: 1})


@FAMILY.program
def min_and_max(p: Program) -> None:
    numbers = p.input(flo.ZSet[int], *DELTAS)
    p.expect(numbers.min(), {1: 1}, {1: 1}, {})
    p.expect(numbers.max(), {6: 1}, {1: 1}, {})
    p.expect(numbers.max(lambda x: -x), {-1: 1}, {-1: 1}, {})
    p.expect(sales(p).min("price"), {2: 1}, {2: 1}, {2: 1})
    p.expect(sales(p).max(nw.col("price") * 2), {10: 1}, {14: 1}, {14: 1})


@FAMILY.program
def count_by(p: Program) -> None:
    p.expect(sales(p).count_by("shop"), {("a", 3): 1, ("b", 1): 1}, {("a", 3): 1, ("b", 1): 1}, {("a", 2): 1})
    by_item = sales(p).count_by(lambda sale: sale.item)
    p.expect(
        by_item,
        {("tea", 1): 1, (None, 2): 1, ("nuts", 1): 1},
        {("tea", 2): 1, (None, 1): 1, ("nuts", 1): 1},
        {("tea", 2): 1},
    )


@FAMILY.program
def count_by_two_columns(p: Program) -> None:
    p.expect(
        sales(p).count_by(("shop", "item")),
        {(("a", "tea"), 1): 1, (("a", None), 2): 1, (("b", "nuts"), 1): 1},
        {(("a", "tea"), 2): 1, (("a", None), 1): 1, (("b", "nuts"), 1): 1},
        {(("a", "tea"), 2): 1},
    )


@FAMILY.program
def count_distinct_by(p: Program) -> None:
    p.expect(
        sales(p).count_distinct_by("shop", "item"),
        {("a", 2): 1, ("b", 1): 1},
        {("a", 2): 1, ("b", 1): 1},
        {("a", 1): 1},
    )
    prices = sales(p).count_distinct_by(lambda sale: sale.shop, lambda sale: sale.price)
    p.expect(prices, {("a", 2): 1, ("b", 1): 1}, {("a", 3): 1, ("b", 1): 1}, {("a", 2): 1})


@FAMILY.program
def sum_and_avg_by(p: Program) -> None:
    rows = sales(p)
    p.expect(rows.sum_by("shop", "price"), {("a", 12): 1, ("b", 3): 1}, {("a", 14): 1, ("b", 3): 1}, {("a", 9): 1})
    p.expect(
        rows.sum_by(lambda sale: sale.shop, nw.col("price") * 10),
        {("a", 120): 1, ("b", 30): 1},
        {("a", 140): 1, ("b", 30): 1},
        {("a", 90): 1},
    )
    p.expect(
        rows.avg_by("shop", "price"), {("a", 4.0): 1, ("b", 3.0): 1}, {("a", 14 / 3): 1, ("b", 3.0): 1}, {("a", 4.5): 1}
    )


@FAMILY.program
def sum_of_floats_is_exact(p: Program) -> None:
    """As if what was retracted had never been there, and in any order."""
    rows = p.input(flo.ZSet[float], {1e100: 1, 0.1: 1, 0.2: 1}, {0.3: 1}, {1e100: -1})
    p.expect(rows.sum(), {1e100: 1}, {1e100: 1}, {0.6: 1})
    p.expect(
        sales(p).sum_by("shop", "weight"),
        {("a", 0.5): 1, ("b", 0.5): 1},
        {("a", 0.6): 1, ("b", 0.5): 1},
        {("a", 0.4): 1},
    )


@FAMILY.program
def sum_and_avg_of_decimals(p: Program) -> None:
    prices = p.input(flo.ZSet[Decimal], {Decimal("0.1"): 3}, {Decimal("2.5"): 1}, {Decimal("0.1"): -3})
    p.expect(prices.sum(), {Decimal("0.3"): 1}, {Decimal("2.8"): 1}, {Decimal("2.5"): 1})
    p.expect(prices.avg(), {Decimal("0.1"): 1}, {Decimal("0.7"): 1}, {Decimal("2.5"): 1})


@FAMILY.program
def min_and_max_by(p: Program) -> None:
    rows = sales(p)
    p.expect(rows.min_by("shop", "price"), {("a", 2): 1, ("b", 3): 1}, {("a", 2): 1, ("b", 3): 1}, {("a", 2): 1})
    p.expect(
        rows.max_by(lambda sale: sale.shop, lambda sale: sale.price),
        {("a", 5): 1, ("b", 3): 1},
        {("a", 7): 1, ("b", 3): 1},
        {("a", 7): 1},
    )


@FAMILY.program
def the_largest_is_retracted(p: Program) -> None:
    rows = p.input(flo.ZSet[tuple[str, int]], {("a", 1): 1, ("a", 9): 1}, {("a", 9): -1}, {("a", 1): -1, ("b", 4): 1})
    p.expect(rows.max_by("0", "1"), {("a", 9): 1}, {("a", 1): 1}, {("b", 4): 1})


@FAMILY.program
def aggregate_by(p: Program) -> None:
    """Of one total, and of several: price for each weight."""
    rows = sales(p)
    texts = rows.aggregate_by("shop", "price", lambda total: f"{total} in all")
    p.expect(
        texts,
        {("a", "12 in all"): 1, ("b", "3 in all"): 1},
        {("a", "14 in all"): 1, ("b", "3 in all"): 1},
        {("a", "9 in all"): 1},
    )
    per_weight = rows.aggregate_by(
        lambda sale: sale.shop, lambda sale: (sale.price, sale.weight), lambda totals: totals[0] / totals[1]
    )
    p.expect(per_weight, {("a", 24.0): 1, ("b", 6.0): 1}, {("a", 14 / 0.6): 1, ("b", 6.0): 1}, {("a", 22.5): 1})


@FAMILY.program
def aggregate_of_an_aggregate(p: Program) -> None:
    """The inner rows are retracted, and the outer ones follow."""
    totals = sales(p).sum_by("shop", "price")
    p.expect(totals.max("1"), {12: 1}, {14: 1}, {9: 1})


@FAMILY.on_every_engine
def test_aggregate_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)
