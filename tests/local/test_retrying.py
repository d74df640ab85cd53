"""Sinks that are down for a while: the query waits, gives them the same changes, and commits only then."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.sinks.retrying import Retrying, StoppedWaiting


class Sale(NamedTuple):
    shop: str
    price: int


class Down(Exception):
    """What a sink raises."""


def flow() -> flo.Flow:
    made = flo.Flow("totals")
    made.output("totals", made.input("sales", flo.ZSet[Sale]).group_by("shop").agg(total=flo.sum("price")))
    return made


class Time:
    """A clock that waiting moves on, and the delays that it has seen."""

    def __init__(self, patch: pytest.MonkeyPatch, on_wait: Callable[[], None] = lambda: None) -> None:
        self.now, self.delays = 0.0, list[float]()
        self.on_wait = on_wait
        patch.setattr(Retrying, "_now", lambda retrying: self.now)
        patch.setattr(Retrying, "_wait", lambda retrying, seconds: self.wait(seconds))

    def wait(self, seconds: float) -> bool:
        self.delays.append(seconds)
        self.now += seconds
        self.on_wait()
        return False


class Failing:
    """A function that raises so many times, and then keeps what it is given."""

    def __init__(self, times: int) -> None:
        self.times, self.given = times, dict[int, list[Any]]()

    def __call__(self, changes: pa.Table, version: int) -> None:
        if self.times:
            self.times -= 1
            raise Down("no route to host")
        assert version not in self.given
        self.given[version] = sorted((row["shop"], row["total"], row["_weight"]) for row in changes.to_pylist())


def test_a_sink_that_is_down_for_a_while_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink, seen = Failing(0), list[tuple[Any, list[int]]]()
    clock = Time(monkeypatch, lambda: seen.append((query.waiting, committed_versions(str(tmp_path)))))
    with flow().on(flo.here).start({"totals": sink}, checkpoint=tmp_path, retry=300) as query:
        query.push(sales=[Sale("a", 1), Sale("b", 2)])
        sink.times = 4
        query.push(sales=[Sale("a", 10)])
        assert query.waiting is None
        query.push(sales=[Sale("a", 100)])
    assert clock.delays == [1, 2, 4, 8]
    assert [versions for _, versions in seen] == [[0]] * 4, "nothing is committed while the sink is down"
    where = "the sink of the output `totals`, at version 1, the function `Failing`"
    assert [text for text, _ in seen] == [
        f"waiting for {where}; try {n} failed: no route to host" for n in (1, 2, 3, 4)
    ]
    assert sink.given == {
        0: [("a", 1, 1), ("b", 2, 1)],
        1: [("a", 1, -1), ("a", 11, 1)],
        2: [("a", 11, -1), ("a", 111, 1)],
    }


def test_after_the_limit_the_error_of_the_sink_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, sink = Time(monkeypatch), Failing(-1)
    with flow().on(flo.here).start({"totals": sink}, checkpoint=tmp_path, retry=200) as query:
        with pytest.raises(Down, match="no route") as caught:
            query.push(sales=[Sale("a", 1)])
        assert clock.delays == [1, 2, 4, 8, 16, 32, 60, 60, 17], "twice as long each time, up to a minute"
        assert caught.value.__notes__ == [
            "raised by the sink of the output `totals`, at version 0, which was tried 10 times"
        ]
        assert committed_versions(str(tmp_path)) == []
        sink.times = 0
        query.push(sales=[Sale("a", 5)])  # the push that raised has changed nothing
    assert sink.given == {0: [("a", 5, 1)]}


def test_without_retry_the_first_error_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Time(monkeypatch)
    with flow().on(flo.here).start({"totals": Failing(1)}, checkpoint=tmp_path) as query, pytest.raises(Down) as caught:
        query.push(sales=[Sale("a", 1)])
    assert clock.delays == []
    assert caught.value.__notes__ == ["raised by the sink of the output `totals`, at version 0"]


def test_errors_that_do_not_pass_are_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that the table cannot hold ends the push at once."""
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    clock, file = Time(monkeypatch), tmp_path / "totals.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE totals (shop TEXT PRIMARY KEY, total INTEGER CHECK (total < 100))")
    sink = flo.Upsert("sqlite", "totals", {"uri": str(file)})
    query = flow().on(flo.here).start({"totals": sink}, checkpoint=tmp_path / "checkpoint", retry=300)
    with query, pytest.raises(flo.ElementError, match="cannot go to the table"):
        query.push(sales=[Sale("a", 100)])
    assert clock.delays == []


