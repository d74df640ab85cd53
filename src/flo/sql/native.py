"""Expressions that Spark evaluates between stateful operators: projections, filters and generators of rows, run by
Catalyst.

A segment is a chain of these. It is a function from a row to rows, so it is exact for rows that are retracted. On
Spark the planner cuts the program at a segment, and Catalyst runs it on the rows of the
micro-batch. In process it runs through the session that planned the query, and so does a segment in a body of `nest` or
`per_key` on Spark: the driver runs the stage of that body.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, with_all_buffers
from flo.columns.layout import Layout
from flo.columns.projection import Flattening
from flo.columns.row_types import row_type_of
from flo.core.errors import FloError
from flo.sql.catalyst import expect_columns, without_addresses
from flo.sql.java import EXPRESSIONS, Java, items_of, java_package, list_of, scala_object
from flo.sql.nodes import MONTHS, Expr, SqlError, column, is_opaque

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

BESIDE = "==beside"
"""The column that travels beside those of the rows: a weight, or the index of a row."""
REMEMBERED = 1 << 16
"""For how many rows the results are kept, where they are asked for one by one."""


@dataclass(frozen=True)
class Projected:
    """A step: other columns for each row."""

    given: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True)
class FilterStep:
    """A step: the rows for which a condition holds."""

    condition: Expr


@dataclass(frozen=True)
class Generated:
    """A step: a row for each item that a generator makes of a row, with the item in more columns."""

    generator: Expr
    outer: bool
    """Whether a row without items is kept, with nulls."""
    items: tuple[Expr, ...]
    """The columns with the item."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.column for each in self.items)


SegmentStep: TypeAlias = Projected | FilterStep | Generated


BRANCHES = ("And", "Or", "If", "IsNull", "IsNotNull")
"""Classes that Flo puts around expressions of a query, to say for which rows they are computed. Catalyst has them."""
PLAIN = (pa.int32(), pa.float64(), pa.bool_(), pa.string())
"""The types of constants that py4j passes on as they are."""


def can_run_natively(node: Expr) -> bool:
    """Return whether an expression consists of columns and of what Catalyst has."""
    if node.is_column:
        return True
    known = node.catalyst is not None or node.name in BRANCHES or _is_plain(node)
    return known and all(map(can_run_natively, node.children))


def _is_plain(node: Expr) -> bool:
    """Return whether it is a constant that Catalyst can be given, or a null."""
    nothing = node.option("value") is None and not (is_opaque(node.type) or node.type == MONTHS)
    return node.name == "Literal" and (nothing or node.type in PLAIN)


class Chain:
    """Steps as a plan of Catalyst, over any DataFrame with the columns of a schema."""

    def __init__(self, spark: SparkSession, schema: StructType, steps: tuple[SegmentStep, ...]) -> None:
        from pyspark.sql.types import LongType, StructType

        self._catalyst = Catalyst(spark)
        fields = StructType([*schema.fields]).add(BESIDE, LongType(), False)
        rows = spark.createDataFrame(spark.sparkContext.emptyRDD(), fields)
        self._inputs = items_of(rows._jdf.queryExecution().analyzed().output())
        *own, self._beside = self._inputs
        columns = {each.name(): each for each in own}
        self._steps: list[Callable[[Java], Java]] = []
        """What each step makes of a plan."""
        for step in steps:
            columns = self._add(step, columns)
        self.names = tuple(columns)

    def _add(self, step: SegmentStep, columns: dict[str, Java]) -> dict[str, Java]:
        """Add a step, and return the columns after it."""
        catalyst = self._catalyst
        match step:
            case FilterStep():
                condition = self._expression(step.condition, columns)
                self._steps.append(lambda plan: catalyst.logical.Filter(condition, plan))
                return columns
            case Projected():
                new = {name: catalyst.named(self._expression(node, columns), name) for name, node in step.given}
                given = catalyst.list([*new.values(), self._beside])
                self._steps.append(lambda plan: catalyst.logical.Project(given, plan))
                return {name: each.toAttribute() for name, each in new.items()}
        generator = self._expression(step.generator, columns)
        items = dict(zip(step.names, catalyst.items(generator, step.names, step.outer), strict=True))
        output, nothing = catalyst.list([*items.values()]).toIndexedSeq(), catalyst.nil
        self._steps.append(
            lambda plan: catalyst.logical.Generate(generator, nothing, step.outer, catalyst.none, output, plan)
        )
        return {**columns, **items}

    def _expression(self, node: Expr, columns: Mapping[str, Java]) -> Java:
        """Return an expression of Catalyst over these columns."""
        if node.is_column:
            return columns[node.column]
        if not node.children:
            return self._catalyst.constant(node) if node.catalyst is None else node.catalyst
        children = [self._expression(child, columns) for child in node.children]
        if node.catalyst is None:
            return getattr(self._catalyst.expressions, node.name)(*children)
        given = node.catalyst.withNewChildren(self._catalyst.list(children).toIndexedSeq())
        return self._catalyst.of_each_row(given) if fails(given) else given

    def over(self, rows: DataFrame, beside: str) -> DataFrame:
        """Return the results for the rows of a DataFrame, and one more of its columns, unchanged."""
        from pyspark.sql import DataFrame

        spark, catalyst = rows.sparkSession, self._catalyst
        plan = rows._jdf.queryExecution().analyzed()
        given = {each.name(): each for each in items_of(plan.output())}
        renamed = [
            catalyst.alias(given[beside if like is self._beside else like.name()], like) for like in self._inputs
        ]
        plan = catalyst.logical.Project(catalyst.list(renamed), plan)
        for step in self._steps:
            plan = step(plan)
        return DataFrame(catalyst.frame(spark, plan), spark).withColumnRenamed(BESIDE, beside)


