"""A run: rows that never change, sorted by key number, with an index for searching.

The key column is `user`. Each key has a number (keys.py), here shortened to its first byte:

    row  number  user  amount  weight
    0    04…     bob   9       -1      a retraction
    1    80…     eve   5       1
    2    80…     eve   7       2       the same key: rows keep the order in which they came
    3    b2…     ann   3       1

Invariant: key numbers do not descend. So the rows of a key are adjacent, unless another key shares its number: then
rows of both may alternate, the run is `mixed`, and readers compare the key columns too.

`find` finds the rows of a number (searching.py). A run is stored as one Arrow file, which is named after its content. A
run that was merged in parts is stored as the files of its parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import (
    INT64,
    Indices,
    Mask,
    Numbers,
    bisect_ranges,
    combine_chunks,
    expand_ranges,
    is_sorted,
    one_chunk,
    sort_numbers,
    take_rows,
)
from flo.columns.ones import is_ones, ones
from flo.core.term import Call, Lowerable, Lowering, Term, register
from flo.tables.state.keys import Implied, Keys, find_equal, imply_keys, keys_of
from flo.tables.state.searching import Index, KeyRanges
from flo.tables.values import WEIGHT, WEIGHT_FIELD

LARGE = 1 << 20
"""A run with at least so many rows saves memory: its index is coarser, and its key numbers may be computed."""
PER_ENTRY, OF_LARGE, OF_MAPPED = 1, 4, 256
"""Average rows per index entry in small, large and spilled runs."""
BISECTED, SHORT = 512, 1 << 16
"""Up to so many key numbers, or in a run of up to so many rows, are searched by bisection alone. That takes fewer calls
than the index does."""

SEVERAL = 8
"""With so many rows for each key, its distinct keys are bisected: that takes less time and memory than an index."""

INDEX, FACTS, FILE = ("index", "few_keys", "mapped"), ("weights", "mixed", "_running"), ("name", "plain")
"""The cached properties of a run that another run with the same rows may take over. The name is that of the file."""


class Ranges(NamedTuple):
    """Ranges of indices, from a start up to an end: two arrays of one shape."""

    starts: Indices
    """The first index of each range."""
    ends: Indices
    """The index behind the last."""

    @property
    def counts(self) -> Indices:
        """How many indices each range has."""
        return self.ends - self.starts

    def list_once(self, owners: Indices) -> Owned:
        """Return the indices in ranges that may overlap, each once, given the owner of each range."""
        indices, first = np.unique(expand_ranges(self.starts, self.counts), return_index=True)
        return Owned(indices, np.repeat(owners, self.counts)[first])


class Owned(NamedTuple):
    """Indices, and the group that each belongs to."""

    indices: Indices
    owners: Indices


@dataclass(frozen=True, eq=False)
class Run(Lowerable):
    """The rows of a table, sorted by key number. `columns` names the key columns."""

    columns: tuple[str, ...]
    keys: Keys
    table: pa.Table
    rows: int = field(init=False)

    def __post_init__(self) -> None:
        vars(self)["rows"] = self.table.num_rows

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The least and the greatest weight of a row; there must be rows."""
        column = self.table[WEIGHT]
        if is_ones(column):
            return 1, 1
        weights = column.to_numpy()
        return (int(weights[0]),) * 2 if self.rows == 1 else (int(weights.min()), int(weights.max()))

    @property
    def inserts(self) -> bool:
        """Whether no row has a weight below 1."""
        return not self.rows or self.weights[0] > 0

    @property
    def once(self) -> bool:
        """Whether every row has the weight 1."""
        return not self.rows or self.weights == (1, 1)

    @cached_property
    def _running(self) -> Indices | None:
        """The sum of the weights before each row, and of all; None if all weights are 1, so that each is the index."""
        return None if self.once else np.concatenate([[0], np.cumsum(self.table[WEIGHT].to_numpy())])

    def weight_before(self, rows: Indices) -> Indices:
        """Return the sum of the weights before each of these rows, modulo 64 bits."""
        return rows if self._running is None else self._running.take(rows)

    @cached_property
    def mixed(self) -> bool:
        """Whether different keys share a key number."""
        return not self.keys.exact and not bool(self._compare_neighbours()[1].all())

    def _compare_neighbours(self) -> tuple[Indices, Mask]:
        """Return the rows with the key number of the row before, and for each whether it has the key of that row."""
        numbers = self.keys.numbers
        again = np.flatnonzero(numbers[1:] == numbers[:-1]) + 1
        if self.keys.exact or not len(again):
            return again, np.ones(len(again), bool)
        one, other = (take_rows(self.own, rows) for rows in (again - 1, again))
        return again, find_equal(one.columns, other.columns)

    def first_rows(self) -> Indices:
        """Return the rows whose key differs from that of the row before. In a mixed run, a key may have several."""
        again, equal = self._compare_neighbours()
        return np.delete(np.arange(self.rows), again[equal])

    @property
    def starts(self) -> Indices:
        """The first row of each distinct key number, and at the end the number of rows."""
        return starts_of(self.keys.numbers)

    @cached_property
    def each_key(self) -> Run:
        """The first rows of all keys: enough to find out which keys exist."""
        firsts = self.first_rows()
        return self if len(firsts) == self.rows else self.take(firsts)

    @cached_property
    def own(self) -> pa.Table:
        """The key columns."""
        return self.table.select(self.columns)

    @cached_property
    def sums(self) -> dict[str, Indices]:
        """The columns that are not in the key, where all of these are of int64, without a copy."""
        return {name: self.table[name].to_numpy() for name in self.table.schema.names if name not in self.columns}

    def take(self, rows: Indices) -> Run:
        """Return these rows, whose indices ascend, as a run."""
        return Run(self.columns, Keys(self.keys.at(rows), self.keys.exact), take_rows(self.table, rows))

    @cached_property
    def index(self) -> Index:
        """What `find` looks up before it compares rows."""
        per_entry = OF_MAPPED if self.mapped else PER_ENTRY if self.rows < LARGE else OF_LARGE
        return Index.of(self.keys.numbers, per_entry, self.mapped)

    @cached_property
    def few_keys(self) -> tuple[Numbers, Indices] | None:
        """The distinct key numbers and their `starts`, if rows are `SEVERAL` times as many; otherwise None."""
        starts = self.starts
        return None if SEVERAL * len(starts) > self.rows else (self.keys.numbers.take(starts[:-1]), starts)

    @property
    def bytes(self) -> int:
        """The memory of the rows, their key numbers, the index and running sums, in bytes."""
        own = 0 if self.mapped else int(self.table.nbytes) + self.keys.bytes
        index, running, few = (self.__dict__.get(name) for name in ("index", "_running", "few_keys"))
        arrays = [each for each in (running, *(few or ())) if each is not None]
        return own + (index.bytes if index else 0) + sum(int(each.nbytes) for each in arrays)

    @property
    def mapped(self) -> bool:
        """Whether its rows and key numbers are in a file that is mapped into memory (spilling.py)."""
        return "mapped" in self.__dict__

    @property
    def plain(self) -> bool:
        """Whether its file has all integers in 8 bytes: so it was read, and it has the name of that content."""
        return "plain" in self.__dict__

    def prepare(self) -> Run:
        """Return the run as it is kept: if large, without key numbers that the columns imply."""
        keys = self.imply_keys() if self.rows >= LARGE else None
        if keys is None:
            return self
        return Run(self.columns, keys, self.table)._adopt(self, *INDEX, *FACTS)

    def copy(self) -> Run:
        """Return another run with the same rows."""
        return replace(self)._adopt(self, *INDEX, *FILE, *FACTS)

    def _adopt(self, other: Run, *names: str) -> Run:
        """Take over these cached properties of a run with the same rows, and return itself."""
        self.__dict__.update({name: other.__dict__[name] for name in names if name in other.__dict__})
        return self

    def imply_keys(self) -> Implied | None:
        """Return its keys as computed from the key columns when needed; None if that is slow or gives others."""
        return imply_keys(self.keys, [one_chunk(self.table[name]) for name in self.columns])

    @property
    def files(self) -> tuple[Run, ...]:
        """The parts that were merged one by one, each of which is stored as a file; otherwise the run itself."""
        files: tuple[Run, ...] = self.__dict__.get("parts", (self,))
        return files

    @property
    def file_ends(self) -> Indices:
        """For each file, the row after its last one."""
        ends: Indices | None = self.__dict__.get("ends")
        return np.array([self.rows]) if ends is None else ends

    def below(self, number: int) -> int:
        """Return how many rows have a smaller key number."""
        if number >= 1 << 64:
            return self.rows
        if type(self.keys) is Keys:
            return int(np.searchsorted(self.keys.numbers, np.uint64(number)))
        low, high = self.index.around(number)
        return int(bisect_ranges(low, high, lambda rows, _: self.keys.at(rows) < np.uint64(number))[0])

    def part(self, start: int, end: int) -> Run:
        """Return the rows from `start` up to `end`, without a copy. If they are a file, that file."""
        if start == 0 and end == self.rows:
            return self
        place = int(np.searchsorted(self.file_ends, end))
        if place < len(self.files) and self.file_ends[place] == end == start + self.files[place].rows:
            return self.files[place]
        return Run(self.columns, self.keys.between(start, end, self.keys.exact), self.table.slice(start, end - start))

    @cached_property
    def name(self) -> str:
        """A digest of the content, which names the file of the run."""
        content = Content(self.columns)
        if self.table.nbytes <= SMALL_FILE:
            content.write(self._file)
        else:
            write_ipc(self, pa.PythonFile(content, "w"))
        return content.name

    @cached_property
    def _file(self) -> pa.Buffer:
        """The content of its file, kept from when the name is computed until the file is written."""
        sink = pa.BufferOutputStream()
        write_ipc(self, sink)
        return sink.getvalue()

    def write_file(self, sink: Any) -> None:
        """Write the file of the run."""
        if "_file" in self.__dict__:
            sink.write(self.__dict__.pop("_file"))
        else:
            write_ipc(self, sink)

    def lower(self, lower: Lowering) -> Term:
        sink = pa.BufferOutputStream()
        write_ipc(self, sink)
        return Call("run", (self.columns, lower(sink.getvalue().to_pybytes())))

    def find(self, numbers: Numbers) -> KeyRanges:
        """Return which of these key numbers the run has, and where.

        A few numbers, or a few rows or keys, are searched by bisection. Otherwise that takes longer, since each step
        misses the cache, and the index is asked.
        """
        count = len(numbers)
        if not self.rows or not count:
            return KeyRanges(*np.zeros((3, 0), np.int64))
        if (count <= BISECTED or self.rows <= SHORT) and type(self.keys) is Keys and not self.mapped:
            own = self.keys.numbers
            starts = own.searchsorted(numbers)
            present = (own.take(starts, mode="clip") == numbers).nonzero()[0]
            starts = starts[present]
            return KeyRanges(present, starts, own.searchsorted(numbers[present], "right") - starts)
        if type(self.keys) is not Keys or self.mapped or self.few_keys is None:
            return self.index.find(self.keys, numbers)
        own, starts = self.few_keys
        places = own.searchsorted(numbers)
        present = (own.take(places, mode="clip") == numbers).nonzero()[0]
        places = places[present]
        return KeyRanges(present, starts[places], starts[places + 1] - starts[places])


