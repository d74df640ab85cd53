"""The order of elements by a key, which is total: on nan, and where keys are equal."""

from __future__ import annotations

from typing import Any

from flo.core.data import canonical
from flo.core.errors import CheckpointError, ElementError


def comparable(key: Any) -> tuple[bool, Any]:
    """The key in an order that is total even on floats: nan is equal to itself and greater than all others."""
    if key != key:
        return (True, None)
    return (False, tuple(comparable(part) for part in key) if type(key) is tuple else key)


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
