"""Streaming DataFrames whose micro-batches a test has chosen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flo.core.collection import Collection
from tests.spark.harness import reading, table


def files(spark: Any, turns: list[pa.Table], folder: Path) -> Any:
    """A micro-batch for every table."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(turns):
        file = folder / f"{number:03}.parquet"
        if not file.exists():
            pq.write_table(rows, file)
            os.utime(file, (number, number))  # Spark takes the oldest file first
    return reading(spark, folder)


def stream(spark: Any, of: Any, turns: list[Any], folder: Path) -> Any:
    """A micro-batch for each piece of plain data."""
    of, tables, start = Collection.of(of), [], 0
    for piece in turns:
        tables.append(table(of, piece, start))
        start += tables[-1].num_rows
    return files(spark, tables, folder)
