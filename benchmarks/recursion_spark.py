"""Reachability on Spark for `benchmarks.recursion`: maintained, and recomputed by a loop of joins in every micro-batch.

python -m benchmarks.recursion_spark SIDE DATA SCRATCH      # one side, in a process and a session of its own
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.recursion_graphs import START, WEIGHT, ByScipy, Graph, reachability
from benchmarks.spark_data import write_in_turn

EDGES, BATCHES, DELTA = 1_000_000, 10, 1_000


def beside_a_loop(scale: float) -> Table:
    """Both sides on the same files. Raises if a result is not that of scipy."""
    edges = int(EDGES * scale)
    delta = min(DELTA, edges // 20)
    graph = Graph(edges, edges // 2, BATCHES, delta, directed=True)
    with tempfile.TemporaryDirectory(prefix="flo-recursion-") as temporary:
        folder = Path(temporary)
        files = [graph.table(graph.first, graph.first[:0]), *(graph.table(d.come, d.gone) for d in graph.deltas())]
        write_in_turn(files, folder / "edges")
        sides = {name: run_side(name, folder) for name in SIDES}
    *_, last = graph.deltas()
    expected = sorted(ByScipy(graph, directed=True).compute(last.edges).tolist())
    title = f"reachability in {edges:,} edges on Spark, {BATCHES} micro-batches of {delta:,} with deletions, two cores"
    table = Table(title=title, title_justify="left")
    for column in ("", "first micro-batch", "median of the others", "most", "/ flo"):
        table.add_column(column, justify="right" if column else "left")
    for name, found in sides.items():
        assert found["nodes"] == expected, f"{name} has another result than scipy"
        first, *others = found["batches"]
        ratio = statistics.median(others) / statistics.median(sides["flo"]["batches"][1:])
        cells = (f"{each / 1e3:,.2f} s" for each in (first, statistics.median(others), max(others)))
        table.add_row(name, *cells, f"{ratio:.2f}")
    return table


def run_side(name: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.recursion_spark", name, str(folder), str(folder / f"state of {name}")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def maintained(side: Any) -> dict[str, Any]:
    found = side.flo(reachability(), {"edges": side.stream("edges")}, {"labels": "view"}, shards=2)
    view = found["query"].view("labels").arrow()
    return {"batches": found["batches"], "nodes": sorted(view["node"].to_pylist())}


def recomputed(side: Any) -> dict[str, Any]:
    """In every micro-batch, the edges that there are, and a join for each step from the node."""
    from pyspark.sql import functions

    from benchmarks.spark_sides import AVAILABLE, measured

    files = sorted(str(file) for file in (side.data / "edges").glob("*.parquet"))
    nodes: list[int] = []

    def again(batch: Any, version: int) -> None:
        rows = side.spark.read.parquet(*files[: version + 1])
        there = rows.groupBy("src", "dst").agg(functions.sum(WEIGHT).alias("n")).where("n > 0").select("src", "dst")
        edges = there.localCheckpoint()
        reached = new = side.spark.createDataFrame([(START,)], "src BIGINT").localCheckpoint()
        while new.head(1):
            ends = new.join(edges, "src").select(functions.col("dst").alias("src")).distinct()
            new = ends.join(reached, "src", "left_anti").localCheckpoint()
            reached = reached.union(new).coalesce(2).localCheckpoint()
        nodes[:] = sorted(row["src"] for row in reached.collect())

    writing = side.stream("edges").writeStream.foreachBatch(again).trigger(**AVAILABLE)
    query = writing.option("checkpointLocation", str(side.scratch / "again")).start()
    query.awaitTermination()
    return {"batches": measured(query, 0, unread=True)["batches"], "nodes": nodes}


SIDES = {"flo": maintained, "a loop of joins, recomputed": recomputed}


def main(arguments: list[str]) -> None:
    from benchmarks.spark_sides import Side
    from flo.spark.session import embedded

    name, data, scratch = arguments
    spark = embedded(f"recursion, {name}", cores=2, memory="6g")
    try:
        print(json.dumps(SIDES[name](Side(spark, Path(data), Path(scratch)))))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
