"""Queries of Spark SQL, and DataFrames, as views that are kept up to date.

What comes before the first stateful operator of an input runs in Catalyst, on rows with their weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from flo.api.flow import Flow
from flo.columns.row_types import _type_of_spark, row_type_of
from flo.core.errors import FloError, Origin, TypeMismatch
from flo.spark.change_data import Upserts
from flo.spark.driver.query import Query
from flo.spark.on_spark import OnSpark
from flo.sql import plan
from flo.sql.catalyst import items_of, leaves_of, stand_in
from flo.sql.compiler import compile_query
from flo.sql.plan import Relation
from flo.sql.plan_reader import read_frame
from flo.sql.query import expect_distinct, planned, planning_session
from flo.tables.io.files import WEIGHTS
from flo.values.weighted import ZSet


def views(
    spark: SparkSession, queries: Mapping[str, str | DataFrame], inputs: Mapping[str, DataFrame | Upserts]
) -> Views:
    """Return queries as views over DataFrames, which are kept up to date with each micro-batch.

    SQL calls the inputs and earlier queries by their names; a DataFrame is built over the inputs. An input with a
    column `_weight` has changes: a row with weight -1 is retracted. `flo.spark.Upserts` is an input whose rows replace
    those with the same key.
    """
    here = Origin.here()
    try:
        return Views(spark, queries, inputs)
    except FloError as error:
        raise error.located(here) from error.__cause__


class Views:
    """Queries over DataFrames, ready to run. Made by `flo.spark.views`."""

    def __init__(
        self, spark: SparkSession, queries: Mapping[str, str | DataFrame], inputs: Mapping[str, DataFrame | Upserts]
    ) -> None:
        if not queries or not inputs:
            raise TypeMismatch("`views` must get at least one query and one input")
        self.spark = spark
        self.flow = Flow("views")
        self._frames: dict[str, DataFrame] = {}
        self._made: dict[Relation, Any] = {}
        """The streams of inputs that Catalyst projects and filters."""
        self._tables: dict[str, Any] = {}
        """The streams of upserts, by input."""
        with planning_session(spark) as planner:
            numbers = {stand_in(planner, name, _row_schema(given)): name for name, given in inputs.items()}
            for name, given in queries.items():
                try:
                    frame = (
                        planned(planner, given) if isinstance(given, str) else _over_stand_ins(given, inputs, planner)
                    )
                    self._add_view(name, frame, read_frame(frame, numbers), inputs)
                except FloError as error:
                    error.facts = (("view", name), *error.facts)
                    raise
                if name not in inputs:
                    frame.createOrReplaceTempView(name)  # for those that follow
        self._on_spark = OnSpark(self.flow, spark)

    def _add_view(self, name: str, frame: DataFrame, query: Any, inputs: Mapping[str, DataFrame | Upserts]) -> None:
        """Make a query an output."""
        expect_distinct(tuple(frame.columns))
        for segment in _segments(query.relation):
            (source,) = plan.scans(segment)
            read = inputs[source]
            if isinstance(read, Upserts):  # what a row replaces must be known before rows are filtered
                if source not in self._tables:
                    self._tables[source] = self._table(source, read)
            elif segment not in self._made:
                self._made[segment] = self._input(source, segment, query.native[segment], read)
        found = compile_query(query.relation, self._tables, tuple(frame.columns), self._made, scope=self.flow._scope)
        self.flow.output(name, found)

    def _table(self, name: str, given: Upserts) -> Any:
        """Return the stream of an input whose rows are replaced by key."""
        self._frames[name] = given.changes()
        fields = [pa.field(each.name, _type_of_spark(each.dataType), each.nullable) for each in given.schema]
        key = given.key if isinstance(given.key, str) else list(given.key)
        return self.flow.table(name, row_type_of(pa.schema(fields)), key=key, order_by=given.order_by)

    def _input(self, source: str, segment: Relation, node: Any, rows: DataFrame) -> Any:
        """Return the stream of an input that Catalyst projects and filters."""
        taken = sum(each == source or each.startswith(f"{source}#") for each in self._frames)
        name = source if not taken else f"{source}#{taken + 1}"
        self._frames[name] = run_segment(self.spark, node, segment, rows)
        fields = [pa.field(each.column, each.type, each.nullable) for each in segment.columns]
        return self.flow.input(name, ZSet(row_type_of(pa.schema(fields or [_NO_COLUMNS]))))

    def start(self, outputs: Mapping[str, Any] | None = None, **options: Any) -> Query:
        """Start to maintain the views, as `flow.on(spark).start` does. An output without a sink is read as a view."""
        return self._on_spark.start(self._frames, outputs, **options)

    def run(self, **options: Any) -> dict[str, Any]:
        """Return the results for inputs that have ended, as DataFrames."""
        frames: Any = self._frames
        return self._on_spark.run(**options, **frames)

    def explain(self) -> str:
        """Return the plan as text: the stages, the shuffles between them, and what state each operator keeps."""
        return self._on_spark.explain()


_NO_COLUMNS = pa.field("==row", pa.int32(), False)


def _row_schema(given: DataFrame | Upserts) -> StructType:
    if isinstance(given, Upserts):
        return given.schema
    return StructType([field for field in given.schema if field.name != WEIGHTS])


def _segments(relation: Relation) -> list[Relation]:
    """Return the parts of a plan that Catalyst runs on the inputs."""
    if plan.is_stateless(relation):
        return [relation]
    return [segment for below in plan.relations_in(relation) for segment in _segments(below)]


def run_segment(spark: SparkSession, node: Any, segment: Relation, rows: DataFrame) -> DataFrame:
    """Return the rows of a chain of projections and filters over a DataFrame, with their weights."""
    if WEIGHTS not in rows.columns:
        rows = rows.withColumn(WEIGHTS, sf.lit(1).cast("long"))
    rebuilt = _rebuilt(_Catalyst(spark), node, rows)
    frame = DataFrame(rebuilt, spark)
    names = [each.column for each in segment.columns]
    if not names:
        return frame.select(sf.lit(0).alias("==row"), sf.col(WEIGHTS))
    return frame.toDF(*names, WEIGHTS)


class _Catalyst:
    """What is needed of Catalyst to build plans."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        jvm: Any = spark._jvm
        self.jvm = jvm
        self.logical = jvm.org.apache.spark.sql.catalyst.plans.logical
        self.none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
        self.nil = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")

    def list(self, items: list[Any]) -> Any:
        found = self.jvm.java.util.ArrayList()
        for item in items:
            found.add(item)
        return self.jvm.org.apache.spark.api.python.PythonUtils.toSeq(found).toList()

    def alias(self, given: Any, like: Any) -> Any:
        """Return a column with the name and number of another."""
        make = self.jvm.org.apache.spark.sql.catalyst.expressions.Alias
        return make(given, like.name(), like.exprId(), self.nil, self.none, self.nil)

    def frame(self, plan: Any) -> Any:
        dataset = getattr(getattr(self.jvm.org.apache.spark.sql.classic, "Dataset$"), "MODULE$")
        return dataset.ofRows(self.spark._jsparkSession, plan)


