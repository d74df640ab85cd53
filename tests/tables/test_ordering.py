"""Sort on tables gives what it gives on values, and does its work as rows come."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.stream_type import StreamType
from flo.values.operators.bags import Sort
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set
from tests.quick import tried
from tests.tables.failing import fails_alike
from tests.tables.harness import agree, forms, on_tables


class Row(NamedTuple):
    number: int
    text: str
    note: str | None


def number(row: Row) -> int:
    return row.number


def odd(row: Row) -> float:
    return math.nan if row.number == 3 else -float(row.number)


def both(row: Row) -> tuple[float, str]:
    return odd(row), row.text


def note(row: Row) -> str | None:
    return row.note


LAYOUT = Layout.of(Row)
KEYS = [
    number, odd, both, Expression("number", (LAYOUT,)), Expression(("text", "number"), (LAYOUT,)),
    Expression(nw.col("number") % 2, (LAYOUT,)),
]  # fmt: skip
rows = st.builds(Row, st.integers(-1, 11), st.sampled_from(["", "a", "ab", "ä"]), st.sampled_from([None, "x", "'"]))
PLAIN = {
    int: st.integers(-3, 3) | st.sampled_from([2**62, -(2**62)]),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    str: st.text("aä\U0001f600\uffff", max_size=2),
    bytes: st.binary(max_size=2),
    date: st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    datetime: st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    tuple[str, int]: st.tuples(st.sampled_from("ab"), st.integers(0, 2)),
}
collections = pytest.mark.parametrize("collection", [Sequence, Bag, Set])


def arrivals(elements):
    return st.lists(st.tuples(st.lists(elements, max_size=7) | st.none()), max_size=5)


@collections
@pytest.mark.parametrize("key", KEYS)
@given(chunks=arrivals(rows))
@tried(20)
def test_by_a_key(collection, key, chunks):
    types = (StreamType(collection(Row), bounded=True),)
    assert [form.name for form in forms(on_tables(Sort(key), types)[0])] == ["sort_tables"]
    agree(Sort(key), types, chunks, seeds=2)


@collections
@pytest.mark.parametrize("kind", PLAIN, ids=str)
@given(data=st.data())
@tried(15)
def test_by_themselves(collection, kind, data):
    types = (StreamType(collection(kind), bounded=True),)
    assert forms(on_tables(Sort(), types)[0])
    agree(Sort(), types, data.draw(arrivals(PLAIN[kind])), seeds=1)


def test_decimals_whose_text_no_column_keeps_stay_values():
    types = [(StreamType(collection(Decimal), bounded=True),) for collection in (Sequence, Bag)]
    assert [len(forms(on_tables(Sort(), each)[0])) for each in types] == [1, 0]
    for each in types:
        agree(Sort(), each, [([Decimal("1.5"), Decimal(-2)],), ([Decimal("1.50"), Decimal(0)],)])


@collections
@pytest.mark.parametrize("notes", [["a", None, "b"], [None], ["b", "a"], [None, None]])
def test_keys_that_are_null(collection, notes):
    """They are equal to each other, and come before anything else."""
    types = (StreamType(collection(Row), bounded=True),)
    given = [Row(place, "", text) for place, text in enumerate(notes)]
    agree(Sort(note), types, [(given[:1],), (given[1:],)])


def inverse(row: Row) -> float:
    return 1 / row.number


@collections
def test_a_key_that_goes_wrong(collection):
    types = (StreamType(collection(Row), bounded=True),)
    said = fails_alike(Sort(inverse), types, [([Row(2, "", None)],), ([Row(1, "", None), Row(0, "a", None)],)])
    assert "ZeroDivisionError" in said
    assert "Row(number=0, text='a', note=None)" in said


def sorting(kind):
    flow = flo.Flow("sorted")
    flow.output("sorted", flow.input("rows", kind[int], bounded=True).sort())
    return flow.on(flo.here).loop()


@pytest.mark.parametrize("kind", [flo.Sequence, flo.Bag, flo.Set])
def test_checkpoints_write_what_is_new(kind, tmp_path):
    numbers = np.random.default_rng(0).permutation(120_000)
    loop = sorting(kind)
    loop.push(rows=pa.table({"value": numbers[:100_000]}))
    first = loop.checkpoint(tmp_path)
    loop.push(rows=pa.table({"value": numbers[100_000:101_000]}))
    second = loop.checkpoint(tmp_path)
    assert second.written == 1
    assert second.bytes < first.bytes / 20
    again = sorting(kind)
    again.restore(tmp_path)
    again.push(rows=pa.table({"value": numbers[101_000:]}))
    again.end("rows")
    again.run()
    assert np.array_equal(again.result()["sorted"]["value"].to_numpy(), np.arange(120_000))


def test_what_a_set_gets_again_is_kept_once():
    types = (StreamType(Set(int), bounded=True),)
    (form,) = forms(on_tables(Sort(), types)[0])
    for _ in range(20):
        form, _ = form.consume(pa.table({"value": [1, 2, 3], "±": [1, 1, 1]}))
    assert form.rows.rows <= 6
