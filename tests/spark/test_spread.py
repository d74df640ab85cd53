"""Windows of one sequence in several shards: each has its own windows, and the clock of all of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pytest

import flo
from flo.shards.plan import spread
from flo.spark.on_spark import OnSpark
from tests.rescaling import rescale
from tests.spark.simulated import NO_SPARK, Simulated, agree_simulated, simulated

pytestmark = pytest.mark.every(check=5)


class Event(NamedTuple):
    kind: int
    time: int


def at(event: Event) -> int:
    return event.time


def kind(event: Event) -> int:
    return event.kind


def odd(event: Event) -> bool:
    return event.kind % 2 == 1


def later(event: Event) -> Event:
    return Event(event.kind, event.time + 1)


def windowed(*, bounded: bool = False, lateness: int = 2, prefix: bool = False) -> flo.Flow:
    """Windows that are read in order, without order, through two bodies, as they are, and rows that are late."""
    flow = flo.Flow("windowed")
    events = flow.input("events", flo.Sequence[Event], bounded=bounded)
    if prefix:
        events = events.filter(nw.col("kind") != 2).map(later)
    windows = events.tumbling(4, at, lateness)
    counts = windows.nest(lambda window: window.count())
    by_kind = windows.nest(lambda window: window.key_by(kind).per_key(lambda some: some.count()).entries())
    odds = windows.nest(lambda window: window.filter(odd)).nest(lambda window: window.map(later))
    flow.output("counts", counts.flatten())
    flow.output("streams", counts)
    flow.output("by kind", by_kind.flatten())
    flow.output("odds", odds.flatten())
    flow.output("late", windows.late)
    flow.output("late kinds", windows.late.map(kind).to_bag())
    return flow


def events(rng: random.Random) -> list[Event]:
    """About in the order of time, and some far from it."""
    pace = rng.choice([1, 2, 5])
    return [Event(rng.randint(0, 3), max(0, n // pace + rng.randint(-6, 6))) for n in range(rng.randint(0, 60))]


@pytest.mark.every(test=3)
@pytest.mark.parametrize("seed", range(25))
def test_the_same_windows_and_the_same_late_rows_as_in_one_place(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    flow = windowed(bounded=rng.random() < 0.3, lateness=rng.choice([0, 1, 5]), prefix=rng.random() < 0.5)
    options = {"parts": rng.randint(1, 5), "shards": rng.choice([2, 3, 7]), "seed": seed}
    agree_simulated(flow, {"events": events(rng)}, tmp_path, **options)


def test_without_the_rows_that_move_the_clock_the_result_is_another(tmp_path: Path, monkeypatch) -> None:
    """What the test above would find."""
    sent = spread.SpreadWindows.route_rows
    monkeypatch.setattr(spread.SpreadWindows, "route_rows", lambda *given: (sent(*given)[0], np.False_))
    rows = [Event(n % 3, n) for n in range(60)]
    with pytest.raises(AssertionError):
        agree_simulated(windowed(), {"events": rows}, tmp_path, parts=3, shards=3, seed=0)


def test_a_shard_holds_the_rows_of_its_own_windows_alone(tmp_path: Path) -> None:
    rows = [Event(0, n) for n in range(400)]
    query = simulated(windowed(lateness=1000), {"events": rows}, tmp_path, parts=2, shards=4, seed=1)
    waiting = [
        sum(each.opened.rows for each in query.operators(1, shard) if isinstance(each, spread.SpreadWindows))
        for shard in range(4)
    ]
    assert sum(waiting) == 400
    assert min(waiting) > 40


def test_explain_says_so() -> None:
    said = OnSpark(windowed(prefix=True), NO_SPARK).explain()
    before, stage_1, stage_2 = (part.splitlines() for part in said.split("  stage "))
    assert any("filter" in line for line in before)
    assert any("map(later)" in line for line in before)
    assert any("events" in line and "shuffled by window, and the clock to all" in line for line in before)
    assert not any("in one place" in line for line in stage_1)
    assert sum("to one place" in line for line in stage_1) == 3
    assert any("flatten" in line and "in one place" in line for line in stage_2)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda events: events.sliding(4, 2, at), "a row is in more than one"),
        (lambda events: events.flat_map(lambda event: [event]).tumbling(4, at), "it comes from one place"),
    ],
)
def test_what_stays_in_one_place(made, why) -> None:
    flow = flo.Flow("windows")
    windows = made(flow.input("events", flo.Sequence[Event]))
    flow.output("counts", windows.nest(lambda window: window.count()).flatten())
    assert "in one place" in OnSpark(flow, NO_SPARK).explain(), why


def test_windows_that_are_not_read_one_by_one_stay_in_one_place() -> None:
    flow = flo.Flow("windows")
    flow.output("windows", flow.input("events", flo.Sequence[Event]).tumbling(4, at))
    assert "to one place" in OnSpark(flow, NO_SPARK).explain()


def no_time(event: Event) -> int:
    return 10 // event.time


@pytest.mark.parametrize("shards", [1, 3])
def test_a_time_that_cannot_be_told_names_the_operator_and_the_row(tmp_path: Path, shards: int) -> None:
    flow = flo.Flow("windows")
    windows = flow.input("events", flo.Sequence[Event]).tumbling(4, no_time)
    flow.output("counts", windows.nest(lambda window: window.count()).flatten())
    rows = [Event(0, 5), Event(1, 0), Event(2, 7)]
    with pytest.raises(flo.FunctionError) as caught:
        simulated(flow, {"events": rows}, tmp_path, parts=1, shards=shards, seed=0)
    said = str(caught.value)
    assert "the function of `tumbling` raised ZeroDivisionError" in said
    assert "Event(kind=1, time=0)" in said
    assert "test_spread.py" in said


@pytest.mark.parametrize("first", [0, 30])
def test_a_row_before_an_earlier_turn_is_refused_by_every_shard(tmp_path: Path, first: int) -> None:
    """Also where the rows of a shard alone would be in order."""
    query = simulated(windowed(), {"events": [Event(0, n) for n in range(40)]}, tmp_path, parts=1, shards=3, seed=0)
    with pytest.raises(flo.FloError, match=f"{first}.*39|39.*{first}"):
        query.take({"events": [Event(0, 100)]}, started={"events": first})


def with_ends() -> flo.Flow:
    """Windows beside what has ended in one place, or in all: a bounded sequence, a threshold, and a view of streams."""
    flow = flo.Flow("ends")
    live = flow.input("live", flo.Sequence[Event]).tumbling(4, at, 2)
    past = flow.input("past", flo.Sequence[Event], bounded=True)
    totals = live.nest(lambda window: window.map(at).sum()).flatten()
    flow.output("totals", totals)
    flow.output("alarm", totals.fold_lattice(flo.Max(int)).event_when_above(10))
    flow.output("streams", live.nest(lambda window: window.count()))
    flow.output(
        "kinds", live.nest(lambda window: window.to_bag()).flatten().to_zset().group_by("kind").agg(sum=flo.sum("time"))
    )
    flow.output("past", past.map(kind))
    flow.output("past windows", past.tumbling(4, at).nest(lambda window: window.count()).flatten())
    return flow


@pytest.mark.parametrize(("before", "after"), [(1, 3), (2, 3), (3, 1), (5, 2)])
@pytest.mark.every(test=2)
def test_cut_anew_beside_what_has_ended(tmp_path: Path, before: int, after: int) -> None:
    rows = [Event(n % 3, n) for n in range(40)]
    query = Simulated(with_ends(), tmp_path, before)
    query.turn({"live": rows[:20], "past": rows[:9]}, started={"live": 0})
    rescale(str(tmp_path), after + 1)
    rescale(str(tmp_path), after)
    query = Simulated(with_ends(), tmp_path)
    query.turn({"live": rows[20:]}, started={"live": 20})
    expected = with_ends().run(live=rows, past=rows[:9])
    found = query.values()
    assert {name: found[name] for name in expected} == dict(expected)
