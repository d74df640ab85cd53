"""Verbs of rows in an order on every engine: window functions, tops, limits, nearest rows; and lists of items."""

from __future__ import annotations

from typing import Any, NamedTuple

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program
from tests.engines.test_relational_verbs import CUP, LOST, PIE, TEA, Offer, sales_of

FAMILY = Family("ordered verbs", sample=("window_functions", "nearest_rows"))


class Bid(NamedTuple):
    currency: str | None
    at: int
    price: int


class Rate(NamedTuple):
    currency: str
    at: int
    rate: float


class Basket(NamedTuple):
    name: str
    items: tuple[str, ...] | None


FULL, EMPTY, NONE = Basket("x", ("a", "b")), Basket("y", ()), Basket("z", None)


def offers_of(p: Program) -> Any:
    return p.input(flo.ZSet[Offer], {Offer("a", 1): 1, Offer("b", 1): 1}, {Offer("c", 2): 1}, {Offer("a", 1): -1})


@FAMILY.program
def window_functions(p: Program) -> None:
    """Nulls come first, and equal rows are one after the other."""
    found = (
        sales_of(p)
        .over(partition_by="shop", order_by="price")
        .with_columns(
            rank=flo.rank(),
            row=flo.row_number(),
            previous=flo.lag("price"),
            running=flo.sum("price", rows=(None, 0)),
        )
    )
    pies = {(*PIE, 1, 1, None, 5): 1, (*PIE, 1, 2, 5, 10): 1}
    cup, lost = {(*CUP, 1, 1, None, None): 1}, {(*LOST, 1, 1, None, 4): 1}
    p.expect(
        found,
        {(*TEA, 1, 1, None, 2): 1} | pies,
        {(*TEA, 2, 2, None, 2): 1} | cup | pies | lost,
        {(*PIE, 1, 1, None, 5): 1} | cup | lost | {(*LOST, 1, 2, 4, 8): 1},
    )


@FAMILY.program
def places_among_all_rows(p: Program) -> None:
    found = (
        offers_of(p)
        .over(order_by="qty")
        .with_columns(
            dense=flo.dense_rank(),
            percent=flo.percent_rank(),
            share=flo.cume_dist(),
            half=flo.ntile(2),
            next=flo.lead("item"),
            first=flo.first_value("item", rows=(None, None)),
            last=flo.last_value("item", rows=(None, None)),
            second=flo.nth_value("item", 2, rows=(None, None)),
        )
    )
    p.expect(
        found,
        {("a", 1, 1, 0.0, 1.0, 1, "b", "a", "b", "b"): 1, ("b", 1, 1, 0.0, 1.0, 2, None, "a", "b", "b"): 1},
        {
            ("a", 1, 1, 0.0, 2 / 3, 1, "b", "a", "c", "b"): 1,
            ("b", 1, 1, 0.0, 2 / 3, 1, "c", "a", "c", "b"): 1,
            ("c", 2, 2, 1.0, 1.0, 2, None, "a", "c", "b"): 1,
        },
        {("b", 1, 1, 0.0, 0.5, 1, "c", "b", "c", "c"): 1, ("c", 2, 2, 1.0, 1.0, 2, None, "b", "c", "c"): 1},
    )


@FAMILY.program
def aggregates_of_frames(p: Program) -> None:
    found = (
        offers_of(p)
        .over(order_by="qty")
        .with_columns(
            running=flo.sum("qty", rows=(None, 0)), near=flo.count(range=(-1, 0)), mean=flo.avg("qty", rows=(-1, 0))
        )
    )
    p.expect(
        found,
        {("a", 1, 1, 2, 1.0): 1, ("b", 1, 2, 2, 1.0): 1},
        {("a", 1, 1, 2, 1.0): 1, ("b", 1, 2, 2, 1.0): 1, ("c", 2, 4, 3, 1.5): 1},
        {("b", 1, 1, 1, 1.0): 1, ("c", 2, 3, 2, 1.5): 1},
    )


