"""Hot keys of joins on Spark: their rows are spread over all shards, in large and in small micro-batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flo.shards.tasks.hot_keys import hot_in
from tests.engines.engine import Engine, comparable
from tests.local.test_hot_keys import Order, Shop, cities
from tests.spark.harness import fed, values


def test_rows_of_a_hot_key_are_in_all_shards(spark: Any, tmp_path: Path) -> None:
    every = [Order(number, 7 if number % 10 < 9 else number % 50, number % 101) for number in range(36_000)]
    orders = [every[:12_000], every[12_000:24_000], every[24_000:], []]
    shops = [[Shop(number, number % 5) for number in range(50)], [Shop(7, 6)], [], [Shop(7, 8)]]
    query = fed(spark, cities(), {"orders": orders, "shops": shops}, tmp_path, shards=4)
    last = query.progress[-1].version
    assert [keys.side for keys in hot_in(query._batches.state_versions(last)).values()] == [0]
    assert any(max(each.figures.shard_rows[1].values()) < 5_000 for each in query.progress if each.taken["orders"])
    whole = {"orders": every, "shops": [shop for part in shops for shop in part]}
    expected = Engine("tables", tmp_path).run(cities(), whole, parts=1)
    assert {name: comparable(each) for name, each in values(query).items()} == expected
