"""Row indices: sort, expand ranges, take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.ones import is_ones, ones

Numbers = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]
"""Row indices; also counts and weights of rows."""
Mask = npt.NDArray[np.bool_]
INT64, FLOAT64 = pa.int64(), pa.float64()
MANY = 1 << 10
"""From so many rows on, it saves time to look for columns of ones."""


def sort_numbers(numbers: Numbers) -> tuple[Indices, Numbers]:
    """Return the indices that sort the numbers, stably, and the sorted numbers.

    Sorting the numbers is several times faster than sorting indices: the index is put into the lowest bits. That is
    only wrong for numbers that differ in these bits alone, which are then sorted again.
    """
    bits = np.uint64(max(1, len(numbers) - 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    both = numbers & ~low
    both |= np.arange(len(numbers), dtype=np.uint64)
    both.sort()
    both &= low
    order = both.view(np.int64)
    ordered = numbers.take(order)
    wrong = (ordered[1:] < ordered[:-1]).nonzero()[0]
    if len(wrong):
        high = ordered & ~low
        alike = np.unique(high[wrong])
        starts = np.searchsorted(high, alike)
        rows = expand_ranges(starts, np.searchsorted(high, alike, "right") - starts)
        some = order[rows]
        order[rows] = some[np.argsort(numbers[some], kind="stable")]
        ordered = numbers.take(order)
    return order, ordered


def has_any(mask: Mask | Indices) -> bool:
    """Return whether one is not zero. For a few, counting takes less time than `any` does."""
    return bool(np.count_nonzero(mask))


def has_all(mask: Mask | Indices) -> bool:
    """Return whether none is zero."""
    return bool(np.count_nonzero(mask) == mask.size)


def largest(numbers: Indices) -> int:
    """Return the largest absolute value; 0 if there are none."""
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def is_sorted(numbers: Numbers | Indices) -> bool:
    return len(numbers) < 2 or bool((numbers[1:] >= numbers[:-1]).all())


def increases(numbers: Numbers | Indices) -> bool:
    """Return whether each number is greater than the one before."""
    return len(numbers) < 2 or has_all(numbers[1:] > numbers[:-1])


def take_rows(table: pa.Table, indices: Indices) -> pa.Table:
    """Return these rows, in one chunk. There must be a row with each index: Arrow does not check that."""
    if not table.num_rows:
        return table
    table = combine_chunks(table)
    if is_every(indices, table.num_rows):
        return table
    places = ones_in(table) if len(indices) >= MANY else []
    if not places:
        return pc.take(table, to_arrow(indices), boundscheck=False)
    which, columns = to_arrow(indices), table.columns
    taken = [
        ones(len(indices)) if place in places else pc.take(column, which, boundscheck=False)
        for place, column in enumerate(columns)
    ]
    return pa.Table.from_arrays(taken, schema=table.schema)


def sort_rows(table: pa.Table, names: list[str]) -> pa.Table:
    """Return the rows in ascending order of columns that have no nulls. Rows that have come in the order of the only
    column, which does not repeat, are not copied."""
    if len(names) == 1 and table.num_rows:
        column = one_chunk(table[names[0]])
        if pc.all(pc.less(column[:-1], column[1:]), min_count=0).as_py():
            return combine_chunks(table)
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names]))


def combine_chunks(table: pa.Table) -> pa.Table:
    """Return the table in one chunk."""
    places = ones_in(table) if table.num_rows >= MANY and not is_one_chunk(table) else []
    if not places:
        return table.combine_chunks()
    count, columns = table.num_rows, table.columns
    whole = [ones(count) if place in places else one_chunk(column) for place, column in enumerate(columns)]
    return pa.Table.from_arrays(whole, schema=table.schema)


def is_one_chunk(table: pa.Table) -> bool:
    return all(column.num_chunks == 1 for column in table.columns)


def ones_in(table: pa.Table) -> list[int]:
    """Return the places of the columns that are known to be ones."""
    return [place for place, column in enumerate(table.columns) if is_ones(column)]


def to_arrow(numbers: Indices | npt.NDArray[np.float64]) -> pa.Array:
    """Return int64 or float64 as a column, without a copy and without asking what they are, as `pa.array` does."""
    kind, plain = (FLOAT64, np.float64) if numbers.dtype.kind == "f" else (INT64, np.int64)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers, plain))])


def take_ascending(array: pa.Array, indices: Indices) -> pa.Array:
    """Return the values at these indices, which ascend: without a copy if none is left out between them."""
    count = len(indices)
    if not count or indices[-1] - indices[0] == count - 1:
        return array.slice(indices[0] if count else 0, count)
    return array.take(to_arrow(indices))


def is_every(indices: Indices, count: int) -> bool:
    """Return whether these are all indices of so many rows, in order."""
    ends = len(indices) == count > 0 and indices[0] == 0 and indices[-1] == count - 1
    return bool(ends) and (count < 3 or bool((indices[1:] > indices[:-1]).all()))


def ranges(starts: Indices, counts: Indices) -> tuple[Indices, Indices]:
    """Return (which start, index) for start, start + 1, …, `count` times for each start."""
    which = np.repeat(np.arange(len(counts)), counts)
    indices = (starts + counts - np.cumsum(counts)).take(which)
    indices += np.arange(len(which))
    return which, indices


def expand_ranges(starts: Indices, counts: Indices) -> Indices:
    """Return start, start + 1, …, `count` times for each start."""
    return ranges(starts, counts)[1]


def bisect_ranges(
    low: Indices, high: Indices, is_before: Callable[[Indices, Indices], npt.NDArray[np.bool_]]
) -> Indices:
    """Binary search in many ranges [low, high) of indices: return the first index of each that is not before its bound.

    `is_before` gets indices, one in each of some ranges, and the numbers of these ranges.
    """
    low, high = low.astype(np.int64), high.astype(np.int64)
    left = np.flatnonzero(low < high)
    while len(left):
        middle = (low[left] + high[left]) >> 1
        before = is_before(middle, left)
        low[left], high[left] = np.where(before, middle + 1, low[left]), np.where(before, high[left], middle)
        left = left[low[left] < high[left]]
    return low


def one_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the column as one contiguous array."""
    if type(column) is not pa.ChunkedArray:
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def with_all_buffers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch that comes from Java with its nested columns made anew. Java leaves out the offsets of lists that
    are within empty lists only, and Arrow crashes when it measures or concatenates such columns."""
    for place, column in enumerate(batch.columns):
        if pa.types.is_nested(column.type):
            whole = column.take(pa.array(np.arange(batch.num_rows)))
            batch = batch.set_column(place, batch.schema.field(place), whole)
    return batch


FEW = 16
"""With at most this many distinct values, searching for each is faster than sorting."""


def sort_indices(numbers: Indices | Numbers) -> Indices:
    """The indices that sort the numbers, stably."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    low, bits = numbers.min(), len(numbers).bit_length()
    if (int(numbers.max()) - int(low)).bit_length() + bits > 63:
        return np.argsort(numbers, kind="stable")
    return sort_with_indices((numbers - low).astype(np.int64, copy=False), bits) & ((1 << bits) - 1)


