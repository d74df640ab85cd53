"""Folders on any filesystem, with atomic writes: a file exists as a whole or not at all.

On a local disk a file is written under a temporary name and then renamed, and large files are memory-mapped. In an
object store a put is atomic. Files of an object store that are named by their content are cached on the local disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from flo.core.errors import CheckpointError
from flo.core.secrets import hide_passwords

T = TypeVar("T")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WITHOUT_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK)
"""Errors of filesystems without hard links."""
TEMPORARY = "."
"""Prefix of the name of a file while it is written."""
FLUSHING = 8
"""How many files are flushed at once."""
CACHE_BYTES = 20 << 30
"""Limit for the cache of remote files on the local disk. The least recently used are removed first."""


class Folder(ABC):
    """A folder of files. Names are relative, with `/`. A file that does not exist raises FileNotFoundError."""

    @abstractmethod
    def read(self, name: str) -> bytes: ...

    @abstractmethod
    def write(self, name: str, data: bytes | pa.Buffer) -> int:
        """Writes or replaces a file; returns its size."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> None:
        """Writes a new file. Raises FileExistsError if it exists, even if another process has just written it."""

    @abstractmethod
    def write_with(self, name: str, write: Callable[[pa.NativeFile], object]) -> int:
        """Writes a file that is named by its content. `write` is called with the sink."""

    @abstractmethod
    def map_file(self, name: str) -> pa.Buffer:
        """The content of a file that is named by its content, memory-mapped."""

    @abstractmethod
    def exists(self, name: str) -> bool: ...

    @abstractmethod
    def files(self, under: str) -> dict[str, tuple[int, float]]:
        """The size and the age in seconds of every file in a folder, temporary ones included."""

    @abstractmethod
    def folders(self, under: str = "") -> list[str]:
        """The names of the folders in a folder, sorted."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Removes a file, or a folder with all its content, if it exists."""

    @abstractmethod
    def within(self, name: str) -> Folder: ...

    def names(self, under: str) -> list[str]:
        """The names of the files in a folder, sorted, without temporary ones."""
        return sorted(name for name in self.files(under) if not name.startswith(TEMPORARY))

    def add_from(self, source: Folder, name: str) -> None:
        """Adds a file of another folder, which never changes, under the same name, if it is not there."""
        if not self.exists(name):
            self.write(name, source.read(name))

    def refetch(self, name: str) -> pa.Buffer | None:
        """Fetches a file again into the cache; None if the folder has no cache."""
        return None

    def writing_together(self, writes: Writes) -> Folder:
        """The same folder, whose files appear when `writes` are finished, if it is on a local disk."""
        return self


class Writes:
    """Files on a local disk that appear together, when they are finished.

    To flush many files at once takes a disk about as long as to flush one, and meanwhile others can be written. No file
    appears before all are flushed. They appear in the order in which they were written.
    """

    def __init__(self) -> None:
        self._files: list[tuple[str, str, Future[None]]] = []
        """The temporary and the final path of each, and its flush."""
        self._meanwhile: list[Future[None]] = []
        self._afterwards: list[Callable[[], None]] = []

    def add(self, temporary: str, target: str) -> None:
        self._files.append((temporary, target, _threads().submit(_flush, temporary)))

    def meanwhile(self, act: Callable[[], None]) -> None:
        """Calls a function now, beside what follows. It is done when the files are there."""
        self._meanwhile.append(_threads().submit(act))

    def afterwards(self, act: Callable[[], None]) -> None:
        """Calls a function when all files are there. Such functions are called at the same time."""
        self._afterwards.append(act)

    def finish(self) -> None:
        try:
            for _, _, flushed in self._files:
                flushed.result()
            for temporary, target, _ in self._files:
                os.replace(temporary, target)
            _call_all(_flush, dict.fromkeys(os.path.dirname(target) for _, target, _ in self._files))
        except OSError as error:
            if error.errno in FULL:
                raise _no_room(self._files[0][1], error) from error
            raise
        _call_all(lambda act: act(), self._afterwards)
        for done in self._meanwhile:
            done.result()
        self._files, self._meanwhile, self._afterwards = [], [], []

    def close(self) -> None:
        """Removes the files that have not appeared."""
        wait([*self._meanwhile, *(flushed for _, _, flushed in self._files)])
        for temporary, _, _ in self._files:
            _remove_file(temporary)


@cache
def _threads() -> ThreadPoolExecutor:
    """The threads of this process that flush files. To start some takes longer than a small micro-batch should."""
    return ThreadPoolExecutor(FLUSHING)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a fork has no threads of its parent


