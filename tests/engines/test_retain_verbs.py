"""Rows and groups that clocks bound, on every engine: rows expire, come late, are retracted and have no time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("retained rows", sample=("retain",))


class Click(NamedTuple):
    user: str
    at: int | None


class Seen(NamedTuple):
    user: str
    at: datetime


class Event(NamedTuple):
    user: str
    at: int


@FAMILY.program
def retain(p: Program) -> None:
    """A row leaves when the clock is more than 10 beyond it; what comes later, or has no time, never stays."""
    one, five, late, never = Click("a", 1), Click("a", 5), Click("b", 2), Click("b", None)
    rows = p.input(flo.ZSet[Click], {one: 1, five: 2, never: 1}, {late: 1}, {late: 1, five: -1})
    clock = p.input(flo.Bag[int], [3], [12], [9]).fold_lattice(flo.Max(int))
    kept = rows.retain("at", clock, keep=10)
    p.expect(kept, {one: 1, five: 2}, {late: 1, five: 2}, {late: 2, five: 1})
    p.expect(kept.expired, {never: 1}, {never: 1, one: 1}, {never: 1, one: 1})
    counts = kept.group_by("user").agg(n=flo.count())
    p.expect(counts, {("a", 3): 1}, {("a", 2): 1, ("b", 1): 1}, {("a", 1): 1, ("b", 2): 1})


@FAMILY.program
def retain_of_times(p: Program) -> None:
    start = datetime(2024, 1, 1)
    first, second = Seen("a", start), Seen("b", start + timedelta(hours=2))
    rows = p.input(flo.ZSet[Seen], {first: 1}, {second: 1}, {Seen("c", start): 1})
    clock = p.input(flo.Bag[datetime], [start], [start + timedelta(hours=1)], [start + timedelta(hours=3)])
    kept = rows.retain("at", clock.fold_lattice(flo.Max(datetime)), keep=timedelta(hours=1))
    p.expect(kept, {first: 1}, {first: 1, second: 1}, {second: 1})
    p.expect(kept.expired, {}, {}, {first: 1, Seen("c", start): 1})


@FAMILY.program
def retain_when_the_clock_has_ended(p: Program) -> None:
    rows = p.input(flo.ZSet[Click], {Click("a", 1): 1}, {Click("a", 9): 1}, bounded=True)
    kept = rows.retain("at", p.input(flo.Bag[int], [5], [], bounded=True).fold_lattice(flo.Max(int)))
    p.expect(kept, {Click("a", 9): 1})
    p.expect(kept.expired, {Click("a", 1): 1})


@FAMILY.program
def groups_of_windows(p: Program) -> None:
    """Each group comes once, when its window closes."""
    events = p.input(
        flo.Sequence[Event], [Event("a", 1), Event("b", 3), Event("a", 2)], [Event("b", 12)], [Event("a", 9)]
    )
    windows = events.tumbling(10, "at", 2, bounds=True)
    final = {(0, 10, "a", 2): 1, (0, 10, "b", 1): 1}
    p.expect(windows.group_by("user").agg(n=flo.count()), {}, final, final)
    p.expect(windows.late, [], [], [Event("a", 9)])
    plain = events.sliding(10, 5, "at").group_by("user").agg(last=flo.max("at"))
    p.expect(plain, {}, {("a", 2): 2, ("b", 3): 2}, {("a", 2): 2, ("b", 3): 2})


@FAMILY.program
def final_groups(p: Program) -> None:
    """Each group comes once, when the clock is at the end of its window; sessions are as long as they get."""
    events = p.input(
        flo.Sequence[Event], [Event("a", 1), Event("b", 3), Event("a", 2)], [Event("b", 12)], [Event("a", 9)]
    )
    clock = events.clock("at", 2)
    rows = clock.rows.to_zset()
    counts = rows.tumble(10, "at").group_by("window_end", "user").agg(n=flo.count(), last=flo.max("at"))
    p.expect(counts.final(clock), {}, *[{(10, "a", 2, 2): 1, (10, "b", 1, 3): 1}] * 2)
    sessions = rows.session(3, "at", by="user").group_by("window_start", "window_end", "user").agg(n=flo.count())
    p.expect(sessions.final(clock), {}, *[{(1, 5, "a", 2): 1, (3, 6, "b", 1): 1}] * 2)
    p.expect(clock.late, [], [], [Event("a", 9)])


@FAMILY.program
def pairs_within_an_interval(p: Program) -> None:
    """A pair needs two rows on time; one that comes later than the clocks allow is late."""
    one = p.input(flo.Sequence[Event], [Event("a", 1), Event("b", 3)], [Event("a", 12)], [Event("b", 9)]).clock("at", 2)
    other = p.input(flo.Sequence[Event], [Event("a", 4)], [Event("b", 5), Event("a", 14)], [Event("b", 13)]).clock("at")
    pairs = one.rows.join_interval(other.rows, "user", (0, 5))
    first = {("a", 1, 4): 1}
    p.expect(pairs, first, {**first, ("b", 3, 5): 1, ("a", 12, 14): 1}, {**first, ("b", 3, 5): 1, ("a", 12, 14): 1})
    p.expect(one.late, [], [], [Event("b", 9)])
    p.expect(other.late, [], [], [Event("b", 13)])
    bags = other.rows.to_bag().join_interval(one.rows.to_bag(), "user", (-3, 0))
    p.expect(bags, {("a", 4, 1): 1}, *[{("a", 4, 1): 1, ("b", 5, 3): 1, ("a", 14, 12): 1}] * 2)


@FAMILY.on_every_engine
def test_retain_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)
