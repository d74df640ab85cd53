"""Hadoop's settings are the same without notes of where they come from, and take less room on their way to a task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flo.spark.driver.hadoop_settings import forget_origins


def entries(settings: Any) -> dict[str, str]:
    return dict(settings.getPropsWithPrefix(""))


def settings_of(spark: Any) -> dict[str, str]:
    return entries(spark._jsparkSession.sessionState().newHadoopConf())


def sent(spark: Any) -> Any:
    """The settings as a task has them, and how many bytes they are."""
    jvm, settings = spark._jvm, spark._jsparkSession.sessionState().newHadoopConf()
    stream = jvm.java.io.ByteArrayOutputStream()
    settings.write(jvm.java.io.DataOutputStream(stream))
    arrived = jvm.org.apache.hadoop.conf.Configuration(False)
    arrived.readFields(jvm.java.io.DataInputStream(jvm.java.io.ByteArrayInputStream(stream.toByteArray())))
    return entries(arrived), stream.size()


def test_all_settings_stay_and_arrive_in_fewer_bytes(spark: Any) -> None:
    own = spark._jsc.hadoopConfiguration()
    own.reloadConfiguration()
    before, (arrived_before, size_before) = settings_of(spark), sent(spark)
    assert own.getPropertySources("io.file.buffer.size") is not None
    forget_origins(spark)
    after, (arrived_after, size_after) = settings_of(spark), sent(spark)
    assert after == before
    assert arrived_after == arrived_before
    assert own.getPropertySources("io.file.buffer.size") is None
    assert size_after < 0.8 * size_before


def test_files_are_read_and_settings_changed_afterwards(spark: Any, tmp_path: Path) -> None:
    forget_origins(spark)
    own = spark._jsc.hadoopConfiguration()
    spark.range(5).write.parquet(str(tmp_path / "rows"))
    assert spark.read.parquet(str(tmp_path / "rows")).count() == 5
    assert own.getPropertySources("io.file.buffer.size") is None, "they are not read again"
    own.set("flo.test", "7")
    try:
        assert settings_of(spark)["flo.test"] == "7"
    finally:
        own.unset("flo.test")
    writer = spark._jvm.java.io.StringWriter()
    own.writeXml(writer)
    assert "<name>io.file.buffer.size</name>" in writer.toString()
