"""Verbs with the same key share a shuffle, whatever arguments they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.spark.on_spark import OnSpark
from flo.tables.values import Columns, layout_of
from tests.spark.harness import agree
from tests.spark.simulated import NO_SPARK, agree_simulated

pytestmark = pytest.mark.every(test=2)


class Sale(NamedTuple):
    shop: int
    price: int
    quantity: int
    item: str


class Shop(NamedTuple):
    number: int
    town: str


SALES = {Sale(n % 5, n, n * 7 % 11, f"item {n % 3}"): 1 if n % 4 else -1 for n in range(1, 30)}
SHOPS = {Shop(n, "north" if n % 2 else "south"): 1 for n in range(1, 7)}


def _sales(flow: flo.Flow) -> Any:
    return flow.input("sales", flo.ZSet[Sale])


def other_arguments(flow: flo.Flow) -> list[Any]:
    sales = _sales(flow)
    return [sales.group_by("shop").agg(a=flo.sum("price")), sales.group_by("shop").agg(b=flo.max("quantity"))]


def computed_arguments(flow: flo.Flow) -> list[Any]:
    sales = _sales(flow)
    return [
        sales.group_by("shop").agg(a=flo.sum(nw.col("price") * 2), b=flo.min("quantity")),
        sales.group_by("shop").agg(a=flo.sum(nw.col("price") * 3)),
    ]


def aggregate_and_join(flow: flo.Flow) -> list[Any]:
    sales, shops = _sales(flow), flow.input("shops", flo.ZSet[Shop])
    into = {"shop": "shop", "price": "price", "town": "town"}
    return [sales.group_by("shop").agg(a=flo.sum("quantity")), sales.join(shops, "shop", "number", into)]


def aggregate_and_whole_rows(flow: flo.Flow) -> list[Any]:
    sales = _sales(flow)
    return [sales.group_by("shop").agg(a=flo.sum("quantity")), sales.top(1, "price", by="shop")]


def another_name_of_the_key(flow: flo.Flow) -> list[Any]:
    sales = _sales(flow)
    renamed = sales.map({"place": "shop", "price": "price"})
    return [renamed.top(1, "price", by="place"), sales.group_by("shop").agg(a=flo.sum("quantity"))]


def two_columns(flow: flo.Flow) -> list[Any]:
    sales = _sales(flow)
    return [sales.group_by("shop", "item").agg(a=flo.sum("price")), sales.group_by("shop", "item").agg(b=flo.count())]


def behind_an_aggregate(flow: flo.Flow) -> list[Any]:
    """The second stage gets one stream too."""
    sums = _sales(flow).group_by("shop", "item").agg(a=flo.sum("price"), b=flo.sum("quantity"))
    return [sums.group_by("item").agg(c=flo.max("a")), sums.group_by("item").agg(d=flo.min("b"))]


SHARED = [
    other_arguments,
    computed_arguments,
    aggregate_and_join,
    aggregate_and_whole_rows,
    another_name_of_the_key,
    two_columns,
    behind_an_aggregate,
]


def other_keys(flow: flo.Flow) -> list[Any]:
    sales = _sales(flow)
    return [sales.group_by("shop").agg(a=flo.sum("price")), sales.group_by("item").agg(b=flo.sum("price"))]


def columns_in_another_order(flow: flo.Flow) -> list[Any]:
    sales = _sales(flow)
    return [sales.group_by("shop", "item").agg(a=flo.sum("price")), sales.group_by("item", "shop").agg(b=flo.count())]


def computed_key(flow: flo.Flow) -> list[Any]:
    sales = _sales(flow)
    return [
        sales.group_by(half=nw.col("shop") // 2).agg(a=flo.sum("price")),
        sales.group_by(half=nw.col("shop") // 2).agg(b=flo.max("quantity")),
    ]


def computed_beside_whole_rows(flow: flo.Flow) -> list[Any]:
    """What may raise stays before the shuffle, where rows can be diverted."""
    sales = _sales(flow)
    return [sales.group_by("shop").agg(a=flo.sum(nw.col("price") // 2)), sales.top(1, "price", by="shop")]


APART = [other_keys, columns_in_another_order, computed_key, computed_beside_whole_rows]


@pytest.mark.parametrize(
    ("made", "shuffles"),
    [*((each, 1) for each in SHARED), *((each, 2) for each in APART)],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_shuffles_of_verbs_with_a_key(made: Callable[[flo.Flow], list[Any]], shuffles: int, tmp_path: Any) -> None:
    flow = flo.Flow("shared")
    for number, stream in enumerate(made(flow)):
        flow.output(f"out {number}", stream)
    plan = OnSpark(flow, NO_SPARK)._plan
    last = [each for each in plan.deliveries if each.level == len(plan.stages)]
    assert len([each for each in last if _holds_sales(plan, each)]) == shuffles, OnSpark(flow, NO_SPARK).explain()
    for seed, shards in enumerate((1, 3)):
        data = {"sales": SALES, "shops": SHOPS}
        given = {stream.name: data[stream.name] for stream in flow._scope.inputs}
        agree_simulated(flow, given, tmp_path / str(shards), parts=3, shards=shards, seed=seed)


def _holds_sales(plan: Any, delivery: Any) -> bool:
    """Whether it does not come from the other input."""
    return plan.sources.get(delivery.stream, frozenset({0})) == frozenset({0})


def test_only_columns_that_are_read_are_shuffled() -> None:
    flow = flo.Flow("narrow")
    for number, stream in enumerate(other_arguments(flow)):
        flow.output(f"out {number}", stream)
    on = OnSpark(flow, NO_SPARK)
    (delivery,) = on._plan.deliveries
    assert isinstance(delivery.type.collection, Columns)
    assert layout_of(delivery.type.collection.base).names == ("shop", "price", "quantity")
    assert on.explain().count("shuffled by shop") == 1


def test_what_is_an_output_too_is_not_moved_behind_the_shuffle(tmp_path: Any) -> None:
    flow = flo.Flow("shown")
    sales = _sales(flow)
    narrow = sales.map({"shop": "shop", "price": "price"})
    flow.output("narrow", narrow)
    flow.output("names", sales.map({"item": "item"}))
    flow.output("most", narrow.top(1, "price", by="shop"))
    flow.output("sums", sales.group_by("shop").agg(a=flo.sum("quantity")))
    assert OnSpark(flow, NO_SPARK).explain().count("shuffled by shop") == 2
    agree_simulated(flow, {"sales": SALES}, tmp_path, parts=2, shards=2, seed=0)


def test_shared_shuffles_on_spark(spark: Any, tmp_path: Any) -> None:
    flow = flo.Flow("shared")
    sales, shops = _sales(flow), flow.input("shops", flo.ZSet[Shop])
    flow.output("sums", sales.group_by("shop").agg(a=flo.sum(nw.col("price") * 2)))
    flow.output("least", sales.group_by("shop").agg(b=flo.min("quantity")))
    into = {"shop": "shop", "quantity": "quantity", "town": "town"}
    flow.output("joined", sales.join(shops, "shop", "number", into))
    assert flow.on(spark).explain().count("→ sales") == 1
    agree(spark, flow, {"sales": SALES, "shops": SHOPS}, tmp_path, parts=3, shards=2)
