"""DataFrames over files of a checkpoint: executors read them, and the driver holds none of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

Reader = Callable[[Any], pa.Table]


@dataclass(frozen=True)
class Reading:
    """The task that reads the pieces with the numbers that it is given."""

    read: Reader
    pieces: Sequence[Any]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.read(self.pieces[number]).cast(self.schema).to_batches()


def frame_of(spark: SparkSession, schema: pa.Schema, read: Reader, pieces: Sequence[Any]) -> DataFrame:
    """The rows of all pieces, a partition for each: in its order."""
    of = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    shown = to_arrow_schema(of, timezone="UTC")
    count = max(1, len(pieces))
    numbers = spark.range(0, len(pieces), 1, count)
    return numbers.mapInArrow(Reading(read, tuple(pieces), shown), of)


def snapshot(frame: DataFrame) -> DataFrame:
    """The rows as they are now, held by executors: the files may go."""
    return frame.localCheckpoint()