def test_a_database_that_is_away_gets_its_rows_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that it cannot hold are diverted once."""
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    disk, away = tmp_path / "disk", tmp_path / "away"
    disk.mkdir()
    with sqlite3.connect(disk / "totals.db") as connection:
        connection.execute("CREATE TABLE totals (shop TEXT PRIMARY KEY, total INTEGER CHECK (total < 100))")
    seen = list[str | None]()

    def mount() -> None:
        seen.append(query.waiting)
        if len(seen) == 2:
            away.rename(disk)

    clock = Time(monkeypatch, mount)
    sink = flo.Upsert("sqlite", "totals", {"uri": str(disk / "totals.db")})
    where = tmp_path / "checkpoint"
    with flow().on(flo.here).start({"totals": sink}, checkpoint=where, on_error="divert", retry=300) as query:
        query.push(sales=[Sale("a", 1)])
        disk.rename(away)
        query.push(sales=[Sale("a", 10), Sale("b", 100)])
        assert clock.delays == [1, 2]
        assert "cannot reach the sqlite database" in str(seen)
        assert query.diverted("totals").num_rows == 1
    assert sqlite3.connect(disk / "totals.db").execute("SELECT * FROM totals").fetchall() == [("a", 11)]


def test_stop_ends_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real clock: the limit is a year, and `stop` comes from another thread."""
    begun, wait = threading.Event(), Retrying._wait

    def waits(retrying: Retrying, seconds: float) -> bool:
        begun.set()
        return wait(retrying, 3600)

    monkeypatch.setattr(Retrying, "_wait", waits)
    sink = Failing(1)
    query = flow().on(flo.here).start({"totals": sink}, checkpoint=tmp_path, retry=365 * 86400)

    def stop() -> None:
        begun.wait()
        query.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(StoppedWaiting, match="stopped while it waited for the sink of the output `totals`"):
        query.push(sales=[Sale("a", 1)])
    stopper.join()
    assert (committed_versions(str(tmp_path)), sink.given) == ([], {})
    with flow().on(flo.here).start({"totals": sink}, checkpoint=tmp_path) as query:
        query.push(sales=[Sale("a", 2)])
    assert sink.given == {0: [("a", 2, 1)]}


def test_a_checkpoint_that_was_taken_over_is_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sink = Failing(1)
    clock = Time(monkeypatch)
    query = flow().on(flo.here).start({"totals": sink}, checkpoint=tmp_path, retry=300)
    clock.on_wait = lambda: take_over(query)
    with pytest.raises(flo.CheckpointError):
        query.push(sales=[Sale("a", 1)])
    assert sink.given == {}


def take_over(query: Any) -> None:
    """Another process takes the lease."""
    from flo.shards.checkpoint.lease import Lease

    query._loop.lease.release()
    Lease.take(query._batches.folder, "other")


@pytest.mark.parametrize("given", [-1, True, "300", float("inf"), float("nan"), None])
def test_a_limit_is_a_number_of_seconds(given: Any, tmp_path: Path) -> None:
    with pytest.raises(flo.TypeMismatch, match="`retry` must be a number of seconds, at least 0; got"):
        flow().on(flo.here).start({}, checkpoint=tmp_path, retry=given)
