"""Spark's own part of a checkpoint, its offsets: of what is damaged there Spark does not say what it is."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator

from flo.core.errors import CheckpointError
from flo.tables.checkpoint.folders import Folder, folder
from flo.tables.checkpoint.store import damaged, missing, unreadable

SPARK = "spark"
METADATA, OFFSETS, COMMITS, SOURCES = "metadata", "offsets", "commits", "sources"


def expect_offsets(where: str, newest: int | None) -> None:
    """Refuses offsets that Spark cannot go on with from the newest version that is committed."""
    for problem in problems_of_offsets(where, newest, every=False):
        raise problem


def problems_of_offsets(where: str, newest: int | None, *, every: bool = True) -> Iterator[CheckpointError]:
    """What is wrong with every file, or with those only that Spark reads first.

    What a source writes for itself has a form of its own, and is compared with its checksum.
    """
    try:
        files = folder(where)
        offsets, commits = _numbers(files, OFFSETS), _numbers(files, COMMITS)
        if not offsets and not files.exists(METADATA):
            return  # there are none yet
    except (CheckpointError, OSError):  # only Spark gets there
        return
    yield from _problem(files, METADATA, _is_metadata)
    if newest is not None and offsets and newest not in offsets:
        yield missing(files, f"{OFFSETS}/{newest}")
    for name in [f"{OFFSETS}/{each}" for each in (offsets if every else offsets[-2:])]:
        yield from _problem(files, name, _is_log)
    for name in [f"{COMMITS}/{each}" for each in (commits if every else commits[-1:])]:
        yield from _problem(files, name, _is_log)
    for source in files.folders(SOURCES) if every else ():
        for name in files.names(f"{SOURCES}/{source}"):
            yield from _problem(files, f"{SOURCES}/{source}/{name}", bool)


def _numbers(files: Folder, under: str) -> list[int]:
    return sorted(int(name) for name in files.names(under) if name.isdecimal())


def _problem(files: Folder, name: str, is_sound: Callable[[bytes], bool]) -> Iterator[CheckpointError]:
    try:
        data = files.read(name)
    except FileNotFoundError:
        yield missing(files, name)
        return
    except OSError as error:
        yield unreadable(files, name, error)
        return
    if not is_sound(data) or not _has_its_sums(files, name, data):
        yield damaged(files, name)


def _is_metadata(data: bytes) -> bool:
    try:
        content = json.loads(data)
    except ValueError:
        return False
    return isinstance(content, dict) and isinstance(content.get("id"), str)


def _is_log(data: bytes) -> bool:
    """A version, and lines, of which the first is JSON; a source may write the others as it likes."""
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


def _has_its_sums(files: Folder, name: str, data: bytes) -> bool:
    """Whether the data is what the checksums beside it are of, as Hadoop writes them on local disks."""
    under, _, last = name.rpartition("/")
    try:
        sums = files.read(f"{under}/.{last}.crc" if under else f".{last}.crc")
    except FileNotFoundError:
        return True
    size = int.from_bytes(sums[4:8], "big") or 1
    found = [zlib.crc32(data[start : start + size]) for start in range(0, len(data), size)]
    return sums[:4] == b"crc\0" and sums[8:] == b"".join(each.to_bytes(4, "big") for each in found)
