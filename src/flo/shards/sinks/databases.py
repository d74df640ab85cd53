"""Upserts to a database through ADBC: the rows of a micro-batch and its version in one transaction.

    flo_staged (temporary)         sums               flo_versions
    shop  sum  _change             shop  sum          id             version  digest
    a     12   update              a     12           <id> sums      7        5e1f…
    b     3    delete

1. The latest row of each key goes to a temporary table, as Arrow data.
2. Keys with the change `delete` are deleted, and the others inserted or replaced.
3. The version and the digest of its changes are recorded for this checkpoint and output.

Invariant: a table has all changes of a version and its record, or neither. A version that comes again is skipped, or
corrected if its changes are others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from flo.core.errors import ElementError, FloError, TypeMismatch, UnknownNameError, UnreachableError, brief
from flo.shards.checkpoint.column_fit import widens
from flo.shards.sinks.column_kinds import KINDS, kind_of, read_column
from flo.shards.sinks.keyed_output import KeyedOutput, Upserting, identity_of, is_of_other_output, missing_changes
from flo.shards.sinks.open_files import is_open_elsewhere, note_closed
from flo.shards.sinks.output_changes import Held, OutputChanges, loose_schema
from flo.shards.sinks.unfit_rows import UnfitRows, find_unfit
from flo.shards.sinks.version_records import RECORD, VERSIONS, Cursor, Record, sql_text
from flo.shards.tasks.latest_rows import CHANGE, DELETE, INSERT, two_rows_error
from flo.tables.io.diverted import INSTEAD, Diverted

STAGED, WANTED = "flo_staged", "flo_wanted"
"""The temporary tables of a micro-batch and of the columns of an output."""


class Statement(NamedTuple):
    """A statement that changes a column of a table."""

    text: str
    column: str
    loses: bool = False
    """Whether it loses the values that the column has."""


class Database(Upserting):
    """A table of a database. If it does not exist, it is created. It needs a unique index on the columns of the key."""

    module: ClassVar[str]
    """The module that connects."""
    package: ClassVar[str]
    """The packages to install for it."""
    as_text: ClassVar[tuple[str, ...]] = ()
    """The kinds of columns that are sent as texts, because the driver does not take them."""
    selected_as: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The kinds of columns that are read as another type, because the driver does not know theirs."""
    describe: ClassVar[str]
    """The query for the columns of a table and their types."""
    alters_types: ClassVar[bool] = True
    """Whether a column can get another type, with its values."""

    def expect_fit(self, session: Any, rows: KeyedOutput) -> None:
        if not rows.key:
            raise TypeMismatch(
                f"the output `{rows.name}` has one row and no key; a table of {self.kind} needs one",
                instead=((".with_columns(id=nw.lit(0))", 'a key column, for Upsert(…, key="id")'),),
            )
        for field in rows.schema:
            self._type(rows.name, field)
        self._expect_connector(rows)

    def held(self, identity: str, rows: KeyedOutput) -> Held | None:
        if not self._has_table(rows, VERSIONS) or not self._has_table(rows, self.name):
            return None
        with self._transaction(rows) as cursor:
            cursor.execute(f"SELECT * FROM {VERSIONS} WHERE id = {sql_text(identity)}")
            record = Record.read(cursor)
            cursor.execute(f"SELECT count(*) FROM (SELECT 1 FROM {self.name} LIMIT 1) AS first_row")
            is_empty = cursor.fetchall()[0][0] == 0
        is_other = record.target not in (None, self.target) or (record.rows > 0 and is_empty)
        return None if is_other else record.held

    def find_other_output(self, identity: str, rows: KeyedOutput) -> str | None:
        if not self._has_table(rows, VERSIONS):
            return None
        with self._transaction(rows) as cursor:
            cursor.execute(f"SELECT * FROM {VERSIONS}")
            records: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
        others = [each["id"] for each in records if each.get("target") == self.target]
        held = (each for each in others if is_of_other_output(identity, each) and self.held(each, rows) is not None)
        return next(held, None)

    def prepare(self, session: Any, rows: KeyedOutput, identity: str = "") -> None:
        self.expect_fit(session, rows)
        with self._transaction(rows) as cursor:
            cursor.execute(self._create(rows))
            id_column = f"id {self._word('string')} PRIMARY KEY"
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {VERSIONS} ({id_column}, version {self._word('integer')})")
            cursor.execute(f"SELECT * FROM {VERSIONS} WHERE version < -1")
            known = {column[0] for column in cursor.description}
            cursor.fetchall()
            for name, kind in RECORD.items():  # which earlier versions of Flo did not have
                if name not in known:
                    cursor.execute(f"ALTER TABLE {VERSIONS} ADD COLUMN {name} {self._word(kind)}")
        try:
            with self._transaction(rows, commits=False) as cursor:
                for each in [] if rows.changed is None else self._statements_to_evolve(cursor, rows):
                    cursor.execute(each.text)
                self._apply(cursor, rows, rows.latest.of(rows.schema.empty_table()))
        except FloError:
            raise
        except Exception as error:
            raise TypeMismatch(
                f"the table {self.target} of {self.kind} cannot take the rows of the output `{rows.name}`",
                facts=(
                    (self.kind, without_secrets(str(error), str(self.options["uri"]))),
                    ("columns", ", ".join(rows.schema.names)),
                    ("key", f"{', '.join(rows.key)}: the table needs a unique index on it"),
                ),
                instead=(("another table", "is made with these columns, and gets all rows"),),
            ) from error

    def read(self, rows: KeyedOutput) -> pa.Table | None:
        if not self._has_table(rows, self.name):
            return None
        with self._transaction(rows, commits=False) as cursor:
            types = self._types(cursor, self.name)
            replaced = {each.column for each in self._statements_to_evolve(cursor, rows) if each.loses}
            there = [each for each in rows.schema if each.name in types.keys() - replaced]
            cursor.execute(f"SELECT {', '.join(map(self._selected, there))} FROM {self.name}")
            table = cursor.fetch_arrow_table()
        columns = {each.name: read_column(table.column(place), each, rows.key) for place, each in enumerate(there)}
        every = [columns.get(each.name, pa.nulls(table.num_rows, each.type)) for each in rows.schema]
        return pa.table(every, loose_schema(rows.schema))

    def _evolve(self, rows: KeyedOutput, identity: str) -> None:
        """Gives the table the columns of the output. DuckDB cannot alter a table and write to it in one transaction."""
        with self._transaction(rows, commits=False) as cursor:
            every = self._statements_to_evolve(cursor, rows)
        statements = [each.text for each in every]
        if any(each.loses for each in every):  # until it is done, the program before must not go on
            own = f"target = {sql_text(self.target)} OR (target IS NULL AND id = {sql_text(identity)})"
            statements.insert(0, f"UPDATE {VERSIONS} SET digest = 'other columns' WHERE {own}")
        for each in statements:
            with self._transaction(rows) as cursor:
                cursor.execute(each)

    def _statements_to_evolve(self, cursor: Cursor, rows: KeyedOutput) -> list[Statement]:
        """What gives the table the columns of the output. One that the output does not have any more becomes null."""
        if rows.changed is None:
            return []
        types, wanted = self._types(cursor, self.name), self._wanted_types(cursor, rows)
        statements, table = list[Statement](), f"ALTER TABLE {self.name}"
        for field in rows.schema:
            name, kind = _quoted(field.name), self._type(rows.name, field)
            is_there = field.name in types
            if is_there and rows.changed.has_other_type(field.name) and types[field.name] != wanted[field.name]:
                before = rows.changed.retyped.get(field.name)
                if self.alters_types and before is not None and widens(before, field.type):
                    statements.append(Statement(f"{table} ALTER COLUMN {name} TYPE {kind}", field.name))
                elif field.name in rows.key:
                    raise TypeMismatch(
                        f"the key column `{field.name}` of the output `{rows.name}` has another type than in the table"
                        f" {self.target} of {self.kind}",
                        facts=(("in the table", types[field.name]), ("in the output", wanted[field.name])),
                        instead=((f'Upsert("{self.kind}", …)', "another table, which gets all rows"),),
                    )
                else:
                    statements.append(Statement(f"{table} DROP COLUMN {name}", field.name, loses=True))
                    is_there = False
            if not is_there:
                statements.append(Statement(f"{table} ADD COLUMN {name} {kind}", field.name))
        for each in sorted(rows.changed.removed.intersection(types)):
            text = f"UPDATE {self.name} SET {_quoted(each)} = NULL WHERE {_quoted(each)} IS NOT NULL"
            statements.append(Statement(text, each, loses=True))
        return statements

    def _wanted_types(self, cursor: Cursor, rows: KeyedOutput) -> dict[str, str]:
        """The types that the columns of the output have in a table, in the words of the database."""
        columns = ", ".join(f"{_quoted(field.name)} {self._type(rows.name, field)}" for field in rows.schema)
        cursor.execute(f"CREATE TEMPORARY TABLE {WANTED} ({columns})")
        types = self._types(cursor, WANTED)
        cursor.execute(f"DROP TABLE {WANTED}")
        return types

    def _types(self, cursor: Cursor, table: str) -> dict[str, str]:
        """The columns of a table, and their types."""
        cursor.execute(
            self.describe.format(table=table, text=sql_text(table), last=sql_text(table.split(".")[-1].strip('"')))
        )
        return {row[0]: row[1] for row in cursor.fetchall()}

    def _selected(self, field: pa.Field) -> str:
        """A column of the table, as the driver gives it in a type that is known."""
        name, kind = _quoted(field.name), str(kind_of(field.type))
        return f"CAST({name} AS {self.selected_as[kind]})" if kind in self.selected_as else name

    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        if not changes.digest and not changes.earlier and not changes.reconciles:
            return
        if changes.reconciles and rows.changed is not None:
            self._evolve(rows, _identity(changes))
        latest = self._with_keys(rows, rows.table(changes), changes.unfit)
        try:
            record = self._write(changes, rows, latest)
        except FloError:
            raise
        except Exception as error:
            with self._transaction(rows) as cursor:
                missing = missing_changes(changes, Record.lock(cursor, _identity(changes), self.target).held)
            latest_missing = latest if missing is None else self._latest(missing, changes, rows, latest)
            unfit = find_unfit(rows, latest_missing, lambda part: self._try(rows, part))
            if unfit is None or unfit.fitting.equals(latest_missing):
                raise
            if unfit.rows and changes.unfit is None:  # of a row that is deleted, only the key must fit
                raise self._unfit_error(rows, unfit) from error
            record = self._write(changes, rows, latest, unfit)
        if record.unfit and changes.unfit is not None:  # it may have them since an attempt that was not committed
            unfit = find_unfit(rows, latest, lambda part: self._try(rows, part)) or UnfitRows()
            for row, reason, columns in zip(unfit.rows, unfit.reasons, unfit.columns, strict=True):
                what = f"the value of {columns}" if columns else "the row"
                changes.unfit.append(Diverted(row, f"{self.kind} cannot hold {what}: {reason}"))

    def _write(
        self, changes: OutputChanges, rows: KeyedOutput, latest: pa.Table, unfit: UnfitRows | None = None
    ) -> Record:
        """Writes what the table lacks, and the record of it, in one transaction."""
        with self._transaction(rows) as cursor:
            record = Record.lock(cursor, _identity(changes), self.target)
            missing = missing_changes(changes, record.held)
            if missing is None:
                return record
            written = self._latest(missing, changes, rows, latest) if unfit is None else unfit.fitting
            self._apply(cursor, rows, written)
            kinds = Counter({each["values"]: each["counts"] for each in written[CHANGE].value_counts().to_pylist()})
            held = Held(changes.version, changes.digest, rows.key)
            count = max(0, record.rows + kinds[INSERT] - kinds[DELETE])
            if changes.reconciles:
                cursor.execute(f"SELECT count(*) FROM {self.name}")
                count = cursor.fetchall()[0][0]
            if changes.alone:  # another checkpoint must not go on with this table
                others = f"target = {sql_text(self.target)} AND id <> {sql_text(_identity(changes))}"
                cursor.execute(f"DELETE FROM {VERSIONS} WHERE {others}")
            record = Record(held, self.target, count, 0 if unfit is None else len(unfit.rows))
            record.write(cursor, _identity(changes))
            return record

    def _latest(self, missing: OutputChanges, changes: OutputChanges, rows: KeyedOutput, latest: pa.Table) -> pa.Table:
        """The rows of what is missing; `latest` are those of all changes."""
        return latest if missing is changes else self._with_keys(rows, rows.table(missing), [])

    def _try(self, rows: KeyedOutput, latest: pa.Table) -> str | None:
        """Writes rows and takes them back; returns why that fails, if it does."""
        try:
            with self._transaction(rows, commits=False) as cursor:
                self._apply(cursor, rows, latest)
        except UnreachableError:  # which is not the fault of a row
            raise
        except Exception as error:
            return str(error).strip().splitlines()[0]
        return None

    def _unfit_error(self, rows: KeyedOutput, unfit: UnfitRows) -> ElementError:
        """The error for a row that the table cannot hold, where rows are not diverted."""
        facts = (("row", brief(unfit.rows[0], 500)), ("column", unfit.columns[0]), (self.kind, unfit.reasons[0]))
        return ElementError(
            f"a row of the output `{rows.name}` cannot go to the table {self.target} of {self.kind}",
            facts=tuple((label, text) for label, text in facts if text),
            instead=(("filter(…), or another column type", "keeps such rows out"), *INSTEAD),
        )

    def _with_keys(self, rows: KeyedOutput, latest: pa.Table, unfit: list[Diverted] | None) -> pa.Table:
        """The rows whose keys have no null, as a database requires. The others are diverted, or an error."""
        for name in rows.key:
            if not latest[name].null_count:
                continue
            if unfit is None:
                raise ElementError(
                    f"a row of the output `{rows.name}` has null in `{name}`, a key column of a table of {self.kind}",
                    instead=(
                        (f'filter(~nw.col("{name}").is_null())', "before the rows get their key"),
                        (f"WHERE {name} IS NOT NULL", "in a view of SQL"),
                        *INSTEAD,
                    ),
                )
            for row in latest.filter(latest[name].is_null()).to_pylist():
                if row.pop(CHANGE) != DELETE:
                    unfit.append(Diverted(row, f"{self.kind} cannot hold the row: its key column `{name}` is null"))
            latest = latest.filter(latest[name].is_valid())
        return latest

    def _apply(self, cursor: Cursor, rows: KeyedOutput, latest: pa.Table) -> None:
        """Deletes, inserts and replaces rows by their keys. Raises if a declared key has a second row."""
        cursor.adbc_ingest(STAGED, self._sent(latest), mode="create", temporary=True)
        key = ", ".join(_quoted(name) for name in rows.key)
        if rows.declared:
            cursor.execute(
                f"SELECT {key} FROM {STAGED} WHERE {CHANGE} = '{INSERT}' AND ({key}) IN (SELECT {key} FROM {self.name})"
            )
            for values in cursor.fetchmany(1):
                text = ", ".join(f"{name}={value!r}" for name, value in zip(rows.key, values, strict=True))
                raise two_rows_error(rows.name, text)
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
        """The statement that creates the table."""
        columns = [f"{_quoted(field.name)} {self._type(rows.name, field)}" for field in rows.schema]
        key = ", ".join(_quoted(name) for name in rows.key)
        return f"CREATE TABLE IF NOT EXISTS {self.name} ({', '.join(columns)}, PRIMARY KEY ({key}))"

    def _type(self, output: str, field: pa.Field) -> str:
        """The type of a column in its SQL. Raises if no type holds it."""
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

    def _has_table(self, rows: KeyedOutput, name: str) -> bool:
        """Whether a table exists."""
        try:
            with self._transaction(rows, commits=False) as cursor:
                cursor.execute(f"SELECT 1 FROM {name} WHERE 1 = 0")
                cursor.fetchall()
        except FloError:
            raise
        except Exception:
            return False
        return True

    def _expect_connector(self, rows: KeyedOutput) -> Any:
        """The function that connects. Raises if it is not installed, or if there is no address."""
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
        return connect

    @contextmanager
    def _transaction(self, rows: KeyedOutput, commits: bool = True) -> Iterator[Cursor]:
        """A cursor whose statements take effect together, at the end."""
        try:
            connection = self._expect_connector(rows)(self.options["uri"])
        except FloError:
            raise
        except Exception as error:
            why = without_secrets(str(error), str(self.options["uri"]))
            raise UnreachableError(f"the output `{rows.name}` cannot reach the {self.kind} database: {why}") from None
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
    selected_as = MappingProxyType({"decimal": "TEXT"})
    describe = (
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = {text}::regclass AND attnum > 0 AND NOT attisdropped"
    )


