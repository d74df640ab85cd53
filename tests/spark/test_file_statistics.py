"""Columns that a query does not read are checked for nulls by the statistics of files, with the same results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo
from flo.shards.plan.rewrites import rewrites
from flo.spark import Changes
from flo.spark.driver.file_statistics import UnreadColumns, shared_relations
from flo.tables.io.files import WEIGHTS

# EVERY


class Item(NamedTuple):
    n: int
    text: str
    size: int
    note: str | None


TYPES = "n long, text string, size long, note string"
ITEMS = pa.table({"n": [1, 2, 2], "text": ["a", "", "b"], "size": [2**63 - 1, 0, -1], "note": ["x", None, None]})
NO_TEXT = pa.array(["a", None, "b"])
FILES: dict[str, Callable[[Path], object]] = {
    "as it is": lambda file: pq.write_table(ITEMS, file),
    "several groups": lambda file: pq.write_table(ITEMS, file, row_group_size=1),
    "large texts": lambda file: pq.write_table(ITEMS.set_column(1, "text", ITEMS["text"].cast("large_string")), file),
    "categories": lambda file: pq.write_table(ITEMS.set_column(1, "text", ITEMS["text"].dictionary_encode()), file),
    "no row": lambda file: pq.write_table(ITEMS.slice(0, 0), file),
    "no statistics": lambda file: pq.write_table(ITEMS, file, write_statistics=False),
    "statistics of some": lambda file: pq.write_table(ITEMS, file, write_statistics=["n", "text"]),
    "a narrow type": lambda file: pq.write_table(ITEMS.set_column(2, "size", pa.array([1, 2, 3], pa.int32())), file),
    "another case": lambda file: pq.write_table(ITEMS.rename_columns(["n", "TEXT", "size", "note"]), file),
}
"""Files whose rows fit. Of those from `no statistics` on, Spark reads the columns."""
READ = ("no statistics", "statistics of some", "a narrow type", "another case")
MISFITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a null": (lambda file: pq.write_table(ITEMS.set_column(1, "text", NO_TEXT), file), "text"),
    "a null in the last group": (
        lambda file: pq.write_table(ITEMS.set_column(1, "text", NO_TEXT[::-1]), file, row_group_size=2),
        "text",
    ),
    "a null, and no statistics": (
        lambda file: pq.write_table(ITEMS.set_column(1, "text", NO_TEXT), file, write_statistics=False),
        "text",
    ),
    "no such column": (lambda file: pq.write_table(ITEMS.drop_columns(["size"]), file), "size"),
    "a null where a filter drops the row": (
        lambda file: pq.write_table(ITEMS.set_column(2, "size", pa.array([None, 2, 3], pa.int64())), file),
        "size",
    ),
}


def pick(rows: Any) -> Any:
    return rows.filter(nw.col("n") % 2 == 0).select("n", "note")


def query(spark: Any, tmp_path: Path, made: Callable[[Any], Any] = pick, **inputs: Any) -> Any:
    flow = flo.Flow("picked")
    for name in inputs:
        flow.output(f"from {name}", made(flow.input(name, flo.Bag[Item])))
    sinks = {"from rows": Changes(str(tmp_path / "out"))}
    return flow.on(spark).start(inputs, sinks, checkpoint=tmp_path / "c", trigger={"availableNow": True})


def source(spark: Any, folder: Path) -> Any:
    return spark.readStream.schema(TYPES).option("maxFilesPerTrigger", 1).parquet(str(folder))


def columns_read(started: Any) -> str:
    """The columns that Spark has read in the last micro-batch."""
    plan = started._query._jsq.streamingQuery().lastExecution().executedPlan().toString()
    return re.findall("ReadSchema: struct<(.*?)>", plan)[-1]


@pytest.mark.parametrize("case", FILES)
def test_what_statistics_tell(tmp_path, case):
    FILES[case](tmp_path / "rows.parquet")
    schema = pa.schema([ITEMS.schema.field(name) for name in ("text", "size")])
    assert UnreadColumns("rows", schema, 0)._has_no_nulls(str(tmp_path / "rows.parquet")) == (case not in READ)


@pytest.mark.always
def test_unread_columns_are_read_only_where_statistics_do_not_tell(spark, tmp_path, monkeypatch):
    asked = []
    proper = UnreadColumns._expect_in_rows

    def note(self: UnreadColumns, rows: Any) -> None:
        asked.append(Path(rows.inputFiles()[0]).name)
        proper(self, rows)

    monkeypatch.setattr(UnreadColumns, "_expect_in_rows", note)
    (tmp_path / "rows").mkdir()
    pq.write_table(ITEMS, tmp_path / "rows" / "0.parquet")
    pq.write_table(ITEMS, tmp_path / "rows" / "1.parquet", write_statistics=False)
    started = query(spark, tmp_path, rows=source(spark, tmp_path / "rows"))
    started.wait()
    assert columns_read(started) == "n:bigint,note:string"
    assert asked == ["1.parquet"]
    assert [each.taken for each in started.progress] == [{"rows": 3}] * 2
    assert sum(pq.read_table(tmp_path / "out")[WEIGHTS].to_pylist()) == 4


@pytest.mark.parametrize("uses", [True, False])
@pytest.mark.parametrize("case", MISFITS)
def test_a_null_in_a_column_that_is_not_read_is_an_error(spark, tmp_path, monkeypatch, case, uses):
    """The same one, whoever finds it. With the row corrected, the query goes on."""
    monkeypatch.setattr(rewrites, "file_statistics", uses)
    write, column = MISFITS[case]
    (tmp_path / "rows").mkdir()
    write(tmp_path / "rows" / "0.parquet")
    started = query(spark, tmp_path, rows=source(spark, tmp_path / "rows"))
    with pytest.raises(flo.ElementError, match=f"a row of `rows` does not fit: `{column}` is null"):
        started.wait()
    pq.write_table(ITEMS, tmp_path / "rows" / "0.parquet")
    started = query(spark, tmp_path, rows=source(spark, tmp_path / "rows"))
    started.wait()
    assert started.progress[-1].taken == {"rows": 3}


def test_each_input_has_its_own_files(spark, tmp_path):
    for name, table in (("rows", ITEMS), ("others", ITEMS.set_column(1, "text", NO_TEXT))):
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "0.parquet")
    frames = {name: source(spark, tmp_path / name) for name in ("rows", "others")}
    with pytest.raises(flo.ElementError, match="a row of `others` does not fit: `text` is null"):
        query(spark, tmp_path, **frames).wait()


def test_what_spark_checks_in_each_row(spark, tmp_path):
    """Rows that a DataFrame makes of files are not those of the files."""
    given = {
        "a filter": source(spark, tmp_path).where("n > 1"),
        "a computed column": source(spark, tmp_path).selectExpr("n", "upper(text) as text", "size", "note"),
        "another format": spark.readStream.schema(TYPES).json(str(tmp_path)),
        "a batch": spark.createDataFrame([], TYPES),
    }
    assert UnreadColumns.of("rows", source(spark, tmp_path).select("text", "n"), ["text"]) is not None
    for name, frame in given.items():
        assert UnreadColumns.of("rows", frame, ["text"]) is None, name
    assert UnreadColumns.of("rows", source(spark, tmp_path), []) is None


def test_spark_may_read_other_files_for_each_reader_of_a_stream(spark, tmp_path):
    read = source(spark, tmp_path)
    shared = shared_relations([read, read.where("n > 1"), source(spark, tmp_path)])
    assert UnreadColumns.of("rows", read, ["text"], shared) is None
    assert UnreadColumns.of("rows", source(spark, tmp_path), ["text"], shared) is not None
