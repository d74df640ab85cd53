"""A task that is made once, and runs in every micro-batch of a query, in the same process if no other query runs.

`DataFrame.mapInArrow` pickles its function each time, and makes a column of it with some dozens of calls into Java.
Spark gives a task to the process that was idle for the longest time. So tasks that keep state in memory would find that
another process has changed it, unless they have a pool of processes for themselves.
"""

from __future__ import annotations

import threading
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import StructType
from pyspark.util import PythonEvalType

from flo.sql.catalyst import quoted

OWN_POOL = {"FLO_SMALL_MICRO_BATCHES": "1"}
"""Spark has a pool of processes for each set of environment variables."""
_lock = threading.Lock()
"""Held while the environment of the context is changed."""


def column_of_task(rows: DataFrame, task: Any, returns: StructType) -> Column:
    """A task for rows with these columns, as Spark knows it."""
    context = rows.sparkSession.sparkContext
    function: Any = pandas_udf(task, returns, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)  # type: ignore[call-overload]
    with _lock:
        context.environment = {**context.environment, **OWN_POOL}
        try:
            column: Column = function(*(col(quoted(name)) for name in rows.columns))
        finally:  # another thread may have added variables meanwhile
            environment = {**context.environment}
            context.environment = {name: value for name, value in environment.items() if name not in OWN_POOL}
    return column


def map_in_one_task(rows: DataFrame, task: Column) -> DataFrame:
    """The results of a task for all partitions of the rows, one after the other."""
    return DataFrame(rows._jdf.coalesce(1).mapInArrow(task._jc, False, None), rows.sparkSession)


def count_partitions(rows: DataFrame) -> int:
    try:  # what Spark gives a micro-batch is an RDD already; this is not public
        return int(rows._jdf.logicalPlan().rdd().getNumPartitions())
    except Py4JError:  # another plan, which is planned once more to find out
        return rows.rdd.getNumPartitions()
