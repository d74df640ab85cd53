"""Upserts to a database through ADBC: the rows of a micro-batch and its version in one transaction.

The rows go to a temporary table as Arrow data. The table `flo_versions` has the last version of each checkpoint and
output: a version that is there already is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession

from flo.core.errors import ElementError, FloError, TypeMismatch, UnknownNameError
from flo.spark.driver.keyed_output import KeyedOutput, Upserting, identity_of
from flo.spark.driver.sinks import OutputChanges
from flo.spark.tasks.latest_rows import CHANGE, DELETE, INSERT, two_rows_error

STAGED, VERSIONS = "flo_staged", "flo_versions"
"""The temporary table of a micro-batch, and the table of versions."""
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


class Database(Upserting):
    """A table of a database, which is made if it does not exist. It needs a unique index on the columns of the key."""

    module: ClassVar[str]
    """The module that connects."""
    package: ClassVar[str]
    """What is to be installed for it."""
    as_text: ClassVar[tuple[str, ...]] = ()
    """The kinds of columns that are sent as texts, because the driver does not take them."""

    def prepare(self, spark: SparkSession, rows: KeyedOutput) -> None:
        if not rows.key:
            raise TypeMismatch(
                f"the output `{rows.name}` has one row and no key; a table of {self.kind} needs one",
                instead=((".with_columns(id=nw.lit(0))", 'a key column, for Upsert(…, key="id")'),),
            )
        for field in rows.schema:
            self._type(rows.name, field)
        with self._transaction(rows) as cursor:
            cursor.execute(self._create(rows))
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {VERSIONS}"
                f" (id {self._word('string')} PRIMARY KEY, version {self._word('integer')})"
            )
        with self._transaction(rows, commits=False) as cursor:  # fails if the table does not fit
            self._apply(cursor, rows, rows.latest.of(rows.schema.empty_table()))

    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        if not changes.files:
            return
        latest = rows.table(changes)
        self._expect_no_null_keys(rows, latest)
        with self._transaction(rows) as cursor:
            identity = identity_of(changes).replace("'", "''")
            cursor.execute(
                f"INSERT INTO {VERSIONS} VALUES ('{identity}', {changes.version})"
                f" ON CONFLICT (id) DO UPDATE SET version = excluded.version"
                f" WHERE {VERSIONS}.version < excluded.version RETURNING version"
            )
            if cursor.fetchall():  # otherwise it has this version
                self._apply(cursor, rows, latest)

    def _expect_no_null_keys(self, rows: KeyedOutput, latest: pa.Table) -> None:
        """Raises if a key has a null, which no key of a database may have."""
        for name in rows.key:
            if latest[name].null_count:
                raise ElementError(
                    f"a row of the output `{rows.name}` has null in `{name}`, a key column of a table of {self.kind}",
                    instead=(
                        (f'filter(~nw.col("{name}").is_null())', "before the rows get their key"),
                        (f"WHERE {name} IS NOT NULL", "in a view of SQL"),
                    ),
                )

    def _apply(self, cursor: Any, rows: KeyedOutput, latest: pa.Table) -> None:
        cursor.adbc_ingest(STAGED, self._sent(latest), mode="create", temporary=True)
        key = ", ".join(_quoted(name) for name in rows.key)
        if rows.declared:
            cursor.execute(
                f"SELECT {key} FROM {STAGED} WHERE {CHANGE} = '{INSERT}' AND ({key}) IN (SELECT {key} FROM {self.name})"
            )
            for found in cursor.fetchmany(1):
                shown = ", ".join(f"{name}={value!r}" for name, value in zip(rows.key, found, strict=True))
                raise two_rows_error(rows.name, shown)
        cursor.execute(
            f"DELETE FROM {self.name} WHERE ({key}) IN (SELECT {key} FROM {STAGED} WHERE {CHANGE} = '{DELETE}')"
        )
        columns = ", ".join(_quoted(name) for name in rows.schema.names)
        values = ", ".join(self._read(field) for field in rows.schema)
        new = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in rows.others)
        cursor.execute(
            f"INSERT INTO {self.name} ({columns}) SELECT {values} FROM {STAGED} WHERE {CHANGE} <> '{DELETE}'"
            f" ON CONFLICT ({key}) DO {f'UPDATE SET {new}' if new else 'NOTHING'}"
        )
        cursor.execute(f"DROP TABLE {STAGED}")

    @property
    def name(self) -> str:
        """The table in SQL."""
        return ".".join(_quoted(part) for part in self.target.split("."))

    def _create(self, rows: KeyedOutput) -> str:
        columns = [f"{_quoted(field.name)} {self._type(rows.name, field)}" for field in rows.schema]
        key = ", ".join(_quoted(name) for name in rows.key)
        return f"CREATE TABLE IF NOT EXISTS {self.name} ({', '.join(columns)}, PRIMARY KEY ({key}))"

    def _type(self, output: str, field: pa.Field) -> str:
        kind = kind_of(field.type)
        if kind is None:
            raise TypeMismatch(
                f"the column `{field.name}` of the output `{output}` is {field.type}, which {self.kind} does not take",
                instead=(("select(…)", "plain columns"), ('Upsert("delta", …)', "takes columns of all types")),
            )
        if kind == "decimal":
            return self._word(kind).format(field.type.precision, field.type.scale)
        return self._word(kind)

    def _word(self, kind: str) -> str:
        """The type of a kind of columns in its SQL."""
        word: str = getattr(KINDS[kind], self.kind)
        return word

    def _sent(self, table: pa.Table) -> pa.Table:
        """The rows with columns that the driver takes."""
        for place, field in enumerate(table.schema):
            if kind_of(field.type) in self.as_text:
                table = table.set_column(place, field.name, table[field.name].cast(pa.string()))
        return table

    def _read(self, field: pa.Field) -> str:
        """A column of the temporary table, in the type of the table."""
        name = _quoted(field.name)
        return f"CAST({name} AS {self._type('', field)})" if kind_of(field.type) in self.as_text else name

    @contextmanager
    def _transaction(self, rows: KeyedOutput, commits: bool = True) -> Iterator[Any]:
        """A cursor whose statements take effect together, at the end."""
        try:
            connect = import_module(self.module).connect
        except ImportError as error:
            raise FloError(
                f'Upsert("{self.kind}", …) needs a driver that is not installed: {error}',
                instead=((f"pip install 'flo-streams[{self.kind}]'", f"installs {self.package}"),),
            ) from None
        if "uri" not in self.options:
            raise UnknownNameError(
                f'the options of Upsert("{self.kind}", …) for the output `{rows.name}` have no `uri`',
                instead=((f'Upsert("{self.kind}", "{self.target}", {{"uri": "…"}})', "says where the database is"),),
            )
        connection = connect(self.options["uri"])
        try:
            with connection.cursor() as cursor:
                yield cursor
            connection.commit() if commits else connection.rollback()
        except FloError:
            raise
        except Exception as error:
            error.add_note(f"raised by {self.kind}, for the table {self.target} of the output `{rows.name}`")
            raise
        finally:
            connection.close()  # what is not committed is rolled back


class PostgreSQL(Database):
    """A table of PostgreSQL 11 or newer."""

    kind = "postgresql"
    module, package = "adbc_driver_postgresql.dbapi", "adbc-driver-postgresql"
    as_text = ("decimal",)


class SQLite(Database):
    """A table of SQLite, which has times as texts and NaN as null."""

    kind = "sqlite"
    module, package = "adbc_driver_sqlite.dbapi", "adbc-driver-sqlite"
    as_text = ("decimal",)


class DuckDB(Database):
    """A table of DuckDB."""

    kind = "duckdb"
    module, package = "adbc_driver_duckdb.dbapi", "duckdb, which has the driver, and adbc-driver-manager"


def _quoted(name: str) -> str:
    """A name in the SQL of these databases, whatever its characters are."""
    return '"' + name.replace('"', '""') + '"'


def kind_of(type: pa.DataType) -> str | None:
    """The kind of a column; None if no database takes it."""
    return next((name for name, kind in KINDS.items() if kind.holds(type)), None)
