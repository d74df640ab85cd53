"""`make demo`: an auction house on an embedded Spark, with its plan, its progress and its results.

Then a query in SQL over the same files, which Spark's own streaming rejects, as a view that is kept up to date.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from rich.columns import Columns
from rich.console import Console
from rich.table import Table

import flo
from examples.auctions import HOPS, LIMIT, auctions, generate
from flo.spark.driver.query import Query
from flo.spark.session import embedded

FILES, ROWS = 10, 50_000
BEST = """
SELECT category, place, lot, turnover
FROM (SELECT category, lot, sum(price) AS turnover,
             rank() OVER (PARTITION BY category ORDER BY sum(price) DESC) AS place
      FROM bids JOIN lots USING (lot)
      GROUP BY category, lot)
WHERE place <= 2"""
ROW = "{:>11}  {:>8}  {:>7}  {:>11}  {:>13}  {:>7}"

console = Console(width=None if sys.stdout.isatty() else 130, highlight=False)


def main() -> None:
    started = time.monotonic()
    with console.status("starting Spark in this process"):
        spark = embedded("flo demo", cores=2)
    try:
        with tempfile.TemporaryDirectory(prefix="flo-demo-") as folder:
            run(spark, Path(folder), FILES, ROWS)
            run_sql(spark, Path(folder), FILES)
    finally:
        spark.stop()
    console.print(f"\ndone in {time.monotonic() - started:.0f} s")


def run(spark: Any, folder: Path, files: int, rows: int) -> None:
    """Runs the auction house on so many files of bids, one for each micro-batch, and shows its views."""
    flow = auctions()
    with console.status("generating bids, lots and referrals"):
        generate(folder, files, rows)
    console.print(f"{files} files of {rows:,} bids each, and lots that are listed and withdrawn")
    console.rule("[bold]the plan: what runs where")
    console.print(flow.on(spark).explain(), markup=False, soft_wrap=True)
    console.rule("[bold]running: each micro-batch is one run of the event loop")
    query = flow.on(spark).start(
        inputs={
            "bids": streaming(spark, folder / "bids"),
            "lots": streaming(spark, folder / "lots"),
            "referrals": spark.read.parquet(str(folder / "referrals")),
        },
        checkpoint=folder / "checkpoint",
        order={"bids": "offset"},
        trigger={"availableNow": True},
    )
    watch(query, files)
    console.rule("[bold]the views, all of the same version")
    show(query)


def run_sql(spark: Any, folder: Path, files: int) -> None:
    """Maintains a query over the same files, which Spark's own streaming rejects."""
    console.rule("[bold]SQL: the best lots of each category")
    console.print(BEST.strip(), markup=False)
    bids, lots = streaming(spark, folder / "bids"), streaming(spark, folder / "lots")
    console.print("\nSpark's own streaming:", style="bold")
    for error in rejections(spark, bids, lots):
        console.print(error, markup=False, style="red")
    console.print("\nFlo, as a view that follows every bid, and every lot that is withdrawn:", style="bold")
    views = flo.spark.views(spark, {"best": BEST}, inputs={"bids": bids, "lots": lots})
    query = views.start(checkpoint=folder / "sql", trigger={"availableNow": True})
    watch(query, files)
    best = Table("category", "place", "lot", "turnover", title="the best lots of each category")
    for column in best.columns[1:]:
        column.justify = "right"
    for row in query.view("best").arrow().sort_by([("category", "ascending"), ("place", "ascending")]).to_pylist():
        best.add_row(row["category"], *(f"{row[name]:,}" for name in ("place", "lot", "turnover")))
    console.print(best)


def rejections(spark: Any, bids: Any, lots: Any) -> Iterator[str]:
    """Yield the errors that Spark's own streaming raises for the query, in each of its output modes."""
    bids.createOrReplaceTempView("bids")
    lots.createOrReplaceTempView("lots")
    for mode in ("append", "update", "complete"):
        try:
            spark.sql(BEST).writeStream.outputMode(mode).format("memory").queryName("best").start().stop()
        except AnalysisException as error:
            yield f"in {mode} mode: {str(error).splitlines()[0]}"


def streaming(spark: Any, folder: Path) -> Any:
    """A folder as a stream, with one file for each micro-batch."""
    reader = spark.readStream.schema(spark.read.parquet(str(folder)).schema)
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


def watch(query: Query, files: int) -> None:
    """Prints a line for every micro-batch, as soon as it is done."""
    console.print(ROW.format("micro-batch", "bids", "lots", "changes out", "state written", "seconds"), style="bold")
    shown, ended = -1, False
    with console.status("the first micro-batch starts the workers") as status:
        while not ended:
            ended = query.wait(0.25)
            for batch in [batch for batch in list(query.progress) if batch.version > shown]:
                bids, lots = (f"{batch.taken.get(name, 0):,}" for name in ("bids", "lots"))
                changes, written = f"{sum(batch.rows.values()):,}", f"{batch.written / 1e6:.1f} MB"
                console.print(ROW.format(batch.version, bids, lots, changes, written, f"{batch.seconds:.2f}"))
                shown = batch.version
                status.update(f"micro-batch {shown + 1} of {files}")


def show(query: Query) -> None:
    revenue = Table("category", "revenue", title="revenue, without withdrawn lots")
    for row in query.view("revenue").arrow().sort_by([("revenue", "descending")]).to_pylist():
        revenue.add_row(row["category"], f"{row['revenue']:,}")
    dearest = Table("lot", "bidder", "price", "second", title="the dearest bids")
    for row in query.view("dearest").arrow().sort_by([("price", "descending")]).to_pylist():
        dearest.add_row(*(f"{row[name]:,}" for name in ("lot", "bidder", "price", "second")))
    windows = query.view("turnover").value()
    turnover = Table("from second", "turnover", title=f"the last of {len(windows)} windows")
    for number, total in list(enumerate(windows))[-6:]:
        turnover.add_row(f"{number * 10}", f"{total:,}")
    for table in (revenue, dearest, turnover):
        for column in table.columns:
            column.justify = "right"
    console.print(Columns([revenue, dearest, turnover], padding=(0, 4)))
    alarm = "a bid has passed" if query.view("alarm").value() else "no bid has passed"
    console.print(f"alarm: {alarm} {LIMIT:,}")
    console.print(f"behind account 0, within {HOPS} referrals: {len(query.view('ring').value()):,} bidders")
    console.print(f"late, on a side output: {len(query.view('late').value()):,} bids")


if __name__ == "__main__":
    main()
