"""`flow.sql`: a query of Spark SQL as a stream, planned by Catalyst over stand-ins of the streams that it reads.

Constants that fail, such as `1/0`, are errors of the rows that reach them, not of the query. Spark computes constants
when it plans a query. One that fails is an error at once, unless it is in a branch of CASE or the like, or in a
projection or a filter of rows that Spark has at hand: these it computes first, row by row. Flo does the same with the
projections and filters of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from flo.api.arguments import expect_zset
from flo.api.columns import row_layout
from flo.api.scope import StreamBase
from flo.core.errors import FloError, NameTakenError, TypeMismatch, brief
from flo.sql.catalyst import EXCLUDED, RULES, leaves_of, quoted, stand_in
from flo.sql.compiler import Compiler
from flo.sql.error_log import hide_own_errors
from flo.sql.java import Java, is_instance, items_of
from flo.sql.native import Catalyst
from flo.sql.plan import scans
from flo.sql.plan_reader import read_frame
from flo.sql.rejections import expect_no_special_times
from flo.sql.row_streams import RowStream
from flo.sql.set_recursion import REJECTED, marks_in, with_union_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
COMMANDS = ("Command", "ParsedStatement", "CompoundBody")
"""Classes of what is executed, not planned."""
NOT_FOUND = "TABLE_OR_VIEW_NOT_FOUND"
"""Spark's name of the error for a relation that it does not know."""
IMMEDIATE = "ExecuteImmediate"
"""A part of the name of a node whose text is executed when it is analysed."""
WEIGHTS = "_weight"
"""The column of changes that says how often a row is there."""


class QueryError(FloError):
    """A query that Spark rejects, with Spark's message. `line` is the line of the query that Spark names, if any.

    Fix: correct the query; it must run in batch Spark.
    """

    line: int | None = None
    condition: str | None = None
    """Spark's name of the error."""


def sql_stream(text: str, streams: Mapping[str, RowStream]) -> RowStream:
    """Return the rows of a query over these streams, which it calls by their names."""
    try:
        _expect_arguments(text, streams)
        active = active_session()
        with planning_session(active) as planner:
            inputs = {stand_in(planner, name, _schema(name, stream)): name for name, stream in streams.items()}
            try:
                frame = planned(planner, text)
            except QueryError as error:
                if not streams and error.condition == NOT_FOUND:
                    raise _without_streams() from None
                raise
            if not streams:
                raise _without_streams()
            relation = read_frame(frame, inputs)
            names = expect_result_names(frame)
            read = scans(relation)
            given = {name: stream for name, stream in streams.items() if name in read}
            scope = next(iter(streams.values())).scope
            for name in _named(frame, inputs) - read if len(given) < len(streams) else ():
                streams[name].scope.not_needed.append(streams[name])
            return Compiler(given, active, scope).query(relation, names)
    except FloError as error:
        raise error.at_users_line() from error.__cause__


def _without_streams() -> TypeMismatch:
    return TypeMismatch("`sql` must get the streams that the query reads", instead=(("sql(…, sales=sales)", ""),))


def _named(frame: DataFrame, inputs: Mapping[int, str]) -> set[str]:
    """Return the names of the streams that a query names, though it may need no row of them, as in `WHERE false`."""
    analysed = frame._jdf.queryExecution().analyzed()
    leaves = [leaf for plan in (analysed, *items_of(analysed.subqueriesAll())) for leaf in leaves_of(plan)]
    return {inputs[leaf.rdd().id()] for leaf in leaves if leaf.nodeName() == "LogicalRDD"}


def _expect_arguments(text: object, streams: Mapping[str, object]) -> None:
    """Raise unless these are a query and the streams that it reads, and Spark can plan it."""
    if not isinstance(text, str):
        raise TypeMismatch(f"`sql` must get a query as text; got {brief(text)}")
    for name, stream in streams.items():
        if not isinstance(stream, StreamBase):
            raise TypeMismatch(f"`{name}` of `sql` must be a stream; got {brief(stream)}")
    expect_names("stream", streams)
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise FloError(
            "`sql` needs Spark, which plans the query, and pyspark is not installed",
            instead=(("pip install 'flo-streams[spark]'", ""),),
        ) from None


