"""Sinks that need no service, in all that may happen to them: see `sink_trials.py`."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flo.spark import Changes, Upsert
from tests.quick import is_thorough
from tests.spark.sink_trials import Trial

pytestmark = [pytest.mark.slow]


def database_trial(kind: str, spark: Any, folder: Path) -> Trial:
    """A trial of a database in a file."""
    file = folder / f"sums.{kind}"

    def rows() -> dict[Any, Any]:
        if kind == "sqlite":
            found = sqlite3.connect(file).execute("SELECT shop, total FROM sums").fetchall()
        else:
            import duckdb

            with duckdb.connect(str(file)) as connection:
                found = connection.execute("SELECT shop, total FROM sums").fetchall()
        return {shop: int(total) for shop, total in found}

    return Trial(spark, folder, lambda: Upsert(kind, "sums", {"uri": str(file)}), rows, file.unlink)


def changes_trial(spark: Any, folder: Path) -> Trial:
    def rows() -> dict[Any, Any]:
        found = spark.read.format("flo").load(str(folder / "changes")).collect()
        assert len(found) == len({row.shop for row in found})
        return {row.shop: int(row.total) for row in found}

    def drop() -> None:
        shutil.rmtree(folder / "changes", ignore_errors=True)

    return Trial(spark, folder, lambda: Changes(str(folder / "changes")), rows, drop)


def test_a_database(spark: Any, tmp_path: Path) -> None:
    """`make connectors` tries the others, and `make thorough` all that may happen to it."""
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    trial = database_trial("sqlite", spark, tmp_path)
    if is_thorough():
        trial.all()
    else:
        trial.late_addition()
        trial.restored_checkpoint()


@pytest.mark.thorough
def test_a_folder_of_changes(spark: Any, tmp_path: Path) -> None:
    trial = changes_trial(spark, tmp_path)
    trial.late_addition()
    trial.corrected_function()


@pytest.mark.thorough
def test_a_function(spark: Any, tmp_path: Path) -> None:
    """It does not know what it has, and skips a version that it has: the next version has the correction."""
    taken: dict[int, pa.Table] = {}

    def take(changes: pa.Table, version: int) -> None:
        taken.setdefault(version, changes)

    def rows() -> dict[Any, Any]:
        found = Counter[Any]()
        for table in taken.values():
            for row in table.to_pylist():
                found[row["shop"], int(row["total"])] += row["_weight"]
        assert set(found.values()) <= {0, 1}
        return dict(row for row, weight in found.items() if weight)

    trial = Trial(spark, tmp_path, lambda: take, rows, taken.clear)
    trial.late_addition()
    trial.crash()
    compare, trial.compare = trial.compare, lambda query: None  # type: ignore[method-assign]
    trial.corrected_function()
    compare(trial.run())
