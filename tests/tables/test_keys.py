"""Numbers of keys: the same for equal keys, however they lie in memory, and nearly never for others."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.tables.groups import Groups
from flo.tables.state.comparison import code_of
from flo.tables.state.keys import BLOCK, are_comparable, extend_keys, find_equal, keys_of, numbers_of
from tests.quick import tried
from tests.tables.patches import colliding

inner = st.one_of(st.none(), st.text(max_size=20))
KINDS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=40),
    pa.large_string(): st.text(max_size=40),
    pa.binary(): st.binary(max_size=600),
    pa.binary(3): st.binary(min_size=3, max_size=3),
    pa.decimal128(20, 4): st.decimals(-10_000, 10_000, places=4),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.time64("us"): st.times(),
    pa.duration("us"): st.timedeltas(timedelta(days=-999), timedelta(days=999)),
    pa.list_(pa.string()): st.lists(inner, max_size=4),
    pa.list_(pa.list_(pa.int64())): st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3),
    pa.struct([("x", pa.int64()), ("y", pa.string())]): st.fixed_dictionaries(
        {"x": st.integers(0, 9), "y": inner},
    ),
    pa.null(): st.none(),
}


@pytest.mark.parametrize("kind", list(KINDS), ids=str)
@given(st.data())
@tried(18)
def test_equal_where_the_values_are(kind, data):
    values = data.draw(st.lists(st.one_of(st.none(), KINDS[kind]), min_size=1, max_size=6))
    places = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=12))
    array = pa.array(values, kind).take(pa.array(places))
    sliced = pa.concat_arrays([array.slice(0, 1), array]).slice(1)
    numbers = keys_of([pa.chunked_array([array])])
    assert (numbers.numbers == keys_of([pa.chunked_array([sliced])]).numbers).all(), "wherever it begins in memory"
    left, right = np.meshgrid(np.arange(len(array)), np.arange(len(array)))
    one, other = (array.take(pa.array(each.ravel())) for each in (left, right))
    listed = array.to_pylist()
    expected = np.array([listed[a] == listed[b] for a, b in zip(left.ravel(), right.ravel(), strict=True)])
    assert (find_equal([one], [other]) == expected).all()
    alike = numbers.numbers[left.ravel()] == numbers.numbers[right.ravel()]
    assert (alike >= expected).all(), "equal values have equal numbers"
    assert (alike == expected).all() or not numbers.exact
    assert not numbers.exact or not array.null_count


def test_zeros_and_nans():
    array = pa.array([0.0, -0.0, float("nan"), -float("nan"), 1.0])
    numbers = numbers_of(array).numbers
    assert numbers[0] == numbers[1]
    assert numbers[2] == numbers[3]
    assert len(set(numbers)) == 3
    other = pa.array([-0.0, 0.0, float("nan"), float("nan"), 2.0])
    assert find_equal([array], [other]).tolist() == [True] * 4 + [False]


def test_numbers_are_spread_over_all_of_the_range():
    numbers = keys_of([pa.chunked_array([pa.array(np.arange(100_000))])]).numbers
    counts = np.bincount((numbers >> np.uint64(56)).astype(np.int64), minlength=256)
    assert counts.min() > 250
    texts = keys_of([pa.chunked_array([pa.array([f"user {n}" for n in range(100_000)])])]).numbers
    assert len(np.unique(texts)) == 100_000
    counts = np.bincount((texts >> np.uint64(56)).astype(np.int64), minlength=256)
    assert counts.min() > 250


def test_numbers_stay_as_they_are():
    """A stored state has them."""
    columns = [pa.chunked_array([pa.array([7, 8])]), pa.chunked_array([pa.array(["a", None])])]
    assert keys_of(columns).numbers.tolist() == keys_of([pa.chunked_array([[7], [8]]), columns[1]]).numbers.tolist()
    assert keys_of(columns[:1]).numbers.tolist() == [1346066267577507604, 15378420243238726120]
    texts = pa.chunked_array([pa.array(["a", None, "more than eight bytes"])])
    assert keys_of([texts]).numbers.tolist() == [12013498026379693771, 3847398142028685078, 7011274731058909621]
    amounts = pa.chunked_array([pa.array([Decimal("1.5")], pa.decimal128(10, 2))])
    assert keys_of([amounts]).numbers.tolist() == [10807613407980810912]
    lists = pa.chunked_array([pa.array([[1, 2], []])])
    assert keys_of([lists]).numbers.tolist() == [9455280550236997788, 9370218965779684112]


def test_types_whose_numbers_can_be_compared():
    assert are_comparable(pa.int8(), pa.int64())
    assert are_comparable(pa.string(), pa.large_string())
    assert are_comparable(pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Paris"))
    assert not are_comparable(pa.timestamp("us"), pa.timestamp("us", "UTC"))
    assert not are_comparable(pa.timestamp("us"), pa.timestamp("ms"))
    assert not are_comparable(pa.int64(), pa.float64())
    assert not are_comparable(pa.decimal128(20, 2), pa.decimal128(20, 3))
    assert are_comparable(pa.struct([("a", pa.int8())]), pa.struct([("b", pa.int64())]))
    assert not are_comparable(pa.string(), pa.binary())


EQUAL = [
    (1, 1.0, True, Decimal("1.00"), Fraction(2, 2), 1 + 0j),
    (0.5, Fraction(1, 2), Decimal("0.5")),
    (float("inf"), Decimal("inf")),
    ((1, "a"), (1.0, "a")),
    (frozenset({1, 2}), frozenset({2.0, 1.0})),
]


def test_codes_of_python_keys_are_equal_where_python_says_so():
    for keys in EQUAL:
        assert len({code_of(key) for key in keys}) == 1, keys
    others = [1, 2, 0.1, "1", b"1", None, (), ("1",), (1,), "inf", float("inf"), date(2024, 1, 1), datetime(2024, 1, 1)]
    others += [time(1), timedelta(1), frozenset(), float("nan"), "nan", 1j]
    assert len({code_of(key) for key in others}) == len(others)


def test_rows_are_grouped_where_keys_share_a_number(monkeypatch):
    colliding(monkeypatch)
    groups = Groups.of(pa.table({"key": [0, 2, 0, 2, 4], "value": [1, 2, 3, 4, 5]}), ("key",))
    assert groups.split(groups.rows["value"].to_pylist()) == [[1, 3], [2, 4], [5]]
    assert groups.keys.table["key"].to_pylist() == [0, 2, 4]


def test_numbers_do_not_depend_on_the_rows_around():
    """Many rows are numbered some at a time."""
    columns = [pa.chunked_array([np.arange(count := 2 * BLOCK + 3)]), pa.chunked_array([np.arange(count) % 7])]
    every = keys_of(columns).numbers
    for start in (0, BLOCK - 1, BLOCK, 2 * BLOCK, count - 1):
        assert (
            keys_of([column.slice(start, 2) for column in columns]).numbers.tolist()
            == every[start : start + 2].tolist()
        )
    assert extend_keys(keys_of(columns[:1]), columns[1:]).numbers.tolist() == every.tolist()


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 17, 511, 512, 513])
def test_numbers_do_not_depend_on_the_lengths_of_the_texts_around(size):
    """Texts of one length have their words at equal distances."""
    texts = [bytes(255 - (place + number) % 256 for place in range(size)) for number in range(5)]
    equal = numbers_of(pa.array(texts).slice(1)).numbers.tolist()
    mixed = [each for text in texts[1:] for each in (text, b"", text + b"0", b"1" * 600)]
    assert equal == numbers_of(pa.array(mixed)).numbers[::4].tolist()


def test_many_texts_of_one_length_before_others():
    texts = [f"{n:012}" for n in range(BLOCK)] + ["", "a", "more than eight bytes"]
    numbers = numbers_of(pa.array(texts)).numbers
    for place in (0, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 2):
        assert numbers[place] == numbers_of(pa.array(["b", texts[place]])).numbers[1]
