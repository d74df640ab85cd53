"""Sinks: where the changes of an output go, micro-batch by micro-batch.

    changes of version 7        Changes("/data")             Callback(f)                   ViewSink
    key  n  _weight             version=00000007/            f(table, 7)                   kept in the state
    a    1  -1                      00000-of-00008.parquet
    a    2  +1

Invariant: after a crash the last micro-batch may come again, with the same version and the same rows. Each sink says
whether it is then exactly once or at least once, and what happens if the rows are others because a function was
corrected (`replaces`, `corrects`). It also says whether it keeps the weight of a row: one that does not would write a
retraction as one more row, so Flo rejects it for an output that retracts rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.parquet as pq

from flo.api.running import SHOWN
from flo.core.errors import FloError, TypeMismatch
from flo.core.labels import label
from flo.core.secrets import hide_passwords
from flo.shards.checkpoint.change_folders import (
    ChangeLog,
    abandon_changes,
    commit_changes,
    has_versions,
    parts_of,
    remove_changes,
    version_folder,
    version_numbers,
)
from flo.shards.checkpoint.retention import Retention
from flo.shards.sinks.output_changes import ColumnChanges, Held, OutputChanges, loose_schema, schema_of
from flo.shards.tasks.output_files import COUNT, PARTS, VIEW, Output
from flo.tables.checkpoint.folders import Local, folder
from flo.tables.io.diverted import SCHEMA

STAGED = "_staged"
"""The folder of files that are not committed yet. Readers of Parquet skip names that start with `_`."""


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
    readable: ClassVar[bool] = False
    """Whether the rows that it holds can be read, so that it can be compared with its output."""
    reconciles: bool = False
    """Whether a start compares it, whatever it holds: see `reconcile`."""

    forgets: ClassVar[bool] = False
    """Whether what it takes is gone with the process, so that it never lacks earlier rows."""

    @classmethod
    def of_text(cls, rest: str) -> Sink:
        """Makes the sink from the text after its word and a colon."""
        return cls()

    @property
    def label(self) -> str:
        """Its name in errors."""
        return type(self).__name__

    @property
    def written(self) -> str:
        """The sink as users write it."""
        return self.word if self.label == type(self).__name__ and self.word else self.label

    @property
    def place(self) -> object:
        """What two sinks must not have in common; None if several may write there."""
        return None

    def is_other(self, label: str) -> bool:
        """Whether it is not the sink of this label, and cannot be asked what it holds. Without a label nobody knows."""
        return label not in ("", self.label) and not self.readable and not self.forgets

    def find_other_output(self, checkpoint: str, output: str) -> str | None:
        """The output of the checkpoint whose rows it holds, if nobody knows of rows of this output there. It may be
        this one, if that has had another sink since."""
        return None

    def bound(self, session: Any, output: Output, key: tuple[str, ...] | None) -> Sink:
        """The sink for this output, whose rows have this key, if one is known. Raises if it cannot take them.

        `session` is Spark's; None in process."""
        return self

    def expect_columns(self, output: str, columns: Sequence[str]) -> None:
        """Raises if it cannot take an output with these columns."""

    def held(self, checkpoint: str, output: str) -> Held | None:
        """What it holds of an output of a checkpoint; None if nothing. By default it does not know."""
        return Held(None)

    def reconcile(self) -> Self:
        """The sink, compared with its output at the next start, whichever version it holds. It gets the difference.

        All that it has is taken for rows of the output: rows of others are removed. Use it after the checkpoint or the
        sink was restored, or if the sink was dropped, or belongs to another checkpoint."""
        if not self.readable:
            raise TypeMismatch(
                f"{self.label} cannot be reconciled: the rows that it has taken cannot be read",
                instead=(
                    ("flo.Upsert(kind, target)", "a table or a topic"),
                    ("flo.Changes(path)", "a folder of changes"),
                    ('"view"', "kept, and read by query.view(name)"),
                ),
            ).at_users_line()
        other = copy(self)
        other.reconciles = True
        return other

    def newest(self, checkpoint: str, output: str) -> int:
        """The newest version that it knows; -1 if none. A difference gets a later one."""
        held = self.held(checkpoint, output)
        return -1 if held is None or held.version is None else held.version

    def evolve(self, columns: ColumnChanges) -> None:
        """Says which columns of its output were others, before `read_rows` and `prepare`."""

    def read_rows(self, output: Output) -> pa.Table | None:
        """All rows that it holds, as changes of the output; None if it holds nothing. Only if it is `readable`."""
        raise NotImplementedError(self.label)

    def read_diverted(self) -> pa.Table | None:
        """All diverted rows that it holds; None if they cannot be read."""
        return None

    def start_over(self) -> bool:
        """Removes all that it holds before the first version of a checkpoint. Returns whether it does so: another sink
        gets the difference to the first version."""
        return False

    def held_at(self, checkpoint: str, output: str, version: int) -> Held | None:
        """What it will hold after `go_back`. By default what it holds now: it cannot go back."""
        return self.held(checkpoint, output)

    def go_back(self, checkpoint: str, output: str, version: int) -> None:
        """Drops what it has taken after a version, because the checkpoint went back to that, if it can."""

    def prepare(self, checkpoint: str, output: str) -> None:
        """Makes the place where rows go, before the query starts. What it holds fits the checkpoint: that is checked
        before."""

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

    def recover(self, changes: OutputChanges) -> None:
        """Called before a start, if it was given these changes and does not hold them: the query has ended after they
        were committed, and before `commit`."""

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

    f: Callable[[pa.Table, int], object]

    about = ("lambda changes, version: …", "a function, called in the driver")
    keeps_weight = True

    @property
    def written(self) -> str:
        return f"the function `{label(self.f)}`"

    def take(self, changes: OutputChanges) -> None:
        self.f(changes.table(), changes.version)


