"""Tables of Delta that are tried again: a write that took effect though it raised is not repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

import flo
from flo.shards.sinks.retrying import Retrying
from flo.spark import SparkSink, Upsert
from flo.spark.driver.upsert_tables import DeltaTable
from tests.spark.sources import stream

pytestmark = [pytest.mark.connectors, pytest.mark.slow, pytest.mark.needs("delta")]


class Sale(NamedTuple):
    shop: str
    price: int


TURNS = [{Sale("a", 1): 1, Sale("b", 2): 1}, {Sale("c", 3): 1}]
SALES = [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize("takes_effect", [False, True])
@pytest.mark.parametrize("kind", ["upsert", "append"])
def test_a_write_that_raises(
    connected: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, takes_effect: bool
) -> None:
    """A declared key would make a second insert an error, and an append would add its rows twice."""
    calls = list[int]()
    of, name = (DeltaTable, "_merge") if kind == "upsert" else (SparkSink, "_append")
    write: Any = getattr(of, name)

    def fails_at_first(*given: Any) -> None:
        calls.append(given[1].version)
        is_first = calls.count(calls[-1]) == 1
        if takes_effect or not is_first:
            write(*given)
        if is_first:
            raise ConnectionError("no route to host")

    monkeypatch.setattr(of, name, fails_at_first)
    monkeypatch.setattr(Retrying, "_wait", lambda retrying, seconds: False)
    table = str(tmp_path / "table")
    sink = Upsert("delta", table, key="shop") if kind == "upsert" else SparkSink("delta", {"path": table})
    flow = flo.Flow("sales")
    flow.output("sales", flow.input("sales", flo.Bag[Sale]))
    query = flow.on(connected).start(
        {"sales": stream(connected, flo.Bag[Sale], TURNS, tmp_path / "sales")},
        {"sales": sink},
        checkpoint=tmp_path / "checkpoint",
        trigger={"availableNow": True},
        retry=300,
    )
    query.wait()
    rows = connected.read.format("delta").load(table).select("shop", "price").collect()
    assert sorted(map(tuple, rows)) == SALES
    # a merge that took effect is looked up, and not run again; Delta skips an append that it knows
    assert calls == ([0, 1] if takes_effect and kind == "upsert" else [0, 0, 1, 1])
