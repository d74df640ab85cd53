"""What a job wants of its session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql.conf import RuntimeConfig

from flo.spark.tasks.blobs import ROWS

TASKS = {
    "spark.sql.adaptive.enabled": "false",
    # any other limit is compared with the size of the batch after each row, which takes most of the time that Spark
    # needs to hand over rows; how many rows there may be limits a batch too
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS),
}
ON_DISK = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}
"""On a local disk, for Spark's own part: by default it starts ten processes, `chmod` and `readlink`, for each file that
it writes, and every source writes one in each turn."""


@contextmanager
def having(conf: RuntimeConfig, settings: Mapping[str, str]) -> Iterator[None]:
    """For what is started inside: it takes a copy."""
    before = {setting: conf.get(setting, None) for setting in settings}
    try:
        for setting, value in settings.items():
            conf.set(setting, value)
        yield
    finally:
        for setting, old in before.items():
            conf.unset(setting) if old is None else conf.set(setting, old)
