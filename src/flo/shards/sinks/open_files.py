"""Which database files this process has open, where the system tells it: on Linux.

DuckDB's locks are between processes. Two databases on one file in one process overwrite each other, so a sink must not
open a file that the user's program has open. Old drivers leave a file open after its connection was closed; such a file
says nothing about the program, and is not looked at again.
"""

from __future__ import annotations

import os
from contextlib import suppress

OPEN = "/proc/self/fd"
"""A link for each file that this process has open."""
_left_open: set[str] = set()
"""The files that a driver has left open."""


def is_open_elsewhere(file: str) -> bool:
    """Whether this process has a file open, other than by a connection of a sink that was closed."""
    path = os.path.realpath(file)
    return path not in _left_open and path in _open_files()


def note_closed(file: str) -> None:
    """Says that a sink has closed its connection to a file, which may be open still."""
    path = os.path.realpath(file)
    if path in _open_files():
        _left_open.add(path)


def _open_files() -> set[str]:
    paths = set()
    with suppress(OSError):  # another system
        for number in os.listdir(OPEN):
            with suppress(OSError):  # closed since
                paths.add(os.readlink(f"{OPEN}/{number}"))
    return paths
