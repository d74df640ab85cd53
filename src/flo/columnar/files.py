"""Files and folders as pieces of a table: Parquet, CSV, JSON lines and Arrow, each file by itself, so that an error can
name the file and the row."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as arrow_json
import pyarrow.parquet as parquet

from flo.columnar.inputs import SLICE, Fault, Part, Piece, Source, slices
from flo.core.errors import ElementError, brief

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
