"""Several things at once, in two threads: NumPy and Arrow let another thread run while they work on many rows.

A program that runs in one process may use another core of the machine. Workers and Spark's tasks may not: there are as
many of them as cores.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

MANY = 1 << 15
"""Work on fewer rows is done one after the other: it takes less time than threads need to meet."""
_may_use_cores: ContextVar[bool] = ContextVar("_may_use_cores", default=False)


@contextmanager
def using_cores() -> Iterator[None]:
    """Within, `do_all` uses a second thread, if the machine has another core."""
    before = _may_use_cores.set(_count_cores() > 1)
    try:
        yield
    finally:
        _may_use_cores.reset(before)


def _count_cores() -> int:
    """How many cores this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def do_all(rows: int, *tasks: Callable[[], Any]) -> list[Any]:
    """Return what functions return, which work on about so many rows. They may run in two threads, and in any order: so
    they must not depend on each other, nor call functions of users. Begin with the longest."""
    if rows < MANY or len(tasks) < 2 or not _may_use_cores.get():
        return [task() for task in tasks]
    waiting, results = deque(enumerate(tasks)), [None] * len(tasks)

    def work() -> None:
        try:
            while (each := _next(waiting)) is not None:
                place, task = each
                results[place] = task()
        except BaseException:
            waiting.clear()
            raise

    other = _submit(work)
    try:
        work()
    finally:
        # nothing runs after an error; what has not begun is not waited for, as the thread may work for another program
        failure = None if other is None or other.cancel() else other.exception()
    if failure is not None:
        raise failure
    return results


def _next(waiting: deque[Any]) -> Any:
    """Take the next of these; None if none is left, since the other thread may have taken it."""
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _submit(work: Callable[[], None]) -> Future[None] | None:
    """Let the other thread do this; None if there is none: the interpreter ends, or the system has no more threads."""
    try:
        return _pool(os.getpid()).submit(work)
    except RuntimeError:
        return None


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """The thread of a process. A forked process has none of its parent."""
    return ThreadPoolExecutor(1, thread_name_prefix="flo aside")
