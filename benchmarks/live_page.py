"""What the live page costs a run: the same query on Spark with a reader of its page, and without one, in turns.

    python -m benchmarks.live_page --batches 40 --turns 6

The reader asks as the script of the page does: every second, for the figures and for a view. The table has the median
micro-batch of both, and the time that the page took of the driver's processor, which noise does not hide.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import flo
from benchmarks.spark import table
from flo.shards.watching.watch import QueryWatch
from flo.spark.session import embedded

SKIPPED = 5
"""Micro-batches at the start of a run that are not counted."""


class Sale(NamedTuple):
    shop: int
    price: int


class Measured(NamedTuple):
    """One run: the median micro-batch and the whole run in seconds, and the processor time of the page."""

    median: float
    whole: float
    page: float


def sums() -> flo.Flow:
    flow = flo.Flow("sums")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("sums", sales.group_by("shop").agg(revenue=flo.sum("price"), count=flo.count()))
    return flow


def write_data(folder: Path, batches: int, rows: int) -> None:
    folder.mkdir()
    for number in range(batches):
        shops = [(7 * row + number) % 5_000 for row in range(rows)]
        file = folder / f"{number:04}.parquet"
        pq.write_table(pa.table({"shop": shops, "price": [row % 97 for row in range(rows)]}), file)
        os.utime(file, (number + 1, number + 1))


class Reader:
    """A reader of the page: asks every second, until the run is over."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.over = threading.Event()
        self.asked = 0
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def _go_on(self) -> None:
        while not self.over.wait(1.0):
            with urllib.request.urlopen(f"{self.url}data?grain=1&count={self.asked}&views=0", timeout=60) as answer:
                answer.read()
            self.asked += 1

    def stop(self) -> None:
        self.over.set()
        self._thread.join()


def run(spark: Any, data: Path, page: bool) -> Measured:
    spent = Spent()
    schema = "shop long, price long"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(data))
    with tempfile.TemporaryDirectory() as checkpoint, spent:
        started = time.monotonic()
        query = sums().on(spark).start({"sales": stream}, checkpoint=checkpoint, trigger={"availableNow": True})
        server = query.ui() if page else None
        reader = Reader(server.url) if server is not None else None
        query.wait()
        whole = time.monotonic() - started
        if server is not None and reader is not None:
            reader.stop()
            server.close()
    return Measured(statistics.median(each.seconds for each in list(query.progress)[SKIPPED:]), whole, spent.seconds)


class Spent:
    """The processor time of what the page does in the driver: noting, looking, and answering."""

    METHODS = ("note", "look", "data_for", "data")

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock, self._inside = threading.Lock(), threading.local()
        self._before: dict[str, Any] = {}

    def __enter__(self) -> None:
        for name in self.METHODS:
            self._before[name] = getattr(QueryWatch, name)
            setattr(QueryWatch, name, self._timed(self._before[name]))

    def __exit__(self, *error: object) -> None:
        for name, method in self._before.items():
            setattr(QueryWatch, name, method)

    def _timed(self, method: Any) -> Any:
        def timed(*arguments: Any, **options: Any) -> Any:
            if getattr(self._inside, "now", False):
                return method(*arguments, **options)
            started, self._inside.now = time.thread_time(), True
            try:
                return method(*arguments, **options)
            finally:
                self._inside.now = False
                with self._lock:
                    self.seconds += time.thread_time() - started

        return timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--rows", type=int, default=20_000, help="rows in a micro-batch")
    parser.add_argument("--turns", type=int, default=6, help="runs of each kind")
    given = parser.parse_args()
    found: dict[bool, list[Measured]] = {False: [], True: []}
    spark = embedded("the cost of the live page", cores=2)
    try:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "sales"
            write_data(data, given.batches, given.rows)
            run(spark, data, page=True)  # warms Java up
            for turn in range(given.turns):
                for page in (False, True) if turn % 2 else (True, False):
                    found[page].append(run(spark, data, page))
    finally:
        spark.stop()
    rows = [
        [
            "with the page" if page else "without",
            f"{1000 * statistics.median(each.median for each in runs):,.1f} ms",
            f"{statistics.median(each.whole for each in runs):.2f} s",
            f"{100 * sum(each.page for each in runs) / sum(each.whole for each in runs):.2f} %",
        ]
        for page, runs in found.items()
    ]
    columns = ["run", "median micro-batch", "whole run", "processor time of the page, of the run"]
    table(
        f"The live page, {given.batches} micro-batches of {given.rows:,} rows, {given.turns} runs of each",
        columns,
        rows,
    )


if __name__ == "__main__":
    main()
