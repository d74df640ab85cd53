"""Sinks: where the changes of an output go, micro-batch by micro-batch.

After a crash the last micro-batch may come again, with the same version and the same rows. Each sink says whether it is
then exactly once or at least once. It also says whether it keeps the weight of a row: one that does not would write a
retraction as one more row, so Flo rejects it for an output that retracts rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as sf

from flo.api.running import SHOWN
from flo.core.errors import FloError, Origin, TypeMismatch
from flo.spark.checkpoint.change_folders import ChangeLog, commit_changes, version_folder
from flo.spark.checkpoint.retention import Retention
from flo.spark.driver.micro_batches import Outcome
from flo.spark.session import read_frame
from flo.spark.tasks.output_files import COUNT, PARTS, VIEW, Output, part_name, read_part, remove_parts
from flo.tables.checkpoint.folders import Local, folder
from flo.tables.io.diverted import SCHEMA
from flo.tables.io.files import WEIGHTS
from flo.tables.values import Columns, is_ordered, layout_of
from flo.values.element_value import ElementCollection
from flo.values.weighted import Set

DIVERTED = " diverted"
"""The suffix of an output that has the diverted rows of an input; before it is the name of the input."""
STAGED = "_staged"
"""The folder of files that are not committed yet. Readers of Parquet skip names that start with `_`."""
WITH_COLUMNS = frozenset(
    {"avro", "console", "csv", "delta", "hudi", "iceberg", "jdbc", "json", "noop", "orc", "parquet", "xml"}
)
"""Formats of Spark that write every column."""
OF_COLUMNS = {"kafka": ("key", "value", "headers", "topic", "partition")}
"""Formats of Spark that write some columns only, and leave the others out. `text` fails if there is more than one."""


@dataclass(frozen=True)
class OutputChanges:
    """The changes of an output in one micro-batch: rows in files, which tasks have written."""

    spark: SparkSession
    folder: str
    output: str
    version: int
    shards: int
    schema: pa.Schema
    files: tuple[str, ...]
    staged: bool = False
    """Whether tasks have written them to the path that the sink gave."""
    weighted: bool = False
    """Whether there is a column `_weight`: how often each row was added, or removed if it is negative."""
    checkpoint: str = ""
    """The id of the checkpoint. Versions of different checkpoints may have equal numbers."""
    rows: int = 0
    """How many changes there are."""

    @classmethod
    def of(
        cls, spark: SparkSession, folder: str, output: Output, outcome: Outcome, shards: int, checkpoint: str = ""
    ) -> OutputChanges:
        """The changes of an output in a micro-batch. An attempt on more shards may have left other files."""
        version, written = outcome.version, outcome.changed_shards.get(output.name, ()) if output.to is None else ()
        files = tuple(part_name(output.name, version, shard) for shard in written)
        has_rows, staged = isinstance(output.type.collection, Columns), output.to is not None
        schema, weighted = (schema_of(output), is_weighted(output)) if has_rows else (pa.schema([]), False)
        rows = outcome.rows.get(output.name, 0)
        return cls(spark, folder, output.name, version, shards, schema, files, staged, weighted, checkpoint, rows)

    @classmethod
    def of_diverted(
        cls, spark: SparkSession, folder: str, name: str, outcome: Outcome, shards: int, checkpoint: str = ""
    ) -> OutputChanges:
        """The rows that an input has diverted in a micro-batch."""
        found = outcome.diverted_files.get(name, ())
        files, rows = tuple(file for file, _ in found), sum(count for _, count in found)
        output = f"{name}{DIVERTED}"
        return cls(spark, folder, output, outcome.version, shards, SCHEMA, files, checkpoint=checkpoint, rows=rows)

    def table(self) -> pa.Table:
        """All changes, in this process."""
        return pa.concat_tables([self.schema.empty_table(), *map(self._reader(), self.files)])

    def frame(self) -> DataFrame:
        """All changes, read by executors."""
        return read_frame(self.spark, self.schema, self._reader(), self.files)

    def _reader(self) -> Callable[[str], pa.Table]:
        where = self.folder
        return lambda name: read_part(where, name)


def rows_of(output: Output) -> ElementCollection[Any]:
    """The collection of an output whose changes are rows: see `expect_columns`."""
    assert isinstance(output.type.collection, Columns)
    return output.type.collection.base


def is_weighted(output: Output) -> bool:
    of = rows_of(output)
    return not is_ordered(of) and not isinstance(of, Set)


def schema_of(output: Output) -> pa.Schema:
    schema = layout_of(rows_of(output)).schema
    return schema.append(pa.field(WEIGHTS, pa.int64(), nullable=False)) if is_weighted(output) else schema


class Sink:
    """Takes the changes of an output. After a crash the same version may come again, with the same rows.

    A class with a `word` is known by it: users write `outputs={"sums": "word"}`, or `"word:rest"` if it has arguments.
    """

    word: ClassVar[str] = ""
    about: ClassVar[tuple[str, str]] = ("", "")
    """How users write it, and what it does: for the error that lists all sinks."""
    how = PARTS
    keeps_weight: bool = False
    """Whether it writes the weight of a row. Without weights it cannot express retractions."""

    @classmethod
    def of_text(cls, rest: str) -> Sink:
        """Makes the sink from the text after its word and a colon."""
        return cls()

    @property
    def label(self) -> str:
        """Its name in errors."""
        return type(self).__name__

    def bound(self, spark: SparkSession, output: Output, key: tuple[str, ...] | None) -> Sink:
        """The sink for this output, whose rows have this key, if one is known. Raises if it cannot take them."""
        return self

    def staging_path(self) -> str | None:
        """The path prefix where tasks write Parquet files for it; None if they do not."""
        return None

    def take(self, changes: OutputChanges) -> None:
        """Called after all tasks of a micro-batch are done, before it is committed.

        An error ends the query; when it is started again, the micro-batch runs again.
        """
        raise NotImplementedError

    def commit(self, changes: OutputChanges) -> None:
        """Called after the micro-batch is committed: it cannot change any more, though it may still come again."""

    def write_result(self, name: str, result: Any) -> bool:
        """Writes the result of a run on bounded inputs. Returns False if it does not write: the result is printed."""
        return False

    def suggest_weights(self) -> tuple[tuple[str, str], ...]:
        """How it could keep weights, for the error about a sink that does not."""
        return ()


class ViewSink(Sink):
    """A view: the output is kept in the state and read from there. Exactly once."""

    word = "view"
    about = ('"view"', "kept, and read by query.view(name)")
    how = VIEW
    keeps_weight = True

    def take(self, changes: OutputChanges) -> None: ...


class Nowhere(Sink):
    """Counts changes and drops them."""

    word = "noop"
    about = ('"noop"', "counted only")
    how = COUNT
    keeps_weight = True

    def take(self, changes: OutputChanges) -> None: ...

    def write_result(self, name: str, result: Any) -> bool:
        return True


@dataclass
class Callback(Sink):
    """Calls f(changes, version) in the driver: at least once; exactly once if f stores the version atomically with its
    effect."""

    f: Callable[[pa.Table, int], Any]

    about = ("lambda changes, version: …", "a function, called in the driver")
    keeps_weight = True

    def take(self, changes: OutputChanges) -> None:
        self.f(changes.table(), changes.version)


class Console(Sink):
    """Prints some of the changes: at least once."""

    word = "console"
    about = ('"console"', "printed")
    keeps_weight = True

    def take(self, changes: OutputChanges) -> None:
        table = changes.table()
        print(f"{changes.output}, version {changes.version}: {table.num_rows:,} changes")
        for row in table.slice(0, SHOWN).to_pylist():
            print(f"  {row}")


@dataclass
class Memory(Sink):
    """Keeps tables by version, for tests. Exactly once, as long as the process lives."""

    versions: dict[int, pa.Table] = field(default_factory=dict)

    word = "memory"
    about = ('"memory"', "kept in this process, and read by query.changes(name)")
    keeps_weight = True

    def take(self, changes: OutputChanges) -> None:
        self.versions[changes.version] = changes.table()

    @property
    def tables(self) -> list[pa.Table]:
        """The changes of every micro-batch, in order."""
        return [table for _, table in sorted(self.versions.items())]


@dataclass
class Changes(Sink):
    """Writes Parquet to a folder `version=…` for each micro-batch, which readers see as a column. Exactly once.

    Tasks write to a staging folder, and the driver renames it: on a disk, readers see all of a micro-batch or nothing.
    An object store cannot rename: there readers may see some files of a running micro-batch.

    With `keep`, a number of versions or an age such as `"1 day"`, older versions are folded into a base: the sum of
    their changes. `spark.read.format("flo").load(path)` reads the base and the changes since.
    """

    path: str
    keep: int | str | None = None

    word = "changes"
    about = ("flo.spark.Changes(path)", "Parquet files of changes")
    keeps_weight = True

    def __post_init__(self) -> None:
        self.folder = folder(self.path)
        self.retention = None if self.keep is None else Retention.of(self.keep)

    @classmethod
    def of_text(cls, rest: str) -> Changes:
        return cls(rest)

    def staging_path(self) -> str:
        return f"{self.folder}/{STAGED}/" if isinstance(self.folder, Local) else f"{self.folder}/version="

    def take(self, changes: OutputChanges) -> None:
        staged, target = f"{STAGED}/{changes.version:08}", version_folder(changes.version)
        written = self.folder.within(staged if isinstance(self.folder, Local) else target)
        if not changes.staged:  # no shard has written files
            data = pa.BufferOutputStream()
            pq.write_table(changes.table(), data)
            written.write(f"00000-of-{changes.shards:05}.parquet", data.getvalue())
        for name in written.names(""):
            if not name.endswith(
                f"-of-{changes.shards:05}.parquet"
            ):  # of an interrupted micro-batch on another number of shards
                written.remove(name)
        if isinstance(self.folder, Local) and self.folder.exists(staged):
            self.folder.remove(target)
            (self.folder.path / staged).rename(self.folder.path / target)

    def commit(self, changes: OutputChanges) -> None:
        schema = changes.schema.serialize().to_pybytes().hex()
        commit_changes(self.folder, ChangeLog(changes.checkpoint, changes.version, schema), self.retention)

    def write_result(self, name: str, result: Any) -> bool:
        _frame(name, result).write.parquet(self.path)
        return True


def _frame(name: str, result: Any) -> DataFrame:
    """Returns a result that has columns."""
    if not hasattr(result, "write"):
        raise FloError(f"the output `{name}` has no columns, so it can only be printed")
    frame: DataFrame = result
    return frame


@dataclass
class SparkSink(Sink):
    """Writes to any sink of Spark. At least once; exactly once where the sink knows `txnVersion`, as Delta does.

    A format without a column for the weight gets each row as often as its weight says. `keeps_weight` says whether the
    format has one; Flo knows it for common formats.
    """

    format: str
    options: dict[str, Any] = field(default_factory=dict)
    keeps_weight: bool = None  # type: ignore[assignment]  # known from the format

    about = ("flo.spark.SparkSink(format, options)", "any sink of Spark")

    def __post_init__(self) -> None:
        known = self.format.lower()
        if self.keeps_weight is None:
            self.keeps_weight = known in WITH_COLUMNS
        if self.keeps_weight and known in OF_COLUMNS:
            raise TypeMismatch(
                f"{self.label} cannot keep weights: it writes no columns but {', '.join(OF_COLUMNS[known])}",
                instead=(('flo.spark.Upsert("kafka", topic)', "rows by their keys, with deletions"),),
                where=Origin.here(),
            )

    @property
    def label(self) -> str:
        return f'SparkSink("{self.format}")'

    def bound(self, spark: SparkSession, output: Output, key: tuple[str, ...] | None) -> Sink:
        """Rejects columns that the format would silently leave out."""
        known, columns = OF_COLUMNS.get(self.format.lower()), layout_of(rows_of(output)).names
        lost = [name for name in columns if known is not None and name not in known]
        if known is not None and lost:
            raise TypeMismatch(
                f"the output `{output.name}` has the column `{lost[0]}`, which {self.label} does not write",
                facts=(("it writes", ", ".join(known)),),
                instead=(
                    ("select(…)", "the columns that it writes"),
                    ('flo.spark.Upsert("kafka", topic)', "all columns as JSON, by their key"),
                ),
            )
        return self

    def take(self, changes: OutputChanges) -> None:
        known = {"txnAppId": f"{changes.checkpoint} {changes.output}", "txnVersion": changes.version}
        self.writer(changes.frame(), changes.weighted, **known).mode("append").save()

    def writer(self, frame: DataFrame, weighted: bool, **known: Any) -> DataFrameWriter:
        """Returns the writer of the rows; `known` are options that the user's options override."""
        rows = frame if self.keeps_weight or not weighted else repeat_by_weight(frame)
        return rows.write.format(self.format).options(**{**known, **self.options})

    def write_result(self, name: str, result: Any) -> bool:
        frame = _frame(name, result)
        self.writer(frame, WEIGHTS in frame.columns).save()
        return True

    def suggest_weights(self) -> tuple[tuple[str, str], ...]:
        if self.format.lower() in (*OF_COLUMNS, "text"):
            return ()
        return ((f'SparkSink("{self.format}", …, keeps_weight=True)', "if it writes all columns, `_weight` too"),)


def repeat_by_weight(frame: DataFrame) -> DataFrame:
    """Returns a frame with each row as often as its weight says, and without weights."""
    weight = sf.col(WEIGHTS)
    below = sf.raise_error(sf.lit("a row is retracted, but the sink does not keep weights"))
    times = sf.when(weight > 0, weight).otherwise(below).cast("int")
    return frame.withColumn(WEIGHTS, sf.explode(sf.array_repeat(sf.lit(1), times))).drop(WEIGHTS)


def forget_parts(folder: str, outputs: list[Output], version: int) -> None:
    """Removes the files of micro-batches that sinks have taken and that cannot run again."""
    for output in outputs:
        if output.how == PARTS and output.to is None:
            remove_parts(folder, output.name, version)
