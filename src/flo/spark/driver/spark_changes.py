"""The changes of an output, and its views, as DataFrames."""

from __future__ import annotations

from dataclasses import dataclass, fields

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from flo.core.errors import FloError
from flo.shards import views
from flo.shards.sinks.keyed_output import KeyedOutput
from flo.shards.sinks.output_changes import OutputChanges
from flo.shards.tasks.latest_rows import CHANGE
from flo.shards.tasks.view_parts import ViewPart, empty_rows
from flo.spark.arrow_rows import map_rows
from flo.spark.driver.python_errors import SparkErrors
from flo.spark.session import hold_on_executors, read_frame
from flo.sql.catalyst import quoted

FEW = 100_000
"""How many changes this process reads itself: to start tasks of Python for them takes longer."""


@dataclass(frozen=True)
class SparkChanges(OutputChanges):
    """The changes of an output in one micro-batch on Spark."""

    spark: SparkSession = None  # type: ignore[assignment]  # which `within` gives
    """The session of the micro-batch."""

    @classmethod
    def within(cls, spark: SparkSession, changes: OutputChanges) -> SparkChanges:
        return cls(**{each.name: getattr(changes, each.name) for each in fields(OutputChanges)}, spark=spark)

    def frame(self) -> DataFrame:
        """All changes, read by executors."""
        return read_frame(self.spark, self.schema, self.reader(), self.pieces)


def reads_itself(changes: OutputChanges) -> bool:
    """Whether this process computes the frame of the changes, because they are few."""
    return changes.rows <= FEW


def spark_schema_of(rows: KeyedOutput) -> StructType:
    return from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)


def frame_of_latest(rows: KeyedOutput, changes: SparkChanges) -> DataFrame:
    """The latest row of each key, or its deletion. Executors compute it, if there are many changes."""
    schema = spark_schema_of(rows)
    if changes.reconciles:  # a row that is deleted may have null in a column that is new
        schema = StructType([StructField(each.name, each.dataType) for each in schema])
    schema = schema.add(CHANGE, "string", False)
    if reads_itself(changes):
        return changes.spark.createDataFrame(rows.table(changes), schema)
    frame = changes.frame()
    tasks = min(len(changes.files), max(1, changes.spark.sparkContext.defaultParallelism))
    if len(changes.files) > 1:  # the changes of a key may be in several shards
        columns = [sf.col(quoted(column)) for column in rows.key]
        frame = frame.repartition(tasks, *columns) if columns else frame.coalesce(1)
    return map_rows(frame, rows.latest, schema)


def expect_format(spark: SparkSession, name: str) -> None:
    """Raises if the session does not have a format of Spark."""
    jvm, conf = spark._jvm, spark._jsparkSession.sessionState().conf()
    try:
        jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(name, conf)  # type: ignore[union-attr]
    except (PySparkException, Py4JJavaError) as error:
        raise FloError(
            f"the session has no format `{name}`",
            instead=(("spark.jars.packages", "the setting that adds it to the session: see docs/connectors.md"),),
        ) from error


@dataclass(frozen=True)
class View(views.View):
    """An output at a version, which Spark can read."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows of this version as a DataFrame, read by executors. It does not change when the query continues."""
        stored = self._stored()
        with SparkErrors():
            if stored is None:
                return spark.createDataFrame(self.arrow())
            schema = empty_rows(stored.kind, stored.schema).schema
            return hold_on_executors(read_frame(spark, schema, ViewPart.rows, stored.parts()))
