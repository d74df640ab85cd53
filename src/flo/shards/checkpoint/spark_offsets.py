"""Spark's logs as they were after a micro-batch: kept for a tag, copied with a checkpoint, or cut back to it.

Spark has run 130 micro-batches, and a checkpoint goes back to micro-batch 7:

    spark/offsets/6, 7            what Spark reads at a start: the last micro-batch, and the one before it
    spark/commits/7               Spark does not run it again
    spark/sources/0/0 … 7         the log of a source of files, up to the entry that offsets/7 refers to

Spark removes the first two after 100 micro-batches, and replaces entries of source logs by compacted ones. So a tag has
copies of its own, in `tags/NAME/spark`. Where the entries of a source log are gone, the log stays as it is: Spark then
reads all files that it has seen since in one micro-batch.

Invariant: after a cut, Spark starts with the micro-batch after the given one, from its offsets.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping

from flo.core.errors import CheckpointError
from flo.core.untyped import Json
from flo.shards.checkpoint.spark_logs import (
    COMMITS,
    COMPACT,
    METADATA,
    OFFSETS,
    SOURCES,
    SPARK,
    log_numbers,
    source_offsets,
)
from flo.tables.checkpoint.folders import Folder, folder
from flo.tables.checkpoint.store import missing_file_error

SPARK_CHECKPOINT, LOGS = "spark_checkpoint", "logs"
"""In a description: where Spark keeps its logs, if the user has chosen it; or their folder in the checkpoint."""
COMMITTED = b'v1\n{"nextBatchWatermarkMs":0}'
"""An entry of Spark's commit log, for a micro-batch that Flo has committed and Spark not yet."""
ATTEMPTS = 10
"""So often a source log is copied that Spark compacts meanwhile."""


def spark_folder(where: str, description: Mapping[str, Json] | None) -> str:
    """Where Spark keeps the logs of a program."""
    described = description or {}
    return described.get(SPARK_CHECKPOINT) or f"{where}/{described.get(LOGS, SPARK)}"


def has_logs(where: str) -> bool:
    """Whether Spark has written logs."""
    return folder(where).exists(METADATA) or bool(log_numbers(folder(where), OFFSETS))


def expect_offsets(where: str, version: int, batch: int | None, saved: str | None = None) -> None:
    """Raises if the offsets of a version are neither in Spark's log nor in the copies of a tag."""
    if batch is None or not has_logs(where):
        return
    files = folder(where)
    known = set(log_numbers(files, OFFSETS)) | set(log_numbers(folder(saved), OFFSETS) if saved else ())
    if not _needed(batch) <= known:
        range_text = f"those of micro-batches {min(known)} to {max(known)}" if known else "none"
        raise CheckpointError(
            f"Spark no longer has the offsets of version {version}",
            facts=(("expected", f"`{OFFSETS}/{batch}`"), ("it has", range_text), ("folder", str(files))),
            instead=(
                ("flo state tag CHECKPOINT NAME", "keeps the offsets of a version, while Spark still has them"),
                ("spark.sql.streaming.minBatchesToRetain", "how many Spark keeps; 100 by default"),
            ),
        )


def expect_no_spark_state(where: str) -> None:
    """Raises if Spark keeps state of its own: it is of the newest micro-batches only."""
    if folder(where).folders("state"):
        raise CheckpointError(
            "the DataFrames of this query keep state in Spark, which cannot be kept with a version",
            facts=(("folder", f"{where}/state"),),
            instead=(("Flo's own verbs or `flow.sql`", "for what aggregates, joins or drops duplicates"),),
        )


def copy_logs(source: str, to: str, batch: int) -> None:
    """Copies what Spark needs to go on after a micro-batch. A query on the copy has an id of its own."""
    files, target = folder(source), folder(to)
    for number in sorted(_needed(batch)):
        content = _read_if_there(files, f"{OFFSETS}/{number}")
        if content is None:
            raise missing_file_error(files, f"{OFFSETS}/{number}")
        target.write(f"{OFFSETS}/{number}", content)
    target.write(f"{COMMITS}/{batch}", _read_if_there(files, f"{COMMITS}/{batch}") or COMMITTED)
    last = source_offsets(files, batch)
    for each in files.folders(SOURCES):
        _copy_source(files, target, f"{SOURCES}/{each}", last.get(each))
    target.write(METADATA, json.dumps({"id": str(uuid.uuid4())}).encode())


def cut_logs(where: str, batch: int | None, saved: str | None = None) -> None:
    """Removes what Spark has logged after a micro-batch; all if it is None. Missing files come from a tag's copies."""
    files = folder(where)
    if batch is None:
        for name in (METADATA, f".{METADATA}.crc", OFFSETS, COMMITS, SOURCES):
            files.remove(name)
        return
    for name in _every_file(folder(saved)) if saved else ():
        if name != METADATA and not files.exists(name):
            files.write(name, folder(saved or "").read(name))
    if not files.exists(f"{COMMITS}/{batch}"):
        files.write(f"{COMMITS}/{batch}", COMMITTED)
    for under in (COMMITS, OFFSETS):
        for number in log_numbers(files, under):
            if number > batch:
                _remove(files, under, str(number))
    for source, last in source_offsets(files, batch).items():
        _cut_source(files, f"{SOURCES}/{source}", last)


def _needed(batch: int) -> set[int]:
    """The micro-batches whose offsets Spark reads at a start."""
    return {max(batch - 1, 0), batch}


def _copy_source(files: Folder, target: Folder, under: str, last: int | None) -> None:
    """Copies the log of a source, up to an entry if it numbers them."""
    for attempt in range(ATTEMPTS):
        names = files.names(under)
        wanted = names if last is None else _entries_up_to(names, last) or _entries_up_to(names, _newest(names))
        contents = {name: _read_if_there(files, f"{under}/{name}") for name in wanted}
        if attempt + 1 == ATTEMPTS or None not in contents.values():  # otherwise Spark has compacted it meanwhile
            for name, content in contents.items():
                if content is not None:
                    target.write(f"{under}/{name}", content)
            return


def _cut_source(files: Folder, under: str, last: int) -> None:
    """Removes the entries of a source log after one, if all up to it are there."""
    names = files.names(under)
    if _entries_up_to(names, last):
        for name in names:
            number = _number(name)
            if number is not None and number > last:
                _remove(files, under, name)


def _entries_up_to(names: list[str], last: int) -> list[str]:
    """The entries that say what a source has seen up to one: the last compacted one, and those after it. Empty if some
    are missing."""
    plain = {number: name for name in names if (number := _number(name)) is not None and number <= last}
    compacted = {number: name for number, name in plain.items() if name.endswith(COMPACT)}
    first = max(compacted, default=0)
    wanted = range(first, last + 1)
    return [plain[number] for number in wanted] if all(number in plain for number in wanted) else []


def _newest(names: list[str]) -> int:
    return max((number for name in names if (number := _number(name)) is not None), default=-1)


def _number(name: str) -> int | None:
    number = name.removesuffix(COMPACT)
    return int(number) if number.isdecimal() else None


def _every_file(files: Folder, under: str = "") -> Iterator[str]:
    for name in files.names(under):
        yield f"{under}/{name}" if under else name
    for name in files.folders(under):
        yield from _every_file(files, f"{under}/{name}" if under else name)


def _read_if_there(files: Folder, name: str) -> bytes | None:
    try:
        return files.read(name)
    except FileNotFoundError:
        return None


def _remove(files: Folder, under: str, name: str) -> None:
    """Removes an entry of a log, with its checksums."""
    files.remove(f"{under}/{name}")
    files.remove(f"{under}/.{name}.crc")
