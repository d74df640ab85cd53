"""One side of `benchmarks.tpch`, in a process and a session of its own.

    python -m benchmarks.tpch_sides SIDE DATA SCRATCH QUERY…

Writes what it measured to `SCRATCH/measured/QUERY.json`, and the rows of each query to `SCRATCH/results`.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import flo
from benchmarks.spark_data import WARM
from benchmarks.spark_sides import AVAILABLE, Side, measured
from benchmarks.tpch_data import KEYS, QUERIES, REPEATS
from flo.shards.checkpoint.inspect import Checkpoint
from flo.spark.session import embedded
from tests.sql.tpc import WEIGHT, spark_text, tables_in

Measured = dict[str, Any]
MEASURED = "measured"
"""The folder with a file for each query."""


def maintain(side: Side, name: str, text: str, results: Path) -> Measured:
    """Maintain a query: the time of each micro-batch, in ms, and the bytes of the state at the end."""
    inputs = {table: side.stream(table) for table in tables_in(text, KEYS)}
    started = time.perf_counter()
    views = flo.spark.views(side.spark, {name: text}, inputs)
    planned = time.perf_counter() - started
    shutil.rmtree(side.scratch / name, ignore_errors=True)  # of a run that was broken off
    query = views.start({name: "memory"}, checkpoint=side.scratch / name, trigger=AVAILABLE)
    query.wait()
    batches = measured(query._query, 0, unread=True)["batches"]
    rows: Counter[Any] = Counter()
    for version, changes in enumerate(query.changes(name)):
        for row in changes.to_pylist():
            weight = row.pop(WEIGHT)
            rows[tuple(row.items())] += weight
        if version and version % REPEATS == 0:
            kept = [dict(row) for row, weight in rows.items() for _ in range(weight)]
            _write(pa.Table.from_pylist(kept, changes.drop_columns([WEIGHT]).schema), results, version // REPEATS - 1)
    checkpoint = Checkpoint(str(side.scratch / name))
    state = sum(each.bytes for each in checkpoint.sizes(checkpoint.versions()[-1]))
    stages = len(re.findall(r"^ *stage \d+,", views.explain(), re.MULTILINE))
    sources = len(views._on_spark._scans(views._frames))
    shutil.rmtree(side.scratch / name)
    return {"batches": batches, "state": state, "planned": planned, "stages": stages, "sources": sources}


def recompute(side: Side, name: str, text: str, results: Path) -> Measured:
    """Compute a query from Parquet after each share: the times in ms."""
    folders = sorted((side.data.parent / "content").iterdir())
    found = []
    for place, folder in enumerate([folders[0], *folders]):
        _register(side.spark, folder)
        started = time.perf_counter()
        rows = side.spark.sql(text).toArrow()
        if place:  # the first warms up
            found.append((time.perf_counter() - started) * 1e3)
            _write(rows, results, place - 1)
    return {"batches": found}


def _register(spark: SparkSession, folder: Path) -> None:
    for table in KEYS:
        spark.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView(table)


def _write(rows: pa.Table, results: Path, place: int) -> None:
    results.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, results / f"{place}.parquet")


SIDES: dict[str, Callable[[Side, str, str, Path], Measured]] = {"flo": maintain, "spark": recompute}


def run(spark: SparkSession, name: str, data: Path, scratch: Path, queries: list[str]) -> None:
    _register(spark, data / "content" / "0")
    texts = {each: spark_text(spark, text) for each, text in json.loads((data / QUERIES).read_text()).items()}
    (scratch / MEASURED).mkdir(parents=True, exist_ok=True)
    for query in queries:
        file = scratch / MEASURED / f"{query}.json"
        started = time.perf_counter()
        if (data / WARM).exists():
            warm = Side(spark, data / WARM / "changes", scratch / WARM)
            SIDES[name](warm, query, texts[query], scratch / WARM / "results" / query)
        try:
            side = Side(spark, data / "changes", scratch)
            found = SIDES[name](side, query, texts[query], scratch / "results" / query)
        except Exception as error:  # one that fails is shown like the others
            found = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        file.write_text(json.dumps(found))
        print(f"{name} {query}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> None:
    name, data, scratch, *queries = arguments
    spark = embedded(f"tpch {name}", cores=2, memory="6g")
    try:
        run(spark, name, Path(data), Path(scratch), queries)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
