"""A row that a table could not hold is retracted later: its key is deleted, whatever its other columns are."""

from __future__ import annotations

import sqlite3
from math import nan
from pathlib import Path
from typing import NamedTuple

import flo


class Reading(NamedTuple):
    sensor: str
    value: float


def test_a_diverted_row_can_be_retracted(tmp_path: Path) -> None:
    flow = flo.Flow("readings")
    readings = flow.input("readings", flo.ZSet[Reading])
    flow.output("highest", readings.group_by("sensor").agg(value=flo.max("value")))
    sink = flo.Upsert("sqlite", "highest", {"uri": str(tmp_path / "table.db")})
    with flow.on(flo.here).start({"highest": sink}, checkpoint=tmp_path / "checkpoint", on_error="divert") as query:
        query.push(readings=[Reading("a", nan), Reading("b", 1.0)])  # SQLite stores NaN as null
        query.push(readings={Reading("a", nan): -1, Reading("b", 2.0): 1})
        assert query.diverted("highest").num_rows == 1
    with sqlite3.connect(tmp_path / "table.db") as connection:
        assert connection.execute("SELECT * FROM highest").fetchall() == [("b", 2.0)]
