"""Freed memory that a process keeps, so that it need not be mapped again.

    an array of 2 MB is freed    glibc gives it back, and each 4 KiB of the next array is a page fault
    with keep_freed_memory()     the next array takes the same pages

The arrays of one piece of rows are some MB each. A process that is new to its work would spend a third of its time on
page faults.
"""

from __future__ import annotations

import ctypes

import pyarrow as pa

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The names of the parameters in malloc.h of glibc."""
MAPPED_FROM = 1 << 25
"""An array of that many bytes is given back when it is freed: the most that glibc allows."""
KEPT = 1 << 29
"""So many bytes of free memory are kept at most."""


def keep_freed_memory() -> None:
    """Let the allocator keep what this process frees. Without glibc there is no such parameter."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):
        return
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM)
    mallopt(M_TRIM_THRESHOLD, KEPT)
    pa.default_memory_pool().release_unused()
    pa.set_memory_pool(pa.system_memory_pool())
