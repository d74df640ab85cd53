"""Queries of Spark SQL, and DataFrames, as views that are kept up to date.

What comes before the first stateful operator of an input runs in Catalyst, on rows with their weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructType

from flo.api.arguments import call_located
from flo.api.flow import Flow
from flo.api.scope import AnyStream
from flo.columns.row_types import _type_of_spark, row_type_of
from flo.core.errors import FloError, TypeMismatch, brief
from flo.pictures.notebook import html_text
from flo.spark.change_data import Upserts
from flo.spark.driver.python_errors import SparkErrors
from flo.spark.driver.query import Query
from flo.spark.driver.session_checks import connect_error, is_connect
from flo.spark.driver.source_scans import describe_shared
from flo.spark.on_spark import OnSpark
from flo.sql import plan
from flo.sql.catalyst import UnsupportedQueryError, expect_columns, leaves_of, number_of, quoted, stand_in
from flo.sql.compiler import Compiler
from flo.sql.java import Java, items_of
from flo.sql.mutual_recursion import Cycle, located, order_views, read_names
from flo.sql.native import Catalyst, Chain, FilterStep, Generated, Projected, SegmentStep, describe_steps, shown_steps
from flo.sql.nodes import column
from flo.sql.plan import Relation
from flo.sql.plan_reader import read_frame
from flo.sql.query import expect_distinct, expect_names, expect_result_names, planned, planned_frame, planning_session
from flo.sql.rejections import reject
from flo.tables.io.files import WEIGHTS
from flo.values.weighted import ZSet


def views(
    spark: SparkSession, queries: Mapping[str, str | DataFrame], inputs: Mapping[str, DataFrame | Upserts]
) -> Views:
    """Return queries as views over DataFrames, which are kept up to date with each micro-batch.

    SQL calls the inputs and the other queries by their names; a DataFrame is built over the inputs. An input with a
    column `_weight` has changes: a row with weight -1 is retracted. `flo.spark.Upserts` is an input whose rows replace
    those with the same key.
    """
    with SparkErrors():
        return call_located(Views, spark, queries, inputs)


class Views:
    """Queries over DataFrames, ready to run. Made by `flo.spark.views`."""

    def __init__(
        self, spark: SparkSession, queries: Mapping[str, str | DataFrame], inputs: Mapping[str, DataFrame | Upserts]
    ) -> None:
        _expect_arguments(spark, queries, inputs)
        self.spark = spark
        self.flow = Flow("views")
        self._inputs = inputs
        self._frames: dict[str, DataFrame] = {}
        self._described: dict[str, str] = {}
        self._native: dict[str, str] = {}
        self._tables: dict[str, AnyStream] = {}
        """The streams of upserts, by input, and of views that read each other, by name."""
        self._compiler = Compiler(self._tables, spark, self.flow._scope)
        with planning_session(spark) as planner:
            numbers = {stand_in(planner, name, _row_schema(given)): name for name, given in inputs.items()}
            empty = planner.sparkContext.emptyRDD()
            # a DataFrame may pass the weights on to where nothing reads them
            stands = {name: planner.createDataFrame(empty, given.schema) for name, given in inputs.items()}
            numbers |= {number_of(stand): name for name, stand in stands.items()}
            reads = _reads(planner, queries, inputs)
            for names in order_views(reads):
                first, *others = names
                if others or first in reads[first]:
                    self._add_cycle(Cycle(planner, {name: str(queries[name]) for name in names}, numbers))
                    continue
                query = queries[first]
                try:
                    frame = (
                        planned(planner, query)
                        if isinstance(query, str)
                        else planned_frame(_over_stand_ins(query, inputs, stands))
                    )
                    self._add_view(first, frame, read_frame(frame, numbers))
                except FloError as error:
                    error.facts = (("view", first), *error.facts)
                    raise
                if first.lower() not in {each.lower() for each in inputs}:
                    frame.createOrReplaceTempView(quoted(first))  # for those that follow
        self._on_spark = OnSpark(self.flow, spark, self._described)

    def _add_view(self, name: str, frame: DataFrame, relation: Relation) -> None:
        """Make a query an output."""
        names = expect_result_names(frame)
        self._add_inputs(name, relation)
        self.flow.output(name, self._compiler.query(relation, names))

    def _add_cycle(self, cycle: Cycle) -> None:
        """Make queries that read each other outputs, and inputs of those that follow."""
        for name, relation in cycle.relations.items():
            located(name, self._add_inputs, name, relation)
        for name, rows in cycle.rows(self._compiler).items():
            self._tables[name] = rows
            self.flow.output(name, rows)

    def _add_inputs(self, name: str, relation: Relation) -> None:
        """Make streams of the inputs that a query reads."""
        _expect_no_weights(name, relation)
        for segment in _segments(relation):
            (source,) = plan.scans(segment)
            if source in self._tables:
                continue
            read = self._inputs[source]
            if isinstance(read, Upserts):  # what a row replaces must be known before rows are filtered
                self._tables[source] = self._table(source, read)
            else:
                self._compiler.shared(segment, self._input)

    def _table(self, name: str, given: Upserts) -> AnyStream:
        """Return the stream of an input whose rows are replaced by key."""
        self._frames[name] = given.changes()
        fields = [pa.field(each.name, _type_of_spark(each.dataType), each.nullable) for each in given.schema]
        key = given.key if isinstance(given.key, str) else list(given.key)
        return self.flow.table(name, row_type_of(pa.schema(fields)), key=key, order_by=given.order_by)

    def _input(self, segment: Relation) -> AnyStream:
        """Return the stream of an input that Catalyst projects and filters."""
        (source,) = plan.scans(segment)
        rows = self._inputs[source]
        assert isinstance(rows, DataFrame)
        taken = sum(each == source or each.startswith(f"{source}#") for each in self._frames)
        name = source if not taken else f"{source}#{taken + 1}"
        expect_columns(segment.columns)
        steps = steps_of(segment)
        self._frames[name] = run_steps(self.spark, steps, rows)
        self._described[name], self._native[name] = describe_steps(steps), shown_steps(steps)
        fields = [pa.field(each.column, each.type, each.nullable) for each in segment.columns]
        return self.flow.input(name, ZSet(row_type_of(pa.schema(fields or [_NO_COLUMNS]))))

    def start(self, outputs: Mapping[str, Any] | None = None, **options: Any) -> Query:
        """Start to maintain the views, as `flow.on(spark).start` does. An output without a sink is read as a view."""
        return self._on_spark.start(self._frames, outputs, **options)

    def run(self, **options: Any) -> dict[str, Any]:
        """Return the results for inputs that have ended, as DataFrames."""
        frames: Any = self._frames
        return self._on_spark.run(**options, **frames)

    def _repr_html_(self) -> str:
        return html_text(self.explain())

    def explain(self) -> str:
        """Return the plan as text: what Catalyst does with the inputs, the stages, the shuffles between them, and what
        state each operator keeps."""
        first, *lines = self._on_spark.explain().splitlines()
        width = max(map(len, self._native), default=0)
        inputs = [f"    {name.ljust(width)}   native: {steps}" for name, steps in self._native.items()]
        with SparkErrors():
            shared = describe_shared(self._on_spark._scans(self._frames))
        inputs += [f"    read once for {names}" for names in shared]
        return "\n".join([first, "  at the inputs", *inputs, *lines])


def _reads(
    spark: SparkSession, queries: Mapping[str, str | DataFrame], inputs: Mapping[str, object]
) -> dict[str, set[str]]:
    """Return the views that each view reads: a text may read any, but where an input has the name of a view."""
    taken = {name.lower() for name in inputs}
    views = {name.lower(): name for name in queries if name.lower() not in taken}
    names = {name: read_names(spark, each) if isinstance(each, str) else set() for name, each in queries.items()}
    return {name: {views[each] for each in some if each in views} for name, some in names.items()}


_NO_COLUMNS = pa.field("==row", pa.int32(), False)


def _row_schema(given: DataFrame | Upserts) -> StructType:
    if isinstance(given, Upserts):
        return given.schema
    return StructType([field for field in given.schema if field.name != WEIGHTS])


def _expect_arguments(spark: object, queries: Mapping[str, object], inputs: Mapping[str, object]) -> None:
    if is_connect(spark):
        raise connect_error("`views` was given a session of Spark Connect")
    if not queries or not inputs:
        raise TypeMismatch("`views` must get at least one query and one input")
    expect_names("input", inputs)
    expect_names("view", queries)
    for name, query in queries.items():
        if not isinstance(query, (str, DataFrame)):
            raise TypeMismatch(f"the view `{name}` must be a query as text or a DataFrame; got {brief(query)}")
    for name, given in inputs.items():
        if not isinstance(given, (DataFrame, Upserts)):
            raise TypeMismatch(f"the input `{name}` must be a DataFrame or `flo.spark.Upserts`; got {brief(given)}")
        expect_distinct(tuple(given.schema.names), f"the input `{name}` has")
        _expect_weights(name, given)


def _expect_weights(name: str, frame: DataFrame | Upserts) -> None:
    """Raise if the weights of an input have another type than Flo's, or a name that Spark takes for theirs."""
    for field in frame.schema:
        if field.name.lower() == WEIGHTS and not (field.name == WEIGHTS and isinstance(field.dataType, LongType)):
            raise TypeMismatch(
                f"the column `{WEIGHTS}` of the input `{name}` must be bigint; "
                f"got `{field.name}` of type {field.dataType.simpleString()}",
                instead=((f'frame.withColumn("{WEIGHTS}", col("{field.name}").cast("long"))', ""),),
            )


