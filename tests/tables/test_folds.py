"""Count and sum of whole streams on tables are what they are on values."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.errors import ElementError
from flo.core.graph import setinput
from flo.core.semantics import finish
from flo.core.stream_type import StreamType
from flo.values.operators.bags import Count, Sum
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import whole_deltas

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas():
    yield from whole_deltas()


NUMBERS = {
    int: st.integers(-5, 5) | st.sampled_from([2**55, -(2**55)]),
    float: st.floats(allow_nan=False, max_value=1e308) | st.sampled_from([0.1, 1e308, 5e-324, -math.inf]),
    bool: st.booleans(),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("collection", [Sequence, Bag, Set])
@given(data=st.data())
@tried(24)
def test_as_on_values(kind, collection, data):
    types = (StreamType(collection(kind), bounded=True),)
    chunks = data.draw(st.lists(st.lists(NUMBERS[kind], max_size=6).map(lambda some: (some,)), max_size=4))
    for operator in (Count(), Sum()):
        assert len(forms(on_tables(operator, types)[0])) == 1
        agree(operator, types, chunks)


@pytest.mark.parametrize("collection", [Sequence, Bag, Set])
def test_count_of_what_is_no_number(collection):
    types = (StreamType(collection(tuple[str, int | None]), bounded=True),)
    agree(Count(), types, [([("a", None), ("a", None), ("", 1)],), ([("a", None)],)])


@pytest.mark.parametrize("numbers", [[1.0, math.nan], [math.inf, 2.0, -math.inf]])
def test_what_is_not_a_number_is_the_sum_as_well(numbers):
    types = (StreamType(Bag(float), bounded=True),)
    graph, out = on_tables(Sum(), types)
    fed = setinput(graph, (types[0].collection.value(numbers).fix(),))
    (found,) = finish(fed, (out[0].collection.bottom(),))[1]
    assert math.isnan(found.table["value"][0].as_py())


def test_a_sum_that_does_not_fit_64_bits():
    agree(Sum(), (StreamType(Sequence(int), bounded=True),), [([2**62, 2**62],), ([2**62],)])


def test_a_sum_that_does_not_fit():
    most = Decimal(10**20 - 1)
    with pytest.raises(ElementError, match="38 digits"):
        agree(Sum(), (StreamType(Bag(Decimal), bounded=True),), [({most: 1},), ({Decimal(1): 1},)])
