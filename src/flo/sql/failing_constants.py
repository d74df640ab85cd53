"""Constants that fail, such as `1/0`, in a query: an error of the rows that reach it, not of the query.

Spark computes constants when it plans a query. One that fails is an error at once, unless it is in a branch of CASE or
the like, or in a projection or a filter of rows that Spark has at hand: these it computes first, row by row. Flo does
the same with the projections and filters of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flo.sql.catalyst import RULES, items_of
from flo.sql.native import Catalyst
from flo.sql.nodes import Java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
