"""Rows by key: which rows have equal keys, each key once, and sums over the rows of a key.

    row  shop  price         keys, by their numbers     sums of price
    0    7     10            9  (1f…)                   20
    1    9     20            7  (c2…)                   40
    2    7     30

There are two ways to the same result. Rows are sorted by key number. Or, where keys are few texts, or integers or times
in a range that is not much larger than the number of rows, each key in the range has a slot: then numbers are added
where they stand, and only distinct keys are hashed and sorted.

Invariant: keys are in the order of their key numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, increases, sort_numbers, take_rows
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.packing import pack_columns
from flo.tables.state.run import Run
from flo.tables.state.trace import add_ranges, group_equal_rows

LEAST = 256
"""Fewer rows are sorted: that takes fewer calls."""


class RowsByKey(Protocol):
    """Which rows have equal keys."""

    @property
    def size(self) -> int:
        """How many keys there are."""

    def numbers(self) -> Indices:
        """Return for each row the place of its key."""

    def add(self, numbers: Indices) -> Indices:
        """Return the sum of the numbers of each key, given one for each row, modulo 2⁶⁴."""


class KeyGroups(NamedTuple):
    """Rows by key, and each key once."""

    rows: RowsByKey
    keys: Run

    def keys_of_rows(self) -> Keys:
        """Return the key number of each row."""
        return Keys(self.keys.keys.numbers[self.rows.numbers()], self.keys.keys.exact)


@dataclass(frozen=True)
class SlottedRows:
    """Rows whose keys have slots."""

    slots: Indices
    """The slot of each row."""
    used: Indices
    """The slot of each key."""
    count: int
    """How many slots there are."""

    @property
    def size(self) -> int:
        return len(self.used)

    def numbers(self) -> Indices:
        places = np.empty(self.count, np.int64)
        places[self.used] = np.arange(len(self.used))
        return places[self.slots]

    def add(self, numbers: Indices) -> Indices:
        sums = np.zeros(self.count, numbers.dtype)
        np.add.at(sums, self.slots, numbers)
        return sums[self.used]


@dataclass(frozen=True)
class AdjacentRows:
    """Rows of which those with equal keys are adjacent."""

    firsts: Indices
    """The first row of each key."""
    rows: int
    """How many rows there are."""

    @property
    def size(self) -> int:
        return len(self.firsts)

    def numbers(self) -> Indices:
        return np.repeat(np.arange(len(self.firsts)), np.diff(self.firsts, append=self.rows))

    def add(self, numbers: Indices) -> Indices:
        return add_ranges(numbers, self.firsts)


def group_by_key(keys: pa.Table) -> KeyGroups:
    """Group rows by their keys."""
    return group_in_slots(keys) or group_by_number(keys, keys_of(keys.columns))


def group_by_number(keys: pa.Table, numbers: Keys) -> KeyGroups:
    """Group rows by their keys, given their key numbers."""
    equal = group_equal_rows(keys, numbers)
    at = equal.order[equal.firsts]
    run = Run(tuple(keys.column_names), Keys(numbers.at(at), numbers.exact), take_rows(keys, at))
    return KeyGroups(equal, run)


def group_in_slots(keys: pa.Table) -> KeyGroups | None:
    """Group rows by their keys, where these are integers or times in a small range, or few texts; otherwise None."""
    slots = pack_columns(keys, keys.num_rows.bit_length()) if keys.num_rows >= LEAST else None
    if slots is None:
        return None
    row_of = np.full(int(slots.max()) + 1, -1)
    row_of[slots] = np.arange(len(slots))  # any of the rows, which have equal keys
    used = np.flatnonzero(row_of >= 0)
    if 2 * len(used) > len(slots):  # to sort rows is as fast
        return None
    distinct = take_rows(keys, row_of[used])
    numbers = keys_of(distinct.columns)
    order, ordered = sort_numbers(numbers.numbers)
    if not numbers.exact and not increases(ordered):  # two keys share a number
        return None
    run = Run(tuple(keys.column_names), Keys(ordered, numbers.exact), take_rows(distinct, order))
    return KeyGroups(SlottedRows(slots, used[order], len(row_of)), run)
