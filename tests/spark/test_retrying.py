"""A sink that is down, on Spark: the query waits, says so, and can be stopped."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.sinks.retrying import Retrying
from tests.spark.sources import stream

pytestmark = [pytest.mark.slow]


class Sale(NamedTuple):
    shop: str
    price: int


TURNS = [{Sale("a", 1): 1}, {Sale("a", 10): 1}]


def started(spark: Any, folder: Path, sink: Any, retry: float) -> Any:
    flow = flo.Flow("totals")
    flow.output("totals", flow.input("sales", flo.ZSet[Sale]).group_by("shop").agg(total=flo.sum("price")))
    sales = stream(spark, flo.ZSet[Sale], TURNS, folder / "sales")
    return flow.on(spark).start(
        {"sales": sales},
        {"totals": sink},
        checkpoint=folder / "checkpoint",
        shards=1,
        trigger={"availableNow": True},
        retry=retry,
    )


def test_a_query_waits_and_can_be_stopped(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, failures, waits, wait = list[tuple[int, list[Any]]](), [0, 2], threading.Event(), Retrying._wait

    def sink(changes: pa.Table, version: int) -> None:
        if failures[version]:
            failures[version] -= 1
            raise ConnectionError("no route to host")
        taken.append((version, sorted((row["total"], row["_weight"]) for row in changes.to_pylist())))

    def wait_long(retrying: Retrying, seconds: float) -> bool:
        waits.set()
        return wait(retrying, 3600)

    monkeypatch.setattr(Retrying, "_wait", wait_long)
    query = started(spark, tmp_path, sink, 300)
    waits.wait()
    assert query.active
    assert query.waiting is not None
    assert "at version 1, the function `sink`; try 1 failed: no route to host" in query.waiting
    assert "waiting" in repr(query)
    assert {'flo_running{flow="totals"} 1', 'flo_waiting_for_sink{flow="totals"} 1'} <= set(
        query.metrics().splitlines()
    )
    query.stop()
    assert (query.active, query.exception, query.wait(), query.waiting) == (False, None, True, None)
    assert committed_versions(str(tmp_path / "checkpoint")) == [0]

    monkeypatch.setattr(Retrying, "_wait", lambda retrying, seconds: False)
    query = started(spark, tmp_path, sink, 300)
    query.wait()
    assert taken == [(0, [(1, 1)]), (1, [(1, -1), (11, 1)])]
    assert failures == [0, 0]
    assert [outcome.version for outcome in query.progress] == [1]


def test_after_the_limit_the_error_ends_the_query(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(0, 1000, 50))
    monkeypatch.setattr(Retrying, "_now", lambda retrying: next(times))
    monkeypatch.setattr(Retrying, "_wait", lambda retrying, seconds: False)

    def sink(changes: pa.Table, version: int) -> None:
        raise ConnectionError("no route to host")

    query = started(spark, tmp_path, sink, 100)
    with pytest.raises(ConnectionError, match="no route to host") as caught:
        query.wait()
    assert "raised by the sink of the output `totals`, at version 0, which was tried 2 times" in caught.value.__notes__
    assert query._state()[0] == "failed"
