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

from pyspark.sql import DataFrame

from flo.core.errors import CheckpointError
from flo.core.nested import Nested
from flo.core.program_outline import ANEW
from flo.shards.checkpoint.spark_logs import OFFSETS, SOURCES
from flo.spark.driver.inputs import BoundInput
from flo.spark.driver.offset_logs import NO_OFFSET, OffsetLines, copy_source_logs
from flo.spark.driver.python_errors import python_error
from flo.spark.driver.resuming import ResumePoint
from flo.spark.session import hold_settings
from flo.sql.java import Java
from flo.tables.checkpoint.folders import folder

READABLE = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""By default Spark writes instants in a form that has lost that they are in UTC."""


@dataclass(frozen=True)
class ReadAgain:
    """Reads inputs again."""

    bind_inputs: Callable[[], Mapping[str, BoundInput]]
    """Binds the inputs to their DataFrames, with all columns of a row."""
    point: ResumePoint

    def __call__(self, name: str, where: str) -> tuple[BoundInput, str] | None:
        """Reads the rows that an input has had so far into files of a folder. An interrupted start finds them there.

        Returns the input, and where the files are; None if it has had no rows."""
        bound = self.bind_inputs()[name]
        if isinstance(bound.entry.type.collection, Nested):
            raise _not_readable(name, "each micro-batch was a stream of its own")
        if not folder(where).exists("rows/_SUCCESS"):
            if not bound.frame.isStreaming:
                _write(bound.frame, f"{where}/rows")
            elif not self._read_stream(name, bound, where):
                return None
        return bound, f"{where}/rows"

    def _read_stream(self, name: str, bound: BoundInput, where: str) -> bool:
        """Runs the query that reads all rows so far. Returns False if there are none."""
        logs, last, places = self.point.logs, self.point.resumed.last, self.point.places.get(name)
        if last is None or places is None:
            return False
        lines = OffsetLines.read(logs, last)
        own = tuple(lines.sources[place.line] for place in places)
        if all(line == NO_OFFSET for line in own):
            return False
        folder(where).remove("logs")
        sources = dict.fromkeys(place.source for place in places)
        copy_source_logs(logs, f"{where}/logs", {source: number for number, source in enumerate(sources)})
        folder(f"{where}/logs").write(f"{OFFSETS}/0", OffsetLines(lines.version, lines.about, own).text())

        def take(batch: DataFrame, number: int) -> None:
            if number == 0:  # later ones have rows that the query will read itself
                _write(batch, f"{where}/rows")

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
        files, entries = folder(self.point.logs), []
        for entry in files.names(f"{SOURCES}/{source}"):
            lines = files.read(f"{SOURCES}/{source}/{entry}").decode(errors="replace").split("\n")[1:]
            entries += [json.loads(line) for line in lines if line.startswith('{"path"')]
        jvm: Java = frame.sparkSession._jvm
        settings = frame.sparkSession._jsc.hadoopConfiguration()
        paths = [jvm.org.apache.hadoop.fs.Path(each) for each in dict.fromkeys(each["path"] for each in entries)]
        return [path.toString() for path in paths if not path.getFileSystem(settings).exists(path)]


def _write(rows: DataFrame, where: str) -> None:
    with hold_settings(rows.sparkSession, READABLE):
        rows.write.mode("overwrite").parquet(where)


def _not_readable(name: str, why: str, *facts: tuple[str, str]) -> CheckpointError:
    return CheckpointError(
        f"the rows that the input `{name}` has had so far cannot be read again: {why}",
        facts=facts,
        instead=((f'fill={{"{name}": rows}}', "your own copy of them"), ANEW),
    )
