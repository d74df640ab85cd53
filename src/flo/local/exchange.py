"""What processes send each other: small messages through pipes, and data in files in memory.

    worker 0 ── "0-7": [ rows for shard 1 | rows for shard 2 ] ──> mapped by the workers of those shards
             ── (shard 1, delivery 3, "0-7", 0, 512), … ──────────> through the driver

A process writes all that it sends at once into one file, and says where each blob is. The receiver maps the file, so
that the data is copied once. The driver removes the files after the micro-batch; what is mapped stays readable.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from flo.shards.tasks.blobs import ALIGNED, Blob

IN_MEMORY = "/dev/shm"
"""A folder whose files are in memory, where there is one."""


class SentBlob(NamedTuple):
    """A blob whose data is in a file."""

    blob: Blob
    """Without the data."""
    file: str
    start: int
    size: int
    """-1 if it has no data."""


class Exchange:
    """The folder for the files of a program."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="flo-", dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None)

    def write(self, name: str, blobs: Iterable[Blob]) -> list[SentBlob]:
        """Write the data of blobs to one file."""
        sent: list[SentBlob] = []
        with pa.OSFile(f"{self.path}/{name}", "wb") as file:
            for blob in blobs:
                start, data = file.tell(), blob.data
                if data is None:
                    sent.append(SentBlob(blob, "", 0, -1))
                    continue
                file.write(data)
                file.write(b"\0" * (-data.size % (8 * ALIGNED)))
                sent.append(SentBlob(replace(blob, data=None), name, start, data.size))
        return sent

    def read(self, sent: Iterable[SentBlob]) -> list[Blob]:
        """The blobs with their data, mapped from the files."""
        mapped: dict[str, pa.Buffer] = {}
        blobs = []
        for each in sent:
            if each.size < 0:
                blobs.append(each.blob)
                continue
            if each.file not in mapped:
                with pa.memory_map(f"{self.path}/{each.file}") as file:
                    mapped[each.file] = file.read_buffer()
            blobs.append(replace(each.blob, data=mapped[each.file].slice(each.start, each.size)))
        return blobs

    def clear(self) -> None:
        """Remove all files."""
        for name in os.listdir(self.path):
            os.unlink(f"{self.path}/{name}")

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
