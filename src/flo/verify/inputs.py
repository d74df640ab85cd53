"""Small inputs for the checkers: every value of a collection with few elements, as deltas that arrive one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement, product
from typing import Any, TypeAlias

from flo.core.collection import Collection, Value
from flo.core.elements import type_name
from flo.core.errors import LawError
from flo.core.nested import Nested
from flo.values.keyed import Keyed
from flo.values.lvar import LVar, LVarValue
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify.functions import examples
from flo.verify.lattices import lattice_values

Deltas: TypeAlias = list[list[Value]]
"""Lists of deltas that arrive in order, each list at its own pace."""
KINDS = 2
"""How many different elements are tried together."""


def elements(kind: Any) -> list[Any]:
    """A few different elements of a type; numbers where any would do."""
    found = examples(kind) or ([1, 2, 3] if kind is Any else [])
    if not found:
        raise LawError(
            f"no examples of {type_name(kind)} can be made",
            instead=(("check(x, examples={…: […]})", "values of that type to try"),),
        )
    return sorted(found, key=lambda e: e in (0, "", False))[:KINDS]  # what does nothing comes last


def deltas_of(collection: Collection, most: int) -> Iterator[Deltas]:
    """Every input of at most so many elements, the smallest first."""
    match collection:
        case LVar():
            lattice = collection.lattice
            values: list[Value] = [LVarValue(lattice, value) for value in lattice_values(lattice)[: KINDS + 1]]
            for size in range(most + 1):
                yield from ([list(chosen)] for chosen in product(values, repeat=size))
        case _:
            for data in plain_of(collection, most):
                yield collection.pieces(data)


def plain_of(collection: Collection, most: int) -> Iterator[Any]:
    """Plain data of at most so many elements."""
    match collection:
        case Nested(inner=inner):
            parts = [list(plain_of(stream.collection, max(0, most - 1))) for stream in inner]
            tuples = [values[0] if len(inner) == 1 else values for values in product(*(part[:4] for part in parts))]
            for size in range(min(most, 2) + 1):
                yield from (list(chosen) for chosen in product(tuples, repeat=size))
        case Keyed():
            insides = list(plain_of(collection.inner, max(0, most - 1)))[:4]
            for keys in (elements(collection.key)[:size] for size in range(KINDS + 1)):
                yield from (dict(zip(keys, values, strict=True)) for values in product(insides, repeat=len(keys)))
        case Sequence():
            for size in range(most + 1):
                yield from (list(chosen) for chosen in product(elements(collection.element), repeat=size))
        case Bag():
            for size in range(most + 1):
                yield from map(Counter, combinations_with_replacement(elements(collection.element), size))
        case Set():
            for size in range(min(most, KINDS) + 1):
                yield from map(set, combinations(elements(collection.element), size))
        case ZSet():
            for size in range(min(most, KINDS) + 1):
                for chosen in combinations(elements(collection.element), size):
                    for weights in product((1, -1), repeat=size):
                        yield dict(zip(chosen, weights, strict=True))
        case _:
            raise LawError(f"no values of {collection} can be made", instead=(("examples=[…]", "plain data to try"),))
