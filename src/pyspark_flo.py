"""`spark.read.format("flo")`: the views of a checkpoint as a data source of Spark.

Spark imports every module called `pyspark_…` to find its `DefaultSource`, in all programs that use any data source in
Python. So this module imports nothing of Flo before a view is read.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """A view in a checkpoint: its rows, or with the option `changes` its changes."""

    @classmethod
    def name(cls) -> str:
        return "flo"

    def schema(self) -> StructType:
        from flo.spark.view_source import Request

        return Request.of(self.options).schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        from flo.spark.view_source import Request, ViewReader

        return ViewReader(Request.of(self.options, schema), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from flo.spark.view_source import ChangesReader, Request

        return ChangesReader(Request.of(self.options, schema), schema)
