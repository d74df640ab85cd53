"""Windows of a partitioned log, cut and interleaved at random: what Flo finds late, and what Spark's watermark drops.

    python -m benchmarks.watermarks [interleavings]

Each interleaving has the same rows, in the same order within each of five partitions. Flo has the same windows, sums
and late rows in all of them. Spark's watermark is one for all rows, and moves between micro-batches: which rows it
drops depends on the interleaving.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import flo

PARTITIONS, ROWS, SIZE, LATENESS = 5, 400, 60, 20
SCHEMA = pa.schema([("user", pa.int64()), ("at", pa.int64()), ("partition", pa.int32()), ("offset", pa.int64())])


class Click(NamedTuple):
    user: int
    at: int


def clicks_of(seed: int = 0) -> list[list[Click]]:
    """The rows of each partition: about in the order of time, one in twenty far behind. Partitions lag by minutes."""
    rng, log = random.Random(seed), []
    for partition in range(PARTITIONS):
        time, rows = 0, []
        for _ in range(ROWS):
            time += rng.choice([0, 1, 2, 5])
            behind = rng.randint(30, 120) if rng.random() < 0.05 else rng.randint(0, 15)
            rows.append(Click(partition, max(0, time - behind)))
        log.append(rows)
    return log


def interleaved(log: list[list[Click]], rng: random.Random) -> Iterator[list[tuple[int, int, Click]]]:
    """The rows in micro-batches, as (partition, offset, row): each takes some rows of some partitions."""
    at = [0] * PARTITIONS
    while any(taken < len(rows) for taken, rows in zip(at, log, strict=True)):
        batch = []
        for partition, rows in enumerate(log):
            count = rng.choice([0, ROWS // 4, ROWS // 2])
            batch += [
                (partition, at[partition] + place, row)
                for place, row in enumerate(rows[at[partition] : at[partition] + count])
            ]
            at[partition] = min(len(rows), at[partition] + count)
        if batch:
            rng.shuffle(batch)
            yield batch


def write_batches(folder: Path, batches: list[list[tuple[int, int, Click]]]) -> None:
    for number, batch in enumerate(batches):
        rows = [
            {"user": row.user, "at": row.at, "partition": partition, "offset": offset}
            for partition, offset, row in batch
        ]
        path = folder / f"{number:04}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)
        os.utime(path, (number, number))  # Spark takes files by their age


def flow_of() -> flo.Flow:
    flow = flo.Flow("clicks")
    windows = flow.input("clicks", flo.Partitioned[Click], partitions=PARTITIONS).tumbling(SIZE, "at", LATENESS)
    flow.output("counts", windows.nest(lambda window: window.count()).flatten())
    flow.output("late", windows.late)
    return flow


def in_flo(spark: Any, frame: Any, folder: Path) -> tuple[list[int], Counter[Click]]:
    """The sizes of the windows, in order, and the late rows."""
    query = (
        flow_of()
        .on(spark)
        .start(inputs={"clicks": frame}, checkpoint=str(folder / "flo"), trigger={"availableNow": True})
    )
    query.wait()
    return query.view("counts").value(), query.view("late").value()


def in_spark(frame: Any, folder: Path) -> tuple[dict[int, int], int]:
    """The sizes of the windows by their start, and how many rows were dropped."""
    from pyspark.sql import functions as sf

    timed = frame.withColumn("time", sf.timestamp_seconds("at")).withWatermark("time", f"{LATENESS} seconds")
    counts = timed.groupBy(sf.window("time", f"{SIZE} seconds")).count()
    query = (
        counts.writeStream.format("memory")
        .queryName(f"counts_{folder.name.replace('-', '_')}")
        .option("checkpointLocation", str(folder / "spark"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    dropped = sum(
        state["numRowsDroppedByWatermark"] for progress in query.recentProgress for state in progress["stateOperators"]
    )
    rows = frame.sparkSession.table(query.name).selectExpr("cast(window.start as long) at", "count").collect()
    return {row["at"]: row["count"] for row in rows}, dropped


def main(interleavings: int = 5) -> None:
    from flo.spark.session import embedded

    spark = embedded("watermarks", cores=2)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    log = clicks_of()
    print(f"{PARTITIONS} partitions of {ROWS} rows, windows of {SIZE} s, lateness {LATENESS} s")
    print(f"interleaving  micro-batches  {'Flo, as in the first?':<41}   Spark, as in the first?")
    first: Any = None
    for seed in range(interleavings):
        batches = list(interleaved(log, random.Random(seed)))
        folder = Path(tempfile.mkdtemp(prefix="watermarks-"))
        try:
            (folder / "in").mkdir()
            write_batches(folder / "in", batches)
            columns = "user long, at long, partition int, offset long"
            frame = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
            found = in_flo(spark, frame, folder)
            counts, dropped = in_spark(frame, folder)
            first = first or (found, counts)
            others = sum(first[1].get(start, count) != count for start, count in counts.items())
            same = "the same" if found == first[0] else "OTHERS"
            mine = f"{len(found[0])} windows, {sum(found[1].values())} late rows: {same}"
            theirs = f"{len(counts)} windows, {dropped} rows dropped: {others} windows have another count"
            print(f"{seed:>12}  {len(batches):>13}  {mine:<41}   {theirs}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
