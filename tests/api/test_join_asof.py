"""`join_asof`: the nearest row of another z-set, as DuckDB finds it after every delta, on every engine."""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.tables.values import layout_of
from flo.values.canonical import canonical_element
from tests.api import window_oracle
from tests.engines.engine import comparable

pytestmark = pytest.mark.every(check=5)

START = datetime(2024, 10, 27, tzinfo=UTC)
Zoned = Annotated[datetime, pa.timestamp("us", "Europe/Berlin")]
PLACES: dict[str, tuple[Any, list[Any]]] = {
    "int": (int | None, [None, 0, 1, 2**62, 2**62 + 1, -(2**63)]),
    "float": (float | None, [None, -0.0, 0.0, math.nan, math.inf, 0.1]),
    "str": (str | None, [None, "", "a", "ä", "z", "\U0001f600"]),
    "decimal": (Annotated[Decimal, pa.decimal128(38, 6)] | None, [None, Decimal("1.5"), Decimal(10**20), Decimal(-1)]),
    "zoned": (Zoned | None, [None, *(START + timedelta(minutes=30 * n) for n in range(5))]),
    "date": (date | None, [None, date(2024, 2, 29), date(1970, 1, 1), date(2024, 3, 1)]),
}
BY = [None, "eur", "ä"]


def rows_of(name: str) -> tuple[Any, Any]:
    kind = PLACES[name][0]
    bid = flo.rows(NamedTuple("Bid", [("at", kind), ("currency", str | None), ("price", int)]))
    rate = flo.rows(NamedTuple("Rate", [("at", kind), ("currency", str | None), ("rate", float | None)]))
    return bid, rate


def exchange(name: str, **options: Any) -> flo.Flow:
    bid, rate = rows_of(name)
    flow = flo.Flow("exchange")
    bids, rates = flow.input("bids", flo.ZSet[bid]), flow.input("rates", flo.ZSet[rate])
    flow.output("priced", bids.join_asof(rates, on="at", by="currency", **options))
    return flow


def changes(name: str, rng: random.Random, there: list[Counter[Any]]) -> dict[str, dict[Any, int]]:
    """A delta that takes back only what is there."""
    found = {}
    for kind, side, total in zip(rows_of(name), ("bids", "rates"), there, strict=True):
        delta: Counter[Any] = Counter()
        for _ in range(rng.randint(0, 5)):
            last = rng.choice([None, 1.5, math.nan]) if side == "rates" else rng.randrange(3)
            row = kind(rng.choice(PLACES[name][1]), rng.choice(BY), last)
            delta[canonical_element(row)] += rng.choice([1, 2])
        for row in rng.sample(sorted(total, key=repr), min(len(total), rng.randint(0, 3))):
            delta[row] -= total[row]
        found[side] = dict(delta)
        total.update(delta)
        for row in [row for row, count in total.items() if not count]:
            del total[row]
    return found


def asked(name: str, there: list[Counter[Any]], direction: str, how: str) -> Counter[str]:
    """What DuckDB gives. Of equal places it takes any right row, so it gets the largest one."""
    connection = window_oracle.connection()
    for side, kind, total in zip(("bids", "rates"), rows_of(name), there, strict=True):
        rows = [row for row, count in total.items() for _ in range(count)]
        connection.register(side, layout_of(flo.ZSet(kind)).to_table(rows))
    compares, kind = {"backward": ">=", "forward": "<="}[direction], {"left": "LEFT", "inner": ""}[how]
    found = connection.execute(
        f"""SELECT bids."at", bids.currency, price, best."at", rate FROM bids ASOF {kind} JOIN (
                SELECT * FROM rates QUALIFY row_number() OVER (
                    PARTITION BY "at", currency ORDER BY rate DESC NULLS LAST) = 1) AS best
            ON bids.currency = best.currency AND bids."at" {compares} best."at" """
    ).fetchall()
    return Counter(repr(comparable(row)) for row in found)


@pytest.mark.every(test=3)
@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize("direction", ["backward", "forward"])
@pytest.mark.parametrize("name", PLACES)
def test_it_is_duckdbs_after_every_delta(name: str, direction: str, how: str) -> None:
    rng, there = random.Random(f"{name}{direction}{how}"), [Counter[Any](), Counter[Any]()]
    flow = exchange(name, direction=direction, how=how)
    assert "1 on tables" in flow.on(flo.here).explain()
    on_values, on_tables = flow.loop(), flow.on(flo.here).loop()
    for _ in range(15):
        delta = changes(name, rng, there)
        expected = asked(name, there, direction, how)
        for loop in (on_values, on_tables):
            loop.push(**delta)
            loop.run()
        found = {repr(comparable(tuple(row))): n for row, n in on_values.result()["priced"].items()}
        assert found == expected
        table = on_tables.result()["priced"].to_pylist()
        tables = Counter[str]()
        for row in table:
            *values, weight = row.values()
            tables[repr(comparable(tuple(values)))] += weight
        assert tables == expected


