"""A few values of a lattice: those of its type, constants of its join, and joins of them."""

from __future__ import annotations

from itertools import islice, product
from typing import Any

from flo.values.lattice import Custom, Lattice
from flo.verify.data.given import Given
from flo.verify.within import TRY_SECONDS, TimeUp, copied, within

MOST_VALUES = 8
_GUESSES: dict[type, list[Any]] = {
    int: [1, 2, 3],
    str: ["a", "b", "ab"],
    float: [0.5, 1.5, 2.5],
    bool: [True],
    frozenset: [frozenset({1}), frozenset({2})],
    tuple: [(1, 2), (2, 1)],
}
"""Values to try where the lattice does not say what it holds: those of the type of ⊥, or the first that it joins."""
_KINDS: dict[type, Any] = {frozenset: frozenset[int], tuple: tuple[int, int]}


def lattice_values(lattice: Lattice[Any], given: Given) -> list[Any]:
    """A few values of the lattice other than ⊥, and joins of them."""
    own = given.own(lattice)
    if own is not None or not isinstance(lattice, Custom):
        known = [lattice.value(value) for value in given.examples(lattice if own is not None else lattice.ordinary)]
        least = lattice.bottom()
        known = [value for value in known if joins(lattice, least, value) and lattice.mismatch(value) is None]
    else:
        known = guesses(lattice, given)
    found = [value for value in known if not lattice.is_bottom(value)]
    joined = [value for a, b in islice(product(found, found), 12) for value in joins(lattice, a, b)]
    return (found + [value for value in joined if value not in found])[: max(MOST_VALUES, len(found))]


def guesses(lattice: Custom[Any], given: Given) -> list[Any]:
    """Values of the type of ⊥, or the first that it joins, and constants of the join: each as ⊥ ⊔ v."""
    bottom, given = lattice.bottom(), given.with_constants_of(lattice.joining)
    if bottom is None:
        plain = next((kind for kind in _GUESSES.values() if all(joins(lattice, bottom, value) for value in kind)), [])
    else:
        plain = _GUESSES.get(type(bottom)) or given.examples(type(bottom))
    beside = [bottom + value for value in plain] if type(bottom) in (int, float) else []
    spoken = given.constants_of(type(plain[0])) if plain else []
    above = _values_above(lattice, [*plain, *beside, *spoken])
    if all(map(lattice.is_bottom, above)):  # ⊥ is above all of them: at the wrong end, as the laws will say
        return [value for value in plain if joins(lattice, bottom, value)]
    return above


def _values_above(lattice: Lattice[Any], values: list[Any]) -> list[Any]:
    """⊥ ⊔ v, each once: not all values of a type must belong to the lattice."""
    found: list[Any] = []
    for value in values:
        found += [above for above in joins(lattice, lattice.bottom(), value) if above not in found]
    return found


def joins(lattice: Lattice[Any], a: Any, b: Any) -> list[Any]:
    """The join, if there is one."""
    try:
        with within(TRY_SECONDS):
            return [lattice.join(copied(a), copied(b))]
    except TimeUp as up:
        up.given = (a, b)
        raise
    except (Exception, SystemExit):  # no join: the values exclude each other, or were a wrong guess
        return []
