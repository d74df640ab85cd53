"""What the tests of keyed streams share."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.errors import FunctionError
from flo.core.graph import Node
from flo.values.keyed import Keyed, KeyedValue
from flo.values.sequence import Sequence
from flo.values.weighted import ZSet
from tests.values.building import seq, zset

INTS = Sequence(int)


KEYED = Keyed(str, INTS)


ZKEYED = Keyed(str, ZSet(int))


END = KeyedValue.terminator()


def op(operator):
    return Node(None, operator)


def plus(acc, x) -> int:
    return acc + x


def keyed(**entries):
    return KeyedValue.of({key: seq(*elements) for key, elements in entries.items()})


def weighted(**entries):
    return KeyedValue.of({key: zset(weights) for key, weights in entries.items()})


@st.composite
def keyed_chunks(draw, kind=INTS, elements=None, sides=1, ends=None):
    """Deltas of keyed streams, for any of some inputs; then their ends, perhaps with something else."""
    if elements is None:
        cancels = isinstance(kind, ZSet)
        numbers = st.integers(0, 2)
        elements = st.dictionaries(numbers, st.integers(-1, 1)) if cancels else st.lists(numbers, max_size=2)
    data = st.dictionaries(st.sampled_from("abc"), elements, max_size=2)
    collection, chunks = Keyed(str, kind), []
    for _ in range(draw(st.integers(0, 4))):
        row = [collection.value(draw(data)) if draw(st.booleans()) else None for _ in range(sides)]
        chunks.append(tuple(row))
    if draw(st.booleans()) if ends is None else ends:
        order = draw(st.permutations(range(sides)))
        for side in order:
            last = collection.value(draw(data)).fix()
            chunks.append(tuple(last if index == side else None for index in range(sides)))
    return chunks


def content(chunks, collection, side=0):
    total = collection.bottom()
    for row in chunks:
        if row[side] is not None:
            total = total.concat(row[side])
    return collection.plain(total)


def weights(group):
    return Counter(group).items() if isinstance(group, list) else group.items()


def settled(steps):
    """The steps that there are before the error."""
    with suppress(FunctionError):
        yield from steps
