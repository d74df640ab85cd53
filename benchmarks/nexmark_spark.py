"""NEXMark's queries on Spark, in micro-batches, beside Spark's own streaming where it can express them.

    python -m benchmarks.nexmark --spark --events 1_500_000 --rounds 5
    python -m benchmarks.nexmark_spark SIDE DATA    # one side, in a process and a session of its own

Both sides read the same Parquet files, one of each input in a micro-batch, and write Parquet. What they wrote is read
by DuckDB and compared with its own answer. Spark's own streaming has no retractions at its inputs, so Flo's are bags.

The sides run in turn: in each round a query runs once on each, in a new folder, and the other waits. Which is first
alternates. Some rounds come before those that count. The rates are those of the median times of all micro-batches.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
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

OUT, STATE = "out", "state"
WARM_UPS = 2
"""The rounds that do not count: Java compiles what they run."""
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


def beside_native(names: Iterable[str], count: int, delta: int, rounds: int) -> Table:
    """A table of these queries on both sides. Raises if an answer is not DuckDB's."""
    title = f"{count:,} events in micro-batches of {delta:,}; thousands of events a second, medians of {rounds} rounds"
    table = Table(title=title, title_justify="left")
    for column in ("query", "rows", "flo", "native", "ratio", "of each round"):
        table.add_column(column, justify="left" if column == "query" else "right")
    running = list(programs(names)[0])
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flo-nexmark-")))
        deltas = made(count, delta)
        write(deltas, folder / "data")
        oracle = Oracle(deltas)
        native = any(name in APPENDED or name in UPDATED for name in running)
        sides = {name: stack.enter_context(side(name, folder / "data")) for name in list(SIDES)[: 1 + native]}
        for name in running:
            expected = oracle.digest(name)
            able = sides if name in APPENDED or name in UPDATED else ["flo"]
            seconds: dict[str, list[float]] = {each: [] for each in able}
            for turn in range(WARM_UPS + rounds):
                for each in sorted(seconds, reverse=bool(turn % 2)):
                    scratch = folder / f"{each} {name} {turn}"
                    found = sides[each](name, scratch)
                    assert found["count"] == len(deltas), f"{name} of {each} had {found['count']} micro-batches"
                    keys = UPDATED[name][1] if each == "native" and name in UPDATED else []
                    answer = oracle.digest_of_files(name, scratch / OUT, keys, BATCH)
                    assert answer == expected, f"{name} of {each}: {answer}; DuckDB has {expected}"
                    shutil.rmtree(scratch)
                    if turn >= WARM_UPS:
                        seconds[each].append(found["seconds"])
            rates = {each: count / statistics.median(found) / 1e3 for each, found in seconds.items()}
            cells = [f"{rates[each]:,.0f}" if each in rates else "" for each in SIDES]
            if "native" in rates:
                ratios = [native / flo for native, flo in zip(seconds["native"], seconds["flo"], strict=True)]
                cells += [f"{rates['flo'] / rates['native']:.2f}", " ".join(f"{each:.2f}" for each in ratios)]
            table.add_row(name, f"{expected.rows:,}", *cells)
    return table


@contextmanager
def side(name: str, data: Path) -> Iterator[Callable[[str, Path], dict[str, Any]]]:
    """A function that runs a query on a side, in a process that is started once, and returns what it measured."""
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "benchmarks.nexmark_spark", name, str(data)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
        with subprocess.Popen(command, **pipes, text=True) as process:
            asked: Any = process.stdin
            answers: Any = process.stdout

            def run(query: str, scratch: Path) -> dict[str, Any]:
                print(query, scratch, sep="\t", file=asked, flush=True)
                line = answers.readline()
                if not line:
                    errors.seek(0)
                    raise RuntimeError(f"{name} failed:\n{errors.read()[-4000:]}")
                found: dict[str, Any] = json.loads(line)
                return found

            yield run
            asked.close()


def run_flo(side: Any, query: str) -> Any:
    from benchmarks.spark_sides import AVAILABLE

    inputs = {}
    for name in signature(BY_NAME[query]).parameters:
        static = name == "side"
        inputs[name] = side.spark.read.parquet(str(side.data / "side_input")) if static else side.stream(TABLES[name])
    sinks = {query: flo.spark.Changes(str(side.scratch / OUT))}
    flow, state = nexmark(query, logs=True), side.scratch / STATE
    started = flow.on(side.spark).start(inputs, sinks, checkpoint=state, trigger=AVAILABLE)
    started.wait()
    return started._query


def run_native(side: Any, query: str) -> Any:
    from benchmarks.spark_sides import AVAILABLE

    out = side.scratch / OUT
    for name in Events._fields:
        side.stream(name).createOrReplaceTempView(name)
    side.spark.read.parquet(str(side.data / "side_input")).createOrReplaceTempView("side_input")
    if query in APPENDED:
        writing = side.spark.sql(APPENDED[query]).writeStream.format("parquet").option("path", str(out))
    else:
        writing = side.spark.sql(UPDATED[query][0]).writeStream.outputMode("update").foreachBatch(append_to(out))
    started = writing.trigger(**AVAILABLE).option("checkpointLocation", str(side.scratch / STATE)).start()
    started.awaitTermination()
    return started


def append_to(folder: Path) -> Callable[[Any, int], None]:
    """Return a function that writes the changed rows of a micro-batch, with its number."""

    def append(rows: Any, number: int) -> None:
        from pyspark.sql import functions as sf

        rows.withColumn(BATCH, sf.lit(number)).write.mode("append").parquet(str(folder))

    return append


SIDES = {"flo": run_flo, "native": run_native}


def main(arguments: list[str]) -> None:
    """Runs the queries that it reads, and writes the time of all micro-batches of each."""
    from benchmarks.spark_sides import Side, measured
    from flo.spark.session import embedded

    name, data = arguments
    spark = embedded(f"nexmark {name}", cores=2, memory="3g")
    try:
        for line in sys.stdin:
            query, scratch = line.rstrip("\n").split("\t")
            milliseconds = measured(SIDES[name](Side(spark, Path(data), Path(scratch)), query), 0)["batches"]
            print(json.dumps({"seconds": sum(milliseconds) / 1e3, "count": len(milliseconds)}), flush=True)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