class SQLite(Database):
    """A table of SQLite, which has times as texts, NaN as null, and decimals with a fraction as floats."""

    kind = "sqlite"
    module, package = "adbc_driver_sqlite.dbapi", "adbc-driver-sqlite"
    as_text = ("decimal",)
    describe = "SELECT name, type FROM pragma_table_info({last})"
    alters_types = False
    selected_as = MappingProxyType(
        {
            **dict.fromkeys(("string", "decimal", "date", "timestamp", "instant"), "TEXT"),
            **dict.fromkeys(("boolean", "integer"), "INTEGER"),
            "float": "REAL",
        }
    )  # the driver guesses the type of a column from its values

    def _sent(self, table: pa.Table) -> pa.Table:
        for field in table.schema:
            if pa.types.is_decimal(field.type) and field.type.scale == 0:
                try:
                    table[field.name].cast(pa.int64())
                except pa.ArrowInvalid:  # SQLite would make it a float
                    raise ValueError("an integer of more than 64 bits") from None
        return super()._sent(table)


class DuckDB(Database):
    """A table of DuckDB."""

    kind = "duckdb"
    module, package = "adbc_driver_duckdb.dbapi", "duckdb, which has the driver, and adbc-driver-manager"
    describe = "DESCRIBE {table}"

    def _expect_connector(self, rows: KeyedOutput) -> Any:
        connect = super()._expect_connector(rows)
        if is_open_elsewhere(str(self.options["uri"])):
            raise UnreachableError(
                f"the output `{rows.name}` cannot write to the file of DuckDB: this process has it open already",
                facts=(("file", str(self.options["uri"])),),
                instead=(("connection.close()", "DuckDB's own connection to it, before rows are pushed"),),
            )
        return connect

    @contextmanager
    def _transaction(self, rows: KeyedOutput, commits: bool = True) -> Iterator[Cursor]:
        connected = False
        try:
            with super()._transaction(rows, commits) as cursor:
                connected = True
                yield cursor
        finally:
            if connected:
                note_closed(str(self.options["uri"]))


def _identity(changes: OutputChanges) -> str:
    return identity_of(changes.checkpoint, changes.output)


def without_secrets(message: str, uri: str) -> str:
    """The first line of a message, without the address and the password in it."""
    quoted = r"password\s*=\s*'([^']*)'"
    patterns = (r"://[^:/@]*:([^@]*)@", quoted, r"password\s*=\s*([^'&\s][^&\s]*)")
    passwords = [each for pattern in patterns for each in re.findall(pattern, uri)]
    for secret in filter(None, [uri, *passwords, *map(unquote, passwords)]):
        message = message.replace(secret, "…")
    return message.strip().splitlines()[0] if message.strip() else "no reason is known"


def _quoted(name: str) -> str:
    """A name in the SQL of these databases, whatever its characters are."""
    return '"' + name.replace('"', '""') + '"'
