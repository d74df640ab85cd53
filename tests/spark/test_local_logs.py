"""Spark's logs on a local disk are the files that Spark would write, with the same checksums and permissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flo
from flo.spark.driver.local_logs import CLASS, SETTING, SPARKS_OWN, local_log_settings
from tests.spark.sources import files


def written_by(spark: Any, manager: str, where: Path) -> dict[str, tuple[int, bytes | None]]:
    """The permissions of what a class of Spark's file managers writes, and the content of files."""
    path, hadoop = spark._jvm.org.apache.hadoop.fs.Path, spark._jsparkSession.sessionState().newHadoopConf()
    made = getattr(spark._jvm, manager)(path(str(where)), hadoop)
    made.mkdirs(path(f"{where}/logs"))
    stream = made.createAtomic(path(f"{where}/logs/7"), False)
    stream.write(b"v1\n" + b"x" * 3000)
    stream.close()
    return {
        str(each.relative_to(where)): (each.stat().st_mode, each.read_bytes() if each.is_file() else None)
        for each in where.rglob("*")
    }


def test_the_files_are_those_of_spark(spark: Any, tmp_path: Path) -> None:
    assert local_log_settings(spark) == {SETTING: CLASS} == local_log_settings(spark)
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
