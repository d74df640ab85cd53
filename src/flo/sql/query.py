"""`flow.sql`: a query of Spark SQL as a stream, planned by Catalyst over stand-ins of the streams that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flo.api.columns import row_layout
from flo.core.errors import FloError, Origin, TypeMismatch
from flo.sql.catalyst import EXCLUDED, RULES, read_frame, stand_in
from flo.sql.compiler import compile_query
from flo.sql.plan import scans

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTING = "spark.sql.optimizer.excludedRules"


class QueryError(FloError):
    """A query that Spark rejects, with Spark's message."""


def sql_stream(text: str, streams: Mapping[str, Any]) -> Any:
    """Return the rows of a query over these streams, which it calls by their names."""
    here = Origin.here()
    try:
        if not streams:
            raise TypeMismatch(
                "`sql` must get the streams that the query reads", instead=(("sql(…, sales=sales)", ""),)
            )
        active = active_session()
        with planning_session(active) as planner:
            inputs = {stand_in(planner, name, _schema(name, stream)): name for name, stream in streams.items()}
            frame = planned(planner, text)
            relation = read_frame(frame, inputs)
            names = tuple(frame.columns)
            expect_distinct(names)
            read = {name: stream for name, stream in streams.items() if name in scans(relation)}
            return compile_query(relation, read, names, active)
    except FloError as error:
        raise error.located(here) from error.__cause__


def active_session() -> Any:
    """Return the active session, or a new one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is not None:
        return found
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


@contextmanager
def planning_session(active: Any = None) -> Iterator[Any]:
    """Yield a session to plan in: a copy of the active one, whose views and settings can be changed."""
    from pyspark.sql import SparkSession

    active = active or active_session()
    spark = SparkSession(active.sparkContext, active._jsparkSession.cloneSession())
    spark.conf.set(SETTING, ",".join(RULES + rule for rule in EXCLUDED))
    try:
        yield spark
    finally:
        SparkSession._instantiatedSession = active
        spark._jsparkSession.setActiveSession(active._jsparkSession)


def planned(spark: Any, text: str) -> Any:
    """Return the DataFrame of a query. Raises if Spark rejects it."""
    from pyspark.errors import PySparkException

    try:
        frame = spark.sql(text)
        frame._jdf.queryExecution().optimizedPlan()
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise QueryError(
            f"Spark rejects the query: {first}", facts=(("query", " ".join(text.split())[:200]),)
        ) from None
    return frame


def _schema(name: str, stream: Any) -> Any:
    """Return the schema of a stream's rows in Spark's types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    layout = row_layout("sql", name, stream)
    try:
        return from_arrow_schema(layout.schema, prefer_timestamp_ntz=True)
    except Exception as error:
        raise TypeMismatch(f"the rows of `{name}` have a column that Spark SQL has no type for: {error}") from None


def expect_distinct(names: tuple[str, ...]) -> None:
    """Raise if two columns of a query have the same name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TypeMismatch(
            f"the query returns two columns `{twice}`", instead=((f"SELECT … AS {twice}_2", "another name"),)
        )