SMALL_FILE = 1 << 20
"""The file of a run of up to so many bytes is written to memory, once for its name and its content."""
NUMBERS = "#"
"""The last column of a stored run: the key numbers, so that they need not be computed again."""
NARROWED = b"narrowed"
"""The metadata of a stored run with integers in fewer bytes than they have in memory: the places of their columns."""
EXACT, EXACT_NARROWED = b"exact", b"exact narrowed"
"""The metadata that each stored run has: whether its key numbers are exact. With narrowed integers it has another name,
so that a Flo that does not widen them fails."""
FEWEST_NARROWED = 1 << 10
"""With fewer rows, it takes longer to look for such integers than to write them."""
NARROW = [(1 << 7, pa.int8()), (1 << 15, pa.int16()), (1 << 31, pa.int32())]
"""The types for small integers, each with the least number that is too large for it."""
NUMBERED = b"numbered"
"""The metadata of a stored run with a user's column of that name: whether the last column is the key numbers."""


class Content:
    """A sink that computes the name of a run from the content of its file."""

    closed = False

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._digest = hashlib.sha256(repr(columns).encode())  # processors have instructions for SHA-256

    @property
    def name(self) -> str:
        return self._digest.hexdigest()[:32]

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None: ...


def write_ipc(run: Run, sink: Any) -> None:
    """Write the run as an Arrow file of one batch, without weights of 1 and key numbers that the columns imply, and
    with integers in as few bytes as they need: most of the time goes into the digest of the file."""
    table, metadata = run.table, dict[str, str]()
    if WEIGHT in table.column_names and run.once:
        metadata["once"] = str(table.schema.get_field_index(WEIGHT))
        table = table.drop_columns([WEIGHT])
    implied = run.imply_keys() is not None
    if NUMBERS in table.column_names:
        metadata[NUMBERED.decode()] = str(int(not implied))
    if not implied:
        table = table.append_column(NUMBERS, pa.array(run.keys.numbers))
    table, places = (table, list[int]()) if run.plain else _narrow(table)
    if places:
        metadata[NARROWED.decode()] = ",".join(map(str, places))
    metadata = {(EXACT_NARROWED if places else EXACT).decode(): str(int(run.keys.exact)), **metadata}
    write_table(table.replace_schema_metadata(metadata), sink)


