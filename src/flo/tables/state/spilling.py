"""State larger than memory: runs in files that are mapped into memory, so that only the pages that are read take any.

    limit 100 MB        in memory                                   in files
    before              a 60 MB, b 30 MB, c 20 MB, d 1 MB
    limit_memory        c 20 MB, d 1 MB, the indexes of a and b     a 60 MB, b 30 MB

Invariant: a spilled run has the same rows, keys and name as before. Operators hold the run itself, and do not notice.

Its index is coarse: one entry for the key numbers of about a page. So to look up a key reads one page of key numbers,
and the pages of its rows, if there are any. The file has no name any more once it is mapped: it is gone when no run
refers to it, or the process ends. It is a copy: the files of a checkpoint may be remote, or parts of a run.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from flo.columns.indices import one_chunk
from flo.core.errors import CheckpointError
from flo.tables.state.keys import Implied, Keys
from flo.tables.state.run import FILE, NUMBERS, Run, write_table

SMALLEST = 1 << 16
"""Runs with fewer bytes stay in memory: their files would not be smaller than the pages that are read of them."""
FULL = 0.75
"""The share of the limit that is used after runs were spilled, so that not every delta spills one."""
KEPT = ("rows", "columns", "weights", "mixed", *FILE, "parts", "ends")
"""What a spilled run keeps of the properties that were computed. The others hold rows, or a number for each row."""


def limit_memory(runs: Iterable[Run], most: int, folder: Path) -> int:
    """Spill the largest of these runs, until the others have at most so many bytes. Return how many were spilled."""
    every = {id(run): run for run in runs}.values()
    used, spilled = sum(run.bytes for run in every), 0
    if used <= most:
        return 0
    for run in sorted(every, key=lambda run: run.bytes, reverse=True):
        size = run.bytes
        if used <= FULL * most or size < SMALLEST:
            break
        if not run.mapped:
            spill(run, folder)
            used, spilled = used - size + run.bytes, spilled + size
    if spilled:
        _give_back()
    return spilled


def _give_back() -> None:
    """Give memory that is free back to the system, which allocators would keep for later."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


def spill(run: Run, folder: Path) -> None:
    """Move the rows of a run from memory to a file, and with them those of the parts in which it is stored."""
    names, keys = run.table.column_names, run.keys
    numbered = run.table if type(keys) is Implied else run.table.append_column(NUMBERS, pa.array(keys.numbers))
    mapped = _map_table(numbered, folder)
    table = mapped.select(range(len(names)))
    own = Implied([one_chunk(table[name]) for name in run.columns], keys.exact)
    moved = own if type(keys) is Implied else Keys(mapped.column(len(names)).to_numpy(), keys.exact)
    start = 0
    for part, end in zip(run.files, run.file_ends.tolist(), strict=True):
        if part is not run:
            rows = table.slice(start, end - start).select(part.table.column_names)
            _refer(part, rows, moved.between(start, end, part.keys.exact))
        start = end
    _refer(run, table, moved)
    _ = run.index  # while its key numbers are still in the cache of the file


def _refer(run: Run, table: pa.Table, keys: Keys) -> None:
    """Let a run refer to the same rows and keys elsewhere, and forget what was computed of those that it had."""
    known = {name: value for name, value in vars(run).items() if name in KEPT}
    moved = {**known, "table": table, "keys": keys, "mapped": True}
    object.__setattr__(run, "__dict__", moved)  # at once: another thread may be writing the run to a checkpoint


def _map_table(table: pa.Table, folder: Path) -> pa.Table:
    """Write a table to a file without a name, and map it."""
    try:
        with tempfile.TemporaryFile(dir=folder, prefix="flo-state-") as file:
            write_table(table, pa.PythonFile(file, "w"))
            file.flush()
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise CheckpointError(
            f"state beyond the limit of memory cannot be written to {str(folder)!r}: {error}",
            instead=(
                ("FLO_CACHE=…", "in the environment: a folder on a local disk with more space"),
                ("memory=…", "with a larger limit, or none"),
            ),
        ) from error
    return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()