def active_session() -> SparkSession:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    hide_own_errors()
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


def activate(session: SparkSession) -> None:
    """Make a session the active one, in Python and in Java."""
    from pyspark.sql import SparkSession

    SparkSession._instantiatedSession = SparkSession._activeSession = session
    session._jsparkSession.setActiveSession(session._jsparkSession)


@contextmanager
def planning_session(active: SparkSession | None = None) -> Iterator[SparkSession]:
    """Yield a session to plan in: a copy of the active one, whose views and settings can be changed."""
    from pyspark.sql import SparkSession

    active = active or active_session()
    spark = SparkSession(active.sparkContext, active._jsparkSession.cloneSession())
    spark.conf.set(SETTING, ",".join(RULES + rule for rule in EXCLUDED))
    try:
        yield spark
    finally:
        activate(active)


def planned(spark: SparkSession, text: str) -> DataFrame:
    """Return the DataFrame of a query. Raises if Spark rejects it."""
    expect_no_special_times(text)
    with _query_errors(text):
        _expect_query(spark, text)
        return optimised(_analysed(spark, text))


def _analysed(spark: SparkSession, text: str) -> DataFrame:
    """Return the DataFrame of a query, whose recursions may be sets. Raises if Spark rejects it."""
    from pyspark.errors import AnalysisException

    try:
        return spark.sql(text)
    except AnalysisException as error:
        if error.getCondition() != REJECTED:
            raise
        other, marks = with_union_all(text)
        frame = spark.sql(other) if marks else None
        if frame is None or marks_in(frame._jdf.queryExecution().analyzed().toString()) != set(marks):
            raise
        return frame


def planned_frame(frame: DataFrame) -> DataFrame:
    """Return a DataFrame whose plan is optimised. Raises if Spark rejects it."""
    with _query_errors(""):
        return optimised(frame)


@contextmanager
def _query_errors(text: str) -> Iterator[None]:
    """Raise Spark's errors as errors of the query. A DataFrame has no text."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException, QueryContextType

    facts = (("query", " ".join(text.split())[:200]),) if text else ()
    try:
        yield
    except Py4JJavaError as error:  # a mistake in Spark itself
        first = str(error.java_exception).strip().splitlines()[0]
        raise QueryError(f"Spark fails to plan the query: {first}", facts=facts) from None
    except PySparkException as error:
        rejected = QueryError(f"Spark rejects the query: {str(error).strip().splitlines()[0]}", facts=facts)
        rejected.condition = error.getCondition()
        places = [each.startIndex() for each in error.getQueryContext() if each.contextType() == QueryContextType.SQL]
        rejected.line = text.count("\n", 0, places[0]) + 1 if places and text else None
        raise rejected from None


def _expect_query(spark: SparkSession, text: str) -> None:
    """Raise if a text is a command, which would be executed at once."""
    parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    below = items_of(parsed.children()) if parsed.nodeName() == "UnresolvedWith" else []
    for node in (parsed, *below):
        is_command = any(is_instance(node, LOGICAL + each) for each in COMMANDS)
        if is_command or IMMEDIATE in node.nodeName():
            raise QueryError(
                "`sql` must get a query; got a command",
                facts=(("command", node.nodeName()),),
                instead=(("SELECT …", "a query"), ("spark.sql(…)", "executes a command")),
            )


def _schema(name: str, stream: RowStream) -> StructType:
    """Return the schema of a stream's rows in Spark's types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    expect_zset("sql", stream)
    layout = row_layout("sql", name, stream)
    try:
        return from_arrow_schema(layout.schema, prefer_timestamp_ntz=True)
    except Exception as error:
        raise TypeMismatch(f"the rows of `{name}` have a column that Spark SQL has no type for: {error}") from None


