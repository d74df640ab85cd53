"""Spark's own files in a checkpoint: the offset log, the commit log and the logs of its sources.

    spark/metadata             the id of the query
    spark/offsets/7            what version 7 reads of every source: "v1", then a line of JSON for each
    spark/commits/7            Spark has committed version 7, and does not run it again
    spark/sources/0/7          files that source 0 has seen; 9.compact replaces all entries up to 9
    spark/offsets/.7.crc       checksums, which Hadoop writes on local disks

Invariant: Spark can resume from the newest committed version if its offsets are there. Flo checks that, because Spark
does not say which file is missing or damaged, and how to fix it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flo.core.errors import CheckpointError
from flo.shards.checkpoint.commits import read_commit
from flo.tables.checkpoint.folders import Folder, folder
from flo.tables.checkpoint.store import damaged_file_error, missing_file_error, unreadable_file_error

SPARK = "spark"
METADATA, OFFSETS, COMMITS, SOURCES = "metadata", "offsets", "commits", "sources"
COMPACT = ".compact"
"""Suffix of an entry of a source log that replaces all earlier ones."""


BATCH, PUSHED, ENDED = "batch", "rows", "ended"
"""In a commit: the last micro-batch of Spark that it includes; if it is of a push, how many rows were pushed; and the
inputs that have ended."""


@dataclass(frozen=True)
class ResumedBatches:
    """How Spark's numbers of micro-batches follow on the versions of a checkpoint.

    They are the same if only Spark has run the program. After pushes in process, versions are ahead:

        version      0  1  2      3      4  5
        by           Spark 0–2    push   Spark 3, 4        first = 1: the version of batch b is b + 1
    """

    first: int = 0
    """What is added to the number of a micro-batch."""
    last: int | None = None
    """The last micro-batch that the checkpoint includes."""
    is_newest: bool = True
    """Whether it is the newest version, which Spark may run again. If not, Spark must not add it again."""

    @classmethod
    def after(cls, where: str, newest: int) -> ResumedBatches:
        """What follows on the newest version of a checkpoint; -1 if there is none."""
        if newest < 0:
            return cls()
        commit = read_commit(where, newest)
        last, pushed = commit.get(BATCH), PUSHED in commit
        if pushed:
            return cls(newest - (-1 if last is None else last), last, False)
        return cls(0, newest) if last is None else cls(newest - last, last)


def expect_sound_logs(where: str, newest: int | None) -> None:
    """Raises if Spark cannot resume from the newest committed version. Checks the files that Spark reads first."""
    for problem in find_log_problems(where, newest, every=False):
        raise problem


def find_log_problems(where: str, newest: int | None, *, every: bool = True) -> Iterator[CheckpointError]:
    """Problems of every file, or only of the files that Spark reads first.

    The entries of a source log have a format of their own; they are compared with their checksums.
    """
    try:
        files = folder(where)
        offsets, commits = log_numbers(files, OFFSETS), log_numbers(files, COMMITS)
        if not offsets and not files.exists(METADATA):
            return  # nothing is written yet
    except (CheckpointError, OSError):  # Spark reaches the place, but Flo does not
        return
    yield from _check_file(files, METADATA, _is_metadata)
    if newest is not None and offsets and newest not in offsets:
        yield missing_file_error(files, f"{OFFSETS}/{newest}")
    for name in [f"{OFFSETS}/{each}" for each in (offsets if every else offsets[-2:])]:
        yield from _check_file(files, name, _is_log)
    for name in [f"{COMMITS}/{each}" for each in (commits if every else commits[-1:])]:
        yield from _check_file(files, name, _is_log)
    if every:
        yield from _check_source_logs(files, offsets)


def has_committed(where: str, version: int) -> bool:
    """Whether Spark has committed a micro-batch, so that it never runs again. False if that cannot be read."""
    try:
        return version in log_numbers(folder(where), COMMITS)
    except (CheckpointError, OSError):
        return False


def _check_source_logs(files: Folder, offsets: list[int]) -> Iterator[CheckpointError]:
    """Problems of source logs: damaged entries, and missing ones between the last compaction and the last offset."""
    last = source_offsets(files, offsets[-1]) if offsets else {}
    for source in sorted({*files.folders(SOURCES), *last}):
        names = files.names(f"{SOURCES}/{source}")
        for name in names:
            yield from _check_file(files, f"{SOURCES}/{source}/{name}", bool)
        entries = {int(name.removesuffix(COMPACT)) for name in names if name.removesuffix(COMPACT).isdecimal()}
        compact = (int(name.removesuffix(COMPACT)) for name in names if name.endswith(COMPACT))
        wanted = range(max(compact, default=0), max([*entries, last.get(source, -1)], default=-1) + 1)
        yield from (
            missing_file_error(files, f"{SOURCES}/{source}/{number}") for number in wanted if number not in entries
        )


def source_offsets(files: Folder, version: int) -> dict[str, int]:
    """For sources that number the entries of their logs, the last entry that an offset refers to."""
    try:
        _, _, *lines = files.read(f"{OFFSETS}/{version}").decode(errors="replace").split("\n")
    except (OSError, ValueError):
        return {}
    last = {}
    for source, line in enumerate(lines):
        number = re.fullmatch(r'\{"logOffset":\s*(\d+)\}', line.strip())
        if number:
            last[str(source)] = int(number[1])
    return last


def log_numbers(files: Folder, under: str) -> list[int]:
    """The numbers of the entries of a log, in order."""
    return sorted(int(name) for name in files.names(under) if name.isdecimal())


def _check_file(files: Folder, name: str, is_sound: Callable[[bytes], bool]) -> Iterator[CheckpointError]:
    """The problem of a file, if it has one."""
    try:
        data = files.read(name)
    except FileNotFoundError:
        yield missing_file_error(files, name)
        return
    except OSError as error:
        yield unreadable_file_error(files, name, error)
        return
    if not is_sound(data) or not _matches_checksums(files, name, data):
        yield damaged_file_error(files, name)


def _is_metadata(data: bytes) -> bool:
    try:
        content = json.loads(data)
    except ValueError:
        return False
    return isinstance(content, dict) and isinstance(content.get("id"), str)


def _is_log(data: bytes) -> bool:
    """Whether this is a version followed by lines. The first is JSON; the others may have a source's own format."""
    version, *lines = data.decode(errors="replace").split("\n")
    if not re.fullmatch(r"v\d+", version) or not all(lines):
        return False
    try:
        for line in lines:
            if line is lines[0] or line.startswith("{"):
                json.loads(line)
    except ValueError:
        return False
    return bool(lines)


def _matches_checksums(files: Folder, name: str, data: bytes) -> bool:
    """Whether the data matches the file of checksums beside it, which Hadoop writes on local disks."""
    under, _, last = name.rpartition("/")
    try:
        sums = files.read(f"{under}/.{last}.crc" if under else f".{last}.crc")
    except FileNotFoundError:
        return True
    size = int.from_bytes(sums[4:8], "big") or 1
    actual = [zlib.crc32(data[start : start + size]) for start in range(0, len(data), size)]
    return sums[:4] == b"crc\0" and sums[8:] == b"".join(each.to_bytes(4, "big") for each in actual)
