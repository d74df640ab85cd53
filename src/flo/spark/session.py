"""Spark sessions: starting an embedded one, the settings that Flo's jobs need, and Arrow data as DataFrames."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BooleanType, DataType, DateType, NumericType, StructType, TimestampNTZType, TimestampType

from flo.core.errors import FloError
from flo.shards.tasks.blobs import ROWS
from flo.spark.arrow_rows import arrow_schema
from flo.tables.io.fitting import cast_columns

LOGGING = Path(__file__).absolute().with_name("log4j2.properties")
EMBEDDED = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
    "spark.sql.session.timeZone": "UTC",
    # over TCP, a task waits 40 ms for its first rows
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
}
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""Settings for a local master only: executors on other machines must reach the driver."""
DAEMON = {"spark.python.daemon.module": "flo.spark.tasks.worker_daemon"}
"""For workers on this machine with this Python, which have Flo."""
ARROW = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
BYTES, NO_LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1)
"""With any other limit Spark computes the size of the batch after each row, which takes most of the time of
handing rows over. If all rows are small, the limit on their number is enough."""
STREAMING = {"spark.sql.adaptive.enabled": "false"}
S3A = {
    "fs.s3a.endpoint": "AWS_ENDPOINT_URL",
    "fs.s3a.endpoint.region": "AWS_REGION",
    "fs.s3a.access.key": "AWS_ACCESS_KEY_ID",
    "fs.s3a.secret.key": "AWS_SECRET_ACCESS_KEY",
    "fs.s3a.session.token": "AWS_SESSION_TOKEN",
}
"""Hadoop's settings for S3, and the environment variables in which Arrow looks for the same."""

_lock = threading.Lock()
_held: dict[tuple[str, str], tuple[str | None, list[str | None]]] = {}
"""By session and setting: the user's value, and the values that running `hold_settings` blocks ask for. None asks
for the user's value."""


class NoJava(FloError):
    """Java, which Spark needs, is not installed.

    Fix: install Java 17 or newer, or set JAVA_HOME.
    """


def embedded(name: str, *, cores: int | None = None, master: str | None = None, memory: str = "2g") -> SparkSession:
    """Starts a quiet session in this process, on this many cores of this machine or on a master.

    The caller stops it.
    """
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise NoJava(
            "Spark needs Java 17 or newer, which was not found",
            instead=(("apt install default-jre-headless", "or another Java; JAVA_HOME says where it is"),),
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = cores or os.cpu_count() or 1
    builder = SparkSession.builder.appName(name).master(master or f"local[{cores}]")
    builder = builder.config("spark.driver.memory", memory).config("spark.sql.shuffle.partitions", str(cores))
    settings = EMBEDDED
    if not master or master.startswith("local"):
        settings = settings | LOCAL | (DAEMON if os.environ["PYSPARK_PYTHON"] == sys.executable else {})
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    return builder.getOrCreate()


@contextmanager
def hold_settings(spark: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Sets a session's settings for jobs that start inside the block, then restores the user's values.

    Blocks in several threads may overlap. A block that asks for the user's value wins, and the last block to end
    restores it.
    """
    session = str(spark._jsparkSession.sessionUUID())

    def apply(setting: str) -> None:
        user, wanted = _held[session, setting]
        value = user if not wanted or None in wanted else wanted[-1]
        spark.conf.unset(setting) if value is None else spark.conf.set(setting, value)

    with _lock:
        for setting, value in settings.items():
            _held.setdefault((session, setting), (spark.conf.get(setting, None), []))[1].append(value)
            apply(setting)
    try:
        yield
    finally:
        with _lock:
            for setting, value in settings.items():
                _held[session, setting][1].remove(value)
                apply(setting)
                if not _held[session, setting][1]:
                    del _held[session, setting]


def task_settings(narrow: bool) -> dict[str, str | None]:
    """Settings for jobs with Flo's tasks. `narrow` says whether all input rows are small."""
    return {**ARROW, BYTES: NO_LIMIT if narrow else None}


def is_narrow(kind: DataType) -> bool:
    """Whether every value of this type is small."""
    if isinstance(kind, StructType):
        return all(is_narrow(field.dataType) for field in kind.fields)
    return isinstance(kind, (NumericType, BooleanType, DateType, TimestampType, TimestampNTZType))


def export_s3_settings(spark: SparkSession, where: str) -> None:
    """Gives Arrow, here and in tasks, the S3 settings of Spark, if the checkpoint is on S3."""
    if not where.startswith(("s3:", "s3a:", "s3n:")):
        return
    context = spark.sparkContext
    hadoop = context._jsc.hadoopConfiguration()
    for setting, variable in S3A.items():
        value = hadoop.get(setting)
        if value:
            os.environ.setdefault(variable, value)
    ours = {name: value for name, value in os.environ.items() if name.startswith("AWS_") or name == "FLO_CACHE"}
    context.environment.update(ours)


Reader = Callable[[Any], pa.Table]


@dataclass(frozen=True)
class ReadTask:
    """Reads the pieces whose numbers a task receives."""

    read: Reader
    pieces: Sequence[Any]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from cast_columns(self.read(self.pieces[number]), self.schema).to_batches()


def read_frame(spark: SparkSession, schema: pa.Schema, read: Reader, pieces: Sequence[Any]) -> DataFrame:
    """A DataFrame of all pieces, which executors read: one partition for each, in order."""
    of = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    sent = arrow_schema(of)
    count = max(1, len(pieces))
    numbers = spark.range(0, len(pieces), 1, count)
    return numbers.mapInArrow(ReadTask(read, tuple(pieces), sent), of)


def hold_on_executors(frame: DataFrame) -> DataFrame:
    """The rows as they are now, held by executors. The files that they came from may be removed."""
    return frame.localCheckpoint()


def has_own_thread() -> bool:
    """Whether PySpark gives each thread of Python a thread of Java, whose properties reach only its own jobs."""
    return os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"
