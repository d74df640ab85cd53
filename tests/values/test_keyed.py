"""Keyed collections, and the operators on them: key_by, per_key, entries, join_keyed, map_values and filter_keys."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo.core.data  # noqa: F401
from flo.core.collection import Collection, End
from flo.core.errors import BoundednessError, CollectionError, ElementError, TypeMismatch
from flo.core.graph import inputs, sequence, setinput
from flo.core.nested import Nested, NestedValue
from flo.core.semantics import advance, small_steps
from flo.core.term import Lifting, Lowering
from flo.core.typing import initial
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lattice_orders import Max, NaturalSum
from flo.values.lvar import LVar
from flo.values.operators.elementwise import Map
from flo.values.operators.keyed_streams import Entries, FilterKeys, KeyBy, KeyedJoin, MapValues
from flo.values.operators.lattices import FoldLattice
from flo.values.operators.per_key import PerKey
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from tests.harness import check_graph, check_operator, fired, refusal
from tests.quick import tried
from tests.values.building import bounded, seq, unbounded
from tests.values.keyed_cases import (
    END,
    INTS,
    KEYED,
    ZKEYED,
    content,
    keyed,
    keyed_chunks,
    op,
    settled,
    weighted,
    weights,
)

# the collection


def test_collection_of_an_annotation():
    assert Collection.of(Keyed[str, Sequence[int]]) == KEYED
    assert Collection.of(Keyed[str, Keyed[int, Bag[str]]]) == Keyed(str, Keyed(int, Bag(str)))
    assert str(KEYED) == "Keyed[str, Sequence[int]]"
    assert len({KEYED, Collection.of(Keyed[str, Sequence[int]]), ZKEYED}) == 2
    assert isinstance(refusal(Collection.of, Keyed), CollectionError)
    assert isinstance(refusal(Collection.of, Keyed[str, int]), CollectionError)


def test_keys_of_z_sets_cannot_stand_under_another_key():
    assert "can disappear" in str(refusal(Keyed, str, ZKEYED))


def test_concat_is_per_key():
    assert keyed(a=[1], b=[2]).concat(keyed(a=[3], c=[])) == keyed(a=[1, 3], b=[2], c=[])


def test_the_end_ends_the_stream_of_every_key():
    value = keyed(a=[1], b=[]).concat(KeyedValue.of({"b": seq(2)}, End.ARRIVED))
    assert value == keyed(a=[1], b=[2]).fix()
    assert all(value.entries[key].fixed() for key in "ab")
    assert value.concat(keyed(a=[3])) == value


def test_a_stream_that_ended_on_its_own_absorbs_what_comes():
    value = KeyedValue.of({"a": seq(1, end=End.ARRIVED)})
    assert value.concat(keyed(a=[2], b=[3])) == KeyedValue.of({"a": seq(1, end=End.ARRIVED), "b": seq(3)})
    rest, sent = value.take()
    assert sent == value
    assert rest.behind["a"] == seq(end=End.PASSED)
    assert rest.concat(keyed(a=[2])) == rest
    assert rest.concat(keyed(a=[2])).size() == 0


def test_nothing_more_is_remembered_of_what_was_taken():
    rest, sent = keyed(a=[1], b=[]).take()
    assert (rest, sent) == (KEYED.bottom(), keyed(a=[1], b=[]))
    assert keyed(a=[1]).fix().take() == (KEYED.bottom().fix().take()[0], keyed(a=[1]).fix())


def test_an_open_inner_stream_goes_on_where_it_was():
    opened = KeyedValue.of({"a": NestedValue.pushing((seq(1),))})
    rest, sent = opened.take()
    more = KeyedValue.of({"a": NestedValue.extending((seq(2),))})
    assert rest.size() == 0
    assert sent.concat(rest.concat(more).take()[1]) == opened.concat(more)
    assert Keyed(str, Nested(INTS)).plain(opened.concat(more)) == {"a": [[1, 2]]}


def test_a_key_whose_z_set_is_empty_is_not_there():
    value = weighted(a={1: 2}, b={1: 1})
    assert value.concat(weighted(a={1: -2})) == weighted(b={1: 1})
    assert value.concat(weighted(a={1: -2}).fix()) == weighted(b={1: 1}).fix()
    assert weighted(a={}) == ZKEYED.bottom()


def test_size_counts_keys_that_hold_nothing():
    assert keyed(a=[], b=[1, 2]).size() == 3
    assert keyed(a=[]).fix().size() == 2


def test_lowering_and_lifting():
    ended_early = KeyedValue.of({"a": seq(1, end=End.ARRIVED)}).take()[0]
    for item in (keyed(a=[1]), keyed(a=[1]).fix(), ended_early, KEYED, Keyed(str, Nested(INTS))):
        lowering = Lowering()
        assert Lifting(lowering.names)(lowering(item)) == item


def test_value_and_plain():
    assert KEYED.plain(KEYED.value({"a": [1, 2], "b": []})) == {"a": [1, 2], "b": []}
    for data in ([1], {1: [1]}, {"a": ["x"]}, {"a": 1}):
        assert isinstance(refusal(KEYED.value, data), ElementError)
    assert "'a'" in str(refusal(KEYED.value, {"a": ["x"]}))


def test_membership():
    assert keyed(a=[1]) in KEYED
    assert "not a Keyed" in KEYED.mismatch(seq(1))
    assert "the key 1" in KEYED.mismatch(KeyedValue.of({1: seq()}))
    assert "key 'a'" in KEYED.mismatch(KeyedValue.of({"a": seq("x")}))
    assert "has no end" in KEYED.mismatch(KeyedValue(keyed(a=[1]).entries, End.ARRIVED))
    assert KEYED.accepts(Keyed(str, Sequence(bool)))
    assert not KEYED.accepts(Keyed(int, INTS))
    assert not KEYED.accepts(Keyed(str, Bag(int)))


# key_by


@pytest.mark.parametrize("kind", [Sequence, Bag, Set, ZSet])
@tried(18)
@given(chunks=st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=3), ends=st.booleans())
def test_key_by(kind, chunks, ends):
    deltas = [(kind(int).value(chunk),) for chunk in chunks] + [(kind(int).bottom().fix(),)] * ends
    (output,) = check_operator(KeyBy(lambda x: x % 2), (unbounded(kind(int)),), deltas, seeds=3)
    everything = [element for chunk in chunks for element in chunk]
    groups = {key: [x for x in everything if x % 2 == key] for key in (x % 2 for x in everything)}
    assert Keyed(int, kind(int)).plain(output) == {
        key: kind(int).plain(kind(int).value(group)) for key, group in groups.items()
    }
    assert output.fixed() == ends
    suffix = kind(int).value_class.suffix
    assert fired["key-by" + suffix] or not everything
    assert fired["key-by" + suffix + kind(int).value_class.end_suffix] or not ends


@tried(20)
@given(st.lists(st.dictionaries(st.integers(0, 3), st.integers(-2, 2), max_size=3), max_size=4))
def test_key_by_of_z_sets_that_cancel(chunks):
    deltas = [(ZSet(int).value(chunk),) for chunk in chunks]
    check_operator(KeyBy(lambda x: x % 2), (unbounded(ZSet(int)),), deltas, seeds=3)


def test_key_by_type():
    def parity(x: int) -> bool:
        return x % 2 == 1

    (output,) = KeyBy(parity).judge((unbounded(Bag(int)),)).outputs
    assert output == unbounded(Keyed(bool, Bag(int)))
    assert isinstance(refusal(KeyBy(parity).judge, (unbounded(KEYED),)), CollectionError)


# entries


@pytest.mark.parametrize(("kind", "target"), [(Sequence, Bag), (Bag, Bag), (Set, Set), (ZSet, ZSet)])
@tried(20)
@given(data=st.data())
def test_entries(kind, target, data):
    chunks = data.draw(keyed_chunks(kind(int)))
    (output,) = check_operator(Entries(), (unbounded(Keyed(str, kind(int))),), chunks, seeds=3)
    expected = target(tuple[str, int]).bottom()
    for key, group in content(chunks, Keyed(str, kind(int))).items():
        units = (
            group.items() if isinstance(group, dict) else [(x, 1) for x in group] if kind is not Bag else group.items()
        )
        expected = expected.concat(type(expected).of(((key, x), w) for x, w in units))
    assert target(tuple[str, int]).plain(output) == target(tuple[str, int]).plain(expected)


def test_entries_types():
    assert Entries().judge((unbounded(KEYED),)).outputs == (unbounded(Bag(tuple[str, int])),)
    assert Entries().judge((bounded(ZKEYED),)).outputs == (bounded(ZSet(tuple[str, int])),)
    assert isinstance(refusal(Entries().judge, (unbounded(INTS),)), CollectionError)
    assert isinstance(refusal(Entries().judge, (unbounded(Keyed(str, Nested(INTS))),)), CollectionError)


def test_entries_of_lvars_are_read_at_the_end():
    kind = Keyed(str, LVar(Max(int)))
    chunks = [(kind.value({"a": 3, "b": 5}),), (kind.value({"a": 4}),), (END,)]
    (output,) = check_operator(Entries(), (bounded(kind),), chunks)
    assert output == Set(tuple[str, int]).value([("a", 4), ("b", 5)]).fix()
    assert isinstance(refusal(Entries().judge, (unbounded(kind),)), BoundednessError)


def test_an_lvar_without_a_value_has_no_entry():
    kind = Keyed(str, LVar(Max(int)))
    value = KeyedValue.of({"a": LVar(Max(int)).bottom(), "b": LVar(Max(int)).value(5)})
    (output,) = check_operator(Entries(), (bounded(kind),), [(value,), (END,)])
    assert output == Set(tuple[str, int]).value([("b", 5)]).fix()


def test_an_lvar_with_a_least_value_has_an_entry():
    kind = Keyed(str, LVar(NaturalSum(int)))
    (output,) = check_operator(Entries(), (bounded(kind),), [(kind.value({"a": 0}),), (END,)])
    assert set(output.weights) == {("a", 0)}


def test_largest_element_of_each_key():
    graph = sequence(op(KeyBy(lambda x: x % 2)), op(PerKey(op(FoldLattice(Max(int))))), op(Entries()))
    chunks = [(seq(1, 4, 7),), (seq(2, 3, end=End.ARRIVED),)]
    (output,) = check_graph(graph, (bounded(INTS),), chunks)
    assert set(output.weights) == {(1, 7), (0, 4)}


# join_keyed


@pytest.mark.parametrize("kind", [Sequence(int), Bag(int), ZSet(int)])
@tried(20)
@given(data=st.data())
def test_join_keyed(kind, data):
    chunks = data.draw(keyed_chunks(kind, sides=2))
    types = (unbounded(Keyed(str, kind)),) * 2
    (output,) = check_operator(KeyedJoin(), types, chunks, seeds=3)
    expected = {}
    left, right = (content(chunks, types[0].collection, side) for side in (0, 1))
    for key in left.keys() & right.keys():
        pairs = Counter()
        for x, v in weights(left[key]):
            for y, w in weights(right[key]):
                pairs[x, y] += v * w
        if pairs:
            expected[key] = dict(pairs)
    assert {key: group.weights.to_dict() for key, group in output.entries.items()} == expected


def test_join_keyed_into():
    def add(x, y) -> int:
        return x + y

    chunks = [(keyed(a=[1, 2], b=[1]), None), (None, keyed(a=[10, 20])), (END, END)]
    (output,) = check_operator(KeyedJoin(add), (bounded(KEYED), bounded(KEYED)), chunks)
    assert Keyed(str, Bag(int)).plain(output) == {"a": Counter([11, 12, 21, 22])}
    assert fired["join-keyed-left"]
    assert fired["join-keyed-right"]
    assert fired["join-keyed-terminated"]
    (judged,) = KeyedJoin(add).judge((bounded(KEYED), unbounded(Keyed(str, Bag(int))))).outputs
    assert judged == unbounded(Keyed(str, Bag(int)))


def test_join_keyed_refuses_other_inputs():
    judge = KeyedJoin().judge
    assert isinstance(refusal(judge, (unbounded(KEYED), unbounded(ZKEYED))), CollectionError)
    assert isinstance(refusal(judge, (unbounded(KEYED), unbounded(Keyed(int, INTS)))), TypeMismatch)
    assert isinstance(refusal(judge, (unbounded(KEYED), unbounded(INTS))), CollectionError)


def test_join_keyed_takes_keys_that_may_be_equal():
    (judged,) = KeyedJoin().judge((bounded(Keyed(int, INTS)), bounded(Keyed(int | None, INTS)))).outputs
    assert judged.collection.key == int | None


# map_values and filter_keys


@pytest.mark.parametrize("kind", [Sequence(int), Bag(int), Set(int), ZSet(int)])
@tried(15)
@given(data=st.data())
def test_map_values_and_filter_keys(kind, data):
    chunks = data.draw(keyed_chunks(kind))
    collection = Keyed(str, kind)
    (mapped,) = check_operator(MapValues(lambda x: x // 2), (unbounded(collection),), chunks, seeds=2)
    assert check_operator(PerKey(op(Map(lambda x: x // 2))), (unbounded(collection),), chunks, seeds=2) == (mapped,)
    (kept,) = check_operator(FilterKeys(lambda key: key == "a"), (unbounded(collection),), chunks, seeds=2)
    everything = content(chunks, collection)
    assert collection.plain(kept) == {key: group for key, group in everything.items() if key == "a"}


def test_rules_and_types_of_map_values_and_filter_keys():
    chunks = [(keyed(a=[1], b=[]),), (END,)]
    (mapped,) = check_operator(MapValues(str), (bounded(KEYED),), chunks)
    assert Keyed(str, Sequence(str)).plain(mapped) == {"a": ["1"], "b": []}
    check_operator(FilterKeys(str.isupper), (bounded(Keyed(str, Nested(INTS))),), [(END,)])
    check_operator(FilterKeys(str.isupper), (bounded(KEYED),), chunks)
    check_operator(Entries(), (bounded(KEYED),), chunks)
    for rule in ("map-values", "filter-keys", "entries"):
        assert fired[rule]
        assert fired[f"{rule}-terminated"]
    assert isinstance(refusal(MapValues(str).judge, (bounded(Keyed(str, Nested(INTS))),)), CollectionError)
    assert isinstance(refusal(FilterKeys(bool).judge, (bounded(INTS),)), CollectionError)


def test_a_function_that_fails_keeps_the_other_keys():
    graph, _ = initial(op(MapValues(lambda x: 6 // x)), (unbounded(KEYED),))
    for order in permutations([("a", 1), ("b", 0), ("c", 2)]):
        given = setinput(graph, (keyed(**{key: [x] for key, x in order}),))
        assert Counter(step.outputs[0] for step in settled(small_steps(given))) == Counter([keyed(a=[6]), keyed(c=[3])])
        after, _ = advance(given)
        assert inputs(after)[0] == keyed(b=[0])
        error = refusal(advance, after)
        assert "under the key 'b'" in str(error)


def test_a_join_that_fails_keeps_the_other_keys():
    types = (unbounded(KEYED), unbounded(KEYED))
    graph, _ = initial(op(KeyedJoin(lambda x, y: x // y)), types)
    graph, _ = advance(setinput(graph, (keyed(), keyed(a=[1], b=[0], c=[2]))))
    for order in permutations("abc"):
        after, deltas = advance(setinput(graph, (keyed(**{key: [6] for key in order}), keyed(d=[0]))))
        assert inputs(after) == (keyed(b=[6]), keyed())
        pairs = {key: list(value.weights) for (delta,) in deltas for key, value in delta.entries.items()}
        assert pairs == {"a": [6], "c": [3]}
        error = refusal(advance, after)
        assert "under the key 'b'" in str(error)
        assert "(6, 0)" in str(error)
