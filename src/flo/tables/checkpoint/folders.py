"""Folders of files on any filesystem, where a file is there as a whole or not at all.

On a local disk a file is written aside and then renamed, and large ones are mapped. In an object store a put is as a
whole by itself; files that are named by their content are kept on the local disk too, and mapped there.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from flo.core.errors import CheckpointError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WITHOUT_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK)
"""What a filesystem without hard links says."""
ASIDE = "."
"""What the name of a file begins with while it is written."""
CACHE_BYTES = 20 << 30
"""How much of other filesystems is kept on the local disk; what was used last stays."""


class Folder(ABC):
    """Names are relative, with `/`. What is not there raises FileNotFoundError."""

    @abstractmethod
    def read(self, name: str) -> bytes: ...

    @abstractmethod
    def write(self, name: str, data: bytes | pa.Buffer) -> int:
        """Writes a file, or writes it anew; gives its size."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> None:
        """Writes a file that is not there yet; FileExistsError if it is, also if another has just written it."""

    @abstractmethod
    def keep(self, name: str, write: Callable[[Any], Any]) -> int:
        """Writes a file that is named by its content: `write` is given where to write."""

    @abstractmethod
    def kept(self, name: str) -> pa.Buffer:
        """The content of a file that is named by it, mapped."""

    @abstractmethod
    def exists(self, name: str) -> bool: ...

    @abstractmethod
    def files(self, under: str) -> dict[str, tuple[int, float]]:
        """The size of every file in a folder, and how many seconds ago it was written; those aside too."""

    @abstractmethod
    def folders(self, under: str = "") -> list[str]:
        """The folders in a folder, in order."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """A file, or a folder with all that is in it, if it is there."""

    @abstractmethod
    def within(self, name: str) -> Folder: ...

    def names(self, under: str) -> list[str]:
        """The files in a folder, in order."""
        return sorted(name for name in self.files(under) if not name.startswith(ASIDE))

    def refetched(self, name: str) -> pa.Buffer | None:
        """What is kept, once more from where it is; None if it comes from nowhere else."""
        return None


class Local(Folder):
    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, data: bytes | pa.Buffer) -> int:
        return self.keep(name, lambda sink: sink.write(data))

    def create(self, name: str, data: bytes) -> None:
        self._put(name, lambda sink: sink.write(data), _put_if_free)

    def keep(self, name: str, write: Callable[[Any], Any]) -> int:
        return self._put(name, write, os.replace)

    def _put(self, name: str, write: Callable[[Any], Any], rename: Callable[[Path, Path], Any]) -> int:
        """Aside, to the disk, and then under its name."""
        target = self.path / name
        aside = target.with_name(f"{ASIDE}{target.name}.{uuid.uuid4().hex}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with pa.OSFile(str(aside), "wb") as sink:
                write(sink)
            with aside.open("rb+") as file:
                os.fsync(file.fileno())
            size = aside.stat().st_size
            rename(aside, target)
        except BaseException as error:
            aside.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.errno in FULL:
                raise _no_room(target, error) from error
            raise
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return size

    def kept(self, name: str) -> pa.Buffer:
        if not (self.path / name).stat().st_size:
            return pa.py_buffer(b"")  # nothing can be mapped
        return pa.memory_map(str(self.path / name)).read_buffer()

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def files(self, under: str) -> dict[str, tuple[int, float]]:
        now, found = time.time(), {}
        for entry in self._entries(under):
            try:
                if entry.is_file():
                    found[entry.name] = (entry.stat().st_size, now - entry.stat().st_mtime)
            except FileNotFoundError:  # removed while we look
                continue
        return found

    def folders(self, under: str = "") -> list[str]:
        return sorted(entry.name for entry in self._entries(under) if entry.is_dir())

    def _entries(self, under: str) -> Iterator[os.DirEntry[str]]:
        try:
            yield from os.scandir(self.path / under)
        except FileNotFoundError:
            return

    def remove(self, name: str) -> None:
        path = self.path / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def within(self, name: str) -> Folder:
        return Local(self.path / name)


def _put_if_free(aside: Path, target: Path) -> None:
    """A link fails where a file is, and a rename replaces it. Without links the name is reserved first."""
    try:
        os.link(aside, target)
        aside.unlink()
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))
        aside.replace(target)


def _no_room(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"there is no room for the file `{path}`: {os.strerror(error.errno or 0)}",
        instead=(("more space, and the same start again", "the run goes on from the checkpoint"),),
    )


class Remote(Folder):
    """On a filesystem of Arrow's: an object store, HDFS."""

    def __init__(self, filesystem: fs.FileSystem, path: str, shown: str) -> None:
        self.filesystem, self.path, self.shown = filesystem, path, shown

    def __str__(self) -> str:
        return self.shown

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}" if name else self.path

    def read(self, name: str) -> bytes:
        with self.filesystem.open_input_file(self._at(name)) as file:
            data: bytes = file.read()
        return data

    def write(self, name: str, data: bytes | pa.Buffer) -> int:
        """Where a put is not atomic there is a rename that is."""
        target, renames = self._at(name), self.filesystem.type_name == "hdfs"
        if renames:
            self.filesystem.create_dir(target.rpartition("/")[0])
        place = f"{target.rpartition('/')[0]}/{ASIDE}{uuid.uuid4().hex}" if renames else target
        with self.filesystem.open_output_stream(place) as sink:
            sink.write(data)
        if renames:
            self.filesystem.move(place, target)
        return len(data)

    def create(self, name: str, data: bytes) -> None:
        """Arrow has no conditional put. Of two that write at the same moment the last one wins, and the other reads
        back what is not its own, here or later: who must be alone looks again before it relies on that."""
        if self.exists(name):
            raise FileExistsError(name)
        self.write(name, data)
        if self.read(name) != data:
            raise FileExistsError(name)

    def keep(self, name: str, write: Callable[[Any], Any]) -> int:
        cached = name.rpartition("/")[2]
        _cache().keep(cached, write)
        size = self.write(name, _cache().kept(cached))
        _bound(_cache())
        return size

    def kept(self, name: str) -> pa.Buffer:
        cached = name.rpartition("/")[2]
        try:
            found = _cache().kept(cached)
            os.utime(_cache().path / cached)
        except FileNotFoundError:
            return self.refetched(name)
        return found

    def refetched(self, name: str) -> pa.Buffer:
        data, cached = self.read(name), name.rpartition("/")[2]
        _cache().write(cached, data)
        _bound(_cache())
        return _cache().kept(cached)

    def exists(self, name: str) -> bool:
        return bool(self.filesystem.get_file_info(self._at(name)).type != fs.FileType.NotFound)

    def _entries(self, under: str) -> Any:
        return self.filesystem.get_file_info(fs.FileSelector(self._at(under), allow_not_found=True))

    def files(self, under: str) -> dict[str, tuple[int, float]]:
        now = time.time()
        return {
            info.base_name: (info.size, now - info.mtime.timestamp())
            for info in self._entries(under)
            if info.type == fs.FileType.File
        }

    def folders(self, under: str = "") -> list[str]:
        return sorted(info.base_name for info in self._entries(under) if info.type == fs.FileType.Directory)

    def remove(self, name: str) -> None:
        try:
            if self.filesystem.get_file_info(self._at(name)).type == fs.FileType.Directory:
                self.filesystem.delete_dir(self._at(name))
            else:
                self.filesystem.delete_file(self._at(name))
        except FileNotFoundError:
            pass

    def within(self, name: str) -> Folder:
        return Remote(self.filesystem, self._at(name), f"{self.shown}/{name}")


