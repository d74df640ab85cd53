"""Which Python types have a total order in every engine: None the least, NaN the greatest number."""

from __future__ import annotations

import types
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin
from uuid import UUID

import narwhals as nw

_PLAIN = (int, float, bool, str, bytes, date, datetime, time, timedelta, Decimal, UUID, type(None), None)


def is_orderable(kind: Any) -> bool:
    """Return whether any two values of a type compare, None included."""
    if isinstance(kind, NewType):
        return is_orderable(kind.__supertype__)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return is_orderable(parts[0])
    if origin in (Union, types.UnionType):
        rest = [part for part in parts if part is not type(None)]
        return len(rest) == 1 and is_orderable(rest[0])
    if origin is Literal:
        return len({type(part) for part in parts}) == 1
    if origin is tuple:
        return all(is_orderable(part) for part in parts if part is not ...)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return issubclass(kind, (int, str))
    return kind in _PLAIN


def null_flag(of: str | nw.Expr) -> nw.Expr:
    """Return the column that says where another is null. False comes before True."""
    return (nw.col(of) if isinstance(of, str) else of).is_null()
