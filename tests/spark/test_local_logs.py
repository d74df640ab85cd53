"""Spark's logs on a local disk are the files that Spark would write, with the same checksums and permissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flo
from flo.shards.checkpoint.spark_logs import find_log_problems
from flo.spark.driver.local_logs import CLASS, DELAY, SETTING, SPARKS_OWN, local_log_settings
from flo.spark.session import hold_settings
from tests.spark.sources import files


def written_by(spark: Any, manager: str, where: Path) -> dict[str, tuple[int, bytes | None]]:
    """The permissions of what a class of Spark's file managers writes, and the content of files."""
    path, hadoop = spark._jvm.org.apache.hadoop.fs.Path, spark._jsparkSession.sessionState().newHadoopConf()
    made = getattr(spark._jvm, manager)(path(str(where)), hadoop)
    made.mkdirs(path(f"{where}/logs"))
    assert list(made.list(path(f"{where}/logs"))) == []
    stream = made.createAtomic(path(f"{where}/logs/7"), False)
    stream.write(b"v1\n" + b"x" * 3000)
    stream.close()
    (found,) = made.list(path(f"{where}/logs"))
    assert (found.getPath().toString(), found.getLen()) == (f"file:{where}/logs/7", 3003)
    with pytest.raises(Exception, match="FileNotFoundException"):
        made.list(path(f"{where}/none"))
    return {
        str(each.relative_to(where)): (each.stat().st_mode, each.read_bytes() if each.is_file() else None)
        for each in where.rglob("*")
    }


def test_the_files_are_those_of_spark(spark: Any, tmp_path: Path) -> None:
    assert local_log_settings(spark) == {SETTING: CLASS, DELAY: "0"} == local_log_settings(spark)
    ours, own = (written_by(spark, each, tmp_path / each) for each in (CLASS, SPARKS_OWN))
    assert ours == own
    assert sorted(ours) == ["logs", "logs/.7.crc", "logs/7"]


def test_a_query_writes_its_logs_without_processes(spark: Any, tmp_path: Path) -> None:
    flow = flo.Flow("numbers")
    flow.output("distinct", flow.input("numbers", flo.ZSet[int]).distinct())
    table = spark.createDataFrame([(1,)], "value long").toArrow()
    source = files(spark, [table, table], tmp_path / "numbers")
    query = flow.on(spark).start({"numbers": source}, checkpoint=tmp_path / "c", trigger={"availableNow": True})
    assert query.wait()
    execution: Any = query._query._jsq.streamingQuery()
    assert execution.offsetLog().fileManager().getClass().getName() == CLASS
    assert execution.commitLog().fileManager().getClass().getName() == CLASS


def test_the_log_of_a_source_keeps_what_the_offsets_need(spark: Any, tmp_path: Path) -> None:
    """The files that a compaction stands for go at once."""
    flow = flo.Flow("numbers")
    flow.output("distinct", flow.input("numbers", flo.ZSet[int]).distinct())
    table = spark.createDataFrame([(1,)], "value long").toArrow()
    source = files(spark, [table] * 9, tmp_path / "numbers")
    few = {"spark.sql.streaming.minBatchesToRetain": "2", "spark.sql.streaming.fileSource.log.compactInterval": "3"}
    with hold_settings(spark, few):
        query = flow.on(spark).start({"numbers": source}, checkpoint=tmp_path / "c", trigger={"availableNow": True})
    assert query.wait()
    left = {each.name for each in (tmp_path / "c/spark/sources/0").iterdir() if not each.name.endswith(".crc")}
    assert left == {"5.compact", "6", "7", "8.compact"}
    assert list(find_log_problems(str(tmp_path / "c/spark"), 8)) == []
    assert spark.conf.get(DELAY) == "600000ms"
