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

from flo.spark.driver.tasks_in_driver import collect_in_driver, task_in_driver
from flo.sql.catalyst import quoted
from flo.sql.java import Java, java_package

OWN_POOL = {"FLO_SMALL_MICRO_BATCHES": "1"}
"""Spark has a pool of processes for each set of environment variables."""
_lock = threading.Lock()
"""Held while the environment of the context is changed."""


class LastingTask:
    """A task for all partitions of the rows of a micro-batch, one after the other.

    Spark plans it once. The micro-batches of a query have the same columns, so that of a later one only the RDD is
    new. `DataFrame.collect` would plan it, describe the plan as a text and open a socket each time."""

    def __init__(self, rows: DataFrame, task: Any, returns: StructType, place: int) -> None:
        """A task whose results have bytes in the column at a place."""
        column = _column_of_task(rows, task, returns)
        plans = java_package("org.apache.spark.sql.execution")
        self._scan, self._coalesce = plans.RDDScanExec, plans.CoalesceExec
        self._defaults = [getattr(self._scan, f"apply$default${place}")() for place in (4, 5, 6)]
        self._place = place
        self._columns = rows._jdf.logicalPlan().output()
        self._map = rows._jdf.mapInArrow(column._jc, False, None).queryExecution().sparkPlan()
        self._in_driver = task_in_driver(rows.sparkSession, self._map, self._columns, place)

    def collect_in_driver(self, rows: DataFrame, most: int, properties: tuple[str, str]) -> list[bytes] | None:
        """Runs the task on a micro-batch in this thread, if that is possible."""
        return None if self._in_driver is None else collect_in_driver(self._in_driver, rows, most, properties)

    def collect(self, rdd: Java) -> list[bytes]:
        """Runs the task on the RDD of a micro-batch, as a job. Its results must be few."""
        scan = self._scan(self._columns, rdd, "micro-batch", *self._defaults)
        plan = self._map.withNewChildInternal(self._coalesce(1, scan))
        return [bytes(row.getBinary(self._place)) for row in plan.executeCollect()]


def rdd_of(rows: DataFrame) -> Java:
    """The RDD of Spark's own rows."""
    try:  # what Spark gives a micro-batch is an RDD already; this is not public
        return rows._jdf.logicalPlan().rdd()
    except Py4JError:  # another plan
        return rows._jdf.queryExecution().toRdd()


def estimate_bytes(rows: DataFrame) -> int:
    """How many bytes the rows have, as Spark estimates from the sizes of files. It takes them for enormous if it does
    not know, as with a topic of Kafka."""
    return int(str(rows._jdf.logicalPlan().stats().sizeInBytes()))


def _column_of_task(rows: DataFrame, task: Any, returns: StructType) -> Column:
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
