"""State larger than the memory that it may take, on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flo
from flo.spark.driver.micro_batches import tasks_at_once
from tests.engines.engine import Engine, comparable
from tests.spark.harness import fed, values


@dataclass(frozen=True)
class Visit:
    user: int
    page: str


def pages() -> flo.Flow:
    flow = flo.Flow("pages")
    visits = flow.input("visits", flo.ZSet[Visit])
    flow.output("pages", visits.group_by("user").agg(n=flo.count(), last=flo.max("page")))
    return flow


def test_a_limited_query_on_spark_gives_the_same(spark: Any, tmp_path: Path) -> None:
    every = [Visit(number % 7_000, f"the page with the number {number}") for number in range(45_000)]
    pieces = [every[:15_000], every[15_000:30_000], every[30_000:]]
    query = fed(spark, pages(), {"visits": pieces}, tmp_path, memory="1 MB")
    assert query._batches.memory == 1_000_000 // tasks_at_once(spark), "the processes of an executor share it"
    expected = Engine("tables", tmp_path).run(pages(), {"visits": every}, parts=1)
    assert {name: comparable(each) for name, each in values(query).items()} == expected
