"""Reading the data of an input: tables, frames, files, folders, and iterators of them, as pieces of tables."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as arrow_json
import pyarrow.parquet as parquet

from flo.core.elements import belongs
from flo.core.errors import ElementError, brief
from flo.core.secrets import hide_secrets
from flo.core.type_names import type_name

SLICE = 1 << 19
"""How many rows are pushed at once for each worker. No more than this is read ahead of the program."""
WEIGHTS = "_weight"
"""The weight column in tables of the user."""


@dataclass(frozen=True)
class Piece:
    """Rows as they were read, and their origin."""

    table: pa.Table
    file: str | None = None
    first: int = 1
    """The number of its first row in the file, or in all data of the input."""
    texts: frozenset[str] = frozenset()
    """Columns that hold values as text, such as those of a CSV file."""
    skipped: list[int] = field(default_factory=list)
    """The numbers of lines of the file that are not rows, ascending."""

    def number(self, index: int) -> int:
        """The number of a row of this piece."""
        number = self.first + index
        for skipped in self.skipped:
            number += skipped <= number
        return number


@dataclass(frozen=True)
class UnreadableRow:
    """A row or a whole file that could not be read."""

    reason: str
    file: str | None
    number: int | None = None
    row: Any = None


@dataclass(frozen=True)
class PlainData:
    """Plain Python data, as `flow.run` takes it."""

    data: Any


DataPart: TypeAlias = Piece | UnreadableRow | PlainData


@dataclass
class DataSource:
    """The data of an input, part by part, and the total number of rows if it is known."""

    parts: Iterator[DataPart]
    rows: int | None = None


def open_data(data: Any, element: Any, opens: Callable[[Path], DataSource], workers: int = 1) -> DataSource | None:
    """The parts of tabular data; None for plain Python data. `opens` opens a file or a folder. A part of a table is
    large enough for so many workers."""
    if isinstance(data, (str, Path)):
        if "://" in str(data):
            raise ElementError(
                f"{{input}} was given the address {hide_secrets(str(data))!r}, and files are read from paths",
                instead=(("pyarrow.dataset.dataset(…).to_table()", "reads from all file systems that Arrow knows"),),
            )
        return opens(Path(data))
    if is_table(data):
        table = as_table(data)
        if isinstance(table, pa.RecordBatchReader):
            return DataSource(_number_pieces((pa.Table.from_batches([batch]) for batch in table), workers))
        return DataSource(_number_pieces([table], workers), table.num_rows)
    if isinstance(data, (list, tuple)):
        if not data or type(data) is element or not _is_part(data[0], element):
            return None
        sources = [_open_inner(each, element, opens, workers) for each in data]
        known = [each.rows for each in sources]
        total = None if None in known else sum(rows for rows in known if rows is not None)
        return DataSource(_renumber(chain.from_iterable(each.parts for each in sources)), total)
    if isinstance(data, Iterator):
        first = list(islice(data, 1))
        if not first or not (_is_part(first[0], element) or _is_delta(first[0], element)):
            return DataSource(iter([PlainData(chain(first, data))]))
        deltas = chain(first, data)
        return DataSource(_renumber(chain.from_iterable(_open_inner(d, element, opens, workers).parts for d in deltas)))
    return None


def _is_part(item: Any, element: Any) -> bool:
    return isinstance(item, Path) or (isinstance(item, str) and not belongs(item, element)) or is_table(item)


def _is_delta(item: Any, element: Any) -> bool:
    return isinstance(item, (list, set, frozenset)) and not belongs(item, element)


def _open_inner(item: Any, element: Any, opens: Callable[[Path], DataSource], workers: int) -> DataSource:
    source = open_data(item, element, opens, workers)
    if source is not None:
        return source
    if not isinstance(item, (list, tuple, set, frozenset)):
        raise ElementError(f"{{input}} must be given tables only; got a {type(item).__name__} among them")
    return DataSource(iter([PlainData(item)]), len(item))


def is_table(data: Any) -> bool:
    """Whether the data is a table of any library: it has the Arrow C interface, or Narwhals knows it."""
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


def _number_pieces(tables: Iterable[pa.Table], workers: int) -> Iterator[Piece]:
    first = 1
    for table in tables:
        for slice_ in slice_table(table, workers):
            yield Piece(slice_, None, first)
            first += slice_.num_rows


def _renumber(parts: Iterable[DataPart]) -> Iterator[DataPart]:
    """Numbers rows that are not from files consecutively."""
    first = 1
    for part in parts:
        if isinstance(part, Piece) and part.file is None:
            part = Piece(part.table, None, first, part.texts)
            first += part.table.num_rows
        elif isinstance(part, PlainData):
            first += len(part.data)
        yield part


def slice_table(table: pa.Table, workers: int = 1) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, SLICE * workers):
        yield table.slice(start, SLICE * workers)


def to_plain(part: DataPart) -> DataPart:
    """The rows as dicts, for an input without columns."""
    return PlainData(part.table.to_pylist()) if isinstance(part, Piece) else part


def reject_files(of: Any) -> Callable[[Path], DataSource]:
    """Opens files of an input whose elements have no columns, which is an error."""

    def read(path: Path) -> DataSource:
        raise ElementError(
            f"{{input}} cannot read a file: its elements are of type {type_name(of.element)}, which has no columns",
            instead=(("flo.rows(schema), a dataclass or a NamedTuple", "with fields of types that Arrow has"),),
        )

    return read


UNREADABLE = (pa.ArrowException, OSError, EOFError, ValueError)


def open_files(path: Path, names: tuple[str, ...], schema: pa.Schema) -> DataSource:
    """The rows of a file, or of all files of a folder in the order of their names."""
    if not path.exists():
        raise ElementError(f"{{input}} was given the file {str(path)!r}, which does not exist")
    files = [path] if path.is_file() else _list_files(path)
    known = [_count_rows(file) for file in files]
    total = None if None in known else sum(count for count in known if count is not None)
    return DataSource((part for file in files for part in _read_file(file, path, names, schema)), total)


def _list_files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(folder)))
    if not files:
        raise ElementError(f"{{input}} was given the folder {str(folder)!r}, which has no files")
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _format(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in (".gz", ".bz2", ".zst", ".lz4")]
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in _READERS:
        raise ElementError(
            f"{{input}} was given the file {file.name!r}, whose format is unknown",
            facts=(("known", ", ".join(_READERS)),),
            instead=(("pyarrow.dataset.dataset(…).to_table()", "reads all formats that Arrow knows"),),
        )
    return suffix


def _count_rows(file: Path) -> int | None:
    """The number of rows, if it is known without reading them."""
    if _format(file) not in (".parquet", ".pq"):
        return None
    try:
        return int(parquet.read_metadata(file).num_rows)
    except UNREADABLE:  # reported when the file is read
        return None


def _read_file(file: Path, root: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[DataPart]:
    """The pieces of one file, with a column for each folder named like `day=2024-05-01`."""
    folders = file.relative_to(root).parts[:-1] if root != file else ()
    named = dict(folder.split("=", 1) for folder in folders if "=" in folder)
    done = 0
    try:
        for part in _READERS[_format(file)](file, names, schema):
            if isinstance(part, Piece):
                done = part.first + part.table.num_rows - 1
                for name, value in named.items():
                    column = pa.array([value] * part.table.num_rows, pa.string())
                    part = Piece(part.table.append_column(name, column), *_origin(part, {*part.texts, name}))
            yield part
    except UNREADABLE as error:
        after = f" after {done} rows" if done else ""
        yield UnreadableRow(f"cannot be read{after}: {_first_line(error)}", str(file))


def _origin(part: Piece, texts: set[str]) -> tuple[Any, ...]:
    return part.file, part.first, frozenset(texts), part.skipped


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0] or type(error).__name__


def _read_parquet(file: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[DataPart]:
    first = 1
    with parquet.ParquetFile(file) as opened_file:
        present = opened_file.schema_arrow.names
        wanted = [name for name in names if name in present]
        for batch in opened_file.iter_batches(SLICE, columns=wanted or None):
            yield Piece(pa.Table.from_batches([batch]), str(file), first)
            first += batch.num_rows


def _read_arrow(file: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[DataPart]:
    first = 1
    with pa.memory_map(str(file)) as mapped:
        reader = pa.ipc.open_file(mapped)
        for number in range(reader.num_record_batches):
            for table in slice_table(pa.Table.from_batches([reader.get_batch(number)])):
                yield Piece(table, str(file), first)
                first += table.num_rows


def _read_csv(file: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[DataPart]:
    """Reads every column as text. Values are parsed when the rows are fitted to the row type."""
    invalid: list[Any] = []

    def skip(row: Any) -> str:
        invalid.append(row)
        return "skip"

    def unreadable(row: Any) -> UnreadableRow:
        reason = f"it has {row.actual_columns} columns; the header has {row.expected_columns}"
        return UnreadableRow(reason, str(file), row.number - 1, row.text)

    delimiter = "\t" if ".tsv" in file.suffixes else ","
    parse = csv.ParseOptions(delimiter=delimiter, invalid_row_handler=skip)
    with csv.open_csv(file, parse_options=parse, read_options=csv.ReadOptions(block_size=1 << 16)) as reader:
        columns = reader.schema.names
    convert = csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False)
    invalid.clear()
    skipped: list[int] = []
    first = 1
    read = csv.ReadOptions(use_threads=False, block_size=1 << 23)
    with csv.open_csv(file, parse_options=parse, convert_options=convert, read_options=read) as reader:
        for batch in reader:
            new = invalid[len(skipped) :]
            skipped += [row.number - 1 for row in new]  # the header has the number 1
            yield from map(unreadable, new)
            yield Piece(pa.Table.from_batches([batch]), str(file), first, frozenset(columns), skipped)
            first += batch.num_rows
    yield from map(unreadable, invalid[len(skipped) :])


_AS_TEXT: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_duration,
    pa.types.is_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_decimal,
    pa.types.is_timestamp,
)
"""Types that JSON has no values for. They are written as text."""


def _read_json(file: Path, names: tuple[str, ...], schema: pa.Schema) -> Iterator[DataPart]:
    """Reads with Arrow; from the first block that Arrow cannot read, line by line."""
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
                raise ValueError(f"expected an object; got a {type(row).__name__}")
            arrays = [_value(row.get(f.name), f) for f in as_read]
        except (ValueError, TypeError, pa.ArrowException) as error:
            yield UnreadableRow(_first_line(error), str(file), number, line.strip())
        else:
            yield Piece(pa.Table.from_arrays(arrays, schema=as_read), str(file), number, texts)


def _value(value: Any, column: pa.Field) -> pa.Array:
    if pa.types.is_string(column.type) and isinstance(value, (int, float)) and not isinstance(value, bool):
        raise TypeError(f"`{column.name}` is {brief(value)}; expected a string")
    try:
        return pa.array([value], column.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise TypeError(f"`{column.name}` is {brief(value)}; expected {column.type}") from None


def _lines(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        yield from lines


_READERS: dict[str, Callable[[Path, tuple[str, ...], pa.Schema], Iterator[DataPart]]] = {
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".json": _read_json,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
}