class Console(Sink):
    """Prints some of the changes: at least once."""

    word = "console"
    about = ('"console"', "printed")
    forgets = True
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
    forgets = True
    keeps_weight = True
    replaces = True

    def go_back(self, checkpoint: str, output: str, version: int) -> None:
        self.versions = {each: table for each, table in self.versions.items() if each <= version}

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
    readable = True

    def __post_init__(self) -> None:
        self.folder = folder(self.path)
        self.retention = None if self.keep is None else Retention.of(self.keep)

    @classmethod
    def of_text(cls, rest: str) -> Changes:
        return cls(rest)

    @property
    def label(self) -> str:
        return f'Changes("{hide_passwords(str(self.path))}")'

    def __repr__(self) -> str:
        return self.label if self.keep is None else f"{self.label[:-1]}, keep={self.keep!r})"

    def held(self, checkpoint: str, output: str) -> Held | None:
        log = ChangeLog.read(self.folder)
        if log is None or log.checkpoint != checkpoint or log.output not in ("", output):
            return None
        return Held(log.newest) if has_versions(self.folder, log) else None

    @property
    def place(self) -> object:
        return str(self.folder.path.resolve() if isinstance(self.folder, Local) else self.folder)

    def find_other_output(self, checkpoint: str, output: str) -> str | None:
        log = ChangeLog.read(self.folder)
        if log is None or log.checkpoint != checkpoint or log.output in ("", output):
            return None
        return log.output if has_versions(self.folder, log) else None

    def newest(self, checkpoint: str, output: str) -> int:
        log = ChangeLog.read(self.folder)
        return -1 if log is None else log.newest

    def read_rows(self, output: Output) -> pa.Table | None:
        return self._read(loose_schema(schema_of(output)))

    def read_diverted(self) -> pa.Table | None:
        return self._read(SCHEMA)

    def _read(self, schema: pa.Schema) -> pa.Table | None:
        log = ChangeLog.read(self.folder)
        if log is None or not has_versions(self.folder, log):
            return None
        known = replace(log, schema=schema.serialize().to_pybytes().hex())
        parts = parts_of(self.folder, known, -1, log.newest)
        return pa.concat_tables([schema.empty_table(), *(part.table() for part in parts)])

    def start_over(self) -> bool:
        remove_changes(self.folder)
        return True

    def held_at(self, checkpoint: str, output: str, version: int) -> Held | None:
        held, log = self.held(checkpoint, output), ChangeLog.read(self.folder)
        if held is None or log is None or not log.oldest <= version < log.newest:
            return held
        log = replace(log, newest=version)
        return Held(version) if has_versions(self.folder, log) else None

    def go_back(self, checkpoint: str, output: str, version: int) -> None:
        if self.held(checkpoint, output) is not None:
            abandon_changes(self.folder, version)

    def prepare(self, checkpoint: str, output: str) -> None:
        if isinstance(self.folder, Local):
            self.folder.remove(STAGED)  # of a micro-batch that was interrupted

    def staging_path(self) -> str:
        return f"{self.folder}/{STAGED}/" if isinstance(self.folder, Local) else f"{self.folder}/version="

    def take(self, changes: OutputChanges) -> None:
        staged, target = f"{STAGED}/{changes.version:08}", version_folder(changes.version)
        written = self.folder.within(staged if isinstance(self.folder, Local) else target)
        if not changes.staged:  # no shard has written files
            written.write(f"00000-of-{changes.shards:05}.parquet", _parquet(changes.table()))
        for name in written.names(""):
            if not name.endswith(
                f"-of-{changes.shards:05}.parquet"
            ):  # of an interrupted micro-batch on another number of shards
                written.remove(name)
        if isinstance(self.folder, Local) and self.folder.exists(staged):
            self.folder.remove(target)
            (self.folder.path / staged).rename(self.folder.path / target)
        if changes.reconciles:  # the versions before it may be of another checkpoint
            self.commit(changes)

    def commit(self, changes: OutputChanges) -> None:
        schema = changes.schema.serialize().to_pybytes().hex()
        log = ChangeLog(changes.checkpoint, changes.version, schema, changes.version - 1, output=changes.output)
        log = replace(log, since=changes.version if changes.mends else -1)
        commit_changes(self.folder, log, self.retention, adopts=changes.alone)

    def recover(self, changes: OutputChanges) -> None:
        taken = version_numbers(self.folder)
        is_first = ChangeLog.read(self.folder) is None and taken == [changes.version]
        if is_first or (changes.version in taken and self.held(changes.checkpoint, changes.output) is not None):
            self.commit(changes)

    def write_result(self, name: str, result: Any) -> bool:
        if hasattr(result, "write"):  # a DataFrame
            result.write.parquet(self.path)
        elif isinstance(result, pa.Table):
            self.folder.write("result.parquet", _parquet(result))
        else:
            raise FloError(f"the output `{name}` has no columns, so it can only be printed")
        return True


def _parquet(table: pa.Table) -> pa.Buffer:
    data = pa.BufferOutputStream()
    pq.write_table(table, data)
    return data.getvalue()
