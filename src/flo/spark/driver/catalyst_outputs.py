"""Outputs that Catalyst writes: if it runs all operators between the input and the output, no row leaves the JVM.

    bids ─> filter ─> select ─> cheap, to Changes("/data")

    as a rule       Spark reads ─> Arrow ─> Python: checks, packs ─> shuffle ─> Python: Parquet
    written here    Spark reads, checks, filters, selects, writes Parquet

The stage of the output runs all the same, in the driver and without rows: so the checkpoint is the one that every other
plan leaves, and the next start may go the other way. Tasks of Spark write to a folder that only this start of the query
uses. When they are done, it is renamed to the one that the sink takes. Invariant: that has all files of one attempt, or
it is not there.

Only Parquet in a folder on a disk is written so, for a program with one input and one output (`is_written`). The rows
must have no column of weights, because changes that cancel out must be added up first.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from flo.core.errors import EngineError
from flo.shards.plan.stages import STAY, Entry, Plan
from flo.shards.sinks.output_changes import rows_of
from flo.shards.tasks.output_files import Output
from flo.spark.driver.pushdown import passes_unchanged
from flo.tables.checkpoint.folders import Local, Writes, folder
from flo.tables.io.files import WEIGHTS
from flo.tables.values import Columns, layout_of
from flo.values.changes import shape_of
from flo.values.weighted import Bag, ZSet

if TYPE_CHECKING:
    from flo.spark.driver.inputs import BoundInput

WRITES_OUTPUTS = True
"""Whether Catalyst writes outputs. Benchmarks and tests compare with plans without it."""
SETTINGS = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.files.maxRecordsPerFile": "0",
}
"""Settings of a query with such an output: the files are those that Arrow would write."""
OWN = "_flo-"
"""The beginning of the name of the folder that Spark writes to, before that of the start of the query. Readers of
Parquet skip it."""


def is_written(plan: Plan, rest: Entry) -> bool:
    """Whether Catalyst can write the output of a program. `rest` are the operators of an input that it does not run."""
    if not WRITES_OUTPUTS or len(plan.entries) != 1 or len(plan.outputs) != 1 or len(plan.stages) != 1:
        return False
    (stage,) = plan.stages
    is_passed = not (rest.dag.vertices or stage.dag.vertices or plan.natives)
    return is_passed and [each.how for each in plan.deliveries] == [STAY] and _has_plain_rows(stage.types[0].collection)


def _has_plain_rows(of: Any) -> bool:
    """Whether rows are unordered, and all of their columns pass through Spark unchanged."""
    if not isinstance(of, Columns) or not isinstance(of.base, (Bag, ZSet)) or shape_of(of.base.element) is not None:
        return False
    layout = layout_of(of.base)
    is_plain = WEIGHTS not in layout.names and not layout.sums
    return is_plain and all(passes_unchanged(field.type) for field in layout.schema)


@dataclass(frozen=True)
class WrittenOutput:
    """The output of a query that Catalyst writes."""

    input: str
    output: Output
    columns: tuple[tuple[str, int], ...]
    """The names of its columns, and their indices in the rows of a micro-batch."""

    @classmethod
    def of(cls, given: Mapping[str, BoundInput], outputs: list[Output], places: list[list[int]]) -> Self | None:
        """The only output of a query; None if Catalyst does not write it: rows need more, or the sink no Parquet."""
        if len(outputs) != 1 or len(given) != 1:
            return None
        (output,), ((name, bound),) = outputs, given.items()
        if not bound.written or output.to is None or not isinstance(folder(output.to), Local):
            return None
        return cls(name, output, tuple(zip(bound.frame.columns, places[0], strict=True)))

    def write(self, rows: DataFrame, version: int, shards: int, run: str) -> int:
        """Writes the rows of a micro-batch to where the sink takes them; returns their number."""
        assert self.output.to is not None
        where = Path(self.output.to.rpartition("/")[0])
        own = where / f"{OWN}{run}"
        frame = rows.select(*(self._column(name, index) for name, index in self.columns), sf.lit(1).cast("long"))
        frame = frame.toDF(*(name for name, _ in self.columns), WEIGHTS)
        frame.coalesce(shards).write.parquet(f"file://{own}")
        return publish_files(own, Path(f"{self.output.to}{version:08}"), shards)

    def _column(self, name: str, index: int) -> Column:
        """A column of the rows; 0.0 in place of -0.0, as in all rows that have no order."""
        column, kind = sf.col(str(index)), layout_of(rows_of(self.output)).schema.field(name).type
        return sf.when(column == 0.0, 0.0).otherwise(column) if kind == pa.float64() else column


def publish_files(own: Path, staged: Path, shards: int) -> int:
    """Names the files that Spark has written like those of shards, and moves them to where the sink takes them; returns
    how many rows they have."""
    files = sorted(own.glob("*.parquet")) if own.exists() else []
    if not files:
        raise EngineError(f"Spark has written no file to {str(own)!r}: the driver and executors must share the disk")
    rows = sum(int(pq.read_metadata(file).num_rows) for file in files)
    named = [own / f"{number:05}-of-{shards:05}.parquet" for number in range(len(files))]
    with closing(Writes()) as writes:
        for file, name in zip(files, named, strict=True):
            writes.add(str(file), str(name))
        writes.finish()
    for other in set(own.iterdir()) - set(named):  # such as checksums
        other.unlink()
    Local(staged.parent).remove(staged.name)
    own.rename(staged)
    return rows