def expect_names(what: str, names: Iterable[str]) -> None:
    """Raise if SQL cannot tell two names apart."""
    known: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str):
            raise TypeMismatch(f"the name of the {what} must be a text; got {brief(name)}")
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise NameTakenError(f"SQL does not tell the {what} `{name}` from `{other}`: letters have no case in names")


def expect_result_names(frame: DataFrame) -> tuple[str, ...]:
    """Return the names of a result's columns. Raises if two are equal, or one is that of the weights."""
    names = tuple(frame.columns)
    twice = next((place for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        output = items_of(frame._jdf.queryExecution().analyzed().output())
        first, given = (
            each.sql() if each.qualifier().size() else each.name()
            for each in (output[names.index(names[twice])], output[twice])
        )
        number = next(number for number in count(2) if f"{names[twice]}_{number}" not in names)
        raise TypeMismatch(
            f"the query returns two columns `{names[twice]}`: columns {names.index(names[twice]) + 1} and {twice + 1}",
            facts=(("columns", f"{first}, {given}"),),
            instead=((f"{given} AS {quoted(f'{names[twice]}_{number}')}", f"another name for column {twice + 1}"),),
        )
    taken = next((name for name in names if name.lower() == WEIGHTS), None)
    if taken is not None:
        raise NameTakenError(
            f"the query returns a column `{taken}`, which is for how often a row is there",
            instead=(("SELECT … AS weight", "another name"),),
        )
    return names


def expect_distinct(names: tuple[str, ...], what: str) -> None:
    """Raise if two columns have the same name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TypeMismatch(f"{what} two columns `{twice}`", instead=((f"SELECT … AS {twice}_2", "another name"),))


SETTING = "spark.sql.optimizer.excludedRules"
FOLDING = RULES + "ConstantFolding"
ROW_BY_ROW = ("Project", "Filter", "SubqueryAlias", "View")
"""Nodes that Spark computes row by row if it has the rows at hand."""


def optimised(frame: DataFrame) -> DataFrame:
    """Return a DataFrame whose plan is optimised; constants in it may fail. Raises if they do so for any rows."""
    from pyspark.errors import AnalysisException, PySparkException
    from pyspark.sql import DataFrame

    try:
        frame._jdf.queryExecution().optimizedPlan()
        return frame
    except AnalysisException:
        raise
    except PySparkException:
        spark, catalyst = frame.sparkSession, Catalyst(frame.sparkSession)
        analysed = frame._jdf.queryExecution().analyzed()
        catalyst.frame(spark, _without_row_by_row(spark, catalyst, analysed)).queryExecution().optimizedPlan()
        with _without_folding(spark):
            again = DataFrame(catalyst.frame(spark, analysed), spark)
            again._jdf.queryExecution().optimizedPlan()
        return again


@contextmanager
def _without_folding(spark: SparkSession) -> Iterator[None]:
    before = str(spark.conf.get(SETTING))
    spark.conf.set(SETTING, f"{before},{FOLDING}")
    try:
        yield
    finally:
        spark.conf.set(SETTING, before)


def _without_row_by_row(spark: SparkSession, catalyst: Catalyst, node: Java) -> Java:
    """Return a plan with its projections and filters of inputs replaced by relations without rows."""
    from pyspark.sql.types import _parse_datatype_json_string

    if _is_row_by_row(node):
        schema: Java = _parse_datatype_json_string(node.schema().json())
        leaf = spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)._jdf.queryExecution().analyzed()
        pairs = zip(items_of(leaf.output()), items_of(node.output()), strict=True)
        return catalyst.logical.Project(catalyst.list([catalyst.alias(each, like) for each, like in pairs]), leaf)
    below = [_without_row_by_row(spark, catalyst, each) for each in items_of(node.children())]
    return node.withNewChildren(catalyst.list(below).toIndexedSeq()) if below else node


def _is_row_by_row(node: Java) -> bool:
    if node.nodeName() == "LogicalRDD":
        return True
    return node.nodeName() in ROW_BY_ROW and _is_row_by_row(node.children().apply(0))
