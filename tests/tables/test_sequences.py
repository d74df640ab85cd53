"""Scan, fold, enumerate, take and last on tables give what they give on values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.errors import ElementError
from flo.core.stream_type import StreamType
from flo.values.operators.bags import FoldUnordered
from flo.values.operators.sequences import Enumerate, Fold, Last, Scan, Take
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set
from tests.quick import tried
from tests.tables.failing import fails_alike
from tests.tables.harness import agree, forms, on_tables


class Row(NamedTuple):
    number: int
    text: str | None


@dataclass(frozen=True)
class Point:
    x: float
    day: date | None


ELEMENTS = {
    int: st.integers(-3, 3),
    str | None: st.sampled_from([None, "", "a", "ä\n"]),
    tuple[int, bool]: st.tuples(st.integers(0, 2), st.booleans()),
    tuple[int, ...]: st.lists(st.integers(0, 2), max_size=2).map(tuple),
    Row: st.builds(Row, st.integers(0, 2), st.sampled_from([None, "x"])),
    Point: st.builds(Point, st.sampled_from([0.0, 1.5]), st.sampled_from([None, date(2024, 5, 1)])),
}


def arrivals(elements):
    return st.lists(st.tuples(st.lists(elements, max_size=5) | st.none()), max_size=4)


def add(total: int, number: int) -> int:
    return total + number


def joined(texts: list[str], element: object) -> list[str]:
    texts.append(str(element))  # in place: the state must not be that of others
    return texts


def longest(best: Row, row: Row) -> Row:
    return max(best, row, key=lambda each: (each.number, each.text or ""))


@pytest.mark.every(test=2)
@pytest.mark.parametrize("kind", ELEMENTS, ids=str)
@pytest.mark.parametrize("bounded", [True, False])
@given(data=st.data())
@tried(15)
def test_of_any_elements(kind, bounded, data):
    types = (StreamType(Sequence(kind), bounded),)
    chunks = data.draw(arrivals(ELEMENTS[kind]))
    operators = [Scan([], joined), Enumerate(), Take(0), Take(1), Take(4)]
    for operator in operators + ([Fold([], joined), Last()] if bounded else []):
        assert len(forms(on_tables(operator, types)[0])) == 1
        agree(operator, types, chunks, seeds=1)


@pytest.mark.parametrize("collection", [Bag, Set])
@given(data=st.data())
@tried(20)
def test_folds_without_an_order(collection, data):
    for kind, operator in ((int, FoldUnordered(5, add)), (Row, FoldUnordered(Row(0, None), longest))):
        types = (StreamType(collection(kind), bounded=True),)
        chunks = data.draw(arrivals(ELEMENTS[kind]))
        assert [form.name for form in forms(on_tables(operator, types)[0])] == ["fold_tables"]
        agree(operator, types, chunks)


def untyped(total, number):
    return total + number


@pytest.mark.parametrize("operator", [Scan(0, untyped), Fold(0, untyped)])
def test_results_without_columns_stay_values(operator):
    types = (StreamType(Sequence(int), bounded=True),)
    assert not forms(on_tables(operator, types)[0])
    agree(operator, types, [([1, 2],), ([3],)])


def below_nine(total: int, number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return "nine" if total + number > 9 else total + number  # type: ignore[return-value]


@pytest.mark.parametrize("numbers", [[1, 2, 3, 4], [3], [1, 5, 5, 1], [9, 1], [2**40]])
@pytest.mark.parametrize("operator", [Scan(0, below_nine), Fold(0, below_nine), FoldUnordered(0, below_nine)])
def test_a_function_that_goes_wrong(operator, numbers):
    collection = Bag if isinstance(operator, FoldUnordered) else Sequence
    fails_alike(operator, (StreamType(collection(int), bounded=True),), [(numbers,)])


def test_a_result_that_does_not_fit():
    for operator in (Scan(2**62, add), Fold(2**62, add)):
        with pytest.raises(ElementError, match="does not fit"):
            agree(operator, (StreamType(Sequence(int), bounded=True),), [([2**62],)])


def test_last_lets_go_of_what_came_before():
    types = (StreamType(Sequence(int), bounded=True),)
    (form,) = forms(on_tables(Last(), types)[0])
    after, _ = form.consume(pa.table({"value": range(10_000)}))
    assert after.kept.table()["value"].to_pylist() == [9_999]
    assert after.kept.table().get_total_buffer_size() < 100
