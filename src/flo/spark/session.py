"""An embedded Spark: a session in this process, for demos, tests and the command line."""

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
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from flo.core.errors import FloError
from flo.spark.tasks.blobs import ROWS

LOGGING = Path(__file__).with_name("log4j2.properties")
SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
    "spark.sql.session.timeZone": "UTC",
    # by TCP, a task waits 40 ms for its first rows
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
}
HERE = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""On this machine alone: executors elsewhere must reach the driver."""


class NoJava(FloError):
    """Spark runs on Java, and there is none."""


def embedded(name: str, *, cores: int | None = None, master: str | None = None, memory: str = "2g") -> SparkSession:
    """A session on so many cores of this machine, or on a master. Quiet; the caller stops it."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise NoJava(
            "Spark needs Java 17 or newer, and there is none here",
            instead=(("apt install default-jre-headless", "or another Java; JAVA_HOME says where it is"),),
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = cores or os.cpu_count() or 1
    builder = SparkSession.builder.appName(name).master(master or f"local[{cores}]")
    builder = builder.config("spark.driver.memory", memory).config("spark.sql.shuffle.partitions", str(cores))
    for setting, value in {**SETTINGS, **({} if master and not master.startswith("local") else HERE)}.items():
        builder = builder.config(setting, value)
    return builder.getOrCreate()


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
