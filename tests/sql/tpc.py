"""TPC-H and TPC-DS for tests: tables and queries from DuckDB, and micro-batches that change every table.

No query is copied into this repository. TPC-DS is translated to Spark's dialect where Spark does not read DuckDB's.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from duckdb_extensions import import_extension
from pyspark.errors import AnalysisException, ParseException

WEIGHT = "_weight"
KEYS = {"lineitem": {"l_orderkey", "l_linenumber"}, "partsupp": {"ps_partkey", "ps_suppkey"}}
"""Primary keys of TPC-H that are not the first column."""


@dataclass(frozen=True)
class Suite:
    """A benchmark: its tables with all rows, and its queries by number in DuckDB's dialect."""

    name: str
    tables: dict[str, pa.Table]
    queries: dict[int, str]
    keeps: Callable[[str, pa.Field, int], bool]
    """Whether an update keeps a column: of a table, its field and its position."""

    def tables_in(self, text: str) -> list[str]:
        return tables_in(text, self.tables)


def tables_in(text: str, names: Iterable[str]) -> list[str]:
    """Return which of these tables a query reads."""
    read = {table.name for table in sqlglot.parse_one(text, read="spark").find_all(sqlglot.exp.Table)}
    return [name for name in names if name in read]


@lru_cache
def tpch(scale: float) -> Suite:
    return Suite("TPC-H", *_made("tpch", scale), _keeps_key)


@lru_cache
def tpcds(scale: float) -> Suite:
    """Return TPC-DS. DuckDB does not return from scales that are much smaller than 0.01."""
    assert scale >= 0.01, "dsdgen does not end"
    return Suite("TPC-DS", *_made("tpcds", scale), _keeps_identity)


@contextmanager
def open_suite(extension: str, scale: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a database with the tables of `tpch` or `tpcds`."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config={"extension_directory": folder}) as database:
        import_extension(extension, con=database)
        generator = {"tpch": "dbgen", "tpcds": "dsdgen"}[extension]
        database.execute(f"LOAD {extension}; CALL {generator}(sf={scale})")
        yield database


def queries_in(database: duckdb.DuckDBPyConnection, extension: str) -> dict[int, str]:
    return dict(sorted(database.execute(f"SELECT query_nr, query FROM {extension}_queries()").fetchall()))


def _made(extension: str, scale: float) -> tuple[dict[str, pa.Table], dict[int, str]]:
    with open_suite(extension, scale) as database:
        names = sorted(name for (name,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall())
        tables = {name: database.execute(f"SELECT * FROM {name}").to_arrow_table() for name in names}
        return tables, queries_in(database, extension)


def _keeps_key(table: str, field: pa.Field, position: int) -> bool:
    return field.name in KEYS[table] if table in KEYS else position == 0


def _keeps_identity(table: str, field: pa.Field, position: int) -> bool:
    """Return whether a column says what a row is: scalar subqueries on dates must have one row."""
    kind = field.type
    if table in ("date_dim", "time_dim"):
        return not pa.types.is_string(kind) or field.name.endswith("_id")
    return position == 0 or field.name.endswith(("_id", "_item_sk", "_number"))


# Queries


def spark_text(spark: Any, text: str) -> str:
    """Return a query in Spark's dialect, with one right answer and columns of different names.

    Rows that are equal in the order of the last LIMIT are ordered by all columns. Spark would choose any of them. The
    session must have views of the tables.
    """
    text = text.strip().rstrip(";")
    try:
        columns = spark.sql(text).columns
    except (ParseException, AnalysisException):
        (text,) = sqlglot.transpile(text, read="duckdb", write="spark")
        columns = spark.sql(text).columns
    limit = re.search(r"\blimit\s+\d+\s*$", text, re.IGNORECASE)
    if limit:
        positions = ", ".join(str(place) for place in range(1, len(columns) + 1))
        before = text[: limit.start()].rstrip()
        order = re.split(r"\border\s+by\b", before, flags=re.IGNORECASE)[-1]
        has_order = order != before and order.count("(") == order.count(")")  # otherwise it is that of a subquery
        text = f"{before}{', ' if has_order else ' ORDER BY '}{positions} {limit.group()}"
    if len(set(columns)) < len(columns):
        names = [name if columns.count(name) == 1 else f"{name}_{place}" for place, name in enumerate(columns)]
        text = f"SELECT * FROM ({text}) AS t({', '.join(f'`{name}`' for name in names)})"
    return text


# Micro-batches


@dataclass(frozen=True)
class MicroBatch:
    """The changes of every table, with weights, and its content afterwards."""

    changes: dict[str, pa.Table]
    content: dict[str, pa.Table]


def micro_batches(
    suite: Suite, count: int, *, seed: int = 1, first: float = 0.9, share: float = 0.02
) -> list[MicroBatch]:
    """Return micro-batches that insert, delete and update rows of every table.

    The first inserts a part of each table. Every later one inserts, deletes and updates `share` of each table, and at
    least one row. An update retracts a row and inserts one with the same key, and with some values of another row.
    """
    changing = {
        name: _changes(suite, name, count, np.random.default_rng([seed, place]), first, share)
        for place, name in enumerate(suite.tables)
    }
    found = []
    for _ in range(count):
        both = {name: next(each) for name, each in changing.items()}
        found.append(MicroBatch({n: one for n, (one, _) in both.items()}, {n: all_ for n, (_, all_) in both.items()}))
    return found


def _changes(
    suite: Suite, name: str, count: int, rng: np.random.Generator, first: float, share: float
) -> Iterator[tuple[pa.Table, pa.Table]]:
    versions = suite.tables[name]  # every version that a row has had
    rows = versions.num_rows
    absent = rng.permutation(rows)
    held = np.empty(0, np.int64)
    for number in range(count):
        size = max(1, round(rows * share))
        inserted, absent = np.split(absent, [round(rows * first) if number == 0 else size])
        left, deleted, replaced = _drawn(rng, held, size if number else 0)
        donors = rng.integers(0, rows, len(replaced))
        changed = _mixed(suite, name, versions.take(replaced), versions.take(donors), rng)
        updated = np.arange(versions.num_rows, versions.num_rows + len(replaced))
        versions = pa.concat_tables([versions, changed])
        plus, minus = np.concatenate([inserted, updated]), np.concatenate([deleted, replaced])
        weights = np.repeat([1, -1], [len(plus), len(minus)])
        order = rng.permutation(len(weights))
        delta = versions.take(np.concatenate([plus, minus])[order])
        held, absent = np.concatenate([left, plus]), np.concatenate([absent, deleted])
        yield delta.append_column(WEIGHT, pa.array(weights[order], pa.int64())), versions.take(held)


def _drawn(rng: np.random.Generator, held: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows that stay, those to delete and those to update. A few rows always stay."""
    size = min(size, len(held) // 3)
    shuffled = rng.permutation(held)
    return shuffled[2 * size :], shuffled[:size], shuffled[size : 2 * size]


def _mixed(suite: Suite, name: str, rows: pa.Table, donors: pa.Table, rng: np.random.Generator) -> pa.Table:
    columns = []
    for place, field in enumerate(rows.schema):
        mask = rng.random(rows.num_rows) < (0 if suite.keeps(name, field, place) else 0.4)
        columns.append(pc.if_else(pa.array(mask), donors.column(place), rows.column(place)))
    return pa.table(columns, rows.schema)