def _narrow(table: pa.Table) -> tuple[pa.Table, list[int]]:
    """Return the table with columns of small integers in fewer bytes, and the places of these columns. A large one
    stays as it is: its file is mapped when it is read, which takes no memory."""
    places: list[int] = []
    if not FEWEST_NARROWED <= table.num_rows < LARGE:
        return table, places
    for place, column in enumerate(table.columns):
        if column.type == INT64 and not column.null_count:
            low, high = pc.min_max(column).as_py().values()
            kind = next((kind for most, kind in NARROW if -most <= low and high < most), None)
            if kind is not None:
                table = _with_type(table, place, kind)
                places.append(place)
    return table, places


def _with_type(table: pa.Table, place: int, kind: pa.DataType) -> pa.Table:
    """Return the table with the integers of a column, which fit, in another type."""
    column = table.column(place).cast(kind, safe=False)
    return table.set_column(place, table.schema.field(place).with_type(kind), column)


def write_table(table: pa.Table, sink: Any) -> None:
    """Write a table as an Arrow file of one batch."""
    table = table.combine_chunks()
    if table.get_total_buffer_size() > table.nbytes:  # a slice: Arrow would fill up its columns with rows that follow
        table = table.take(pa.array(np.arange(table.num_rows)))
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_ipc(columns: tuple[str, ...], source: Any) -> Run:
    """Read a run that `write_ipc` wrote."""
    table = pa.ipc.open_file(source).read_all()
    metadata = table.schema.metadata
    exact = metadata[EXACT if EXACT in metadata else EXACT_NARROWED] == b"1"
    table = table.replace_schema_metadata(None)
    narrowed = metadata[NARROWED].split(b",") if NARROWED in metadata else []
    for place in narrowed:
        table = _with_type(table, int(place), INT64)
    if b"once" in metadata:
        table = table.add_column(int(metadata[b"once"]), WEIGHT_FIELD, ones(table.num_rows))
    last = table.num_columns - 1
    if metadata.get(NUMBERED, b"1") == b"1" and NUMBERS in table.column_names[last:]:
        run = Run(columns, Keys(table.column(last).to_numpy(), exact), table.remove_column(last))
    else:
        keys = Implied([one_chunk(table[name]) for name in columns], exact)
        run = Run(columns, keys if table.num_rows >= LARGE else Keys(keys.numbers, exact), table)
    if not narrowed:
        run.__dict__["plain"] = True
    return run


