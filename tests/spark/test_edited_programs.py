"""Random programs that are edited between micro-batches, on Spark: what no state holds is read again from files.

`tests/local/test_edited_programs.py` has most trials; of the 500 of `make thorough`, 20 run here."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import flo
from flo.tables.values import is_ordered
from tests.local.edit_trial import Trial
from tests.local.random_edits import WIDTHS, Event, Turn
from tests.quick import is_thorough
from tests.relational.random_programs import SOURCES
from tests.spark.harness import POSITION, table

pytestmark = pytest.mark.slow


@dataclass
class OnSpark:
    """Starts programs on Spark. Each input is a folder of files, also while no program reads it."""

    spark: SparkSession
    folder: Path
    turns: int = 0

    def __call__(
        self, flow: flo.Flow, sinks: dict[str, Any], trial: Trial, turn: Turn, check: Callable[[Any], None]
    ) -> None:
        self.turns += 1
        for name, rows in turn.items():
            self._write(name, table(self._collection(name, trial), rows, len(trial.given.get(name, []))))
        trial.take(turn)
        inputs, order = dict[str, Any](), dict[str, str]()
        for stream in flow._scope.inputs:
            of: Any = stream.type.collection
            inputs[stream.name] = self._read(stream.name, of)
            order |= {stream.name: POSITION} if is_ordered(of) else {}
        options: dict[str, Any] = {"checkpoint": trial.checkpoint, "changed": "fill", "order": order}
        options["trigger"] = {"availableNow": True}
        query = trial.start(lambda shards: flow.on(self.spark).start(inputs, sinks, shards=shards, **options))
        query.wait()
        check(query)

    def _collection(self, name: str, trial: Trial) -> Any:
        if name == "w":
            kind: Any = flo.Bag[WIDTHS[trial.program.width]]  # type: ignore[misc]
        else:
            kind = flo.Sequence[Event] if name == "e" else flo.ZSet[SOURCES[name].row]  # type: ignore[misc]
        return flo.Flow(name).input(name, kind).type.collection

    def _write(self, name: str, rows: Any) -> None:
        (self.folder / name).mkdir(exist_ok=True)
        file = self.folder / name / f"{self.turns:03}.parquet"
        pq.write_table(rows, file)
        os.utime(file, (self.turns, self.turns))

    def _read(self, name: str, of: Any) -> Any:
        (self.folder / name).mkdir(exist_ok=True)
        schema = from_arrow_schema(table(of, []).schema, prefer_timestamp_ntz=True)
        return self.spark.readStream.schema(schema).parquet(str(self.folder / name))


@pytest.mark.parametrize("seed", range(2000, 2020 if is_thorough() else 2001))
def test_random_programs_that_are_edited(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    Trial(tmp_path, seed).run(OnSpark(spark, tmp_path), turns=4)
