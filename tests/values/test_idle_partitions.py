"""Partitions that fall silent, and the time of the outside world: asked for, recorded, and the same when repeated."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

import flo
from tests.spark.simulated import Simulated

START, MINUTE = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=1)


class Click(NamedTuple):
    user: str
    at: int


def after(minutes: float) -> datetime:
    return START + minutes * MINUTE


def windowed(partitions: int = 2) -> flo.Flow:
    """Sums of windows that close without partitions which have sent nothing for a minute."""
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=partitions)
    clock = clicks.clock("at", idle_after=MINUTE, because="sensors are switched off at night")
    windows = clock.rows.tumbling(10, clock=clock)
    flow.output("counts", windows.nest(lambda window: window.count()).flatten())
    flow.output("clock", clock)
    flow.output("late", clock.late)
    return flow


def rows(*times: int) -> list[Click]:
    return [Click("a", at) for at in times]


TURNS: list[dict[str, Any]] = [
    {"clicks": {0: rows(1, 8), 1: rows(3)}, "now": after(0)},
    {"clicks": {0: rows(25)}, "now": after(0.5)},  # partition 1 holds the clock at 3
    {"clicks": {0: rows(41)}, "now": after(1)},  # it is idle
    {"clicks": {0: rows(44), 1: rows(39, 42)}, "now": after(2)},  # it is back: 39 is behind 41
    {"clicks": {0: rows(60)}, "now": after(2.5)},  # and holds the clock at 42
]
COUNTS = [3, 1]  # 1, 8, 3; then 25
FINAL: dict[str, Any] = {"counts": COUNTS, "clock": 42, "late": Counter({Click("a", 39): 1})}


def plain(found: Any) -> Any:
    if not hasattr(found, "to_pylist"):
        return found
    if "value" in found.column_names:
        return found["value"].to_pylist()
    return Counter({Click(row["user"], row["at"]): row["_weight"] for row in found.to_pylist()})


@pytest.mark.parametrize("on_tables", [False, True])
def test_an_idle_partition_does_not_hold_the_clock_back(on_tables: bool) -> None:
    flow, clocks = windowed(), []
    loop: Any = flow.on(flo.here).loop() if on_tables else flow.loop()
    for turn in TURNS:
        loop.push(**turn)
        if not on_tables:
            loop.run()
        clocks.append(loop.peek("clock"))
    assert clocks == [3, 3, 41, 42, 42]
    assert {name: plain(found) for name, found in loop.result().items()} == FINAL


def test_rows_come_before_the_time_of_their_push() -> None:
    """Though the program has asked for the time before its other input."""
    flow = flo.Flow("clicks")
    flow.output("now", flow.now(because="it is shown"))
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
    clock = clicks.clock("at", idle_after=MINUTE, because="sensors are switched off at night")
    flow.output("clock", clock)
    flow.output("late", clock.late)
    loops: list[Any] = [flow.loop(), flow.on(flo.here).loop(), flow.on(flo.here).loop(on_error="divert")]
    for loop in loops:
        clocks = []
        for turn in TURNS:
            loop.push(now=turn["now"], clicks=turn["clicks"])
            loop.run()
            clocks.append(loop.peek("clock"))
        assert clocks == [3, 3, 41, 42, 42]
        assert plain(loop.peek("late")) == FINAL["late"]
    whole = {"clicks": {0: rows(1, 25), 1: rows(3)}, "now": after(3)}
    assert flow.on(flo.here).run(**whole)["clock"] == flow.run(**whole)["clock"] == 3


def test_a_restart_gives_the_same_result() -> None:
    """The state has when each partition was heard."""
    flow, loop = windowed(), windowed().loop()
    for turn in TURNS:
        loop.push(**turn)
        loop.run()
        saved, loop = loop.checkpoint(), flow.loop()
        loop.restore(saved)
    assert dict(loop.result()) == FINAL


def test_a_micro_batch_that_runs_again_has_the_recorded_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query is killed before it commits; the next one starts much later, and repeats the micro-batch."""
    moments = iter([*(turn["now"] for turn in TURNS[:3]), after(900), *(turn["now"] for turn in TURNS[3:])])
    monkeypatch.setattr("flo.shards.checkpoint.moments.read_time", lambda: next(moments))
    flow = windowed()
    query = Simulated(flow, tmp_path, 2)
    for number, turn in enumerate(TURNS):
        if number == 2:
            query.take({"clicks": turn["clicks"]})
            query = Simulated(flow, tmp_path)
        query.turn({"clicks": turn["clicks"]})
    assert query.values() == FINAL


def test_explore_shows_the_outcomes_that_differ() -> None:
    flow = windowed()
    given: dict[str, Any] = {"clicks": {0: rows(1, 25), 1: rows(3)}, "now": [after(0), after(1)]}
    assert len(flow.explore(**given).outcomes) > 1


def test_a_clock_without_it_reads_no_time() -> None:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
    flow.output("clock", clicks.clock("at"))
    assert "now" not in flow.explain()


def test_explain_shows_the_reason() -> None:
    lines = windowed().explain().splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("  input now "))
    assert lines[place + 2] == "    read outside because sensors are switched off at night"
    assert 'because="sensors are switched off at night")' in " ".join(" ".join(lines).split())


def test_it_needs_a_reason_and_partitions() -> None:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
    one = flow.input("one", flo.Sequence[Click])
    for because in (None, "", 3):
        with pytest.raises(flo.TypeMismatch, match="it needs a reason"):
            clicks.clock("at", idle_after=MINUTE, because=because)  # type: ignore[call-overload]
    with pytest.raises(flo.TypeMismatch, match="it needs a reason"):
        flow.now(because="")
    with pytest.raises(flo.TypeMismatch, match="a timedelta above 0"):
        clicks.clock("at", idle_after=5, because="why not")  # type: ignore[call-overload]
    with pytest.raises(flo.FloError, match="`clock` requires Partitioned"):
        one.clock("at", idle_after=MINUTE, because="why not")  # type: ignore[call-overload]


class Seen(NamedTuple):
    user: str
    at: Annotated[datetime, UTC]


@pytest.mark.parametrize("on_tables", [False, True])
def test_rows_may_expire_by_the_time_of_the_outside_world(on_tables: bool) -> None:
    flow = flo.Flow("recent")
    seen = flow.input("seen", flo.ZSet[Seen])
    flow.output("now", flow.now(because="views are of the last hour"))
    recent = seen.retain("at", flow.now(because="views are of the last hour"), timedelta(hours=1))
    flow.output("expired", recent.expired)
    loop: Any = flow.on(flo.here).loop() if on_tables else flow.loop()
    loop.push(seen=[Seen("a", START)])
    if not on_tables:
        loop.run()
    expired = loop.peek("expired")
    assert expired == {Seen("a", START): 1} if not on_tables else expired.num_rows == 1
    assert START < loop.peek("now") <= datetime.now(UTC)  # read by the loop
