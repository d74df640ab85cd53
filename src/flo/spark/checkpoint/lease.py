"""The lease of a checkpoint: one query at a time may commit to it.

Every start takes the next epoch, by creating a file that nobody else can create. Who has the newest epoch may commit;
who finds a newer one has lost the checkpoint. So a crash never blocks a restart, and no clock decides. Where it can be
seen that the holder is alive, which is on its own machine, the start is refused instead.
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
from typing import Any

from flo.core.errors import CheckpointError
from flo.spark.checkpoint.files import committed, epoch_of
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import create_sealed, damaged, missing, numbers_in, read_sealed, write_sealed

LEASES = "leases"
HOLDER = {"run": str, "query": str, "user": str, "host": str, "pid": int, "started": str, "since": str}
"""What a lease says of its holder."""
_here: dict[str, Lease] = {}
"""The leases of this process, by the run that holds each."""


@dataclass
class Lease:
    """The right of a query to commit to a checkpoint."""

    where: str
    epoch: int
    holder: dict[str, Any]
    is_used: Callable[[], bool] = lambda: True
    """Whether the query still runs: in this process one can be asked."""

    @classmethod
    def take(cls, where: str, query: str) -> Lease:
        """The next epoch. Refused while the holder of the newest is known to be alive."""
        try:
            return cls._next(where, query)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint cannot be written: {error.strerror or error}",
                facts=(("checkpoint", where), ("expected", "a folder that this user may create files in")),
            ) from error

    @classmethod
    def _next(cls, where: str, query: str) -> Lease:
        files, ours = folder(where), _myself(query)
        while True:
            newest = _newest(where)
            if newest is not None and _is_alive(newest):
                raise CheckpointError(
                    "the checkpoint is in use by another query that runs, and one at a time may commit to it",
                    facts=(("in use by", _shown(newest)), ("checkpoint", where)),
                    instead=(
                        ("query.stop()", "there; then the same start again goes on"),
                        ("another checkpoint", "for another query"),
                    ),
                )
            versions = committed(where)
            taken = [newest["epoch"] if newest else 0, epoch_of(where, versions[-1]) if versions else 0]
            lease = _here[ours["run"]] = cls(where, 1 + max(taken), ours)
            try:
                create_sealed(files, _name(lease.epoch), lease._content())
            except OSError as error:
                del _here[ours["run"]]
                if not isinstance(error, FileExistsError):
                    raise
                # another was first: is it alive?
                if max(epochs(where), default=0) < lease.epoch:
                    raise damaged(files, _name(lease.epoch), "cannot be read: it is a folder") from None
                continue
            for old in epochs(where):
                if old < lease.epoch:
                    files.remove(_name(old))
            return lease

    def expect_held(self) -> None:
        """Refuses to go on if another has taken a newer epoch."""
        newest = _newest(self.where)
        if newest is None:
            raise missing(folder(self.where), _name(self.epoch))
        if newest["run"] != self.holder["run"]:
            raise CheckpointError(
                "another query has taken over the checkpoint, and this one commits nothing more",
                facts=(
                    ("taken by", _shown(newest)),
                    ("this one", _shown({**self.holder, "epoch": self.epoch})),
                    ("checkpoint", self.where),
                ),
                instead=(("one query at a time", "another one needs another checkpoint"),),
            )

    def release(self) -> None:
        """The next start need not ask who is alive."""
        if _here.pop(self.holder["run"], None) is None:
            return
        newest = _newest(self.where)
        if newest is not None and newest["run"] == self.holder["run"]:
            write_sealed(folder(self.where), _name(self.epoch), self._content(released=True))

    def _content(self, released: bool = False) -> dict[str, Any]:
        return {"epoch": self.epoch, "released": released, **self.holder}


def read_lease(where: str, epoch: int) -> Any:
    try:
        return read_sealed(folder(where), _name(epoch), epoch=epoch, released=bool, **HOLDER)
    except CheckpointError as error:
        error.instead = ((f"remove `{_name(epoch)}`", "if you know that no query runs on the checkpoint"),)
        raise


def epochs(where: str) -> list[int]:
    """Of the leases that are there: the newest counts."""
    return numbers_in(folder(where), LEASES)


def _newest(where: str) -> Any:
    """The lease that counts; None if there is none."""
    while there := epochs(where):
        try:
            return read_lease(where, there[-1])
        except CheckpointError:
            if folder(where).exists(_name(there[-1])):
                raise  # otherwise a newer one has replaced it
    return None


def _name(epoch: int) -> str:
    return f"{LEASES}/{epoch:08}.json"


def _myself(query: str) -> dict[str, Any]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # one without a name
        user = str(os.getuid())
    return {
        "run": uuid.uuid4().hex,
        "query": query,
        "user": user,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": _started(os.getpid()),
        "since": datetime.now(UTC).isoformat(" ", "seconds"),
    }


def _shown(lease: Any) -> str:
    who = f"`{lease['query']}` of {lease['user']}, process {lease['pid']} on {lease['host']}"
    return f"{who}, since {lease['since']}, epoch {lease['epoch']}"


def _is_alive(lease: Any) -> bool:
    """Whether the holder is known to be alive. Of another machine nothing is known."""
    if lease["released"] or lease["host"] != socket.gethostname():
        return False
    if lease["pid"] == os.getpid() and lease["started"] == _started(os.getpid()):
        return lease["run"] in _here and _here[lease["run"]].is_used()
    return bool(lease["started"]) and _started(lease["pid"]) == lease["started"]


def _started(pid: int) -> str:
    """Tells a process from a later one of the same number, also after a reboot; empty if it has ended."""
    if not Path("/proc/self/stat").exists():
        shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return shown.stdout.strip()
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        state, *more = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else f"{boot} {more[18]}"