def _cache() -> Local:
    """One for all checkpoints: a name says what the content is."""
    return Local(Path(os.environ.get("FLO_CACHE") or Path(tempfile.gettempdir()) / f"flo-cache-{os.getuid()}"))


def _bound(cache: Local) -> None:
    """Lets go of what was not used for longest. A file that is mapped can be read on."""
    files = sorted(cache.files("").items(), key=lambda item: item[1][1], reverse=True)
    total = sum(size for _, (size, _) in files)
    for name, (size, _) in files:
        if total <= CACHE_BYTES:
            return
        cache.remove(name)
        total -= size


def folder(where: str | Path) -> Folder:
    """A folder by its path or its address, as Spark takes them."""
    text = str(where)
    parts = urlsplit(text)
    if parts.scheme == "file":
        return Local(Path(unquote(parts.path)).absolute())
    if "://" not in text:
        return Local(Path(text).absolute())
    filesystem, path = _filesystem(parts.scheme, parts.netloc)
    return Remote(filesystem, path + parts.path.rstrip("/"), text.rstrip("/"))


@lru_cache(maxsize=64)
def _filesystem(scheme: str, place: str) -> tuple[fs.FileSystem, str]:
    if scheme in ("s3", "s3a", "s3n"):
        return _s3(place), place
    try:
        filesystem, path = fs.FileSystem.from_uri(f"{scheme}://{place}/")
    except (OSError, ValueError, NotImplementedError) as error:
        raise CheckpointError(
            f"there is no way to files at `{scheme}://{place}`: {error}",
            instead=(("a path, or file:, s3:, s3a:, gs:, abfss:, hdfs:", "what Arrow reads and writes"),),
        ) from error
    return filesystem, path.rstrip("/")


def _s3(bucket: str) -> fs.S3FileSystem:
    """With credentials as AWS's own tools find them."""
    scheme, _, endpoint = os.environ.get("AWS_ENDPOINT_URL", "").rpartition("://")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if endpoint:
        return fs.S3FileSystem(scheme=scheme or "https", endpoint_override=endpoint, region=region or "us-east-1")
    return fs.S3FileSystem(region=region or fs.resolve_s3_region(bucket))
