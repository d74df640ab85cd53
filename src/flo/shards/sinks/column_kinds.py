"""The columns of an output in databases: their types in each SQL, and their values as they come back.

Arrow               PostgreSQL         SQLite     DuckDB
int64               BIGINT             INTEGER    BIGINT
decimal128(9, 2)    NUMERIC(9, 2)      NUMERIC    DECIMAL(9, 2)
timestamp[us]       TIMESTAMP          TEXT       TIMESTAMP
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

t = pa.types


@dataclass(frozen=True)
class ColumnKind:
    """A kind of columns, and its types in the SQL of each database."""

    holds: Callable[[pa.DataType], bool]
    postgresql: str
    sqlite: str
    duckdb: str


KINDS = {
    "boolean": ColumnKind(t.is_boolean, "BOOLEAN", "INTEGER", "BOOLEAN"),
    "integer": ColumnKind(t.is_signed_integer, "BIGINT", "INTEGER", "BIGINT"),
    "float": ColumnKind(t.is_floating, "DOUBLE PRECISION", "REAL", "DOUBLE"),
    "decimal": ColumnKind(t.is_decimal, "NUMERIC({}, {})", "NUMERIC", "DECIMAL({}, {})"),
    "string": ColumnKind(lambda each: t.is_string(each) or t.is_large_string(each), "TEXT", "TEXT", "VARCHAR"),
    "binary": ColumnKind(lambda each: t.is_binary(each) or t.is_large_binary(each), "BYTEA", "BLOB", "BLOB"),
    "date": ColumnKind(t.is_date, "DATE", "TEXT", "DATE"),
    "timestamp": ColumnKind(lambda each: t.is_timestamp(each) and each.tz is None, "TIMESTAMP", "TEXT", "TIMESTAMP"),
    "instant": ColumnKind(t.is_timestamp, "TIMESTAMPTZ", "TEXT", "TIMESTAMPTZ"),
}
"""The kinds of columns that databases take. The first that holds a type is its kind."""


def kind_of(type: pa.DataType) -> str | None:
    """The kind of a column; None if no database takes it."""
    return next((name for name, kind in KINDS.items() if kind.holds(type)), None)


def read_column(column: pa.ChunkedArray, field: pa.Field, key: tuple[str, ...]) -> pa.ChunkedArray:
    """A column of a table with the type of the output. One whose values do not fit is null, so that it is written."""
    try:
        if t.is_timestamp(field.type) and t.is_string(column.type):  # without a time zone, in SQLite
            return column.cast(pa.timestamp(field.type.unit)).cast(field.type)
        return column.cast(field.type)
    except pa.ArrowInvalid:
        if field.name in key:
            raise
        return pa.chunked_array([pa.nulls(len(column), field.type)])
