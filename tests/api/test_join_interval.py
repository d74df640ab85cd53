"""Interval joins: the join of the rows that were not late, whatever came first, with state that the clocks bound."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo
from flo.tables.operators.interval_joins import IntervalTables
from flo.values.operators.interval_joins import IntervalJoin
from tests.quick import is_thorough
from tests.rescaling import rescale
from tests.spark.simulated import Simulated


class Click(NamedTuple):
    user: str
    at: int


class Sale(NamedTuple):
    user: str
    sold: int


def joined(low: int = 0, high: int = 30, lateness: int = 0, *, bounded: bool = False) -> flo.Flow:
    flow = flo.Flow("interval")
    clicks = flow.input("clicks", flo.Sequence[Click], bounded=bounded).clock("at", lateness)
    sales = flow.input("sales", flo.Partitioned[Sale], partitions=1, bounded=bounded).clock("sold", lateness)
    flow.output("pairs", clicks.rows.join_interval(sales.rows, on="user", between=(low, high)))
    flow.output("late", clicks.late)
    return flow


def rows_of(rng: random.Random, kind: Any, length: int) -> list[Any]:
    time, found = 0, []
    for _ in range(length):
        time += rng.choice([0, 1, 3, 9])
        found.append(kind(rng.choice("abc"), time - rng.choice([0, 0, 0, 2, 4, 9])))
    return found


def on_time(rows: list[Any], lateness: int) -> list[Any]:
    return [row for place, row in enumerate(rows) if row[1] >= max(each[1] for each in rows[: place + 1]) - lateness]


def expected(clicks: list[Click], sales: list[Sale], low: int, high: int, lateness: int) -> Counter[Any]:
    """All pairs of rows that were not late."""
    every = [(x, y) for x in on_time(clicks, lateness) for y in on_time(sales, lateness)]
    return Counter((x.user, x.at, y.sold) for x, y in every if x.user == y.user and low <= y.sold - x.at <= high)


def cut(rng: random.Random, clicks: list[Click], sales: list[Sale]) -> list[dict[str, Any]]:
    parts, place, other = [], 0, 0
    while place < len(clicks) or other < len(sales):
        more, others = rng.randint(0, 6), rng.randint(0, 6)
        parts.append({"clicks": clicks[place : place + more], "sales": {0: sales[other : other + others]}})
        place, other = place + more, other + others
    return parts


def pairs_in(found: Any) -> Counter[Any]:
    if not hasattr(found, "to_pylist"):
        return Counter({tuple(row): weight for row, weight in found.items()})
    counted: Counter[Any] = Counter()
    for row in found.to_pylist():
        counted[row["user"], row["at"], row["sold"]] += row["_weight"]
    return counted


@pytest.mark.parametrize("seed", range(200 if is_thorough() else 5))
def test_pairs_are_those_of_the_rows_that_were_not_late(seed: int, tmp_path: Path) -> None:
    """However the data is cut, on values, on tables, and in tasks with other shards from the middle on."""
    rng = random.Random(seed)
    low = rng.choice([-20, -3, 0, 2])
    high, lateness = low + rng.choice([0, 3, 20]), rng.choice([0, 3])
    flow = joined(low, high, lateness, bounded=rng.random() < 0.3)
    clicks, sales = rows_of(rng, Click, 30), rows_of(rng, Sale, 30)
    pairs = expected(clicks, sales, low, high, lateness)
    loop, tables = flow.loop(), flow.on(flo.here).loop()
    for part in cut(rng, clicks, sales):
        loop.push(**part)
        loop.run()
    for part in cut(rng, clicks, sales):
        tables.push(**part)
    assert pairs_in(loop.peek("pairs")) == pairs
    assert pairs_in(tables.result()["pairs"]) == pairs
    if seed % 5:
        return
    query, parts = Simulated(flow, tmp_path, 3, seed=seed), cut(rng, clicks, sales)
    for number, part in enumerate(parts):
        if number == len(parts) // 2:
            rescale(str(tmp_path), 2)
            query = Simulated(flow, tmp_path)
        given = {name: rows for name, rows in part.items() if rows and rows != {0: []}}
        query.turn(given, ends=number == len(parts) - 1)
    assert pairs_in(query.values()["pairs"]) == pairs


@pytest.mark.thorough
def test_no_schedule_and_no_cut_has_another_outcome() -> None:
    given: dict[str, Any] = {"clicks": [Click("a", 1), Click("a", 9)], "sales": {0: [Sale("a", 2), Sale("a", 10)]}}
    assert len(joined(0, 2).explore(**given).outcomes) == 1


def kept_in(running: Any) -> int:
    """The rows that the join keeps."""
    (join,) = (node.operator for node in running if isinstance(node.operator, (IntervalJoin, IntervalTables)))
    if isinstance(join, IntervalTables):
        return join.left.rows + join.right.rows
    return sum(len(rows) for side in (join.left, join.right) for rows in side.to_dict().values())


@pytest.mark.parametrize("on_tables", [False, True])
@pytest.mark.every(test=2)
def test_state_is_what_the_clocks_still_allow(on_tables: bool) -> None:
    flow, most = joined(0, 30), 0
    loop: Any = flow.on(flo.here).loop() if on_tables else flow.loop()
    for start in range(0, 4000, 20):
        loop.push(
            clicks=[Click("a", start + n) for n in range(20)], sales={0: [Sale("b", start + n) for n in range(20)]}
        )
        if not on_tables:
            loop.run()
        most = max(most, kept_in(loop._loop.nodes))
    assert most <= (400 if on_tables else 80)


def test_the_form_on_tables_is_used_and_resumes(tmp_path: Path) -> None:
    flow = joined()
    loop = flow.on(flo.here).loop()
    loop.push(clicks=[Click("a", 10)], sales={0: [Sale("a", 5)]})
    again = flow.on(flo.here).loop()
    loop.checkpoint(tmp_path)
    again.restore(tmp_path)
    again.push(sales={0: [Sale("a", 40), Sale("a", 41)]})
    assert pairs_in(again.result()["pairs"]) == Counter({("a", 10, 40): 1})
    assert any(isinstance(node.operator, IntervalTables) for node in loop._loop.nodes)


class Seen(NamedTuple):
    user: str | None
    at: datetime


class Weighed(NamedTuple):
    user: str
    at: float


def test_times_and_null_keys() -> None:
    flow, start = flo.Flow("times"), datetime(2026, 1, 1)
    seen = flow.input("seen", flo.Sequence[Seen]).clock("at")
    minute = timedelta(minutes=1)
    flow.output("pairs", seen.rows.join_interval(seen.rows, "user", (minute, 2 * minute)))
    rows = [Seen(user, start + number * minute) for number in range(3) for user in ("a", None)]
    found = flow.run(seen=rows)["pairs"]
    assert sorted((row.at - start) // minute for row in found.elements()) == [0, 0, 1]
    assert {row.user for row in found} == {"a"}
    assert flow.on(flo.here).run(seen=rows)["pairs"].num_rows == 3


@pytest.mark.parametrize("seed", range(5))
def test_floats_are_compared_alike_on_both_sides(seed: int) -> None:
    rng, flow = random.Random(seed), flo.Flow("floats")
    one = flow.input("one", flo.Sequence[Weighed]).clock("at", 1000)
    other = flow.input("other", flo.Sequence[Weighed]).clock("at", 1000)
    flow.output("pairs", one.rows.join_interval(other.rows, "user", (0.1, 0.3)))
    loop, tables = flow.loop(), flow.on(flo.here).loop()
    for _ in range(20):
        given = {name: [Weighed("a", rng.randint(0, 30) * 0.1) for _ in range(3)] for name in ("one", "other")}
        loop.push(**given)
        loop.run()
        tables.push(**given)
    found = Counter[Any]()
    for row in tables.result()["pairs"].to_pylist():
        found[row["user"], row["at"], row["at_right"]] += row["_weight"]
    assert found == Counter({tuple(row): weight for row, weight in loop.peek("pairs").items()})


def test_explain_says_what_bounds_it() -> None:
    _, _, state = joined().explain().partition("\nstate\n")
    first, *_ = (line for line in state.splitlines() if "join_interval(" in line)
    assert "the clock" in first


def test_what_is_rejected() -> None:
    flow = flo.Flow("rejected")
    clicks = flow.input("clicks", flo.Sequence[Click])
    clock, sales = clicks.clock("at"), flow.input("sales", flo.Sequence[Sale]).clock("sold")
    for rows in (clicks, clock.rows.map(lambda click: click), clock.late):
        with pytest.raises(flo.TypeMismatch, match="needs the clock of"):
            rows.join_interval(sales.rows, "user", (0, 1))
    for between, message in (
        (5, "must be two spans of time"),
        ((0, 1.5), "must be two integers"),
        ((timedelta(0), timedelta(1)), "must be two integers"),
        ((3, 1), "the smaller bound first"),
    ):
        with pytest.raises(flo.TypeMismatch, match=message):
            clock.rows.join_interval(sales.rows, "user", between)  # type: ignore[arg-type]
    seen = flow.input("seen", flo.Sequence[Seen]).clock("at")
    with pytest.raises(flo.TypeMismatch, match="compares the times of both sides, which are int and datetime"):
        clock.rows.join_interval(seen.rows, "user", (0, 1))


class Dated(NamedTuple):
    user: str
    at: datetime


class At:
    """A function whose type is not known."""

    def __call__(self, row: Any) -> Any:
        return row.at


@pytest.mark.parametrize(
    ("kind", "row", "dated"),
    [
        (Click, Click("ada", 3), Dated("ada", datetime(2026, 1, 1))),
        (Dated, Dated("ada", datetime(2026, 1, 1)), Dated("ada", datetime(2026, 1, 1, tzinfo=UTC))),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_times_of_two_kinds_are_never_compared(kind: Any, row: Any, dated: Dated, first: int) -> None:
    """Functions whose types are not known, or do not tell the zone, do not tell them apart."""
    flow = flo.Flow("kinds")
    left, right = flow.input("left", flo.Sequence[kind]), flow.input("right", flo.Sequence[Dated])
    sides = [each.clock(At()) for each in (left, right)]
    flow.output("pairs", sides[0].rows.join_interval(sides[1].rows, on="user", between=(0, 0)))
    loop = flow.loop()
    pushes: list[dict[str, Any]] = [{"left": [row]}, {"right": [dated]}]
    loop.push(**pushes[first])
    loop.run()
    loop.push(**pushes[1 - first])
    with pytest.raises(flo.FunctionError, match="cannot be compared with earlier ones"):
        loop.run()
