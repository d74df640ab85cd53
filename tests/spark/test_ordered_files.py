"""Files as sequences and as partitioned logs: in the order of their names, whatever their format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
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
    with pytest.raises(flo.TypeMismatch, match="does not read files"):
        flo.spark.rows_of_files(spark.range(3))
    with pytest.raises(flo.TypeMismatch, match="'eu-1' begins with 'eu-' too"):
        flo.spark.rows_of_files(frame, ["eu-", "eu-1"])
    with pytest.raises(flo.TypeMismatch, match="must be a list of texts; got 'eu'"):
        flo.spark.rows_of_files(frame, "eu")
    with pytest.raises(flo.NameTakenError, match="a column `offset`"):
        flo.spark.rows_of_files(frame.withColumnRenamed("at", "offset"))


def write_json(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "parquet": pq.write_table,
    "json": write_json,
    "csv": lambda table, path: pyarrow.csv.write_csv(
        table, path, pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    ),
    "orc": pyarrow.orc.write_table,
    "text": lambda table, path: path.write_text("".join(f"{row['user']},{row['at']}\n" for row in table.to_pylist())),
}


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.every(test=3)
def test_event_time_over_a_folder(spark: Any, tmp_path: Path, format: str) -> None:
    """Windows over files that Spark cuts into small splits: rows come as they stand, and late ones at the side."""
    source = tmp_path / "clicks"
    source.mkdir()
    times = [index + 30 * (index % 7 == 0) for index in range(200)]  # some rows are ahead, so that others are late
    for file in range(4):
        part = times[50 * file : 50 * file + 50]
        table = pa.table({"user": [f"user {at % 3}" for at in part], "at": part})
        WRITERS[format](table, source / f"{file}.{format}")
        os.utime(source / f"{file}.{format}", (file, file))  # Spark takes the oldest files first
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.Sequence[Click])
    windows = clicks.tumbling(20, time="at", lateness=5)
    flow.output("counts", windows.nest(lambda window: window.count()).flatten())
    flow.output("late", windows.late.map("at"))
    columns = "value string" if format == "text" else "user string, at long"
    try:
        spark.conf.set("spark.sql.files.maxPartitionBytes", "300")
        frame = spark.readStream.schema(columns).format(format).option("maxFilesPerTrigger", 3).load(str(source))
        rows = flo.spark.rows_of_files(frame)
        if format == "text":
            rows = rows.selectExpr(
                "split(value, ',')[0] user", "cast(split(value, ',')[1] as long) at", "partition", "offset"
            )
        now = {"availableNow": True}
        query = flow.on(spark).start({"clicks": rows}, checkpoint=tmp_path / "state", trigger=now)
        query.wait()
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    expected = flow.run(clicks=[Click(f"user {at % 3}", at) for at in times])
    assert expected["late"]
    for output in ("counts", "late"):
        assert query.view(output).value() == expected[output]


def test_lines_that_cannot_be_parsed_are_diverted(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "clicks"
    source.mkdir()
    (source / "a.json").write_text('{"user": "ann", "at": 1}\n{"user": "bob", \n{"user": "cyd", "at": 3}\n')
    flow = flo.Flow("clicks")
    flow.output("all", flow.input("clicks", flo.Sequence[Click]).map("user"))
    frame = spark.readStream.schema("user string, at long, _corrupt_record string").json(str(source))
    rows = flo.spark.rows_of_files(frame)
    now = {"availableNow": True}
    query = flow.on(spark).start({"clicks": rows}, checkpoint=tmp_path / "state", on_error="divert", trigger=now)
    query.wait()
    assert query.view("all").value() == ["ann", "cyd"]
    (row,) = query.diverted("clicks").to_pylist()
    expected = {"row": '{"user": "bob", ', "reason": "Spark cannot parse it", "file": "a.json", "number": 2}
    assert row == expected
