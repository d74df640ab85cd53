"""The plan of a micro-batch read by a batch job, in place of the RDD that Spark makes of it for `foreachBatch`.

    as a rule    files ─> scan, expressions ─> rows as bytes ─> expressions of an output ─> rows as bytes ─> Parquet
    here         files ─> scan, expressions, expressions of an output ─────────────────────> rows as bytes ─> Parquet

Catalyst cannot see through an RDD. So each row is written twice, and all columns that the first part has are computed.
Here both parts are one plan, which Catalyst optimises as a whole.

Only projections and filters over files are read so, and only by one job: a plan that is run twice may give other rows,
if its expressions are not the same each time. Spark's own plan does not run then. It counts the rows that its scan has
read; they are added to that count (`note_rows`). Flo counts the rows before a filter in the same way as Spark's scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pyspark.sql import DataFrame

from flo.spark.driver.file_statistics import count_rows
from flo.spark.driver.inputs import counter_name
from flo.sql.java import Java, java_package, scala_object
from flo.sql.native import Catalyst

STEPS, RELATION = ("Project", "Filter"), "LogicalRelation"
OBSERVED = "CollectMetrics"
"""The node of our own count of rows, which `count_rows` does in its place."""
COUNTER = "numOutputRows"


@dataclass(frozen=True)
class DirectRead:
    """The rows of a micro-batch, as a plan over files."""

    frame: DataFrame
    execution: Java
    """Spark's own execution of the micro-batch, which does not run."""
    rows: int
    """How many rows the files have, if that was asked for."""

    @classmethod
    def of(cls, rows: DataFrame, execution: Java | None, counted: bool) -> Self | None:
        """Return how a micro-batch is read; None if it does more than to read files, to compute columns and to filter,
        or if its rows are to be counted and the driver cannot."""
        if execution is None:
            return None
        node, above = execution.optimizedPlan(), []
        patterns = scala_object(java_package("org.apache.spark.sql.catalyst.trees"), "TreePattern")
        if node.containsPattern(patterns.PLAN_EXPRESSION()):
            return None
        while (name := node.nodeName()) in STEPS or (name == OBSERVED and node.name().startswith(counter_name(""))):
            above += [node] if name in STEPS else []
            node = node.child()
        count = count_rows(node.relation()) if name == RELATION and counted else 0
        filters = any(each.nodeName() == "Filter" for each in above)
        if name != RELATION or count is None or (filters and not counted):
            return None  # rows that the user filters out are counted by nobody
        plan = node.copy(node.relation(), node.output(), node.catalogTable(), False, node.stream())
        for each in reversed(above):
            plan = each.withNewChildInternal(plan)
        spark = rows.sparkSession
        frame = DataFrame(Catalyst(spark).frame(spark, plan), spark)
        return cls(frame, execution, count) if frame.columns == rows.columns else None

    def note_rows(self, count: int) -> None:
        """Add rows that were read to those that Spark reports of the micro-batch."""
        leaves = self.execution.executedPlan().collectLeaves()
        if leaves.size() == 1 and leaves.head().metrics().contains(COUNTER):
            leaves.head().metrics().apply(COUNTER).add(count)
