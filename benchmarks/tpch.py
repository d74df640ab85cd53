"""TPC-H as views that are kept up to date, compared with recomputing each query, as a table in Markdown.

    python -m benchmarks.tpch --scale 0.1
    python -m benchmarks.tpch --query q3 --share 0.001 --share 0.01
    python -m benchmarks.tpch --scale 3 --share 0.001 --folder measured

With `--folder`, a run that was broken off goes on from the last query that it measured.

A micro-batch changes a share of all rows: half of the changes are inserts, half are deletes. Flo maintains the query
with `flo.spark.views`; batch Spark recomputes it from Parquet files of the current content. The sides take turns, a few
queries at a time, each in a process and a session of its own, on a tenth of the data before it is measured. Their rows
are compared after each share. The times are the least: of the micro-batches of a share, and of recomputing the query
after each share, since other work on the machine disturbs single ones. The break-even is the share of changes at which
both take the same time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.spark import Measured, table
from benchmarks.spark_data import WARM
from benchmarks.tpch_data import FIRST, KEYS, QUERIES, REPEATS, write_data
from benchmarks.tpch_sides import MEASURED
from tests.sql.tpc import tables_in

SHARES = [0.0001, 0.001, 0.01, 0.1]
TURN = 4
"""How many queries a side runs before the other side's turn: the speed of a virtual machine changes within minutes."""


def measure(name: str, data: Path, scratch: Path, queries: list[str]) -> dict[str, Measured]:
    """Return what a side measured, in a process of its own, which shows its progress."""
    missing = [query for query in queries if not (scratch / MEASURED / f"{query}.json").exists()]
    if missing:
        arguments = [name, str(data), str(scratch), *missing]
        subprocess.run([sys.executable, "-m", "benchmarks.tpch_sides", *arguments], check=True)
    return {query: json.loads((scratch / MEASURED / f"{query}.json").read_text()) for query in queries}


def break_even(shares: list[float], seconds: list[float], recomputed: float) -> str:
    """Return the share of changes at which a micro-batch takes as long as recomputing the query."""
    if seconds[-1] < recomputed:
        return f"> {shares[-1]:.2%}"
    if seconds[0] >= recomputed:
        return f"< {shares[0]:.2%}"
    place = next(place for place, each in enumerate(seconds) if each >= recomputed)
    (low, high), (one, other) = shares[place - 1 : place + 1], seconds[place - 1 : place + 1]
    part = (recomputed - one) / (other - one)
    return f"{math.exp(math.log(low) + part * (math.log(high) - math.log(low))):.2%}"


def is_right(folder: Path, query: str, count: int) -> bool:
    """Return whether both sides have the same rows, columns and types after each share."""
    for place in range(count):
        ours, theirs = (pq.read_table(folder / each / "results" / query / f"{place}.parquet") for each in SIDES)
        if [(f.name, f.type) for f in ours.schema] != [(f.name, f.type) for f in theirs.schema]:
            return False
        if Counter(map(_row, ours.to_pylist())) != Counter(map(_row, theirs.to_pylist())):
            return False
    return True


def _row(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.values())


SIDES = ("flo", "spark")


def input_bytes(folder: Path, text: str) -> int:
    """Return the bytes, as Arrow, of the tables that a query reads."""
    last = max((folder / "content").iterdir())
    return sum(pq.read_table(last / f"{name}.parquet").nbytes for name in tables_in(text, KEYS))


def compare(scale: float, queries: list[str], shares: list[float], folder: Path) -> None:
    data = folder / "data"
    if not (data / WARM / QUERIES).exists():
        write_data(scale, shares, data)
        write_data(scale / 10, shares, data / WARM)
    texts = json.loads((data / QUERIES).read_text())
    found: dict[str, dict[str, Measured]] = {name: {} for name in SIDES}
    for first in range(0, len(queries), TURN):
        for name in SIDES:
            found[name] |= measure(name, data, folder / name, queries[first : first + TURN])
    rows = []
    for query in queries:
        ours, theirs = found["flo"][query], found["spark"][query]
        if "failed" in ours:
            rows.append([query, ours["failed"], *[""] * (len(shares) + 6)])
            continue
        recomputed = min(theirs["batches"])
        seconds = [min(ours["batches"][1 + p * REPEATS :][:REPEATS]) for p in range(len(shares))]
        cells = [f"{each / 1e3:.2f} s, {recomputed / each:.1f}×" for each in seconds]
        size = f"{ours['state'] / input_bytes(data, texts[query]):.2f}"
        right = "yes" if is_right(folder, query, len(shares)) else "no"
        first = f"{ours['batches'][0] / 1e3:.1f} s"
        more = [break_even(shares, seconds, recomputed), first, size, str(ours["stages"]), str(ours["sources"]), right]
        rows.append([query, f"{recomputed / 1e3:.2f} s", *cells, *more])
    columns = ["query", "recomputed", *(f"{share:.2%} changed" for share in shares)]
    columns += ["break-even", "first load", "state / input", "stages", "sources", "right"]
    table(f"TPC-H at scale {scale:g}: a micro-batch, and how many times faster than recomputing", columns, rows)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tpch", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor: 1 has 6 million lines")
    parser.add_argument("--query", action="append", help="such as q3; may be given again")
    parser.add_argument("--share", type=float, action="append", help="of the rows that change; may be given again")
    parser.add_argument("--folder", type=Path, help="keeps what was measured there, for one scale and its shares")
    given = parser.parse_args(arguments)
    queries = given.query or [f"q{number}" for number in range(1, 23)]
    shares = sorted(given.share or SHARES)
    if FIRST * (1 + REPEATS * sum(shares) / 2) > 1:
        parser.error("the shares are too large: there are not enough rows to insert")
    print(f"{os.cpu_count()} cores, {os.getloadavg()[0]:.1f} processes at work before")
    with tempfile.TemporaryDirectory(prefix="flo-tpch-") as temporary:
        compare(given.scale, queries, shares, given.folder or Path(temporary))


if __name__ == "__main__":
    main()
