"""Dicts as rows, on values too. Does not load Arrow."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, is_typeddict

from flo.core.type_relations import is_union, without_none
from flo.core.untyped import TypeForm


def from_dicts(element: object, data: object) -> Any:
    """Convert dicts to rows if the elements are rows; return other data unchanged."""
    named = isinstance(element, type) and (hasattr(element, "_fields") or is_dataclass(element))
    if not named or not isinstance(data, (list, tuple)) or dict not in map(type, data):
        return data
    columns = set(getattr(element, "_columns", None) or getattr(element, "_fields", None) or _fields(element))
    return [row_of(element, item) if type(item) is dict and item.keys() == columns else item for item in data]


def _fields(element: Any) -> list[str]:
    return [field.name for field in fields(element)]


def row_of(element: Any, item: dict[str, Any]) -> Any:
    """Convert a dict to a row, including the dicts and lists inside, as JSON and Arrow represent them."""
    from flo.columns.cell import fields_of

    kinds = fields_of(element) or {}
    return element(*(_within(kind, item[name]) for name, kind in kinds.items()))


def _within(kind: TypeForm, value: Any) -> Any:
    from flo.columns.cell import fields_of

    if type(value) not in (dict, list):
        return value
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _within(parts[0], value)
    if is_union(kind):
        rest = without_none(kind)[1]
        return value if is_union(rest) else _within(rest, value)
    if type(value) is list:
        return tuple(_within(parts[0], item) for item in value) if origin is tuple and parts[1:] == (...,) else value
    kinds = fields_of(kind)
    known = kinds and not is_typeddict(kind) and value.keys() >= kinds.keys()
    return row_of(kind, value) if known else value


def as_rows(collection: Any) -> Any:
    """Return the collection with rows instead of TypedDicts if it is a bag, set or z-set: dicts are not hashable."""
    if getattr(collection, "unordered", False) and is_typeddict(collection.element):
        from flo.columns.row_types import rows

        return type(collection)(rows(collection.element))
    return collection
