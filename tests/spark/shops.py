"""Sales in shops: data in several micro-batches, and programs that keep something of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

import flo
from flo.tables.checkpoint.folders import folder
from tests.spark.harness import table


class Sale(NamedTuple):
    shop: str
    price: int


class Shop(NamedTuple):
    shop: str
    city: str


def shop_of(sale: Sale) -> str:
    return sale.shop


def last_of(sale: Sale) -> str:
    return sale.shop[-1]


def sums(key: Any = shop_of) -> flo.Flow:
    flow = flo.Flow("sums")
    flow.output("sums", flow.input("sales", flo.ZSet[Sale]).group_by(key=key).agg(sum=flo.sum("price")))
    return flow


def itself(number: int) -> int:
    return number


def everything() -> flo.Flow:
    """State of every keyed operator, in one place, in views and in buffers."""
    flow = flo.Flow("everything")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    numbers = flow.input("numbers", flo.Sequence[int])
    some, others = flow.input("some", flo.Set[Sale]), flow.input("others", flo.Set[Sale])
    flow.output("sums", sales.group_by("shop").agg(sum=flo.sum("price")))
    flow.output("best", sales.top(1, "price", "shop"))
    flow.output("joined", sales.join(shops, "shop", "shop"))
    flow.output("distinct", sales.map(shop_of).distinct())
    flow.output("left", sales.join(shops, "shop", "shop", how="left"))
    flow.output("known", sales.join(shops, "shop", "shop", how="semi"))
    flow.output("both", some.intersection(others))
    flow.output("meeting", some.join(others, "shop", "shop"))
    flow.output("running", numbers.scan(0, lambda total, n: total + n))
    flow.output("numbers", numbers)
    windows = numbers.tumbling(2, itself, 3)
    flow.output("windows", windows.nest(lambda window: window.map(itself)).flatten())
    flow.output("late", windows.late)
    flow.output("all", sales)
    return flow


def sales(start: int, count: int, weight: int = 1) -> dict[Sale, int]:
    return {Sale(f"shop {n % 13}", n): weight for n in range(start, start + count)}


DATA: list[dict[str, Any]] = [
    {
        "sales": sales(0, 40),
        "shops": {Shop(f"shop {n}", f"city {n % 3}"): 1 for n in range(0, 13, 2)},
        "numbers": [1, 2, 3],
        "some": set(sales(0, 20)),
        "others": set(sales(10, 20)),
    },
    {"sales": sales(5, 10, -1) | sales(40, 20), "numbers": [4], "some": set(sales(0, 25)), "others": set(sales(0, 5))},
    {
        "sales": sales(20, 15, -1) | sales(60, 5),
        "shops": {Shop("shop 2", "city 2"): -1, Shop("shop 3", "x"): 1},
        "numbers": [5, 6],
        "some": set(sales(20, 10)),
    },
    {"sales": sales(40, 20, -1), "shops": {Shop("shop 3", "x"): -1}, "numbers": [7], "others": set(sales(25, 5))},
]


def merged(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """All that the pieces hold together."""
    whole: dict[str, Any] = {"sales": {}, "shops": {}, "numbers": [], "some": set(), "others": set()}
    for piece in pieces:
        for name, data in piece.items():
            if isinstance(data, dict):
                for row, weight in data.items():
                    whole[name][row] = whole[name].get(row, 0) + weight
            elif isinstance(data, list):
                whole[name] += data
            else:
                whole[name] |= data
    return whole


def expected(count: int) -> dict[str, Any]:
    """The outputs of `everything` after so many micro-batches."""
    return dict(everything().run(**merged(DATA[:count])))


def sales_table(data: dict[Sale, int]) -> pa.Table:
    return table(sums()._scope.inputs[0].type.collection, data)


def snapshot(where: str) -> dict[str, bytes]:
    """Every file of the state, and what it holds."""
    root, found, waiting = folder(where), {}, ["state"]
    while waiting:
        under = waiting.pop()
        waiting += [f"{under}/{name}" for name in root.folders(under)]
        found |= {f"{under}/{name}": root.read(f"{under}/{name}") for name in root.files(under)}
    return found
