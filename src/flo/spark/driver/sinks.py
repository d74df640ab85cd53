"""Where the changes of an output go, turn by turn.

After a crash the last turn may come again, with the same version and the same rows. What a sink makes of that is said
with each: exactly once, or at least once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from flo.columnar.diverted import SCHEMA
from flo.columnar.folders import Local, folder
from flo.columnar.inputs import WEIGHTS
from flo.columnar.outputs import SHOWN
from flo.columnar.rows import Columns, layout_of, ordered
from flo.core.errors import Origin, TypeMismatch, brief
from flo.spark.driver.frames import frame_of
from flo.spark.driver.turns import Outcome
from flo.spark.tasks.kept import COUNT, PARTS, VIEW, Output, parts_of, read_part, remove_parts
from flo.values.weighted import Set

DIVERTED = " diverted"
"""What is behind the name of an input, in the name of the output of what it has put aside."""
STAGED = "_staged"
"""The folder of files that are not committed yet: readers of Parquet pass it by."""


@dataclass(frozen=True)
class Given:
    """What an output gave in a turn: rows in files, which tasks have written."""

    spark: SparkSession
    folder: str
    output: str
    version: int
    shards: int
    schema: pa.Schema
    files: tuple[str, ...]
    staged: bool = False
    """Whether tasks have written them where the sink wants them."""

    @classmethod
    def of(cls, spark: SparkSession, folder: str, output: Output, version: int, shards: int) -> Given:
        files = tuple(parts_of(folder, output.name, version, shards)) if output.to is None else ()
        schema = schema_of(output) if isinstance(output.type.collection, Columns) else pa.schema([])
        return cls(spark, folder, output.name, version, shards, schema, files, staged=output.to is not None)

    @classmethod
    def aside(cls, spark: SparkSession, folder: str, name: str, outcome: Outcome, shards: int) -> Given:
        """The rows that an input has put aside in a turn."""
        files = tuple(file for file, _ in outcome.aside.get(name, ()))
        return cls(spark, folder, f"{name}{DIVERTED}", outcome.version, shards, SCHEMA, files)

    def table(self) -> pa.Table:
        """All of it, in this process."""
        return pa.concat_tables([self.schema.empty_table(), *map(self._reader(), self.files)])

    def frame(self) -> DataFrame:
        """All of it, read by executors."""
        return frame_of(self.spark, self.schema, self._reader(), self.files)

    def _reader(self) -> Callable[[str], pa.Table]:
        where = self.folder
        return lambda name: read_part(where, name)


def schema_of(output: Output) -> pa.Schema:
    of: Any = output.type.collection.base  # type: ignore[attr-defined]
    weighted = not ordered(of) and not isinstance(of, Set)
    schema = layout_of(of).schema
    return schema.append(pa.field(WEIGHTS, pa.int64(), nullable=False)) if weighted else schema


class Sink:
    """Takes the changes of an output; the same version may come again after a crash, with the same rows."""

    how = PARTS

    def staged(self) -> str | None:
        """Where tasks write Parquet files, if they are to."""
        return None

    def take(self, given: Given) -> None:
        """Called once the turn is done, before it is committed. What it raises ends the query; the turn comes again."""
        raise NotImplementedError


class Kept(Sink):
    """A view: kept in the state, and read from there. Exactly once."""

    how = VIEW

    def take(self, given: Given) -> None: ...


class Nowhere(Sink):
    """Counted, and forgotten."""

    how = COUNT

    def take(self, given: Given) -> None: ...


@dataclass
class Called(Sink):
    """f(changes, version), in the driver: at least once; exactly once for who keeps the version with what he does."""

    f: Callable[[pa.Table, int], Any]

    def take(self, given: Given) -> None:
        self.f(given.table(), given.version)


class Console(Sink):
    """Prints some of the changes: at least once."""

    def take(self, given: Given) -> None:
        table = given.table()
        print(f"{given.output}, version {given.version}: {table.num_rows:,} changes")
        for row in table.slice(0, SHOWN).to_pylist():
            print(f"  {row}")


@dataclass
class Memory(Sink):
    """Tables by version, for tests. Exactly once while the process lives, and gone with it."""

    versions: dict[int, pa.Table] = field(default_factory=dict)

    def take(self, given: Given) -> None:
        self.versions[given.version] = given.table()

    @property
    def tables(self) -> list[pa.Table]:
        """The changes of every turn, in order."""
        return [table for _, table in sorted(self.versions.items())]


@dataclass
class Changes(Sink):
    """Parquet in a folder `version=…` for each turn, which readers see as a column. Exactly once.

    Tasks write their files aside, and the driver renames the folder: on a disk a turn is there as a whole or not at
    all. An object store cannot rename: there the files of the turn that is running may be seen one by one.
    """

    path: str

    def __post_init__(self) -> None:
        self.folder = folder(self.path)

    def staged(self) -> str:
        return f"{self.folder}/{STAGED}/" if isinstance(self.folder, Local) else f"{self.folder}/version="

    def take(self, given: Given) -> None:
        staged, target = f"{STAGED}/{given.version:08}", f"version={given.version:08}"
        written = self.folder.within(staged if isinstance(self.folder, Local) else target)
        if not given.staged:  # of no shard
            data = pa.BufferOutputStream()
            pq.write_table(given.table(), data)
            written.write(f"00000-of-{given.shards:05}.parquet", data.getvalue())
        for name in written.names(""):
            if not name.endswith(f"-of-{given.shards:05}.parquet"):  # of a turn that was broken off on other shards
                written.remove(name)
        if isinstance(self.folder, Local) and self.folder.exists(staged):
            self.folder.remove(target)
            (self.folder.path / staged).rename(self.folder.path / target)


@dataclass
class SparkSink(Sink):
    """Any sink of Spark by its format. At least once; exactly once where the sink knows `txnVersion`, as Delta does."""

    format: str
    options: dict[str, Any] = field(default_factory=dict)

    def take(self, given: Given) -> None:
        options = {"txnAppId": f"{given.folder} {given.output}", "txnVersion": given.version, **self.options}
        given.frame().write.format(self.format).mode("append").options(**options).save()


def sink_of(name: str, given: Any) -> Sink:
    """What the user names as the sink of an output."""
    match given:
        case None | "view":
            return Kept()
        case "noop":
            return Nowhere()
        case "console":
            return Console()
        case "memory":
            return Memory()
        case Sink():
            return given
    if callable(given):
        return Called(given)
    raise TypeMismatch(
        f"the output `{name}` was given {brief(given)}, which is no sink",
        instead=(
            ('"view"', "kept, and read by query.view(name)"),
            ("flo.spark.Changes(path)", "Parquet files of changes"),
            ("flo.spark.SparkSink(format, options)", "any sink of Spark"),
            ("lambda changes, version: …", "a function, called in the driver"),
            ('"memory"', "kept in this process, and read by query.changes(name)"),
            ('"console", "noop"', "printed, counted only"),
        ),
        where=Origin.here(),
    )


def expect_columns(output: Output) -> None:
    """Changes are rows: what has no columns can be looked at as it stands."""
    if output.how == PARTS and not isinstance(output.type.collection, Columns):
        raise TypeMismatch(
            f"the output `{output.name}` is {output.type}, and its changes are no rows that a sink could take",
            instead=(('"view"', "kept, and read by query.view(name)"), ('"noop"', "counted only")),
        )


def forget_parts(folder: str, outputs: list[Output], version: int) -> None:
    """Removes what sinks have taken of turns that cannot come again."""
    for output in outputs:
        if output.how == PARTS and output.to is None:
            remove_parts(folder, output.name, version)
