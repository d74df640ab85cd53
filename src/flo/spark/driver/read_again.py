"""Reads again what a streaming input has given so far, up to the offsets of the last micro-batch.

    spark/offsets/7          what all micro-batches up to 7 have read, a line for each source
    spark/sources/0          the log of source 0

A second query gets a copy of these logs, in which all of it is its first micro-batch, begun and not committed. So
Spark plans exactly these rows again, for any source that can: files, Kafka, Delta, Iceberg. They are written as
Parquet, in the folder of the fill.

Invariant: rows after the offsets of the last micro-batch are not read. The query goes on with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from flo.core.errors import CheckpointError
from flo.core.program_outline import ANEW
from flo.shards.checkpoint.spark_logs import OFFSETS, SOURCES
from flo.shards.tasks.input_task import MALFORMED
from flo.spark.driver.inputs import BoundInput
from flo.spark.driver.offset_logs import NO_OFFSET, OffsetLines, Place, copy_source_logs
from flo.spark.driver.python_errors import python_error
from flo.spark.session import hold_settings
from flo.sql.catalyst import quoted
from flo.tables.checkpoint.folders import folder

READABLE = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""By default Spark writes instants in a form that has lost that they are in UTC."""


@dataclass(frozen=True)
class ReadAgain:
    """Reads inputs again."""

    bind_inputs: Callable[[], Mapping[str, BoundInput]]
    """Binds the inputs to their DataFrames, with all columns of a row."""
    places: Mapping[str, list[Place]]
    """For each streaming input that the query has read, the places of its sources in Spark's logs."""
    logs: str
    """The folder of Spark's logs."""
    last: int | None
    """The last micro-batch."""

    def __call__(self, name: str, where: str) -> Any:
        """The rows that an input has had so far. Keeps them in a folder, for a start that is interrupted."""
        bound = self.bind_inputs()[name]
        if not folder(where).exists("rows/_SUCCESS"):
            if not bound.frame.isStreaming:
                self._write(bound, bound.frame, f"{where}/rows")
            elif not self._read_stream(name, bound, where):
                return []
        return _rows_of(bound, f"{where}/rows")

    def _read_stream(self, name: str, bound: BoundInput, where: str) -> bool:
        """Runs the query that reads all rows so far. Returns False if there are none."""
        if self.last is None or name not in self.places:
            return False
        lines, places = OffsetLines.read(self.logs, self.last), self.places[name]
        own = tuple(lines.sources[place.line] for place in places)
        if all(line == NO_OFFSET for line in own):
            return False
        folder(where).remove("logs")
        sources = dict.fromkeys(place.source for place in places)
        copy_source_logs(self.logs, f"{where}/logs", {source: number for number, source in enumerate(sources)})
        folder(f"{where}/logs").write(f"{OFFSETS}/0", OffsetLines(lines.version, lines.about, own).text())

        def take(batch: DataFrame, number: int) -> None:
            if number == 0:  # later ones have rows that the query will read itself
                self._write(bound, batch, f"{where}/rows")

        gone = [path for source in sources for path in self._missing_files(bound.frame, source)]
        if gone:
            raise _not_readable(name, f"{len(gone):,} of its files are gone", ("file", gone[0]))
        writer = bound.frame.writeStream.foreachBatch(take).option("checkpointLocation", f"{where}/logs")
        try:
            writer.trigger(availableNow=True).start().awaitTermination()
        except Exception as error:
            raise _not_readable(name, str(python_error(error)).partition("\n")[0]) from error
        return True

    def _missing_files(self, frame: DataFrame, source: int) -> list[str]:
        """The files in the log of a source that do not exist any more. Spark would read the others without a word."""
        files, entries = folder(self.logs), []
        for entry in files.names(f"{SOURCES}/{source}"):
            lines = files.read(f"{SOURCES}/{source}/{entry}").decode(errors="replace").split("\n")[1:]
            entries += [json.loads(line) for line in lines if line.startswith('{"path"')]
        jvm: Any = frame.sparkSession._jvm
        settings = frame.sparkSession._jsc.hadoopConfiguration()
        paths = [jvm.org.apache.hadoop.fs.Path(each) for each in dict.fromkeys(each["path"] for each in entries)]
        return [path.toString() for path in paths if not path.getFileSystem(settings).exists(path)]

    def _write(self, bound: BoundInput, rows: DataFrame, where: str) -> None:
        """Writes rows as Parquet; those of a sequence in order."""
        if MALFORMED in rows.columns:
            rows = rows.where(sf.col(MALFORMED).isNull()).drop(MALFORMED)
        if bound.position is not None and bound.partition is None:
            rows = rows.orderBy(sf.col(quoted(bound.position))).coalesce(1)
        with hold_settings(rows.sparkSession, READABLE):
            rows.write.mode("overwrite").parquet(where)


def _not_readable(name: str, why: str, *facts: tuple[str, str]) -> CheckpointError:
    return CheckpointError(
        f"the rows that the input `{name}` has had so far cannot be read again: {why}",
        facts=facts,
        instead=((f'fill={{"{name}": rows}}', "your own copy of them"), ANEW),
    )


def _rows_of(bound: BoundInput, where: str) -> Any:
    """The rows as they are pushed: a folder of files, or of a partitioned input the rows of each partition."""
    if bound.partition is None:
        return where if "://" not in where else _table(where)
    table = _table(where).sort_by([(str(bound.partition), "ascending"), (str(bound.position), "ascending")])
    numbers = table[bound.partition].unique().to_pylist()
    return {number: table.filter(ds.field(bound.partition) == number) for number in numbers}


def _table(where: str) -> pa.Table:
    return ds.dataset(where, format="parquet").to_table()