def _expect_no_weights(view: str, relation: Relation) -> None:
    """Raise if a query reads the weights as a column."""
    names = {new.column for scan in _scans(relation) for new, old in scan.pairs if old == WEIGHTS}
    read = {name for each in _relations(relation) for node in plan.nodes_of(each) for name in node.reads}
    read |= {each.column for rows in (relation, *_segments(relation)) for each in rows.columns}
    if names & read:
        raise TypeMismatch(
            f"the view `{view}` reads the column `{WEIGHTS}` of an input, which says how often a row is there",
            instead=((f'frame.drop("{WEIGHTS}")', "the rows alone: Flo keeps their weights"),),
        )


def _relations(relation: Relation) -> Iterator[Relation]:
    """Yield a relation and all that it is made of."""
    yield relation
    for below in plan.relations_in(relation):
        yield from _relations(below)


def _scans(relation: Relation) -> list[plan.TableScan]:
    return [each for each in _relations(relation) if isinstance(each, plan.TableScan)]


def _segments(relation: Relation) -> list[Relation]:
    """Return the parts of a plan that Catalyst runs on the inputs."""
    if plan.is_stateless(relation):
        return [relation]
    return [segment for below in plan.relations_in(relation) for segment in _segments(below)]


def steps_of(segment: Relation) -> tuple[SegmentStep, ...]:
    """Return the steps of a chain of projections and filters over an input."""
    match segment:
        case plan.Project():
            return (*steps_of(segment.below), Projected(tuple((e.column.column, e.given) for e in segment.given)))
        case plan.Filter():
            return (*steps_of(segment.below), FilterStep(segment.condition))
        case plan.Generate():
            items = Generated(segment.generator, segment.outer, segment.items)
            return (*steps_of(segment.below), items, Projected(tuple((e.column, e) for e in segment.columns)))
    assert isinstance(segment, plan.TableScan)
    pairs = ((new, old) for new, old in segment.pairs if old != WEIGHTS)
    return (Projected(tuple((new.column, column(old, new.type, new.nullable)) for new, old in pairs)),)


