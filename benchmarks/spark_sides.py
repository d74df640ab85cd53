"""One side of a comparison of `benchmarks.spark`, in a process and a session of its own.

    python -m benchmarks.spark_sides SIDE DATA SCRATCH

Prints what it measured as a line of JSON. If the data have a folder `warm`, it runs on that before.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession, functions

import flo
from benchmarks.columnar_programs import LATENESS, SECOND, WEIGHTS, groups_flow, join_flow
from benchmarks.spark_data import INPUTS, WARM
from benchmarks.spark_flows import by_window, chain_flow, of_all_events, per_key_windows
from flo.spark.session import embedded

Measured = dict[str, Any]
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
AVAILABLE = {"availableNow": True}


class Side:
    """A session, the folder of the data, and one for what is written."""

    def __init__(self, spark: SparkSession, data: Path, scratch: Path) -> None:
        self.spark, self.data, self.scratch = spark, data, scratch

    def stream(self, name: str) -> Any:
        """A file in each micro-batch."""
        folder = str(self.data / name)
        schema = self.spark.read.parquet(folder).schema
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)

    def flo(self, flow: flo.Flow, inputs: dict[str, Any], outputs: dict[str, Any], **options: Any) -> Measured:
        started = time.perf_counter()
        on = flow.on(self.spark)
        query = on.start(inputs, outputs, checkpoint=self.scratch / "flo", trigger=AVAILABLE, **options)
        query.wait()
        found = measured(query._query, time.perf_counter() - started)
        found["out"] = {name: sum(each.rows[name] for each in query.progress) for name in query.progress[0].rows}
        found["written"] = [each.written for each in query.progress]
        found["query"] = query
        return found

    def native(self, frame: Any, mode: str = "append") -> Measured:
        counted = frame.observe("out", functions.count(functions.lit(1)).alias("rows"))
        writing = counted.writeStream.format("noop").outputMode(mode).trigger(**AVAILABLE)
        started = time.perf_counter()
        query = writing.option("checkpointLocation", str(self.scratch / "native")).start()
        query.awaitTermination()
        found = measured(query, time.perf_counter() - started)
        observed = [each["observedMetrics"] for each in query.recentProgress]
        found["out"] = {"rows": sum(each["out"]["rows"] for each in observed if "out" in each)}
        return found


def measured(query: Any, seconds: float, unread: bool = False) -> Measured:
    """Of a query that has ended: the times of its micro-batches that had rows. Spark counts none that nobody read."""
    progress = [each for each in query.recentProgress if unread or each["numInputRows"]]
    milliseconds = [each["durationMs"]["triggerExecution"] for each in progress]
    return {"seconds": seconds, "batches": milliseconds, "rows": sum(each["numInputRows"] for each in progress)}


def join_flo(side: Side) -> Measured:
    return side.flo(join_flow(), {name: side.stream(name) for name in "ab"}, {"joined": "noop"})


def join_native(side: Side) -> Measured:
    right = side.stream("b").withColumnsRenamed({"v": "v2", WEIGHTS: "w2"})
    return side.native(side.stream("a").join(right, "k").selectExpr("k", "v + v2 as s", f"{WEIGHTS} * w2 as w"))


def join_rocksdb(side: Side) -> Measured:
    side.spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    side.spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    return join_native(side)


def windows_flo(flow: Callable[..., flo.Flow]) -> Callable[[Side], Measured]:
    def run(side: Side) -> Measured:
        made = flow()
        order = {"events": "offset"} if flow is not by_window else {}
        outputs = dict.fromkeys(made._outputs, "noop") | {"sums": "view"}
        found = side.flo(made, {"events": side.stream("events")}, outputs, order=order)
        view = found["query"].view("sums").arrow()
        found["windows"], found["sum"] = _counted(view)
        started = time.perf_counter()
        whole = (
            flow(bounded=True)
            .on(side.spark)
            .run(order=order, events=side.spark.read.parquet(str(side.data / "events")))
        )
        count, total = _counted(whole["sums"].toArrow())
        found["bounded"] = {"windows": count, "sum": total, "seconds": time.perf_counter() - started}
        return found

    return run


def _counted(table: Any) -> tuple[int, int]:
    """How many sums there are, and what they add up to: equal ones of a key are one row of a greater weight."""
    rows = [(row["v"] if "v" in row else row["1"], row.get(WEIGHTS, 1)) for row in table.to_pylist()]
    return sum(weight for _, weight in rows), sum(value * weight for value, weight in rows)


def windows_native(side: Side) -> Measured:
    at = functions.timestamp_micros("time")
    events = side.stream("events").withColumn("at", at).withWatermark("at", f"{LATENESS // SECOND} seconds")
    sums = events.groupBy(functions.window("at", "10 seconds"), "k").agg(functions.sum("v").alias("v"))
    writing = sums.writeStream.format("memory").queryName("sums").outputMode("append").trigger(**AVAILABLE)
    started = time.perf_counter()
    query = writing.option("checkpointLocation", str(side.scratch / "native")).start()
    query.awaitTermination()
    found = measured(query, time.perf_counter() - started)
    row = side.spark.sql("select count(*) as n, sum(v) as v from sums").collect()[0]
    found["windows"], found["sum"] = row["n"], row["v"]
    return found


def chain_flo(side: Side) -> Measured:
    inputs = {"orders": side.stream("orders"), "regions": side.spark.read.parquet(str(side.data / "regions"))}
    found = side.flo(chain_flow(), inputs, {"totals": "view"})
    found["result"] = sorted((row["region"], row["v"]) for row in found["query"].view("totals").arrow().to_pylist())
    return found


def _sums(orders: Any, regions: Any) -> Any:
    weight = functions.col(WEIGHTS)
    sums = (
        orders.groupBy("k")
        .agg(functions.sum(functions.col("v") * weight).alias("v"), functions.sum(weight).alias("n"))
        .where("n != 0")
    )
    return sums.join(regions, "k").groupBy("region").agg(functions.sum("v").alias("v"))


def chain_native(side: Side) -> Measured:
    """What Spark says when it is asked for the same; and recomputing everything in each micro-batch."""
    regions = side.spark.read.parquet(str(side.data / "regions"))
    try:
        side.native(_sums(side.stream("orders"), regions), "update")
        refused = "accepted"
    except Exception as error:
        refused = str(error).splitlines()[0]
    files = sorted(str(file) for file in (side.data / "orders").glob("*.parquet"))
    result: list[Any] = []

    def again(batch: Any, version: int) -> None:
        sums = _sums(side.spark.read.parquet(*files[: version + 1]), regions)
        result[:] = sorted((row["region"], row["v"]) for row in sums.collect())

    writing = side.stream("orders").writeStream.foreachBatch(again).trigger(**AVAILABLE)
    started = time.perf_counter()
    query = writing.option("checkpointLocation", str(side.scratch / "again")).start()
    query.awaitTermination()
    found = measured(query, time.perf_counter() - started, unread=True)
    return {**found, "result": result, "refused": refused}


def floor_flo(inputs: int) -> Callable[[Side], Measured]:
    def run(side: Side) -> Measured:
        names = INPUTS[:inputs]
        found = side.flo(groups_flow(names), {name: side.stream(name) for name in names}, {"sums": "noop"})
        phases = [each.figures.phases for each in found["query"].progress][-10:]
        found["phases"] = {name: 1e3 * statistics.median(each.get(name, 0.0) for each in phases) for name in phases[-1]}
        return found

    return run


def floor_native(side: Side) -> Measured:
    return side.native(side.stream("rows").groupBy("k").agg(functions.sum("v")), "update")


def floor_each(side: Side) -> Measured:
    """Native, in `foreachBatch`: what every turn of ours pays to Spark."""

    def take(batch: Any, version: int) -> None:
        batch.groupBy("k").agg(functions.sum("v")).write.format("noop").mode("append").save()

    writing = side.stream("rows").writeStream.foreachBatch(take).trigger(**AVAILABLE)
    started = time.perf_counter()
    query = writing.option("checkpointLocation", str(side.scratch / "each")).start()
    query.awaitTermination()
    return measured(query, time.perf_counter() - started)


def shards_flo(shards: int) -> Callable[[Side], Measured]:
    def run(side: Side) -> Measured:
        found = side.flo(groups_flow(), {"rows": side.stream("rows")}, {"sums": "view"}, shards=shards)
        table = found["query"].view("sums").arrow()
        found["result"] = sorted([row["k"], row["v"]] for row in table.to_pylist())
        return found

    return run


SIDES: dict[str, Callable[[Side], Measured]] = {
    "join-flo": join_flo,
    "join-native": join_native,
    "join-rocksdb": join_rocksdb,
    "windows-of-all": windows_flo(of_all_events),
    "windows-per-key": windows_flo(per_key_windows),
    "windows-aggregate": windows_flo(by_window),
    "windows-native": windows_native,
    "chain-flo": chain_flo,
    "chain-native": chain_native,
    **{f"floor-flo-{inputs}": floor_flo(inputs) for inputs in (1, 2, 4)},
    "floor-native": floor_native,
    "floor-each": floor_each,
    **{f"shards-{count}": shards_flo(count) for count in (10, 100, 1000)},
}


def main(arguments: list[str]) -> None:
    name, data, scratch = arguments
    spark = embedded(f"benchmark {name}", cores=2, memory="6g")
    try:
        if (Path(data) / WARM).exists():
            SIDES[name](Side(spark, Path(data) / WARM, Path(scratch) / WARM))
        found = SIDES[name](Side(spark, Path(data), Path(scratch)))
        found.pop("query", None)
        print(json.dumps(found, default=int))  # sums are decimals without places
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
