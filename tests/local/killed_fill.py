"""A start of a changed program, in a process that may be killed at any moment.

Each step has another program, and some have another number of shards. The outputs go to SQLite.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flo

STEPS = 4


@dataclass(frozen=True)
class Sale:
    shop: str
    price: int


@dataclass(frozen=True)
class Shop:
    shop: str
    city: str


SHOPS = [Shop(str(number), "xyz"[number % 3]) for number in range(50)]


def sales(step: int) -> list[Sale]:
    return [Sale(str(number % 50), number * step) for number in range(300)]


def program(step: int) -> flo.Flow:
    flow = flo.Flow("cities")
    given, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    joined = given.join(shops, on="shop")
    totals: dict[str, Any] = {"n": flo.count(), "total": flo.sum("price")}
    if step >= 1:
        totals["most"] = flo.max("price")
    flow.output("cities", joined.group_by("city").agg(**totals))
    if step >= 2:
        flow.output("shops", joined.group_by("shop").agg(least=flo.min("price")))
    if step >= 3:
        flow.output("sales", joined.group_by("shop", "price").agg(n=flo.count()))
    return flow


def start(folder: Path, step: int) -> Any:
    flow = program(step)
    sinks = {name: flo.Upsert("sqlite", name, {"uri": str(folder / "sinks.db")}) for name in flow._outputs}
    options: dict[str, Any] = {"shards": (3, 2, 5, None)[step], "changed": "fill"}
    return flow.on(flo.here).start(sinks, checkpoint=folder / "checkpoint", **options)


def run(folder: Path, step: int) -> None:
    start(folder, step).stop()
