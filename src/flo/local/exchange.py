"""What processes send each other: small messages through pipes, and data in files in memory.

    worker 0 ── "0-7": [ rows for shard 1 | rows for shard 2 ] ──> mapped by the workers of those shards
             ── (shard 1, delivery 3, "0-7", 0, 512), … ──────────> through the driver

A process writes all that it sends at once into one file, and says where each blob is. The receiver maps the file, so
that the data is copied once. The driver removes the files after the micro-batch; what is mapped stays readable.

Two kinds of blobs are in no file. Small ones go with the message. What a worker sends to itself it keeps, by number,
until the micro-batch is over (`OwnBlobs`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from flo.shards.tasks.blobs import ALIGNED, Blob, write_packed

IN_MEMORY = "/dev/shm"
"""A folder whose files are in memory, where there is one."""
SMALL = 1 << 12
"""A blob of fewer bytes goes with the message: a file of its own takes longer."""


class SentBlob(NamedTuple):
    """A blob on its way: where its data is."""

    blob: Blob
    """With its data, or with none if that is in a file, or kept by the worker that sends it to itself."""
    file: str = ""
    start: int = 0
    size: int = 0
    own: int | None = None
    """The number of a blob that its sender keeps."""


class Exchange:
    """The folder for the files of a program."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="flo-", dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None)

    def write(self, name: str, blobs: Iterable[Blob]) -> list[SentBlob]:
        """Write the data of blobs to one file, except that of small ones."""
        every = list(blobs)
        sent = [SentBlob(blob.packed()) for blob in every if blob.size < SMALL]
        large = [blob for blob in every if blob.size >= SMALL]
        if not large:
            return sent
        with pa.OSFile(f"{self.path}/{name}", "wb") as file:
            for blob in large:
                start = file.tell()
                if blob.table is not None:
                    write_packed(blob.table, file)
                else:
                    file.write(blob.data)
                end = file.tell()
                file.write(b"\0" * ((start - end) % (8 * ALIGNED)))
                sent.append(SentBlob(replace(blob, data=None, table=None), name, start, end - start))
        return sent

    def read(self, sent: Iterable[SentBlob]) -> list[Blob]:
        """The blobs with their data, mapped from the files."""
        mapped: dict[str, pa.Buffer] = {}
        blobs = []
        for each in sent:
            if not each.file:
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


class OwnBlobs:
    """What a worker sends to itself in one micro-batch."""

    def __init__(self) -> None:
        self._blobs: list[Blob] = []

    def clear(self) -> None:
        """Forget those of an earlier micro-batch."""
        self._blobs = []

    def keep(self, blob: Blob) -> SentBlob:
        self._blobs.append(blob)
        return SentBlob(replace(blob, data=None, table=None), own=len(self._blobs) - 1)

    def get(self, sent: Iterable[SentBlob]) -> tuple[list[Blob], list[SentBlob]]:
        """Those among sent blobs that are kept here, and the others."""
        every = list(sent)
        return [self._blobs[each.own] for each in every if each.own is not None], [e for e in every if e.own is None]
