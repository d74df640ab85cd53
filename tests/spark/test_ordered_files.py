"""Parquet files as sequences and as partitioned logs: in the order of their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo
import flo.spark

pytestmark = pytest.mark.slow


class Click(NamedTuple):
    user: str
    at: int


def write(folder: Path, name: str, *clicks: Click) -> None:
    folder.mkdir(exist_ok=True)
    columns = {field: [getattr(click, field) for click in clicks] for field in Click._fields}
    pq.write_table(pa.table(columns), folder / f"{name}.parquet", row_group_size=2)


def test_files_are_partitions(spark: Any, tmp_path: Path) -> None:
    """Files come in the order of their names, rows as they stand; a file of no partition is diverted."""
    flow = flo.Flow("files")
    clicks = flow.input("clicks", flo.Partitioned[Click], partitions=2)
    flow.output("paths", clicks.key_by("user").per_key(lambda each: each.map("at")))
    (tmp_path / "clicks").mkdir()
    source = spark.readStream.schema("user string, at long").parquet(str(tmp_path / "clicks"))

    def run(on_error: Any = "divert") -> Any:
        rows = flo.spark.rows_of_files(source, prefixes=["eu-", "us-"])
        now = {"availableNow": True}
        query = flow.on(spark).start({"clicks": rows}, checkpoint=tmp_path / "state", on_error=on_error, trigger=now)
        query.wait()
        return query

    eu = [Click("ann", at) for at in (5, 3, 9, 1, 7)]
    write(tmp_path / "clicks", "eu-2", *eu[3:])
    write(tmp_path / "clicks", "eu-1", *eu[:3])
    write(tmp_path / "clicks", "us-1", Click("bob", 8))
    write(tmp_path / "clicks", "asia-1", Click("cyd", 8))
    query = run()
    assert query.view("paths").value() == {"ann": [5, 3, 9, 1, 7], "bob": [8]}
    (row,) = query.diverted("clicks").to_pylist()
    assert (row["file"], row["number"]) == ("asia-1.parquet", 1)
    assert row["reason"] == "the name of its file begins with none of 'eu-', 'us-'"
    write(tmp_path / "clicks", "us-2", Click("bob", 2))
    assert run().view("paths").value() == {"ann": [5, 3, 9, 1, 7], "bob": [8, 2]}
    write(tmp_path / "clicks", "eu-0", Click("ann", 2))
    with pytest.raises(flo.ElementError, match=r"position eu-0.parquet 0+ of partition 0 arrived after one at eu-2"):
        run()


def test_what_is_not_in_order_is_rejected(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "clicks", "a", Click("ann", 1))
    frame = spark.read.parquet(str(tmp_path / "clicks"))
    rows = flo.spark.rows_of_files(frame)
    assert [tuple(row) for row in rows.select("partition", "offset").collect()] == [(0, f"a.parquet {0:019}")]
    with pytest.raises(flo.TypeMismatch, match="only files of Parquet do"):
        flo.spark.rows_of_files(spark.range(3))
    with pytest.raises(flo.TypeMismatch, match="'eu-1' begins with 'eu-' too"):
        flo.spark.rows_of_files(frame, ["eu-", "eu-1"])
    with pytest.raises(flo.TypeMismatch, match="must be a list of texts; got 'eu'"):
        flo.spark.rows_of_files(frame, "eu")
    with pytest.raises(flo.NameTakenError, match="a column `offset`"):
        flo.spark.rows_of_files(frame.withColumnRenamed("at", "offset"))