register("run", lambda columns, data: read_ipc(tuple(columns), pa.BufferReader(data)))


def run_of(table: pa.Table, columns: tuple[str, ...], keys: Keys | None = None) -> Run:
    """Return the rows of a table as a run. Rows with equal keys keep their order."""
    keys = keys_of([table[name] for name in columns]) if keys is None else keys
    if is_sorted(keys.numbers):
        return Run(columns, keys, table)
    order, numbers = sort_numbers(keys.numbers)
    return Run(columns, Keys(numbers, keys.exact), take_rows(table, order))


def starts_of(numbers: Numbers) -> Indices:
    """Return the index of the first of each distinct number, of sorted ones, and at the end how many there are."""
    if len(numbers) < 2:
        return np.arange(len(numbers) + 1)
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return np.concatenate([[0], changes, [len(numbers)]])


def merge_runs(runs: list[Run]) -> Run:
    """Merge runs into one. Among rows with equal keys, those of earlier runs come first."""
    if len(runs) == 1:
        return runs[0]
    table, order, keys = interleave([run.table for run in runs], [run.keys for run in runs])
    return Run(runs[0].columns, keys, take_rows(table, order))


def join_parts(parts: Sequence[Run]) -> Run:
    """Return the run that has these parts one after the other. Columns of sums that a part lacks are zero in it."""
    names = list(dict.fromkeys(name for part in parts for name in part.table.column_names))
    tables = [_with_columns(part.table, names) for part in parts]
    table = combine_chunks(pa.concat_tables(tables, promote_options="default"))  # some say that they have no nulls
    numbers = np.concatenate([part.keys.numbers for part in parts])
    whole = Run(parts[0].columns, Keys(numbers, all(part.keys.exact for part in parts)), table).prepare()
    ends = np.cumsum([part.rows for part in parts]).tolist()
    own = tuple(_file_in(whole, part, end - part.rows) for part, end in zip(parts, ends, strict=True))
    whole.__dict__.update(parts=own, ends=np.array(ends))
    return whole


