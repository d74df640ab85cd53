"""A key that the user declares is checked by every place that takes one: two rows with it end the query."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import flo
from flo.shards.sinks.upserts import KINDS
from tests.spark.test_upserts import changes, output, total

pytestmark = [pytest.mark.connectors, pytest.mark.slow]


def rows_in(spark: SparkSession, to: Any) -> list[tuple[Any, ...]]:
    if to.kind != "postgresql":
        return sorted((row.shop, int(row.total)) for row in spark.table(to.name).collect())
    driver = import_module("adbc_driver_postgresql.dbapi")
    with driver.connect(to.options["uri"]) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT shop, total FROM {to.name} ORDER BY shop")
        return [(shop, int(float(total))) for shop, total in cursor.fetchall()]


@pytest.mark.parametrize(
    "kind", [*(pytest.param(each, marks=pytest.mark.needs(each)) for each in ("delta", "iceberg")), "postgresql"]
)
def test_a_key_that_comes_twice(connected: SparkSession, kind: str, tmp_path: Path, request: Any) -> None:
    """In one micro-batch or in two. Nothing of the micro-batch stays, and the same rows come again without harm."""
    options = {"uri": request.getfixturevalue("database")} if kind == "postgresql" else {}
    target = {"delta": f"{tmp_path}/sums", "iceberg": "ice.flo.sums", "postgresql": "sums"}[kind]
    to, rows = KINDS[kind](target, options), output(declared=True)
    to.prepare(connected, rows)

    def give(weights: dict[Any, int], version: int) -> None:
        to.write(replace(changes(weights, version), spark=connected, rows=len(weights)), rows)

    give({total("a", "1"): 1, total("b", "2", "x"): 1}, 0)
    for _ in range(2):
        give({total("a", "1"): -1, total("a", "3"): 1, total("b", "2", "x"): -1}, 1)
    assert rows_in(connected, to) == [("a", 3)]
    for bad in ({total("a", "7"): 1, total("c", "1"): 1}, {total("c", "1"): 1, total("c", "2"): 1}):
        with pytest.raises(flo.ElementError, match=r"the output `sums` has two rows with the key shop='[ac]', day="):
            give(bad, 2)
    assert rows_in(connected, to) == [("a", 3)]
    give({total("c", "5"): 1}, 2)
    assert rows_in(connected, to) == [("a", 3), ("c", 5)]
