"""Which version a sink holds, compared with the checkpoint; and a version that comes again with other changes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from flo.core.stream_type import StreamType
from flo.shards.checkpoint.change_folders import ChangeLog
from flo.shards.checkpoint.commits import LastGiven
from flo.shards.checkpoint.given_changes import Attempt, Attempts, remove_attempts
from flo.shards.sinks.keyed_output import KeyedOutput
from flo.shards.sinks.output_changes import OutputChanges, schema_of
from flo.shards.sinks.sink_versions import expect_empty, expect_key, expect_version
from flo.shards.sinks.upserts import KINDS
from flo.shards.tasks.output_files import PARTS, Output, write_part
from flo.spark import Changes, Held, Sink, Upsert
from flo.tables.checkpoint.folders import Writes, folder
from flo.tables.values import Columns


class Sum(NamedTuple):
    shop: str
    total: int


OUTPUT = Output("sums", 0, StreamType(Columns(flo.ZSet(Sum)), False), PARTS)
ROWS = KeyedOutput.of(OUTPUT, ("shop",), None)

FITS: list[tuple[Held | None, tuple[int, str] | None, int, set[str]]] = [
    (None, None, 5, set()),  # no changes so far
    (Held(None), LastGiven(5, "x"), 5, set()),  # it does not know
    (Held(5, "x"), LastGiven(5, "x"), 5, set()),
    (Held(3, "x"), LastGiven(3, "x"), 5, set()),  # no changes since
    (Held(6, "y"), LastGiven(5, "x"), 5, {"y"}),  # the next version is half taken
    (Held(5, "y"), LastGiven(5, "x"), 5, {"x", "y"}),  # so is the newest, which runs again
    (Held(0, "x"), None, -1, {"x"}),
]
MISFITS: list[tuple[Held | None, LastGiven | None, int, set[str], str]] = [
    (None, LastGiven(3, "x"), 5, set(), "holds nothing, but the checkpoint has given it changes up to version 3"),
    (
        Held(8, "z"),
        LastGiven(5, "x"),
        5,
        {"y"},
        "is ahead of the checkpoint: it holds version 8, the checkpoint has",
    ),
    (Held(6, "z"), LastGiven(5, "x"), 5, {"y"}, "is ahead of the checkpoint: it holds version 6"),
    (Held(6), LastGiven(5, ""), 5, set(), "is ahead of the checkpoint: it holds version 6"),
    (Held(2, "x"), None, -1, set(), "it holds version 2, the checkpoint has no version"),
    (
        Held(3, "x"),
        LastGiven(5, "x"),
        5,
        set(),
        "is behind the checkpoint: it holds version 3, and was given version 5",
    ),
    (Held(3), LastGiven(5, ""), 5, set(), "is behind the checkpoint"),
    (Held(4), LastGiven(5, ""), 5, set(), "is behind the checkpoint"),
    (Held(5, "y"), LastGiven(5, "x"), 5, set(), "holds version 5 with other rows"),
    (Held(4, "y"), LastGiven(3, "x"), 5, set(), "holds version 4 with other rows"),
]


def test_what_fits() -> None:
    for each in FITS:
        expect_version("sums", Sink(), *each)
    expect_version("sums", Sink(), Held(4), LastGiven(5, ""), 5, (), runs_again=True)  # a folder, before its commit
    expect_empty("sums", Sink(), Held(4), (4,))


@pytest.mark.parametrize("case", MISFITS, ids=lambda case: case[-1])
def test_what_does_not_fit(case: Any) -> None:
    *given, message = case
    with pytest.raises(flo.CheckpointError, match=message) as caught:
        expect_version("sums", Upsert("sqlite", "t"), *given)
    assert 'the sink Upsert("sqlite", "t") of the output `sums`' in str(caught.value)
    assert "another checkpoint, and an empty table" in str(caught.value)


def test_rows_that_a_new_sink_has_already() -> None:
    with pytest.raises(flo.CheckpointError, match="which was a view, holds version 2 of it"):
        expect_empty("sums", Sink(), Held(2, "x"), (4,))
    with pytest.raises(flo.TypeMismatch, match="holds rows by the key day; the key is now shop"):
        expect_key("sums", Sink(), Held(2, "x", ("day",)), ("shop",))


def part(where: Path, rows: dict[tuple[str, int], int], version: int) -> Attempt:
    columns = {
        "shop": [shop for shop, _ in rows],
        "total": [total for _, total in rows],
        "_weight": list(rows.values()),
    }
    with closing(Writes()) as writes:
        file = write_part(str(where), "sums", version, 0, pa.table(columns, schema_of(OUTPUT)), writes)
        writes.finish()
    return Attempt((file,) if file else (), (), len(rows))


def changes(where: Path, version: int, attempt: Attempt, *earlier: Attempt) -> OutputChanges:
    given = OutputChanges(str(where), "sums", version, 1, schema_of(OUTPUT), (), weighted=True, checkpoint="1f")  # type: ignore[arg-type]
    return replace(given.with_attempt(attempt), earlier=earlier)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_version_with_other_changes_is_corrected(kind: str, tmp_path: Path) -> None:
    """Rows that were changed, added and removed by what is not true any more; also twice, and to nothing at all."""
    driver = pytest.importorskip(f"adbc_driver_{kind}.dbapi")
    uri = str(tmp_path / "file.db")
    to = KINDS[kind]("sums", {"uri": uri})

    def rows() -> dict[Any, Any]:
        with driver.connect(uri) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT shop, total FROM sums")
            return dict(cursor.fetchall())

    assert to.held("1f sums", ROWS) is None
    to.prepare(None, ROWS)  # type: ignore[arg-type]
    to.write(changes(tmp_path, 0, part(tmp_path, {("a", 1): 1, ("b", 1): 1, ("c", 1): 1}, 0)), ROWS)
    first = part(tmp_path, {("a", 1): -1, ("a", 7): 1, ("b", 1): -1, ("x", 7): 1}, 1)
    second = part(tmp_path, {("a", 1): -1, ("a", 2): 1, ("c", 1): -1, ("y", 2): 1}, 1)
    to.write(changes(tmp_path, 1, first), ROWS)
    assert rows() == {"a": 7, "c": 1, "x": 7}
    for _ in range(2):
        to.write(changes(tmp_path, 1, second, first), ROWS)
        assert rows() == {"a": 2, "b": 1, "y": 2}
    to.write(changes(tmp_path, 1, Attempt(), first, second), ROWS)
    assert rows() == {"a": 1, "b": 1, "c": 1}
    assert to.held("1f sums", ROWS) == Held(1, "", ("shop",))
    with driver.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute("DELETE FROM sums")
        connection.commit()
    assert to.held("1f sums", ROWS) is None, "emptied"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_rows_with_null_in_their_key_are_diverted(kind: str, tmp_path: Path) -> None:
    """No database holds them, and SQLite would not say so."""
    pytest.importorskip(f"adbc_driver_{kind}.dbapi")
    schema = pa.schema([("shop", pa.string()), ("total", pa.int64()), ("_weight", pa.int64())])
    keyed = replace(ROWS, schema=schema.remove(2))
    to = KINDS[kind]("sums", {"uri": str(tmp_path / "file.db")})
    to.prepare(None, keyed)  # type: ignore[arg-type]

    def given(version: int, rows: list[tuple[str | None, int, int]], divert: bool) -> OutputChanges:
        table = pa.table({name: [row[n] for row in rows] for n, name in enumerate(schema.names)}, schema)
        with closing(Writes()) as writes:
            file = write_part(str(tmp_path), "sums", version, 0, table, writes)
            writes.finish()
        assert file is not None
        found = replace(changes(tmp_path, version, Attempt((file,), (), len(rows))), schema=schema)
        return replace(found, unfit=[] if divert else None)

    with pytest.raises(flo.ElementError, match="null in `shop`, a key column"):
        to.write(given(0, [("a", 1, 1), (None, 2, 1)], divert=False), keyed)
    for _ in range(2):
        first = given(0, [("a", 1, 1), (None, 2, 1)], divert=True)
        to.write(first, keyed)
        assert [(each.row, each.reason) for each in first.unfit or ()] == [
            ({"shop": None, "total": 2}, f"{kind} cannot hold the row: its key column `shop` is null")
        ]
    second = given(1, [(None, 2, -1), ("b", 1, 1)], divert=True)
    to.write(second, keyed)
    assert second.unfit == []
    assert to.held("1f sums", keyed) == Held(1, second.digest, ("shop",))


def test_attempts_are_recorded(tmp_path: Path) -> None:
    one, two = Attempt(("a", "b"), (), 3), Attempt(("b", "c"), ("d",), 4)
    attempts = Attempts.read(str(tmp_path), 4)
    assert attempts.add("sums", one)
    assert not attempts.add("sums", one)
    assert attempts.add("sums", two)
    attempts.carried["sums"] = two.minus(one)
    attempts.write()
    assert Attempts.read(str(tmp_path), 4) == attempts
    assert attempts.carried["sums"] == Attempt(("c",), ("a", "d"), 7)
    assert len(attempts.digests("sums")) == 2
    remove_attempts(str(tmp_path), 5)
    assert Attempts.read(str(tmp_path), 4) == Attempts(str(tmp_path), 4)


def test_a_folder_holds_what_its_log_says(tmp_path: Path) -> None:
    sink = Changes(str(tmp_path))
    assert sink.held("1f", "sums") is None
    ChangeLog("1f", 3, "").write(folder(str(tmp_path)))
    assert sink.held("1f", "sums") is None, "emptied"
    (tmp_path / "version=00000003").mkdir()
    assert sink.held("1f", "sums") == Held(3)
    ChangeLog("1f", 3, "", output="counts").write(folder(str(tmp_path)))
    assert sink.held("1f", "sums") is None, "of another output"
    assert sink.held("1f", "counts") == Held(3)
    assert sink.held("2e", "sums") is None