def _rebuilt(catalyst: _Catalyst, node: Any, rows: DataFrame) -> Any:
    plan = rows._jdf.queryExecution().analyzed()
    given = {column.name(): column for column in items_of(plan.output())}
    weight = given[WEIGHTS]
    leaf = leaves_of(node)[0]
    renamed = [catalyst.alias(given[each.name()], each) for each in items_of(leaf.output())]

    def rebuild(each: Any) -> Any:
        below = items_of(each.children())
        if not below:
            return catalyst.logical.Project(catalyst.list([*renamed, weight]), plan)
        child = rebuild(below[0])
        if each.nodeName() == "Project":
            return catalyst.logical.Project(catalyst.list([*items_of(each.projectList()), weight]), child)
        made = each.withNewChildren(catalyst.list([child]).toIndexedSeq())
        return catalyst.logical.Project(catalyst.list([*items_of(each.output()), weight]), made)

    return catalyst.frame(rebuild(node))


def _over_stand_ins(frame: DataFrame, inputs: Mapping[str, DataFrame | Upserts], planner: SparkSession) -> DataFrame:
    """Return a DataFrame over the stand-ins of the inputs that it was built over."""
    catalyst = _Catalyst(planner)
    frames = {name: each.frame if isinstance(each, Upserts) else each for name, each in inputs.items()}
    given = {name: each._jdf.queryExecution().analyzed() for name, each in frames.items()}

    def rebuild(node: Any) -> Any:
        for name, analyzed in given.items():
            if node.sameResult(analyzed):
                stand = planner.table(name)._jdf.queryExecution().analyzed()
                (leaf,) = leaves_of(stand)
                fresh = leaf.newInstance()
                columns = {column.name(): column for column in items_of(fresh.output())}
                output = [each for each in items_of(node.output()) if each.name() in columns]  # without weights
                renamed = [catalyst.alias(columns[each.name()], each) for each in output]
                return catalyst.logical.Project(catalyst.list(renamed), fresh)
        below = items_of(node.children())
        if not below:
            raise TypeMismatch(
                "a DataFrame reads something that is none of the inputs", facts=(("it reads", node.simpleString(80)),)
            )
        return node.withNewChildren(catalyst.list([rebuild(each) for each in below]).toIndexedSeq())

    return DataFrame(catalyst.frame(rebuild(frame._jdf.queryExecution().analyzed())), planner)
