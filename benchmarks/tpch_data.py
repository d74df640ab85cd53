"""The data of `benchmarks.tpch`: files for micro-batches, and the content of the tables after some of them.

Every row has a number between 0 and 1, made of its key. A table holds the rows in a window of these numbers, and a
micro-batch moves the window: half of its changes are inserts and half are deletes. The lines of an order come and go
with it. Nations and regions stay.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tests.sql.tpc import WEIGHT, open_suite, queries_in

KEYS = {
    "lineitem": "l_orderkey",
    "orders": "o_orderkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey",
    "supplier": "s_suppkey",
    "nation": None,
    "region": None,
}
"""For each table, the column that says when a row comes and goes."""
QUERIES = "queries.json"
"""The file with the texts of the queries."""
REPEATS = 3
"""How many micro-batches have the same share."""
FIRST = 0.8
"""The share of the rows that are there before the first change."""


def write_data(scale: float, shares: list[float], folder: Path) -> None:
    """Write `changes/TABLE/NUMBER.parquet` for each micro-batch, and `content/SHARE/TABLE.parquet` after each share."""
    with open_suite("tpch", scale) as database:
        for name, key in KEYS.items():
            _Table(database, name, key, folder).write(shares)
        texts = {f"q{number}": text for number, text in queries_in(database, "tpch").items()}
    (folder / QUERIES).write_text(json.dumps(texts))


@dataclass
class _Table:
    database: duckdb.DuckDBPyConnection
    name: str
    key: str | None
    folder: Path
    low: float = 0.0
    high: float = FIRST

    def write(self, shares: list[float]) -> None:
        self._write_changes(0, self._rows(self.low, self.high, 1))
        for place, share in enumerate(shares):
            for repeat in range(REPEATS):
                moved = FIRST * share / 2 if self.key else 0.0
                inserted = self._rows(self.high, self.high + moved, 1)
                deleted = self._rows(self.low, self.low + moved, -1)
                self._write_changes(1 + place * REPEATS + repeat, f"{inserted} UNION ALL {deleted}")
                self.low, self.high = self.low + moved, self.high + moved
            self._copy(self._rows(self.low, self.high), self.folder / "content" / str(place) / f"{self.name}.parquet")

    def _rows(self, low: float, high: float, weight: int | None = None) -> str:
        """Return a query for the rows in a window, with a weight if there is one."""
        number = f"(hash({self.key}) % 1000000007) / 1000000007.0" if self.key else "0.5"
        more = "" if weight is None else f", {weight}::BIGINT AS {WEIGHT}"
        return f"SELECT *{more} FROM {self.name} WHERE {number} >= {low} AND {number} < {high}"

    def _write_changes(self, version: int, query: str) -> None:
        file = self.folder / "changes" / self.name / f"{version:03}.parquet"
        self._copy(query, file)
        os.utime(file, (version, version))  # Spark takes the oldest file first

    def _copy(self, query: str, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.database.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
