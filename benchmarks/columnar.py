"""Part of `make bench`: programs on tables beside Polars, the cost of deltas, memory and checkpoints.

    python -m benchmarks.columnar --scale 0.1

Every ratio is of two measurements in one run, and every result is compared with what Polars gives on all of the data.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.columnar_aggregates import several, small_deltas
from benchmarks.columnar_growth import OPERATORS, growth
from benchmarks.columnar_joins import chains, ended
from benchmarks.columnar_programs import WORKLOADS
from benchmarks.columnar_rates import checkpoints, rates
from benchmarks.columnar_spark import Spark

PARTS = ("rates", "checkpoints", "growth", "joins", "aggregates")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.columnar", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the full size, such as 0.1")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be given more than once")
    parser.add_argument("--program", choices=list(WORKLOADS), action="append", help="of the first two parts")
    parser.add_argument("--operator", choices=[each.name for each in OPERATORS], help="of `growth`")
    given = parser.parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console.width = 120  # a file
    wanted = given.only or PARTS
    cores, load = os.cpu_count(), os.getloadavg()[0]
    console.print(f"{cores} cores, {load:.1f} processes at work before")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if {"rates", "checkpoints"} & set(wanted):
            made = [WORKLOADS[name](given.scale, folder / name) for name in given.program or WORKLOADS]
        if "rates" in wanted:
            spark = Spark(folder) if Spark.installed() else None
            console.print(rates(made, spark))
            if spark is None:
                console.print("Spark's stream-stream join was left out: pyspark is not installed")
        if "checkpoints" in wanted:
            console.print(checkpoints(made, folder / "checkpoints"))
        if "growth" in wanted:
            for table in growth(given.scale, given.operator):
                console.print(table)
        if "joins" in wanted:
            console.print(chains())
            console.print(ended(given.scale))
        if "aggregates" in wanted:
            console.print(several(given.scale))
            console.print(small_deltas(given.scale))


if __name__ == "__main__":
    main()
