"""Filters and projections of DataFrames, made once and run on each micro-batch.

To make a column takes several calls of Java, and a projection has many columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from pyspark.sql import Column, DataFrame

from flo.spark.driver.pushdown import catalyst_columns
from flo.sql.java import Java, list_of
from flo.tables.operators.elementwise import FilterTables


@dataclass(frozen=True)
class CatalystStep:
    """A filter or a projection."""

    name: str
    """The method of Spark's Dataset."""
    given: Java
    """The condition, or the sequence of columns."""

    @classmethod
    def where(cls, condition: Column) -> Self:
        return cls("filter", condition._jc)

    @classmethod
    def select(cls, columns: Iterable[Column]) -> Self:
        return cls("select", list_of([each._jc for each in columns]))

    @classmethod
    def of(cls, operator: Any) -> Self:
        """A map or a filter that Catalyst may run."""
        columns = catalyst_columns(operator)
        return cls.where(*columns) if isinstance(operator, FilterTables) else cls.select(columns)

    def over(self, frame: DataFrame) -> DataFrame:
        """The rows of a DataFrame after it."""
        return DataFrame(getattr(frame._jdf, self.name)(self.given), frame.sparkSession)
