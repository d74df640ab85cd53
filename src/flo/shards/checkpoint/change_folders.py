"""Folders of changes, which the sink `Changes` writes: every version has a folder `version=…` of Parquet files.

With `keep=2`, after version 7:

    _changes.json                     the log: newest version 7, base 5, and the files of the base
    _base/00000005/00000.parquet      the sum of the changes of versions 0 to 5
    version=00000006/…                the changes of version 6
    version=00000007/…

    rows at version 7 = the base + version 6 + version 7

Invariant: the log says which base and which versions belong together, and is replaced as a whole. What it names is
written before it, and removed only when a later base is there: so a reader that has read the log has the time until
then.

The columns of an output may change with its program. The log has those of the newest version, and all files are read
with them: a column that a file does not have, or not with a type that fits, is null there.

Versions that are no longer kept are folded into the base when they are many, or large compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flo.core.errors import CheckpointError
from flo.shards.checkpoint.column_fit import fit_columns
from flo.shards.checkpoint.commits import name_line
from flo.shards.checkpoint.retention import Retention
from flo.shards.tasks.view_parts import ALL
from flo.tables.checkpoint.folders import Folder, folder
from flo.tables.checkpoint.store import missing_file_error, read_sealed, write_sealed
from flo.tables.io.changes import WEIGHTS_FIELD, add_weights, consolidate_changes
from flo.tables.io.files import WEIGHTS
from flo.tables.state.keys import keys_of

LOG, BASE = "_changes.json", "_base"
"""Names that start with `_`, which readers of Parquet skip."""
PART_BYTES = 32 << 20
"""About how many bytes of files are folded or read at once. Parquet takes a fraction of the memory of its rows."""
AT_ONCE, MANY = 4, 256
"""Versions are folded when they have a quarter of the bytes of the base, or when there are many."""


@dataclass(frozen=True)
class ChangeLog:
    """The versions that a folder has, and its base."""

    checkpoint: str
    """The id of the checkpoint whose versions they are."""
    newest: int
    """The newest version that is committed."""
    schema: str
    """The schema of the rows, with `_weight` if they have weights, as Arrow writes it, in hexadecimal digits."""
    base: int = -1
    """The newest version in the base; -1 if there is none."""
    files: tuple[str, ...] = ()
    """The files of the base."""
    output: str = ""
    """The output whose changes they are; empty in a log of an earlier release."""
    backs: tuple[int, ...] = ()
    """The versions that the folder went back to."""
    since: int = -1
    """The version at which it was reconciled: the sum of those before it is not what the output was."""

    @classmethod
    def read(cls, where: Folder) -> ChangeLog | None:
        """The log of a folder; None if it has none."""
        if not where.exists(LOG):
            return None
        known = {"checkpoint": str, "newest": int, "schema": str, "base": int, "files": list}
        content = read_sealed(where, LOG, **known)
        more = {"files": tuple(content["files"]), "output": content.get("output", "")}
        more |= {"backs": tuple(content.get("backs", ())), "since": content.get("since", -1)}
        return cls(**{name: content[name] for name in known} | more)

    def write(self, where: Folder) -> None:
        write_sealed(where, LOG, {**vars(self), "files": list(self.files), "backs": list(self.backs)})

    @property
    def oldest(self) -> int:
        """The oldest version that the folder can go back to."""
        return max(self.base, self.since)

    @property
    def rows(self) -> pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(self.schema)))


def version_folder(version: int) -> str:
    """The name of the folder of a version."""
    return f"version={version:08}"


def has_versions(where: Folder, log: ChangeLog) -> bool:
    """Whether a folder has a base or a version. A user may have removed all but the log."""
    return bool(log.files) or any(number <= log.newest for number in version_numbers(where))


def remove_changes(where: Folder) -> None:
    """Removes all versions."""
    where.remove(LOG)
    where.remove(BASE)
    for number in version_numbers(where):
        where.remove(version_folder(number))


def commit_changes(where: Folder, log: ChangeLog, retention: Retention | None, adopts: bool = False) -> None:
    """Shows a version to readers, and folds those that are no longer kept.

    If it `adopts` the versions of another checkpoint, it is the difference to them."""
    before = ChangeLog.read(where)
    if before is not None and (adopts or before.checkpoint == log.checkpoint):
        schema = _common_schema(before.rows, log.rows).serialize().to_pybytes().hex()
        newest = max(log.newest, before.newest)
        for number in version_numbers(where) if newest > before.newest + 1 else ():
            if before.newest < number < newest:  # taken, and never committed
                where.remove(version_folder(number))
        log = replace(log, base=before.base, files=before.files, newest=newest, schema=schema, backs=before.backs)
        log = replace(log, since=max(log.since, before.since))
    elif before is not None:  # of a checkpoint that was replaced: its versions are overwritten one by one
        where.remove(BASE)
    upto = log.base if retention is None else _newest_expired(where, log, retention)
    if upto == log.base or not _is_worth_it(where, log, upto):
        log.write(where)
        return
    folded = replace(log, base=upto, files=tuple(_fold(where, log, upto)))
    folded.write(where)
    _remove_old(where, log, folded)


def _common_schema(before: pa.Schema, now: pa.Schema) -> pa.Schema:
    """The columns of the newest version. One that earlier versions do not have is null in them."""
    same = {each.name for each in before if not each.nullable and each.type in _types(now, each.name)}
    return pa.schema([each if each.name in {*same, WEIGHTS} else each.with_nullable(True) for each in now])


def _types(schema: pa.Schema, name: str) -> list[pa.DataType]:
    return [schema.field(name).type] if name in schema.names else []


def abandon_changes(where: Folder, after: int) -> None:
    """Removes the versions after one, unless some of them are part of the base, or it was reconciled since.

    If nothing is left, the version itself can be written anew: the output was a view then, whose rows come next."""
    log = ChangeLog.read(where)
    if log is None or log.oldest > after:
        return
    last = after - 1 if log.base == after and not log.files else after
    if log.newest > after:
        replace(log, newest=after, base=min(log.base, last), backs=(*log.backs, after)).write(where)
    for number in version_numbers(where):
        if number > last:
            where.remove(version_folder(number))


def _newest_expired(where: Folder, log: ChangeLog, retention: Retention) -> int:
    """The newest version that is no longer kept. A version without changes may have no folder."""
    upto = max(log.base, log.newest - retention.versions)
    if not retention.seconds:
        return upto
    for number, following in pairwise(number for number in version_numbers(where) if number > log.base):
        ages = [age for _, age in where.files(version_folder(following)).values()]
        if following > log.newest or max(ages, default=0.0) <= retention.seconds:
            return min(upto, number - 1)
    return upto


def _is_worth_it(where: Folder, log: ChangeLog, upto: int) -> bool:
    """Whether there is enough to fold up to a version: a fold writes the whole base again."""
    base, rest = (_size(where, files) for files in (log.files, _files(where, log.base, upto)))
    return AT_ONCE * rest >= base or upto - log.base >= MANY


def _size(where: Folder, files: Sequence[str]) -> int:
    """The bytes of these files."""
    listed = {under: where.files(under) for under in {file.rpartition("/")[0] for file in files}}
    return sum(listed[under].get(name, (0, 0.0))[0] for under, _, name in (file.rpartition("/") for file in files))


def _files(where: Folder, after: int, upto: int) -> list[str]:
    """The files of the versions after one, up to another, in order."""
    return [
        f"{version_folder(version)}/{name}"
        for version in range(after + 1, upto + 1)
        for name in where.names(version_folder(version))
    ]


def _fold(where: Folder, log: ChangeLog, upto: int) -> Iterator[str]:
    """Writes the base of the versions up to one; yields the names of its files."""
    under = f"{BASE}/{upto:08}"
    where.remove(under)  # left by an interrupted run
    for number, part in enumerate(parts_of(where, log, -1, upto)):
        sink = pa.BufferOutputStream()
        pq.write_table(part.table(), sink)
        name = f"{under}/{number:05}.parquet"
        where.write(name, sink.getvalue())
        yield name


def _remove_old(where: Folder, before: ChangeLog, now: ChangeLog) -> None:
    """Removes what neither the base now nor the one before needs."""
    held = {file.split("/")[1] for log in (before, now) for file in log.files}
    for name in set(where.folders(BASE)) - held:
        where.remove(f"{BASE}/{name}")
    for number in version_numbers(where):
        if number <= before.base:
            where.remove(version_folder(number))


def version_numbers(where: Folder) -> list[int]:
    """The versions that have a folder, in order."""
    numbers = (name.removeprefix("version=") for name in where.folders() if name.startswith("version="))
    return [int(number) for number in numbers if number.isdecimal()]


@dataclass(frozen=True)
class ChangePart:
    """The changes in some files, of the rows whose key numbers are in a range."""

    folder: str
    files: tuple[str, ...]
    schema: pa.Schema
    low: int = 0
    high: int = ALL

    def table(self) -> pa.Table:
        """The net changes, as they are stored: with `_weight` if rows have weights, else in order."""
        where = folder(self.folder)
        parts = [self._within(fit_columns(_read(where, file), self.schema)) for file in self.files]
        table = pa.concat_tables([self.schema.empty_table(), *parts])
        return consolidate_changes(table) if WEIGHTS in self.schema.names else table

    def _within(self, table: pa.Table) -> pa.Table:
        """The rows whose key numbers are in the range."""
        if (self.low, self.high) == (0, ALL) or not table.num_rows:
            return table
        numbers = keys_of([table[name] for name in self.schema.names if name != WEIGHTS]).numbers
        return table.filter(pa.array((numbers >= np.uint64(self.low)) & (numbers <= np.uint64(self.high - 1))))

    def rows(self) -> pa.Table:
        return self.table()

    def changes(self) -> pa.Table:
        """The net changes, with `_weight`."""
        return add_weights(self.table())


def _read(where: Folder, file: str) -> pa.Table:
    """The rows of a Parquet file."""
    try:
        return pq.ParquetFile(pa.BufferReader(where.read(file))).read(use_threads=False)
    except FileNotFoundError:
        raise missing_file_error(where, file) from None


def parts_of(where: Folder, log: ChangeLog, after: int, upto: int) -> list[ChangePart]:
    """The parts that have the changes after a version up to another. After -1 that is all of them, with the base."""
    files = (*(log.files if after < log.base else ()), *_files(where, max(after, log.base), upto))
    count = min(len(files), max(1, _size(where, files) // PART_BYTES))
    if WEIGHTS not in log.rows.names or len(log.rows.names) == 1:  # in order, and nothing cancels out
        places = [len(files) * place // max(1, count) for place in range(count + 1)]
        return [ChangePart(str(where), files[low:high], log.rows) for low, high in pairwise(places)]
    edges = [ALL * place // count for place in range(count + 1)] if files else []
    return [ChangePart(str(where), files, log.rows, low, high) for low, high in pairwise(edges)]


class StoredChanges:
    """A folder of changes, as readers see it."""

    def __init__(self, where: str) -> None:
        self.where = folder(where)
        log = ChangeLog.read(self.where)
        if log is None:
            raise missing_file_error(self.where, LOG)
        self.log, self.id = log, log.checkpoint

    def id_at(self, version: int) -> str:
        """Identifies what a version is: a number is used again after the checkpoint went back."""
        return name_line(self.id, self.log.backs, version)

    def versions(self) -> list[int]:
        """The versions whose rows can be read, in order."""
        return list(range(max(self.log.base, 0), self.log.newest + 1))

    def schema(self, view: str | None, version: int | None) -> pa.Schema:
        """The columns, and `_weight`."""
        return pa.schema([*(field for field in self.log.rows if field.name != WEIGHTS), WEIGHTS_FIELD])

    def parts(self, view: str | None, after: int, upto: int | None) -> tuple[list[ChangePart], set[int]]:
        """The parts with the changes after a version up to another, by default the newest; and the versions needed."""
        upto = self.log.newest if upto is None else upto
        for version in {after, upto} - {-1}:
            if version not in self.versions():
                why = "is not there yet" if version > self.log.newest else "is part of the base"
                raise CheckpointError(
                    f"version {version} of the changes {why}",
                    facts=(("folder", str(self.where)), ("kept", f"{self.versions()[0]} to {self.log.newest}")),
                    instead=(
                        ('flo.spark.Changes(path, keep="1 day")', "keeps the versions of a day"),
                        ("another checkpointLocation", "reads the base, and then the changes"),
                    ),
                )
        return parts_of(self.where, self.log, after, upto), {after, upto} - {-1}


def has_changes(where: str) -> bool:
    """Whether a folder is one of changes, rather than a checkpoint."""
    return folder(where).exists(LOG)
