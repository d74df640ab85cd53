"""What can be given to an input: tables, frames, files and folders, and iterators of them, as pieces of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import pyarrow as pa

from flo.core.elements import belongs, type_name
from flo.core.errors import ElementError

SLICE = 1 << 18
"""How many rows are pushed at once: what is read ahead of the program is no more than this."""
WEIGHTS = "_weight"
"""The column of weights in tables that come from outside or go there."""


@dataclass(frozen=True)
class Piece:
    """Some rows as they came, and where they came from."""

    table: pa.Table
    file: str | None = None
    first: int = 1
    """The number of its first row in the file, or in all that the input was given."""
    texts: frozenset[str] = frozenset()
    """The columns that hold texts of values: those of a CSV file, say."""
    skipped: list[int] = field(default_factory=list)
    """The numbers of rows of the file that are no rows at all, ascending."""

    def number(self, place: int) -> int:
        """The number of a row of this piece."""
        number = self.first + place
        for skipped in self.skipped:
            number += skipped <= number
        return number


@dataclass(frozen=True)
class Fault:
    """A row, or all of a file, that could not be read."""

    reason: str
    file: str | None
    number: int | None = None
    row: Any = None


@dataclass(frozen=True)
class Plain:
    """Plain Python data, as `flow.run` takes it."""

    data: Any


Part: TypeAlias = Piece | Fault | Plain


@dataclass
class Source:
    """What an input is given, part by part, and how many rows that will be, where it is known."""

    parts: Iterator[Part]
    rows: int | None = None


def source(data: Any, element: Any, names: tuple[str, ...], opened: Callable[..., Source]) -> Source | None:
    """The parts of tabular data; None for plain Python data. `opened` reads a file or a folder."""
    if isinstance(data, (str, Path)):
        return opened(Path(data), names)
    if is_table(data):
        table = as_table(data)
        if isinstance(table, pa.RecordBatchReader):
            return Source(_numbered(pa.Table.from_batches([batch]) for batch in table))
        return Source(_numbered([table]), table.num_rows)
    if isinstance(data, (list, tuple)):
        if not data or not _is_part(data[0], element):
            return None
        sources = [_inner(each, element, names, opened) for each in data]
        known = [each.rows for each in sources]
        total = None if None in known else sum(rows for rows in known if rows is not None)
        return Source(_renumbered(chain.from_iterable(each.parts for each in sources)), total)
    if isinstance(data, Iterator):
        first = list(_first(data))
        if not first or not (_is_part(first[0], element) or _is_delta(first[0], element)):
            return Source(iter([Plain(chain(first, data))]))
        deltas = chain(first, data)
        return Source(_renumbered(chain.from_iterable(_inner(d, element, names, opened).parts for d in deltas)))
    return None


def _first(data: Iterator[Any]) -> Iterator[Any]:
    for item in data:
        yield item
        return


def _is_part(item: Any, element: Any) -> bool:
    return isinstance(item, Path) or (isinstance(item, str) and not belongs(item, element)) or is_table(item)


def _is_delta(item: Any, element: Any) -> bool:
    return isinstance(item, (list, set, frozenset)) and not belongs(item, element)


def _inner(item: Any, element: Any, names: tuple[str, ...], opened: Callable[..., Source]) -> Source:
    found = source(item, element, names, opened)
    if found is not None:
        return found
    if not isinstance(item, (list, tuple, set, frozenset)):
        raise ElementError(f"among the tables of {{input}} is a {type(item).__name__}")
    return Source(iter([Plain(item)]), len(item))


def is_table(data: Any) -> bool:
    """Whether the data is a table of some library: by the Arrow C interface, or known to Narwhals."""
    if isinstance(data, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        return True
    if isinstance(data, (list, tuple, dict, set, str, bytes, Iterator)):
        return False
    if hasattr(data, "__arrow_c_stream__"):
        return not isinstance(data, (pa.Array, pa.ChunkedArray))
    return isinstance(nw.from_native(data, pass_through=True), (nw.DataFrame, nw.LazyFrame))


def as_table(data: Any) -> pa.Table | pa.RecordBatchReader:
    if isinstance(data, (pa.Table, pa.RecordBatchReader)):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    frame = nw.from_native(data)
    return (frame.collect() if isinstance(frame, nw.LazyFrame) else frame).to_arrow()


def _numbered(tables: Iterable[pa.Table]) -> Iterator[Piece]:
    first = 1
    for table in tables:
        for slice_ in slices(table):
            yield Piece(slice_, None, first)
            first += slice_.num_rows


def _renumbered(parts: Iterable[Part]) -> Iterator[Part]:
    """Rows that come from no file are numbered through."""
    first = 1
    for part in parts:
        if isinstance(part, Piece) and part.file is None:
            part = Piece(part.table, None, first, part.texts)
            first += part.table.num_rows
        elif isinstance(part, Plain):
            first += len(part.data)
        yield part


def slices(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, SLICE):
        yield table.slice(start, SLICE)


def plainly(part: Part) -> Part:
    """For an input without columns: rows as dicts."""
    return Plain(part.table.to_pylist()) if isinstance(part, Piece) else part


def no_files(of: Any) -> Callable[..., Source]:
    def read(path: Path, names: tuple[str, ...]) -> Source:
        raise ElementError(
            f"{{input}} has elements of type {type_name(of.element)}, which have no columns, and was given a file",
            instead=(("flo.rows(schema), a dataclass or a NamedTuple", "of types that Arrow has"),),
        )

    return read
