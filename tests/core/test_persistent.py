"""Elements and PersistentMap against lists and dicts, whichever version one goes on from."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from flo.core.persistent import Elements, PersistentMap
from flo.core.term import Lifting, Lowering

numbers = st.integers(0, 5)
lists = st.lists(numbers, max_size=4)
changes = st.dictionaries(numbers, st.integers(-2, 2), max_size=4)


class ElementsAgainstLists(RuleBasedStateMachine):
    """Every version ever made, beside a list that holds what it must hold."""

    versions = Bundle("versions")

    @initialize(target=versions, items=lists)
    def start(self, items):
        return Elements(items), items

    @rule(target=versions, version=versions, more=lists, plain=st.booleans())
    def extend(self, version, more, plain):
        elements, model = version
        return elements.extended(more if plain else Elements(more)), model + more

    @rule(target=versions, version=versions, other=versions)
    def extend_with_another_version(self, version, other):
        return version[0].extended(other[0]), version[1] + other[1]

    @rule(target=versions, version=versions, count=st.integers(0, 6))
    def drop(self, version, count):
        return version[0].dropped(count), version[1][count:]

    @rule(version=versions)
    def agree(self, version):
        elements, model = version
        assert list(elements) == elements.to_list() == model
        assert len(elements) == len(model)
        assert bool(elements) == bool(model)
        assert [elements[at] for at in range(-len(model), len(model))] == model + model
        assert elements[1:3] == model[1:3]
        assert elements == Elements(model)
        assert hash(elements) == hash(Elements(model))
        assert Lifting()(Lowering()(elements)) == elements

    @rule(version=versions, other=versions)
    def equal_if_the_lists_are(self, version, other):
        assert (version[0] == other[0]) == (version[1] == other[1])


class MapsAgainstDicts(RuleBasedStateMachine):
    versions = Bundle("versions")

    @initialize(target=versions, items=changes)
    def start(self, items):
        return PersistentMap(items), dict(items)

    @rule(target=versions, version=versions, change=changes)
    def update(self, version, change):
        return version[0].updated(change), {**version[1], **change}

    @rule(target=versions, version=versions, change=changes)
    def update_and_drop(self, version, change):
        model = {key: value for key, value in {**version[1], **change}.items() if key not in change or value != 0}
        return version[0].updated(change, drop=0), model

    @rule(target=versions, version=versions, other=versions)
    def update_with_another_version(self, version, other):
        return version[0].updated(other[0]), {**version[1], **other[1]}

    @rule(target=versions, version=versions, other=versions)
    def add_another_version(self, version, other):
        model = dict(version[1])
        for key, weight in other[1].items():
            model[key] = model.get(key, 0) + weight
            if model[key] == 0:
                del model[key]
        return version[0].added(other[0]), model

    @rule(target=versions, version=versions, key=numbers)
    def remove(self, version, key):
        return version[0].without(key), {k: v for k, v in version[1].items() if k != key}

    @rule(version=versions)
    def agree(self, version):
        table, model = version
        assert table.to_dict() == dict(table) == model
        assert len(table) == len(model)
        assert {key for key in range(6) if key in table} == model.keys()
        assert [table.get(key) for key in range(6)] == [model.get(key) for key in range(6)]
        assert hash(table) == hash(PersistentMap(model))
        assert Lifting()(Lowering()(table)) == table

    @rule(version=versions, other=versions)
    def equal_if_the_dicts_are(self, version, other):
        assert (version[0] == other[0]) == (version[1] == other[1])

    @rule(version=versions, other=versions)
    def iterating_one_while_reading_another(self, version, other):
        seen = []
        for key in version[0]:
            assert other[0].get(key) == other[1].get(key)
            seen.append((key, version[0][key]))
        assert dict(seen) == version[1]


ElementsAgainstLists.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
MapsAgainstDicts.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestElementsAgainstLists = ElementsAgainstLists.TestCase
TestMapsAgainstDicts = MapsAgainstDicts.TestCase


@given(lists, lists, lists)
def test_two_futures_of_one_version_do_not_see_each_other(start, one, other):
    elements = Elements(start)
    first, second = elements.extended(one), elements.extended(other)
    assert (first.to_list(), second.to_list(), elements.to_list()) == (start + one, start + other, start)


def test_an_older_map_differs_from_a_newer_one():
    older = PersistentMap({"a": 1})
    newer = older.updated({"a": 2})
    assert older != newer
    assert newer != older
    assert older == PersistentMap({"a": 1})


def test_adding_an_older_version_of_the_same_map():
    once = PersistentMap({"a": 1})
    twice = once.added(once)
    assert twice.added(once) == PersistentMap({"a": 3})


def test_extending_the_newest_version_shares_its_store():
    elements = Elements(range(1000))
    assert elements.extended([1])._items is elements._items
    table = PersistentMap({key: key for key in range(1000)})
    assert table.updated({1: 2})._dict is not None
    assert table._dict is None


def test_a_list_that_is_consumed_is_let_go():
    """A stream that goes on for ever must not keep what was consumed."""
    elements = Elements(range(100))
    for _ in range(50):
        elements = elements.dropped(100).extended(range(100)) if not elements else elements.dropped(90)
        elements = elements.extended(range(90))
    assert len(elements._items) < 500


def test_out_of_range():
    elements = Elements([1, 2, 3]).dropped(1)
    assert elements[0] == 2
    assert elements[-2] == 2
    for index in (2, -3):
        try:
            elements[index]
        except IndexError:
            continue
        raise AssertionError(index)


def test_a_copy_of_a_map_is_a_map_of_its_own():
    """Also of a version that others went on from."""
    old = PersistentMap({"a": [1]})
    old.updated({"b": [2]})
    for copied in (copy.deepcopy(old), pickle.loads(pickle.dumps(old))):
        assert copied == old
        copied["a"].append(2)
    assert old == PersistentMap({"a": [1]})
