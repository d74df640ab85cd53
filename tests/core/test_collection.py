"""The well-formedness of collection languages (§3.2), on every value that Flo ships."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo.core.data  # noqa: F401  how plain data lowers
from flo.core.collection import Collection, End, Value
from flo.core.errors import CollectionError
from flo.core.nested import Nested
from flo.core.stream_type import StreamType
from flo.core.term import Lifting, Lowering
from flo.tables.keyed import KeyedColumns
from flo.tables.streams import KeyedStreamColumns, StreamColumns
from flo.tables.values import Columns
from flo.values.keyed import Keyed
from flo.values.lattice_orders import Max
from flo.values.lattice_structures import SetUnion
from flo.values.lvar import LVar
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from tests.quick import tried

numbers = st.integers(-3, 3)
several = st.lists(numbers, max_size=4)
weighted = st.dictionaries(numbers, st.integers(-2, 2), max_size=4)

COLLECTIONS: list[tuple[Collection, st.SearchStrategy]] = [
    (Sequence(int), several),
    (Bag(int), several),
    (Set(int), several),
    (ZSet(int), weighted),
    (LVar(Max(int)), numbers),
    (LVar(SetUnion(int)), st.frozensets(numbers, max_size=3)),
    (Keyed(int, Sequence(int)), st.dictionaries(numbers, several, max_size=3)),
    (Keyed(int, ZSet(int)), st.dictionaries(numbers, weighted, max_size=3)),
    (Nested(Sequence(int)), st.lists(several, max_size=3)),
    (Nested(Sequence(int), Bag(int)), st.lists(st.tuples(several, several), max_size=3)),
    (Nested(Nested(Set(int))), st.lists(st.lists(several, max_size=2), max_size=2)),
    (Columns(Sequence(int)), several),
    (Columns(Bag(int)), several),
    (Columns(Set(int)), several),
    (Columns(ZSet(int)), weighted),
    (StreamColumns(Nested(Sequence(int), Bag(int))), st.lists(st.tuples(several, several), max_size=3)),
    (KeyedColumns(Keyed(int, Sequence(int))), st.dictionaries(numbers, several, max_size=3)),
    (KeyedColumns(Keyed(int, ZSet(int))), st.dictionaries(numbers, weighted, max_size=3)),
    (
        KeyedStreamColumns(Keyed(int, Nested(Sequence(int)))),
        st.dictionaries(numbers, st.lists(several, max_size=2), max_size=3),
    ),
]

every_collection = pytest.mark.parametrize(("collection", "plain"), COLLECTIONS, ids=[str(c) for c, _ in COLLECTIONS])
few = tried(20)


def value_of(data, collection, plain):
    """A value of the collection: open, fixed, or with its end passed on, built in one go or from deltas."""
    value = collection.bottom()
    for _ in range(data.draw(st.integers(0, 2))):
        value = value.concat(collection.value(data.draw(plain)))
    end = data.draw(st.sampled_from(End))
    if end is not End.OPEN:
        value = value.fix()
    return value.take()[0] if end is End.PASSED else value


def shipped(kind=Value):
    for below in kind.__subclasses__():
        ours = below.__module__.startswith("flo.") and not below.__module__.startswith("tests.seeded")
        if ours and "kind" in below.__dict__:
            yield below.__qualname__  # dataclasses with slots are made twice
        yield from shipped(below)


def test_every_shipped_value_is_among_those_tried():
    assert {type(collection.bottom()).__qualname__ for collection, _ in COLLECTIONS} == set(shipped())


@every_collection
@given(data=st.data())
@few
def test_fix_fixes(collection, plain, data):
    value = value_of(data, collection, plain)
    assert value.fix().fixed()
    assert value.fix() in collection
    assert value.fix().fix() == value.fix()
    assert value.fixed() == (value.fix() == value)


@every_collection
@given(data=st.data())
@few
def test_fixed_absorbs_every_delta(collection, plain, data):
    value, delta = value_of(data, collection, plain).fix(), value_of(data, collection, plain)
    assert value.concat(delta) == value


@every_collection
@given(data=st.data())
@few
def test_open_values_are_changed_by_the_terminator(collection, plain, data):
    """`fixed` says no less than it should: an open value is one that some delta changes."""
    value = value_of(data, collection, plain)
    if not value.fixed():
        assert value.concat(value.empty().fix()) != value


@every_collection
@given(data=st.data())
@few
def test_empty_delta_is_identity_on_the_right(collection, plain, data):
    value = value_of(data, collection, plain)
    assert value.concat(value.empty()) == value
    assert value.concat(collection.bottom()) == value


@every_collection
@given(data=st.data())
@few
def test_types_are_closed_under_concatenation(collection, plain, data):
    value, delta = value_of(data, collection, plain), value_of(data, collection, plain)
    assert value in collection
    assert value.concat(delta) in collection


@every_collection
@given(data=st.data())
@few
def test_lifting_inverts_lowering(collection, plain, data):
    for item in (value_of(data, collection, plain), collection, StreamType(collection, bounded=True)):
        lowering = Lowering()
        term = lowering(item)
        lifted = Lifting(lowering.names)(term)
        assert lifted == item
        assert Lowering()(lifted) == term or isinstance(item, Value)  # maps may lower in another order


@every_collection
@given(data=st.data())
@few
def test_what_is_taken_and_what_stays_make_the_value(collection, plain, data):
    """Sending part of the outputs loses nothing: the receiver of all that was sent has what was never taken."""
    value, more = value_of(data, collection, plain), value_of(data, collection, plain)
    stays, sent = value.take()
    assert stays.size() == 0
    assert stays in collection
    _, later = stays.concat(more).take()
    assert collection.bottom().concat(sent).concat(later).fix() == value.concat(more).fix()


@every_collection
@given(data=st.data())
@few
def test_an_output_that_is_sent_in_parts_arrives_whole(collection, plain, data):
    whole = output = received = collection.bottom()
    for delta in [*(value_of(data, collection, plain) for _ in range(3)), collection.bottom().fix()]:
        whole, output = whole.concat(delta), output.concat(delta)
        for _ in range(data.draw(st.integers(0, 2))):
            output, sent = output.send(data.draw(st.none() | st.integers(0, 3)))
            assert output in collection
            received = received.concat(sent)
    received = received.concat(output.send()[1])
    assert received == whole


@every_collection
@given(data=st.data())
@few
def test_plain_data_comes_back(collection, plain, data):
    given_data = data.draw(plain)
    value = collection.value(given_data)
    assert not value.fixed()
    assert collection.value(collection.plain(value)) == value


@every_collection
@given(data=st.data())
@few
def test_values_never_change(collection, plain, data):
    """Concatenation makes another value, whichever version it starts from."""
    value, one, other = (value_of(data, collection, plain) for _ in range(3))
    lowering = Lowering()
    copy = Lifting(lowering.names)(lowering(value))
    first, second = value.concat(one), value.concat(other)
    assert value == copy
    assert value.concat(one) == first
    assert value.concat(other) == second


@every_collection
def test_bottom_is_open_and_empty(collection, plain):
    bottom = collection.bottom()
    assert not bottom.fixed()
    assert bottom.size() == 0
    assert bottom in collection
    assert bottom == bottom.empty()


@every_collection
def test_the_end_that_has_arrived_differs_from_the_end_that_was_passed_on(collection, plain):
    arrived = collection.bottom().fix()
    passed, sent = arrived.take()
    assert sent == arrived
    assert passed != arrived
    assert passed.fixed()
    assert (arrived.size(), passed.size()) == (1, 0)


@every_collection
def test_a_value_belongs_to_its_own_collection_only(collection, plain):
    for other, _ in COLLECTIONS:
        same = type(other.bottom()) is type(collection.bottom())
        assert same or collection.mismatch(other.bottom())


def test_concatenation_of_sequences_puts_the_new_behind_the_old():
    old, new = Sequence(int).value([1, 2]), Sequence(int).value([3])
    assert Sequence(int).plain(old.concat(new)) == [1, 2, 3]
    assert old.concat(new.fix()) == Sequence(int).value([1, 2, 3]).fix()


def test_collections_from_annotations():
    assert Collection.of(Sequence[int]) == Sequence(int)
    assert Collection.of(Sequence) == Sequence()
    assert Collection.of(Nested[Sequence[int], Bag[str]]) == Nested(Sequence(int), Bag(str))
    assert Collection.of(Keyed[str, LVar[Max[int]]]) == Keyed(str, LVar(Max(int)))
    with pytest.raises(CollectionError, match="list"):
        Collection.of(list[int])


def test_elements_of_another_type_are_refused():
    assert Sequence(int).mismatch(Sequence(str).value(["a"])) == "'a' is not of type int"
    assert Sequence(float).accepts(Sequence(int))
    assert not Sequence(int).accepts(Sequence(str))
    assert not Sequence(int).accepts(Bag(int))
