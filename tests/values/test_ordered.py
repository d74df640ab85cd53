"""The ordered set of keys that event-time windows are kept in, against a sorted list."""

from __future__ import annotations

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from flo.core.term import Lifting, Lowering
from flo.values.ordered import SortedKeys
from tests.quick import tried

changes = st.lists(st.tuples(st.booleans(), st.integers(-8, 8)), max_size=40)


@tried(24)
@given(changes, st.integers(-9, 9))
def test_against_a_sorted_list(steps, key):
    ordered, model = SortedKeys(), set()
    for adds, number in steps:
        before, kept = list(ordered), ordered
        ordered = ordered.added(number) if adds else ordered.removed(number)
        model = model | {number} if adds else model - {number}
        assert list(kept) == before  # older versions stay
    keys = sorted(model)
    place = bisect_right(keys, key)
    assert list(ordered) == keys
    assert ordered.first() == (keys[0] if keys else None)
    assert ordered.at_most(key) == (keys[place - 1] if place else None)
    assert ordered.above(key) == (keys[place] if place < len(keys) else None)
    assert ordered == SortedKeys(reversed(keys))
    assert hash(ordered) == hash(SortedKeys(keys))


def test_it_lowers_to_its_keys():
    ordered = SortedKeys([3, 1, 2])
    lowering = Lowering()
    assert Lifting()(lowering(ordered)) == ordered
    assert repr(ordered) == "SortedKeys([1, 2, 3])"


def test_keys_that_come_in_order_do_not_make_it_deep():
    ordered = SortedKeys(range(20_000))
    for key in range(0, 20_000, 2):
        ordered = ordered.removed(key)
    assert list(ordered) == list(range(1, 20_000, 2))
