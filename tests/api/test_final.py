"""`final`: each group of a window once, with all rows that were not late, whatever came first."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
import flo.verify
from flo.core.graph import Node, parallel, sequence
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.operator import Step
from flo.core.structural import Wire, identity
from flo.tables.operators.final import Ending, FinalSums, FinalTables
from flo.values.operators.clocks import ClockOf
from flo.values.operators.elementwise import Map
from flo.values.operators.final import FinalGroups
from flo.values.operators.group_aggregates import CountRows
from flo.values.operators.group_by import Aggregated, GroupBy
from flo.values.operators.zsets import ToZSet
from flo.values.sequence import Sequence
from tests.quick import is_thorough
from tests.rescaling import rescale
from tests.spark.simulated import Simulated

SIZE, HOP, GAP = 10, 4, 3
Log = dict[int, list["Click"]]


class Click(NamedTuple):
    user: str
    at: int


def final_groups(lateness: int = 0, *, bounded: bool = False) -> flo.Flow:
    """Groups of all kinds of windows, of a log with two partitions."""
    flow = flo.Flow("final")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2, bounded=bounded)
    clock = clicks.clock("at", lateness)
    rows = clock.rows.to_zset()
    tumbled = rows.filter(nw.col("user") != "z").tumble(SIZE, "at")
    flow.output(
        "tumble",
        tumbled.group_by("window_end", "user").agg(n=flo.count(), total=flo.sum("at"), most=flo.max("at")).final(clock),
    )
    hopped = rows.hop(SIZE, HOP, "at").rename(window_start="began")
    flow.output("hop", hopped.group_by("user", "began").agg(n=flo.count()).final(clock))
    sessions = rows.session(GAP, "at", by="user").group_by("window_start", "window_end", "user").agg(n=flo.count())
    flow.output("session", sessions.final(clock))
    return flow


def log_of(rng: random.Random, length: int = 25) -> Log:
    found: Log = {}
    for partition in range(2):
        time, rows = rng.randint(0, 9), []
        for _ in range(length):
            time += rng.choice([0, 1, 1, 3, 9])
            rows.append(Click(rng.choice("abz"), time - rng.choice([0, 0, 0, 2, 4, 9])))
        found[partition] = rows
    return found


def on_time(rows: list[Click], lateness: int) -> list[Click]:
    return [row for place, row in enumerate(rows) if row.at >= max(each.at for each in rows[: place + 1]) - lateness]


def sessions_of(times: list[int]) -> list[tuple[int, int, int]]:
    """The start, the end and the number of rows of each session."""
    found: list[tuple[int, int, int]] = []
    for time in sorted(times):
        if found and time < found[-1][1]:
            found[-1] = found[-1][0], time + GAP, found[-1][2] + 1
        else:
            found.append((time, time + GAP, 1))
    return found


def expected(log: Log, lateness: int, *, ended: bool = False) -> dict[str, Counter[Any]]:
    """The groups of the rows that were not late, of windows that the clock has passed."""
    rows = [row for each in log.values() for row in on_time(each, lateness)]
    clock = min(max(row.at for row in each) for each in log.values()) - lateness
    users = sorted({row.user for row in rows})
    tumbled: dict[Any, list[int]] = {}
    hopped: Counter[Any] = Counter()
    for user, at in rows:
        tumbled.setdefault((at // SIZE * SIZE + SIZE, user), []).append(at)
        hopped.update((user, start) for start in range(-40, at + 1) if start % HOP == 0 and at < start + SIZE)
    every = {
        "tumble": {
            (*key, len(times), sum(times), max(times)): key[0] for key, times in tumbled.items() if key[1] != "z"
        },
        "hop": {(*key, n): key[1] + SIZE for key, n in hopped.items()},
        "session": {
            (start, end, user, n): end
            for user in users
            for start, end, n in sessions_of([row.at for row in rows if row.user == user])
        },
    }
    return {
        name: Counter([group for group, end in groups.items() if ended or end <= clock])
        for name, groups in every.items()
    }


def cut(rng: random.Random, log: Log) -> list[Log]:
    left, parts = {partition: list(rows) for partition, rows in log.items()}, []
    while any(left.values()):
        sizes = {partition: rng.choice([0, 1, 6]) for partition in left}
        parts.append({partition: rows[: sizes[partition]] for partition, rows in left.items()})
        left = {partition: rows[sizes[partition] :] for partition, rows in left.items()}
    return [part for part in parts if any(part.values())]


def groups_in(found: Any) -> Counter[Any]:
    """Groups with their weights, of values or of a table."""
    if not hasattr(found, "to_pylist"):
        return Counter({tuple(row): weight for row, weight in found.items()})
    return Counter({tuple(row.values())[:-1]: row["_weight"] for row in found.to_pylist()})


def plain(results: Any) -> dict[str, Counter[Any]]:
    return {name: groups_in(results[name]) for name in ("tumble", "hop", "session")}


@pytest.mark.parametrize("seed", range(200 if is_thorough() else 4))
@pytest.mark.every(test=3)
def test_groups_are_those_of_the_rows_that_were_not_late(seed: int, tmp_path: Path) -> None:
    """However the log is cut, on values, on tables, and in tasks with other shards from the middle on."""
    rng = random.Random(seed)
    bounded, lateness = seed % 3 == 0, rng.choice([0, 3])
    flow, log = final_groups(lateness, bounded=bounded), log_of(rng)
    groups = expected(log, lateness, ended=bounded)
    assert all(groups.values())
    loop, tables = flow.loop(), flow.on(flo.here).loop()
    for part in cut(rng, log):
        loop.push(clicks=part)
        loop.run()
    for part in cut(rng, log):
        tables.push(clicks=part)
    for each in (loop, tables) if bounded else ():
        each.end("clicks")
    loop.run()
    assert plain(loop.result()) == groups
    assert plain(tables.result()) == groups
    if seed % 5:
        return
    query, parts = Simulated(flow, tmp_path, 3, seed=seed), cut(rng, log)
    for number, part in enumerate(parts):
        if number == len(parts) // 2:
            rescale(str(tmp_path), 2)
            query = Simulated(flow, tmp_path)
        query.turn({"clicks": {each: rows for each, rows in part.items() if rows}}, ends=number == len(parts) - 1)
    assert plain(query.values()) == groups


def test_each_group_comes_once_and_nothing_is_retracted() -> None:
    """Also a session that stays as it is when later rows come."""
    flow, seen = final_groups(), Counter[Any]()
    loop = flow.on(flo.here).loop()
    for start in range(0, 90, 3):
        loop.push(clicks={0: [Click("a", start)], 1: [Click("b", start + 1)]})
        for name, groups in ((name, groups_in(loop.pull(name))) for name in ("tumble", "hop", "session")):
            assert min(groups.values(), default=1) == 1
            seen.update((name, *group) for group in groups)
    assert set(seen.values()) == {1}
    assert len(seen) > 50


@pytest.mark.thorough
def test_no_schedule_and_no_cut_has_another_outcome() -> None:
    flow = flo.Flow("explored")
    clock = flow.input("clicks", flo.Partitioned[Click], partitions=2).clock("at", 1)
    rows = clock.rows.to_zset().tumble(2, "at")
    flow.output("counts", rows.group_by("window_end").agg(n=flo.count()).final(clock))
    ((counts, *_),) = flow.explore(
        clicks={0: [Click("a", 1), Click("a", 6)], 1: [Click("a", 2), Click("b", 9)]}
    ).outcomes
    assert counts.size()


def explored_sessions() -> Any:
    """The session of the first row has closed when that of the third one begins."""
    flow = flo.Flow("sessions")
    clock = flow.input("clicks", flo.Sequence[Click]).clock("at")
    sessions = clock.rows.to_zset().session(2, "at", by="user").group_by("window_end", "user").agg(n=flo.count())
    flow.output("counts", sessions.final(clock))
    return flow.explore(clicks=[Click("a", 1), Click("b", 5), Click("a", 9)])


def test_a_session_that_has_closed_stays_as_it_is_in_every_schedule() -> None:
    ((counts, *_),) = explored_sessions().outcomes
    assert counts.size() == 2


class Ended(NamedTuple):
    end: int
    n: int


def time_of(x: int) -> int:
    return x


def windowed(x: int) -> tuple[int, int]:
    """The end of the window of two instants that a time is in, and the time."""
    return x // 2 * 2 + 2, x


def first_of(row: tuple[int, int]) -> int:
    return row[0]


@pytest.mark.thorough
def test_the_laws() -> None:
    """Of the operator behind the clock of its rows."""
    groups = GroupBy(1, (Aggregated(CountRows()),), Ended)
    kept = sequence(Node(None, ToZSet()), Node(None, Map(windowed)))
    graph = sequence(
        Node(None, ClockOf(time_of, 1)),
        parallel(Node(None, identity()), kept, Node(None, Wire(1, ()))),
        Node(None, Wire(2, (1, 0))),
        Node(None, FinalGroups(groups, first_of)),
    )
    report = flo.verify.check(Nest(graph), Nested(Sequence(int)), most=2, tries=10, examples={int: [0, 4]})
    assert report.ok, str(report)


def test_a_clock_that_overtakes_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Step, "settled", property(lambda step: False, lambda step, value: None), raising=False)
    with pytest.raises((AssertionError, flo.FloError)):
        assert len(explored_sessions().outcomes) == 1


def test_windows_that_follow_the_clock_have_the_same_groups() -> None:
    flow = flo.Flow("same")
    clock = flow.input("clicks", flo.Sequence[Click]).clock("at", 2)
    windows = clock.rows.tumbling(SIZE, clock=clock, bounds=True)
    flow.output("windows", windows.group_by("user").agg(n=flo.count(), most=flo.max("at")))
    rows = clock.rows.tumble(SIZE, "at").to_zset()
    groups = rows.group_by("window_start", "window_end", "user").agg(n=flo.count(), most=flo.max("at"))
    flow.output("final", groups.final(clock))
    for clicks in ([], log_of(random.Random(3))[0]):
        found = flow.run(clicks=clicks)
        assert groups_in(found["final"]) == groups_in(found["windows"])
    assert len(found["final"]) > 5


def test_corrected_and_final_groups_side_by_side() -> None:
    """The corrected groups have the rows of open windows, too."""
    flow = flo.Flow("both")
    clock = flow.input("clicks", flo.Sequence[Click]).clock("at")
    counts = clock.rows.to_zset().tumble(SIZE, "at").group_by("window_end").agg(n=flo.count())
    flow.output("corrected", counts)
    flow.output("final", counts.final(clock))
    found = flow.run(clicks=[Click("a", 1), Click("a", 12), Click("a", 13)])
    assert groups_in(found["corrected"]) == {(10, 1): 1, (20, 2): 1}
    assert groups_in(found["final"]) == {(10, 1): 1}
    assert counts.final(clock).key == counts.final(clock).to_zset().key == ("window_end",)


def test_the_union_of_two_streams_follows_the_clock_that_is_behind() -> None:
    flow = flo.Flow("union")
    one, other = (flow.input(name, flo.Sequence[Click]).clock("at") for name in ("one", "other"))
    rows = one.rows.to_bag().union(other.rows.to_bag()).to_zset().tumble(SIZE, "at")
    slower = flo.min_clock(one, other)
    counts = rows.group_by("window_end").agg(n=flo.count())
    flow.output("counts", counts.final(slower))
    loop = flow.loop()
    loop.push(one=[Click("a", 1), Click("a", 30)], other=[Click("b", 2)])
    loop.run()
    assert not loop.pull("counts")
    loop.push(other=[Click("b", 9), Click("b", 10)])
    loop.run()
    assert groups_in(loop.pull("counts")) == {(10, 3): 1}
    with pytest.raises(flo.TypeMismatch, match="may come behind it"):
        counts.final(one)


def kept_in(running: Any) -> int:
    """The rows that `final` keeps."""
    (final,) = (node.operator for node in running if isinstance(node.operator, (FinalGroups, Ending)))
    if isinstance(final, FinalSums):
        return max(final.waiting.rows, final.totals.rows)
    return final.waiting.rows if isinstance(final, Ending) else sum(map(len, final.waiting.to_dict().values()))


def counted(**more: Any) -> flo.Flow:
    flow = flo.Flow("counted")
    clock = flow.input("clicks", flo.Sequence[Click]).clock("at")
    rows = clock.rows.to_zset().tumble(SIZE, "at")
    flow.output("counts", rows.group_by("window_end", "user").agg(n=flo.count(), **more).final(clock))
    return flow


@pytest.mark.parametrize(
    ("place", "more", "most"), [(None, {}, 40), (flo.here, {}, 30), (flo.here, {"most": flo.max("at")}, 500)]
)
@pytest.mark.every(test=3)
def test_state_is_the_rows_or_groups_of_open_windows(place: Any, more: Any, most: int) -> None:
    flow, kept = counted(**more), 0
    loop: Any = flow.loop() if place is None else flow.on(place).loop()
    for start in range(0, 4000, 40):
        loop.push(clicks=[Click("a", start + n) for n in range(40)])
        if place is None:
            loop.run()
        kept = max(kept, kept_in(loop._loop.nodes))
    assert kept <= most


@pytest.mark.parametrize(
    ("more", "form", "groups"),
    [
        ({}, FinalSums, {(10, "a", 2): 1, (20, "b", 2): 1}),
        ({"most": flo.max("at")}, FinalTables, {(10, "a", 2, 9): 1, (20, "b", 2, 13): 1}),
    ],
)
def test_the_forms_on_tables_are_used_and_resume(tmp_path: Path, more: Any, form: type, groups: Any) -> None:
    flow = counted(**more)
    loop, again = flow.on(flo.here).loop(), flow.on(flo.here).loop()
    loop.push(clicks=[Click("a", 1), Click("a", 9), Click("b", 12)])
    loop.checkpoint(tmp_path)
    again.restore(tmp_path)
    again.push(clicks=[Click("b", 13), Click("a", 21)])
    assert groups_in(again.result()["counts"]) == groups
    assert [type(node.operator) for node in loop._loop.nodes if isinstance(node.operator, Ending)] == [form]


def test_late_rows_are_in_late_of_the_clock() -> None:
    found = counted().run(clicks=[Click("a", 1), Click("a", 12), Click("a", 3)])
    assert groups_in(found["counts"]) == {(10, "a", 1): 1}
    assert found.late == {"clock": [Click("a", 3)]}


def test_explain_says_what_bounds_it() -> None:
    flow = counted(most=flo.max("at"))
    _, _, state = flow.explain().partition("\nstate\n")
    assert "group_by" not in state, "the corrected groups are not computed"
    (line,) = (line for line in state.splitlines() if "final(" in line)
    assert "final(clock)" in line
    assert "the rows of open windows" in line
    assert "final(window_end, user: n=count(), most=max(at))" in flow.on(flo.here).explain()


class Sold(NamedTuple):
    user: str
    at: int
    sold: int
    perhaps: int | None


def itself(row: Sold) -> Sold:
    return row


def test_what_is_rejected() -> None:
    flow = flo.Flow("rejected")
    sales = flow.input("sales", flo.Sequence[Sold])
    clock, by_sold = sales.clock("at"), sales.clock("sold")
    rows = clock.rows.to_zset()
    users, others = flow.input("users", flo.ZSet[Click]), flow.input("others", flo.ZSet[Sold])
    tumbled = rows.tumble(10, "at")

    def counts(given: Any, *columns: Any) -> Any:
        return given.group_by(*(columns or ("window_end",))).agg(n=flo.count())

    good = counts(tumbled)
    for groups, message in (
        (rows, "must directly follow `group_by"),
        (good.filter(nw.col("n") > 1), "must directly follow `group_by"),
        (tumbled.rollup("window_end").agg(n=flo.count()), "must directly follow `group_by"),
        (tumbled.agg(n=flo.count()), "must be those of windows"),
        (counts(rows, "user"), "must be those of windows"),
        (counts(tumbled, "user"), "must be those of windows"),
        (counts(tumbled.with_columns(window_end=nw.col("window_end") + 1)), "must be those of windows"),
        (counts(rows.session(5, "at"), "window_start"), "must be those of windows"),
        (counts(rows.tumble(10, "at").rename(window_start="s", window_end="e").session(5, "at"), "e"), "of windows"),
        (counts(sales.to_zset().tumble(10, "at")), "the rows of `sales` may come behind it"),
        (counts(clock.late.to_zset().tumble(10, "at")), "may come behind it"),
        (counts(by_sold.rows.to_zset().tumble(10, "sold")), "may come behind it"),
        (counts(tumbled.join(users.select("user"), on="user")), "treat each row alone; `join` does not"),
        (counts(rows.join(users.select("user"), on="user").tumble(10, "at")), "treat each row alone; `join` does not"),
        (counts(tumbled.union(others.tumble(10, "at"))), "the rows of `others` may come behind it"),
        (counts(tumbled.top(1, "at", by="user")), "treat each row alone; `top` does not"),
        (counts(tumbled.distinct(on="user", order_by="at")), "treat each row alone; `distinct` does not"),
        (counts(rows.retain("at", clock, 5).tumble(10, "at")), "treat each row alone; `retain` does not"),
        (counts(rows.tumble(10, "sold")), "`tumble` is by `sold`"),
        (counts(rows.session(10, "sold")), "`session` is by `sold`"),
        (counts(rows.tumble(10, nw.col("at") + 1)), "`tumble` is by a computed time"),
        (counts(rows.with_columns(at=nw.col("at") * 2).tumble(10, "at")), "`tumble` is by `at`"),
        (counts(clock.rows.map(itself).to_zset().tumble(10, "at")), "`tumble` is by `at`"),
    ):
        with pytest.raises(flo.TypeMismatch, match=message):
            groups.final(clock)
    for given in (5, rows, sales.fold_lattice(flo.Max(int), "at")):
        with pytest.raises(flo.TypeMismatch, match="`clock` of `final` must be a clock"):
            good.final(given)
    perhaps = sales.clock("perhaps")
    with pytest.raises(flo.TypeMismatch, match="may be null, because the time may be"):
        counts(perhaps.rows.to_zset().tumble(10, "perhaps")).final(perhaps)
    of_function = sales.clock(lambda sale: sale.at)
    with pytest.raises(flo.TypeMismatch, match="needs windows of the time"):
        counts(of_function.rows.to_zset().tumble(10, "at")).final(of_function)
    good.final(clock)
    counts(rows.select(nw.col("at")).tumble(10, nw.col("at")), nw.col("window_start")).final(clock)
