"""Files that tasks write for the driver: the changes of outputs, and the rows that inputs divert.

    outputs/sums/00000007/00003-5e1f….arrow      the changes of `sums` in version 7, in shard 3
    diverted/orders/9c2a….arrow                  rows that `orders` has diverted
    diverted/orders/00000007.json                which of these files belong to version 7

Invariant: files are named by their content. A task that runs again with the same rows writes the same files; an attempt
with other rows leaves those of an earlier one as they are, because a sink may have taken them. The driver decides which
files count, so files of a failed attempt do no harm.

A sink that reads Parquet gets `00003-of-00008.parquet` in its own folder, by shard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from flo.core.stream_type import StreamType
from flo.tables.checkpoint.folders import Local, Writes, folder
from flo.tables.checkpoint.store import (
    damaged_file_error,
    missing_file_error,
    numbered_files,
    read_sealed,
    write_sealed,
)
from flo.tables.io.diverted import SCHEMA, Diverted, DivertedRows

if TYPE_CHECKING:
    from flo.shards.tasks.context import MicroBatch

VIEW, PARTS, COUNT, UNSENT = "view", "parts", "count", "unsent"
"""How an output is handled: kept as a view, its changes written to files for a sink, only counted, or its changes kept
in memory until they are pulled."""
OUTPUTS, DIVERTED = "outputs", "diverted"
"""Folders of the checkpoint: changes by output, and diverted rows by input."""


@dataclass(frozen=True)
class Output:
    """An output of the program: its stream, and how it is handled."""

    name: str
    stream: int
    type: StreamType
    how: str
    to: str | None = None
    """Path prefix of the Parquet files that tasks write for the sink; None if the sink reads Flo's own files."""


def write_part(where: str, name: str, version: int, number: int, table: pa.Table, writes: Writes) -> str | None:
    """Writes the changes of an output in one micro-batch and one shard, atomically. Returns the name of the file.

    The rows of a view for a new sink are in files of the same kind. Without rows there is no file.
    """
    if not table.num_rows:
        return None
    data = encode_file(table)
    file = f"{OUTPUTS}/{name}/{version:08}/{number:05}-{_digest(data)}.arrow"
    folder(where).writing_together(writes).write(file, data)
    return file


def encode_file(table: pa.Table) -> pa.Buffer:
    """A table in Arrow's file format, which can be memory-mapped."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def write_parquet(to: str, batch: MicroBatch, shard: int, table: pa.Table, writes: Writes) -> str | None:
    """Writes the changes of an output in one micro-batch and one shard as Parquet. Returns the name of the file.

    Shard 0 always writes one, so that a micro-batch without changes leaves a file."""
    files, name = folder(f"{to}{batch.version:08}"), f"{shard:05}-of-{batch.shards:05}.parquet"
    if not table.num_rows and shard != 0:
        return None
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    files.writing_together(writes).write(name, sink.getvalue())
    return name


def remove_stale_files(to: str, batch: MicroBatch, task: int, written: Iterable[str]) -> None:
    """Removes Parquet files of a failed attempt at this micro-batch: of this task's shards, but not written now."""
    fresh, files = set(written), folder(f"{to}{batch.version:08}")
    for name in files.names(""):
        if int(name[:5]) % batch.tasks == task and name not in fresh:
            files.remove(name)


def read_part(where: str, name: str, is_sound: Callable[[pa.Buffer | bytes], bool] = lambda data: True) -> pa.Table:
    """The rows of a file. Raises an error that names the file if it is missing or damaged."""
    parts = folder(where)
    try:
        data = parts.map_file(name) if isinstance(parts, Local) else parts.read(name)
        if is_sound(data):
            return pa.ipc.open_file(data).read_all()
    except FileNotFoundError:
        raise missing_file_error(parts, name) from None
    except (OSError, pa.ArrowException):
        pass
    raise damaged_file_error(parts, name)


def remove_parts(where: str, name: str, before: int) -> None:
    """Removes the changes of earlier micro-batches, which sinks have and which cannot be replayed."""
    for version in folder(where).folders(f"{OUTPUTS}/{name}"):
        if int(version) < before:
            folder(where).remove(f"{OUTPUTS}/{name}/{version}")


def write_diverted(where: str, name: str, rows: list[Diverted]) -> str:
    """Writes diverted rows to a file named by its content; returns the name."""
    data = encode_file(DivertedRows({name: rows}).table(name))
    file = f"{DIVERTED}/{name}/{_digest(data)}.arrow"
    folder(where).write(file, data)
    return file


def _digest(data: pa.Buffer | bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def inputs_with_diverted_rows(where: str) -> list[str]:
    """The inputs and outputs that have diverted rows."""
    return folder(where).folders(DIVERTED)


def record_diverted(where: str, name: str, version: int, files: list[str], whole: bool = False) -> None:
    """Records which files hold the rows diverted in a micro-batch. Files of failed attempts are not recorded.

    If they are the `whole`, they take the place of all that was diverted before."""
    if files or whole:
        write_sealed(folder(where), _manifest(name, version), {"files": files, "whole": whole})
    else:
        folder(where).remove(_manifest(name, version))


def remove_diverted(where: str, name: str, before: int) -> None:
    """Removes the rows diverted in earlier micro-batches, which a sink has and which cannot be replayed."""
    files_of = _files_by_version(where, name)
    held = {file for version, files in files_of.items() if version >= before for file in files}
    for version, files in files_of.items():
        if version < before:
            folder(where).remove(_manifest(name, version))
            for file in set(files) - held:
                folder(where).remove(file)


def read_diverted(where: str, name: str, newest: int) -> pa.Table:
    """All rows that an input has diverted up to this version and that no sink has taken."""
    files = [file for files in _files_by_version(where, name, newest).values() for file in files]
    return pa.concat_tables([SCHEMA.empty_table(), *(_read_diverted_file(where, file) for file in files)])


def last_diverted(where: str, name: str, newest: int) -> int:
    """The last version up to this one whose diverted rows are recorded; -1 if there is none."""
    recorded = numbered_files(folder(where), f"{DIVERTED}/{name}")
    return max((each for each in recorded if each <= newest), default=-1)


def copy_diverted(where: str, to: str, newest: int) -> None:
    """Copies the diverted rows that no sink has taken, up to this version, to a copy of the checkpoint."""
    for name in inputs_with_diverted_rows(where):
        for version, files in _files_by_version(where, name, newest).items():
            for file in (*files, _manifest(name, version)):
                folder(to).add_from(folder(where), file)


def _read_diverted_file(where: str, file: str) -> pa.Table:
    return read_part(where, file, lambda data: file.endswith(f"/{_digest(data)}.arrow"))


def _files_by_version(where: str, name: str, newest: int | None = None) -> dict[int, list[str]]:
    """The files of diverted rows that count, by version: all of them, or those that count at a version."""
    mine = folder(where)
    versions = [each for each in numbered_files(mine, f"{DIVERTED}/{name}") if newest is None or each <= newest]
    manifests = {version: read_sealed(mine, _manifest(name, version), files=list) for version in versions}
    whole = [version for version, each in manifests.items() if each.get("whole") and newest is not None]
    return {version: each["files"] for version, each in manifests.items() if version >= max(whole, default=version)}


def _manifest(name: str, version: int) -> str:
    return f"{DIVERTED}/{name}/{version:08}.json"
