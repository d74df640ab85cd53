"""The order of elements by a key, which is total: on nan, and where keys are equal."""

from __future__ import annotations

from typing import Any

from flo.core.data import canonical
from flo.core.errors import CheckpointError, ElementError
from flo.values.canonical import instant_element


def comparable(key: Any) -> tuple[bool, Any]:
    """The key in a total order: NaN equals itself and is greater than all numbers, and zoned times are instants."""
    if key != key:
        return (True, None)
    return (False, tuple(comparable(part) for part in key) if type(key) is tuple else instant_element(key))


def tie_text(element: Any, operator: str) -> str:
    """The text that orders elements whose keys are equal."""
    try:
        return canonical(element)
    except CheckpointError:
        raise ElementError(
            f"`{operator}` orders elements with equal keys by what is in them, "
            f"and cannot see what is in a {type(element).__name__}",
            facts=(("given", repr(element)[:120]),),
            instead=(
                ("a key that tells elements apart", "no two are equal then"),
                ("a dataclass, NamedTuple, Enum or built-in type", "whose parts can be seen"),
            ),
        ) from None
