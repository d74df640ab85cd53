"""Batch Spark as the oracle: what a query gives of all rows so far, and what the changes of a view add up to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema

from tests.sql.tpc import WEIGHT, MicroBatch


class Oracle:
    """Batch Spark over the content of the tables after each micro-batch, from Parquet."""

    def __init__(self, spark: Any, batches: list[MicroBatch], folder: Path) -> None:
        self._sessions = []
        self._known: dict[tuple[int, str], pa.Table] = {}
        for number, batch in enumerate(batches):
            session = spark.newSession()
            session.conf.set("spark.sql.shuffle.partitions", 1)  # the tables are small
            session.conf.set("spark.sql.adaptive.enabled", "false")
            for name, table in batch.content.items():
                file = folder / str(number) / name / "rows.parquet"
                file.parent.mkdir(parents=True)
                pq.write_table(table, file)
                session.read.schema(from_arrow_schema(table.schema)).parquet(str(file)).createOrReplaceTempView(name)
            self._sessions.append(session)

    @property
    def session(self) -> Any:
        """A session that has views of all tables."""
        return self._sessions[0]

    def rows(self, number: int, text: str) -> pa.Table:
        """Return the rows of a query after a micro-batch."""
        if (number, text) not in self._known:
            self._known[number, text] = self._sessions[number].sql(text).toArrow()
        return self._known[number, text]


class Content:
    """The rows that changes add up to, as often as they are there."""

    def __init__(self) -> None:
        self._rows: Counter[tuple[Any, ...]] = Counter()

    def add(self, changes: pa.Table) -> None:
        self.schema = changes.drop_columns([WEIGHT]).schema
        for row, weight in zip(_rows_of(changes.drop_columns([WEIGHT])), changes[WEIGHT].to_pylist(), strict=True):
            self._rows[row] += weight
            if not self._rows[row]:
                del self._rows[row]

    def expect(self, expected: pa.Table, where: str) -> None:
        """Raise unless these are the same columns, types and rows."""
        kinds = [(field.name, field.type) for field in self.schema]
        assert kinds == [(field.name, field.type) for field in expected.schema], where
        right = Counter(_rows_of(expected))
        assert self._rows == right, (
            f"{where}: {sum(self._rows.values())} rows, {sum(right.values())} are right\n"
            f"  only Flo:   {list((self._rows - right).items())[:3]}\n"
            f"  only Spark: {list((right - self._rows).items())[:3]}"
        )


def _rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [list(map(_plain, column.to_pylist())) for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _plain(value: Any) -> Any:
    """Return a value to compare: floats with ten digits, as Spark adds them up in any order."""
    return float(f"{value:.10g}") if isinstance(value, float) else value
