"""Values, types and chunks of input, written briefly."""

from __future__ import annotations

from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.collection import End
from flo.core.stream_type import StreamType
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, Set, SetValue, ZSetValue


def bounded(collection):
    return StreamType(collection, bounded=True)


def unbounded(collection):
    return StreamType(collection, bounded=False)


def seq(*elements, end=End.OPEN):
    return SequenceValue.of(list(elements), end)


def bag(*elements, end=End.OPEN):
    return BagValue.of([(element, 1) for element in elements], end)


def elements_of(*elements, end=End.OPEN):
    return SetValue.of([(element, 1) for element in elements], end)


def zset(weights, end=End.OPEN):
    return ZSetValue.of(weights.items(), end)


def ended(value):
    return value.fix()


MAKERS = {Sequence: seq, Bag: bag, Set: elements_of}
END = {kind: maker().terminator() for kind, maker in MAKERS.items()}


def cuts(kind, elements, *, side=0, sides=1, max_chunks=4):
    """A strategy for the chunks of one input: lists of lists of elements, as deltas of that side, then the end."""
    lists = st.lists(st.lists(elements, max_size=4), max_size=max_chunks)
    return st.builds(
        lambda chunks, ends: [
            beside(delta, side, sides) for delta in [MAKERS[kind](*c) for c in chunks] + [END[kind]] * ends
        ],
        lists,
        st.booleans(),
    )


def beside(delta, side, sides):
    """The delta on its side, and nothing on the others."""
    return tuple(delta if index == side else None for index in range(sides))


def two_sides(kind, elements, other_kind=None, others=None):
    """A strategy for the chunks of two inputs, interleaved in any way."""

    def interleave(left, right, order):
        left, right, mixed = list(left), list(right), []
        for turn in order:
            source = left if turn else right
            if source:
                mixed.append(source.pop(0))
        return mixed + left + right

    return st.builds(
        interleave,
        cuts(kind, elements, side=0, sides=2),
        cuts(other_kind or kind, elements if others is None else others, side=1, sides=2),
        st.lists(st.booleans(), max_size=10),
    )


def content(chunks, side=0):
    """All elements that the chunks bring to one side."""
    found = []
    for deltas in chunks:
        if deltas[side] is not None:
            for unit in deltas[side].all_units():
                element, count = unit if not isinstance(deltas[side], SequenceValue) else (unit, 1)
                found += [element] * count
    return found


def has_end(chunks, side=0):
    return any(deltas[side] is not None and deltas[side].fixed() for deltas in chunks)