def run_steps(spark: SparkSession, steps: tuple[SegmentStep, ...], rows: DataFrame) -> DataFrame:
    """Return the rows of a chain of projections and filters over a DataFrame, with their weights if it has them."""
    is_weighted = WEIGHTS in rows.columns
    given = rows if is_weighted else rows.withColumn(WEIGHTS, sf.lit(1).cast("long"))
    chain = Chain(spark, _row_schema(rows), steps)
    frame: DataFrame = chain.over(given, WEIGHTS)
    if not chain.names:
        frame = frame.select(sf.lit(0).alias(_NO_COLUMNS.name), sf.col(WEIGHTS))
    return frame if is_weighted else frame.drop(WEIGHTS)


def _over_stand_ins(
    frame: DataFrame, inputs: Mapping[str, DataFrame | Upserts], stands: Mapping[str, DataFrame]
) -> DataFrame:
    """Return a DataFrame over the stand-ins of the inputs that it was built over."""
    planner = next(iter(stands.values())).sparkSession
    catalyst = Catalyst(planner)
    frames = {name: each.frame if isinstance(each, Upserts) else each for name, each in inputs.items()}
    given = {name: each._jdf.queryExecution().analyzed() for name, each in frames.items()}

    def rebuild(node: Java) -> Java:
        for name, analyzed in given.items():
            if node.sameResult(analyzed):
                (leaf,) = leaves_of(stands[name]._jdf.queryExecution().analyzed())
                fresh = leaf.newInstance()
                names = stands[name].columns  # those of upserts lack the column that says what is deleted
                pairs = zip(items_of(analyzed.output()), items_of(node.output()), strict=True)  # it may rename them
                output = [new for old, new in pairs if old.name() in names]
                columns = zip(items_of(fresh.output()), output, strict=True)
                renamed = [catalyst.alias(column, like) for column, like in columns]
                return catalyst.logical.Project(catalyst.list(renamed), fresh)
        below = items_of(node.children())
        if node.subqueries().size():
            raise UnsupportedQueryError(
                node.nodeName(),
                "a DataFrame must not have subqueries; a text may",
                node.simpleString(80),
                ('{"name": "SELECT … WHERE x > (SELECT …)"}', "the query as a text"),
            )
        if node.nodeName() == "EventTimeWatermark":
            raise reject("EventTimeWatermark")  # Spark drops it, as the stand-ins are not streaming
        if not below:
            raise TypeMismatch(
                "a DataFrame reads something that is none of the inputs", facts=(("it reads", node.simpleString(80)),)
            )
        return node.withNewChildren(catalyst.list([rebuild(each) for each in below]).toIndexedSeq())

    return DataFrame(catalyst.frame(planner, rebuild(frame._jdf.queryExecution().analyzed())), planner)
