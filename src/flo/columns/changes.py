"""The input of a table with a primary key: the collection of its changes, and their class, made from its row type.

Changes have the order in which they arrive, so they are a sequence. With `order_by` they have an order of their own:
the largest value of that column counts, however late it arrives. Then they are a bag, which needs no order on Spark.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Annotated, Any, Optional, get_args, get_origin, is_typeddict

import pyarrow as pa

from flo.columns.cell import fields_of
from flo.columns.dicts import row_of
from flo.columns.layout import Layout
from flo.columns.row_types import digest_of, row_type, rows
from flo.core.collection import Collection
from flo.core.data import NAME, class_name, remember_class
from flo.core.errors import TypeMismatch, brief
from flo.core.type_names import type_name
from flo.core.type_relations import without_none
from flo.core.untyped import TypeForm
from flo.values.changes import DELETED, TableShape, shape_of
from flo.values.sequence import Sequence
from flo.values.weighted import Bag

REST = "§rest"
"""The column of a change with the rest of its row; null if the row is deleted."""


def changes_of(name: str, row: object, key: object, order_by: object) -> Collection:
    """Return the collection of the changes of a table. Raises if a column is wrong."""
    row = rows(row) if not isinstance(row, type) or is_typeddict(row) else row
    columns = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, (list, tuple)) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeMismatch(
            f"`key` of `table` must be a column, or a list of columns; got {brief(key)}",
            instead=(('key="id"', "one column"), ('key=["shop", "day"]', "several")),
        )
    twice = next((column for place, column in enumerate(columns) if column in columns[:place]), None)
    if twice is not None:
        raise TypeMismatch(
            f"`key` of `table` must name each column once; it names `{twice}` twice",
            facts=(("key", brief(key)),),
        )
    known = fields_of(row) or {}
    for parameter, column in [*(("key", column) for column in columns), ("order_by", order_by)]:
        if known and column is not None and column not in known:
            raise TypeMismatch(
                f"`{parameter}` of `table` is the column `{brief(column).strip(chr(39))}`, "
                f"which {type_name(row)} does not have",
                facts=(("columns", ", ".join(known)),),
            )
    if order_by in columns:
        raise TypeMismatch(
            f"`order_by` of `table` must be a column that changes; `{order_by}` is in the key",
            facts=(("key", brief(key)),),
        )
    changes = change_type(name, row, columns, order_by)
    return (Sequence if order_by is None else Bag)(changes)


@lru_cache(maxsize=256)
def change_type(name: str, row: Any, key: tuple[str, ...], order: str | None) -> Any:
    """Return the class of changes of this table: the same class for the same arguments."""
    layout, fields = Layout.of(row), fields_of(row)
    if layout is None or not fields or not layout.hashable:
        raise TypeMismatch(
            f"`table` must get a row type with named columns and hashable rows; got {type_name(row)}",
            instead=(("a NamedTuple, a frozen dataclass, or flo.rows(schema)", "has columns"),),
        )
    leading = key if order is None else (*key, order)
    kinds = {each: never_null(fields[each]) for each in leading}
    others = {each: kind for each, kind in fields.items() if each not in leading}
    rest = row_type(others) if others else bool
    base = row_type({**kinds, REST: Optional[rest]})  # noqa: UP045
    shape = TableShape(
        name, row, tuple(fields), key, order, tuple(kinds.values()), layout.split, layout.make,
        rest if others else _present, partial(row_of, row),
    )  # fmt: skip
    changes: Any = type(
        f"change of {getattr(row, '__name__', 'row')}", (base,), {"__slots__": (), "_shape": shape, "__repr__": _text}
    )
    changes.__module__ = __name__
    known = (getattr(base, NAME), getattr(row, NAME, row.__qualname__), name, key, order)
    changes.__qualname__ = f"Change_{digest_of(known)}"
    setattr(changes, NAME, changes.__qualname__)
    class_name(changes)  # registers it, because no module contains it: the name identifies it in a state
    earlier = digest_of((base._earlier_name, class_name(row), name, key, order))
    remember_class(changes, f"{__name__}:Change_{earlier}")  # its name in states of earlier releases
    return changes


def _text(change: Any) -> str:
    return str(change._shape.text_of(change))


def _present() -> bool:
    return True


def never_null(kind: TypeForm) -> Any:
    """Return the type without None."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[never_null(parts[0]), *parts[1:]]
    return without_none(kind)[1]


def given_schema(element: object) -> pa.Schema:
    """Return the columns that users give for elements of this type. Changes have those of their row, and `_deleted`."""
    shape = shape_of(element)
    if shape is None:
        return Layout.expect(element).schema
    fields = [field.with_nullable(True) for field in row_layout(shape).schema]
    named = any(field.name == DELETED for field in fields)
    return pa.schema(fields if named else [*fields, pa.field(DELETED, pa.bool_())])


def row_layout(shape: TableShape) -> Layout:
    """Return the layout of the rows of a table."""
    return Layout.expect(shape.row)