def _call_all(act: Callable[[T], None], items: Iterable[T]) -> None:
    """Calls a function with each item, at the same time. No call runs any more when it returns, or raises."""
    calls = [_threads().submit(act, each) for each in items]
    wait(calls)
    for call in calls:
        call.result()


def _flush(path: str) -> None:
    """Flushes a file or a folder to the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class Local(Folder):
    """A folder on a local disk. With `writes`, what is written to it appears when these are finished."""

    def __init__(self, path: Path, writes: Writes | None = None) -> None:
        self.path = path
        self.writes = writes

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, data: bytes | pa.Buffer) -> int:
        return self.write_with(name, lambda sink: sink.write(data))

    def create(self, name: str, data: bytes) -> None:
        self._put(name, lambda sink: sink.write(data), _rename_if_free)

    def write_with(self, name: str, write: Callable[[pa.NativeFile], object]) -> int:
        return self._put(name, write, os.replace)

    def _put(self, name: str, write: Callable[[pa.NativeFile], object], rename: Callable[[str, str], object]) -> int:
        """Writes under a temporary name, flushes to the disk, and renames; the latter two later, with other writes."""
        target = f"{self.path}/{name}"
        parent, _, last = target.rpartition("/")
        temporary = f"{parent}/{TEMPORARY}{last}.{uuid.uuid4().hex}"
        try:
            with _open_new(temporary) as sink:
                write(sink)
                size: int = sink.tell()
            if self.writes is not None and rename is os.replace:
                self.writes.add(temporary, target)
                return size
            _flush(temporary)
            rename(temporary, target)
        except BaseException as error:
            _remove_file(temporary)
            if isinstance(error, OSError) and error.errno in FULL:
                raise _no_room(target, error) from error
            raise
        _flush(parent)
        return size

    def add_from(self, source: Folder, name: str) -> None:
        if isinstance(source, Local) and not self.exists(name):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):  # a disk without hard links
                os.link(source.path / name, self.path / name)
        super().add_from(source, name)

    def map_file(self, name: str) -> pa.Buffer:
        if not (self.path / name).stat().st_size:
            return pa.py_buffer(b"")  # an empty file cannot be mapped
        return pa.memory_map(str(self.path / name)).read_buffer()

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def files(self, under: str) -> dict[str, tuple[int, float]]:
        now, files = time.time(), {}
        for entry in self._entries(under):
            try:
                if entry.is_file():
                    files[entry.name] = (entry.stat().st_size, now - entry.stat().st_mtime)
            except FileNotFoundError:  # removed meanwhile
                continue
        return files

    def names(self, under: str) -> list[str]:
        """The names alone, without a look at each file."""
        entries = self._entries(under)
        return sorted(entry.name for entry in entries if not entry.name.startswith(TEMPORARY) and entry.is_file())

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
        return Local(self.path / name, self.writes)

    def writing_together(self, writes: Writes) -> Folder:
        return Local(self.path, writes)


def _open_new(path: str) -> pa.NativeFile:
    """Creates a file to write, and its folder if that is missing."""
    try:
        return pa.OSFile(path, "wb")
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return pa.OSFile(path, "wb")


def _remove_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _rename_if_free(temporary: str, target: str) -> None:
    """Renames a file unless the target exists: a hard link fails then. Without links the name is reserved first."""
    try:
        os.link(temporary, target)
        os.unlink(temporary)
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))
        os.replace(temporary, target)


def _no_room(path: str, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"no space left for the file `{path}`: {os.strerror(error.errno or 0)}",
        instead=(("free disk space, then start again", "the run resumes from the checkpoint"),),
    )


class Remote(Folder):
    """A folder on a filesystem of Arrow: an object store, or HDFS."""

    def __init__(self, filesystem: fs.FileSystem, path: str, address: str) -> None:
        self.filesystem, self.path, self.address = filesystem, path, address

    def __str__(self) -> str:
        return self.address

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}" if name else self.path

    def read(self, name: str) -> bytes:
        with self.filesystem.open_input_file(self._at(name)) as file:
            data: bytes = file.read()
        return data

    def write(self, name: str, data: bytes | pa.Buffer) -> int:
        """Writes in one put, or on HDFS, where a put is not atomic, under a temporary name that is renamed."""
        target, renames = self._at(name), self.filesystem.type_name == "hdfs"
        if renames:
            self.filesystem.create_dir(target.rpartition("/")[0])
        index = f"{target.rpartition('/')[0]}/{TEMPORARY}{uuid.uuid4().hex}" if renames else target
        with self.filesystem.open_output_stream(index) as sink:
            sink.write(data)
        if renames:
            self.filesystem.move(index, target)
        return len(data)

    def create(self, name: str, data: bytes) -> None:
        """Checks, writes and reads back, since Arrow has no conditional put.

        Of two processes that write at the same moment the last one wins. The other may find out only later, so a caller
        that needs to be alone must check again.
        """
        if self.exists(name):
            raise FileExistsError(name)
        self.write(name, data)
        if self.read(name) != data:
            raise FileExistsError(name)

    def write_with(self, name: str, write: Callable[[pa.NativeFile], object]) -> int:
        cached = name.rpartition("/")[2]
        _cache().write_with(cached, write)
        size = self.write(name, _cache().map_file(cached))
        _evict(_cache())
        return size

    def map_file(self, name: str) -> pa.Buffer:
        cached = name.rpartition("/")[2]
        try:
            mapped = _cache().map_file(cached)
            os.utime(_cache().path / cached)
        except FileNotFoundError:
            return self.refetch(name)
        return mapped

    def refetch(self, name: str) -> pa.Buffer:
        data, cached = self.read(name), name.rpartition("/")[2]
        _cache().write(cached, data)
        _evict(_cache())
        return _cache().map_file(cached)

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
        return Remote(self.filesystem, self._at(name), f"{self.address}/{name}")


def _cache() -> Local:
    """The cache of all checkpoints, which can share it because names follow from the content."""
    chosen = os.environ.get("FLO_CACHE")
    return Local(Path(chosen) if chosen else _private_folder(Path(tempfile.gettempdir()) / f"flo-cache-{os.getuid()}"))


def scratch_folder() -> Path:
    """A folder on the local disk, for files that no other process reads."""
    path = _cache().path
    path.mkdir(parents=True, exist_ok=True)
    return path


def _private_folder(path: Path) -> Path:
    """A folder that only this user can write: this one, or one of this process if another user has made this one.

    All users can write to the temporary directory, so another one may have made a folder or a link of this name.
    """
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
        return _folder_of_this_process(path)
    if info.st_mode & 0o077:
        path.chmod(0o700)
    return path


@lru_cache
def _folder_of_this_process(path: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"{path.name}-", dir=path.parent))


def _evict(cache: Local) -> None:
    """Removes the least recently used files beyond the limit. A mapped file stays readable."""
    files = sorted(cache.files("").items(), key=lambda item: item[1][1], reverse=True)
    total = sum(size for _, (size, _) in files)
    for name, (size, _) in files:
        if total <= CACHE_BYTES:
            return
        cache.remove(name)
        total -= size


def folder(where: str | Path) -> Folder:
    """The folder at a path or URL, in the forms that Spark accepts."""
    text = str(where)
    parts = urlsplit(text)
    if parts.scheme == "file":
        return Local(Path(unquote(parts.path)).absolute())
    if "://" not in text:
        return Local(Path(text).absolute())
    try:
        filesystem, path = _filesystem(parts.scheme, parts.netloc)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        address = hide_passwords(f"{parts.scheme}://{parts.netloc}")
        reason = str(error).replace(parts.netloc, address.partition("://")[2]) if parts.netloc else str(error)
        raise CheckpointError(
            f"cannot open `{address}`: {reason}",
            instead=(("a path, or file:, s3:, s3a:, gs:, abfss:, hdfs:", "the filesystems that Arrow supports"),),
        ) from None  # Arrow's error has the password
    return Remote(filesystem, path + parts.path.rstrip("/"), text.rstrip("/"))


@lru_cache(maxsize=64)
def _filesystem(scheme: str, host: str) -> tuple[fs.FileSystem, str]:
    if scheme in ("s3", "s3a", "s3n"):
        return _s3(host), host
    filesystem, path = fs.FileSystem.from_uri(f"{scheme}://{host}/")
    return filesystem, path.rstrip("/")


def _s3(bucket: str) -> fs.S3FileSystem:
    """S3 with the credentials that AWS's own tools would find."""
    scheme, _, endpoint = os.environ.get("AWS_ENDPOINT_URL", "").rpartition("://")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if endpoint:
        return fs.S3FileSystem(scheme=scheme or "https", endpoint_override=endpoint, region=region or "us-east-1")
    return fs.S3FileSystem(region=region or fs.resolve_s3_region(bucket))
