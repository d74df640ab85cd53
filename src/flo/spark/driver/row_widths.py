"""Rows whose texts are short, so that Spark need not measure its batches.

Spark hands rows to Python in batches, which a limit of rows or of bytes ends. For a limit of bytes it measures the
batch after each row, in all columns: that takes more time than all else that it does for the row. If every row has few
bytes, the limit of rows alone keeps batches as small. Numbers and times have few. For texts each row is checked, which
compares a few lengths. Where a text is long the micro-batch fails before a stage has begun. It runs again, with the
limit of bytes, and so does all that the query runs later.

Invariant: no batch has more than `ROWS` · `FEW_BYTES` bytes of texts, which is Spark's own limit, 64 MB.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any, Self, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from flo.shards.tasks.blobs import PIECE, ROWS
from flo.spark.session import BYTES, NO_LIMIT, is_narrow

Outcome = TypeVar("Outcome")

FEW_BYTES = PIECE
"""So many bytes the texts of a row may have."""
LIMIT = str(ROWS * FEW_BYTES)
"""The limit of bytes for batches of rows that may be wide."""
WIDE = "flo: a row has long texts"
"""The message that Catalyst raises."""


class WideRow(Exception):
    """A row has more bytes than `FEW_BYTES`."""


class RowWidths:
    """How wide the input rows of a program may be, and the limit of bytes that its batches have."""

    def __init__(self, narrow: bool = True, texts: Sequence[str] = ()) -> None:
        self.narrow = narrow
        """Whether all input rows are small."""
        self._texts = tuple(texts)
        """The columns of texts that must be short in all rows, so that batches need no limit of bytes."""
        self._limit = NO_LIMIT
        """The limit of bytes that was set last."""

    @classmethod
    def of(cls, spark: SparkSession, fields: Iterable[DataType], shared: StructType) -> Self:
        """Of inputs with these fields, which the tasks get in shared columns."""
        texts = texts_to_check([field.dataType for field in shared]) if has_usual_limit(spark) else ()
        return cls(all(map(is_narrow, fields)), [shared.names[place] for place in texts])

    @property
    def is_unlimited(self) -> bool:
        """Whether batches need no limit of bytes."""
        return self.narrow or bool(self._texts)

    def expect_wide(self, rows: DataFrame) -> None:
        """Sets the limit that rows need whose texts are not checked."""
        if self._texts:
            self._set_limit(rows.sparkSession, LIMIT)

    def run(
        self,
        rows: DataFrame,
        run: Callable[[DataFrame], Outcome],
        run_again: Callable[[DataFrame, Callable[[DataFrame], Outcome], float], Outcome],
    ) -> Outcome:
        """Runs a micro-batch on rows whose texts must be short. If one is long, runs it again with a limit; the last
        argument says when it has first begun."""
        if not self._texts:
            return run(rows)
        started = time.monotonic()
        self._set_limit(rows.sparkSession, NO_LIMIT)
        try:
            return run(expect_short_texts(rows, self._texts))
        except WideRow:
            self._texts = ()
            self._set_limit(rows.sparkSession, LIMIT)
        return run_again(rows, run, started)

    def _set_limit(self, session: SparkSession, limit: str) -> None:
        """Sets the limit of bytes for batches, in the session of a query or of a run, which resets it at its end."""
        if self._limit != limit:
            session.conf.set(BYTES, limit)
            self._limit = limit


def has_usual_limit(spark: SparkSession) -> bool:
    """Whether the session's own limit is no smaller than `LIMIT`. A smaller one is kept."""
    return bool(spark._jsparkSession.sessionState().conf().arrowMaxBytesPerBatch() >= int(LIMIT))


def texts_to_check(kinds: Sequence[DataType]) -> tuple[int, ...]:
    """The columns of texts and bytes, if all others have small values only; otherwise none."""
    texts = tuple(place for place, kind in enumerate(kinds) if isinstance(kind, (StringType, BinaryType)))
    return texts if all(place in texts or is_narrow(kind) for place, kind in enumerate(kinds)) else ()


def expect_short_texts(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The same rows. A job raises, with the message `WIDE`, where the texts of a row have too many bytes."""
    lengths: list[Any] = [sf.coalesce(sf.octet_length(sf.col(name)), sf.lit(0)).cast("bigint") for name in columns]
    is_wide = reduce(add, lengths) > FEW_BYTES
    # the other branch is no constant, so that the optimiser keeps the condition as it is
    return rows.where(sf.when(is_wide, sf.raise_error(sf.lit(WIDE))).otherwise(sf.spark_partition_id() >= 0))
