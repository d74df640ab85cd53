"""Outputs that Catalyst writes: if it runs all operators between an input and its outputs, no row leaves the JVM.

    bids ─┬> filter ─> select ─> cheap, to Changes("/cheap")        both are written here
          └> select ─> times, to Changes("/times")
    shops ─> group_by ─> sums                                       tasks run it

    as a rule       Spark reads ─> Arrow ─> Python: checks, packs ─> shuffle ─> Python: Parquet
    written here    Spark reads, checks, filters, selects, writes Parquet

The stages of the outputs run all the same, without these rows: so the checkpoint is the one that every other plan
leaves, and the next start may go the other way. Tasks of Spark write to a folder that only this start of the query
uses. When they are done, it is renamed to the one that the sink takes. Invariant: that has all files of one attempt, or
it is not there.

Only Parquet in a folder on a disk is written so. The rows of an input must be for nothing else (`rows_of_outputs`):
tasks that get them in any case write them, too. They must have no column of weights, because changes that cancel out
must be added up first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from flo.core.errors import EngineError
from flo.core.operator import Operator
from flo.program.dag import Dag, Stream
from flo.shards.plan.rewrites import rewrites
from flo.shards.plan.stages import STAY, Delivery, Entry, Plan
from flo.shards.sinks.output_changes import rows_of
from flo.shards.tasks.input_task import InputColumns
from flo.shards.tasks.output_files import Output
from flo.spark.driver.pushdown import CatalystStep, is_pushed_down, passes_rows, passes_unchanged
from flo.tables.checkpoint.folders import Local, Writes, folder
from flo.tables.io.files import WEIGHTS
from flo.tables.values import Columns, layout_of
from flo.values.changes import shape_of
from flo.values.weighted import Bag, ZSet

if TYPE_CHECKING:
    from flo.spark.driver.inputs import BoundInput

SETTINGS = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.files.maxRecordsPerFile": "0",
}
"""Settings of a query with such an output: the files are those that Arrow would write."""
FILES = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Settings of each write: no checksums beside the files, and no file that says that all are there. For each such file
Hadoop starts processes, and both would be removed."""
OWN = "_flo-"
"""The beginning of the name of the folder that Spark writes to, before that of the start of the query. Readers of
Parquet skip it."""
SCAN = "scan"
"""The first column of the rows of all inputs: the number of the scan."""


@dataclass(frozen=True)
class RowsOfOutput:
    """What Catalyst can write of an input: an output stream of the program, and the operators that make its rows."""

    stream: int
    operators: tuple[Operator, ...]


def rows_of_outputs(plan: Plan, entry: Entry) -> tuple[RowsOfOutput, ...]:
    """The outputs of the rows that an entry gets, if Catalyst can write them all, and the rows are for nothing else."""
    if not rewrites.catalyst_outputs or not isinstance(entry.type.collection, Columns):
        return ()
    written = []
    for number, stream in zip(entry.outputs, entry.dag.outputs, strict=True):
        operators = _operators_before(entry.dag, stream)
        if operators is None or not _has_plain_rows(stream.type.collection):
            return ()
        for delivery in plan.deliveries_of(number):
            output = _output_of(plan, delivery)
            if output is None:
                return ()
            written.append(RowsOfOutput(output, operators))
    return tuple(written)


def _operators_before(dag: Dag, stream: Stream) -> tuple[Operator, ...] | None:
    """The operators between the rows of an input and a stream; None if Catalyst may not run one of them."""
    makers = {each: vertex for vertex in dag.vertices for each in vertex.outputs}
    operators: tuple[Operator, ...] = ()
    while stream is not dag.inputs[0]:
        vertex = makers[stream]
        if is_pushed_down(vertex.operator):
            operators = (vertex.operator, *operators)
        elif not passes_rows(vertex.operator):
            return None
        (stream,) = vertex.inputs
    return operators


def _output_of(plan: Plan, delivery: Delivery) -> int | None:
    """The output of the program that a delivery is, as it comes; None if it is for something else, too."""
    number = -1 - delivery.number
    if delivery.how != STAY or number not in plan.outputs or plan.deliveries_of(number):
        return None
    stage = plan.stages[delivery.level - 1]
    is_read = any(stream.number == number for vertex in stage.dag.vertices for stream in vertex.inputs)
    return None if is_read else number


def _has_plain_rows(of: Any) -> bool:
    """Whether rows are unordered, and all of their columns pass through Spark unchanged."""
    if not isinstance(of, Columns) or not isinstance(of.base, (Bag, ZSet)) or shape_of(of.base.element) is not None:
        return False
    layout = layout_of(of.base)
    is_plain = WEIGHTS not in layout.names and not layout.sums
    return is_plain and all(passes_unchanged(field.type) for field in layout.schema)


@dataclass(frozen=True)
class WrittenOutput:
    """An output of a query that Catalyst writes."""

    input: str
    output: Output
    scan: int
    """The scan that has the rows of the input."""
    columns: InputColumns
    """Where its columns are in the rows of a micro-batch."""
    operators: tuple[Operator, ...]
    """Those that make rows of the output of these."""

    @classmethod
    def all_of(
        cls, given: Mapping[str, BoundInput], outputs: Iterable[Output], columns: Mapping[str, tuple[int, InputColumns]]
    ) -> tuple[Self, ...]:
        """The outputs that Catalyst writes: all of an input, or none, if the sink of one takes no Parquet. `columns`
        are those of each input, with the number of its scan."""
        by_stream: dict[int, list[Output]] = {}
        for output in outputs:
            by_stream.setdefault(output.stream, []).append(output)
        written: list[Self] = []
        for name, bound in given.items():
            own = [
                cls(name, output, *columns[name], each.operators)
                for each in bound.written
                for output in by_stream[each.stream]
            ]
            if all(each.output.to is not None and isinstance(folder(each.output.to), Local) for each in own):
                written += own
        return tuple(written)

    @cached_property
    def _steps(self) -> tuple[CatalystStep, ...]:
        """From the rows of a micro-batch to those of the output, made once for the query."""
        is_own = sf.col(SCAN) == self.scan
        if self.columns.kept is not None:
            is_own = is_own & sf.col(str(self.columns.kept))
        schema = layout_of(rows_of(self.output)).schema
        return (
            CatalystStep.where(is_own),
            CatalystStep.select(sf.col(str(index)).alias(name) for name, index in self.columns.columns),
            *(CatalystStep.of(operator) for operator in self.operators),
            CatalystStep.select([*map(_plain_column, schema), sf.lit(1).cast("long").alias(WEIGHTS)]),
        )

    def write(self, rows: DataFrame, version: int, shards: int, run: str) -> int:
        """Writes the rows of a micro-batch to where the sink takes them; returns their number."""
        assert self.output.to is not None
        where = Path(self.output.to.rpartition("/")[0])
        own = where / f"{OWN}{run}"
        frame = reduce(lambda frame, step: step.over(frame), self._steps, rows)
        frame.coalesce(shards).write.options(**FILES).parquet(f"file://{own}")
        return publish_files(own, Path(f"{self.output.to}{version:08}"), shards)


def _plain_column(field: pa.Field) -> Column:
    """A column of an output; 0.0 in place of -0.0, as in all rows that have no order."""
    column = sf.col(field.name)
    return (sf.when(column == 0.0, 0.0).otherwise(column) if field.type == pa.float64() else column).alias(field.name)


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
    for other in set(own.iterdir()) - set(named):  # of Spark's own, if there are any
        other.unlink()
    Local(staged.parent).remove(staged.name)
    own.rename(staged)
    return rows
