"""What can be told of Python types: that of some values, and what a type holds."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, get_args

from flo.verify.data.examples import DEPTH, PLAIN, named_fields, resolved


def common_kind(values: list[Any]) -> Any:
    """The type of all these values, as precise as can be; None if that cannot be told."""
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        each = [common_kind([value for value in values if type(value) is kind]) for kind in kinds]
        return None if None in each else reduce(or_, each)
    kind: Any = next(iter(kinds), None)
    if kind in PLAIN or kind is None:
        return kind
    if kind is tuple:
        if len({len(value) for value in values}) != 1:
            return None
        parts: Any = tuple(common_kind(list(column)) for column in zip(*values, strict=True))
        return None if None in parts else tuple[parts]
    if kind in (frozenset, set, list):
        members = [member for value in values for member in value]
        member = common_kind(members) if members else None
        return None if member is None else kind[member]
    if kind is dict:
        keys, items = [[each for value in values for each in part(value)] for part in (dict.keys, dict.values)]
        key, item = common_kind(keys) if keys else None, common_kind(items) if items else None
        return None if key is None or item is None else kind[key, item]
    return kind


def holds_floats(kind: Any, depth: int = DEPTH) -> bool:
    """Whether values of the type are floats, or hold some."""
    kind = resolved(kind)
    try:
        fields = named_fields(kind) if isinstance(kind, type) and depth else None
    except Exception:  # annotations that cannot be resolved
        fields = None
    parts = (*get_args(kind), *(fields or {}).values()) if depth else ()
    return kind is float or any(holds_floats(part, depth - 1) for part in parts)
