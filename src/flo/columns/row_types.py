"""Row types made by Flo: from an Arrow schema, or from the columns of an expression."""

from __future__ import annotations

import copyreg
import datetime
import hashlib
import sys
from collections import namedtuple
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Optional, get_args, get_origin

import pyarrow as pa

from flo.columns.cell import PLAIN, fields_of
from flo.core.data import NAME, class_name, remember_class
from flo.core.errors import TypeMismatch, brief
from flo.core.untyped import TypeForm

_EXACT = {arrow: kind for kind, arrow in PLAIN.items() if kind is not Decimal}
"""The Python types of the Arrow types that they have by default."""
OWN, ENDED = "±", "⊗"
"""The names of columns that rows have beside those of users begin with these."""


def row_type(fields: dict[str, Any] | None = None, /, **more: object) -> Any:
    """Return the NamedTuple with these fields: the same class for the same names and types."""
    return _row_type(tuple({**(fields or {}), **more}.items()))


@lru_cache(maxsize=1024)
def _row_type(fields: tuple[tuple[str, object], ...]) -> Any:
    columns = tuple(name for name, _ in fields)
    for name in columns:
        if name.startswith((OWN, ENDED)):
            raise TypeMismatch(
                f"a column must not be named {name!r}: the names of the engine's own columns begin with {name[0]!r}",
                instead=((repr(name[1:] or "column"), "another name"),),
            ).at_users_line()
    base: Any = namedtuple("Row", columns, rename=True)  # type: ignore[misc]
    own = {"__slots__": (), "_columns": columns, "_given": fields, "__module__": __name__}
    row: Any = RowType("Row", (_ByName, base), own)
    row.__annotations__ = dict(zip(base._fields, (kind for _, kind in fields), strict=True))
    named = tuple((name, _without_module(kind)) for name, kind in fields)
    row.__qualname__ = f"Row_{digest_of(named)}"  # identifies the row type in a state
    setattr(row, NAME, row.__qualname__)
    class_name(row)  # registers it, because no module contains it
    row._earlier_name = f"Row_{digest_of(fields)}"  # in states of earlier releases
    remember_class(row, f"{__name__}:{row._earlier_name}")
    return row


class RowType(type):
    """The class of row types. No module contains one, so it is pickled as its names and types."""

    _given: tuple[tuple[str, object], ...]


def _reduce(row: RowType) -> tuple[Any, tuple[object, ...]]:
    return _row_type, (row._given,)


copyreg.pickle(RowType, _reduce)


def digest_of(parts: object) -> str:
    """Return a short hash of the text of something: a part of the name of a class in states."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _without_module(kind: TypeForm) -> Any:
    """Return a text of a type that does not depend on the modules of its classes: a script is `__main__` or not."""
    if isinstance(kind, type) and not get_args(kind):
        return kind.__qualname__ if kind.__module__ != "builtins" else repr(kind)
    parts = get_args(kind)
    return (str(get_origin(kind)), *map(_without_module, parts)) if parts else repr(kind)


class _ByName:
    """Access to a row's columns by name: `row["price"]` is `row.price`."""

    __slots__ = ()
    _columns: tuple[str, ...]

    def __getitem__(self, key: object) -> Any:
        index = self._columns.index(key) if isinstance(key, str) else key
        return tuple.__getitem__(self, index)  # type: ignore[call-overload]

    def keys(self) -> Iterator[str]:
        return iter(self._columns)


def rows(kind: TypeForm) -> Any:
    """Return the row type of a schema of Arrow, Polars or PySpark, of a TypedDict or of another row type:
    `flo.ZSet[flo.rows(schema)]`."""
    try:
        schema = arrow_schema(kind)
        if schema is not None:
            return row_type_of(schema)
        fields = fields_of(kind)
    except TypeError as error:
        raise TypeMismatch(f"no row type can have these columns: {error}").at_users_line() from None
    if not fields:
        framed = hasattr(kind, "schema")
        raise TypeMismatch(
            "`rows` must get a schema of Arrow, Polars or PySpark, a TypedDict, a dataclass or a NamedTuple",
            facts=(("given", type(kind).__name__ if framed else brief(kind)),),
            instead=(("flo.rows(frame.schema)", "the schema of a frame or a table"),)
            if hasattr(kind, "schema")
            else (),
        ).at_users_line()
    return row_type(fields)


def arrow_schema(kind: Any) -> pa.Schema | None:
    """Return the schema of Arrow, Polars or PySpark as one of Arrow; None if it is none of these.

    Columns of Polars may always be null.
    """
    if isinstance(kind, pa.Schema):
        return kind
    library = type(kind).__module__.partition(".")[0]
    if library == "polars" and isinstance(kind, Mapping):
        frame = sys.modules["polars"].DataFrame(schema=dict(kind))
        return frame.to_arrow().schema
    if library == "pyspark" and hasattr(kind, "fieldNames"):
        return pa.schema([_of_spark(field) for field in kind])
    return None


_OF_SPARK = {
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "daytimeinterval": pa.duration("us"),
    "void": pa.null(),
}


def _of_spark(field: Any) -> pa.Field:
    """Return a field of PySpark as one of Arrow."""
    return pa.field(field.name, _type_of_spark(field.dataType), field.nullable)


def _type_of_spark(kind: Any) -> pa.DataType:
    name = "daytimeinterval" if type(kind).__name__ == "DayTimeIntervalType" else kind.typeName().partition(" ")[0]
    if name in _OF_SPARK:
        return _OF_SPARK[name]
    if name.startswith("decimal"):
        return pa.decimal128(kind.precision, kind.scale)
    if name == "array":
        return pa.list_(pa.field("item", _type_of_spark(kind.elementType), kind.containsNull))
    if name == "struct":
        return pa.struct([_of_spark(field) for field in kind])
    raise TypeError(f"the type {kind.simpleString()} of PySpark has no Python type")


def row_type_of(schema: pa.Schema) -> Any:
    """Return the row type of a table's columns."""
    return row_type({field.name: python_type(field) for field in schema})


def python_type(field: pa.Field) -> TypeForm:
    """Return the Python type of a column, annotated with the Arrow type if that is not the default."""
    kind = _python_type(field.type)
    if field.nullable and kind is not type(None):
        kind = Optional[kind]  # noqa: UP045
    return kind


def _python_type(arrow: pa.DataType) -> TypeForm:
    if arrow in _EXACT:
        return _EXACT[arrow]
    for test, kind in (
        (pa.types.is_integer, int),
        (pa.types.is_floating, float),
        (_is_text, str),
        (_is_bytes, bytes),
        (pa.types.is_decimal, Decimal),
        (pa.types.is_date, datetime.date),
        (pa.types.is_timestamp, datetime.datetime),
        (pa.types.is_time, datetime.time),
        (pa.types.is_duration, datetime.timedelta),
    ):
        if test(arrow):
            return Annotated[kind, arrow]
    if pa.types.is_dictionary(arrow):
        return _python_type(arrow.value_type)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return tuple[python_type(arrow.value_field), ...]  # type: ignore[misc]  # lists are not hashable
    if pa.types.is_struct(arrow):
        return row_type({field.name: python_type(field) for field in arrow})
    raise TypeError(f"the Arrow type {arrow} has no Python type")


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(
        pa.types.is_large_binary(arrow) or pa.types.is_binary_view(arrow) or pa.types.is_fixed_size_binary(arrow)
    )
