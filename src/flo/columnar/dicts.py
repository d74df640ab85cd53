"""Dicts as rows, for programs on values too: Arrow is not loaded for it."""

from __future__ import annotations

from typing import Any, is_typeddict


def from_dicts(element: Any, data: Any) -> Any:
    """Dicts as rows, where the elements are rows that were made from columns; other data as it is."""
    if not hasattr(element, "_columns") or not isinstance(data, (list, tuple)):
        return data
    columns = element._columns
    return [
        element(*map(item.__getitem__, columns)) if type(item) is dict and item.keys() == set(columns) else item
        for item in data
    ]


def as_rows(collection: Any) -> Any:
    """A bag, set or z-set of TypedDicts holds rows with these fields: a dict has no hash."""
    if getattr(collection, "unordered", False) and is_typeddict(collection.element):
        from flo.columnar.row_types import rows

        return type(collection)(rows(collection.element))
    return collection
