"""An embedded Spark: a session in this process, for demos, tests and the command line."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from flo.core.errors import FloError

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
