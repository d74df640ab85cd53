"""Small inputs: every input of a few elements, as plain data, smallest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any

from flo.core.collection import Collection, Form
from flo.core.errors import LawError
from flo.core.nested import Nested
from flo.core.stream_type import StreamTypes
from flo.core.untyped import TypeForm
from flo.values.keyed import Keyed
from flo.values.lvar import LVar
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify.data.given import Given, lattice_values
from flo.verify.exploration.arrivals import Channels, split_into_channels

KINDS = 2
"""How many different elements are tried together."""
MOST_WITH_SOME_ENDS = 2
"""The most elements with which some inputs end and others do not."""
MOST_ENDS = 3
"""The most inputs for which every choice of ends is tried."""
MOST_INNER = 2
"""The most inner streams, or keys."""


@dataclass(frozen=True, slots=True)
class Input:
    """Plain data for each input, and which of them end."""

    data: tuple[Any, ...]
    ends: tuple[bool, ...]

    def channels(self, types: StreamTypes) -> Channels:
        return split_into_channels(dict(enumerate(self.data)), types, self.ends)


def small_inputs(
    types: StreamTypes, size: int, given: Given, elsewhere: Container[tuple[bool, ...]] = ()
) -> Iterator[Input]:
    """Yield every input of `size` elements in all, with every choice of ends except those in `elsewhere`."""
    ends = [each for each in end_choices(types, size) if each not in elsewhere]
    for sizes in product(range(size + 1), repeat=len(types)):
        if sum(sizes) == size:
            each = [list(data_of_size(kind.collection, count, given)) for kind, count in zip(types, sizes, strict=True)]
            for data in product(*each):
                yield from (Input(data, each) for each in ends)


def end_choices(types: StreamTypes, size: int) -> list[tuple[bool, ...]]:
    """The choices of which inputs have ended: the bounded ones, all, none; and for small inputs, any others.

    Before an end, too, the outputs must not depend on the schedule.
    """
    bounded = tuple(kind.bounded for kind in types)
    count = len(types)
    choices = [bounded, (True,) * count, *([(False,) * count] if size else [])]
    if size <= MOST_WITH_SOME_ENDS:
        choices += product((True, False), repeat=count) if count <= MOST_ENDS else _one_apart(count)
    return list(dict.fromkeys(choices))


def _one_apart(count: int) -> Iterator[tuple[bool, ...]]:
    """Yield the choices in which one input differs from the rest."""
    for one, each in product((True, False), range(count)):
        yield tuple((place == each) is one for place in range(count))


def pick_elements(kind: TypeForm, given: Given) -> list[Any]:
    """Pick a few different elements of a type, with a constant of the code if there is one."""
    examples = given.expect_examples(kind)
    plain = sorted(examples, key=lambda element: element in (0, "", False))[:KINDS]  # neutral elements last
    return [
        *plain[: KINDS - 1],
        *(given.constants_of(kind) or given.rows_with_constants(kind) or plain[KINDS - 1 :])[:1],
    ]


def data_of_size(collection: Collection, size: int, given: Given) -> Iterator[Any]:
    """Yield all plain data of this size, with retractions and repeated elements."""
    own = given.own_examples(collection)
    if own is not None:
        yield from (item for item in given.examples(collection) if length_of(item) == size)
        return
    match collection:
        case Form(base=base):
            yield from data_of_size(base, size, given)
        case LVar(lattice=lattice):
            values = lattice_values(lattice, given)[: KINDS + 1]
            values = values[1:2] + values[:1] + values[2:]  # a typical value first, not a zero
            yield from map(list, product(values, repeat=size))
        case Nested(inner=inner):
            for sizes in splits(size):
                each = [list(_inner_tuples(inner, part, given)) for part in sizes]
                yield from map(list, product(*each))
        case Keyed():
            keys = pick_elements(collection.key, given)
            if isinstance(collection, Partitioned):
                keys = list(range(collection.count))
            for sizes in splits(size):
                each = [list(_inner(collection.inner, part, given)) for part in sizes]
                yield from (dict(zip(keys, values, strict=False)) for values in product(*each))
        case Sequence():
            yield from map(list, product(pick_elements(collection.element, given), repeat=size))
        case Bag():
            yield from map(Counter, combinations_with_replacement(pick_elements(collection.element, given), size))
        case Set():
            yield from map(list, combinations_with_replacement(pick_elements(collection.element, given), size))
        case ZSet():
            units = [{element: weight} for element in pick_elements(collection.element, given) for weight in (1, -1)]
            yield from map(list, combinations_with_replacement(units, size))
        case _:
            raise LawError(
                f"no values of {collection} can be made",
                instead=((f"check(…, examples={{{collection.name}: […]}})", "plain data to try"),),
            ).at_users_line()


def splits(size: int) -> Iterator[tuple[int, ...]]:
    """Yield the sizes of inner streams that sum to this size; an empty stream counts as one element."""
    if size == 0:
        yield ()
    for count in range(1, MOST_INNER + 1):
        for sizes in product(range(size + 1), repeat=count):
            if sum(max(1, part) for part in sizes) == size:
                yield sizes


def _inner_tuples(inner: StreamTypes, size: int, given: Given) -> Iterator[Any]:
    for sizes in product(range(size + 1), repeat=len(inner)):
        if sum(sizes) == size:
            parts = [list(_inner(s.collection, part, given)) for s, part in zip(inner, sizes, strict=True)]
            yield from (values[0] if len(inner) == 1 else values for values in product(*parts))


def _inner(collection: Collection, size: int, given: Given) -> Iterator[Any]:
    collection = base_of(collection)
    is_own = isinstance(collection, ZSet) and given.own_examples(collection) is not None
    for data in data_of_size(collection, size, given):
        yield data if is_own else inside(collection, data)


def base_of(collection: Collection) -> Collection:
    return collection.base if isinstance(collection, Form) else collection


def inside(collection: Collection, data: Any) -> Any:
    """Return data of a stream as it is inside another one, as `Collection.value` takes it."""
    match base_of(collection):
        case LVar(lattice=lattice):
            return lattice.plain(data[-1] if data else lattice.bottom())
        case ZSet() if isinstance(data, list):
            total: Counter[Any] = Counter()
            for unit in data:
                total.update(unit)
            return {element: weight for element, weight in total.items() if weight}
    return data


def length_of(data: Any) -> int:
    """Return how many elements plain data has; 1 if it is one value."""
    try:
        return len(data)
    except TypeError:
        return 1
