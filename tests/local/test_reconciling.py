"""Sinks that do not hold what the checkpoint has given them are recognized, and reconciled.

After each start the rows of a sink are those of a view of the same stream."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import pytest

import flo
from flo.local.query import LocalQuery
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.sinks.upserts import Upsert
from tests.local.sink_places import (
    EVERYTHING,
    Place,
    Sale,
    compare,
    flow_of,
    large_sums,
    push,
    start,
    sums,
    types_flow,
)


def restored(place: Place) -> None:
    """The checkpoint is that of some versions ago."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    shutil.copytree(place.folder / "c", place.folder / "copy")
    with start(place) as query:
        push(query, ("a", 10), ("d", 4))
        push(query, ("e", 5))
        query.push(sales={Sale("b", 2): -1})
    shutil.rmtree(place.folder / "c")
    (place.folder / "copy").rename(place.folder / "c")


def behind(place: Place) -> None:
    """The sink is that of some versions ago."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    copy = place.folder / "copy"
    (shutil.copytree if place.kind == "changes" else shutil.copy)(place.path, copy)
    with start(place) as query:
        push(query, ("a", 10), ("d", 4))
        query.push(sales={Sale("b", 2): -1})
    place.drop()
    if place.path.exists():
        place.path.unlink()
    copy.rename(place.path)


def dropped(place: Place) -> None:
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("c", 2))
    place.drop()


def another(place: Place) -> None:
    """The sink belongs to another checkpoint."""
    with start(place, where="other") as query:
        for number in range(5):
            push(query, ("a", number), ("x", 2))
    with start(place, sink=None) as query:
        push(query, ("a", 1), ("b", 2))
    with start(place, sink="noop") as query:
        push(query, ("c", 2))


def left_alone(place: Place) -> None:
    """The output was a view for one version."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    with start(place, sink=None) as query:
        push(query, ("a", 3), ("c", 2))


@pytest.mark.parametrize("happens", [restored, behind, dropped, another, left_alone])
@pytest.mark.every(test=2)
def test_reconciled_sinks(place: Place, happens: Callable[[Place], None]) -> None:
    happens(place)
    for _ in range(2):
        with pytest.raises(flo.CheckpointError) as caught:
            start(place).stop()
        assert '").reconcile()' in str(caught.value)
    with start(place, sink=place.sink().reconcile()) as query:
        compare(place, query)
        push(query, ("f", 7), ("a", 1))
        compare(place, query)
    with start(place) as query:
        compare(place, query)
        query.push(sales={Sale("a", 1): -1})
        compare(place, query)


