"""Searching sorted key numbers: an index, and the steps from what it says to the rows of a number.

Numbers are shortened to their first byte, and the index looks at the first four bits of it:

    row     0    1    2    3    4    end        starts   0…: 0   4…: 1   8…: 1   b…: 3   c…: 5   end: 5
    number  04…  80…  80…  b2…  b7…             counts   1    2    1    1    1   (of row 2 it says nothing)

To find 80…, begin at row 1. To find b7…, begin at row 3, whose number is smaller, and go on by the count of row 3.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from flo.columns.indices import Indices, Numbers, bisect_ranges
from flo.tables.state.keys import Keys

FEW = 16
"""Up to how many rows with the same bits are compared key by key. More are bisected."""
MOST = 255
"""The largest count that an index has."""

ROUNDS, MANY = 3, 8
"""How often the next key of all numbers is read, while at least one of so many numbers has not been reached. To pick
these out takes longer than to read the keys of the others again."""

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class KeyRanges(NamedTuple):
    """Where some key numbers stand in a run."""

    present: Indices
    """Which of the numbers asked for the run has, ascending."""
    starts: Indices
    """The first row of each of these."""
    counts: Indices
    """How many rows each of these has."""


class Index(NamedTuple):
    """Where to begin to look for a number."""

    starts: Indices
    """For each value of the highest bits of a number, the first row with that value or a larger one."""
    bits: int
    """How many of the highest bits these are."""
    counts: npt.NDArray[np.uint8] | None
    """For the first row of each number, how many rows have it, `MOST` at most. None if each number has one row, or if
    the numbers are in a file."""
    mapped: bool
    """Whether the numbers are in a file: then all of them are bisected."""

    @classmethod
    def of(cls, numbers: Numbers, per_entry: int, mapped: bool) -> Index:
        """Return the index of sorted numbers, with an entry for so many of them on average."""
        bits = max(1, (len(numbers) // per_entry).bit_length())
        buckets = (numbers >> np.uint64(64 - bits)).view(np.int64)
        starts: Indices = np.zeros(1 + (1 << bits), np.int32 if len(numbers) < 2**31 else np.int64)
        starts[1:] = np.bincount(buckets, minlength=1 << bits).cumsum()  # with `out`, it takes longer
        return cls(starts, bits, None if mapped else _count_equal(numbers), mapped)

    @property
    def bytes(self) -> int:
        return int(self.starts.nbytes) + (0 if self.counts is None else int(self.counts.nbytes))

    def around(self, number: int) -> tuple[Indices, Indices]:
        """Return the range of rows with the highest bits of a number."""
        ends = self.starts[number >> (64 - self.bits) :][:2]
        return ends[:1], ends[1:]

    def find(self, keys: Keys, numbers: Numbers) -> KeyRanges:
        """Return which of these numbers there are among `keys`, of which this is the index, and where.

        1. The index gives a range of rows for each number.
        2. A long range is searched by bisection, once for equal numbers that follow each other.
        3. In a short range, keys are compared one after the other.
        """
        bucket = (numbers >> np.uint64(64 - self.bits)).view(np.int64)
        lows = self.starts.take(bucket).astype(np.int64)
        bucket += 1
        highs = self.starts.take(bucket)
        wide = np.flatnonzero(highs - lows > (0 if self.mapped else FEW))
        if not len(wide):
            return self._step(keys, lows, numbers)
        new = np.concatenate([[True], numbers[wide[1:]] != numbers[wide[:-1]]])  # a group that is asked for often
        first = wide[new]
        asked = numbers[first]
        if type(keys) is Keys and not self.mapped:
            halved, after = (np.searchsorted(keys.numbers, asked, side) for side in _SIDES)
        else:
            halved = bisect_ranges(lows[first], highs[first], lambda rows, which: keys.at(rows) < asked[which])
            after = bisect_ranges(halved, highs[first], lambda rows, which: keys.at(rows) <= asked[which])
        nth = np.cumsum(new) - 1
        lows[wide], highs[:] = halved[nth], 0
        highs[wide] = (after - halved)[nth]
        present, starts, counts = self._step(keys, lows, numbers)
        bisected = highs.take(present)
        return KeyRanges(present, starts, np.where(bisected, bisected, counts))

    def _step(self, keys: Keys, starts: Indices, numbers: Numbers) -> KeyRanges:
        """Do what `find` does, given a row for each number, and none before it has that number: go from key to key
        while they are smaller."""
        counts, last = self.counts, int(self.starts[-1]) - 1
        there = keys.at(np.minimum(starts, last))
        for _ in range(ROUNDS):
            smaller = there < numbers
            if MANY * np.count_nonzero(smaller) < len(numbers):
                break
            starts += smaller if counts is None else smaller * counts.take(starts, mode="clip")
            there = keys.at(np.minimum(starts, last))
        left = np.flatnonzero(there < numbers)
        while len(left):
            rows = starts.take(left)
            rows += 1 if counts is None else counts.take(rows, mode="clip")
            starts[left] = rows
            at_rows = keys.at(np.minimum(rows, last))
            there[left] = at_rows
            left = left[(at_rows < numbers.take(left)) & (rows <= last)]
        present = np.flatnonzero(there == numbers)
        starts = starts.take(present)
        each = np.ones(len(starts), np.int64) if counts is None else counts.take(starts).astype(np.int64)
        return KeyRanges(present, starts, each)


def _count_equal(numbers: Numbers) -> npt.NDArray[np.uint8] | None:
    """Return `Index.counts` of sorted numbers."""
    repeated = np.flatnonzero(numbers[1:] == numbers[:-1])  # the rows whose number the next row has
    if not len(repeated):
        return None
    begins = np.flatnonzero(np.diff(repeated, prepend=-2) > 1)
    counts = np.ones(len(numbers), np.uint8)
    counts[repeated[begins]] = np.minimum(np.diff(begins, append=len(repeated)) + 1, MOST)
    return counts
