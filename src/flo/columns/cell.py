"""One column: how values of a Python type are converted to an Arrow array and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from operator import index
from typing import Annotated, Any, Literal, NewType, Optional, Union, get_args, get_origin
from uuid import UUID

import pyarrow as pa

from flo.core.untyped import Element, ElementFunction, TypeForm
from flo.values.exact import ALL_DIGITS, Digits, plain_type

WriteCells = Callable[[list[Element]], list[Element]]
"""Converts Python values to what Arrow accepts."""
ReadCells = Callable[[list[Element]], list[Element]]

AT_ONCE = 1024
"""The number of rows transposed at once: Python is slow with very many arguments."""
PLAIN: dict[TypeForm, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.string(),
    bytes: pa.binary(),
    date: pa.date32(),
    datetime: pa.timestamp("us"),
    time: pa.time64("us"),
    timedelta: pa.duration("us"),
    Decimal: pa.decimal128(38, 18),
    type(None): pa.null(),
}


@dataclass(frozen=True)
class Cell:
    """The Arrow type of a Python type. Without `write` and `read`, Arrow's own conversion is used."""

    kind: TypeForm
    arrow: pa.DataType
    nullable: bool = False
    write: WriteCells | None = None
    read: ReadCells | None = None
    among: tuple[Element, ...] | None = None
    """The only values, as Arrow stores them, if the type enumerates them."""
    hashable: bool = True

    @property
    def annotation(self) -> TypeForm:
        """The Python type, with None if the column may be null."""
        return self.kind if not self.nullable or self.kind is type(None) else Optional[self.kind]  # noqa: UP045

    @property
    def wide(self) -> bool:
        """Whether it has integers of more than 64 bits."""
        return plain_type(self.kind) is int and pa.types.is_decimal(self.arrow)

    @property
    def rounds(self) -> bool:
        """Whether it has fewer values than the Python type: floats with fewer bits, or times in larger units."""
        is_short = pa.types.is_float16(self.arrow) or pa.types.is_float32(self.arrow)
        return is_short or getattr(self.arrow, "unit", None) in ("s", "ms")

    def to_array(self, values: list[Element]) -> pa.Array:
        """Convert values to an array. Raises Arrow's error if a value does not fit."""
        return pa.array(self.write(values) if self.write else values, self.arrow)

    def to_values(self, array: pa.Array | pa.ChunkedArray) -> list[Element]:
        values: list[Element] = array.to_pylist()
        return self.read(values) if self.read else values


def cell_of(kind: TypeForm) -> Cell | None:
    """Return the column of a Python type; None if no column returns the values unchanged."""
    try:
        return _cell_of(kind)
    except TypeError:  # an unhashable annotation
        return None


@lru_cache(maxsize=1024)
def _cell_of(kind: TypeForm) -> Cell | None:
    kind = type(None) if kind is None else kind
    if kind in PLAIN:
        write = _moments(None) if kind is datetime else None
        return Cell(kind, PLAIN[kind], nullable=kind is type(None), write=write)
    if isinstance(kind, NewType):
        return cell_of(kind.__supertype__)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(*parts)
    if origin in (Union, types.UnionType):
        return _optional(parts)
    if origin is Literal:
        kinds = {type(part) for part in parts}
        inner = cell_of(kinds.pop()) if len(kinds) == 1 else None
        return inner and dataclasses.replace(inner, kind=kind, among=parts)
    if origin is list:
        return _list(kind, cell_of(parts[0]), list)
    if origin is tuple and len(parts) == 2 and parts[1] is ...:
        return _list(kind, cell_of(parts[0]), tuple)
    if origin is tuple and parts and parts[-1] is not ... and parts != ((),):
        names = [str(place) for place in range(len(parts))]
        return _struct(kind, names, list(parts), each_column, lambda *values: values)
    if isinstance(origin or kind, type):
        return _class(kind)
    return None


def _class(kind: Any) -> Cell | None:
    plain = get_origin(kind) or kind
    if issubclass(plain, Enum):
        read = _some(lambda name: kind[name])
        return Cell(kind, pa.string(), False, _some(lambda member: member.name), read, tuple(kind.__members__))
    if issubclass(plain, UUID):
        return Cell(kind, pa.binary(16), False, _some(lambda value: value.bytes), _some(lambda b: UUID(bytes=b)))
    fields = fields_of(kind)
    if fields is None:
        return None
    typed_dict = typing.is_typeddict(kind)
    make = kind if not typed_dict else lambda *values: dict(zip(fields, values, strict=True))
    cell = _struct(kind, list(fields), list(fields.values()), columns_of(kind, tuple(fields)), make)
    return cell and dataclasses.replace(cell, hashable=cell.hashable and plain.__hash__ is not None)


def fields_of(kind: TypeForm) -> dict[str, TypeForm] | None:
    """Return the columns and types of a row type's fields; None if it is not a row type."""
    parameters = getattr(get_origin(kind), "__parameters__", None)
    if isinstance(parameters, tuple):  # such as TimeWindow[int]
        given = dict(zip(parameters, get_args(kind), strict=True))
        return {name: given.get(each, each) for name, each in (fields_of(get_origin(kind)) or {}).items()} or None
    if not isinstance(kind, type):
        return None
    named_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    if not (named_tuple or dataclasses.is_dataclass(kind) or typing.is_typeddict(kind)):
        return None
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except Exception:  # unresolvable annotations
        return None
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind) if field.init]
        if len(names) != len(dataclasses.fields(kind)):
            return None  # a field that cannot be restored
    elif named_tuple:
        names = list(kind._fields)  # type: ignore[attr-defined]
    else:
        names = list(hints)
        if getattr(kind, "__optional_keys__", None):
            return None
    columns = getattr(kind, "_columns", names)  # row types made by Flo may have columns that are not identifiers
    return {column: hints.get(name, Any) for column, name in zip(columns, names, strict=True)}


