"""`retain`: its results do not depend on what comes first, and the state behind it stays bounded."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from flo.shards.checkpoint.inspect import Checkpoint
from tests.api.test_window_columns import TIMES, counted, row_of
from tests.rescaling import rescale
from tests.spark.simulated import Simulated


class Click(NamedTuple):
    user: str
    at: int


class Sale(NamedTuple):
    user: str
    at: int
    price: int


def clicks_of(flow: flo.Flow, keep: Any = None) -> Any:
    clicks, ticks = flow.input("clicks", flo.ZSet[Click]), flow.input("ticks", flo.Sequence[int])
    return clicks.retain("at", ticks.fold_lattice(flo.Max(int)), keep)


def test_every_schedule_has_one_outcome() -> None:
    """Whichever of rows and clock comes first, and in whatever parts."""
    flow = flo.Flow("clicks")
    kept = clicks_of(flow, 2)
    flow.output("users", kept.select("user").distinct())
    flow.output("expired", kept.expired)
    found = flow.explore(clicks={Click("a", 1): 1, Click("a", 5): 1, Click("b", 3): -1}, ticks=[4, 6])
    assert len(found.outcomes) == 1


@pytest.mark.every(check=3, test=2)
@pytest.mark.parametrize("name", [name for name in TIMES if name != "large int"])
def test_it_is_a_filter_after_every_delta(name: str) -> None:
    """On values and on tables, for times of every type, with rows that are taken back."""
    row, (_, places, (_, every)) = row_of(name), TIMES[name]
    times = [place for place in places if place is not None]
    flow = flo.Flow("clicks")
    clock = flow.input("ticks", flo.Bag[type(times[0])]).fold_lattice(flo.Max(type(times[0])))
    if name == "zoned":
        flow = flo.Flow("clicks")
        clock = flow.input("ticks", flo.Bag[row]).fold_lattice(flo.Max(TIMES[name][0]), "at")
    kept = flow.input("clicks", flo.ZSet[row]).retain("at", clock, every)
    flow.output("kept", kept)
    flow.output("expired", kept.expired)
    rng, total, mark = random.Random(name), Counter[Any](), None
    loops = [flow.loop(), flow.on(flo.here).loop()]
    for _ in range(15):
        delta = Counter[Any]()
        for _ in range(rng.randint(0, 5)):
            delta[row(rng.choice(["ann", None]), rng.choice(places), rng.randrange(3))] += rng.choice([1, 2])
        for each in rng.sample(sorted(total, key=repr), min(len(total), rng.randint(0, 3))):
            delta[each] -= total[each]
        total = Counter({each: count for each in total | delta if (count := total[each] + delta[each])})
        ticks = [rng.choice(times)] if rng.random() < 0.4 else []
        mark = max([counted(tick) for tick in ticks] + ([] if mark is None else [mark]), default=None)
        gone = {
            each for each in total if each.at is None or (mark is not None and counted(each.at) < mark - counted(every))
        }
        for loop in loops:
            loop.push(clicks=dict(delta), ticks=[row(None, tick, 0) for tick in ticks] if name == "zoned" else ticks)
            loop.run()
        for output, expected in (("kept", total.keys() - gone), ("expired", gone)):
            wanted = {tuple(map(counted, each)): total[each] for each in expected}
            assert {tuple(map(counted, each)): n for each, n in loops[0].result()[output].items()} == wanted
            rows = [[*each.values()] for each in loops[1].result()[output].to_pylist()]
            found = Counter[Any]()
            for *values, weight in rows:
                found[tuple(map(counted, values))] += weight
            assert {each: n for each, n in found.items() if n} == wanted


def bounded_flow() -> flo.Flow:
    """A join, an aggregate that keeps values, and sessions: each of them would keep all rows."""
    flow = flo.Flow("clicks")
    kept = clicks_of(flow, 50)
    sales = flow.input("sales", flo.ZSet[Sale])
    clock = flow.input("sold", flo.Sequence[int]).fold_lattice(flo.Max(int))
    flow.output("joined", kept.join(sales.retain("at", clock, 50), on="user").agg(n=flo.count()))
    flow.output("users", kept.group_by("user").agg(n=flo.count_distinct("at")).agg(n=flo.count()))
    flow.output("sessions", kept.session(5, "at", by="user").agg(n=flo.count_distinct("window_start")))
    return flow


def parts(number: int) -> dict[str, Any]:
    at = range(10 * number, 10 * number + 10)
    clicks = {Click(f"u{time % 3}", time): 1 for time in at}
    return {"clicks": clicks, "ticks": [at[-1]], "sales": {Sale("u1", at[0], number): 1}, "sold": [at[0]]}


def test_state_is_bounded_on_tables() -> None:
    flow = bounded_flow()
    assert "grows with its input" not in flow.explain()
    loop = flow.on(flo.here).loop()
    sizes = []
    for number in range(40):
        loop.push(**parts(number))
        for output in ("joined", "users", "sessions"):
            loop.pull(output)
        sizes.append(loop.state[0])
    assert max(sizes[25:]) <= max(sizes[5:25])


@pytest.mark.slow
def test_state_is_bounded_in_shards(tmp_path: Path) -> None:
    """The rows in the states of all shards, as `flo state show` counts them, also when they are cut anew."""
    flow, where = bounded_flow(), str(tmp_path)
    query, on_values = Simulated(flow, where, shards=2), flow.loop()
    sizes, started = [], dict.fromkeys(parts(0), 0)
    for number in range(13):
        given = parts(number)
        on_values.push(**given)
        query.turn(given, started=started)
        started = {name: start + len(given[name]) for name, start in started.items()}
        if number in (6, 12):
            checkpoint = Checkpoint(where)
            found = list(checkpoint.sizes(checkpoint.versions()[-1]))
            sizes.append(sum(each.rows for each in found))
            bounds = {each.bound for each in found if each.rows}
            assert bounds <= {"the rows that the clock has not passed", "its rows", "one value"}
        if number == 8:
            rescale(where, 3)
            query = Simulated(flow, where)
    assert max(sizes) < 500
    on_values.run()
    assert query.values() == dict(on_values.result())


def test_the_clock_of_a_stream() -> None:
    """A clock that follows other rows, with its lateness."""
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Sequence[Click])
    clock = clicks.clock("at", lateness=5)
    kept = clock.rows.to_zset().retain("at", clock, 10)
    flow.output("kept", kept)
    found = flow.run(clicks=[Click("a", 1), Click("a", 30), Click("a", 20), Click("a", 26)])
    assert found["kept"] == {Click("a", 30): 1, Click("a", 26): 1}


@pytest.mark.parametrize(
    ("clock", "keep", "said"),
    [
        (flo.Max(str), None, "compares the times of rows, int, with the clock"),
        (flo.Min(int), None, "must be a clock, an LVar of Max"),
        (flo.Max(int), timedelta(1), "`keep` of `retain` must be an integer ≥ 0"),
        (flo.Max(int), -1, "`keep` of `retain` must be an integer ≥ 0"),
    ],
)
def test_what_does_not_fit_is_rejected(clock: Any, keep: Any, said: str) -> None:
    flow = flo.Flow("clicks")
    clicks, ticks = flow.input("clicks", flo.ZSet[Click]), flow.input("ticks", flo.Sequence[Any])
    with pytest.raises(flo.FloError, match=said):
        clicks.retain("at", ticks.fold_lattice(clock), keep)


@pytest.mark.parametrize("where", ["values", "tables"])
def test_a_clock_with_a_zone_beside_rows_without(where: str) -> None:
    row = flo.rows(NamedTuple("Seen", [("at", datetime)]))
    flow = flo.Flow("seen")
    clock = flow.input("ticks", flo.Bag[row]).map(lambda each: each.at.replace(tzinfo=UTC)).fold_lattice(flo.Max())
    flow.output("kept", flow.input("rows", flo.ZSet[row]).retain("at", clock))
    with pytest.raises(flo.FloError, match="without a zone"):
        (flow if where == "values" else flow.on(flo.here)).run(ticks=[row(datetime(2024, 1, 1))], rows=[])


def test_the_zone_of_a_clock_is_compared_with_that_of_rows_when_the_program_is_built() -> None:
    plain = flo.rows(NamedTuple("Plain", [("at", datetime)]))
    zoned = flo.rows(NamedTuple("Zoned", [("at", Annotated[datetime, pa.timestamp("us", "UTC")])]))
    for rows, ticks, said in (
        (plain, zoned, "rows, without a zone, with the clock .*, whose times are with a zone"),
        (zoned, plain, "rows, with a zone, with the clock .*, whose times are without a zone"),
    ):
        flow = flo.Flow("seen")
        clock = flow.input("ticks", flo.Sequence[ticks]).clock("at")
        with pytest.raises(flo.TypeMismatch, match=said):
            flow.input("rows", flo.ZSet[rows]).retain("at", clock)


class At:
    """A function whose type is not known."""

    def __call__(self, row: Any) -> Any:
        return row.at


@pytest.mark.parametrize("where", ["values", "tables"])
def test_a_clock_of_dates_beside_rows_whose_times_are_numbers(where: str) -> None:
    """A function whose type is not known does not tell them apart."""
    tick = flo.rows(NamedTuple("Tick", [("at", datetime)]))
    flow = flo.Flow("seen")
    clock = flow.input("ticks", flo.Sequence[tick]).clock(At())
    flow.output("kept", flow.input("clicks", flo.ZSet[Click]).retain("at", clock))
    with pytest.raises(flo.ElementError, match="its rows have numbers as times"):
        (flow if where == "values" else flow.on(flo.here)).run(ticks=[tick(datetime(2024, 1, 1))], clicks=[])
