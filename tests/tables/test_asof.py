"""asof_join on tables gives what it gives on values, and looks at few left rows when right rows change."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression, nullable_layout
from flo.columns.layout import Layout
from flo.core.stream_type import StreamType
from flo.tables.operators import asof
from flo.values.operators.zset_asof import AsOfJoin
from flo.values.weighted import ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding, whole_deltas

pytestmark = pytest.mark.every(test=2)


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas():
    yield from whole_deltas()


class Bid(NamedTuple):
    at: int
    currency: str | None
    when: float | None
    moment: Annotated[datetime, pa.timestamp("us", "UTC")]
    price: Decimal


class Rate(NamedTuple):
    unit: str | None
    at: int
    when: float | None
    moment: Annotated[datetime, pa.timestamp("us", "UTC")]
    rate: tuple[int, ...] | None


START = datetime(2024, 10, 27, tzinfo=UTC)
units = st.sampled_from(["eur", "usd", "ä", None])
whens = st.sampled_from([None, math.nan, -math.inf, -0.0, 0.0, 1.5])
moments = st.sampled_from([START + timedelta(hours=hours) for hours in range(4)])
bids = st.builds(Bid, st.integers(0, 9), units, whens, moments, st.sampled_from([Decimal("1.50"), Decimal(2)]))
rates = st.builds(Rate, units, st.integers(0, 9), whens, moments, st.sampled_from([None, (), (1, 2), (1,)]))
LEFT, RIGHT = Layout.of(Bid), Layout.of(Rate)


def left(columns: Any) -> Expression:
    return Expression(columns, (LEFT,))


def right(columns: Any) -> Expression:
    return Expression(columns, (RIGHT,))


BOTH = {"at": "at", "price": "price", "since": "at_right", "rate": "rate"}
JOINS = {
    "plain": AsOfJoin(left("at"), right("at"), left(("currency",)), right(("unit",))),
    "forward": AsOfJoin(left("at"), right("at"), left(("currency",)), right(("unit",)), forward=True),
    "inner": AsOfJoin(left("when"), right("when"), left(("currency",)), right(("unit",)), inner=True),
    "one group": AsOfJoin(left("moment"), right("moment"), forward=True),
    "into": AsOfJoin(left("at"), right("at"), None, None, Expression(BOTH, (LEFT, nullable_layout(RIGHT)))),
    "computed": AsOfJoin(
        left(nw.col("at") // 2), right(nw.col("at")), left((nw.col("currency"), nw.col("at") % 2)),
        right((nw.col("unit"), nw.col("at") % 2)), Expression(BOTH, (LEFT, RIGHT)), True, True,
    ),
}  # fmt: skip


def weighted(rows: Any) -> Any:
    return st.dictionaries(rows, st.sampled_from([1, 1, 2, -1, -2]), max_size=6)


deltas = st.lists(st.tuples(weighted(bids), weighted(rates)), max_size=4)


@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("collides", [False, True])
def test_it_agrees(name: str, collides: bool) -> None:
    types = (StreamType(ZSet(Bid), True), StreamType(ZSet(Rate), True))

    @tried(15)
    @given(deltas)
    def agrees(chunks: Any) -> None:
        agree(JOINS[name], types, chunks)

    with pytest.MonkeyPatch.context() as patch:
        if collides:
            colliding(patch)
        patch.setattr(asof, "AT_FIRST", 1)
        agrees()


@pytest.mark.parametrize("bounded", [(True, False), (False, True)])
def test_it_agrees_when_one_side_has_ended(bounded: tuple[bool, bool]) -> None:
    types = (StreamType(ZSet(Bid), bounded[0]), StreamType(ZSet(Rate), bounded[1]))

    @tried(15)
    @given(deltas)
    def agrees(chunks: Any) -> None:
        agree(JOINS["plain"], types, chunks)

    agrees()


@pytest.mark.parametrize("name", JOINS)
def test_it_runs_on_tables(name: str) -> None:
    types = (StreamType(ZSet(Bid), False), StreamType(ZSet(Rate), False))
    assert [type(form) for form in forms(on_tables(JOINS[name], types)[0])] == [asof.AsOfTables]


class Small(NamedTuple):
    at: int
    key: int


def pairs(**options: Any) -> flo.Flow:
    flow = flo.Flow("pairs")
    lefts, rights = flow.input("lefts", flo.ZSet[Small]), flow.input("rights", flo.ZSet[Small])
    flow.output("pairs", lefts.join_asof(rights, on="at", by="key", **options))
    return flow


@pytest.mark.parametrize("direction", ["backward", "forward"])
def test_only_rows_up_to_the_next_match_are_looked_at(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = pairs(direction=direction).on(flo.here).loop(negative="allow")
    loop.push(lefts=pa.table({"at": range(20_000), "key": [0] * 20_000}))
    loop.push(rights=pa.table({"at": range(0, 20_000, 10), "key": [0] * 2_000}))
    loop.pull("pairs")
    looked = []
    match = asof.AsOfTables._match

    def counting(self: Any, rows: Any, *more: Any) -> Any:
        looked.append(rows.rows)
        return match(self, rows, *more)

    monkeypatch.setattr(asof.AsOfTables, "_match", counting)
    loop.push(rights={Small(10_005, 0): 1})
    assert loop.pull("pairs").num_rows == 10
    assert sum(looked) <= 20
    loop.push(rights={Small(10_005, 0): -1, Small(5_000, 0): -1})
    assert loop.pull("pairs").num_rows == 30
    assert sum(looked) <= 80


def test_keys_with_one_number_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of another key, whose match lies beyond, says nothing of those that follow."""
    colliding(monkeypatch)
    monkeypatch.setattr(asof, "AT_FIRST", 1)
    loop = pairs().on(flo.here).loop()
    loop.push(rights=[Small(1, 3)])
    loop.push(lefts=[Small(1, 3), Small(2, 1), Small(2, 5)])
    loop.push(rights=[Small(0, 1), Small(0, 5)])
    found = {(row["key"], row["at_right"]): row["_weight"] for row in loop.result()["pairs"].to_pylist()}
    assert found == {(3, 1): 1, (1, 0): 1, (5, 0): 1}


