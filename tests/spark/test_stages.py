"""Where a program is cut: rows that are together by a key are not shuffled by it again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.shards.tasks import stage_task
from flo.spark.on_spark import OnSpark
from tests.spark.simulated import NO_SPARK, agree_simulated

pytestmark = pytest.mark.every(check=3)


class Order(NamedTuple):
    customer: int
    price: int


class Customer(NamedTuple):
    number: int
    region: str


def _orders(flow: flo.Flow) -> Any:
    return flow.input("orders", flo.ZSet[Order])


def _inputs(flow: flo.Flow) -> tuple[Any, Any]:
    return _orders(flow), flow.input("customers", flo.ZSet[Customer])


def sum_then_join(flow: flo.Flow) -> Any:
    orders, customers = _inputs(flow)
    into = {"region": "region", "customer": "customer", "spent": "sum"}
    return orders.group_by("customer").agg(sum=flo.sum("price")).join(customers, "customer", "number", into)


def join_then_sum(flow: flo.Flow) -> Any:
    orders, customers = _inputs(flow)
    joined = orders.join(customers, "customer", "number", {"who": "customer", "price": "price"})
    return (
        joined.filter(nw.col("price") > 1)
        .map({"buyer": "who", "twice": nw.col("price") * 2})
        .group_by("buyer")
        .agg(sum=flo.sum("twice"))
    )


def left_join_then_sum(flow: flo.Flow) -> Any:
    orders, customers = _inputs(flow)
    return (
        orders.join(customers, "customer", "number", {"who": "customer", "price": "price"}, how="left")
        .group_by("who")
        .agg(sum=flo.sum("price"))
    )


def semi_join_then_distinct_sum(flow: flo.Flow) -> Any:
    orders, customers = _inputs(flow)
    return (
        orders.join(customers, "customer", "number", how="semi")
        .top(1, "price", by="customer")
        .group_by("customer")
        .agg(sum=flo.sum("price"))
    )


def sums_added(flow: flo.Flow) -> Any:
    orders = _orders(flow)
    return (
        orders.group_by("customer")
        .agg(sum=flo.sum("price"))
        .union(orders.group_by("customer").agg(sum=flo.linear(nw.col("price") * 0 + 1, lambda n: n)))
        .group_by("customer")
        .agg(sum=flo.sum("sum"))
    )


TOGETHER = [sum_then_join, join_then_sum, left_join_then_sum, semi_join_then_distinct_sum, sums_added]


def by_another_column(flow: flo.Flow) -> Any:
    orders, customers = _inputs(flow)
    return (
        orders.join(customers, "customer", "number", {"region": "region", "price": "price"})
        .group_by("region")
        .agg(sum=flo.sum("price"))
    )


def full_join_then_sum(flow: flo.Flow) -> Any:
    """A customer without orders is where its number is, and its key is null."""
    orders, customers = _inputs(flow)
    return (
        orders.join(customers, "customer", "number", {"who": "customer", "price": "price"}, how="full")
        .group_by("who")
        .agg(n=flo.count())
    )


def computed(flow: flo.Flow) -> Any:
    orders = _orders(flow)
    return (
        orders.group_by("customer")
        .agg(sum=flo.sum("price"))
        .map({"half": nw.col("customer") // 2, "sum": "sum"})
        .group_by("half")
        .agg(sum=flo.sum("sum"))
    )


def of_another_type(flow: flo.Flow) -> Any:
    """The key of a float that is whole is no number of an int."""
    orders = _orders(flow)
    sums = orders.group_by("customer").agg(sum=flo.sum("price"))
    return sums.map({"key": nw.col("customer").cast(nw.Float64), "sum": "sum"}).group_by("key").agg(sum=flo.sum("sum"))


APART = [by_another_column, full_join_then_sum, computed, of_another_type]
DATA: dict[str, Any] = {
    "orders": {Order(n % 5, n): 1 if n % 3 else -1 for n in range(1, 20)},
    "customers": {Customer(n, "north" if n % 2 else "south"): 1 for n in range(2, 9)},
}


@pytest.mark.parametrize(
    ("made", "stages"),
    [*((each, 1) for each in TOGETHER), *((each, 2) for each in APART)],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_shuffled_where_the_placement_changes(made: Callable[[flo.Flow], Any], stages: int, tmp_path: Any) -> None:
    flow = flo.Flow("cut")
    flow.output("out", made(flow))
    assert len(OnSpark(flow, NO_SPARK)._plan.stages) == stages
    for seed, shards in enumerate((1, 2, 7)):
        data = {stream.name: DATA[stream.name] for stream in flow._scope.inputs}
        agree_simulated(flow, data, tmp_path / str(shards), parts=3, shards=shards, seed=seed)


def test_one_delivery_for_one_key() -> None:
    flow = flo.Flow("shared")
    orders = _orders(flow)
    flow.output("best", orders.top(1, "price", by="customer"))
    flow.output("more", orders.top(2, "price", by="customer"))
    flow.output("by price", orders.top(1, "customer", by="price"))
    flow.output("all", orders.top(1, "price"))
    explained = OnSpark(flow, NO_SPARK).explain()
    assert explained.count("→ orders") == 3
    assert "shuffled by customer" in explained
    assert "shuffled by price" in explained
    assert "to one shard, as one group" in explained


class Pair(NamedTuple):
    one: int
    other: int


class Paired(NamedTuple):
    pair: Pair


def test_a_column_of_rows_becomes_their_columns(tmp_path: Any) -> None:
    flow = flo.Flow("pairs")
    flow.output("pairs", flow.input("rows", flo.ZSet[Paired]).distinct().map("pair"))
    rows = {Paired(Pair(n, n % 2)): 2 for n in range(5)}
    agree_simulated(flow, {"rows": rows}, tmp_path, parts=2, shards=2, seed=0)


def test_workers_forget_what_is_of_no_use(tmp_path: Any) -> None:
    flow = flo.Flow("sums")
    flow.output("sums", _orders(flow).group_by("customer").agg(sum=flo.sum("price")))
    orders = {"orders": DATA["orders"]}
    stage_task._shards.clear()
    for name in ("ended", "ended", "live"):
        agree_simulated(flow, orders, tmp_path / name, parts=2, shards=2, seed=0)
        if name == "ended":
            shutil.rmtree(tmp_path / name)
    assert {Path(folder).name for folder, _, _ in stage_task._shards} == {"live"}
