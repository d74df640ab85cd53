"""The memory of this process and of those that it started, from Linux's /proc."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def started() -> dict[int, str]:
    """The processes below this one, and their names."""
    parents = {pid: _parent(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))}
    found = {}
    for pid in parents:
        above, seen = pid, {pid}
        while above in parents and above != os.getpid() and parents[above] not in seen:
            above = parents[above]
            seen.add(above)
        if above == os.getpid() and pid != above:
            found[pid] = _status(pid).get("Name", "")
    return found


def resident(pid: int) -> int:
    """The bytes of a process that are resident and not of files."""
    return int(_status(pid).get("RssAnon", "0 kB").split()[0]) * 1024


def sparks_workers() -> list[int]:
    """The Python processes of Spark's tasks: children of its daemon."""
    below = started()
    return [pid for pid, name in below.items() if name != "java" and below.get(_parent(pid), "java") != "java"]


def end_workers() -> None:
    """Ends Spark's idle Python processes. The next tasks start new ones."""
    for pid in sparks_workers():
        os.kill(pid, signal.SIGKILL)


@contextmanager
def most_of_a_worker() -> Iterator[list[int]]:
    """Gives a list whose last element will be the most memory that one of Spark's Python processes had meanwhile."""
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            most.append(max([most[-1], *map(resident, sparks_workers())]))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield most
    finally:
        over.set()
        looking.join()


def _parent(pid: int) -> int:
    return int(_status(pid).get("PPid", "0"))


def _status(pid: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)
