"""The lease of a checkpoint: one query at a time may commit to it.

    leases/00000003.json     epoch 3: the query `sales` of ann, process 4711 on host h, not released

    a second start, on host h          process 4711 is alive: the start is rejected
    a second start, on another host    takes epoch 4. The first query finds it before its next commit, and stops

Invariant: every start takes the next epoch by creating a file exclusively, and only the query with the newest epoch may
commit. A crash therefore never blocks a restart, and no clock or timeout is involved. On the holder's own machine Flo
can see whether the holder is alive, and then rejects the start.
"""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from flo.core.errors import CheckpointError
from flo.core.untyped import Json
from flo.shards.checkpoint.commits import commit_epoch, committed_versions
from flo.shards.checkpoint.going_back import finish_going_back
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import (
    create_sealed,
    damaged_file_error,
    missing_file_error,
    numbered_files,
    read_sealed,
    write_sealed,
)

LEASES = "leases"
HOLDER = {"run": str, "query": str, "user": str, "host": str, "pid": int, "started": str, "since": str}
"""The fields that identify the holder of a lease."""
_here: dict[str, Lease] = {}
"""The leases that this process holds, by the id of the run."""


@dataclass
class Lease:
    """The right of a query to commit to a checkpoint."""

    where: str
    epoch: int
    holder: dict[str, Json]
    is_used: Callable[[], bool] = lambda: True
    """Whether the query still runs. Can be asked in the same process only."""

    @classmethod
    def take(cls, where: str, query: str) -> Lease:
        """Takes the next epoch. Raises while the holder of the newest one is known to be alive.

        If the holder before was going back to a version, that is finished first."""
        try:
            lease = cls._take_next(where, query)
            try:
                finish_going_back(where)
            except BaseException:
                lease.release()
                raise
            return lease
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint cannot be written: {error.strerror or error}",
                facts=(("checkpoint", where), ("expected", "a folder in which this user may create files")),
            ) from error

    @classmethod
    def _take_next(cls, where: str, query: str) -> Lease:
        """Takes the next epoch, and again the next one if another start was first."""
        files, ours = folder(where), _describe_process(query)
        while True:
            newest = _newest(where)
            if newest is not None and _is_alive(newest):
                raise CheckpointError(
                    "the checkpoint is in use by another query; only one at a time may run on it",
                    facts=(("in use by", _format_holder(newest)), ("checkpoint", where)),
                    instead=(
                        ("query.stop()", "in that process; then start this query again"),
                        ("another checkpoint", "for another query"),
                    ),
                )
            versions = committed_versions(where)
            taken = [newest["epoch"] if newest else 0, commit_epoch(where, versions[-1]) if versions else 0]
            lease = _here[ours["run"]] = cls(where, 1 + max(taken), ours)
            try:
                create_sealed(files, _name(lease.epoch), lease._content())
            except OSError as error:
                del _here[ours["run"]]
                if not isinstance(error, FileExistsError):
                    raise
                # another start was first: look again
                if max(epochs(where), default=0) < lease.epoch:
                    raise damaged_file_error(files, _name(lease.epoch), "cannot be read: it is a folder") from None
                continue
            for old in epochs(where):
                if old < lease.epoch:
                    files.remove(_name(old))
            return lease

    def expect_held(self) -> None:
        """Raises if another query has taken a newer epoch."""
        newest = _newest(self.where)
        if newest is None:
            raise missing_file_error(folder(self.where), _name(self.epoch))
        if newest["run"] != self.holder["run"]:
            raise CheckpointError(
                "another query has taken over the checkpoint, so this one must not commit",
                facts=(
                    ("taken by", _format_holder(newest)),
                    ("this one", _format_holder({**self.holder, "epoch": self.epoch})),
                    ("checkpoint", self.where),
                ),
                instead=(("another checkpoint", "for each query that runs at the same time"),),
            )

    def release(self) -> None:
        """Releases the lease, so that the next start on any machine succeeds at once."""
        if _here.pop(self.holder["run"], None) is None:
            return
        newest = _newest(self.where)
        if newest is not None and newest["run"] == self.holder["run"]:
            write_sealed(folder(self.where), _name(self.epoch), self._content(released=True))

    def _content(self, released: bool = False) -> dict[str, Json]:
        return {"epoch": self.epoch, "released": released, **self.holder}


def read_lease(where: str, epoch: int) -> Json:
    """The content of a lease. Raises with a fix if the file is damaged."""
    try:
        return read_sealed(folder(where), _name(epoch), epoch=epoch, released=bool, **HOLDER)
    except CheckpointError as error:
        error.instead = ((f"remove `{_name(epoch)}`", "if no query runs on the checkpoint"),)
        raise


def epochs(where: str) -> list[int]:
    """The epochs of all leases, in order. The newest one counts."""
    return numbered_files(folder(where), LEASES)


def _newest(where: str) -> Json:
    """The newest lease; None if there is none."""
    while there := epochs(where):
        try:
            return read_lease(where, there[-1])
        except CheckpointError:
            if folder(where).exists(_name(there[-1])):
                raise  # otherwise a newer lease has replaced it
    return None


def _name(epoch: int) -> str:
    return f"{LEASES}/{epoch:08}.json"


def _describe_process(query: str) -> dict[str, Json]:
    """The holder of a lease that this process takes now."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # the user has no name
        user = str(os.getuid())
    return {
        "run": uuid.uuid4().hex,
        "query": query,
        "user": user,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": _start_time(os.getpid()),
        "since": datetime.now(UTC).isoformat(" ", "seconds"),
    }


def _format_holder(lease: Json) -> str:
    """The holder of a lease in an error message."""
    holder = f"`{lease['query']}` of {lease['user']}, process {lease['pid']} on {lease['host']}"
    return f"{holder}, since {lease['since']}, epoch {lease['epoch']}"


def _is_alive(lease: Json) -> bool:
    """Whether the holder is known to be alive. A process on another machine is not."""
    if lease["released"] or lease["host"] != socket.gethostname():
        return False
    if lease["pid"] == os.getpid() and lease["started"] == _start_time(os.getpid()):
        return lease["run"] in _here and _here[lease["run"]].is_used()
    return bool(lease["started"]) and _start_time(lease["pid"]) == lease["started"]


def _start_time(pid: int) -> str:
    """The start of a process, which distinguishes it from later ones with the same id; empty if it has ended."""
    if not Path("/proc/self/stat").exists():
        listing = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return listing.stdout.strip()
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        state, *more = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else f"{boot} {more[18]}"
