"""A query in this process whose page has all parts: joins, clocks of partitions, late and diverted rows, errors."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import flo
from flo.local.query import LocalQuery

NOON = datetime(2026, 5, 1, 12)


class Sale(NamedTuple):
    shop: str
    price: int
    at: datetime


class Shop(NamedTuple):
    name: str
    city: str


def program() -> flo.Flow:
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.Partitioned[Sale], partitions=3)
    shops = flow.input("shops", flo.ZSet[Shop])
    sold = sales.clock("at", lateness=timedelta(seconds=20)).rows.to_zset()
    flow.output("revenue", sold.join(shops, "shop", "name").group_by("city").agg(revenue=flo.sum("price")))
    return flow


def start(folder: Path) -> LocalQuery:
    return program().on(flo.here).start(checkpoint=folder, shards=3, on_error="divert")


def push(query: LocalQuery, number: int, rows: int = 60) -> None:
    """A micro-batch: partition 2 is a minute behind, and most rows are of one shop."""
    moments = [NOON + timedelta(minutes=2 * number, seconds=each) for each in range(rows)]
    shops = [f"shop {each % 7 if each % 3 == 0 else 0}" for each in range(rows)]
    whole = [Sale(*each) for each in zip(shops, range(1, rows + 1), moments, strict=True)]
    behind = [sale._replace(at=sale.at - timedelta(minutes=1)) for sale in whole[::2]]
    query.push(sales={0: whole[::2], 1: whole[1::2], 2: behind})