def _file_in(whole: Run, part: Run, start: int) -> Run:
    """Return a part of a run as a slice of the run. It takes over the name of the part if it has the same content."""
    table = whole.table.slice(start, part.rows).select(part.table.column_names)
    keys = whole.keys.between(start, start + part.rows, part.keys.exact)
    names = (*FILE, "weights") if table.schema == part.table.schema else ("weights",)
    return Run(whole.columns, keys, table)._adopt(part, *names)


def _with_columns(table: pa.Table, names: list[str]) -> pa.Table:
    """Return the table with these columns; those that it lacks are zero."""
    for name in names:
        if name not in table.column_names:
            table = table.append_column(name, pa.array(np.zeros(table.num_rows, np.int64)))
    return table.select(names)


class Interleaved(NamedTuple):
    """The rows of runs, and their order by key number. `take_rows(table, order)` are the rows of the merged run."""

    table: pa.Table
    """The rows of the runs, one run after the other."""
    order: Indices
    """The rows of the table by key number, those of earlier runs first."""
    keys: Keys
    """The keys in that order."""


def interleave(tables: list[pa.Table], keys: list[Keys]) -> Interleaved:
    """Return the order that merges runs, given their rows and keys."""
    if len(tables) == 1:
        return Interleaved(tables[0], np.arange(tables[0].num_rows), keys[0])
    numbers = np.concatenate([each.numbers for each in keys])
    order = numbers.argsort(kind="stable")  # fast on sorted parts
    table = combine_chunks(pa.concat_tables(tables))
    return Interleaved(table, order, Keys(numbers[order], all(each.exact for each in keys)))
