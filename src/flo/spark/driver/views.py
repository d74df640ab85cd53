"""Views as DataFrames."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from flo.shards import views
from flo.shards.tasks.view_parts import ViewPart, empty_rows
from flo.spark.session import hold_on_executors, read_frame


@dataclass(frozen=True)
class View(views.View):
    """An output at a version, which Spark can read."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows of this version as a DataFrame, read by executors. It does not change when the query continues."""
        stored = self._stored()
        if stored is None:
            return spark.createDataFrame(self.arrow())
        schema = empty_rows(stored.kind, stored.schema).schema
        return hold_on_executors(read_frame(spark, schema, ViewPart.rows, stored.parts()))
