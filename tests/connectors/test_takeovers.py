"""Outputs that take over the table or topic of another one: it has the rows of its output, whatever is interrupted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import flo
from flo.spark.driver.upsert_tables import MergedTable
from tests.connectors.places import Place
from tests.local.sink_places import plain, sums
from tests.local.test_exchanged_sinks import flow_with, sums_of_a

pytestmark = [pytest.mark.connectors, pytest.mark.slow]
SALES = "shop string, price long, _weight long"


class Runs:
    """Runs of programs on one checkpoint, each with the sales so far."""

    def __init__(self, spark: SparkSession, place: Place, folder: Path) -> None:
        self.spark, self.place, self.folder = spark, place, folder

    def sell(self, *rows: tuple[str, int, int]) -> None:
        frame = self.spark.createDataFrame(rows, SALES)
        frame.coalesce(1).write.mode("append").parquet(str(self.folder / "sales"))

    def run(self, output: str, **more: Any) -> None:
        """Runs a program with this output until it has read all sales; then the place has its rows."""
        program = flow_with(**{output: {"before": sums, "after": sums_of_a}[output]})
        query = program.on(self.spark).start(
            {"sales": self.spark.readStream.schema(SALES).parquet(str(self.folder / "sales"))},
            {output: self.place.sink},
            checkpoint=self.folder / "c",
            trigger={"availableNow": True},
            **more,
        )
        query.wait()
        view = query.view(f"view of {output}").arrow().drop_columns(["_weight"]).to_pylist()
        assert Counter(map(plain, self.place.rows())) == Counter(map(plain, view))


def test_there_and_back(connected: SparkSession, place: Place, tmp_path: Path) -> None:
    runs = Runs(connected, place, tmp_path)
    runs.sell(("a", 1, 1), ("b", 2, 1))
    runs.run("before")
    runs.run("after", changed="fill")
    runs.sell(("a", 3, 1))
    runs.run("after")
    runs.run("before", changed="fill")
    runs.sell(("a", 1, -1), ("c", 5, 1))
    runs.run("before")
    runs.run("after", changed="fill")
    runs.run("after")


@pytest.mark.parametrize(
    "place", [pytest.param(kind, marks=pytest.mark.needs(kind)) for kind in ("delta", "iceberg")], indirect=True
)
@pytest.mark.parametrize(("old", "new"), [("before", "after"), ("after", "before")])
def test_an_interrupted_takeover(
    connected: SparkSession, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    """The table has the rows of the new output and no mark yet. The program before does not go on with them."""
    runs = Runs(connected, place, tmp_path)
    runs.sell(("a", 1, 1), ("b", 2, 1))
    runs.run("before")
    if old == "after":  # then both had the table already
        runs.run("after", changed="fill")
    runs.sell(("a", 3, 1))
    runs.run(old)
    with monkeypatch.context() as patch:
        patch.setattr(MergedTable, "_take_over", interrupt)
        with pytest.raises(flo.FloError, match="interrupted"):
            runs.run(new, changed="fill")
    with pytest.raises(flo.CheckpointError, match=f"holds the rows of `{new}`"):
        runs.run(old)
    runs.run(old, changed="fill")
    runs.run(new, changed="fill")


def interrupt(*_: object) -> None:
    raise flo.FloError("interrupted")
