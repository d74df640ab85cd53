"""Checks of what a user gives a query on Spark: the session, the DataFrames of its inputs, the trigger."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from flo.core.errors import FloError, TypeMismatch, UnknownNameError, brief


def is_connect(item: object) -> bool:
    """Whether a session or a DataFrame belongs to Spark Connect, whose driver is in another process."""
    return type(item).__module__.startswith("pyspark.sql.connect")


def connect_error(what: str) -> TypeMismatch:
    return TypeMismatch(
        f"{what}, which is not supported yet: Flo runs in the driver of a classic session",
        instead=(
            ('SparkSession.builder.master("…").getOrCreate()', "a classic session; SPARK_REMOTE must not be set"),
            ("spark-submit program.py", "runs the program in the driver"),
        ),
    )


def expect_session(spark: object) -> None:
    """Raises unless this is a classic session that is running."""
    if is_connect(spark):
        raise connect_error("`on` was given a session of Spark Connect").at_users_line()
    if type(spark).__module__.startswith("pyspark.") and not isinstance(spark, SparkSession):
        raise TypeMismatch(
            f"`on` needs a Spark session; got {type(spark).__name__}",
            instead=(("flow.on(spark)", "where `spark` is SparkSession.builder.getOrCreate()"),),
        ).at_users_line()
    if isinstance(spark, SparkSession) and spark.sparkContext._jsc is None:
        raise FloError(
            "the Spark session has been stopped",
            instead=(("SparkSession.builder.getOrCreate()", "starts another one for `flow.on`"),),
        ).at_users_line()


def expect_same_session(name: str, frame: DataFrame, spark: SparkSession) -> None:
    expected = (("expected", "a DataFrame of the session that `flow.on` was given"),)
    theirs = frame.sparkSession
    if theirs.sparkContext._jsc is None:
        raise TypeMismatch(f"the input `{name}` is a DataFrame of a session that has been stopped", facts=expected)
    if _session_id(theirs) != _session_id(spark):
        raise TypeMismatch(
            f"the input `{name}` is a DataFrame of another session",
            facts=expected,
            instead=(("flow.on(frame.sparkSession)", "uses the session of the DataFrame"),),
        )


def _session_id(spark: SparkSession) -> str:
    return str(spark._jsparkSession.sessionUUID())


def expect_trigger(trigger: Mapping[str, object]) -> None:
    triggers = {"availableNow": True, "processingTime": "5 seconds", "once": True}
    if not set(trigger) <= set(triggers) or len(trigger) > 1:
        raise UnknownNameError(
            f"`trigger` must be one of Spark's micro-batch triggers; got {brief(dict(trigger))}",
            instead=tuple((f'trigger={{"{name}": {value!r}}}', "") for name, value in triggers.items()),
        )


def use_own_python(spark: SparkSession) -> None:
    """Makes local workers run the Python of this process, unless the user has chosen one."""
    context = spark.sparkContext
    if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
