"""What `check` is told, looked at before anything is tried."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from flo.core.collection import Collection
from flo.core.elements import type_name
from flo.core.errors import LawError, Origin, brief
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.weighted import Bag, Set, ZSet
from flo.verify.data.given import Given
from flo.verify.functions.domains import NO_START


def expect_numbers(*, most: Any, tries: Any, seed: Any, work: Any, seconds: Any) -> None:
    """Refuses what is no number of elements, of tries, of units of work, or of seconds."""
    for name, given, least in (("most", most, 0), ("tries", tries, 0), ("seed", seed, None), ("work", work, 1)):
        if type(given) is not int or (least is not None and given < least):
            raise _refused(name, given, "a whole number" if least is None else f"a whole number, {least} or more")
    if type(seconds) not in (int, float) or not 0 < seconds < math.inf:
        raise _refused("seconds", seconds, "a number above 0")


def _refused(name: str, given: Any, expected: str) -> LawError:
    return LawError(
        f"`{name}` is {expected}, and {brief(given)} is none", facts=(("given", brief(given)),), where=Origin.here()
    )


def expect_none(of_function: dict[str, Any]) -> None:
    """Refuses options that only the check of a function has, and that would do nothing."""
    for name, given in of_function.items():
        if given is not None and given is not NO_START:
            raise LawError(
                f"`{name}` is for the check of a function: what else there is has laws of its own, and all are tried",
                facts=(("given", brief(given)),),
                where=Origin.here(),
            )


def expect_hashable(collection: Collection, given: Given) -> None:
    """Refuses a collection that counts elements, or finds them by a key, of which none can be hashed."""
    kind = collection.key if isinstance(collection, Keyed) else None
    if isinstance(collection, (Bag, Set, ZSet)):
        assert isinstance(collection, ElementCollection)
        kind = collection.element
    known = [] if kind is None else given.examples(kind)
    if known and not any(map(_hashed, known)):
        raise LawError(
            f"{collection.name} holds what can be hashed, and {type_name(kind)} cannot",
            facts=(("given", brief(known[0])),),
            instead=(("tuple[int, ...]", "in the place of list[int], frozenset in that of set"),),
            where=Origin.here(),
        )


def _hashed(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return isinstance(value, Hashable)
