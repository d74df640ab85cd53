"""Operators that remember rows: on tables they give what they give on values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.stream_type import StreamType
from flo.tables.operators import weights as weights_module
from flo.tables.state import trace as trace_module
from flo.tables.state.keys import Keys, keys_of
from flo.values.operators.bags import SequenceDistinct
from flo.values.operators.sets import Difference, Intersection
from flo.values.operators.zsets import Distinct, ZSetToBag, ZSetToSet
from flo.values.sequence import Sequence
from flo.values.weighted import Set, ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.test_elementwise import said_of

pytestmark = pytest.mark.slow


class Row(NamedTuple):
    key: int
    name: str | None


rows = st.builds(Row, st.integers(0, 2), st.sampled_from(["a", None]))
zsets = st.dictionaries(rows, st.sampled_from([1, -1, 2, -2]), max_size=5)
sets = st.sets(rows, max_size=4)


@given(st.lists(st.tuples(zsets), max_size=5))
def test_distinct(chunks):
    types = (StreamType(ZSet(Row), True),)
    assert len(forms(on_tables(Distinct(), types)[0])) == 1
    agree(Distinct(), types, chunks)


@given(st.lists(st.tuples(zsets), max_size=4))
@tried(20)
def test_distinct_of_rows_that_share_numbers(chunks):
    patch = pytest.MonkeyPatch()
    for module in (trace_module, weights_module):
        patch.setattr(module, "keys_of", lambda columns: Keys(keys_of(columns).numbers & 1, exact=False))
    try:
        agree(Distinct(), (StreamType(ZSet(Row), False),), chunks, seeds=1)
    finally:
        patch.undo()


@given(st.lists(st.tuples(st.lists(rows, max_size=5)), max_size=4))
@tried(24)
def test_distinct_of_a_sequence(chunks):
    types = (StreamType(Sequence(Row), True),)
    assert len(forms(on_tables(SequenceDistinct(), types)[0])) == 1
    agree(SequenceDistinct(), types, chunks)


def test_what_has_no_hash_stays_with_values():
    @dataclass
    class Loose:
        x: int

    types = (StreamType(Sequence(Loose), True),)
    assert not forms(on_tables(SequenceDistinct(), types)[0])
    types = (StreamType(Sequence(list[int]), True),)
    assert not forms(on_tables(SequenceDistinct(), types)[0])


@given(st.lists(st.tuples(sets, sets), max_size=4), st.booleans())
@tried(24)
def test_intersection_and_difference(chunks, bounded):
    types = (StreamType(Set(Row), bounded), StreamType(Set(Row), True))
    for operator in (Intersection(), Difference()):
        assert len(forms(on_tables(operator, types)[0])) == 1
        agree(operator, types, chunks)


def test_sets_of_two_types():
    types = (StreamType(Set(int), True), StreamType(Set(int | None), True))
    for operator in (Intersection(), Difference()):
        assert len(forms(on_tables(operator, types)[0])) == 1
        agree(operator, types, [({1, 2}, {2, None}), ({3}, {1})])
    mixed = (StreamType(Set(int), True), StreamType(Set(float), True))
    agree(Intersection(), mixed, [({1, 2}, {2.0})])


@given(st.lists(st.tuples(st.dictionaries(rows, st.sampled_from([1, 2]), max_size=4)), max_size=4), st.integers(0, 3))
@tried(24)
def test_ways_out_of_z_sets(chunks, taken_back):
    types = (StreamType(ZSet(Row), True),)
    back = [({row: -weight for row, weight in chunk.items()},) for (chunk,) in chunks[:taken_back]]
    for operator in (ZSetToBag(), ZSetToSet()):
        assert len(forms(on_tables(operator, types)[0])) == 1
        agree(operator, types, chunks + back)


def test_weights_below_zero_at_the_end_are_refused_with_the_same_words():
    class Ended(StreamType):
        """Its data comes with the end."""

    types = (StreamType(ZSet(Row), True),)

    class Data(ZSet):
        def value(self, data):
            return super().value(data).fix()

    types = (StreamType(Data(Row), True),)
    data = ({Row(1, "a"): -1, Row(2, None): 3},)
    said = said_of(ZSetToBag(), types, data, tables=False)
    assert "negative weights" in said
    assert said_of(ZSetToBag(), types, data, tables=True) == said
