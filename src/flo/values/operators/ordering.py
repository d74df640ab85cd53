"""The order of elements by a key, which is total: on nan, and where keys are equal."""

from __future__ import annotations

from typing import Any, final

from flo.core.data import canonical
from flo.core.errors import CheckpointError, ElementError
from flo.values.canonical import instant_element


@final
class Nan:
    """NaN in a total order: it equals itself, and is greater than all that can be compared with a number."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nan)

    def __hash__(self) -> int:
        return hash(Nan)

    def __lt__(self, other: Any) -> bool:
        if self != other:
            _ = float(0) < other  # a TypeError if no number compares with the other
        return False

    def __gt__(self, other: Any) -> bool:
        return self != other and not self < other


NAN = Nan()


def comparable(key: Any) -> tuple[Any]:
    """The key in a total order: NaN equals itself and is greater than all numbers, and zoned times are instants.

    In a tuple, so that equal keys need no order: two None do not, a None and a number do.
    """
    return (_with_nan(key),)


def _with_nan(key: Any) -> Any:
    if key != key:
        return NAN
    return tuple(map(_with_nan, key)) if type(key) is tuple else instant_element(key)


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
