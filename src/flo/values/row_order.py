"""One total order of all values that a column can have: None is the least, NaN the greatest number.

Zoned times are compared as instants, enums by name, UUIDs by their bytes, rows column by column. The same order on
columns is in `flo.tables.state.comparison`.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from enum import Enum
from uuid import UUID

from flo.core.untyped import Element

NONE = (0,)


def order_key(value: object) -> tuple[Element, ...]:
    """Return a key that orders values of one type totally. Equal values have equal keys."""
    if value is None:
        return NONE
    if isinstance(value, Enum):
        return (1, value.name)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (1, value.astimezone(UTC))
    if isinstance(value, UUID):
        return (1, value.bytes)
    if isinstance(value, (tuple, list)):
        return (1, tuple(map(order_key, value)))
    if dataclasses.is_dataclass(value):
        return (1, tuple(order_key(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return (2, 0) if value != value else (1, value)