@pytest.mark.sampled(spark=())
@pytest.mark.parametrize("direction", ["backward", "forward"])
def test_every_engine_agrees(engine: Any, direction: str) -> None:
    """With keys under other names, of two columns, and rows taken back."""
    bid, rate = rows_of("zoned")
    flow = flo.Flow("exchange")
    bids = flow.input("bids", flo.ZSet[bid])
    rates = flow.input("rates", flo.ZSet[rate]).map(
        {"unit": "currency", "since": "at", "rate": "rate", "one": nw.lit(1)}
    )
    more = bids.map({"at": "at", "currency": "currency", "one": nw.lit(1)})
    options: dict[str, Any] = {"other_on": "since", "other_by": ["unit", "one"], "direction": direction}
    flow.output("priced", more.join_asof(rates, on="at", by=["currency", "one"], **options))
    flow.output("nearest", bids.join_asof(bids, on="at", suffix="_other", how="inner", direction=direction))
    rng, there = random.Random(3), [Counter[Any](), Counter[Any]()]
    for _ in range(6):
        changes("zoned", rng, there)
    data = {"bids": dict(there[0]), "rates": dict(there[1])}
    expected = {name: comparable(value) for name, value in flow.run(**data).items()}
    for parts in engine.cuts:
        assert engine.run(flow, data, parts=parts) == expected


@pytest.mark.parametrize(
    ("one", "other", "places"),
    [
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Berlin"), [START, START + timedelta(hours=1)]),
        (pa.int32(), pa.int64(), [-5, 0, 2**31 - 1]),
        (pa.float32(), pa.float64(), [-0.5, 0.0, math.inf, math.nan]),
    ],
)
def test_places_of_alike_types(one: Any, other: Any, places: list[Any]) -> None:
    flow = flo.Flow("alike")
    left = flow.input("left", flo.ZSet[flo.rows(pa.schema([("at", one), ("x", pa.int64())]))])
    right = flow.input("right", flo.ZSet[flo.rows(pa.schema([("at", other), ("y", pa.int64())]))])
    for direction in ("backward", "forward"):
        flow.output(direction, left.join_asof(right, on="at", direction=direction))  # type: ignore[arg-type]
    assert "2 on tables" in flow.on(flo.here).explain()
    rights = [{"at": at, "y": n} for n, at in enumerate(places) if n % 2 == 0]
    data = {"left": [{"at": at, "x": n} for n, at in enumerate(places)], "right": rights}
    expected, tables = flow.run(**data), flow.on(flo.here).run(**data)
    for name, rows in expected.items():
        found = sorted(repr(comparable(list(row.values())[:-1])) for row in tables[name].to_pylist())
        assert found == sorted(repr(comparable(tuple(row))) for row in rows)


class Bid(NamedTuple):
    at: int
    currency: str
    at_right: int


class Rate(NamedTuple):
    at: int
    unit: str
    rate: float


def test_the_columns_of_the_result() -> None:
    flow = flo.Flow("exchange")
    bids, rates = flow.input("bids", flo.ZSet[Bid]), flow.input("rates", flo.ZSet[Rate])
    joined = bids.map({"at": "at", "currency": "currency"}).join_asof(
        rates, on="at", by="currency", other_by="unit", suffix="_rate"
    )
    assert joined.collection.element.__annotations__ == {
        "at": int,
        "currency": str,
        "at_rate": int | None,
        "rate": float | None,
    }
    inner = rates.join_asof(rates, on="at", how="inner")
    assert inner.collection.element.__annotations__ == {
        "at": int,
        "unit": str,
        "rate": float,
        "at_right": int,
        "unit_right": str,
        "rate_right": float,
    }


def test_it_keeps_the_key() -> None:
    flow = flo.Flow("exchange")
    bids, rates = flow.table("bids", Bid, key="at"), flow.input("rates", flo.ZSet[Rate])
    assert bids.map({"at": "at"}).key == ("at",)
    kept = flow.table("kept", Rate, key=["at", "unit"]).join_asof(rates, on="at")
    assert kept.key == ("at", "unit")
    flow.output("kept", kept)
    joined = rates.join_asof(bids, on="at", suffix="_bid")
    assert joined.key is None
    flow.output("joined", joined)
    found = flow.run(rates=[Rate(5, "a", 1.5)], bids=[Bid(4, "b", 9)], kept=[])
    assert [tuple(row) for row in found["joined"]] == [(5, "a", 1.5, 4, "b", 9)], "`at` and `at_right` of the other"


def test_every_schedule_has_one_outcome() -> None:
    flow = exchange("int")
    bid, rate = rows_of("int")
    data = {"bids": [bid(1, "eur", 1), bid(3, "eur", 1)], "rates": [rate(0, "eur", 1.5), rate(2, "eur", 2.5)]}
    assert flow.explore(**data).ok
