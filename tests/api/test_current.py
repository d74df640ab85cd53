"""`current` has one row for each key, and forgets keys behind a clock: with one result on all engines, in all cuts."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo
from flo.program.keys import key_of
from tests.harness import refusal
from tests.quick import times
from tests.rescaling import rescale
from tests.spark.simulated import Simulated, simulated


class Visit(NamedTuple):
    user: int
    at: int


class Visits(NamedTuple):
    count: int
    path: str


def visited(visits: Visits, visit: Visit) -> Visits:
    return Visits(visits.count + 1, visits.path + str(visit.at % 10))


class Ping(NamedTuple):
    device: str
    at: datetime


def count(n: int, ping: Ping) -> int:
    return n + 1


NONE = Visits(0, "")


def by_definition(rows: list[Visit], lateness: int, keep: int) -> tuple[dict[Any, int], Counter[Any]]:
    """The states of the keys, and those that have expired, without any state but the rows."""
    latest, on_time = None, list[Visit]()
    for row in rows:
        latest = row.at if latest is None else max(latest, row.at)
        on_time += [row] if row.at >= latest - lateness else []
    states: dict[int, tuple[Visits, int]] = {}
    expired: Counter[Any] = Counter()
    for row in on_time:
        before, last = states.get(row.user, (NONE, row.at))
        if row.at > last + keep:
            expired[row.user, before] += 1
            before, last = NONE, row.at
        states[row.user] = visited(before, row), max(last, row.at)
    assert latest is not None
    over = {user for user, (_, last) in states.items() if latest - lateness > last + keep}
    expired.update((user, states[user][0]) for user in over)
    return {(user, state): 1 for user, (state, _) in states.items() if user not in over}, expired


def program(collection: Any, lateness: int, keep: int, **how: Any) -> flo.Flow:
    flow = flo.Flow("visits")
    clock = flow.input("visits", collection, **how).clock("at", lateness)
    rows = clock.partitions if how else clock.rows
    states = rows.key_by("user").current(NONE, visited, clock=clock, keep=keep)
    flow.output("states", states)
    flow.output("expired", states.expired)
    return flow


def drawn(dice: random.Random, users: range, count: int = 60) -> list[Visit]:
    return [Visit(dice.choice(users), 3 * time + dice.randint(-9, 9)) for time in range(count)]


def pairs(found: Any) -> dict[Any, int]:
    if hasattr(found, "to_pylist"):
        return {(row["0"], Visits(**row["1"])): row["_weight"] for row in found.to_pylist()}
    return dict(found)


@pytest.mark.parametrize("seed", range(times(12)))
def test_every_cut_gives_the_same_states(seed: int) -> None:
    dice = random.Random(seed)
    rows, lateness, keep = drawn(dice, range(6)), dice.choice([0, 4, 20]), dice.choice([1, 10, 25])
    flow, (states, expired) = program(flo.Sequence[Visit], lateness, keep), by_definition(rows, lateness, keep)
    for loop in (flow.loop(), flow.on(flo.here).loop()):
        left = rows
        while left:
            some = dice.randint(1, len(left))
            loop.push(visits=left[:some])
            loop.run()
            left = left[some:]
        assert pairs(loop.result()["states"]) == states
        assert pairs(loop.result()["expired"]) == expired


@pytest.mark.parametrize("seed", range(times(4)))
def test_partitions_in_shards(seed: int, tmp_path: Path) -> None:
    """All rows of a user are in one partition. The clock waits for both."""
    dice = random.Random(seed)
    log = {0: drawn(dice, range(3), 30), 1: drawn(dice, range(3, 6), 30)}
    flow = program(flo.Partitioned[Visit], 5, 12, partitions=2)
    expected = flow.run(visits=log)
    assert expected["states"]
    assert expected["expired"]
    found = simulated(flow, {"visits": log}, tmp_path, parts=4, shards=3, seed=seed).values()
    assert {name: dict(found[name]) for name in expected} == {name: dict(each) for name, each in expected.items()}


def test_one_outcome_in_every_schedule() -> None:
    rows = [Visit(1, 1), Visit(2, 4), Visit(1, 20)]
    assert "one outcome" in str(program(flo.Sequence[Visit], 2, 5).explore(visits=rows, most_states=3_000))


def test_shards_are_rescaled(tmp_path: Path) -> None:
    rows = drawn(random.Random(5), range(9), 80)
    flow = program(flo.Sequence[Visit], 5, 12)
    query = Simulated(flow, tmp_path, shards=2, seed=1)
    query.turn({"visits": rows[:40]})
    rescale(str(tmp_path), 3)
    query = Simulated(flow, tmp_path, shards=3, seed=1)
    query.turn({"visits": rows[40:]}, started={"visits": 40})
    states, expired = by_definition(rows, 5, 12)
    assert (query.values()["states"], Counter(query.values()["expired"])) == (states, expired)


def test_states_of_datetimes_and_of_one_number() -> None:
    noon = datetime(2026, 1, 1, 12)
    flow = flo.Flow("pings")
    clock = flow.input("pings", flo.Sequence[Ping]).clock("at")
    pings = clock.rows.key_by("device").current(0, count, clock=clock, keep=timedelta(minutes=30))
    flow.output("silent", pings.expired.select(device="0", pings="1"))
    rows = [Ping("a", noon), Ping("b", noon + timedelta(minutes=20)), Ping("b", noon + timedelta(minutes=31))]
    for loop in (flow.loop(), flow.on(flo.here).loop()):
        loop.push(pings=rows[:2])
        loop.run()
        assert not len(loop.result()["silent"])
        loop.push(pings=rows[2:])
        loop.run()
        found = loop.result()["silent"]
        (row,) = found.to_pylist() if hasattr(found, "to_pylist") else [each._asdict() for each in found]
        assert (row["device"], row["pings"]) == ("a", 1)


def test_a_key_is_the_primary_key() -> None:
    flow = flo.Flow("visits")
    states = flow.input("visits", flo.Sequence[Visit]).key_by("user").current(NONE, visited)
    assert key_of(states) == ("0",)
    assert key_of(states.select(user="0", visits="1")) == ("user",)


def test_what_is_rejected() -> None:
    flow = flo.Flow("visits")
    visits = flow.input("visits", flo.Sequence[Visit])
    log = flow.input("log", flo.Partitioned[Visit], partitions=2)
    clock, other = visits.clock("at"), log.clock("at")
    keyed = clock.rows.key_by("user")
    assert "requires Keyed" in str(refusal(lambda: visits.current(NONE, visited)))
    assert "requires Sequence under each key" in str(refusal(lambda: other.rows.key_by("user").current(NONE, visited)))
    late = visits.key_by("user")
    assert "may come behind it" in str(refusal(lambda: late.current(NONE, visited, clock=clock, keep=1)))
    assert "a number > 0" in str(refusal(lambda: keyed.current(NONE, visited, clock=clock, keep=timedelta(1))))
    assert "must be a number" in str(refusal(lambda: keyed.current(NONE, visited, clock=clock)))
    assert "`keep`" in str(refusal(lambda: keyed.current(NONE, visited, keep=3)))
    assert "with `initial`" in str(refusal(lambda: keyed.current(0, visited)))
