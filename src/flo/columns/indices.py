"""Row indices: sort, expand ranges, take."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
"""Row indices."""


def stable_order(numbers: Numbers) -> Places:
    """Return the indices that sort the numbers, stably.

    Sorting the numbers is several times faster than sorting indices: the index is put into the lowest bits. That is
    only wrong if two numbers differ in these bits alone, which is rare and is detected.
    """
    bits = np.uint64(max(1, len(numbers) - 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    order: Places = (np.sort((numbers & ~low) | np.arange(len(numbers), dtype=np.uint64)) & low).astype(np.int64)
    return order if is_sorted(numbers[order]) else np.argsort(numbers, kind="stable")


def largest(numbers: Places) -> int:
    """Return the largest absolute value; 0 if there are none."""
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def is_sorted(numbers: Numbers) -> bool:
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def take_rows(table: pa.Table, places: Places) -> pa.Table:
    """Return these rows, in one chunk."""
    return table.combine_chunks().take(pa.array(places)) if table.num_rows else table


def ranges(starts: Places, counts: Places) -> tuple[Places, Places]:
    """Return (which start, index) for start, start + 1, …, `count` times for each start."""
    which = np.repeat(np.arange(len(counts)), counts)
    places = (starts + counts - np.cumsum(counts)).take(which)
    places += np.arange(len(which))
    return which, places


def expand_ranges(starts: Places, counts: Places) -> Places:
    """Return start, start + 1, …, `count` times for each start."""
    return ranges(starts, counts)[1]


def one_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the column as one contiguous array."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