def columns_of(kind: Any, fields: tuple[str, ...]) -> Callable[[list[Element]], list[list[Element]]]:
    """Return a function that converts rows to a list per column."""
    if typing.is_typeddict(kind):
        return lambda rows: [[row[name] for row in rows] for name in fields]
    if issubclass(get_origin(kind) or kind, tuple):
        return each_column
    return lambda rows: [[getattr(row, name) for row in rows] for name in fields]


def each_column(rows: list[Element]) -> list[list[Element]]:
    columns: list[list[Element]] = [[] for _ in rows[0]]
    for start in range(0, len(rows), AT_ONCE):
        for column, part in zip(columns, zip(*rows[start : start + AT_ONCE], strict=True), strict=True):
            column.extend(part)
    return columns


def _struct(kind: TypeForm, names: list[str], kinds: list[TypeForm], columns: Any, make: Any) -> Cell | None:
    cells = [cell_of(each) for each in kinds]
    if not cells or any(cell is None for cell in cells):
        return None
    known = [cell for cell in cells if cell is not None]
    arrow = pa.struct([pa.field(n, c.arrow, c.nullable) for n, c in zip(names, known, strict=True)])

    def write(rows: list[Element]) -> list[Element]:
        there = [row for row in rows if row is not None]
        if not there:
            return rows
        parts = [c.write(list(v)) if c.write else list(v) for c, v in zip(known, columns(there), strict=True)]
        written = (dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True))
        return [None if row is None else next(written) for row in rows]

    def read(rows: list[Element]) -> list[Element]:
        there = [row for row in rows if row is not None]
        parts = [[row[name] for row in there] for name in names]
        parts = [c.read(v) if c.read else v for c, v in zip(known, parts, strict=True)]
        elements = iter([make(*values) for values in zip(*parts, strict=True)])
        return [None if row is None else next(elements) for row in rows]

    return Cell(kind, arrow, False, write, read, hashable=all(cell.hashable for cell in known))


def _list(kind: TypeForm, inner: Cell | None, constructor: Callable[[list[Element]], Element]) -> Cell | None:
    if inner is None:
        return None
    field = pa.field("item", inner.arrow, inner.nullable)
    write = None if inner.write is None else _some(inner.write)
    convert = inner.read or (lambda values: values)
    read = _some(lambda values: constructor(convert(values))) if inner.read or constructor is tuple else None
    return Cell(kind, pa.list_(field), False, write, read, hashable=inner.hashable and constructor is tuple)


def _some(convert: ElementFunction) -> Callable[[list[Element]], list[Element]]:
    """Apply the conversion to every value that is not None."""
    return lambda values: [None if value is None else convert(value) for value in values]


def _optional(parts: tuple[object, ...]) -> Cell | None:
    rest = [part for part in parts if part not in (None, type(None))]
    inner = cell_of(rest[0]) if len(rest) == 1 and len(rest) < len(parts) else None
    return None if inner is None else dataclasses.replace(inner, nullable=True)


def _annotated(kind: TypeForm, *notes: object) -> Cell | None:
    """Return the column of `Annotated[datetime, pa.timestamp("us", "UTC")]`, whose Arrow type is given."""
    note = next((note for note in notes if isinstance(note, (pa.DataType, Digits))), None)
    zone = next((note for note in notes if isinstance(note, tzinfo)), None)
    if note is None and zone is not None and kind is datetime:
        note = pa.timestamp("us", str(zone))
    inner = cell_of(kind)
    if inner is None or note is None:
        return inner
    arrow = _decimals(note) if isinstance(note, Digits) else note
    write, read = inner.write, inner.read
    if pa.types.is_timestamp(arrow):
        write = _moments(arrow.tz)
    if kind is int and pa.types.is_decimal(arrow):
        write, read = _some(lambda value: int(index(value))), _some(int)
    annotated: Any = Annotated[kind, note, ALL_DIGITS] if ALL_DIGITS in notes else Annotated[kind, note]
    return dataclasses.replace(inner, kind=annotated, arrow=arrow, write=write, read=read)


def _decimals(digits: Digits) -> pa.DataType:
    """Return the narrowest Arrow decimal with this many digits."""
    arrow_type = pa.decimal128 if digits.precision <= 38 else pa.decimal256
    return arrow_type(digits.precision, digits.scale)


def _moments(zone: str | None) -> WriteCells:
    """Reject times with a zone for columns without one, and the reverse. Arrow would drop the zone or assume UTC, and
    not return the same values."""

    def write(moments: list[Element]) -> list[Element]:
        for moment in moments:
            if moment is not None and (moment.tzinfo is None) is not (zone is None):
                has = "no zone" if moment.tzinfo is None else "a zone"
                raise ValueError(
                    f"a column of {pa.timestamp('us', zone)} cannot have {moment.isoformat()}, which has {has}"
                )
        return moments

    return write
