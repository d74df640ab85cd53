"""Part of `make bench`: programs on Spark beside what Spark has for the same, as tables in Markdown.

    python -m benchmarks.spark --scale 0.1

Every side runs in a process and a session of its own, one after the other, and every result is compared with what
Polars gives on all of the data. Before it is measured, each runs the same on a tenth of the data, so that Java is warm,
as it is after a minute of any query. A side that is slower or wrong is shown like the others.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import spark_data
from benchmarks.spark_data import SETTLED, WARM

Measured = dict[str, Any]
T = TypeVar("T")


class Bench:
    """A scale, and a folder for data and for what the sides write."""

    def __init__(self, scale: float, folder: Path, cold: bool) -> None:
        self.scale, self.folder, self.cold = scale, folder, cold
        self._count = 0

    def data(self, name: str, make: Callable[[float, Path], T]) -> tuple[Path, T]:
        """The data of a comparison, with less of the same to warm up, and what `make` says of it."""
        if not self.cold:
            make(self.scale / 10, self.folder / name / WARM)
        return self.folder / name, make(self.scale, self.folder / name)

    def side(self, name: str, data: Path) -> Measured:
        """What a side measured, in a process of its own."""
        self._count += 1
        scratch = self.folder / f"scratch-{self._count}"
        command = [sys.executable, "-m", "benchmarks.spark_sides", name, str(data), str(scratch)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name} failed:\n{done.stderr[-4000:]}")
        found: Measured = json.loads(done.stdout.splitlines()[-1])
        return found


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    print(f"\n**{title}**\n")
    print(f"| {' | '.join(columns)} |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def rate(found: Measured) -> str:
    return f"{found['rows'] / found['seconds']:,.0f}"


def settled(found: Measured) -> float:
    """The median of the last ten micro-batches, in ms."""
    return float(statistics.median(found["batches"][-SETTLED:]))


def flat(found: Measured) -> str:
    """The last five micro-batches beside the five before: whether the time grows with the state."""
    batches = found["batches"][-SETTLED:]
    half = len(batches) // 2
    return f"{statistics.mean(batches[half:]) / statistics.mean(batches[:half]):.2f}"


def times(found: Measured, ours: Measured) -> str:
    return f"{settled(found) / settled(ours):.2f}"


def join(bench: Bench) -> None:
    data, expected = bench.data("join", spark_data.join)
    sides = {
        "flo": "join-flo",
        "native, default store": "join-native",
        "native, RocksDB": "join-rocksdb",
    }
    found = {name: bench.side(side, data) for name, side in sides.items()}
    ours, rows = found["flo"], []
    for name, each in found.items():
        out = next(iter(each["out"].values()))
        exact = f"{out:,}" if out == expected else f"{out:,}, and {expected:,} are right"
        last = sum(each["batches"][-SETTLED:]) / 1e3
        rows.append(
            [name, rate(each), f"{settled(each):,.0f} ms", f"{last:.1f} s", times(each, ours), flat(each), exact]
        )
    columns = [
        "join",
        "rows/s, whole run",
        "median of the last ten",
        "all of them",
        "/ flo",
        "last 5 / 5 before",
        "rows",
    ]
    table("Incremental join of two streams, 20 micro-batches", columns, rows)


def windows(bench: Bench) -> None:
    data, (count, still_open, total) = bench.data("windows", spark_data.windows)
    sides = {
        "native, watermark": "windows-native",
        "flo, windows of all events": "windows-of-all",
        "flo, windows per key": "windows-per-key",
        "flo, window in the group": "windows-aggregate",
    }
    found = {name: bench.side(side, data) for name, side in sides.items()}
    native, rows = found["native, watermark"], []
    for name, each in found.items():
        at_end = each.get("bounded", each)
        right = "yes" if (at_end["windows"], at_end["sum"]) == (count, total) else "no"
        whole = f"{each['bounded']['seconds']:.1f} s" if "bounded" in each else "has none"
        cells = [rate(each), f"{settled(each):,.0f} ms", f"{settled(native) / settled(each):.2f}"]
        rows.append([name, *cells, f"{each['windows']:,}", f"{at_end['windows']:,}", right, whole])
    columns = ["windowed sums", "rows/s", "median of the last ten", "times as fast as native", "sums so far"]
    columns += ["sums at the end", "all there, and right", "as a bounded run"]
    table(f"Windows of 10 s: {count:,} sums, {still_open:,} of them in windows that are open", columns, rows)


def chain(bench: Bench) -> None:
    data, found = bench.data("chain", spark_data.chain)
    expected = [list(row) for row in found.rows()]
    ours, again = bench.side("chain-flo", data), bench.side("chain-native", data)
    rows = []
    for name, each in (("flo", ours), ("recomputed in foreachBatch", again)):
        right = "yes" if each["result"] == expected else "no"
        rows.append(
            [name, f"{each['seconds']:.1f} s", f"{settled(each):,.0f} ms", times(each, ours), flat(each), right]
        )
    columns = ["sum, join, sum", "whole run", "median of the last ten", "/ flo", "last 5 / 5 before", "right"]
    table("Grouped sum, join, grouped sum, with retractions", columns, rows)
    print(f"\nNative streaming says: {again['refused']}")


def floor(bench: Bench) -> None:
    data, _ = bench.data("floor", lambda scale, folder: spark_data.ten_rows(folder))
    sides = {"flo": "floor-flo-1", "native": "floor-native", "native, in foreachBatch": "floor-each"}
    found = {name: bench.side(side, data) for name, side in sides.items()}
    rows = [
        [name, f"{settled(each):,.0f} ms", f"{min(each['batches']):,.0f} ms", times(each, found["flo"])]
        for name, each in found.items()
    ]
    table("A micro-batch of ten rows, grouped sum", ["", "median of the last ten", "least", "/ flo"], rows)
    phases = [[name, f"{spent:,.0f} ms"] for name, spent in found["flo"]["phases"].items()]
    table("Where the time of flo goes", ["phase", "median of the last ten"], phases)
    more = {1: found["flo"], **{inputs: bench.side(f"floor-flo-{inputs}", data) for inputs in (2, 4)}}
    rows = []
    for inputs, each in more.items():
        slope = "" if inputs == 1 else f"{(settled(each) - settled(more[1])) / (inputs - 1):,.0f} ms"
        rows.append([str(inputs), f"{settled(each):,.0f} ms", f"{min(each['batches']):,.0f} ms", slope])
    columns = ["inputs of ten rows, added up together", "median of the last ten", "least", "for each further input"]
    table("More inputs", columns, rows)


def growth(bench: Bench) -> None:
    found, rows = [], []
    for deltas in (10, 100):
        data, (size, delta) = bench.data(f"growth-{deltas}", partial(spark_data.growth, deltas))
        found.append((size, bench.side("join-flo", data)))
    for size, each in found:
        written = each["written"][1:]
        share = statistics.median(written) / (2 * delta * 24)
        cells = [f"{settled(each):,.0f} ms", f"{settled(each) / settled(found[0][1]):.2f}"]
        cells += [f"{statistics.median(written) / 1e6:.2f} MB", f"{max(written) / 1e6:.2f} MB", f"{share:.2f}"]
        rows.append([f"2 x {size:,} rows", *cells])
    columns = ["state", "median", "/ the first", "written, median", "written, most", "written / delta as a table"]
    table(f"The same delta of 2 x {delta:,} rows into a join", columns, rows)


def shards(bench: Bench) -> None:
    for count in (10, 100_000):
        data, expected = bench.data(f"shards-{count}", partial(spark_data.few_or_many, count))
        sides = {number: bench.side(f"shards-{number}", data) for number in (10, 100, 1000)}
        rows = []
        for number, each in sides.items():
            first, later = each["batches"][0], statistics.median(each["batches"][1:])
            ten = sides[10]["batches"]
            ratios = [f"{first / ten[0]:.2f}", f"{later / statistics.median(ten[1:]):.2f}"]
            right = "yes" if each["result"] == expected else "no"
            rows.append([f"{number:,}", f"{first:,.0f} ms", ratios[0], f"{later:,.0f} ms", ratios[1], right])
        columns = ["shards", "first micro-batch", "/ with 10", "median of the others", "/ with 10", "right"]
        table(f"Micro-batches of {max(10, int(count * bench.scale)):,} rows on many shards, grouped sum", columns, rows)


PARTS: dict[str, Callable[[Bench], None]] = {
    "join": join,
    "windows": windows,
    "chain": chain,
    "floor": floor,
    "growth": growth,
    "shards": shards,
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the full size, such as 0.1")
    parser.add_argument("--cold", action="store_true", help="nothing runs before what is measured")
    parser.add_argument("--only", choices=[*PARTS], action="append", help="one part; may be given again")
    given = parser.parse_args(arguments)
    wanted = given.only or [*PARTS]
    print(f"{os.cpu_count()} cores, {os.getloadavg()[0]:.1f} processes at work before, scale {given.scale}")
    with tempfile.TemporaryDirectory(prefix="flo-bench-") as temporary:
        bench = Bench(given.scale, Path(temporary), given.cold)
        for name, part in PARTS.items():
            if name in wanted:
                part(bench)


if __name__ == "__main__":
    main()
