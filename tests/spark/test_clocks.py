"""Clocks on Spark: windows of each key by the clock of all, interval joins, final groups, and the time of the outside
world."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo
from flo.shards.checkpoint import moments
from flo.shards.checkpoint.moments import record_moment
from tests.spark.test_partitions import PARTITIONS, Click, at, cut_log, log_of, streamed


class Row(NamedTuple):
    n: int


def clocked() -> flo.Flow:
    """No partition is silent for a day."""
    flow = flo.Flow("clocked")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=PARTITIONS)
    clock = clicks.clock("at", 3, idle_after=timedelta(days=1), because="a partition may be switched off")
    plain = clicks.clock("at", 3)
    for name, each in {"active": clock, "plain": plain}.items():
        sums = each.rows.key_by("user").per_key(
            lambda rows, each=each: rows.tumbling(10, clock=each).nest(lambda window: window.map(at).sum()).flatten()
        )
        flow.output(name, sums.entries())
        flow.output(f"{name} late", each.late)
    rows = plain.rows.to_zset()
    counts = rows.tumble(10, "at").group_by("window_end", "user").agg(n=flo.count(), total=flo.sum("at"))
    flow.output("final", counts.final(plain))
    sessions = rows.session(2, "at", by="user").group_by("window_start", "window_end", "user").agg(n=flo.count())
    flow.output("sessions", sessions.final(plain))
    flow.output("pairs", plain.rows.join_interval(plain.rows, "user", (1, 2)))
    return flow


def test_clocks_on_spark(spark: Any, tmp_path: Path) -> None:
    """The last micro-batches of a log. The time of each is recorded, and a micro-batch that runs again reads it."""
    flow, parts = clocked(), cut_log(log_of(random.Random(5)), random.Random(5))[-3:]
    frame = streamed(spark, tmp_path / "in", parts)
    query = flow.on(spark).start({"clicks": frame}, checkpoint=tmp_path / "state", trigger={"availableNow": True})
    assert query.wait(600)
    loop = flow.loop()
    for part, _ in parts:
        loop.push(clicks=part)
    loop.run()
    assert {name: query.view(name).value() for name in loop.result()} == dict(loop.result())
    before = datetime.now(UTC)
    assert record_moment(str(tmp_path / "state"), len(parts) - 1) < before


def test_a_micro_batch_that_runs_again_has_the_time_of_the_first_attempt(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(24))
    monkeypatch.setattr(moments, "read_time", lambda: next(times))
    flow = flo.Flow("now")
    rows = flow.input("rows", flo.Bag[Row])
    flow.output("rows", rows)
    flow.output("now", flow.now(because="the page shows how fresh it is"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"n": 1}')

    def run(sink: Callable[[Any, int], None]) -> Any:
        frame = spark.readStream.schema("n long not null").json(str(tmp_path / "in"))
        query = flow.on(spark).start(
            {"rows": frame}, {"rows": sink}, checkpoint=tmp_path / "state", trigger={"availableNow": True}
        )
        query.wait(600)
        return query.view("now").value()

    def fail(changes: Any, version: int) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        run(fail)
    assert run(lambda changes, version: None) == datetime(2026, 1, 1, 0, tzinfo=UTC)


def test_the_time_can_be_the_only_input(spark: Any) -> None:
    flow = flo.Flow("now")
    flow.output("now", flow.now(because="the page shows how fresh it is"))
    before = datetime.now(UTC)
    assert before <= flow.on(spark).run()["now"] <= datetime.now(UTC)
