"""What a job wants of its session."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from flo.spark.tasks.blobs import ROWS

PLAIN = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
BYTES, NO_LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1)
"""Any other limit is compared with the size of the batch after each row, which takes most of the time that Spark needs
to hand over rows. Where all rows are of few bytes, their number limits a batch as well."""
STREAMING = {"spark.sql.adaptive.enabled": "false"}
ON_DISK = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}
"""On a local disk, for Spark's own part: by default it starts ten processes, `chmod` and `readlink`, for each file that
it writes, and every source writes one in each turn."""

_lock = threading.Lock()
_held: dict[tuple[str, str], tuple[str | None, list[str | None]]] = {}
"""By session and setting: what the user has set, and what those want who are at work; None wants that of the user."""


def of_tasks(narrow: bool) -> dict[str, str | None]:
    return {**PLAIN, BYTES: NO_LIMIT if narrow else None}


def is_narrow(kind: DataType) -> bool:
    """Whether values of this type have few bytes, whatever they are."""
    if isinstance(kind, StructType):
        return all(is_narrow(field.dataType) for field in kind.fields)
    return isinstance(kind, (NumericType, BooleanType, DateType, TimestampType, TimestampNTZType))


@contextmanager
def having(spark: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """For what begins inside. Others may be at work in the session: who wants the user's setting has it, and the last
    puts it back."""
    session = str(spark._jsparkSession.sessionUUID())

    def settle(setting: str) -> None:
        user, wanted = _held[session, setting]
        value = user if not wanted or None in wanted else wanted[-1]
        spark.conf.unset(setting) if value is None else spark.conf.set(setting, value)

    with _lock:
        for setting, value in settings.items():
            _held.setdefault((session, setting), (spark.conf.get(setting, None), []))[1].append(value)
            settle(setting)
    try:
        yield
    finally:
        with _lock:
            for setting, value in settings.items():
                _held[session, setting][1].remove(value)
                settle(setting)
                if not _held[session, setting][1]:
                    del _held[session, setting]
