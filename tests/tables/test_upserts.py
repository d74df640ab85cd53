"""upsert on tables gives what it gives on values, and forgets keys that were deleted."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.changes import change_type
from flo.columns.layout import Layout
from flo.core.stream_type import StreamType
from flo.tables.operators.upserts import Current
from flo.tables.state.comparison import row_numbers
from flo.values.canonical import order_key
from flo.values.operators.upserts import Upsert
from flo.values.sequence import Sequence
from flo.values.weighted import Bag
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding


class Colour(Enum):
    RED = 2
    BLUE = 1


class Inner(NamedTuple):
    one: float
    other: str | None


class Row(NamedTuple):
    key: str
    at: float
    number: int | None
    amount: Decimal
    colour: Colour
    inner: Inner | None
    items: tuple[int | None, ...]
    moment: Annotated[datetime, pa.timestamp("us", "UTC")]
    id: UUID


START = datetime(2024, 10, 27, tzinfo=UTC)
rows = st.builds(
    Row,
    st.sampled_from(["a", "b", "ä", ""]),
    st.sampled_from([0.0, -0.0, 1.5, math.nan, -math.inf]),
    st.sampled_from([None, 2**62, -5]),
    st.sampled_from([Decimal("1.50"), Decimal("-0.25"), Decimal(10**15)]),
    st.sampled_from(Colour),
    st.sampled_from([None, Inner(0.0, None), Inner(math.nan, "x"), Inner(-1.0, "y")]),
    st.sampled_from([(), (1,), (None, 2), (1, 0)]),
    st.sampled_from([START, START + timedelta(hours=1), START.astimezone(timezone(timedelta(hours=2)))]),
    st.sampled_from([UUID(int=0), UUID(int=2**127), UUID(int=5)]),
)
CHANGE = change_type("rows", Row, ("key",), None)
LATER = change_type("rows", Row, ("key",), "at")


def as_changes(row: Row, gone: bool) -> tuple[Any, Any]:
    return (flo.delete(row.key), flo.delete(row.key, at=row.at)) if gone else (row, row)


deltas = st.lists(st.lists(st.builds(as_changes, rows, st.sampled_from([False, False, True])), max_size=6), max_size=5)


@tried(25)
@given(deltas, st.booleans())
def test_it_agrees(chunks, collides):
    with pytest.MonkeyPatch.context() as patch:
        if collides:
            colliding(patch)
        agree(Upsert(), (StreamType(Sequence(CHANGE), True),), [([one for one, _ in chunk],) for chunk in chunks])
        agree(Upsert(), (StreamType(Bag(LATER), True),), [([other for _, other in chunk],) for chunk in chunks])


def test_it_runs_on_tables():
    for of in (Sequence(CHANGE), Bag(LATER)):
        assert len(forms(on_tables(Upsert(), (StreamType(of, False),))[0])) == 1


@tried(25)
@given(st.lists(rows, min_size=1, max_size=12))
def test_the_order_of_rows_is_that_of_values(some):
    layout = Layout.of(Row)
    numbers = row_numbers(layout.to_table(some), layout.names)
    keys = [order_key(row) for row in some]
    for one, number in zip(keys, numbers, strict=True):
        for other, another in zip(keys, numbers, strict=True):
            assert (one < other, one == other) == (bool(number < another), bool(number == another))


class Small(NamedTuple):
    id: int
    value: int


@pytest.mark.parametrize("size", [20, 100])
def test_deleted_keys_are_forgotten(size):
    flow = flo.Flow("small")
    flow.output("small", flow.table("small", Small, key="id"))
    loop = flow.on(flo.here).loop()
    for start in range(0, 1000, size):
        loop.push(small=[Small(key, key) for key in range(start, start + size)])
        loop.push(small=[flo.delete(key) for key in range(start, start + size)])
    assert loop.state[0] <= 4 * size
    assert loop.result()["small"].num_rows == 0


def test_a_state_without_rows_is_the_first_one():
    assert Current(()) == Current(("id",))


def test_it_resumes(tmp_path):
    def begun():
        flow = flo.Flow("small")
        flow.output("small", flow.table("small", Small, key="id"))
        return flow.on(flo.here).loop()

    loop = begun()
    loop.push(small=[Small(1, 1), Small(2, 2), flo.delete(2)])
    loop.checkpoint(tmp_path)
    again = begun()
    again.restore(tmp_path)
    again.push(small=[Small(1, 3), flo.delete(2)])
    assert again.result()["small"].to_pylist() == [{"id": 1, "value": 3, "_weight": 1}]
