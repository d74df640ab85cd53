"""Spark's daemon, which forks the workers. They keep freed memory, and end quietly when Spark closes their socket.

Spark closes the sockets of idle workers after a minute, and those of all workers when it stops. Such a worker reports
that its input has ended. Nobody reads the report, and over a Unix socket writing it raises an error, which PySpark
prints.
"""

from __future__ import annotations

import gc
from typing import Any

from pyspark import daemon

from flo.shards.tasks.kept_memory import keep_freed_memory

_run_tasks: Any = daemon.worker


def run_tasks(socket: object, authenticated: bool) -> int:
    """Run the tasks of a worker, and return its exit code."""
    keep_freed_memory()
    try:
        code: int = _run_tasks(socket, authenticated)
    except BrokenPipeError:
        return 1
    return code


if __name__ == "__main__":
    daemon.worker = run_tasks
    gc.freeze()  # no worker need look at what it shares with the daemon
    daemon.manager()  # type: ignore[no-untyped-call]
