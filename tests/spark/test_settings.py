"""A session has the user's settings before, after, and for what the user does beside."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from pyspark.sql.types import StructType

import flo
from flo.spark.driver.local_logs import SETTING
from flo.spark.session import ARROW, BYTES, NO_LIMIT, STREAMING, hold_settings, is_narrow, task_settings
from tests.spark.sources import files


class Text(NamedTuple):
    number: int
    text: str


ALL = [*ARROW, *STREAMING, SETTING, BYTES]


def texts(bounded: bool) -> flo.Flow:
    flow = flo.Flow("texts")
    found = flow.input("texts", flo.ZSet[Text], bounded=bounded)
    flow.output("distinct", found.distinct())
    return flow


@pytest.fixture
def before(spark: Any) -> Any:
    """The settings, of which the user has made some."""
    own = {"spark.sql.execution.arrow.maxRecordsPerBatch": "77", "spark.sql.execution.arrow.useLargeVarTypes": "true"}
    for setting, value in own.items():
        spark.conf.set(setting, value)
    yield settings(spark)
    for setting in own:
        spark.conf.unset(setting)


def settings(spark: Any) -> dict[str, Any]:
    return {setting: spark.conf.get(setting, None) for setting in ALL}


def test_a_run_and_a_query(spark: Any, before: Any, tmp_path: Any) -> None:
    frame = spark.createDataFrame([(1, "x" * 100_000), (2, "")], "number long, text string")
    assert sorted(map(tuple, texts(True).on(spark).run(texts=frame)["distinct"].select("number").collect())) == [
        (1,),
        (2,),
    ]
    assert settings(spark) == before
    source = files(spark, [frame.toArrow()], tmp_path / "texts")
    query = texts(False).on(spark).start({"texts": source}, checkpoint=tmp_path / "c", trigger={"availableNow": True})
    assert settings(spark) == before
    assert query.wait()
    assert query.view("distinct").value() == {Text(1, "x" * 100_000): 1, Text(2, ""): 1}


def test_what_fails(spark: Any, before: Any, tmp_path: Any) -> None:
    flow = flo.Flow("fails")
    flow.output("never", flow.input("texts", flo.ZSet[Text], bounded=True).map(lambda text: 1 // 0))
    with pytest.raises(flo.FunctionError):
        flow.on(spark).run(texts=spark.createDataFrame([(1, "")], "number long, text string"))
    assert settings(spark) == before


def test_several_at_once(spark: Any, before: Any) -> None:
    """In any order of their ends; who needs the limit has it."""
    one, other = (
        hold_settings(spark, task_settings(narrow=True)),
        hold_settings(spark, task_settings(narrow=True) | STREAMING),
    )
    wide = hold_settings(spark, task_settings(narrow=False))
    one.__enter__()
    other.__enter__()
    assert spark.conf.get(BYTES) == NO_LIMIT
    wide.__enter__()
    assert spark.conf.get(BYTES, None) == before[BYTES]
    one.__exit__(None, None, None)
    wide.__exit__(None, None, None)
    assert spark.conf.get(BYTES) == NO_LIMIT
    assert spark.conf.get("spark.sql.adaptive.enabled") == "false"
    other.__exit__(None, None, None)
    assert settings(spark) == before


@pytest.mark.parametrize(
    ("ddl", "narrow"),
    [
        ("a long, b double, c boolean, d date, e timestamp, f timestamp_ntz, g decimal(38, 2)", True),
        ("a struct<b: long, c: float>", True),
        ("a long, b string", False),
        ("a binary", False),
        ("a struct<b: array<long>>", False),
        ("a map<long, long>", False),
    ],
)
def test_rows_that_have_few_bytes_whatever_they_say(spark: Any, ddl: str, narrow: bool) -> None:
    assert is_narrow(StructType.fromDDL(ddl)) == narrow
