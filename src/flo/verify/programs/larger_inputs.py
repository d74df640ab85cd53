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
from flo.core.untyped import Element, TypeForm
from flo.values.keyed import Keyed
from flo.values.lvar import LVar
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify.data.constants import LADDER, LARGEST, LEAST, neighbours
from flo.verify.data.examples import is_hashable
from flo.verify.data.given import Given, lattice_values
from flo.verify.data.strategies import LONGEST, data_strategy, find_smallest, strategy_for
from flo.verify.effort import Effort
from flo.verify.optional import Strategy, st
from flo.verify.programs.graphs import GraphLaws
from flo.verify.programs.inputs import Input, base_of, inside, length_of, pick_elements
from flo.verify.report import Counterexample

GROWING = ((0, 6, 0.5), (4, 12, 0.3), (10, 24, 0.2))
"""The least and the largest number of elements on all inputs, and the share of the tries for such inputs."""
LARGEST_RANDOM = GROWING[-1][1]
MOVES = 6
"""How many moves are chosen at random for each element; after these, the first enabled move is taken."""
HEAVIEST = 16
"""Integers in the code up to this one are drawn as weights at random."""
WIDEST = 64
"""The most different elements of an unordered input, as every state has a step for each; also the largest size for
programs of Flo's operators only."""
LARGE_WEIGHT, LARGEST_WEIGHT = 1_000, 100_000
"""A weight that is always tried, and the largest that is."""