def test_a_sink_that_has_what_it_was_given(place: Place) -> None:
    """Nothing is committed; and rows that somebody has changed by hand are mended."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    with start(place, sink=place.sink().reconcile()) as query:
        assert query.view("view").version == 0
        compare(place, query)
    if place.kind != "changes":
        place.execute("DELETE FROM sums WHERE shop = 'a'")
        place.execute("INSERT INTO sums VALUES ('x', 7)")
        with start(place, sink=place.sink().reconcile()) as query:
            assert query.view("view").version == 1
            compare(place, query)
            push(query, ("a", 3))
            compare(place, query)


def test_a_new_checkpoint_over_an_old_sink(place: Place) -> None:
    with start(place, where="other") as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("c", 1))
    for _ in range(2):  # nothing is committed at the first start
        with start(place, sink=place.sink().reconcile()) as query:
            pass
    with start(place, sink=place.sink().reconcile()) as query:
        push(query, ("a", 1), ("d", 2))
        compare(place, query)
        push(query, ("b", 1))
        compare(place, query)
    with start(place) as query:
        push(query, ("c", 1))
        compare(place, query)
    if place.kind != "changes":  # the other one must not go on
        with pytest.raises(flo.CheckpointError, match="holds nothing"):
            start(place, where="other").stop()


def test_rows_that_nothing_holds(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    sink = Upsert("sqlite", "large", {"uri": str(tmp_path / "db?password=secret")}, key="shop")

    def begin(sink: Any, **more: Any) -> LocalQuery:
        flow = flo.Flow("large")
        flow.output("large", flow.input("sales", flo.ZSet[Sale]).filter(nw.col("price") > 4))
        return flow.on(flo.here).start({"large": sink}, checkpoint=tmp_path / "c", **more)

    def rows() -> list[Any]:
        return sorted(sqlite3.connect(tmp_path / "db?password=secret").execute("SELECT * FROM large").fetchall())

    with begin(sink) as query:
        push(query, ("a", 5), ("b", 1))
    with begin(sink.reconcile()) as query:  # nothing says that it is wrong
        push(query, ("c", 6))
    sqlite3.connect(tmp_path / "db?password=secret").execute("DROP TABLE large")
    with pytest.raises(flo.CheckpointError) as caught:
        begin(sink.reconcile()).stop()
    assert "cannot be reconciled: that needs all rows that the input `sales` has had" in str(caught.value)
    assert 'fill={"sales": rows}' in str(caught.value)
    assert "secret" not in f"{caught.value} {sink.reconcile()!r}"
    with begin(sink.reconcile(), fill={"sales": [Sale("a", 5), Sale("b", 1), Sale("c", 6)]}) as query:
        assert rows() == [("a", 5), ("c", 6)]
        push(query, ("d", 7))
    assert rows() == [("a", 5), ("c", 6), ("d", 7)]


def test_versions_that_no_checkpoint_has_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder has taken one, and goes on with a later one, because another sink is ahead."""
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    folder, table = Place(tmp_path, "changes"), Place(tmp_path, "sqlite")

    def begin(reconciles: bool = False) -> LocalQuery:
        flow = flow_of(sums)
        flow.output("table", sums(flow._scope.inputs[0]))
        sink = table.sink().reconcile() if reconciles else table.sink()
        return flow.on(flo.here).start({"sums": folder.sink(), "table": sink}, checkpoint=tmp_path / "c")

    with begin() as query:
        push(query, ("a", 1))
    shutil.copytree(tmp_path / "c", tmp_path / "copy")
    shutil.copytree(folder.path, tmp_path / "folder")
    with begin() as query:
        for number in range(4):
            push(query, ("a", number))
    for path, copy in ((tmp_path / "c", "copy"), (folder.path, "folder")):
        shutil.rmtree(path)
        (tmp_path / copy).rename(path)
    (folder.path / "version=00000001").mkdir()
    shutil.copy(next((folder.path / "version=00000000").iterdir()), folder.path / "version=00000001")
    with begin(reconciles=True) as query:
        for place in (folder, table):
            compare(place, query)
        push(query, ("b", 1))
        for place in (folder, table):
            compare(place, query)


def test_a_table_that_others_write_to(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    place = Place(tmp_path, "sqlite")
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    place.execute("INSERT INTO sums VALUES ('theirs', 7)")
    with pytest.raises(flo.CheckpointError, match="has 3 rows, and was given 2"):
        start(place, large_sums, changed="fill")
    assert len(place.rows()) == 3
    with start(place, large_sums, sink=place.sink().reconcile(), changed="fill") as query:
        compare(place, query)


def test_all_types_are_read_as_they_were_written(place: Place) -> None:
    """So nothing differs, and nothing is committed."""
    with types_flow().on(flo.here).start({"rows": place.sink()}, checkpoint=place.folder / "c") as query:
        query.push(rows=EVERYTHING)
    with types_flow().on(flo.here).start({"rows": place.sink().reconcile()}, checkpoint=place.folder / "c") as query:
        assert query.view("view").version == 0


def test_going_back(place: Place) -> None:
    """Sinks that have taken later versions get the difference. A folder of changes goes back by itself."""
    with start(place, keep=10) as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("b", 5), ("c", 2))
        query.push(sales={Sale("a", 1): -1})
    if place.kind != "changes":
        with pytest.raises(flo.CheckpointError, match="is ahead of the checkpoint") as caught:
            start(place, version=0)
        assert ").reconcile()" in str(caught.value)
    with start(place, sink=place.sink().reconcile(), version=0) as query:
        compare(place, query)
        assert len(place.rows()) == 2
        push(query, ("d", 5))
        compare(place, query)
    with start(place) as query:
        push(query, ("d", 5))
        compare(place, query)


def test_a_copy_takes_the_sink_over(place: Place) -> None:
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
        push(query, ("c", 1))
    copy_checkpoint(str(place.folder / "c"), str(place.folder / "copy"))
    with start(place) as query:
        push(query, ("a", 1), ("d", 2))
    with pytest.raises(flo.CheckpointError, match="belongs to the checkpoint that this one is a copy of") as caught:
        start(place, where="copy")
    assert ").reconcile()" in str(caught.value)
    with start(place, sink=place.sink().reconcile(), where="copy") as query:
        compare(place, query)
        push(query, ("e", 1))
        compare(place, query)
    with start(place, where="copy") as query:
        push(query, ("e", 1))
        compare(place, query)
