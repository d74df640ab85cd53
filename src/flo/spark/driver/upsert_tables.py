"""Upserts to tables of Delta and Iceberg: one MERGE for each micro-batch, with its version in the same commit."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegerType, LongType

from flo.core.errors import FloError, TypeMismatch, UnknownNameError, brief
from flo.shards.sinks.keyed_output import KeyedOutput, Upserting, identity_of, is_of_other_output, missing_changes
from flo.shards.sinks.output_changes import Held, OutputChanges
from flo.shards.tasks.latest_rows import CHANGE, DELETE, INSERT, two_rows_error
from flo.spark.driver.delta_history import USER_METADATA, held_by_delta, metadata_of
from flo.spark.driver.spark_changes import SparkChanges, expect_format, frame_of_latest, reads_itself, spark_schema_of
from flo.spark.driver.table_columns import evolve_table, read_table, rewritten, widens_on_spark
from flo.spark.session import hold_settings
from flo.sql.catalyst import quoted

TWICE = re.compile("two rows of the output have the key (.*) in the table")
"""The message that MERGE raises for a declared key that has a row already: the key as JSON."""
MARK = "flo."
"""The prefix of the property of a table that an output of a checkpoint goes to. Commits may be forgotten."""
OWN, TAKEN_OVER = "yes", "no"
"""The values of the property: the table has rows of the output, or another one of the checkpoint has taken it."""
WIDENED_BY_ICEBERG = ((IntegerType, LongType), (FloatType, DoubleType))
NAME = ("target", "must be the name of a table that the catalogs of the session can make or have")
EXTENSIONS = ("spark.sql.extensions", "the setting that lets SQL change such tables: see docs/connectors.md")


class MergedTable(Upserting):
    """A table that MERGE can change."""

    _last: dict[str, Held]
    """What the table holds of each output, as far as it was read or written."""
    in_doubt: bool = False
    """Whether a write has raised, so that the table may have it or not."""
    holds_source: ClassVar[bool] = False
    """Whether its MERGE holds the rows that it reads more than once."""

    def __init__(self, target: str, options: dict[str, Any]) -> None:
        super().__init__(target, options)
        self._last = {}

    @property
    def name(self) -> str:
        """The table in SQL."""
        return self.target

    def expect_fit(self, spark: SparkSession, rows: KeyedOutput) -> None:
        expect_format(spark, self.kind)
        parser = spark._jsparkSession.sessionState().sqlParser()
        try:
            parser.parseMultipartIdentifier(self.name)
        except (PySparkException, Py4JJavaError):
            raise UnknownNameError(
                f"`target` of Upsert for the output `{rows.name}` must be the name of a {self.kind} table;"
                f" got {brief(self.target)}",
                instead=(("`…`", "around each part of the name that has other characters than letters, digits and _"),),
            ) from None

    def held(self, identity: str, rows: KeyedOutput) -> Held | None:
        self._last.pop(identity, None)
        marks = self._marks()
        if marks is None or marks.get(identity) == TAKEN_OVER:
            return None
        held = self.find_held(self.spark, identity, owners_beside(identity, marks))
        if held is None or (held.version is None and identity not in marks):
            return None  # another output has taken it over, or it is another table of the name
        self._last[identity] = held
        return held

    def find_other_output(self, identity: str, rows: KeyedOutput) -> str | None:
        records = ((each, self.find_held(self.spark, each)) for each in owners_beside(identity, self._marks() or {}))
        return next((each for each, held in records if held is not None and held.version is not None), None)

    def _marks(self) -> dict[str, str] | None:
        """The marks of outputs, by their identities; None if there is no such table."""
        try:
            self.spark.table(self.name)
            properties = self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        except PySparkException:
            return None
        return {row.key.removeprefix(MARK): row.value for row in properties if row.key.startswith(MARK)}

    def _mark(self, spark: SparkSession, identity: str, mark: str) -> None:
        spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({sql_text(f'{MARK}{identity}')} = '{mark}')")

    @abstractmethod
    def find_held(self, spark: SparkSession, identity: str, others: Sequence[str] = ()) -> Held | None:
        """What the table holds, by the commit that wrote it; None if one of the `others` has written since. The version
        is None if there is no such commit."""

    def prepare(self, spark: SparkSession, rows: KeyedOutput, identity: str = "") -> None:
        self.spark = spark
        columns = ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in spark_schema_of(rows))
        try:
            spark.sql(f"CREATE TABLE IF NOT EXISTS {self.name} ({columns}) USING {self.kind}")
            existing = spark.table(self.name).columns
            if identity and identity not in (self._marks() or {}):
                self._mark(spark, identity, OWN)
        except PySparkException as error:
            first = str(error).strip().splitlines()[0]
            extended = self.kind in (spark.conf.get("spark.sql.extensions", None) or "").lower()
            raise FloError(
                f"the output `{rows.name}` cannot go to the {self.kind} table {self.target}: {first}",
                instead=(NAME if extended else EXTENSIONS,),
            ) from error
        missing = [name for name in rows.schema.names if name not in existing]
        if missing and rows.changed is None:
            raise TypeMismatch(
                f"the {self.kind} table {self.target} has no column `{missing[0]}`, which the output `{rows.name}` has",
                facts=(("its columns", ", ".join(existing)),),
            )

    def read(self, rows: KeyedOutput) -> pa.Table | None:
        try:
            frame = self.spark.table(self.name)
        except PySparkException:
            return None
        return read_table(frame, rows, self.alters)

    def alters(self, before: DataType, now: DataType) -> bool:
        """Whether a column can get another type, with its values."""
        return widens_on_spark(before, now)

    def evolve(self, spark: SparkSession, rows: KeyedOutput) -> None:
        """Gives the table the columns of the output."""
        for statement in evolve_table(spark, self.name, rows, self.alters):
            spark.sql(statement)

    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        identity = identity_of(changes.checkpoint, changes.output)
        if self.in_doubt:
            self.held(identity, rows)
            self.in_doubt = False
        missing = missing_changes(changes, self._last.get(identity))
        if missing is None:
            return
        assert isinstance(missing, SparkChanges)
        held = Held(changes.version, changes.digest, rows.key)
        if changes.reconciles and (self._marks() or {}).get(identity) == TAKEN_OVER:
            self._mark(missing.spark, identity, OWN)  # its commits count, also if the query ends before all are done
        if changes.reconciles and rows.changed is not None:
            # until it is done, the program before must not go on
            half = Held(changes.version, "other columns", rows.key)
            with hold_settings(missing.spark, self.settings(identity, half, few=False)):
                self.evolve(missing.spark, rows)
        if changes.digest:
            self.in_doubt = True
            self._merge(missing, rows, self.settings(identity, held, reads_itself(missing)))
            self._last[identity], self.in_doubt = held, False
        if changes.reconciles and changes.alone:  # from here on it has no rows of other outputs
            self._take_over(missing.spark, identity)

    def _take_over(self, spark: SparkSession, identity: str) -> None:
        """Marks the table as that of one output alone."""
        marks = self._marks() or {}
        for other in [each for each in marks if is_of_other_output(identity, each)]:
            self._mark(spark, other, TAKEN_OVER)
        if marks.get(identity) != OWN:
            self._mark(spark, identity, OWN)

    def _merge(self, changes: SparkChanges, rows: KeyedOutput, settings: Mapping[str, str | None]) -> None:
        view = f"flo_{uuid4().hex}"
        latest, few = frame_of_latest(rows, changes), reads_itself(changes)
        if not few and not self.holds_source:
            latest.persist()  # MERGE reads it more than once
        try:
            latest.createOrReplaceTempView(view)
            with hold_settings(changes.spark, settings):
                changes.spark.sql(merge_statement(self.name, view, rows))
        except (PySparkException, Py4JJavaError) as error:
            match = TWICE.search(str(error))
            if match is None:
                raise
            key = json.loads(match[1])
            described = ", ".join(f"{name}={key.get(name)!r}" for name in rows.key)
            raise two_rows_error(rows.name, described) from error
        finally:
            changes.spark.catalog.dropTempView(view)
            latest.unpersist()

    @abstractmethod
    def settings(self, identity: str, held: Held, few: bool) -> Mapping[str, str | None]:
        """The settings of the session by which a commit says what the table holds. `few` changes are here."""


class DeltaTable(MergedTable):
    """A Delta table, by its name or its path. The metadata of its commits have the version."""

    kind = "delta"
    holds_source = True

    @property
    def name(self) -> str:
        return f"delta.{quoted(self.target)}" if "/" in self.target else self.target

    def evolve(self, spark: SparkSession, rows: KeyedOutput) -> None:
        """Delta drops a column, and gives one another type, only in tables with some features. So it is rewritten."""
        frame = rewritten(spark.table(self.name), rows)
        if frame is not None:
            writer = frame.write.format(self.kind).mode("overwrite").option("overwriteSchema", "true")
            writer.save(self.target) if "/" in self.target else writer.saveAsTable(self.target)
        super().evolve(spark, rows)

    def find_held(self, spark: SparkSession, identity: str, others: Sequence[str] = ()) -> Held | None:
        return held_by_delta(spark, self.name, identity, others)

    def settings(self, identity: str, held: Held, few: bool) -> Mapping[str, str | None]:
        of = "spark.databricks.delta."
        return {
            USER_METADATA: metadata_of(identity, held),
            f"{of}merge.materializeSource": "none" if few else "auto",
        }


class IcebergTable(MergedTable):
    """An Iceberg table, by its name. Its snapshots have the version as a property."""

    kind = "iceberg"

    def alters(self, before: DataType, now: DataType) -> bool:
        if isinstance(before, DecimalType) and isinstance(now, DecimalType):
            return before.scale == now.scale and before.precision <= now.precision
        return (type(before), type(now)) in WIDENED_BY_ICEBERG

    def read(self, rows: KeyedOutput) -> pa.Table | None:
        self.spark.catalog.refreshTable(self.name)
        return super().read(rows)

    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        super().write(changes, rows)
        # each session has a cache of tables, which commits of other sessions do not change
        self.spark.catalog.refreshTable(self.name)

    def settings(self, identity: str, held: Held, few: bool) -> Mapping[str, str | None]:
        of = "spark.sql.iceberg.snapshot-property."
        properties = {"flo-id": identity, "flo-version": str(held.version), "flo-digest": held.digest}
        return {f"{of}{name}": value for name, value in properties.items()} | {f"{of}flo-key": json.dumps(held.key)}

    def find_held(self, spark: SparkSession, identity: str, others: Sequence[str] = ()) -> Held | None:
        """What the newest snapshot of the outputs says. Those that were rolled back do not count."""
        spark.catalog.refreshTable(self.name)
        snapshots, history = spark.table(f"{self.name}.snapshots"), spark.table(f"{self.name}.history")
        valid = snapshots.join(history.where("is_current_ancestor").select("snapshot_id"), "snapshot_id", "left_semi")
        summary = sf.col("summary")
        of_outputs = valid.where(summary["flo-id"].isin(identity, *others)).orderBy(sf.col("committed_at").desc())
        for row in of_outputs.limit(1).select("summary").collect():
            if row.summary["flo-id"] != identity:
                return None
            key = row.summary.get("flo-key")
            known = tuple(json.loads(key)) if key else None
            return Held(int(row.summary["flo-version"]), row.summary.get("flo-digest"), known)
        return Held(None)


def owners_beside(identity: str, marks: Mapping[str, str]) -> list[str]:
    """The other outputs of the checkpoint that a table may have rows of, by its marks."""
    return [each for each, mark in marks.items() if mark != TAKEN_OVER and is_of_other_output(identity, each)]


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
        first = spark_schema_of(rows)[0]
        before, after = TWICE.pattern.split("(.*)")
        key = f"to_json(struct({', '.join(f's.{quoted(name)}' for name in rows.key)}))"
        failure = f"CAST(raise_error(concat('{before}', {key}, '{after}')) AS {first.dataType.simpleString()})"
        clauses.insert(0, f"WHEN MATCHED AND {change} = '{INSERT}' THEN UPDATE SET {columns[0]} = {failure}")
    return f"MERGE INTO {table} AS t USING {quoted(view)} AS s ON {on} {' '.join(clauses)}"


def _equal(field: pa.Field) -> str:
    """Whether a column of the key has the same value in the table. Nulls are equal."""
    return f"t.{quoted(field.name)} {'<=>' if field.nullable else '='} s.{quoted(field.name)}"


def sql_text(value: str) -> str:
    """A text in the SQL of Spark."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
