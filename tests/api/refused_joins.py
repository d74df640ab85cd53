"""Wrong joins: keys that never match, results that cannot be made, and verbs that `join` stands for. Texts are in
tests/golden."""

from __future__ import annotations

# mypy: ignore-errors
# pyright: basic, reportAttributeAccessIssue=false
from datetime import datetime
from typing import Annotated, NamedTuple

import narwhals as nw
import pyarrow as pa

import flo
from tests.api.refused_relations import Sale, Shop


def semi_join_into_something_else():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, on="shop", into={"item": "item"}, how="semi")


def left_join_of_bags():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.Bag[Sale])
    shops = flow.input("shops", flo.Bag[Shop])
    sales.join(shops, on=lambda sale: sale.shop, other_on=lambda shop: shop.shop, how="left")


def left_join_as_a_verb():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.left_join(shops, "shop", "shop")


class Visit(NamedTuple):
    at: datetime
    shop: str


class Opening(NamedTuple):
    at: Annotated[datetime, pa.timestamp("us", "Europe/Oslo")]
    shop: bytes


def join_of_times_with_and_without_a_zone():
    flow = flo.Flow("visits")
    visits = flow.input("visits", flo.ZSet[Visit])
    openings = flow.input("openings", flo.ZSet[Opening])
    visits.join(openings, on="at")


def full_join_on_columns_of_two_types():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops.select(paid="price"), on="paid", how="full")


def join_asof_by_columns_that_are_never_equal():
    flow = flo.Flow("visits")
    visits = flow.input("visits", flo.ZSet[Visit])
    openings = flow.input("openings", flo.ZSet[Opening])
    visits.join_asof(openings, on=nw.col("at").dt.year(), by="shop")
