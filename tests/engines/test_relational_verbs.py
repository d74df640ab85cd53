"""Verbs of rows with named columns on every engine: projections and groups.

Rows are retracted, some are there twice, and keys and values are null.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("relational verbs", sample=("group_by_a_column",))


class Sale(NamedTuple):
    shop: str | None
    item: str
    price: int | None
    qty: int


class Shop(NamedTuple):
    shop: str | None
    city: str | None


class Offer(NamedTuple):
    item: str
    qty: int


class Point(NamedTuple):
    group: str
    x: float | None
    y: float


TEA, CUP, PIE = Sale("a", "tea", 2, 3), Sale("a", "cup", None, 1), Sale("b", "pie", 5, 2)
LOST = Sale(None, "tea", 4, 1)
SALES = ({TEA: 1, PIE: 2}, {CUP: 1, LOST: 1}, {TEA: -1, PIE: -1, LOST: 1})


def sales_of(p: Program) -> Any:
    return p.input(flo.ZSet[Sale], *SALES)


@FAMILY.program
def select_columns(p: Program) -> None:
    sales = sales_of(p)
    p.expect(
        sales.select("shop", total=nw.col("price") * nw.col("qty")),
        {("a", 6): 1, ("b", 10): 2},
        {("a", 6): 1, ("b", 10): 2, ("a", None): 1, (None, 4): 1},
        {("b", 10): 1, ("a", None): 1, (None, 4): 2},
    )
    p.expect(
        sales.select(nw.col("item"), ["qty"]),
        {("tea", 3): 1, ("pie", 2): 2},
        {("tea", 3): 1, ("pie", 2): 2, ("cup", 1): 1, ("tea", 1): 1},
        {("pie", 2): 1, ("cup", 1): 1, ("tea", 1): 2},
    )


@FAMILY.program
def with_more_and_other_columns(p: Program) -> None:
    tea, pie = ("a", "tea", 2, 4, False), ("b", "pie", 5, 3, True)
    cup, lost = ("a", "cup", None, 2, None), (None, "tea", 4, 2, True)
    found = sales_of(p).with_columns(qty=nw.col("qty") + 1, dear=nw.col("price") > 3)
    p.expect(found, {tea: 1, pie: 2}, {tea: 1, pie: 2, cup: 1, lost: 1}, {pie: 1, cup: 1, lost: 2})


@FAMILY.program
def columns_by_functions(p: Program) -> None:
    """Functions of rows stand where expressions do, also for groups and in aggregates."""
    sales = sales_of(p)
    p.expect(
        sales.select("item", paid=paid_for),
        {("tea", 6): 1, ("pie", 10): 2},
        {("tea", 6): 1, ("pie", 10): 2, ("cup", 0): 1, ("tea", 4): 1},
        {("pie", 10): 1, ("cup", 0): 1, ("tea", 4): 2},
    )
    p.expect(
        sales.group_by(initial=lambda sale: sale.item[0]).agg(paid=flo.sum(paid_for)),
        {("t", 6): 1, ("p", 20): 1},
        {("t", 10): 1, ("p", 20): 1, ("c", 0): 1},
        {("p", 10): 1, ("c", 0): 1, ("t", 8): 1},
    )


def paid_for(sale: Sale) -> int:
    return (sale.price or 0) * sale.qty


@FAMILY.program
def drop_and_rename(p: Program) -> None:
    found = sales_of(p).drop("item", "qty").rename({"shop": "store"}, price="cents").select("cents", "store")
    p.expect(
        found,
        {(2, "a"): 1, (5, "b"): 2},
        {(2, "a"): 1, (5, "b"): 2, (None, "a"): 1, (4, None): 1},
        {(5, "b"): 1, (None, "a"): 1, (4, None): 2},
    )


@FAMILY.program
def columns_of_sequences(p: Program) -> None:
    sales = p.input(flo.Sequence[Sale], [TEA, CUP], [PIE])
    p.expect(sales.select("item", "price"), [("tea", 2), ("cup", None)], [("tea", 2), ("cup", None), ("pie", 5)])
    more = sales.with_columns(qty=nw.col("qty") * 10).drop("shop", "price").rename(item="what")
    p.expect(more, [("tea", 30), ("cup", 10)], [("tea", 30), ("cup", 10), ("pie", 20)])


@FAMILY.program
def columns_of_bags(p: Program) -> None:
    sales = p.input(flo.Bag[Sale], [TEA, CUP], [TEA, LOST])
    p.expect(sales.select("item"), {("tea",): 1, ("cup",): 1}, {("tea",): 3, ("cup",): 1})
    more = sales.with_columns(qty=nw.col("qty") * 10).drop("shop", "price").rename(item="what")
    p.expect(more, {("tea", 30): 1, ("cup", 10): 1}, {("tea", 30): 2, ("cup", 10): 1, ("tea", 10): 1})


@FAMILY.program
def columns_of_sets(p: Program) -> None:
    sales = p.input(flo.Set[Sale], {TEA, CUP}, {TEA, LOST})
    p.expect(sales.select("item"), {("tea",), ("cup",)}, {("tea",), ("cup",)})
    more = sales.with_columns(qty=nw.col("qty") * 10).drop("shop", "price").rename(item="what")
    p.expect(more, {("tea", 30), ("cup", 10)}, {("tea", 30), ("cup", 10), ("tea", 10)})


@FAMILY.program
def group_by_a_column(p: Program) -> None:
    """A null key is one group; aggregates skip nulls, and are null without values."""
    found = (
        sales_of(p)
        .group_by("shop")
        .agg(
            n=flo.count(),
            prices=flo.count("price"),
            revenue=flo.sum(nw.col("price") * nw.col("qty")),
            best=flo.max("price"),
            items=flo.count_distinct("item"),
            dear=flo.count(where=nw.col("price") > 3),
        )
    )
    p.expect(
        found,
        {("a", 1, 1, 6, 2, 1, 0): 1, ("b", 2, 2, 20, 5, 1, 2): 1},
        {("a", 2, 1, 6, 2, 2, 0): 1, ("b", 2, 2, 20, 5, 1, 2): 1, (None, 1, 1, 4, 4, 1, 1): 1},
        {("a", 1, 0, None, None, 1, 0): 1, ("b", 1, 1, 10, 5, 1, 1): 1, (None, 2, 2, 8, 4, 1, 2): 1},
    )


@FAMILY.program
def group_by_an_expression(p: Program) -> None:
    found = sales_of(p).group_by(dear=nw.col("price") > 3).agg(n=flo.count(), qty=flo.sum("qty"))
    p.expect(
        found,
        {(False, 1, 3): 1, (True, 2, 4): 1},
        {(False, 1, 3): 1, (True, 3, 5): 1, (None, 1, 1): 1},
        {(True, 3, 4): 1, (None, 1, 1): 1},
    )


@FAMILY.program
def aggregates_that_keep_rows(p: Program) -> None:
    found = (
        sales_of(p)
        .group_by("shop")
        .agg(
            least=flo.min("price"),
            dearest=flo.arg_max("item", by="price"),
            cheapest=flo.arg_min("item", by="price"),
            first=flo.first("item", order_by="price"),
            last=flo.last("item", order_by="price"),
            middle=flo.median("price"),
            items=flo.collect("item"),
            names=flo.string_agg("item", "+"),
        )
    )
    tea, pie = ("a", 2, "tea", "tea", "tea", "tea", 2.0), ("b", 5, "pie", "pie", "pie", "pie", 5.0)
    both, cup = ("a", 2, "tea", "tea", "cup", "tea", 2.0), ("a", None, None, None, "cup", "cup", None)
    lost = (None, 4, "tea", "tea", "tea", "tea", 4.0)
    pies = (*pie, ("pie", "pie"), "pie+pie")
    p.expect(
        found,
        {(*tea, ("tea",), "tea"): 1, pies: 1},
        {(*both, ("cup", "tea"), "cup+tea"): 1, pies: 1, (*lost, ("tea",), "tea"): 1},
        {(*cup, ("cup",), "cup"): 1, (*pie, ("pie",), "pie"): 1, (*lost, ("tea", "tea"), "tea+tea"): 1},
    )


@FAMILY.program
def statistics(p: Program) -> None:
    """A sample needs two values, and a correlation two that differ."""
    points = p.input(
        flo.ZSet[Point],
        {Point("a", 1.0, 2.0): 1, Point("a", 3.0, 6.0): 1},
        {Point("a", None, 9.0): 1, Point("b", 5.0, 1.0): 2},
        {Point("a", 1.0, 2.0): -1},
    )
    spread = points.group_by("group").agg(
        avg=flo.avg("x"),
        var=flo.var_samp("x"),
        var_pop=flo.var_pop("x"),
        dev=flo.stddev_samp("x"),
        dev_pop=flo.stddev_pop("x"),
        covar=flo.covar_samp("x", "y"),
        covar_pop=flo.covar_pop("x", "y"),
        corr=flo.corr("x", "y"),
    )
    two, one = ("a", 2.0, 2.0, 1.0, math.sqrt(2), 1.0, 4.0, 2.0, 1.0), ("a", 3.0, None, 0.0, None, 0.0, None, 0.0)
    twice = ("b", 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, math.nan)
    p.expect(spread, {two: 1}, {two: 1, twice: 1}, {(*one, math.nan): 1, twice: 1})
    values = points.group_by("group").agg(
        quarter=flo.quantile("x", 0.25),
        mode=flo.mode("x"),
        different=flo.sum("x", distinct=True),
        mean=flo.avg("x", distinct=True),
        all=flo.bool_and(nw.col("x") > 2),
        any=flo.bool_or(nw.col("x") > 2),
        twice=flo.linear("y", twice_of),
    )
    p.expect(
        values,
        {("a", 1.5, 1.0, 4.0, 2.0, False, True, 16.0): 1},
        {("a", 1.5, 1.0, 4.0, 2.0, False, True, 34.0): 1, ("b", 5.0, 5.0, 5.0, 5.0, True, True, 4.0): 1},
        {("a", 3.0, 3.0, 3.0, 3.0, True, True, 30.0): 1, ("b", 5.0, 5.0, 5.0, 5.0, True, True, 4.0): 1},
    )


def twice_of(total: float) -> float:
    return 2 * total


@FAMILY.program
def aggregates_of_all_rows(p: Program) -> None:
    """There is one row, also of no rows."""
    sales = sales_of(p)
    p.expect(sales.agg(n=flo.count(), revenue=flo.sum("price")), {(3, 12): 1}, {(5, 16): 1}, {(4, 13): 1})
    none = sales.filter(nw.col("qty") > 2).agg(n=flo.count(), least=flo.min("price"), items=flo.collect("item"))
    p.expect(none, {(1, 2, ("tea",)): 1}, {(1, 2, ("tea",)): 1}, {(0, None, ()): 1})


@FAMILY.program
def rollup_of_two_columns(p: Program) -> None:
    """The level tells the subtotal of a shop from a row whose item is null, and the total from that of no shop."""
    found = sales_of(p).rollup("shop", "item").agg(n=flo.count(), level=flo.grouping_id())
    p.expect(
        found,
        dict.fromkeys(
            [("a", "tea", 1, 0), ("b", "pie", 2, 0), ("a", None, 1, 1), ("b", None, 2, 1), (None, None, 3, 3)], 1
        ),
        dict.fromkeys(
            [("a", "tea", 1, 0), ("a", "cup", 1, 0), ("b", "pie", 2, 0), (None, "tea", 1, 0)]
            + [("a", None, 2, 1), ("b", None, 2, 1), (None, None, 1, 1), (None, None, 5, 3)],
            1,
        ),
        dict.fromkeys(
            [("b", "pie", 1, 0), ("a", "cup", 1, 0), (None, "tea", 2, 0)]
            + [("b", None, 1, 1), ("a", None, 1, 1), (None, None, 2, 1), (None, None, 4, 3)],
            1,
        ),
    )


@FAMILY.program
def cube_of_two_columns(p: Program) -> None:
    """Without levels, equal rows of two groupings are two rows."""
    by_both = {("a", "tea", 3): 1, ("b", "pie", 4): 1}
    by_one = {("a", None, 3): 1, ("b", None, 4): 1, (None, "tea", 3): 1, (None, "pie", 4): 1}
    p.expect(
        sales_of(p).cube("shop", "item").agg(qty=flo.sum("qty")),
        {**by_both, **by_one, (None, None, 7): 1},
        {
            ("a", "tea", 3): 1,
            ("a", "cup", 1): 1,
            ("b", "pie", 4): 1,
            (None, "tea", 1): 1,
            ("a", None, 4): 1,
            ("b", None, 4): 1,
            (None, None, 1): 1,
            (None, "tea", 4): 1,
            (None, "cup", 1): 1,
            (None, "pie", 4): 1,
            (None, None, 9): 1,
        },
        {
            ("b", "pie", 2): 1,
            ("a", "cup", 1): 1,
            ("b", None, 2): 1,
            ("a", None, 1): 1,
            (None, None, 2): 1,
            (None, "pie", 2): 1,
            (None, "cup", 1): 1,
            (None, "tea", 2): 2,
            (None, None, 5): 1,
        },
    )


@FAMILY.program
def chosen_grouping_sets(p: Program) -> None:
    found = sales_of(p).grouping_sets(["shop"], "item", []).agg(n=flo.count())
    p.expect(
        found,
        {("a", None, 1): 1, ("b", None, 2): 1, (None, "tea", 1): 1, (None, "pie", 2): 1, (None, None, 3): 1},
        {
            ("a", None, 2): 1,
            ("b", None, 2): 1,
            (None, None, 1): 1,
            (None, "tea", 2): 1,
            (None, "pie", 2): 1,
            (None, "cup", 1): 1,
            (None, None, 5): 1,
        },
        {
            ("b", None, 1): 1,
            ("a", None, 1): 1,
            (None, None, 2): 1,
            (None, "pie", 1): 1,
            (None, "cup", 1): 1,
            (None, "tea", 2): 1,
            (None, None, 4): 1,
        },
    )


@FAMILY.on_every_engine
def test_relational_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)
