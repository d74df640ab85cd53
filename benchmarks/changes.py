"""What a change of a program costs: restarts of a program whose state is large.

    python -m benchmarks.changes                        # state of 10 million rows: about five minutes
    python -m benchmarks.changes --rows 1000000

A join of sales and shops is kept, and starts are timed, each on a copy of the same checkpoint:

    the same program                 a restart
    an unrelated new view            a restart, and a fill of nothing
    in 4 shards instead of 1         the state is read, and written in parts
    an aggregate over the join       the rows that the join holds are read, and joined once more
    from scratch                     all history is pushed into a new checkpoint: what a change had cost otherwise

The results of the last two are compared. On a busy machine, the time of the processor says more than the clock.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo

SHOPS, CITIES, PUSH = 20_000, 100, 500_000


@dataclass(frozen=True)
class Sale:
    id: int
    shop: int
    price: int


@dataclass(frozen=True)
class Shop:
    shop: int
    city: int


@dataclass(frozen=True)
class Visit:
    id: int


def program(*more: str) -> flo.Flow:
    flow = flo.Flow("cities")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    joined = sales.join(shops, on="shop")
    flow.output("totals", joined.group_by("city").agg(total=flo.sum("price")))
    if "visits" in more:
        flow.output("visits", flow.input("visits", flo.ZSet[Visit]).agg(n=flo.count()))
    if "most" in more:
        flow.output("most", joined.group_by("city").agg(most=flo.max("price")))
    return flow


def pushes(rows: int) -> Iterator[dict[str, pa.Table]]:
    """All history, in parts."""
    shops = np.arange(SHOPS)
    yield {"shops": pa.table({"shop": shops, "city": shops % CITIES})}
    rng = np.random.default_rng(1)
    for start in range(0, rows, PUSH):
        count = min(PUSH, rows - start)
        ids, shop, price = np.arange(start, start + count), rng.integers(0, SHOPS, count), rng.integers(0, 1000, count)
        yield {"sales": pa.table({"id": ids, "shop": shop, "price": price})}


class Timed(NamedTuple):
    """What a start has taken, and its result."""

    seconds: float
    processor: float
    """Seconds of the processor."""
    result: Any


def load(where: Path, rows: int, *more: str) -> Timed:
    """Pushes all history into a new checkpoint."""
    started, worked = time.monotonic(), time.process_time()
    with program(*more).on(flo.here).start(checkpoint=where) as query:
        for each in pushes(rows):
            query.push(**each)
        return Timed(time.monotonic() - started, time.process_time() - worked, _result(query, more))


def restart(kept: Path, *more: str, shards: int | None = None) -> Timed:
    """Starts a program on a copy of a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "checkpoint"
        shutil.copytree(kept, where)
        started, worked = time.monotonic(), time.process_time()
        with program(*more).on(flo.here).start(checkpoint=where, changed="fill", shards=shards) as query:
            return Timed(time.monotonic() - started, time.process_time() - worked, _result(query, more))


def _result(query: Any, more: tuple[str, ...]) -> Any:
    return sorted(map(str, query.view("most").arrow().to_pylist())) if "most" in more else None


def run(rows: int, output: Console) -> None:
    table = Table("start", "seconds", "of the processor", "of a load from scratch")
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        output.print(f"a state of {rows:,} rows is written …")
        load(kept, rows)
        timed = {
            "the same program": restart(kept),
            "an unrelated new view": restart(kept, "visits"),
            "in 4 shards instead of 1": restart(kept, shards=4),
            "an aggregate over the join that is kept": restart(kept, "most"),
            "from scratch": load(Path(folder) / "anew", rows, "most"),
        }
    anew = timed["from scratch"]
    assert timed["an aggregate over the join that is kept"].result == anew.result, "the filled view has other rows"
    for name, each in timed.items():
        share = each.processor / anew.processor
        table.add_row(name, f"{each.seconds:.2f}", f"{each.processor:.2f}", f"{share:.1%}")
    output.print(table)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args(arguments)
    run(given.rows, Console())


if __name__ == "__main__":
    main()
