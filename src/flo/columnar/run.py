"""A run: rows sorted by the number of their key, never changed, searched without being scanned."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from flo.columnar.keys import Keys, Numbers, Places, keys_of, same
from flo.columnar.rows import WEIGHT
from flo.core.term import Call, Lowerable, Lowering, Term, register

PER_BUCKET = 2
"""How many different keys share an entry of the index, on average."""


@dataclass(frozen=True, eq=False)
class Run(Lowerable):
    """The rows of a table by key. `columns` name the key."""

    columns: tuple[str, ...]
    keys: Keys
    table: pa.Table

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def starts(self) -> Places:
        """Where the rows of each different key number begin, and where the last ones end."""
        numbers = self.keys.numbers
        if not len(numbers):
            return np.zeros(1, np.int64)
        changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        return _small(np.concatenate([[0], changes, [len(numbers)]]))

    def spans(self, keys: Places) -> tuple[Places, Places]:
        """Where the rows of some of our key numbers begin, and how many there are."""
        starts = self.starts.take(keys)
        return starts, self.starts.take(keys + 1) - starts

    @cached_property
    def unique(self) -> Numbers:
        several = len(self.starts) <= self.rows
        return self.keys.numbers[self.starts[:-1]] if several else self.keys.numbers

    @cached_property
    def once(self) -> bool:
        """Whether every row has the weight 1."""
        weights = self.table[WEIGHT].to_numpy()
        return not self.rows or bool(weights.min() == 1 == weights.max())

    @cached_property
    def _bits(self) -> int:
        return max(1, int(len(self.unique) // PER_BUCKET).bit_length())

    @cached_property
    def _index(self) -> Places:
        """For the highest bits of a number, the first key that has them or larger ones."""
        counts = np.bincount((self.unique >> np.uint64(64 - self._bits)).astype(np.int64), minlength=1 << self._bits)
        return _small(np.cumsum(counts) - counts)

    @property
    def bytes(self) -> int:
        """The memory of the rows, their numbers and what is known of them for the search."""
        known = [self.__dict__.get(name) for name in ("starts", "unique", "_index")]
        arrays = {id(array): array.nbytes for array in (self.keys.numbers, *known) if array is not None}
        return int(self.table.nbytes) + sum(arrays.values())

    @cached_property
    def name(self) -> str:
        """The same for the same content, and for no other."""
        digest = hashlib.blake2b(repr(self.columns).encode(), digest_size=16)
        write_ipc(self, pa.PythonFile(_Hashed(digest), "w"))
        return digest.hexdigest()

    def lower(self, lower: Lowering) -> Term:
        sink = pa.BufferOutputStream()
        write_ipc(self, sink)
        return Call("run", (self.columns, lower(sink.getvalue().to_pybytes())))

    def find(self, numbers: Numbers) -> tuple[Places, Places]:
        """(which of these sorted numbers are here, and which of our keys they are)."""
        unique = self.unique
        if not len(unique) or not len(numbers):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        place = self._index.take((numbers >> np.uint64(64 - self._bits)).view(np.int64)).astype(np.int64)
        place = place[: _before(place, len(unique))]
        here = unique.take(place)
        numbers = numbers[: len(place)]
        there = here == numbers
        behind = np.flatnonzero(here < numbers)
        at, asked = place.take(behind), numbers.take(behind)
        while len(behind):  # a few rounds: numbers are spread evenly
            at += 1
            some = _before(at, len(unique))
            at, asked, behind = at[:some], asked[:some], behind[:some]
            here = unique.take(at)
            equal = np.flatnonzero(here == asked)
            rows = behind.take(equal)
            there[rows], place[rows] = True, at.take(equal)
            further = np.flatnonzero(here < asked)
            at, asked, behind = at.take(further), asked.take(further), behind.take(further)
        found = np.flatnonzero(there)
        return found, place.take(found)


NUMBERS = "#"
"""The column of key numbers in a stored run: who maps it need not compute them again."""


class _Hashed:
    """A file that keeps nothing but the hash of what is written to it."""

    closed = False

    def __init__(self, digest: Any) -> None:
        self.digest = digest

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None: ...


def write_ipc(run: Run, sink: Any) -> None:
    """The run as an Arrow file, in one batch: complete in itself."""
    table = run.table.append_column(NUMBERS, pa.array(run.keys.numbers)).combine_chunks()
    table = table.replace_schema_metadata({"exact": str(int(run.keys.exact))})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_ipc(columns: tuple[str, ...], source: Any) -> Run:
    table = pa.ipc.open_file(source).read_all()
    exact = table.schema.metadata[b"exact"] == b"1"
    numbers = table[NUMBERS].to_numpy()
    return Run(columns, Keys(numbers, exact), table.drop_columns([NUMBERS]).replace_schema_metadata(None))


register("run", lambda columns, data: read_ipc(tuple(columns), pa.BufferReader(data)))


def _before(places: Places, end: int) -> int:
    """How many of these rising places are before the end."""
    return len(places) if not len(places) or places[-1] < end else int(np.searchsorted(places, end))


def _small(places: Places) -> Places:
    """In half the memory where they fit."""
    return places.astype(np.int32) if places[-1] < 2**31 else places


def run_of(table: pa.Table, columns: tuple[str, ...]) -> Run:
    """The rows sorted by key; rows with one key stay in their order."""
    keys = keys_of([table[name] for name in columns])
    if _sorted(keys.numbers):
        return Run(columns, keys, table)
    order = stable_order(keys.numbers)
    return Run(columns, Keys(keys.numbers[order], keys.exact), taken(table, order))


def stable_order(numbers: Numbers) -> Places:
    """The places of the numbers in their order, equal ones as they stand.

    Sorting whole numbers is several times faster than sorting places: the place goes into the lowest bits. That is
    right unless two numbers differ in these bits alone, which is rare, and seen.
    """
    bits = np.uint64(max(1, len(numbers) - 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    order: Places = (np.sort((numbers & ~low) | np.arange(len(numbers), dtype=np.uint64)) & low).astype(np.int64)
    return order if _sorted(numbers[order]) else np.argsort(numbers, kind="stable")


def _sorted(numbers: Numbers) -> bool:
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def taken(table: pa.Table, places: Places) -> pa.Table:
    """These rows, in one chunk."""
    return table.combine_chunks().take(pa.array(places)) if table.num_rows else table


def merged(runs: list[Run]) -> Run:
    """One run of the rows of several, older ones first among rows of one key."""
    if len(runs) == 1:
        return runs[0]
    numbers = np.concatenate([run.keys.numbers for run in runs])
    order = np.argsort(numbers, kind="stable")  # merges what is sorted already
    table = pa.concat_tables([run.table for run in runs])
    exact = all(run.keys.exact for run in runs)
    return Run(runs[0].columns, Keys(numbers[order], exact), taken(table, order))


def pairs(left: Run, right: Run) -> tuple[Places, Places]:
    """The rows of both sides whose keys are equal, every one with every one."""
    if right.rows < left.rows:
        others, rows = pairs(right, left)
        return rows, others
    found, places = right.find(left.unique)
    ours, counts = left.spans(found)
    theirs, others = right.spans(places)
    if len(left.unique) < left.rows:
        ours, theirs, others = expanded(ours, counts), np.repeat(theirs, counts), np.repeat(others, counts)
    ours, theirs = np.repeat(ours, others), expanded(theirs, others)
    if left.keys.exact and right.keys.exact:
        return ours, theirs
    equal = same(
        [taken(left.table.select([name]), ours)[name] for name in left.columns],
        [taken(right.table.select([name]), theirs)[name] for name in right.columns],
    )
    return ours[equal], theirs[equal]


def expanded(starts: Places, counts: Places) -> Places:
    """start, start + 1, … for each start, so many times."""
    total = int(counts.sum())
    ends = np.cumsum(counts)
    places: Places = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return places
