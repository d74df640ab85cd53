"""Files that a stream reads one by one, so that each is a micro-batch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class Feed:
    """A folder of Parquet files, and the stream that reads them."""

    def __init__(self, spark: Any, folder: Path, schema: str, columns: pa.Schema) -> None:
        folder.mkdir(parents=True)
        self.folder, self.columns, self.count = folder, columns, 0
        self.frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))

    def put(self, *rows: tuple[Any, ...]) -> None:
        """Add a file with these rows."""
        names = self.columns.names
        table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], self.columns)
        file = self.folder / f"{self.count:03}.parquet"
        pq.write_table(table, file)
        os.utime(file, (self.count, self.count))  # Spark takes the oldest file first
        self.count += 1
