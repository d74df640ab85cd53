"""NEXMark's queries on tables, in one process: events per second of CPU time, beside published figures.

    python -m benchmarks.nexmark --events 10_000_000
    python -m benchmarks.nexmark --events 1_000_000 --query q0 --query q4
    python -m benchmarks.nexmark --spark --events 5_000_000

Events are made ahead and arrive in deltas. Every query is a program of its own, whose changes are pulled after each
delta. All changes together must be DuckDB's answer on all events: the same rows, as often, compared by the sum of their
hashes. Time is CPU time, so a busy machine counts for little. Published figures are of other machines; a query that is
slower here is shown like the others.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo
from benchmarks.columnar_programs import WEIGHTS
from benchmarks.nexmark_sql import QUERIES as SQL
from examples.nexmark import QUERIES, nexmark
from examples.nexmark_data import Events, events, side_input
from flo.core.errors import FloError

DELTA = 500_000
PUBLISHED = {
    "q0": (436, 165),
    "q3": (413, 127),
    "q4": (265, 31),
    "q5": (412, 41),
    "q7": (196, 18),
    "q8": (415, 131),
    "q9": (57, 13),
    "q16": (51, 15),
    "q18": (85, 32),
    "q19": (75, 63),
    "q20": (85, 17),
}
"""Thousands of events a second and core that Feldera published for itself and for Flink. Feldera had 16 workers, and 16
more threads that made the events, which are not counted as cores."""
BY_NAME: dict[str, Callable[..., Any]] = {query.__name__: query for query in QUERIES}


class Digest(NamedTuple):
    """How many rows there are, and the sum of their hashes: the same whatever their order."""

    rows: int = 0
    hashes: int = 0

    def __add__(self, other: tuple[int, ...]) -> Digest:  # type: ignore[override]
        return Digest(self.rows + other[0], self.hashes + other[1])


@dataclass(frozen=True)
class Measured:
    """A query that has run: the changes of all deltas together, and how long each delta took."""

    changes: int
    digest: Digest
    seconds: list[float]

    @property
    def total(self) -> float:
        return sum(self.seconds)


class Oracle:
    """DuckDB, on all events."""

    def __init__(self, deltas: list[Events]) -> None:
        self._connection = duckdb.connect()
        for name in Events._fields:
            self._connection.register(name, pa.concat_tables([getattr(delta, name) for delta in deltas]))
        self._connection.register("side_input", side_input())

    def digest(self, query: str) -> Digest:
        """What the answer to a query adds up to."""
        return self._added_up(f"({SQL[query]})", self._types(SQL[query]), "1")

    def digest_of(self, query: str, pulled: pa.Table) -> Digest:
        """What these changes add up to, in the types of the answer."""
        self._connection.register("pulled", pulled)
        return self._digest_of(query, "pulled")

    def digest_of_files(self, query: str, folder: Path, keys: list[str], batch: str) -> Digest:
        """The same for all Parquet files in a folder. With `keys`, the row of the last batch replaces earlier ones."""
        rows = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = false)"
        if keys:
            last = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {batch} DESC) = 1"
            rows = f"(SELECT * EXCLUDE ({batch}) FROM {rows} QUALIFY {last})"
        return self._digest_of(query, rows)

    def _digest_of(self, query: str, rows: str) -> Digest:
        types, found = self._types(SQL[query]), list(self._types(f"SELECT * FROM {rows}"))
        columns = [name for name in found if name != WEIGHTS]
        assert columns == list(types), f"{query} has the columns {columns}; expected {list(types)}"
        return self._added_up(rows, types, WEIGHTS if WEIGHTS in found else "1")

    def _types(self, query: str) -> dict[str, str]:
        found = self._connection.execute(f"DESCRIBE {query}").fetchall()
        return {row[0]: row[1] for row in found}

    def _added_up(self, rows: str, types: dict[str, str], weight: str) -> Digest:
        columns = ", ".join(f'CAST("{name}" AS {kind})' for name, kind in types.items())
        number = f"CAST(hash({columns}) AS HUGEINT)"
        text = f"SELECT coalesce(sum({weight}), 0), coalesce(sum({number} * {weight}), 0) FROM {rows}"
        count, hashes = self._connection.execute(text).fetchall()[0]
        return Digest(int(count), int(hashes))


def made(count: int, delta: int) -> list[Events]:
    """So many events, in deltas."""
    return [events(first, min(first + delta, count)) for first in range(0, count, delta)]


def programs(names: Iterable[str]) -> tuple[dict[str, flo.Flow], dict[str, str]]:
    """The program of each query, and why there is none of the others."""
    found, missing = {}, {}
    for name in names:
        try:
            found[name] = nexmark(name)
        except (AttributeError, TypeError, FloError) as error:
            missing[name] = str(error).splitlines()[0].partition(";")[0]
    return found, missing


def inputs_of(query: str, delta: Events) -> dict[str, pa.Table]:
    """The tables of a delta that a query reads, by the names of its inputs."""
    tables = {"persons": delta.person, "auctions": delta.auction, "bids": delta.bid}
    return {name: tables[name] for name in signature(BY_NAME[query]).parameters if name in tables}


def measure(query: str, flow: flo.Flow, deltas: list[Events], oracle: Oracle) -> Measured:
    """Runs a query: pushes each delta, and pulls what changed."""
    loop = flow.on(flo.here).loop()
    if "side" in signature(BY_NAME[query]).parameters:
        loop.push(side=side_input())
        loop.end("side")
    seconds, changes, digest = [], 0, Digest()
    gc.collect()
    for delta in deltas:
        started = time.process_time()
        loop.push(**inputs_of(query, delta))
        pulled = loop.pull(query)
        seconds.append(time.process_time() - started)
        changes += pulled.num_rows
        digest += oracle.digest_of(query, pulled)
    return Measured(changes, digest, seconds)


def compare(names: Iterable[str], count: int, delta: int, console: Console) -> Table:
    """A table of all these queries. Raises if an answer is not DuckDB's."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    deltas = made(count, delta)
    oracle = Oracle(deltas)
    title = f"{count:,} events in deltas of {delta:,}; thousands of events a second and core"
    table = Table(title=title, title_justify="left")
    for column in ("query", "rows", "flo", "Feldera", "ratio", "Flink", "ratio", "last delta / median"):
        table.add_column(column, justify="left" if column == "query" else "right")
    flows, missing = programs(names)
    for query, flow in flows.items():
        found = measure(query, flow, deltas, oracle)
        expected = oracle.digest(query)
        assert found.digest == expected, f"{query}: {found.digest}; DuckDB has {expected}"
        rate = count / found.total / 1e3
        beside = [cell for each in PUBLISHED.get(query, ()) for cell in (f"{each:,}", f"{rate / each:.1f}")]
        last = found.seconds[-1] / statistics.median(found.seconds)
        table.add_row(query, f"{expected.rows:,}", f"{rate:,.0f}", *(beside or ["", "", "", ""]), f"{last:.2f}")
        console.print(f"{query}: {rate:,.0f} thousand events a second, as DuckDB")
    for query, reason in missing.items():
        console.print(f"{query} does not run: {reason}")
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nexmark", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000, help="how many events")
    parser.add_argument("--delta", type=int, default=DELTA, help="how many events arrive at once")
    parser.add_argument("--scale", type=float, default=1.0, help="the share of both, such as 0.1")
    parser.add_argument(
        "--query", choices=list(BY_NAME), action="append", help="one query; may be given more than once"
    )
    parser.add_argument("--spark", action="store_true", help="on Spark, beside its own streaming")
    parser.add_argument("--rounds", type=int, default=5, help="how often each query runs on Spark, besides warming up")
    given = parser.parse_args(arguments)
    events, delta = (max(1, int(count * given.scale)) for count in (given.events, given.delta))
    console = Console()
    if not console.is_terminal:
        console.width = 120  # a file
    names = given.query or list(BY_NAME)
    console.print(f"{os.cpu_count()} cores, {os.getloadavg()[0]:.1f} processes at work before; Arrow has one thread")
    if given.spark:
        from benchmarks.nexmark_spark import beside_native

        console.print(beside_native(names, events, delta, given.rounds))
    else:
        console.print(compare(names, events, delta, console))


if __name__ == "__main__":
    main()
