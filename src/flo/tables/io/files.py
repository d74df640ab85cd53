"""What can be given to an input: tables, frames, files and folders, and iterators of them, as pieces of a table."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as arrow_json
import pyarrow.parquet as parquet

from flo.core.elements import belongs, type_name
from flo.core.errors import ElementError, brief

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


UNREADABLE = (pa.ArrowException, OSError, EOFError, ValueError)


def opened(path: Path, names: tuple[str, ...], schema: pa.Schema) -> Source:
    """The rows of a file, or of all files of a folder in the order of their names."""
    if not path.exists():
        raise ElementError(f"{{input}} was given the file {str(path)!r}, and there is none")
    files = [path] if path.is_file() else _files(path)
    known = [_count(file) for file in files]
    total = None if None in known else sum(count for count in known if count is not None)
    return Source((part for file in files for part in _parts(file, path, names, schema)), total)


def _files(folder: Path) -> list[Path]:
    found = sorted(file for file in folder.rglob("*") if file.is_file() and not _hidden(file.relative_to(folder)))
    if not found:
        raise ElementError(f"{{input}} was given the folder {str(folder)!r}, and there are no files in it")
    return found


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _format(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2", ".zst", ".lz4")]
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in _READERS:
        raise ElementError(
            f"{{input}} was given the file {file.name!r}, whose name does not say what it holds",
            facts=(("known", ", ".join(_READERS)),),
            instead=(("pyarrow.dataset.dataset(…).to_table()", "whatever Arrow can read"),),
        )
    return suffix


def _count(file: Path) -> int | None:
    """How many rows, where that is known without reading them."""
    if _format(file) not in (".parquet", ".pq"):
        return None
    try:
        return int(parquet.read_metadata(file).num_rows)
    except UNREADABLE:  # said when it is read
        return None


def _parts(file: Path, root: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[Part]:
    """The pieces of one file, with the columns that its folders are named for (`day=2024-05-01`)."""
    folders = file.relative_to(root).parts[:-1] if root != file else ()
    named = dict(folder.split("=", 1) for folder in folders if "=" in folder)
    done = 0
    try:
        for part in _READERS[_format(file)](file, names, schema):
            if isinstance(part, Piece):
                done = part.first + part.table.num_rows - 1
                for name, value in named.items():
                    column = pa.array([value] * part.table.num_rows, pa.string())
                    part = Piece(part.table.append_column(name, column), *_place(part, {*part.texts, name}))
            yield part
    except UNREADABLE as error:
        after = f" after {done} rows" if done else ""
        yield Fault(f"cannot be read{after}: {_first_line(error)}", str(file))


def _place(part: Piece, texts: set[str]) -> tuple[Any, ...]:
    return part.file, part.first, frozenset(texts), part.skipped


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0] or type(error).__name__


def _parquet(file: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[Part]:
    first = 1
    with parquet.ParquetFile(file) as opened_file:
        there = opened_file.schema_arrow.names
        wanted = [name for name in names if name in there]
        for batch in opened_file.iter_batches(SLICE, columns=wanted or None):
            yield Piece(pa.Table.from_batches([batch]), str(file), first)
            first += batch.num_rows


def _arrow(file: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[Part]:
    first = 1
    with pa.memory_map(str(file)) as mapped:
        reader = pa.ipc.open_file(mapped)
        for number in range(reader.num_record_batches):
            for table in slices(pa.Table.from_batches([reader.get_batch(number)])):
                yield Piece(table, str(file), first)
                first += table.num_rows


def _csv(file: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[Part]:
    """Every column as texts: what they stand for is found out row by row only where it must be."""
    odd: list[Any] = []

    def put_aside(row: Any) -> str:
        odd.append(row)
        return "skip"

    delimiter = "\t" if ".tsv" in file.suffixes else ","
    parse = csv.ParseOptions(delimiter=delimiter, invalid_row_handler=put_aside)
    with csv.open_csv(file, parse_options=parse, read_options=csv.ReadOptions(block_size=1 << 16)) as reader:
        columns = reader.schema.names
    convert = csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False)
    odd.clear()
    skipped: list[int] = []
    first = 1
    read = csv.ReadOptions(use_threads=False, block_size=1 << 23)
    with csv.open_csv(file, parse_options=parse, convert_options=convert, read_options=read) as reader:
        for batch in reader:
            for row in odd[len(skipped) :]:
                skipped.append(row.number - 1)  # the header is the first
                reason = f"it has {row.actual_columns} columns, and the header has {row.expected_columns}"
                yield Fault(reason, str(file), row.number - 1, row.text)
            yield Piece(pa.Table.from_batches([batch]), str(file), first, frozenset(columns), skipped)
            first += batch.num_rows
    for row in odd[len(skipped) :]:
        reason = f"it has {row.actual_columns} columns, and the header has {row.expected_columns}"
        yield Fault(reason, str(file), row.number - 1, row.text)


_AS_TEXT: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_duration,
    pa.types.is_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_decimal,
    pa.types.is_timestamp,
)
"""What JSON has no values for: written as texts."""


def _json(file: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[Part]:
    """All lines at the speed of Arrow; from the first block on that it cannot read, line by line."""
    texts = frozenset(f.name for f in schema if any(test(f.type) for test in _AS_TEXT))
    as_read = pa.schema([pa.field(f.name, pa.string() if f.name in texts else f.type) for f in schema])
    parse = arrow_json.ParseOptions(explicit_schema=as_read, unexpected_field_behavior="ignore")
    done = 0
    try:
        with arrow_json.open_json(file, arrow_json.ReadOptions(block_size=1 << 23), parse) as reader:
            for batch in reader:
                yield Piece(pa.Table.from_batches([batch]), str(file), done + 1, texts)
                done += batch.num_rows
        return
    except pa.ArrowInvalid:
        pass
    lines = (line for line in _lines(file) if line.strip())
    for number, line in enumerate(lines, 1):
        if number <= done:
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"a {type(row).__name__} where an object is expected")
            arrays = [_value(row.get(f.name), f) for f in as_read]
        except (ValueError, TypeError, pa.ArrowException) as error:
            yield Fault(_first_line(error), str(file), number, line.strip())
        else:
            yield Piece(pa.Table.from_arrays(arrays, schema=as_read), str(file), number, texts)


def _value(value: Any, column: pa.Field) -> pa.Array:
    if pa.types.is_string(column.type) and isinstance(value, (int, float)) and not isinstance(value, bool):
        raise TypeError(f"`{column.name}` is {brief(value)}, and a text is expected")
    try:
        return pa.array([value], column.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise TypeError(f"`{column.name}` is {brief(value)}, and {column.type} is expected") from None


def _lines(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        yield from lines


_READERS: dict[str, Callable[[Path, tuple[str, ...], pa.Schema], Iterator[Part]]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".csv": _csv,
    ".tsv": _csv,
    ".jsonl": _json,
    ".ndjson": _json,
    ".json": _json,
    ".arrow": _arrow,
    ".feather": _arrow,
}
