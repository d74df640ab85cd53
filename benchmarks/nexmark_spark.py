"""NEXMark's queries on Spark, in micro-batches, beside Spark's own streaming where it can express them.

    python -m benchmarks.nexmark --spark --events 5_000_000
    python -m benchmarks.nexmark_spark SIDE DATA SCRATCH QUERY…    # one side, in a process and a session of its own

Both sides read the same Parquet files, one of each input in a micro-batch, and write Parquet. What they wrote is read
by DuckDB and compared with its own answer. Before it is measured, each query runs on a tenth of a micro-batch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.table import Table

import flo
from benchmarks.nexmark import BY_NAME, Oracle, made, programs
from benchmarks.nexmark_sql import QUERIES as SQL
from examples.nexmark import nexmark
from examples.nexmark_data import Events, side_input

WARM, OUT = "warm", "out"
TABLES = {"persons": "person", "auctions": "auction", "bids": "bid"}
CHANNEL_ID = """
SELECT * FROM (
    SELECT auction, bidder, price, channel,
        CASE lower(channel)
            WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
            ELSE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '') END AS channel_id
    FROM bid)
WHERE channel_id IS NOT NULL
"""
BY_MINUTE = """
SELECT auction, bidder, price, dateTime, extra,
    date_format(dateTime, 'yyyy-MM-dd') AS dt, date_format(dateTime, 'HH:mm') AS hm
FROM bid
"""
IN_WINDOWS = """
SELECT bidder, count(*) AS bid_count, window.start AS starttime, window.end AS endtime
FROM bid GROUP BY bidder, window(dateTime, '10 seconds')
"""
PRICES = """
SELECT auction, date_format(dateTime, 'yyyy-MM-dd') AS day, count(*) AS total_bids,
    count(*) FILTER (WHERE price < 10000) AS rank1_bids,
    count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
    count(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
    min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price, sum(price) AS sum_price
FROM bid GROUP BY auction, date_format(dateTime, 'yyyy-MM-dd')
"""
APPENDED = {name: SQL[name] for name in ("q0", "q1", "q2", "q3", "q13", "q14", "q20", "q22")}
APPENDED |= {"q10": BY_MINUTE, "q21": CHANNEL_ID}
"""Queries that Spark's own streaming runs in append mode, without a watermark. Most of the SQL is the oracle's."""
UPDATED = {"q12": (IN_WINDOWS, ["bidder", "starttime"]), "q17": (PRICES, ["auction", "day"])}
"""Queries that it runs in update mode, and the columns by which a later row replaces an earlier one.

It has no aggregate of an aggregate, DISTINCT in an aggregate, or window function (q4 to q7, q9, q15, q16, q18, q19). q8
and q11 need a watermark, which holds back or cuts off a part of the answer.
"""
BATCH = "_batch"


def write(deltas: list[Events], folder: Path) -> None:
    """A file of each table for each micro-batch."""
    for name in Events._fields:
        (folder / name).mkdir(parents=True)
        for number, delta in enumerate(deltas):
            file = folder / name / f"{number:04}.parquet"
            pq.write_table(getattr(delta, name), file)
            os.utime(file, (number, number))  # Spark takes the oldest file first
    (folder / "side_input").mkdir()
    pq.write_table(side_input(), folder / "side_input" / "0.parquet")


def beside_native(names: Iterable[str], count: int, delta: int) -> Table:
    """A table of these queries on both sides. Raises if an answer is not DuckDB's."""
    title = f"{count:,} events in micro-batches of {delta:,}; thousands of events a second, on two cores"
    table = Table(title=title, title_justify="left")
    for column in ("query", "rows", "flo", "native", "ratio"):
        table.add_column(column, justify="left" if column == "query" else "right")
    running = list(programs(names)[0])
    with tempfile.TemporaryDirectory(prefix="flo-nexmark-") as temporary:
        folder = Path(temporary)
        deltas = made(count, delta)
        write(deltas, folder / "data")
        write(made(delta // 10, delta), folder / "data" / WARM)
        native = [name for name in running if name in APPENDED or name in UPDATED]
        sides = {"flo": side("flo", folder, running), "native": side("native", folder, native) if native else {}}
        oracle = Oracle(deltas)
        for name in running:
            expected, rates = oracle.digest(name), {}
            for each, seconds in sides.items():
                if name in seconds:
                    keys = UPDATED[name][1] if each == "native" and name in UPDATED else []
                    found = oracle.digest_of_files(name, folder / each / OUT / name, keys, BATCH)
                    assert found == expected, f"{name} of {each}: {found}; DuckDB has {expected}"
                    rates[each] = count / seconds[name] / 1e3
            cells = [f"{rates[each]:,.0f}" if each in rates else "" for each in sides]
            ratio = f"{rates['flo'] / rates['native']:.2f}" if "native" in rates else ""
            table.add_row(name, f"{expected.rows:,}", *cells, ratio)
    return table


def side(name: str, folder: Path, queries: list[str]) -> dict[str, float]:
    """The seconds that each query took on a side, in all micro-batches."""
    command = [sys.executable, "-m", "benchmarks.nexmark_spark", name, str(folder / "data"), str(folder / name)]
    done = subprocess.run([*command, *queries], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr[-4000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_flo(side: Any, query: str, out: Path) -> float:
    from benchmarks.spark_sides import AVAILABLE, measured

    inputs = {}
    for name in signature(BY_NAME[query]).parameters:
        static = name == "side"
        inputs[name] = side.spark.read.parquet(str(side.data / "side_input")) if static else side.stream(TABLES[name])
    sinks = {query: flo.spark.Changes(str(out))}
    started = nexmark(query).on(side.spark).start(inputs, sinks, checkpoint=side.scratch / query, trigger=AVAILABLE)
    started.wait()
    return float(sum(measured(started._query, 0)["batches"])) / 1e3


def run_native(side: Any, query: str, out: Path) -> float:
    from benchmarks.spark_sides import AVAILABLE, measured

    for name in Events._fields:
        side.stream(name).createOrReplaceTempView(name)
    side.spark.read.parquet(str(side.data / "side_input")).createOrReplaceTempView("side_input")
    if query in APPENDED:
        writing = side.spark.sql(APPENDED[query]).writeStream.format("parquet").option("path", str(out))
    else:
        writing = side.spark.sql(UPDATED[query][0]).writeStream.outputMode("update").foreachBatch(append_to(out))
    started = writing.trigger(**AVAILABLE).option("checkpointLocation", str(side.scratch / query)).start()
    started.awaitTermination()
    return float(sum(measured(started, 0)["batches"])) / 1e3


def append_to(folder: Path) -> Callable[[Any, int], None]:
    """Return a function that writes the changed rows of a micro-batch, with its number."""

    def append(rows: Any, number: int) -> None:
        from pyspark.sql import functions as sf

        rows.withColumn(BATCH, sf.lit(number)).write.mode("append").parquet(str(folder))

    return append


def main(arguments: list[str]) -> None:
    from benchmarks.spark_sides import Side
    from flo.spark.session import embedded

    name, data, scratch, *queries = arguments
    spark = embedded(f"nexmark {name}", cores=2, memory="6g")
    run = {"flo": run_flo, "native": run_native}[name]
    found = {}
    try:
        for query in queries:
            place = Path(scratch)
            run(Side(spark, Path(data) / WARM, place / WARM / "state"), query, place / WARM / OUT / query)
            found[query] = run(Side(spark, Path(data), place / "state"), query, place / OUT / query)
        print(json.dumps(found))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
