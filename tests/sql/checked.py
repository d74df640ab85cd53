"""A suite in micro-batches, with what batch Spark gives after each: what maintained queries are compared with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from flo.sql.nodes import SqlError
from tests.sql.batch_spark import Content, Oracle
from tests.sql.maintained import in_process, on_spark, write_changes
from tests.sql.tpc import Suite, micro_batches, spark_text


class Checked:
    """A suite in micro-batches that change every table."""

    def __init__(self, spark: Any, suite: Suite, folder: Path, count: int, **options: Any) -> None:
        self._spark = spark
        self._suite = suite
        self._batches = micro_batches(suite, count, **options)
        self._oracle = Oracle(spark, self._batches, folder / "content")
        self._changes = folder / "changes"
        write_changes(self._batches, self._changes)
        self.text = cache(lambda number: spark_text(self._oracle.session, suite.queries[number]))

    def expect_in_process(self, number: int) -> int:
        """Raise unless the query has the right rows after every micro-batch. Return the most rows that it had."""
        return self._expect(number, in_process(self._suite, self.text(number), self._batches))

    def expect_on_spark(self, numbers: Iterable[int], checkpoint: Path, shards: int) -> None:
        """Raise unless the queries, maintained as views of one program, have the right rows after every micro-batch."""
        queries = {f"q{number}": self.text(number) for number in numbers}
        found = on_spark(self._spark, self._suite, queries, self._changes, checkpoint, shards)
        for number in numbers:
            self._expect(number, found[f"q{number}"])

    def _expect(self, number: int, changes: Iterable[pa.Table]) -> int:
        content, text, coming, most = Content(), self.text(number), iter(changes), 0
        for batch in range(len(self._batches)):
            try:
                content.add(next(coming))
            except SqlError as error:  # ends the query: batch Spark must fail, too
                with pytest.raises(PySparkException, match=error.condition):
                    self._oracle.rows(batch, text)
                break
            expected = self._oracle.rows(batch, text)
            content.expect(expected, f"query {number} after micro-batch {batch}")
            most = max(most, expected.num_rows)
        return most
