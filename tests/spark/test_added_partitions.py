"""Partitions that are added to a log: what is late in them is decided by the micro-batch of their first row, in the
same way on every engine and in every schedule."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.spark.on_spark import OnSpark
from tests.quick import times
from tests.spark.simulated import NO_SPARK, Simulated, as_plain
from tests.spark.test_partitions import Click, Log, at, sums_in

WINDOWS = {
    "tumbling": lambda clicks: clicks.tumbling(10, "at", 3),
    "sliding": lambda clicks: clicks.sliding(10, 4, "at", 3),
    "session": lambda clicks: clicks.session(2, "at", 1),
}


def windowed(*verbs: str, partitions: int = 2) -> flo.Flow:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=partitions)
    for name in verbs:
        windows = WINDOWS[name](clicks)
        flow.output(name, sums_in(lambda _, given=windows: given)(clicks))
        flow.output(f"{name} late", windows.late)
    return flow


def clocked(partitions: int) -> flo.Flow:
    """One clock, and what follows it."""
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=partitions)
    clock = clicks.clock("at", 3)
    rows = clock.rows.to_zset()
    kept = rows.retain("at", clock, keep=5)
    users = clock.rows.key_by("user")
    flow.output("clock", clock)
    flow.output("late", clock.late)
    flow.output("windows", users.per_key(sums_in(lambda each: each.tumbling(10, clock=clock))).entries())
    flow.output("sessions", users.per_key(sums_in(lambda each: each.session(4, clock=clock))).entries())
    flow.output("final", rows.tumble(10, "at").group_by("window_end").agg(n=flo.count()).final(clock))
    flow.output("kept", kept)
    flow.output("expired", kept.expired)
    flow.output("pairs", clock.rows.join_interval(clock.rows, on="user", between=(0, 4)))
    return flow


def on_values(flow: flo.Flow, parts: list[Log], added: int, seed: int | None = None) -> dict[str, Any]:
    loop = flow.loop(seed=seed)
    loop.add_partitions("clicks", added)
    for part in parts:
        loop.push(clicks=part)
        loop.run()
    return dict(loop.result())


def on_tables(flow: flo.Flow, parts: list[Log], added: int) -> dict[str, Any]:
    loop = flow.on(flo.here).loop()
    loop.add_partitions("clicks", added)
    for part in parts:
        loop.push(clicks=part)
    types = OnSpark(flow, NO_SPARK)._output_types
    return {name: as_plain(types[name], found) for name, found in loop.result().items()}


def in_tasks(flow: flo.Flow, parts: list[Log], folder: Path, seed: int = 0) -> dict[str, Any]:
    """Started again before each micro-batch."""
    for number, part in enumerate(parts):
        query = Simulated(flow, folder, 3, seed=seed + number)
        query.turn({"clicks": part})
    return query.values()


@pytest.mark.parametrize("verb", WINDOWS)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_one_that_is_added_before_the_clock_has_started_holds_it_back(
    tmp_path: Path, verb: str, order: tuple[int, ...]
) -> None:
    """All partitions come in one micro-batch, in any order of the mapping. No window closes without the added one."""
    log = {0: [Click(0, 5), Click(0, 40)], 1: [Click(1, 5), Click(1, 40)], 2: [Click(2, 5)]}
    flow, parts = windowed(verb), [{each: log[each] for each in order}, {2: [Click(2, 40)]}]
    before = on_values(flow, parts[:1], 1)
    assert before == {verb: [], f"{verb} late": Counter()}
    found = on_values(flow, parts, 1)
    assert set(found[verb]) == {15}
    assert found[f"{verb} late"] == Counter()
    assert all(on_values(flow, parts, 1, seed) == found for seed in range(5))
    assert on_tables(flow, parts, 1) == found
    assert in_tasks(flow, parts, tmp_path) == found


@pytest.mark.parametrize("verb", WINDOWS)
def test_one_that_is_added_behind_the_clock_has_late_rows(tmp_path: Path, verb: str) -> None:
    """The same rows in two micro-batches: the windows have closed before the added partition comes."""
    known = {0: [Click(0, 5), Click(0, 40)], 1: [Click(1, 5), Click(1, 40)]}
    flow, parts = windowed(verb), [known, {2: [Click(2, 5), Click(2, 40)]}]
    found = on_values(flow, parts, 1)
    assert set(found[verb]) == {10}
    assert found[f"{verb} late"] == Counter({Click(2, 5): 1})
    assert on_tables(flow, parts, 1) == found
    assert in_tasks(flow, parts, tmp_path) == found


@pytest.mark.parametrize("verb", WINDOWS)
def test_one_that_has_no_rows_does_not_count(tmp_path: Path, verb: str) -> None:
    rows = [Click(0, 5), Click(0, 40)]
    flow = windowed(verb, partitions=1)
    parts: list[Log] = [{0: rows}, {1: []}, {0: [Click(0, 80)]}, {1: [Click(1, 41)]}]
    found = on_values(flow, parts, 1)
    assert found == on_values(flow, [parts[0], *parts[2:]], 1)
    assert found[f"{verb} late"] == Counter({Click(1, 41): 1})
    assert on_tables(flow, parts, 1) == found
    assert in_tasks(flow, parts, tmp_path) == found


def drawn_parts(rng: random.Random, partitions: int) -> list[Log]:
    """A log in parts, in which each partition has rows or none."""
    left: Log = {}
    for partition in range(partitions):
        time, left[partition] = rng.randint(0, 20), []
        for _ in range(rng.randint(1, 10)):
            time += rng.choice([0, 1, 1, 2, 7])
            left[partition].append(Click(partition, max(0, time - rng.choice([0, 0, 0, 1, 3, 9]))))
    parts = []
    while any(left.values()):
        sizes = {partition: rng.choice([0, 0, rng.randint(1, 5)]) for partition in rng.sample([*left], len(left))}
        parts.append({each: left[each][:size] for each, size in sizes.items() if left[each][:size]})
        left = {each: rows[sizes[each] :] for each, rows in left.items()}
    return parts


@pytest.mark.parametrize("build", ["windows", "clocks"])
@pytest.mark.parametrize("seed", range(times(10)))
def test_engines_and_schedules_agree_when_partitions_are_added(tmp_path: Path, build: str, seed: int) -> None:
    rng = random.Random(seed)
    known, added = rng.randint(1, 3), rng.randint(1, 2)
    parts = drawn_parts(rng, known + added)
    flow = windowed(*WINDOWS, partitions=known) if build == "windows" else clocked(known)
    found = on_values(flow, parts, added)
    assert on_values(flow, parts, added, seed) == found
    assert on_tables(flow, parts, added) == found
    assert in_tasks(flow, parts, tmp_path, seed) == found


def cut_again(parts: list[Log], known: int, rng: random.Random) -> list[Log]:
    """The same log in other parts, with the same rows before the part in which each added partition begins."""
    found: list[Log] = []
    seen = set(range(known))
    while parts:
        new = parts[0].keys() - seen
        seen |= new
        count = next((place for place, part in enumerate(parts) if place and part.keys() - seen), len(parts))
        left: Log = {}
        for part in parts[:count]:
            for partition, rows in part.items():
                left[partition] = left.get(partition, []) + rows
        while any(left.values()):
            sizes = {each: rng.randint(int(each in new), 6) for each in rng.sample([*left], len(left))}
            found.append({each: left[each][:size] for each, size in sizes.items() if left[each][:size]})
            left, new = {each: rows[sizes[each] :] for each, rows in left.items()}, set()
        parts = parts[count:]
    return [part for part in found if part]


@pytest.mark.parametrize("seed", range(times(25)))
def test_only_the_rows_before_a_partition_is_added_decide(seed: int) -> None:
    """All other cuts give the same result."""
    rng = random.Random(seed)
    known, added = rng.randint(1, 3), rng.randint(1, 2)
    parts = [part for part in drawn_parts(rng, known + added) if part]
    for flow in (windowed(*WINDOWS, partitions=known), clocked(known)):
        found = on_values(flow, parts, added)
        for _ in range(3):
            assert on_values(flow, cut_again(parts, known, rng), added) == found


@pytest.mark.parametrize("verb", WINDOWS)
def test_windows_of_what_a_body_leaves_of_partitions(tmp_path: Path, verb: str) -> None:
    """A body keeps the partitions, on every engine."""
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
    windows = WINDOWS[verb](clicks.per_key(lambda rows: rows.filter(lambda click: click.at != 7)))
    flow.output("sums", sums_in(lambda _: windows)(clicks))
    flow.output("late", windows.late)
    parts = [
        {0: [Click(0, 1), Click(0, 7), Click(0, 30)]},
        {1: [Click(1, 2), Click(1, 30), Click(1, 4)], 2: [Click(2, 3), Click(2, 31)]},
    ]
    found = on_values(flow, parts, 1)
    assert found["late"] == Counter({Click(1, 4): 1})
    assert found["sums"][-1] == 6
    assert on_tables(flow, parts, 1) == found
    assert in_tasks(flow, parts, tmp_path) == found


def test_explain_says_what_holds_for_partitions_that_are_added() -> None:
    flow = windowed("tumbling")
    users = flow.input("users", flo.Partitioned[Click], partitions=3)
    flow.output("users", users.key_by("user").per_key(lambda rows: rows.map(at)))
    line = "clicks   2 declared, in any order; an added one counts from the micro-batch of its first row"
    for text in (flow.explain(), flow.on(flo.here).explain(), OnSpark(flow, NO_SPARK).explain()):
        assert line in text
        assert text.count("declared, in any order") == 1  # keys need no clock
