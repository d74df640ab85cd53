"""Deltas as files that Spark reads, one in each micro-batch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import flo
from tests.recursion.programs import Arc, Given, Node
from tests.spark.harness import reading, table


def add_deltas(spark: Any, folder: Path, deltas: list[Given], first: int = 0) -> dict[str, Any]:
    """Write deltas behind the first ones; return the inputs."""
    inputs = {}
    for name, of in (("arcs", flo.ZSet(Arc)), ("starts", flo.ZSet(Node))):
        source = folder / name
        source.mkdir(exist_ok=True)
        for number, delta in enumerate(deltas, start=first):
            file = source / f"{number}.parquet"
            pq.write_table(table(of, delta.pushed[name]), file)
            os.utime(file, (number, number))  # Spark takes the oldest file first
        inputs[name] = reading(spark, source)
    return inputs