@FAMILY.program
def first_rows(p: Program) -> None:
    sales = sales_of(p)
    p.expect(
        sales.top(1, by="shop", order_by=flo.desc("price", nulls_last=True)),
        {TEA: 1, PIE: 1},
        {TEA: 1, PIE: 1, LOST: 1},
        {PIE: 1, CUP: 1, LOST: 1},
    )
    p.expect(
        sales.top(2, order_by="qty", with_ties=True, rank="place"),
        {(*PIE, 1): 2},
        {(*CUP, 1): 1, (*LOST, 1): 1},
        {(*CUP, 1): 1, (*LOST, 1): 2},
    )
    p.expect(
        sales.limit(2, offset=1, order_by=["item", "shop"]),
        {PIE: 1, TEA: 1},
        {PIE: 2},
        {PIE: 1, LOST: 1},
    )
    p.expect(
        sales.distinct(on="item", order_by=flo.desc("qty")),
        {TEA: 1, PIE: 1},
        {TEA: 1, PIE: 1, CUP: 1},
        {PIE: 1, CUP: 1, LOST: 1},
    )


@FAMILY.program
def nearest_rows(p: Program) -> None:
    bids = p.input(
        flo.ZSet[Bid],
        {Bid("eur", 5, 10): 1, Bid("usd", 3, 7): 2},
        {Bid(None, 5, 1): 1},
        {Bid("usd", 3, 7): -1},
    )
    rates = p.input(
        flo.ZSet[Rate],
        {Rate("eur", 2, 1.0): 1},
        {Rate("eur", 5, 1.5): 1, Rate("usd", 4, 2.0): 1},
        {Rate("eur", 5, 1.5): -1, Rate("usd", 1, 3.0): 1},
    )
    p.expect(
        bids.join_asof(rates, on="at", by="currency"),
        {("eur", 5, 10, 2, 1.0): 1, ("usd", 3, 7, None, None): 2},
        {("eur", 5, 10, 5, 1.5): 1, ("usd", 3, 7, None, None): 2, (None, 5, 1, None, None): 1},
        {("eur", 5, 10, 2, 1.0): 1, ("usd", 3, 7, 1, 3.0): 1, (None, 5, 1, None, None): 1},
    )
    p.expect(
        bids.join_asof(rates, on="at", by="currency", direction="forward", how="inner"),
        {},
        {("eur", 5, 10, 5, 1.5): 1, ("usd", 3, 7, 4, 2.0): 2},
        {("usd", 3, 7, 4, 2.0): 1},
    )


@FAMILY.program
def items_of_lists(p: Program) -> None:
    baskets = p.input(flo.ZSet[Basket], {FULL: 1, EMPTY: 1}, {NONE: 1}, {FULL: -1, Basket("x", ("a", "a")): 1})
    p.expect(baskets.explode("items"), {("x", "a"): 1, ("x", "b"): 1}, {("x", "a"): 1, ("x", "b"): 1}, {("x", "a"): 2})
    p.expect(
        baskets.explode("items", keep_empty=True),
        {("x", "a"): 1, ("x", "b"): 1, ("y", None): 1},
        {("x", "a"): 1, ("x", "b"): 1, ("y", None): 1, ("z", None): 1},
        {("x", "a"): 2, ("y", None): 1, ("z", None): 1},
    )


@FAMILY.program
def items_of_lists_with_positions(p: Program) -> None:
    baskets = p.input(flo.ZSet[Basket], {FULL: 1, EMPTY: 1}, {FULL: -1, Basket("x", ("a", "a")): 1})
    p.expect(
        baskets.explode("items", position="place"),
        {("x", "a", 0): 1, ("x", "b", 1): 1},
        {("x", "a", 0): 1, ("x", "a", 1): 1},
    )
    p.expect(
        baskets.explode("items", keep_empty=True, position="place"),
        {("x", "a", 0): 1, ("x", "b", 1): 1, ("y", None, None): 1},
        {("x", "a", 0): 1, ("x", "a", 1): 1, ("y", None, None): 1},
    )


@FAMILY.program
def items_of_lists_in_other_collections(p: Program) -> None:
    ordered = p.input(flo.Sequence[Basket], [FULL, NONE], [EMPTY, FULL])
    p.expect(ordered.explode("items"), [("x", "a"), ("x", "b")], [("x", "a"), ("x", "b"), ("x", "a"), ("x", "b")])
    p.expect(
        p.input(flo.Bag[Basket], [FULL, NONE], [EMPTY, FULL]).explode("items"),
        {("x", "a"): 1, ("x", "b"): 1},
        {("x", "a"): 2, ("x", "b"): 2},
    )
    p.expect(
        p.input(flo.Set[Basket], {FULL, NONE}, {EMPTY, FULL}).explode("items"),
        {("x", "a"), ("x", "b")},
        {("x", "a"), ("x", "b")},
    )


@FAMILY.on_every_engine
def test_ordered_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)