class Catalyst:
    """What is needed of Catalyst to build plans."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.expressions = java_package(EXPRESSIONS)
        self.logical = java_package("org.apache.spark.sql.catalyst.plans.logical")
        self.none = scala_object(java_package("scala"), "None")
        self.nil = scala_object(java_package("scala.collection.immutable"), "Nil")
        self._numbers = scala_object(self.expressions, "NamedExpression")

    def list(self, items: list[Java]) -> Java:
        return list_of(items)

    def alias(self, given: Java, like: Java) -> Java:
        """Return a column with the name and number of another."""
        return self._alias(given, like.name(), like.exprId())

    def named(self, given: Java, name: str) -> Java:
        return self._alias(given, name, self._numbers.newExprId())

    def items(self, generator: Java, names: tuple[str, ...], outer: bool) -> tuple[Java, ...]:
        """Return new columns for the items of a generator."""
        nothing = java_package("org.apache.spark.sql.types").Metadata.empty()
        make = self.expressions.AttributeReference
        fields = zip(names, generator.elementSchema().fields(), strict=True)
        return tuple(
            make(name, each.dataType(), outer or each.nullable(), nothing, self._numbers.newExprId(), self.nil)
            for name, each in fields
        )

    def of_each_row(self, given: Java) -> Java:
        """Return an expression in a branch that every row takes, though the optimiser does not know: so it is computed
        for rows, and not when the plan is made, and where it stands in the plan."""
        of = self.expressions
        always = of.GreaterThanOrEqual(of.SparkPartitionID(), of.Literal(0, of.SparkPartitionID().dataType()))
        return of.If(always, given, of.Literal(None, given.dataType()))

    def constant(self, node: Expr) -> Java:
        """Return a constant of Flo's."""
        value = node.option("value")
        if value is not None:
            return scala_object(self.expressions, "Literal").apply(value)
        (field,) = spark_schema(pa.schema([("null", node.type)])).fields
        return self.expressions.Literal(None, self.spark._jsparkSession.parseDataType(field.dataType.json()))

    def _alias(self, given: Java, name: str, number: Java) -> Java:
        return self.expressions.Alias(given, name, number, self.nil, self.none, self.nil)

    def frame(self, spark: SparkSession, plan: Java) -> Java:
        dataset = scala_object(java_package("org.apache.spark.sql.classic"), "Dataset")
        return dataset.ofRows(spark._jsparkSession, plan)