def try_random(
    checked: GraphLaws,
    effort: Effort,
    tries: int,
    faults: list[FunctionError] | None,
    refused: list[ElementError],
) -> tuple[int, bool, Counterexample | None]:
    """Try growing random inputs; return their number, whether the budget ended before, and the smallest counterexample.

    Errors about data that the program rejects are added to `refused`. If `faults` is a list, the types are a guess, and
    errors of functions are added to it.
    """
    broke: Input | None = None

    bounded = tuple(kind.bounded for kind in checked.types)
    some = st.tuples(*(st.booleans() for _ in bounded))
    ends = st.one_of(st.sampled_from([bounded, (True,) * len(bounded), (False,) * len(bounded)]), some)

    def broken(case: tuple[tuple[object, ...], tuple[bool, ...], list[int]]) -> Counterexample | None:
        nonlocal broke
        data, end, choices = case
        given = Input(data, end)
        try:
            counterexample = checked.check_schedule(given, choices)
        except ElementError as refusal:
            refused.append(refusal)
            return None
        except FunctionError as fault:
            if faults is None:
                raise
            faults.append(fault)
            return None
        if counterexample is not None:
            broke = given
        return counterexample

    def is_over() -> bool:
        return effort.is_used_up(share if broke is None else 1.0)  # a smaller counterexample may use all

    tried, counterexample, count, is_cut_short = 0, None, max(1, len(checked.types)), False
    share, left = 1 - effort.remaining() / effort.work, max(0, effort.remaining() / effort.work)
    for least, longest, part in ((at_least // count, at_most // count, part) for at_least, at_most, part in GROWING):
        inputs = st.tuples(*(input_strategy(kind.collection, effort.given, least, longest) for kind in checked.types))
        choices = st.lists(st.integers(0, 7), max_size=MOVES * longest)
        cases = st.tuples(inputs, ends, choices)
        share += part * left  # so that small inputs leave work for large ones
        more, counterexample = find_smallest(cases, broken, tries=ceil(part * tries), seed=effort.seed, over=is_over)
        is_cut_short |= is_over()
        tried += more
        if counterexample is not None:
            break
    if broke is not None:  # look for the two shortest runs on that input, if it is small enough
        counterexample = checked.check_all_schedules(broke) or counterexample
    return tried, is_cut_short, counterexample


def input_strategy(collection: Collection, given: Given, least: int = 0, longest: int = LONGEST) -> Strategy:
    """Make a strategy for data of a collection, with repeated elements and retractions."""
    if isinstance(collection, Form):
        return input_strategy(collection.base, given, least, longest)
    if not isinstance(collection, (Set, ZSet)) or given.own_examples(collection) is not None:
        return data_strategy(collection, given, least, longest)
    few = given.examples(collection.element)[:3]
    element = strategy_for(collection.element, given).filter(is_hashable)
    element = st.one_of(st.sampled_from(few), element) if few else element
    if isinstance(collection, Set):
        return st.lists(element, min_size=least, max_size=longest)
    mentioned = [sign * each for each in given.integers if LEAST <= each <= HEAVIEST for sign in (1, -1)]
    unit = st.tuples(element, st.sampled_from([1, -1, 2, *mentioned])).map(lambda pair: dict([pair]))
    return st.lists(unit, min_size=least, max_size=longest)


def sized_inputs(types: StreamTypes, given: Given, largest: int = LARGEST) -> Iterator[tuple[Input, tuple[int, ...]]]:
    """Yield inputs of the sizes and weights in the code, each with choices of moves."""
    ends = tuple(kind.bounded for kind in types)
    if all(given.own_examples(kind.collection) is not None for kind in types):
        return  # there is nothing to make larger
    for size in (size for size in given.sizes(ladder=()) if size <= largest):
        choices = tuple(Random(size).choices(range(8), k=2 * size))
        for whole in inputs_of_size(types, size, given, ends):
            yield whole, ()
            yield whole, choices
    for weight in weights(given):
        yield from ((each, ()) for each in _weighted_inputs(types, weight, given))


def _weighted_inputs(types: StreamTypes, weight: int, given: Given) -> Iterator[Input]:
    """Yield inputs in which z-sets have this weight; none if there is no z-set."""
    if any(isinstance(base_of(kind.collection), ZSet) for kind in types):
        each = [list(_of_weight(kind.collection, weight, given)) for kind in types]
        yield from _side_by_side(each, tuple(kind.bounded for kind in types))


def _side_by_side(each: list[list[Element]], ends: tuple[bool, ...]) -> Iterator[Input]:
    """Yield inputs with the first data of each list, the second of each, and so on; short lists start again."""
    for place in range(max(map(len, each))):
        yield Input(tuple(choices[place % len(choices)] for choices in each), ends)


def large_inputs(types: StreamTypes, given: Given, sizes: tuple[int, ...] = ()) -> Iterator[tuple[Input, int]]:
    """Yield inputs of sizes and weights that the code does not mention, each with its size.

    There are no large ones for several unordered inputs, which would have too many steps.
    """
    ends = tuple(kind.bounded for kind in types)
    if not sizes:
        sizes = tuple(size for size in given.sizes() if size in LADDER or size > WIDEST)
        yield from ((each, 0) for each in _weighted_inputs(types, LARGE_WEIGHT, given))
    ordered = all(isinstance(base_of(kind.collection), (Sequence, LVar)) for kind in types)
    if types and (ordered or len(types) == 1) and all(given.own_examples(kind.collection) is None for kind in types):
        for size in sizes:
            yield from ((each, size) for each in inputs_of_size(types, size, given, ends))


def weights(given: Given) -> list[int]:
    """The integers in the code and those next to them, as far as they are used as weights."""
    near = {each for number in given.integers for each in neighbours(abs(number))}
    return sorted(weight for weight in near if LEAST <= weight <= LARGEST_WEIGHT)


def _of_weight(collection: Collection, weight: int, given: Given) -> Iterator[Any]:
    """Yield deltas of a z-set with this weight, alone and beside others; small data of other collections."""
    base = base_of(collection)
    if not isinstance(base, ZSet) or given.own_examples(collection) is not None:
        yield next(large_data(collection, 1, given))
        return
    one, other = pick_elements(base.element, given)[0], distinct_elements(base.element, LEAST, given)[0]
    for sign in (1, -1):
        yield [{one: sign * weight}, {one: 1}, {one: -1}]
        yield [{one: sign * weight}, {one: sign}, {other: sign}]
        yield [{one: sign * weight}, {one: sign * weight}]


def distinct_elements(kind: TypeForm, count: int, given: Given) -> list[Element]:
    return given.distinct_elements(kind, count) or list(islice(cycle(pick_elements(kind, given)), count))


def inputs_of_size(types: StreamTypes, size: int, given: Given, ends: tuple[bool, ...]) -> Iterator[Input]:
    """Return inputs whose data has this size: of many different elements, and of few repeated ones."""
    return _side_by_side([list(large_data(kind.collection, size, given)) for kind in types], ends)


def large_data(collection: Collection, size: int, given: Given) -> Iterator[Any]:
    """Yield plain data of this size: of many different elements, and of few repeated ones."""
    if given.own_examples(collection) is not None:
        yield from sorted(given.examples(collection), key=length_of)[-1:]
        return
    wide = size <= WIDEST
    match collection:
        case Form(base=base):
            yield from large_data(base, size, given)
        case LVar(lattice=lattice):
            values = lattice_values(lattice, given) or [lattice.bottom()]
            yield list(islice(cycle(values), size))
        case Nested(inner=inner):
            of_one = [next(large_data(stream.collection, size, given)) for stream in inner]
            small = [next(large_data(stream.collection, 1, given)) for stream in inner]
            yield [_plain(inner, of_one)]
            if wide:
                yield [_plain(inner, small)] * size
        case Keyed():
            keys = distinct_elements(collection.key, size if wide else 1, given)
            if isinstance(collection, Partitioned):
                keys = list(range(min(collection.count, len(keys))))
            plain = base_of(collection.inner)
            many, one = next(large_data(plain, size, given)), next(large_data(plain, 1, given))
            yield {keys[0]: inside(plain, many)}
            if wide:
                yield dict.fromkeys(keys, inside(plain, one))
        case Sequence():
            yield distinct_elements(collection.element, size, given)
            yield list(islice(cycle(pick_elements(collection.element, given)[::-1]), size))
        case Set():
            yield distinct_elements(collection.element, min(size, WIDEST), given)
        case Bag():
            yield Counter({pick_elements(collection.element, given)[0]: size})
            if wide:
                yield Counter(distinct_elements(collection.element, size, given))
        case ZSet():
            yield [{pick_elements(collection.element, given)[0]: 1}] * size
            many = distinct_elements(collection.element, size, given) if wide else []
            if many:
                yield [{element: 1} for element in many]
            if many and size in given.sizes(ladder=()):
                yield [{element: -1} for element in many]
                yield [{element: (-1) ** place} for place, element in enumerate(many)]


def _plain(inner: StreamTypes, data: list[Element]) -> Any:
    each = tuple(inside(stream.collection, part) for stream, part in zip(inner, data, strict=True))
    return each[0] if len(inner) == 1 else each
