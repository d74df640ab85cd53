"""Sharing of state: two operators that keep the same rows by the same key hold the same runs.

What is made of the same parts in the same way is made once, as long as the parts exist. So a second join on a stream
and key costs neither time nor memory for its trace, and a checkpoint stores the runs once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Sharing:
    """Remembers what was made of which parts, by their identity, until one of the parts is gone.

    A result must not refer to a part, which would then never be gone.
    """

    def __init__(self) -> None:
        self._shared: dict[Hashable, tuple[list[weakref.ref[Any]], Any]] = {}

    def get(self, how: Hashable, parts: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return what was made of these parts in this way; `make` it if nothing was."""
        key = (how, *map(id, parts))
        known = self._shared.get(key)
        if known is not None:
            shared: T = known[1]
            return shared

        def forget(_: weakref.ref[Any]) -> None:
            self._shared.pop(key, None)

        new = make()
        self._shared[key] = ([weakref.ref(part, forget) for part in parts], new)
        return new
