"""Hadoop's settings without notes of where each comes from.

    fs.s3a.threads.max    96    [core-default.xml]       about a thousand, each with such a note

In each micro-batch Spark copies all settings some times for each source of files, and sends them to executors. Hadoop
compresses each note by itself, which takes several times as long as everything else about the settings. Only a person
who looks for the origin of a setting reads the notes; Hadoop answers that it does not know.
"""

from __future__ import annotations

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from flo.sql.java import java_package

ORIGINS = "updatingResource"
"""Hadoop's private map of notes, by the name of the setting. Where there is none, Hadoop writes that there is none."""


def forget_origins(spark: SparkSession) -> None:
    """Forgets where Hadoop's settings come from. The settings stay as they are."""
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    java_package("org.apache.hadoop.mapred").JobConf(settings)  # this class adds a file of settings, and all are read
    try:
        java_package("org.apache.commons.lang3.reflect").FieldUtils.readField(settings, ORIGINS, True).clear()
    except (Py4JError, AttributeError):  # another Hadoop, or a JVM that keeps its own fields closed
        return
