"""An embedded Spark: a session in this process, for demos, tests and the command line."""

from __future__ import annotations

import os
import shutil
import sys

from pyspark.sql import SparkSession

from flo.core.errors import FloError

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
}


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
    for setting, value in SETTINGS.items():
        builder = builder.config(setting, value)
    return builder.getOrCreate()
