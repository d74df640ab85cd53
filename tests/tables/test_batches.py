"""Batches and windows on tables are those on values."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.core.stream_type import StreamType
from flo.values.operators.sequences import Batch, Window
from flo.values.sequence import Sequence
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables


class Row(NamedTuple):
    number: int
    text: str | None


VALUES = {
    int: st.integers(0, 9),
    str | None: st.sampled_from([None, "a"]),
    Row: st.builds(Row, st.integers(0, 2), st.sampled_from([None, "x"])),
}
START = datetime(2024, 5, 1)
TIMES = [
    (int, 3, st.integers(-10, 30)),
    (int, 2.5, st.integers(-10, 30) | st.sampled_from([2**62, -(2**62)])),
    (int, 0, st.integers(0, 3)),
    (float, 0.3, st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 1e16, math.nan, math.inf, -math.inf])),
    (datetime, timedelta(hours=1), st.integers(0, 300).map(lambda minutes: START + timedelta(minutes=minutes))),
]
bounded = pytest.mark.parametrize("bounded", [True, False])


def arrivals(elements):
    return st.lists(st.tuples(st.lists(elements, max_size=8) | st.none()), max_size=4)


@bounded
@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data(), count=st.integers(1, 5))
@tried(15)
def test_batches(bounded, kind, data, count):
    types = (StreamType(Sequence(kind), bounded),)
    assert [form.name for form in forms(on_tables(Batch(count), types)[0])] == ["window_tables"]
    agree(Batch(count), types, data.draw(arrivals(VALUES[kind])))


@bounded
@pytest.mark.parametrize(("time", "interval", "times"), TIMES)
@given(data=st.data())
@tried(20)
def test_windows(bounded, time, interval, times, data):
    kind = data.draw(st.sampled_from(list(VALUES)))
    types = (StreamType(Sequence(tuple[kind, time]), bounded),)
    assert [form.name for form in forms(on_tables(Window(interval), types)[0])] == ["span_tables"]
    agree(Window(interval), types, data.draw(arrivals(st.tuples(VALUES[kind], times))))


@pytest.mark.parametrize(("element", "interval"), [(tuple[int, int | None], 1), (tuple[int, Decimal], 3)])
def test_windows_that_stay_values(element, interval):
    assert not forms(on_tables(Window(interval), (StreamType(Sequence(element), True),))[0])


def batching():
    flow = flo.Flow("batches")
    flow.output(
        "sums", flow.input("rows", flo.Sequence[int], bounded=True).batch(100_000).nest(lambda b: b.sum()).flatten()
    )
    return flow.on(flo.here)


def test_with_a_body_all_of_it_runs_on_tables():
    assert "3 on tables, 0 row by row in Python, 0 on values, 0 conversions" in str(batching().explain())


def test_checkpoints_write_what_is_new(tmp_path):
    loop = batching().loop()
    loop.push(rows=pa.table({"value": range(90_000)}))
    first = loop.checkpoint(tmp_path)
    loop.push(rows=pa.table({"value": range(90_000, 90_100)}))
    second = loop.checkpoint(tmp_path)
    assert second.written == 1
    assert second.bytes < first.bytes / 50
    again = batching().loop()
    again.restore(tmp_path)
    again.push(rows=pa.table({"value": range(90_100, 100_010)}))
    again.end("rows")
    again.run()
    assert again.result()["sums"]["value"].to_pylist() == [sum(range(100_000)), sum(range(100_000, 100_010))]


def test_many_small_deltas_are_few_runs():
    (form,) = forms(on_tables(Batch(10_000), (StreamType(Sequence(int), False),))[0])
    for number in range(500):
        form, _ = form.consume(pa.table({"value": [number]}))
    assert form.opened.rows == 500
    assert len(form.opened.runs) < 8 * 3
    assert form.opened.table()["value"].to_pylist() == list(range(500))
