"""Sharing of state: two operators that keep the same rows by the same key hold the same runs.

Two joins keep the orders by user. Both merge runs a and b, and the second gets the run that the first has merged:

    (how,                     parts)    result
    (Trace, columns user)     a, b      run ab       the first join merges
    (Trace, columns user)     a, b      run ab       the second join looks it up
    (Trace, columns product)  a, b      run ba       another way, so another result

Invariant: an entry exists as long as all of its parts do. So a result that is found belongs to the same objects, not
to others that took their place in memory.

A second join on a stream and key costs neither time nor memory for its trace, and a checkpoint stores the runs once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Sharing:
    """Results by the way they are computed and by the identity of their parts, until one of the parts is gone.

    A result must not refer to a part, which would then never be gone.
    """

    def __init__(self) -> None:
        self._shared: dict[Hashable, tuple[list[weakref.ref[Any]], Any]] = {}

    def get(self, how: Hashable, parts: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return the result of computing these parts in this way; call `make` if there is none yet."""
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
