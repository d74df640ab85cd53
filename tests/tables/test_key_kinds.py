"""Keys and groups of every kind: joins, distinct, aggregates and top-k on tables take them as values do."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pyarrow as pa
import pytest

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.stream_type import StreamType
from flo.values.operators.zset_joins import AntiJoin, FullJoin, Join
from flo.values.operators.zset_ranking import TopK
from flo.values.operators.zsets import Distinct
from flo.values.weighted import ZSet
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding, whole_deltas

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas():
    yield from whole_deltas()


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    S = 1
    L = 2


class Pair(NamedTuple):
    left: int | None
    right: str


@dataclass(frozen=True)
class Spot:
    x: int
    name: str | None


KINDS: dict[Any, list[Any]] = {
    int: [0, -1, 2**63 - 1],
    int | None: [None, 0, 1],
    float: [0.0, -0.0, math.nan, math.inf, 1.5],
    float | None: [None, 0.0, math.nan],
    bool: [True, False],
    str: ["", "a", "ä" * 30],
    str | None: [None, "", "None"],
    bytes: [b"", b"\0", b"\0\0"],
    Decimal: [Decimal("1.5"), Decimal(0), Decimal(-(10**18))],
    Annotated[Decimal, pa.decimal128(10, 2)]: [Decimal("1.50"), Decimal("-0.01")],
    date: [date(1, 1, 1), date(2024, 2, 29)],
    datetime: [datetime(2024, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)],
    Annotated[datetime, pa.timestamp("us", "UTC")]: [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2)],
    time: [time(0), time(23, 59, 59, 999999)],
    timedelta: [timedelta(0), timedelta(-1), timedelta(1, 2, 3)],
    UUID: [UUID(int=0), UUID(int=2**128 - 1)],
    Colour: list(Colour),
    Size | None: [None, *Size],
    Literal["x", "y"]: ["x", "y"],
    tuple[int, ...]: [(), (0,), (0, 0)],
    tuple[str | None, ...]: [(), (None,), ("",), (None, None)],
    tuple[int, float]: [(1, math.nan), (1, 0.0), (1, -0.0)],
    tuple[tuple[int, str | None], bool]: [((1, None), True), ((1, ""), True), ((1, None), False)],
    tuple[tuple[int, ...], ...]: [(), ((),), ((1,),), ((1,), ())],
    Pair: [Pair(None, ""), Pair(0, ""), Pair(0, "a")],
    Pair | None: [None, Pair(None, "")],
    Spot: [Spot(1, None), Spot(1, ""), Spot(2, None)],
    type(None): [None],
}


def key_of(kind: Any) -> Any:
    def key(row):
        return row[0]

    key.__annotations__ = {"return": kind}
    return key


def number(row: tuple[Any, int]) -> int:
    return row[1]


def grouped(element: Any, key: Any) -> Any:
    flow = flo.Flow("groups")
    rows = flow.input("rows", ZSet[element])
    flow.output("found", rows.group_by(key=key).agg(n=flo.count(), sum=flo.sum("1"), most=flo.max("1")))
    return flow.graph()


def operators(kind: Any, on: Any) -> list[tuple[Any, int]]:
    """Those that find rows by key, and how many inputs they have."""
    return [
        (Join(on, on), 2),
        (AntiJoin(on, on), 2),
        (FullJoin(on, on), 2),
        (Distinct(), 1),
        (grouped(tuple[kind, int], "0" if isinstance(on, Expression) else on), 1),
        (TopK(1, number, on), 1),
    ]


def rows_of(kind: Any, rng: random.Random) -> dict[Any, int]:
    some = [(rng.choice(KINDS[kind]), rng.randrange(3)) for _ in range(rng.randrange(6))]
    return {row: rng.choice([1, 1, 2, -1]) for row in some}


@pytest.mark.every(test=2)
@pytest.mark.parametrize("way", ["by column", "by function", "numbers collide"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_as_on_values(kind, way, monkeypatch):
    if way == "by function" and "tz=" in str(kind):
        pytest.skip("what a function says it returns does not say the zone")
    element = tuple[kind, int]
    on = key_of(kind) if way == "by function" else Expression("0", (Layout.of(element),))
    if way == "numbers collide":
        colliding(monkeypatch)
    rng = random.Random(str(kind))
    for operator, sides in operators(kind, on):
        types = (StreamType(ZSet(element), bounded=False),) * sides
        if not (isinstance(operator, TopK) and "Decimal" in str(kind)):  # whose texts columns do not keep
            assert forms(on_tables(operator, types)[0]), operator
        chunks = [tuple(rows_of(kind, rng) for _ in range(sides)) for _ in range(3)]
        agree(operator, types, chunks, seeds=1)
