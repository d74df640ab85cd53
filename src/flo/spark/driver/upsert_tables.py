"""Upserts to tables of Delta and Iceberg: one MERGE for each micro-batch, with its version in the same commit."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from flo.core.errors import FloError, TypeMismatch
from flo.spark.driver.keyed_output import KeyedOutput, Upserting, expect_format, identity_of
from flo.spark.driver.sinks import OutputChanges
from flo.spark.session import hold_settings
from flo.spark.tasks.latest_rows import CHANGE, DELETE, INSERT, two_rows_error
from flo.sql.catalyst import quoted

TWICE = re.compile("two rows of the output have the key (.*) in the table")
"""The message that MERGE raises for a declared key that has a row already: the key as JSON."""
EXTENSIONS = ("spark.sql.extensions", "the setting that lets SQL change such tables: see docs/connectors.md")


class MergedTable(Upserting):
    """A table that MERGE can change."""

    holds_source: ClassVar[bool] = False
    """Whether its MERGE holds the rows that it reads more than once."""

    @property
    def name(self) -> str:
        """The table in SQL."""
        return self.target

    def prepare(self, spark: SparkSession, rows: KeyedOutput) -> None:
        expect_format(spark, self.kind)
        columns = ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in rows.spark_schema)
        try:
            spark.sql(f"CREATE TABLE IF NOT EXISTS {self.name} ({columns}) USING {self.kind}")
            found = spark.table(self.name).columns
        except PySparkException as error:
            first = str(error).strip().splitlines()[0]
            raise FloError(
                f"the output `{rows.name}` cannot go to the {self.kind} table {self.target}: {first}",
                instead=(EXTENSIONS,),
            ) from error
        missing = [name for name in rows.schema.names if name not in found]
        if missing:
            raise TypeMismatch(
                f"the {self.kind} table {self.target} has no column `{missing[0]}`, which the output `{rows.name}` has",
                facts=(("its columns", ", ".join(found)),),
            )

    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        if not changes.files or self.has(changes):
            return
        view = f"flo_{uuid4().hex}"
        latest, few = rows.frame(changes), rows.reads_itself(changes)
        if not few and not self.holds_source:
            latest.persist()  # MERGE reads it more than once
        try:
            latest.createOrReplaceTempView(view)
            with hold_settings(changes.spark, self.settings(changes, few)):
                changes.spark.sql(merge_statement(self.name, view, rows))
        except (PySparkException, Py4JJavaError) as error:
            found = TWICE.search(str(error))
            if found is None:
                raise
            key = json.loads(found[1])
            shown = ", ".join(f"{name}={key.get(name)!r}" for name in rows.key)
            raise two_rows_error(rows.name, shown) from error
        finally:
            changes.spark.catalog.dropTempView(view)
            latest.unpersist()

    def has(self, changes: OutputChanges) -> bool:
        """Whether the table has this version already, as far as Flo must ask."""
        return False

    @abstractmethod
    def settings(self, changes: OutputChanges, few: bool) -> Mapping[str, str | None]:
        """The settings of the session by which the version goes into the commit. `few` changes are in this process."""


class DeltaTable(MergedTable):
    """A Delta table, by its name or its path. Delta skips a version that it has committed for the application id."""

    kind = "delta"
    holds_source = True

    @property
    def name(self) -> str:
        return f"delta.{quoted(self.target)}" if "/" in self.target else self.target

    def settings(self, changes: OutputChanges, few: bool) -> Mapping[str, str | None]:
        of = "spark.databricks.delta."
        return {
            f"{of}write.txnAppId": identity_of(changes),
            f"{of}write.txnVersion": str(changes.version),
            f"{of}merge.materializeSource": "none" if few else "auto",
        }


class IcebergTable(MergedTable):
    """An Iceberg table, by its name. Its snapshots have the version as a property."""

    kind = "iceberg"
    session: SparkSession
    """The user's session. Micro-batches run in a copy of it."""

    def prepare(self, spark: SparkSession, rows: KeyedOutput) -> None:
        super().prepare(spark, rows)
        self.session = spark

    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        super().write(changes, rows)
        # each session has a cache of tables, which commits of other sessions do not change
        self.session.catalog.refreshTable(self.name)

    def settings(self, changes: OutputChanges, few: bool) -> Mapping[str, str | None]:
        of = "spark.sql.iceberg.snapshot-property."
        return {f"{of}flo-id": identity_of(changes), f"{of}flo-version": str(changes.version)}

    def has(self, changes: OutputChanges) -> bool:
        summary = sf.col("summary")
        own = changes.spark.table(f"{self.name}.snapshots").where(summary["flo-id"] == identity_of(changes))
        found = own.agg(sf.max(summary["flo-version"].cast("long"))).collect()[0][0]
        return found is not None and found >= changes.version


def merge_statement(table: str, view: str, rows: KeyedOutput) -> str:
    """The statement that replaces, inserts and deletes rows. A declared key that has a row already ends it."""
    change = f"s.{quoted(CHANGE)}"
    columns = [quoted(name) for name in rows.schema.names]
    on = " AND ".join(_equal(rows.schema.field(name)) for name in rows.key) or "TRUE"
    clauses = [
        f"WHEN MATCHED AND {change} = '{DELETE}' THEN DELETE",
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{each} = s.{each}' for each in columns)}",
        f"WHEN NOT MATCHED AND {change} <> '{DELETE}' THEN"
        f" INSERT ({', '.join(columns)}) VALUES ({', '.join(f's.{each}' for each in columns)})",
    ]
    if rows.declared:
        first = rows.spark_schema[0]
        before, after = TWICE.pattern.split("(.*)")
        key = f"to_json(struct({', '.join(f's.{quoted(name)}' for name in rows.key)}))"
        failure = f"CAST(raise_error(concat('{before}', {key}, '{after}')) AS {first.dataType.simpleString()})"
        clauses.insert(0, f"WHEN MATCHED AND {change} = '{INSERT}' THEN UPDATE SET {columns[0]} = {failure}")
    return f"MERGE INTO {table} AS t USING {quoted(view)} AS s ON {on} {' '.join(clauses)}"


def _equal(field: pa.Field) -> str:
    """Whether a column of the key has the same value in the table. Nulls are equal."""
    return f"t.{quoted(field.name)} {'<=>' if field.nullable else '='} s.{quoted(field.name)}"
