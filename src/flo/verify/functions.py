"""Laws of the functions that users pass where algebra matters: tried on examples, refused with a counterexample."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import product
from random import Random
from typing import Any, get_args, get_origin

from flo.core.elements import type_name
from flo.core.errors import LawError, Origin
from flo.core.labels import label
from flo.values.element_value import ElementCollection

# the first three go into tuples and dataclasses: they must tell most, as that the sum of floats depends on their order
_PLAIN: dict[Any, list[Any]] = {
    int: [0, 1, -1, 2, 3],
    float: [0.1, 1e16, -0.5, 0.0, 1.0],
    str: ["", "a", "b", "ab"],
    bool: [False, True],
    bytes: [b"", b"a", b"b"],
    type(None): [None],
}
_MOST = 27
_GUESSES = (int, str, float, tuple[int, int], tuple[str, int])


def examples(kind: Any, depth: int = 2) -> list[Any]:
    """A few values of a type; none if the type does not say how to make them."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, parts = get_origin(kind), get_args(kind)
    if depth == 0:
        return []
    if origin is tuple and parts and ... not in parts:
        return _combined([examples(part, depth - 1)[:3] for part in parts])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _instances(kind, depth)
    if origin in (typing.Union, getattr(__import__("types"), "UnionType", None)):
        return [value for part in parts for value in examples(part, depth - 1)]
    return []


def _combined(parts: list[list[Any]]) -> list[tuple[Any, ...]]:
    """A value of each part beside those of the others: all combinations, or some of them if they are many."""
    if math.prod(map(len, parts)) <= _MOST:
        return list(product(*parts))
    dice = Random(0)
    return [tuple(dice.choice(part) for part in parts) for _ in range(_MOST)]


def _instances(kind: type, depth: int) -> list[Any]:
    try:
        hints = typing.get_type_hints(kind)
        fields = [examples(hints[field.name], depth - 1)[:3] for field in dataclasses.fields(kind) if field.init]
        return [kind(*values) for values in _combined(fields)]
    except Exception:  # a class that cannot be made from plain examples
        return []


def differing_orders(
    f: Callable[[Any, Any], Any], start: Any, elements: list[Any]
) -> Iterator[tuple[Any, Any, Any, Any, Any]]:
    """(acc, x, y, f(f(acc, x), y), f(f(acc, y), x)) where the two differ, from values that f itself produces."""
    reached = [start]
    for element in elements[:3]:
        reached.append(f(reached[-1], element))
    for acc in reached:
        for x, y in product(elements, repeat=2):
            one, other = f(f(acc, x), y), f(f(acc, y), x)
            if one != other:
                yield acc, x, y, one, other


def expect_commutative(
    f: Callable[[Any, Any], Any], start: Any, collection: ElementCollection[Any], claim: str | None, name: str
) -> None:
    """Refuses a fold over a collection without order whose result depends on the order of its elements."""
    tried = False
    known = examples(collection.element)
    for elements in [known] if known else [examples(kind) for kind in _GUESSES]:
        try:
            found = next(differing_orders(f, start, elements), None)
        except Exception:  # these examples are not what the function expects
            continue
        tried = True
        if found is not None:
            acc, x, y, one, other = found
            refused = LawError(
                f"`fold` over a {collection.name} needs a commutative function, and `{label(f)}` is not",
                facts=(
                    (f"{x!r} first", f"f(f({acc!r}, {x!r}), {y!r}) = {one!r}"),
                    (f"{y!r} first", f"f(f({acc!r}, {y!r}), {x!r}) = {other!r}"),
                ),
                instead=(
                    ("{input}.sort(key).fold(…)", "an order makes any function right"),
                    ("{input}.sum()", "adds floats exactly"),
                ),
                where=Origin.here(),
            )
            refused.input_name = name
            raise refused
        break
    if not tried and claim is None:
        raise LawError(
            f"`fold` over a {collection.name} needs a commutative function, and `{label(f)}` could not be tried",
            facts=(("elements", f"{type_name(collection.element)}: no examples can be made"),),
            instead=(('fold(…, commutative="why")', "records your reason"),),
            where=Origin.here(),
        )