def sort_with_indices(small: Indices, bits: int) -> Indices:
    """The sorted numbers, with their indices in the lowest bits."""
    both = small << bits
    both |= np.arange(len(small))
    both.sort()
    return both


def first_of_each(groups: Indices, count: int) -> Indices:
    """Return the first index of each of so many groups; -1 of one that does not occur."""
    firsts = np.full(count, -1)
    firsts[groups[::-1]] = np.arange(len(groups))[::-1]  # the last value that is assigned stays
    return firsts


def grouped(numbers: Indices) -> tuple[Indices, Indices, Indices]:
    """The indices that sort the numbers, stably; the distinct numbers; and the count of each."""
    if is_sorted(numbers):
        firsts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
        return np.arange(len(numbers)), numbers[firsts], np.diff(firsts, append=len(numbers))
    low, high = int(numbers.min()), int(numbers.max())
    if high - low < FEW:
        small = (numbers - low).astype(np.uint8)
        indices = [np.flatnonzero(small == each) for each in range(high - low + 1)]
        counts = np.array([len(each) for each in indices])
        return np.concatenate(indices), low + np.flatnonzero(counts), counts[counts > 0]
    if high - low < 1 << 16:
        order = np.argsort((numbers - low).astype(np.uint16), kind="stable")  # a radix sort for 16 bits
    else:
        order = sort_indices(numbers)
    distinct, counts = np.unique(numbers[order], return_counts=True)
    return order, distinct, counts
