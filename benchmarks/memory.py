"""Part of `make bench`: state of ten times the memory that it may take, beside the same without a limit.

    python -m benchmarks.memory --scale 0.1

Orders are joined with customers, and the joined rows and their sums are views, in a checkpoint. Each side runs in a
process of its own. The memory is what the kernel counts as anonymous, which no file backs: mapped files are given back
when others need memory. It includes Python and the libraries, which the row "nothing" shows, and the rows of a push.
Times are CPU time. Sums, counts and the number of rows are compared with those of numpy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

import flo
from flo.local.query import LocalQuery

ORDERS, PUSH, DELTA, DELTAS, PER_CUSTOMER = 2_000_000, 100_000, 1_000, 20, 4
BYTES = 200
"""The state of one order, about."""
SHARDS = 16


class Order(NamedTuple):
    id: int
    customer: int
    amount: int
    note: str


class Customer(NamedTuple):
    customer: int
    name: str


def sales() -> flo.Flow:
    flow = flo.Flow("sales")
    orders, customers = flow.input("orders", flo.ZSet[Order]), flow.input("customers", flo.ZSet[Customer])
    joined = orders.join(customers, on="customer")
    flow.output("joined", joined)
    flow.output("totals", joined.group_by("customer").agg(n=flo.count(), total=flo.sum("amount")))
    return flow


def texts(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")


def orders(start: int, count: int, customers: int) -> pa.Table:
    ids = np.arange(start, start + count)
    columns = {"id": ids, "customer": ids * 7919 % customers, "amount": ids % 1_000}
    return pa.table({**columns, "note": texts("the note of the order with the number ", ids)})


def memory(name: str) -> int:
    """A figure of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) // 1024


def run_side(count: int, limit: str | None) -> None:
    """Loads so many orders, then pushes small deltas, and prints the figures."""
    customers, most = max(1, count // PER_CUSTOMER), 0
    with tempfile.TemporaryDirectory() as folder:
        query = sales().on(flo.here).start(checkpoint=folder, shards=SHARDS, memory=limit)
        keys = np.arange(customers)
        query.push(customers=pa.table({"customer": keys, "name": texts("customer ", keys)}))
        started = time.process_time()
        for start in range(0, count, PUSH):
            query.push(orders=orders(start, min(PUSH, count - start), customers))
            most = max(most, memory("RssAnon"))
        load, deltas = time.process_time() - started, []
        for number in range(DELTAS if count >= PUSH else 2):
            rows = orders(count + number * DELTA, DELTA, customers)
            started = time.process_time()
            query.push(orders=rows)
            deltas.append((time.process_time() - started) * 1e3)
            most = max(most, memory("RssAnon"))
        state = sum(file.stat().st_size for file in Path(folder, "state").rglob("*.arrow")) / 1e6
        held = memory("RssAnon")
        if count:
            expect_views(query, count + len(deltas) * DELTA, customers)
        query.stop()
    delta = statistics.median(deltas) if deltas else 0.0
    print(json.dumps({"state": state, "held": held, "most": most or held, "load": load, "delta": delta}))


def expect_views(query: LocalQuery, count: int, customers: int) -> None:
    ids = np.arange(count)
    keys = ids * 7919 % customers
    totals = query.view("totals").arrow().sort_by("customer")
    assert totals["n"].to_numpy().tolist() == [each for each in np.bincount(keys, minlength=customers) if each]
    expected = np.bincount(keys, ids % 1_000, customers)[np.bincount(keys, minlength=customers) > 0]
    assert totals["total"].to_numpy().tolist() == expected.tolist()
    assert query.view("joined").arrow().num_rows == count


def side(count: int, limit: str | None) -> dict[str, float]:
    """The figures of a side, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", "--side", str(count), *([limit] if limit else [])]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ})
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def compare(scale: float) -> Table:
    count = max(DELTA, int(ORDERS * scale))
    limit = f"{max(1, count * BYTES // 10**7)} MB"
    table = Table(title=f"{count:,} orders in {SHARDS} shards; anonymous memory, CPU time", title_justify="left")
    for column in ("limit", "state", "memory at the end", "at most", "load", "1,000 rows"):
        table.add_column(column, justify="left" if column == "limit" else "right")
    for name, rows, given in (("nothing", 0, None), ("none", count, None), (limit, count, limit)):
        figures = side(rows, given)
        held, most = f"{figures['held']:,.0f} MB", f"{figures['most']:,.0f} MB"
        times = (f"{figures['load']:,.1f} s", f"{figures['delta']:,.0f} ms") if rows else ("", "")
        table.add_row(name, f"{figures['state']:,.0f} MB", held, most, *times)
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the full size, such as 0.1")
    parser.add_argument("--side", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.side:
        run_side(int(given.side[0]), given.side[1] if len(given.side) > 1 else None)
    else:
        Console().print(compare(given.scale))


if __name__ == "__main__":
    main()
