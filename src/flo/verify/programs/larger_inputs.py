"""Larger inputs at random, and the smallest of those that break a law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from math import ceil
from random import Random
from typing import Any

from flo.core.collection import Collection, Form
from flo.core.errors import ElementError, FunctionError
from flo.core.nested import Nested
from flo.core.stream_type import StreamTypes
from flo.values.keyed import Keyed
from flo.values.lvar import LVar
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify.data.examples import resolved, shape
from flo.verify.data.given import Given
from flo.verify.data.lattice_values import lattice_values
from flo.verify.data.strategies import LONGEST, data, smallest, strategy
from flo.verify.effort import Effort
from flo.verify.programs.graphs import GraphLaws
from flo.verify.programs.inputs import Input, elements
from flo.verify.report import Counterexample

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
    element = strategy(collection.element, given).filter(_hashable)
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


LARGEST = 64
"""Inputs of more elements are not made."""
LEAST = 4
"""All inputs that are smaller are tried anyway."""


def sizes(given: Given) -> list[int]:
    """The whole numbers that the code speaks of, and their doubles, as far as inputs of so many elements are made."""
    spoken = {value for value in given.constants if type(value) is int and LEAST <= value <= LARGEST}
    return sorted(spoken | {2 * value for value in spoken if 2 * value <= LARGEST})


def sized_inputs(types: StreamTypes, given: Given) -> Iterator[tuple[Input, tuple[int, ...]]]:
    """Inputs of these sizes, the smallest first, each with choices of what happens next."""
    ends = tuple(kind.bounded for kind in types)
    if all(given.own(kind.collection) is not None for kind in types):
        return  # there is nothing to make larger
    for size in sizes(given):
        each = [list(_of_size(kind.collection, size, given)) for kind in types]
        choices = tuple(Random(size).choices(range(8), k=2 * size))
        for place in range(max(map(len, each))):
            whole = Input(tuple(found[place % len(found)] for found in each), ends)
            yield whole, ()
            yield whole, choices


def different(kind: Any, count: int, given: Given) -> list[Any]:
    """So many elements in no order, as different as elements of the type can be made."""
    numbers = Random(count).sample(range(count), count)
    origin, parts = shape(resolved(kind))
    if given.own(kind) is None:
        if origin in (int, float):
            return [origin(number) for number in numbers]
        if origin is str:
            return [f"a{number}" for number in numbers]
        if origin is tuple and parts and parts[-1] is not ... and parts != ((),):
            return list(zip(*(different(part, count, given) for part in parts), strict=True))
    return list(islice(cycle(given.examples(kind) or elements(kind, given)), count))


def _of_size(collection: Collection, size: int, given: Given) -> Iterator[Any]:
    """Plain data: of many different elements, and of few that come often."""
    if given.own(collection) is not None:
        yield from sorted(given.examples(collection), key=lambda data: len(data) if hasattr(data, "__len__") else 1)[
            -1:
        ]
        return
    match collection:
        case Form(base=base):
            yield from _of_size(base, size, given)
        case LVar(lattice=lattice):
            values = lattice_values(lattice, given) or [lattice.bottom()]
            yield list(islice(cycle(values), size))
        case Nested(inner=inner):
            of_one = [next(_of_size(stream.collection, size, given)) for stream in inner]
            small = [next(_of_size(stream.collection, 1, given)) for stream in inner]
            yield [_plain(inner, of_one)]
            yield [_plain(inner, small)] * size
        case Keyed():
            keys = different(collection.key, size, given)
            plain = collection.inner.base if isinstance(collection.inner, Form) else collection.inner
            many, one = next(_of_size(plain, size, given)), next(_of_size(plain, 1, given))
            yield {keys[0]: _inside(plain, many)}
            yield dict.fromkeys(keys, _inside(plain, one))
        case Sequence():
            yield different(collection.element, size, given)
            yield list(islice(cycle(elements(collection.element, given)[::-1]), size))
        case Set():
            yield different(collection.element, size, given)
        case Bag():
            yield Counter(different(collection.element, size, given))
            yield Counter({elements(collection.element, given)[0]: size})
        case ZSet():
            one = elements(collection.element, given)[0]
            many = different(collection.element, size, given)
            yield [{element: 1} for element in many]
            yield [{element: -1} for element in many]
            yield [{element: (-1) ** place} for place, element in enumerate(many)]
            yield [{one: 1}] * size
            for sign in (1, -1):
                yield [{one: sign * size}, {one: 1}, {one: -1}]
                yield [{one: sign * size}, {one: sign}, {many[0]: sign}]


def _plain(inner: StreamTypes, data: list[Any]) -> Any:
    each = tuple(_inside(stream.collection, part) for stream, part in zip(inner, data, strict=True))
    return each[0] if len(inner) == 1 else each


def _inside(collection: Collection, data: Any) -> Any:
    """Data of a stream inside another, as `Collection.value` takes it."""
    collection = collection.base if isinstance(collection, Form) else collection
    match collection:
        case LVar(lattice=lattice):
            return lattice.plain(data[-1])
        case ZSet() if isinstance(data, list):
            return dict(Counter(unit for part in data for unit in part))
    return data
