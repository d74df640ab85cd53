"""The program of the checkpoint in `tests/local/checkpoint_of_format_5`, which every later release must read.

    python -m tests.local.kept_checkpoint tests/local/checkpoint_of_format_N

writes one of the current format. A checkpoint that is there is never written again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw

import flo

START = datetime(2026, 1, 1)


@dataclass(frozen=True)
class Sale:
    shop: str
    item: int
    price: Decimal
    at: datetime
    note: str | None


@dataclass(frozen=True)
class Shop:
    shop: str
    city: str


SHOPS = [Shop(name, city) for name, city in zip("abcde", ["Aachen", "Bonn", "Celle", "Düren", "Essen"], strict=True)]


def sales(start: int, count: int) -> list[Sale]:
    return [
        Sale("abcdef"[n % 6], n % 4, Decimal(n % 11) / 4, START + timedelta(minutes=n), None if n % 3 else f"n{n}")
        for n in range(start, start + count)
    ]


def program() -> flo.Flow:
    """Operators that keep each kind of state: traces, orders, ranks, totals, windows, values, and rows that wait."""
    flow = flo.Flow("kept")
    rows, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    log = flow.input("log", flo.Sequence[Sale])
    joined = rows.join(shops, on="shop")
    aggregates = {"n": flo.count(), "total": flo.sum("price"), "least": flo.min("price"), "middle": flo.median("item")}
    flow.output("totals", joined.group_by("city").agg(**aggregates).named("totals per city"))
    flow.output("without shop", rows.join(shops, on="shop", how="anti"))
    flow.output("top", rows.top(2, by="shop", order_by=flo.desc("price")))
    flow.output("items", rows.select("shop", "item").distinct())
    flow.output("ranks", rows.over(partition_by="shop", order_by="at").with_columns(place=flo.row_number()))
    flow.output("hours", rows.tumble(timedelta(hours=1), "at").group_by("window_start").agg(n=flo.count()))
    windows = log.tumbling(timedelta(minutes=10), time=lambda sale: sale.at)
    flow.output("windows", windows.nest(lambda window: window.map(lambda sale: sale.item).sum()))
    flow.output("running", log.map(lambda sale: sale.item).scan(0, lambda total, item: total + item))
    flow.output(
        "per shop", log.key_by(lambda sale: sale.shop).per_key(lambda own: own.scan(0, lambda n, sale: n + 1)).entries()
    )
    flow.output("notes", rows.filter(~nw.col("note").is_null()).select("note"))
    return flow


def push(query: Any, turn: int) -> None:
    query.push(sales=sales(20 * turn, 20), log=sales(20 * turn, 20), shops=SHOPS[turn : turn + 1])


if __name__ == "__main__":
    with program().on(flo.here).start(checkpoint=Path(sys.argv[1]), shards=2) as query:
        for turn in range(3):
            push(query, turn)
