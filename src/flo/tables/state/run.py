"""A run: rows sorted by the number of their key, never changed, searched without being scanned."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers, Places, is_sorted, one_chunk, ranges, stable_order, taken
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.tables.state.keys import Implied, Keys, implied, keys_of, same
from flo.tables.values import WEIGHT

LARGE = 1 << 20
"""Rows of a run whose memory matters."""
PER_BUCKET, OF_LARGE, FEW = 2, 4, 16
"""How many rows share an entry of the index, at most on average, in others and in large runs; and how many are looked
at one by one."""


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
    def once(self) -> bool:
        """Whether every row has the weight 1."""
        weights = self.table[WEIGHT].to_numpy()
        return not self.rows or bool(weights.min() == 1 == weights.max())

    @property
    def starts(self) -> Places:
        """Where the rows of each different key number begin, and where the last ones end."""
        numbers = self.keys.numbers
        if not len(numbers):
            return np.zeros(1, np.int64)
        changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        return np.concatenate([[0], changes, [len(numbers)]])

    @cached_property
    def each_key(self) -> Run:
        """One row of every key, at least: who asks only which keys there are need not go through all rows of one."""
        numbers = self.keys.numbers
        again = np.flatnonzero(numbers[1:] == numbers[:-1]) + 1
        if len(again) and not self.keys.exact:
            own = self.table.select(list(self.columns))
            again = again[same(taken(own, again - 1).columns, taken(own, again).columns)]
        if not len(again):
            return self
        places = np.delete(np.arange(self.rows), again)
        return Run(self.columns, Keys(numbers[places], self.keys.exact), taken(self.table, places))

    @cached_property
    def index(self) -> Places:
        """For the highest bits of a number, the first row that has them or larger ones."""
        counts = np.bincount(
            (self.keys.numbers >> np.uint64(64 - self._bits)).view(np.int64), minlength=1 << self._bits
        )
        ends = np.concatenate([[0], np.cumsum(counts)])
        return ends.astype(np.int32) if self.rows < 2**31 else ends

    @property
    def _bits(self) -> int:
        return max(1, (self.rows // (PER_BUCKET if self.rows < LARGE else OF_LARGE)).bit_length())

    @property
    def bytes(self) -> int:
        """The memory of the rows, their numbers and the index."""
        index = self.__dict__.get("index")
        return int(self.table.nbytes) + self.keys.bytes + (0 if index is None else int(index.nbytes))

    def resting(self) -> Run:
        """The same, with what a search needs, and nothing else that the columns say as well."""
        _ = self.index
        keys = self.implied() if self.rows >= LARGE else None
        if keys is None:
            return self
        rested = Run(self.columns, keys, self.table)
        rested.__dict__.update({name: self.__dict__[name] for name in ("index", "once") if name in self.__dict__})
        return rested

    def implied(self) -> Implied | None:
        return implied(self.keys, [one_chunk(self.table[name]) for name in self.columns])

    @cached_property
    def name(self) -> str:
        """The same for the same content, and for no other."""
        content = Content(self.columns)
        write_ipc(self, pa.PythonFile(content, "w"))
        return content.name

    def lower(self, lower: Lowering) -> Term:
        sink = pa.BufferOutputStream()
        write_ipc(self, sink)
        return Call("run", (self.columns, lower(sink.getvalue().to_pybytes())))

    def find(self, numbers: Numbers) -> tuple[Places, Places, Places]:
        """(which of these numbers are here, where their rows begin, how many there are)."""
        if not self.rows or not len(numbers):
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
        bucket = (numbers >> np.uint64(64 - self._bits)).view(np.int64)
        lows, highs = (self.index.take(bucket + more) for more in (0, 1))
        wide = np.flatnonzero(highs - lows > FEW)
        if not len(wide):
            return self._seen(lows, highs - lows, numbers)
        lows, highs = lows.astype(np.int64), highs.astype(np.int64)
        halved = self._first(lows[wide], highs[wide], numbers[wide])
        after = self._first(halved, highs[wide], numbers[wide], beyond=True)
        lows[wide], highs[wide] = 0, 0
        found, starts, counts = self._seen(lows, highs - lows, numbers)
        there = np.flatnonzero(halved < after)
        both = np.concatenate([found, wide[there]])
        order = np.argsort(both, kind="stable")
        starts = np.concatenate([starts, halved[there]])[order]
        return both[order], starts, np.concatenate([counts, (after - halved)[there]])[order]

    def _seen(self, starts: Places, counts: Places, numbers: Numbers) -> tuple[Places, Places, Places]:
        """The same, by looking at all rows of these places."""
        which, places = ranges(starts, counts)
        equal = np.flatnonzero(self.keys.at(places) == numbers.take(which))
        which, places = which.take(equal), places.take(equal)
        first = np.flatnonzero(np.concatenate([[True], which[1:] != which[:-1]])[: len(which)])
        return which[first], places[first], np.diff(first, append=len(which))

    def _first(self, low: Places, high: Places, numbers: Numbers, beyond: bool = False) -> Places:
        """The first place from `low` before `high` that has the number or more, or more only, by halving."""
        low, high = low.copy(), high.copy()
        left = np.flatnonzero(low < high)
        while len(left):
            middle = (low[left] + high[left]) >> 1
            here, asked = self.keys.at(middle), numbers[left]
            before = here <= asked if beyond else here < asked
            low[left], high[left] = np.where(before, middle + 1, low[left]), np.where(before, high[left], middle)
            left = left[low[left] < high[left]]
        return low


NUMBERS = "#"
"""The column of key numbers in a stored run: who maps it need not compute them again."""


class Content:
    """The file of a run with such columns, of which nothing is kept but the name that it has."""

    closed = False

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._digest = hashlib.sha256(repr(columns).encode())  # processors have instructions for it

    @property
    def name(self) -> str:
        return self._digest.hexdigest()[:32]

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None: ...


def write_ipc(run: Run, sink: Any) -> None:
    """The run as an Arrow file, in one batch: complete in itself. What follows from the rest is left out: numbers that
    the columns say, and weights of 1."""
    table, about = run.table, {"exact": str(int(run.keys.exact))}
    if WEIGHT in table.column_names and run.once:
        about["once"] = str(table.schema.get_field_index(WEIGHT))
        table = table.drop_columns([WEIGHT])
    if run.implied() is None:
        table = table.append_column(NUMBERS, pa.array(run.keys.numbers))
    table = table.combine_chunks().replace_schema_metadata(about)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_ipc(columns: tuple[str, ...], source: Any) -> Run:
    table = pa.ipc.open_file(source).read_all()
    about = table.schema.metadata
    exact, table = about[b"exact"] == b"1", table.replace_schema_metadata(None)
    if b"once" in about:
        field = pa.field(WEIGHT, pa.int64(), nullable=False)
        table = table.add_column(int(about[b"once"]), field, pa.array(np.ones(table.num_rows, np.int64)))
    if NUMBERS in table.column_names:
        return Run(columns, Keys(table[NUMBERS].to_numpy(), exact), table.drop_columns([NUMBERS]))
    keys = Implied([one_chunk(table[name]) for name in columns], exact)
    return Run(columns, keys if table.num_rows >= LARGE else Keys(keys.numbers, exact), table)


register("run", lambda columns, data: read_ipc(tuple(columns), pa.BufferReader(data)))


def run_of(table: pa.Table, columns: tuple[str, ...]) -> Run:
    """The rows sorted by key; rows with one key stay in their order."""
    keys = keys_of([table[name] for name in columns])
    if is_sorted(keys.numbers):
        return Run(columns, keys, table)
    order = stable_order(keys.numbers)
    return Run(columns, Keys(keys.numbers[order], keys.exact), taken(table, order))


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
    if _same_keys(left, right):
        every = np.arange(left.rows)
        return every, every
    if right.rows < left.rows:
        others, rows = pairs(right, left)
        return rows, others
    starts = left.starts
    found, theirs, others = right.find(left.keys.at(starts[:-1]))
    ours, counts = starts[found], starts[found + 1] - starts[found]
    if len(starts) <= left.rows:
        which, ours = ranges(ours, counts)
        theirs, others = theirs.take(which), others.take(which)
    if len(others) and others.max() > 1:
        which, theirs = ranges(theirs, others)
        ours = ours.take(which)
    if left.keys.exact and right.keys.exact:
        return ours, theirs
    equal = same(
        [taken(left.table.select([name]), ours)[name] for name in left.columns],
        [taken(right.table.select([name]), theirs)[name] for name in right.columns],
    )
    return ours[equal], theirs[equal]


def _same_keys(left: Run, right: Run) -> bool:
    """Whether both have the same keys, each once."""
    if left.rows != right.rows or not (type(left.keys) is type(right.keys) is Keys and left.keys.exact):
        return False
    one, other = left.keys.numbers, right.keys.numbers
    return right.keys.exact and np.array_equal(one, other) and bool(np.all(one[1:] > one[:-1]))
