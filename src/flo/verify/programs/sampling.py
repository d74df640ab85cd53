"""Larger inputs at random, and the smallest of those that break a law."""

from __future__ import annotations

from math import ceil
from typing import Any

from flo.core.collection import Collection
from flo.core.errors import ElementError, FunctionError
from flo.core.forms import Form
from flo.values.weighted import Set, ZSet
from flo.verify.data.given import Given
from flo.verify.data.strategies import LONGEST, data
from flo.verify.effort import Effort
from flo.verify.programs.graphs import GraphLaws
from flo.verify.programs.inputs import Input
from flo.verify.programs.sizes import sizes
from flo.verify.report import Counterexample
from flo.verify.smallest import smallest

GROWING = ((0, 6, 0.5), (4, 12, 0.3), (10, 24, 0.2))
"""How many elements there are at least and at most, on all inputs, and the part of all tries that is for so many."""
MOVES = 6
"""So many moves are chosen for each element; after them the first that is enabled is taken."""
HEAVIEST = 16
"""Numbers in the code up to this one are tried as weights."""


def sample(
    checked: GraphLaws,
    effort: Effort,
    tries: int,
    faults: list[FunctionError] | None,
    refused: list[ElementError],
) -> tuple[int, Counterexample | None]:
    """How many inputs were tried, and what the smallest that breaks a law shows. The inputs grow.

    Data that the program refuses is passed over, and noted in `refused`. Where there are `faults`, the types are a
    guess: data on which a function raises is passed over as well, and noted there.
    """
    from hypothesis import strategies as st

    broke: Input | None = None

    bounded = tuple(kind.bounded for kind in checked.types)
    some = st.tuples(*(st.booleans() for _ in bounded))
    ends = st.one_of(st.sampled_from([bounded, (True,) * len(bounded), (False,) * len(bounded)]), some)

    def broken(case: tuple[tuple[Any, ...], tuple[bool, ...], list[int]]) -> Counterexample | None:
        nonlocal broke
        data, end, choices = case
        given = Input(data, end)
        try:
            found = checked.broken_along(given, choices)
        except ElementError as refusal:
            refused.append(refusal)
            return None
        except FunctionError as fault:
            if faults is None:
                raise
            faults.append(fault)
            return None
        if found is not None:
            broke = given
        return found

    tried, found, count = 0, None, max(1, len(checked.types))
    for least, longest, part in ((at_least // count, at_most // count, part) for at_least, at_most, part in GROWING):
        inputs = st.tuples(*(plain_data(kind.collection, effort.given, least, longest) for kind in checked.types))
        choices = st.lists(st.integers(0, 7), max_size=MOVES * longest)
        cases = st.tuples(inputs, ends, choices)
        more, found = smallest(cases, broken, tries=ceil(part * tries), seed=effort.seed, over=effort.over)
        tried += more
        if found is not None:
            break
    if broke is not None:  # the shortest two ways on that input, if it is small enough to see all of them
        found = checked.broken_by(broke) or found
    return tried, found


def plain_data(collection: Collection, given: Given, least: int = 0, longest: int = LONGEST) -> Any:
    """Data of a collection, with elements that come twice or are taken back."""
    from hypothesis import strategies as st

    if isinstance(collection, Form):
        return plain_data(collection.base, given, least, longest)
    if not isinstance(collection, (Set, ZSet)) or given.own(collection) is not None:
        return data(collection, given, least, longest)
    few = given.examples(collection.element)[:3]
    element = given.strategy(collection.element).filter(_hashable)
    element = st.one_of(st.sampled_from(few), element) if few else element
    if isinstance(collection, Set):
        return st.lists(element, min_size=least, max_size=longest)
    spoken = [sign * size for size in sizes(given) if size <= HEAVIEST for sign in (1, -1)]
    unit = st.tuples(element, st.sampled_from([1, -1, 2, *spoken])).map(lambda pair: dict([pair]))
    return st.lists(unit, min_size=least, max_size=longest)


def _hashable(element: Any) -> bool:
    try:
        hash(element)
    except TypeError:
        return False
    return True
