"""Queries maintained by Flo over micro-batches, in this process and on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import flo
from tests.spark.harness import reading
from tests.sql.tpc import MicroBatch, Suite


def in_process(suite: Suite, text: str, batches: list[MicroBatch]) -> Iterator[pa.Table]:
    """Yield the changes of a query in each micro-batch."""
    flow = flo.Flow("query")
    read = suite.tables_in(text)
    streams = {name: flow.input(name, flo.ZSet[flo.rows(suite.tables[name].schema)]) for name in read}
    flow.output("rows", flow.sql(text, **streams))
    loop = flow.on(flo.here).loop()
    for batch in batches:
        loop.push(**{name: batch.changes[name] for name in read})
        yield loop.pull("rows")


def write_changes(batches: list[MicroBatch], folder: Path) -> None:
    """Write a file of each table for each micro-batch."""
    for number, batch in enumerate(batches):
        for name, table in batch.changes.items():
            file = folder / name / f"{number:03}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, file)
            os.utime(file, (number, number))  # Spark takes the oldest file first


def on_spark(
    spark: Any, suite: Suite, queries: Mapping[str, str], changes: Path, checkpoint: Path, shards: int
) -> dict[str, list[pa.Table]]:
    """Return the changes of each query in each micro-batch, maintained as views of one query on Spark."""
    read = [name for name in suite.tables if any(name in suite.tables_in(text) for text in queries.values())]
    views = flo.spark.views(spark, queries, {name: reading(spark, changes / name) for name in read})
    query = views.start(
        dict.fromkeys(queries, "memory"), checkpoint=checkpoint, shards=shards, trigger={"availableNow": True}
    )
    query.wait()
    return {name: query.changes(name) for name in queries}
