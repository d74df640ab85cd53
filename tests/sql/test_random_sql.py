"""Random queries give what batch Spark gives, after every delta: the same rows as often, types, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import flo.spark
from tests.sql.oracle import SCHEMAS, Batch, bag_of, difference, draw_deltas
from tests.sql.random_sql import draw_query

FEW, MANY, BLOCK = 3, 303, 25
ON_SPARK = (5, 8, 10, 24)
"""Seeds of queries with groups, subqueries, a cube and a window."""


def same(spark: Any, block: int, seeds: range) -> None:
    deltas = draw_deltas(block)
    batch = Batch(spark, deltas)
    for seed in seeds:
        text, tables = draw_query(seed)
        found = difference(text, deltas, tables, batch.results(text))
        assert not found, f"seed {seed}: {found}\n{text}"
    batch.forget()


def test_a_few_queries(spark: Any) -> None:
    same(spark, 0, range(FEW))


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(FEW, MANY, BLOCK))
def test_many_queries(block: int, spark: Any) -> None:
    same(spark, block, range(block, min(block + BLOCK, MANY)))


@pytest.mark.thorough
def test_on_spark(spark: Any, tmp_path: Path) -> None:
    """In micro-batches, on three shards."""
    deltas = draw_deltas(0)
    for number, delta in enumerate(deltas):
        for name, changes in delta.items():
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            pq.write_table(changes, folder / f"{number}.parquet")
    queries = {f"query{seed}": draw_query(seed)[0] for seed in ON_SPARK}
    inputs = {}
    for name in {name for seed in ON_SPARK for name in draw_query(seed)[1]}:
        schema = spark.read.parquet(str(tmp_path / name / "0.parquet")).schema
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        inputs[name] = reader.parquet(str(tmp_path / name))
    views = flo.spark.views(spark, queries, inputs)
    query = views.start(checkpoint=tmp_path / "checkpoint", shards=3, trigger={"availableNow": True})
    query.wait()
    batch = Batch(spark, deltas)
    for name, text in queries.items():
        (_, expected) = batch.results(text)[-1]
        assert bag_of(query.view(name).arrow()) == expected, text
    batch.forget()
    assert set(inputs) <= set(SCHEMAS)