class Segment(Flattening):
    """A chain of projections, filters and generators that Spark runs, as a function from a row to rows.

    Identified by its text.
    """

    def __init__(self, spark: SparkSession, layout: Layout, steps: tuple[SegmentStep, ...]) -> None:
        self.spark = spark
        self.input = layout
        self.steps = steps
        columns = _columns_after(layout, steps)
        expect_columns(columns)
        self.row = row_type_of(pa.schema([pa.field(each.column, each.type, each.nullable) for each in columns]))
        self.returns = list[self.row]  # type: ignore[name-defined]
        self.text = f"native: {describe_steps(steps)}"
        self.__name__ = self.explained = f"native: {shown_steps(steps)}"
        self._known: OrderedDict[Any, list[Any]] = OrderedDict()

    def then(self, step: SegmentStep) -> Segment:
        return Segment(self.spark, self.input, (*self.steps, step))

    @cached_property
    def output(self) -> Layout:
        """The layout of the rows that it makes."""
        layout = Layout.of(self.row)
        assert layout is not None
        return layout

    @cached_property
    def chain(self) -> Chain:
        self._expect_session()
        return Chain(self.spark, spark_schema(self.input.schema), self.steps)

    def _expect_session(self) -> None:
        """Raise if the session has ended."""
        if self.spark.sparkContext._jsc is None:
            raise FloError(
                f"`{self.__name__}` runs in Spark, but the session that planned the query has been stopped",
                instead=(("flow.sql(…)", "plans the query again, in the session that is active then"),),
            )

    def __call__(self, element: Any) -> list[Any]:
        if element not in self._known:
            self.prepare([element])
        self._known.move_to_end(element)
        return self._known[element]

    def prepare(self, elements: list[Any]) -> None:
        """Evaluate all these rows at once; the calls that follow find their results."""
        asked = list(dict.fromkeys(each for each in elements if each not in self._known))
        if asked:
            table, places = self.flattened(self.input.to_table(asked))
            results: list[list[Any]] = [[] for _ in asked]
            for place, row in zip(places.tolist(), self.output.to_elements(table), strict=True):
                results[place].append(row)
            self._known.update(zip(asked, results, strict=True))
        while len(self._known) > max(REMEMBERED, len(elements)):
            self._known.popitem(last=False)

    def flattened(self, table: pa.Table) -> tuple[pa.Table, Indices]:
        self._expect_session()
        rows = table.select(self.input.names).append_column(BESIDE, pa.array(np.arange(table.num_rows)))
        given = self.spark.createDataFrame(rows, spark_schema(rows.schema))
        results = _collected(self.chain.over(given, BESIDE))
        return self.output.fitted(results.drop_columns([BESIDE])), results[BESIDE].to_numpy()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Segment) and (other.steps, other.input) == (self.steps, self.input)

    def __hash__(self) -> int:
        return hash(self.text)


def _collected(frame: DataFrame) -> pa.Table:
    """Return the rows of a DataFrame. An error that Spark raises for a row is one of the query."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        rows = frame.toArrow()
        return pa.Table.from_batches([with_all_buffers(each) for each in rows.to_batches()], rows.schema)
    except (PySparkException, Py4JJavaError) as error:
        of_row = row_error(str(error))
        if of_row is None:
            raise
        raise of_row from error


def row_error(text: str) -> SqlError | None:
    """Return the error of a query that a message of Spark names; None if it names none."""
    named = _CONDITION.search(text)
    if named is not None:
        return SqlError(named[1], named[2].strip())
    overflow = _OVERFLOW.search(text)
    return None if overflow is None else SqlError("ARITHMETIC_OVERFLOW", overflow[1])


_OVERFLOW = re.compile(r"((?:integer|long) overflow)\s*$", re.MULTILINE)
"""The message of Java's own error, which has no name in Spark."""
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] ([^\n]*)")
"""The name that Spark gives an error, and its message."""


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the types of columns in Spark."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def fails(given: Java) -> bool:
    """Return whether an expression of Catalyst is a constant that fails. All others are literals by now."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    if not given.foldable():
        return False
    try:
        given.eval(None)
        return False
    except (PySparkException, Py4JJavaError):
        return True


def _columns_after(layout: Layout, steps: tuple[SegmentStep, ...]) -> tuple[Expr, ...]:
    columns = tuple(column(field.name, field.type, field.nullable) for field in layout.schema)
    for step in steps:
        if isinstance(step, Projected):
            columns = tuple(column(name, node.type, node.nullable) for name, node in step.given)
        elif isinstance(step, Generated):
            columns = (*columns, *step.items)
    return columns


def describe_steps(steps: tuple[SegmentStep, ...]) -> str:
    """Return the text that identifies steps from one run to the next."""
    return "; ".join(map(_text, steps))


def _text(step: SegmentStep) -> str:
    if isinstance(step, FilterStep):
        return f"where {step.condition.text}"
    if isinstance(step, Generated):
        return f"{', '.join(step.names)} of {'outer ' * step.outer}{step.generator.text}"
    return ", ".join(f"{name} = {node.text}" for name, node in step.given)


def shown_steps(steps: tuple[SegmentStep, ...]) -> str:
    """Return what the steps compute, as SQL."""
    parts = []
    for step in steps:
        if isinstance(step, FilterStep):
            parts.append(f"where {sql_of(step.condition)}")
        elif isinstance(step, Generated):
            parts.append(sql_of(step.generator))
        else:
            computed = [sql_of(node) for _, node in step.given if not node.is_column]
            parts += [", ".join(computed)] if computed else []
    return "; ".join(parts) or "columns as they are"


def sql_of(node: Expr) -> str:
    """Return an expression as SQL, as the query has it."""
    if node.is_column or node.catalyst is None:
        return node.described
    return without_addresses(node.catalyst.sql())