def test_rows_that_were_taken_back_are_passed_by() -> None:
    """Many of them, which no run has added up yet."""
    loop = pairs().on(flo.here).loop(negative="allow")
    loop.push(rights=[Small(at, 0) for at in range(5_000)])
    loop.push(rights={Small(at, 0): -1 for at in range(1, 2_000)})
    loop.push(lefts=[Small(1_999, 0)])
    assert loop.pull("pairs").to_pylist() == [{"at": 1_999, "key": 0, "at_right": 0, "_weight": 1}]


def test_what_no_longer_matters_is_not_kept() -> None:
    flow = flo.Flow("pairs")
    lefts = flow.input("lefts", flo.ZSet[Small])
    rights = flow.input("rights", flo.ZSet[Small], bounded=True)
    flow.output("pairs", lefts.join_asof(rights, on="at", by="key"))
    loop = flow.on(flo.here).loop()
    loop.push(rights=[Small(1, 0), Small(1, 1)])
    loop.end("rights")
    loop.push(lefts=[Small(at, at % 2) for at in range(100)])
    assert loop.state[0] == 2


def test_it_resumes(tmp_path: Any) -> None:
    rng = random.Random(5)

    def change() -> Any:
        return {Small(rng.randrange(30), rng.randrange(3)): rng.choice([1, 1, -1]) for _ in range(8)}

    changes = [{"lefts": change(), "rights": change()} for _ in range(12)]
    whole = pairs().on(flo.here).loop(negative="allow")
    part = pairs().on(flo.here).loop(negative="allow")
    for place, each in enumerate(changes):
        whole.push(**each)
        part.push(**each)
        if place == 5:
            part.checkpoint(tmp_path)
            part = pairs().on(flo.here).loop(negative="allow")
            part.restore(tmp_path)
    ordered = [("at", "ascending"), ("key", "ascending"), ("at_right", "ascending")]
    assert part.result()["pairs"].sort_by(ordered) == whole.result()["pairs"].sort_by(ordered)
