"""Inputs larger than the exhaustive ones: of sizes and weights in the code, of a fixed ladder, and at random.

Random inputs grow, and a counterexample among them is shrunk to the smallest.
"""

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
from flo.verify.data.constants import LADDER, LARGEST, LEAST, beside
from flo.verify.data.given import Given
from flo.verify.data.lattice_values import lattice_values
from flo.verify.data.strategies import LONGEST, data, smallest, strategy
from flo.verify.effort import Effort
from flo.verify.programs.graphs import GraphLaws
from flo.verify.programs.inputs import Input, elements
from flo.verify.report import Counterexample

GROWING = ((0, 6, 0.5), (4, 12, 0.3), (10, 24, 0.2))
"""How many elements there are at least and at most, on all inputs, and the part of all tries that is for so many."""
LARGEST_RANDOM = GROWING[-1][1]
MOVES = 6
"""So many moves are chosen for each element; after them the first that is enabled is taken."""
HEAVIEST = 16
"""Integers in the code up to this one are drawn as weights at random."""
WIDEST = 64
"""How many different elements an unordered input has at most: every state has a step for each of them. Programs that
are made only of Flo's operators get no larger inputs either."""
LARGE_WEIGHT, LARGEST_WEIGHT = 1_000, 100_000
"""A weight that is always tried, and the largest that is."""


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
    spoken = [sign * each for each in given.integers if LEAST <= each <= HEAVIEST for sign in (1, -1)]
    unit = st.tuples(element, st.sampled_from([1, -1, 2, *spoken])).map(lambda pair: dict([pair]))
    return st.lists(unit, min_size=least, max_size=longest)


def _hashable(element: Any) -> bool:
    try:
        hash(element)
    except TypeError:
        return False
    return True


def sized_inputs(types: StreamTypes, given: Given, largest: int = LARGEST) -> Iterator[tuple[Input, tuple[int, ...]]]:
    """Inputs of the sizes and weights in the code, each with choices of what happens next."""
    ends = tuple(kind.bounded for kind in types)
    if all(given.own(kind.collection) is not None for kind in types):
        return  # there is nothing to make larger
    for size in (size for size in given.sizes(ladder=()) if size <= largest):
        each = [list(of_size(kind.collection, size, given)) for kind in types]
        choices = tuple(Random(size).choices(range(8), k=2 * size))
        for place in range(max(map(len, each))):
            whole = Input(tuple(found[place % len(found)] for found in each), ends)
            yield whole, ()
            yield whole, choices
    for weight in weights(given):
        yield from ((each, ()) for each in _weighted_inputs(types, weight, given))


def _weighted_inputs(types: StreamTypes, weight: int, given: Given) -> Iterator[Input]:
    """Inputs in which z-sets have such a weight; none where there is no z-set."""
    if any(isinstance(_base(kind.collection), ZSet) for kind in types):
        each = [list(_of_weight(kind.collection, weight, given)) for kind in types]
        for place in range(max(map(len, each))):
            yield Input(tuple(found[place % len(found)] for found in each), tuple(kind.bounded for kind in types))


def large_inputs(types: StreamTypes, given: Given, sizes: tuple[int, ...] = ()) -> Iterator[tuple[Input, int]]:
    """Inputs of sizes and weights that the code does not mention, each with its size.

    Of several unordered inputs there are none of large sizes, as they would have too many steps.
    """
    ends = tuple(kind.bounded for kind in types)
    if not sizes:
        sizes = tuple(size for size in given.sizes() if size in LADDER or size > WIDEST)
        yield from ((each, 0) for each in _weighted_inputs(types, LARGE_WEIGHT, given))
    ordered = all(isinstance(_base(kind.collection), (Sequence, LVar)) for kind in types)
    if types and (ordered or len(types) == 1) and all(given.own(kind.collection) is None for kind in types):
        for size in sizes:
            each = [list(of_size(kind.collection, size, given)) for kind in types]
            for place in range(max(map(len, each))):
                yield Input(tuple(found[place % len(found)] for found in each), ends), size


def weights(given: Given) -> list[int]:
    """The integers in the code and those next to them, as far as they are used as weights."""
    near = {each for number in given.integers for each in beside(abs(number))}
    return sorted(weight for weight in near if LEAST <= weight <= LARGEST_WEIGHT)


def _of_weight(collection: Collection, weight: int, given: Given) -> Iterator[Any]:
    """Deltas of a z-set with such a weight, alone and beside others; small data of other collections."""
    base = _base(collection)
    if not isinstance(base, ZSet) or given.own(collection) is not None:
        yield next(of_size(collection, 1, given))
        return
    one, other = elements(base.element, given)[0], different(base.element, LEAST, given)[0]
    for sign in (1, -1):
        yield [{one: sign * weight}, {one: 1}, {one: -1}]
        yield [{one: sign * weight}, {one: sign}, {other: sign}]
        yield [{one: sign * weight}, {one: sign * weight}]


def _base(collection: Collection) -> Collection:
    return collection.base if isinstance(collection, Form) else collection


def different(kind: Any, count: int, given: Given) -> list[Any]:
    return given.different(kind, count) or list(islice(cycle(elements(kind, given)), count))


def of_size(collection: Collection, size: int, given: Given) -> Iterator[Any]:
    """Plain data: of many different elements, and of few that come often."""
    if given.own(collection) is not None:
        yield from sorted(given.examples(collection), key=lambda data: len(data) if hasattr(data, "__len__") else 1)[
            -1:
        ]
        return
    wide = size <= WIDEST
    match collection:
        case Form(base=base):
            yield from of_size(base, size, given)
        case LVar(lattice=lattice):
            values = lattice_values(lattice, given) or [lattice.bottom()]
            yield list(islice(cycle(values), size))
        case Nested(inner=inner):
            of_one = [next(of_size(stream.collection, size, given)) for stream in inner]
            small = [next(of_size(stream.collection, 1, given)) for stream in inner]
            yield [_plain(inner, of_one)]
            if wide:
                yield [_plain(inner, small)] * size
        case Keyed():
            keys = different(collection.key, size if wide else 1, given)
            plain = _base(collection.inner)
            many, one = next(of_size(plain, size, given)), next(of_size(plain, 1, given))
            yield {keys[0]: _inside(plain, many)}
            if wide:
                yield dict.fromkeys(keys, _inside(plain, one))
        case Sequence():
            yield different(collection.element, size, given)
            yield list(islice(cycle(elements(collection.element, given)[::-1]), size))
        case Set():
            yield different(collection.element, min(size, WIDEST), given)
        case Bag():
            yield Counter({elements(collection.element, given)[0]: size})
            if wide:
                yield Counter(different(collection.element, size, given))
        case ZSet():
            yield [{elements(collection.element, given)[0]: 1}] * size
            many = different(collection.element, size, given) if wide else []
            if many:
                yield [{element: 1} for element in many]
            if many and size in given.sizes(ladder=()):
                yield [{element: -1} for element in many]
                yield [{element: (-1) ** place} for place, element in enumerate(many)]


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
