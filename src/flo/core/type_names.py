"""Types as texts for users: `int`, `str | None`, `Row(city: str, n: int)`."""

from __future__ import annotations

import dataclasses
import typing
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from flo.core.untyped import TypeForm

ADDED = "=="
"""The beginning of the names of columns that verbs add for themselves."""
MOST_OF_A_ROW = 60
"""How many characters of the columns of a row an error shows."""


def type_name(kind: TypeForm) -> str:
    """Return the type as a user would write it. A row type made by Flo has no name, so its first columns are shown."""
    if _is_made_by_flo(kind):
        return _row_text(kind, MOST_OF_A_ROW)
    return _name(kind)


def type_in_full(kind: TypeForm) -> str:
    """Return the type with all columns, if it is a row type: `Sale(shop: str, price: float)`."""
    return _row_text(kind, None) if row_columns(kind) else _name(kind)


def column_texts(kind: TypeForm) -> list[str]:
    """Return the columns of a row type: `price: float`, or the type alone if Flo has added the column."""
    return [text if name.startswith(ADDED) else f"{name}: {text}" for name, text in row_columns(kind)]


def row_columns(kind: TypeForm) -> list[tuple[str, str]]:
    """Return the columns of a row type with the names of their types; nothing if it is none."""
    if not isinstance(kind, type) or _is_change(kind):
        return []
    fields = row_fields(kind)
    names = getattr(kind, "_columns", None) or [name for name, _ in fields]
    return [(name, type_name(each)) for name, (_, each) in zip(names, fields, strict=True)]


@lru_cache(maxsize=1024)
def row_fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a row type with their types; nothing if it is none, or its annotations do not resolve."""
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else ()
    names = names or (getattr(kind, "_fields", ()) if issubclass(kind, tuple) else ())
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except Exception:  # unresolvable annotations
        return ()
    return tuple((name, hints[name]) for name in names if name in hints)


def _is_made_by_flo(kind: TypeForm) -> bool:
    return isinstance(kind, type) and hasattr(kind, "_columns") and not _is_change(kind)


def _is_change(kind: TypeForm) -> bool:
    """Return whether these are changes of a table: a user never sees their columns."""
    return hasattr(kind, "_shape")


def _row_text(kind: Any, most: int | None) -> str:
    """Return a row type with its columns, as its rows are printed."""
    columns = column_texts(kind)
    some = columns
    while most is not None and len(some) > 1 and len(", ".join(some)) > most:
        some = some[:-1]
    more = [f"… {len(columns) - len(some)} more"] if len(some) < len(columns) else []
    return f"{kind.__name__}({', '.join([*some, *more])})"


def _name(kind: TypeForm) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if kind in (None, NoneType):
        return "None"
    if isinstance(kind, type) and not parts:
        return kind.__name__
    if origin is Annotated:
        return _annotated_name(*parts)
    if origin in (Union, UnionType):
        return " | ".join(map(type_name, parts))
    if isinstance(origin, type) and parts and all(_is_type(part) for part in parts):
        named = ("..." if part is ... else type_name(part) for part in parts)
        return f"{origin.__name__}[{', '.join(named) or '()'}]"
    return str(kind).replace("typing.", "").replace("~", "")


def _is_type(part: object) -> bool:
    return part is ... or part is None or isinstance(part, type) or get_origin(part) is not None


def _annotated_name(kind: TypeForm, *notes: Any) -> str:
    """Return the name of the column type that an annotation chooses: `int32`, `decimal(10, 2)`."""
    for note in notes:
        is_arrow, is_zone = type(note).__module__.startswith("pyarrow"), hasattr(note, "utcoffset")
        if is_arrow or hasattr(note, "precision"):
            text = str(note)
            return "int" if kind is int and text.startswith("decimal") else text
        if is_zone:
            return f"timestamp[us, tz={note}]"
    return type_name(kind)
