"""Joins and set operations of rows with named columns on every engine.

Rows are retracted, some are there twice, and keys and values are null.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program
from tests.engines.test_relational_verbs import CUP, LOST, TEA, Offer, Sale, sales_of

FAMILY = Family("joins of rows", sample=("outer_joins",))


class Shop(NamedTuple):
    shop: str | None
    city: str | None


class Wanted(NamedTuple):
    item: str
    shop: str | None


SHOPS = (
    {Shop("a", "Oslo"): 1, Shop(None, "nowhere"): 1},
    {Shop("b", None): 1, Shop("c", "Paris"): 1},
    {Shop("a", "Oslo"): -1},
)
OFFERS: tuple[dict[Offer, int], ...] = (
    {Offer("tea", 2): 1, Offer("egg", 1): 1},
    {},
    {Offer("tea", 1): 1, Offer("tea", 2): -1},
)


def sold_and_shops(p: Program) -> tuple[Any, Any]:
    """What was sold where: (a, tea), 2 (b, pie); then also (a, cup) and (null, tea); at last (b, pie), (a, cup) and
    2 (null, tea)."""
    return sales_of(p).select("shop", "item"), p.input(flo.ZSet[Shop], *SHOPS)


def sold_and_offers(p: Program) -> tuple[Any, Any]:
    return sales_of(p).select("item", "qty"), p.input(flo.ZSet[Offer], *OFFERS)


@FAMILY.program
def inner_joins(p: Program) -> None:
    """Null keys match nothing, unless they are asked to."""
    sold, shops = sold_and_shops(p)
    pairs = {("a", "tea", "Oslo"): 1, ("a", "cup", "Oslo"): 1, ("b", "pie", None): 2}
    p.expect(sold.join(shops, on="shop"), {("a", "tea", "Oslo"): 1}, pairs, {("b", "pie", None): 1})
    p.expect(
        sold.join(shops, on="shop", nulls_equal=True),
        {("a", "tea", "Oslo"): 1},
        pairs | {(None, "tea", "nowhere"): 1},
        {("b", "pie", None): 1, (None, "tea", "nowhere"): 2},
    )


@FAMILY.program
def outer_joins(p: Program) -> None:
    sold, shops = sold_and_shops(p)
    pairs = {("a", "tea", "Oslo"): 1, ("a", "cup", "Oslo"): 1, ("b", "pie", None): 2}
    empty = {("c", None, "Paris"): 1, (None, None, "nowhere"): 1}
    alone = {("b", "pie", None): 1, ("a", "cup", None): 1, (None, "tea", None): 2}
    p.expect(
        sold.join(shops, on="shop", how="left"),
        {("a", "tea", "Oslo"): 1, ("b", "pie", None): 2},
        pairs | {(None, "tea", None): 1},
        alone,
    )
    p.expect(
        sold.join(shops, on="shop", how="right"),
        {("a", "tea", "Oslo"): 1, (None, None, "nowhere"): 1},
        pairs | empty,
        {("b", "pie", None): 1} | empty,
    )
    p.expect(
        sold.join(shops, on="shop", how="full"),
        {("a", "tea", "Oslo"): 1, ("b", "pie", None): 2, (None, None, "nowhere"): 1},
        pairs | empty | {(None, "tea", None): 1},
        alone | empty,
    )


@FAMILY.program
def joins_that_select_rows(p: Program) -> None:
    sold, shops = sold_and_shops(p)
    p.expect(
        sold.join(shops, on="shop", how="semi"),
        {("a", "tea"): 1},
        {("a", "tea"): 1, ("a", "cup"): 1, ("b", "pie"): 2},
        {("b", "pie"): 1},
    )
    p.expect(
        sold.join(shops, on="shop", how="anti"),
        {("b", "pie"): 2},
        {(None, "tea"): 1},
        {("a", "cup"): 1, (None, "tea"): 2},
    )
    p.expect(
        sold.join(shops, on="shop", how="anti", nulls_equal=True),
        {("b", "pie"): 2},
        {},
        {("a", "cup"): 1},
    )


@FAMILY.program
def cross_join(p: Program) -> None:
    sold, offers = sold_and_offers(p)
    p.expect(
        sold.join(offers, how="cross", where=nw.col("qty") < nw.col("qty_right") + 1, suffix="_right"),
        {("pie", 2, "tea", 2): 2},
        {("pie", 2, "tea", 2): 2, ("cup", 1, "tea", 2): 1, ("tea", 1, "tea", 2): 1}
        | {("cup", 1, "egg", 1): 1, ("tea", 1, "egg", 1): 1},
        {("cup", 1, "egg", 1): 1, ("tea", 1, "egg", 1): 2, ("cup", 1, "tea", 1): 1, ("tea", 1, "tea", 1): 2},
    )


@FAMILY.program
def joins_with_a_condition(p: Program) -> None:
    """A row without a pair for which the condition holds has no partner."""
    sold, offers = sold_and_offers(p)

    def joined(how: str) -> Any:
        enough = nw.col("qty") >= nw.col("qty_least")
        return sold.join(offers, on="item", how=how, where=enough, suffix="_least")

    first, last = {("tea", 3, 2): 1}, {("tea", 1, 1): 2}
    alone = [
        {("pie", 2, None): 2},
        {("pie", 2, None): 2, ("cup", 1, None): 1, ("tea", 1, None): 1},
        {("pie", 2, None): 1, ("cup", 1, None): 1},
    ]
    egg = {("egg", None, 1): 1}
    p.expect(joined("inner"), first, first, last)
    p.expect(joined("left"), first | alone[0], first | alone[1], last | alone[2])
    p.expect(joined("right"), first | egg, first | egg, last | egg)
    p.expect(joined("full"), first | alone[0] | egg, first | alone[1] | egg, last | alone[2] | egg)
    p.expect(joined("semi"), {("tea", 3): 1}, {("tea", 3): 1}, {("tea", 1): 2})
    without = [{row[:2]: weight for row, weight in each.items()} for each in alone]
    p.expect(joined("anti"), *without)


@FAMILY.program
def join_on_other_columns(p: Program) -> None:
    """Keys with different names are both columns of the result, as are those that are computed."""
    sold, offers = sold_and_offers(p)
    found = offers.rename(item="what").join(sold, on=["what", nw.col("qty") + 1], other_on=["item", nw.col("qty")])
    p.expect(found, {("tea", 2, "tea", 3): 1}, {("tea", 2, "tea", 3): 1}, {})


@FAMILY.program
def join_of_bags_and_sets_of_rows(p: Program) -> None:
    bags = p.input(flo.Bag[Sale], [TEA, TEA], [LOST]), p.input(flo.Bag[Shop], [Shop("a", None)], [Shop("a", "Oslo")])
    found = bags[0].join(bags[1], on="shop").select("item", "city")
    p.expect(found, {("tea", None): 2}, {("tea", None): 2, ("tea", "Oslo"): 2})
    sets = p.input(flo.Set[Sale], {TEA, LOST}, {CUP}), p.input(flo.Set[Shop], {Shop("a", None)}, {Shop(None, "Oslo")})
    found = sets[0].join(sets[1], on="shop").select("item", "city")
    p.expect(found, {("tea", None)}, {("tea", None), ("cup", None)})


@FAMILY.program
def set_operations(p: Program) -> None:
    """Columns are matched by name, and null equals null."""
    sold = sales_of(p).select("shop", "item")
    wanted = p.input(
        flo.ZSet[Wanted],
        {Wanted("tea", "a"): 2, Wanted("egg", None): 1},
        {Wanted("tea", None): 1},
        {Wanted("tea", "a"): -2, Wanted("pie", "b"): 2},
    )
    tea, cup, pie, lost, egg = ("a", "tea"), ("a", "cup"), ("b", "pie"), (None, "tea"), (None, "egg")
    p.expect(
        sold.union(wanted),
        {tea: 3, pie: 2, egg: 1},
        {tea: 3, pie: 2, cup: 1, lost: 2, egg: 1},
        {pie: 3, cup: 1, lost: 3, egg: 1},
    )
    p.expect(
        sold.union_distinct(wanted),
        {tea: 1, pie: 1, egg: 1},
        {tea: 1, pie: 1, cup: 1, lost: 1, egg: 1},
        {pie: 1, cup: 1, lost: 1, egg: 1},
    )
    p.expect(sold.except_(wanted), {pie: 1}, {pie: 1, cup: 1}, {cup: 1})
    p.expect(sold.except_(wanted, all=True), {pie: 2}, {pie: 2, cup: 1}, {cup: 1, lost: 1})
    p.expect(sold.intersect(wanted), {tea: 1}, {tea: 1, lost: 1}, {pie: 1, lost: 1})
    p.expect(sold.intersect(wanted, all=True), {tea: 1}, {tea: 1, lost: 1}, {pie: 1, lost: 1})
    p.expect(sold.union(sold).intersect(wanted, all=True), {tea: 2}, {tea: 2, lost: 1}, {pie: 2, lost: 1})
    p.expect(
        sold.minus(wanted),
        {tea: -1, pie: 2, egg: -1},
        {tea: -1, pie: 2, cup: 1, egg: -1},
        {pie: -1, cup: 1, lost: 1, egg: -1},
    )


@FAMILY.program
def shares_of_a_total(p: Program) -> None:
    """A chain of joins and aggregates: how much of all revenue is made in each city."""
    sales, shops = sales_of(p), p.input(flo.ZSet[Shop], *SHOPS)
    cities = sales.join(shops, on="shop").group_by("city").agg(paid=flo.sum("price"))
    shares = cities.join(sales.agg(all=flo.sum("price")), how="cross").select(
        "city", share=nw.col("paid").cast(nw.Int64) * 100 // nw.col("all").cast(nw.Int64)
    )
    p.expect(shares, {("Oslo", 16): 1}, {("Oslo", 12): 1, (None, 62): 1}, {(None, 38): 1})


@FAMILY.on_every_engine
def test_row_join_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)
