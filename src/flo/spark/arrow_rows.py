"""Arrow's types for those of Spark. Times with a zone are in UTC, whatever the zone of the session is.

`map_rows` runs a task on the rows of a DataFrame whose columns may have any name.

PySpark's `mapInArrow` asks for columns by name, and takes a dot for a field of a struct and a backtick for a quote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

IN_UTC = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
"""The argument for times in UTC. Spark 4.1 has none: there they always are."""


def arrow_schema(schema: StructType) -> pa.Schema:
    return to_arrow_schema(schema, **IN_UTC)  # type: ignore[arg-type]


def arrow_type(kind: DataType) -> pa.DataType:
    return arrow_schema(StructType().add("value", kind)).field(0).type


Task: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_rows(frame: DataFrame, task: Task, schema: StructType | str) -> DataFrame:
    """Return what a task makes of the batches of rows of a DataFrame."""
    names = frame.columns
    if any("." in name or "`" in name for name in names):
        frame = frame.toDF(*(f"_{place}" for place in range(len(names))))
        task = WithNames(task, tuple(names))
    return frame.mapInArrow(task, schema)


@dataclass(frozen=True)
class WithNames:
    """A task on batches whose columns get their names here."""

    task: Task
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.task(self._named(batch) for batch in batches)

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        fields = [field.with_name(name) for field, name in zip(batch.schema, self.names, strict=True)]
        return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))
