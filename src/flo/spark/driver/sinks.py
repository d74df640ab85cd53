"""Sinks: where the changes of an output go, micro-batch by micro-batch.

After a crash the last micro-batch may come again, with the same version and the same rows. Each sink says whether it is
then exactly once or at least once, and what happens if the rows are others because a function was corrected. It also
says whether it keeps the weight of a row: one that does not would write a retraction as one more row, so Flo rejects it
for an output that retracts rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as sf

from flo.api.running import SHOWN
from flo.core.errors import FloError, Origin, TypeMismatch
from flo.shards.checkpoint.change_folders import ChangeLog, commit_changes, has_versions, version_folder
from flo.shards.checkpoint.retention import Retention
from flo.shards.tasks.output_files import COUNT, PARTS, VIEW, Output
from flo.spark.driver.delta_history import USER_METADATA, held_by_delta, last_restore, metadata_of
from flo.spark.driver.output_changes import DIVERTED, Held, OutputChanges, rows_of
from flo.spark.session import hold_settings
from flo.sql.catalyst import quoted
from flo.tables.checkpoint.folders import Local, folder
from flo.tables.io.files import WEIGHTS
from flo.tables.values import layout_of

STAGED = "_staged"
"""The folder of files that are not committed yet. Readers of Parquet skip names that start with `_`."""
WITH_COLUMNS = frozenset(
    {"avro", "console", "csv", "delta", "hudi", "iceberg", "jdbc", "json", "noop", "orc", "parquet", "xml"}
)
"""Formats of Spark that write every column."""
OF_COLUMNS = {"kafka": ("key", "value", "headers", "topic", "partition")}
"""Formats of Spark that write some columns only, and leave the others out. `text` fails if there is more than one."""


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
    replaces: ClassVar[bool] = False
    """Whether a version that comes again with other changes replaces what it took of it before."""
    corrects: ClassVar[bool] = False
    """Whether it knows which changes it has, and writes the difference to them. If it does neither, it gets the changes
    that it has taken once more, and the next version carries the difference."""

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

    def held(self, checkpoint: str, output: str) -> Held | None:
        """What it holds of an output of a checkpoint; None if nothing. By default it does not know."""
        return Held(None)

    def prepare(self, checkpoint: str, output: str) -> None:
        """Makes the place where rows go, before the query starts. What it holds was found to fit the checkpoint."""

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
    replaces = True

    def take(self, changes: OutputChanges) -> None: ...


class Nowhere(Sink):
    """Counts changes and drops them."""

    word = "noop"
    about = ('"noop"', "counted only")
    how = COUNT
    keeps_weight = True
    replaces = True

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
    replaces = True

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
    replaces = True

    def take(self, changes: OutputChanges) -> None:
        self.versions[changes.version] = changes.table()

    @property
    def tables(self) -> list[pa.Table]:
        """The changes of every micro-batch, in order."""
        return [table for _, table in sorted(self.versions.items())]


@dataclass
class Changes(Sink):
    """Writes Parquet to a folder `version=…` for each micro-batch, which readers see as a column. Exactly once.

    A version that comes again replaces its folder, whatever its rows are.

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
    replaces = True

    def __post_init__(self) -> None:
        self.folder = folder(self.path)
        self.retention = None if self.keep is None else Retention.of(self.keep)

    @classmethod
    def of_text(cls, rest: str) -> Changes:
        return cls(rest)

    @property
    def label(self) -> str:
        return f'Changes("{self.path}")'

    def held(self, checkpoint: str, output: str) -> Held | None:
        log = ChangeLog.read(self.folder)
        if log is None or log.checkpoint != checkpoint or log.output not in ("", output):
            return None
        return Held(log.newest) if has_versions(self.folder, log) else None

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
        log = ChangeLog(changes.checkpoint, changes.version, schema, changes.version - 1, output=changes.output)
        commit_changes(self.folder, log, self.retention)

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
    options: dict[str, Any] = field(default_factory=dict, repr=False)  # it may have secrets
    keeps_weight: bool = None  # type: ignore[assignment]  # known from the format

    about = ("flo.spark.SparkSink(format, options)", "any sink of Spark")

    def __post_init__(self) -> None:
        self._held: Held | None = None
        self._restored: int | None = None
        """The last version of a Delta table that restored an earlier one."""
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
        self.expect_columns(output.name, layout_of(rows_of(output)).names)
        return self

    def expect_columns(self, output: str, columns: Sequence[str]) -> None:
        """Rejects columns that the format would leave out, or fail on."""
        known = OF_COLUMNS.get(self.format.lower())
        lost = [name for name in columns if known is not None and name not in known]
        if known is not None and lost:
            instead: tuple[tuple[str, str], ...] = (
                ("select(…)", "the columns that it writes"),
                ('flo.spark.Upsert("kafka", topic)', "all columns as JSON, by their key"),
            )
            if output.endswith(DIVERTED):
                instead = (
                    ('SparkSink("json" | "parquet" | "delta", …)', "a format that writes all columns"),
                    ("lambda rows, version: …", "a function, which may send them on"),
                )
            raise TypeMismatch(
                f"the output `{output}` has the column `{lost[0]}`, which {self.label} does not write",
                facts=(("it writes", ", ".join(known)),),
                instead=instead,
            )
        if self.format.lower() == "text" and len(columns) > 1:
            raise TypeMismatch(
                f"the output `{output}` has {len(columns)} columns, but {self.label} writes one",
                facts=(("columns", ", ".join(columns)),),
                instead=(('SparkSink("json" | "csv", …)', "text files with all columns"),),
            )

    def held(self, checkpoint: str, output: str) -> Held | None:
        """Delta keeps the version in its log; other formats do not."""
        if not self._is_delta:
            return Held(None)
        table = f"delta.{quoted(str(self.options['path']))}"
        spark = SparkSession.active()
        self._held, self._restored = (
            held_by_delta(spark, table, f"{checkpoint} {output}"),
            last_restore(spark, table),
        )
        return self._held

    @property
    def _is_delta(self) -> bool:
        return self.format.lower() == "delta" and "path" in self.options

    def take(self, changes: OutputChanges) -> None:
        identity = f"{changes.checkpoint} {changes.output}"
        # a table that was restored still remembers later transactions
        application = identity if self._restored is None else f"{identity} {self._restored}"
        known = {"txnAppId": application, "txnVersion": changes.version}
        if not self._is_delta or changes.spark is None:
            self._append(changes, known)
        elif self._held is None or self._held.version != changes.version:
            self._held = Held(changes.version, changes.digest)
            with hold_settings(changes.spark, {USER_METADATA: metadata_of(identity, self._held)}):
                self._append(changes, known)

    def _append(self, changes: OutputChanges, known: dict[str, Any]) -> None:
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
